/* Feeds: their rows in the catalog, and the records of writes. Called by the operations on Kinesis
 * destinations and by write_item.c, on the threads that evaluate updates. */
#include "base/bytes.h"
#include "base/clock.h"
#include "codec/stored_table.h"
#include "engine/engine_internal.h"
#include "engine/feed_internal.h"

enum { FEED_VERSION = 1, FEED_HEAD_LEN = 1 + 8 };
/* All records have epoch 0: one shard for each slot, for longer than any feed lasts. */
#define FEED_SHARD_MS (INT64_MAX / 4)

struct str feed_key(struct arena *arena, uint32_t space)
{
    char sort[STORE_SPACE_LEN];
    put_u32_be(sort, space);
    return catalog_key(arena, "feed", str_make(sort, sizeof(sort)));
}

/* --- rows of the catalog --- */

static struct str encode(struct arena *arena, const struct table *table, size_t number,
                         int64_t ended_ms)
{
    struct table description = {
        .name = table->name,
        .key = table->key,
        .stream = STREAM_NEW_AND_OLD_IMAGES,
        .stream_space = table->feed_space,
        .stream_shards = table->feed_slots,
        .stream_shard_ms = FEED_SHARD_MS,
        .destinations = &table->destinations[number],
        .destination_count = 1,
        .feed_version = table->feed_version,
    };
    memcpy(description.id, table->id, sizeof(description.id));
    struct str bytes = table_encode(arena, &description);
    char *row = arena_bytes(arena, FEED_HEAD_LEN + bytes.len);
    row[0] = FEED_VERSION;
    put_u64_le(row + 1, (uint64_t)ended_ms);
    memcpy(row + FEED_HEAD_LEN, bytes.data, bytes.len);
    return str_make(row, FEED_HEAD_LEN + bytes.len);
}

bool feed_decode(struct arena *arena, struct str row, struct feed *out)
{
    struct table table;
    struct err err = ERR_INIT(arena);
    if (row.len < FEED_HEAD_LEN || row.data[0] != FEED_VERSION ||
        !table_decode(arena, str_skip(row, FEED_HEAD_LEN), &table, &err) ||
        table.destination_count != 1 || table.stream_shards == 0) {
        return false;
    }
    *out = (struct feed){
        .space = table.stream_space,
        .slot_count = table.stream_shards,
        .table_name = table.name,
        .destination = table.destinations[0],
        .ended_ms = (int64_t)get_u64_le(row.data + 1),
        .version = table.feed_version,
    };
    memcpy(out->table_id, table.id, sizeof(out->table_id));
    return true;
}

static void put_row(struct store_batch *batch, struct arena *arena, const struct table *table,
                    size_t number, int64_t ended_ms)
{
    store_batch_put_owned(batch, feed_key(arena, table->feed_space),
                          encode(arena, table, number, ended_ms));
}

void feed_begin(struct table_change *change, struct table *table, size_t number)
{
    assert(table->feed_space == 0);
    table->feed_space = change->next_space++;
    table->feed_slots = stream_shards_by_capacity(table);
    table->feed_version = change->version;
    put_row(change->batch, change->call.arena, table, number, 0);
}

void feed_update(struct table_change *change, const struct table *table, size_t number)
{
    put_row(change->batch, change->call.arena, table, number, 0);
}

static void end_recording(struct store_batch *batch, struct arena *arena, struct table *table,
                          size_t number, uint64_t version)
{
    assert(table->feed_space != 0);
    table->feed_version = version;
    put_row(batch, arena, table, number, clock_wall_ms());
    table->feed_space = 0;
    table->feed_slots = 0;
}

void feed_end(struct table_change *change, struct table *table, size_t number)
{
    end_recording(change->batch, change->call.arena, table, number, change->version);
}

size_t table_live_destination(const struct table *table)
{
    for (size_t i = 0; i < table->destination_count; i++) {
        enum destination_state state = table->destinations[i].state;
        if (state == DESTINATION_ENABLING || state == DESTINATION_ACTIVE ||
            state == DESTINATION_DISABLING) {
            return i;
        }
    }
    return SIZE_MAX;
}

void feed_end_deleted(struct table_delete *remove, struct table *table, struct store_batch *batch)
{
    size_t number = table_live_destination(table);
    assert(number != SIZE_MAX);
    end_recording(batch, remove->call.arena, table, number, remove->version);
}

/* --- records --- */

void feed_append(struct engine *engine, const struct item_write *write, struct value old_item,
                 struct store_batch *batch, struct arena *arena)
{
    const struct table *table = write->table;
    bool had = !value_is_absent(old_item);
    bool has = !value_is_absent(write->new_item);
    struct stream_record record = {
        .event = !had  ? STREAM_INSERT
                 : has ? STREAM_MODIFY
                       : STREAM_REMOVE,
        .by_expiry = write->is_internal,
        .time_ms = stream_time_ms(engine),
        .has_micros = true,
        .micros = (uint32_t)(clock_wall_us() % 1000),
        .keys = item_key_value(table, NULL, has ? write->new_item : old_item, arena),
        .old_image = old_item,
        .new_image = write->new_item,
    };
    record.size = item_size(record.keys) + write->old_size + write->new_size;
    uint64_t hash = get_u64_be(write->key.row.data + KEY_SPACE_LEN);
    assert(table->feed_slots > 0);
    uint32_t slot = (uint32_t)(hash % table->feed_slots);
    struct str log = stream_log(arena, table->feed_space, slot);
    struct str row = stream_record_encode(arena, &record);
    store_batch_append_to_log(batch, log, log, row);
    space_count(batch, arena, table->feed_space, 1, (int64_t)row.len);
}
