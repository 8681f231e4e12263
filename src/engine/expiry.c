/* Expiry rows: their keys, and how writes update them. In evals, on threads of the store. */
#include "engine/expiry.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "engine/backfill_scan.h"
#include "engine/engine_internal.h"

enum { TIME_LEN = 8 };

/* --- times and keys --- */

bool expiry_time(const struct table *table, struct value item, int64_t *out)
{
    struct value value =
        value_is_absent(item) ? VALUE_ABSENT : value_map_get(item, table->ttl_attribute);
    return value_type(value) == VALUE_N && number_ceiling(value_bytes(value), out) && *out >= 0;
}

static void add_time(struct key_writer *writer, size_t bucket, int64_t time_s)
{
    char bytes[STORE_PART_LEN + TIME_LEN] = {0};
    bytes[STORE_PART_LEN - 1] = (char)bucket;
    put_u64_be(bytes + STORE_PART_LEN, (uint64_t)time_s);
    key_add_bytes(writer, str_make(bytes, sizeof(bytes)));
}

struct str expiry_bucket_key(struct arena *arena, uint32_t space, size_t bucket, int64_t time_s)
{
    struct key_writer writer;
    key_start(&writer, arena, space);
    add_time(&writer, bucket, MAX(time_s, (int64_t)0));
    return key_finish(&writer);
}

struct str expiry_key(struct arena *arena, uint32_t space, struct str row_key, int64_t time_s)
{
    struct str rest = str_skip(row_key, KEY_SPACE_LEN);
    struct key_writer writer;
    assert(row_key.len >= STORE_PREFIX_LEN);
    assert(space >= SPACE_FIRST_FREE);
    assert(time_s >= 0);
    key_start(&writer, arena, space);
    add_time(&writer, (uint8_t)rest.data[0] % EXPIRY_BUCKETS, time_s);
    key_add_bytes(&writer, rest);
    return key_finish(&writer);
}

struct str expiry_item_row(struct arena *arena, uint32_t items_space, struct str key)
{
    struct key_writer writer;
    assert(key.len >= STORE_PREFIX_LEN + TIME_LEN + STORE_PART_LEN);
    key_start(&writer, arena, items_space);
    key_add_bytes(&writer, str_skip(key, STORE_PREFIX_LEN + TIME_LEN));
    return key_finish(&writer);
}

/* --- writes --- */

/* Writes the expiry row of an item that is being written. An item that expired long ago gets none.
 */
static void put_row(const struct engine *engine, struct store_batch *batch, struct arena *arena,
                    uint32_t space, struct str row_key, int64_t time_s)
{
    int64_t now_s = trusted_clock_ms(&engine->clock) / 1000;
    if (time_s > now_s - EXPIRY_PAST_MAX_S) {
        store_batch_put_owned(batch, expiry_key(arena, space, row_key, MAX(time_s, now_s)),
                              STR(""));
    }
}

void expiry_write(const struct engine *engine, const struct item_write *write,
                  const struct row *old, struct store_batch *batch, struct arena *arena)
{
    const struct table *table = write->table;
    int64_t before_s = 0;
    int64_t after_s = 0;
    bool had = expiry_time(table, old->item, &before_s);
    bool has = expiry_time(table, write->new_item, &after_s);
    bool moved = !had || !has || before_s != after_s;
    /* From now on the backfill scan skips the item, because a description that knows the space has
     * written it. */
    bool unknown = old->table_version < table->ttl_since_version;
    if (had && moved) {
        struct str key = expiry_key(arena, table->ttl_space, write->key.row, before_s);
        if (write->expiry == NULL ||
            !str_eq(key, write->expiry->key)) { /* else expiry_erase_found() erases it */
            store_batch_erase_owned(batch, key);
        }
    }
    if (has && (moved || unknown)) {
        put_row(engine, batch, arena, table->ttl_space, write->key.row, after_s);
    }
}

void expiry_visit(struct backfill_scan *scan, const struct backfill_scan_item *item,
                  struct store_batch *batch, struct arena *arena)
{
    int64_t time_s;
    if (expiry_time(scan->table, item->row.item, &time_s)) {
        put_row(scan->background->engine, batch, arena, scan->space, item->key.row, time_s);
    }
}

void expiry_erase_found(const struct items_write *call, struct store_batch *batch)
{
    for (size_t i = 0; i < call->write_count; i++) {
        if (call->writes[i].expiry != NULL) {
            store_batch_erase_owned(batch, call->writes[i].expiry->key);
        }
    }
}

bool expiry_is_due(const struct engine *engine, const struct item_write *write, struct value item,
                   struct store_batch *batch, struct arena *arena)
{
    const struct expiry_find *find = write->expiry;
    int64_t time_s;
    bool expires = expiry_time(write->table, item, &time_s) && time_s > find->oldest_s;
    bool is_due = expires && time_s <= MIN(find->due_s, trusted_clock_ms(&engine->clock) / 1000);
    if (expires && !is_due) { /* its time has changed, or the clock was set back */
        struct str key = expiry_key(arena, write->table->ttl_space, write->key.row, time_s);
        store_batch_put_owned(batch, key, STR(""));
    }
    return is_due;
}

/* --- switching --- */

void expiry_enable(struct table_change *change, struct table *made, struct str attribute)
{
    made->ttl = TTL_ENABLING;
    made->ttl_attribute = attribute;
    made->ttl_changed_ms = clock_wall_ms();
    made->ttl_space = change->next_space++;
    made->ttl_since_version = made->version + 1;
    backfill_scan_start(change->batch, made->ttl_space, change->call.arena);
}

void expiry_disable(struct table_change *change, struct table *made)
{
    change->dropped[change->dropped_count++] = made->ttl_space;
    made->ttl = TTL_DISABLED;
    made->ttl_attribute = STR_NULL;
    made->ttl_changed_ms = clock_wall_ms();
    made->ttl_space = 0;
    made->ttl_since_version = 0;
}
