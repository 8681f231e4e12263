/* Adds the stream record of a write to its update, so that the record exists if and only if the
 * write was committed, and records have the order of commits. In evals, on threads of the store. */
#include "base/bytes.h"
#include "engine/engine_internal.h"
#include "engine/stream_internal.h"

/* Returns the slot of an item, from 8 bytes of the hash of its partition key. */
static uint32_t slot_of(const struct item_write *write)
{
    assert(write->table->stream_shards > 0);
    uint64_t number = get_u64_be(write->key.row.data + KEY_SPACE_LEN);
    return (uint32_t)(number % write->table->stream_shards);
}

static void add_images(struct stream_record *record, const struct item_write *write,
                       struct value old_item)
{
    enum stream_view view = write->table->stream;
    if (view == STREAM_OLD_IMAGE || view == STREAM_NEW_AND_OLD_IMAGES) {
        record->old_image = old_item;
        record->size += write->old_size;
    }
    if (view == STREAM_NEW_IMAGE || view == STREAM_NEW_AND_OLD_IMAGES) {
        record->new_image = write->new_item;
        record->size += write->new_size;
    }
}

void stream_append(struct engine *engine, const struct item_write *write, struct value old_item,
                   struct store_batch *batch, struct arena *arena)
{
    const struct table *table = write->table;
    bool had = !value_is_absent(old_item);
    bool has = !value_is_absent(write->new_item);
    assert(had || has);
    struct stream_record record = {
        .event = !had  ? STREAM_INSERT
                 : has ? STREAM_MODIFY
                       : STREAM_REMOVE,
        .by_expiry = write->is_internal,
        .time_ms = stream_time_ms(engine),
        .keys = item_key_value(table, NULL, has ? write->new_item : old_item, arena),
    };
    record.size = item_size(record.keys);
    add_images(&record, write, old_item);
    struct stream epochs = {
        .since_ms = table->stream_since_ms,
        .shard_ms = table->stream_shard_ms,
    };
    struct stream_shard shard = {stream_epoch_at(&epochs, record.time_ms), slot_of(write)};
    store_batch_append_to_log(batch, stream_log(arena, table->stream_space, shard.slot),
                              stream_prefix(arena, table->stream_space, shard),
                              stream_record_encode(arena, &record));
}
