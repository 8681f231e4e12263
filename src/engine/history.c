/* Records of a table's history: what a write adds, and the keys. Called by write_item.c on the
 * thread that evaluates updates, and by the readers of the history. */
#include "engine/history.h"

#include "base/bytes.h"
#include "engine/engine_internal.h"

enum { RECORD_VERSION = 1, GROUP_LEN = 9 };

struct str history_prefix(struct arena *arena, uint32_t history_space, struct str row_key)
{
    struct key_writer writer;
    key_start(&writer, arena, history_space);
    key_add_bytes(&writer, str_make(row_key.data + KEY_SPACE_LEN, KEY_HASH_LEN));
    key_add_grouped(&writer, str_skip(row_key, STORE_PREFIX_LEN));
    return key_finish(&writer);
}

int64_t history_time_ns(struct str record_key)
{
    assert(record_key.len >= STORE_PREFIX_LEN + HISTORY_TIME_LEN);
    return (int64_t)get_u64_be(record_key.data + record_key.len - HISTORY_TIME_LEN);
}

struct str history_row_key(struct arena *arena, uint32_t space, struct str record_key)
{
    if (record_key.len < STORE_PREFIX_LEN + GROUP_LEN + HISTORY_TIME_LEN ||
        (record_key.len - STORE_PREFIX_LEN - HISTORY_TIME_LEN) % GROUP_LEN != 0) {
        return STR_NULL;
    }
    size_t groups = (record_key.len - STORE_PREFIX_LEN - HISTORY_TIME_LEN) / GROUP_LEN;
    char *key = arena_bytes(arena, STORE_PREFIX_LEN + 8 * groups);
    put_u32_be(key, space);
    memcpy(key + KEY_SPACE_LEN, record_key.data + KEY_SPACE_LEN, KEY_HASH_LEN);
    size_t len = STORE_PREFIX_LEN;
    for (size_t i = 0; i < groups; i++) {
        const char *group = record_key.data + STORE_PREFIX_LEN + i * GROUP_LEN;
        uint8_t marker = (uint8_t)group[8];
        bool is_last = i + 1 == groups;
        if (is_last ? marker > 8 : marker != 9) {
            return STR_NULL;
        }
        size_t count = is_last ? marker : 8;
        memcpy(key + len, group, count);
        len += count;
    }
    return str_make(key, len);
}

struct str history_row_before(struct str record, bool *out_good)
{
    *out_good =
        record.len >= 1 && record.data[0] == RECORD_VERSION &&
        (record.len == 1 || (record.len > 1 + ROW_HEAD_LEN && record.data[1] == ROW_VERSION));
    return *out_good && record.len > 1 ? str_skip(record, 1) : STR_NULL;
}

void history_append(const struct item_write *write, struct str old_row, int64_t time_ns,
                    struct store_batch *batch, struct arena *arena)
{
    assert(time_ns > 0);
    assert(write->key.row.len >= STORE_PREFIX_LEN);
    assert(store_key_space(write->key.row) == write->table->space);
    assert(write->table->history_space != write->table->space);
    struct key_writer writer;
    key_start(&writer, arena, write->table->history_space);
    key_add_bytes(&writer, str_make(write->key.row.data + KEY_SPACE_LEN, KEY_HASH_LEN));
    key_add_grouped(&writer, str_skip(write->key.row, STORE_PREFIX_LEN));
    char time[HISTORY_TIME_LEN];
    put_u64_be(time, (uint64_t)time_ns);
    key_add_bytes(&writer, str_make(time, sizeof(time)));
    size_t len = str_is_null(old_row) ? 0 : old_row.len;
    char *record = arena_bytes(arena, 1 + len);
    record[0] = RECORD_VERSION;
    if (len > 0) { /* rows live only inside eval */
        memcpy(record + 1, old_row.data, len);
    }
    store_batch_put_owned(batch, key_finish(&writer), str_make(record, 1 + len));
    space_count(batch, arena, write->table->history_space, 1, (int64_t)(1 + len));
}
