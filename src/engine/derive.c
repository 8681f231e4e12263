/* Derives rows from items. Called by verify.c and rebuild.c, on the thread of a check or repair. */
#include "engine/derive.h"

#include "base/buf.h"

#include "engine/backfill_scan.h"
#include "engine/engine_internal.h"
#include "engine/expiry.h"
#include "engine/history.h"

const char *derive_check_item(struct inventory *inventory, const struct table *table,
                              struct str key, struct str value, struct arena *arena,
                              struct checked_item *out)
{
    if (value.len <= ROW_HEAD_LEN || value.data[0] != ROW_VERSION ||
        (value.data[ROW_HEAD_LEN] & VALUE_TYPE_MASK) != VALUE_M ||
        !value_is_valid(str_skip(value, ROW_HEAD_LEN))) {
        return "the item cannot be read";
    }
    *out = (struct checked_item){.table = table, .row_bytes = value, .row = row_decode(value)};
    struct err err = ERR_INIT(arena);
    if (!item_key_from_item(inventory->engine, table, out->row.item, arena, &out->key, &err)) {
        return "the item lacks its key, or has one of another type";
    }
    if (!str_eq(out->key.row, key)) {
        return "the item does not belong to the key of its row";
    }
    if (out->row.size != item_size(out->row.item)) {
        return "the size of the item is wrong";
    }
    assert(store_key_space(out->key.row) == table->space);
    return NULL;
}

const char *derive_check_record(struct inventory *inventory, const struct table *table,
                                struct str key, struct str value, struct arena *arena)
{
    struct str row_key = history_row_key(arena, table->space, key);
    bool good;
    struct str before = history_row_before(value, &good);
    if (str_is_null(row_key) || !good) {
        return "an earlier version of an item cannot be read";
    }
    struct checked_item item;
    return str_is_null(before) ? NULL
                               : derive_check_item(inventory, table, row_key, before, arena, &item);
}

struct derivation {
    struct inventory *inventory;
    const struct checked_item *item;
    int64_t now_s;
    bool is_complete;
    struct arena *arena;
    derived_visit *visit;
    void *context;
};

/* Whether a space must have the derived row of the item; it may still be filled. */
static bool must_have(const struct derivation *derivation, const struct space_info *space,
                      uint32_t since_version)
{
    return derivation->is_complete ||
           backfill_scan_has(space->cursor, derivation->item->key.row,
                             derivation->item->row.table_version, since_version);
}

static size_t derive_entry(const struct derivation *derivation, const struct index *index)
{
    const struct checked_item *item = derivation->item;
    const struct space_info *space = inventory_find(derivation->inventory, index->space);
    if (index->status == STATUS_CREATING && !must_have(derivation, space, index->since_version)) {
        return 0;
    }
    struct index_entry entry =
        index_entry_of(derivation->inventory->engine, item->table, index, &item->key,
                       item->row.item, item->row_bytes, derivation->arena);
    if (str_is_null(entry.key)) {
        return 0;
    }
    assert(store_key_space(entry.key) == space->space);
    assert(entry.row.len > ROW_HEAD_LEN);
    assert(entry.size <= item->row.size); /* an entry has some of the item's attributes */
    struct derived_row row = {
        .space = space, .key = entry.key, .value = entry.row, .size = entry.size};
    derivation->visit(derivation->context, &row);
    return entry.size;
}

/* An item that expired more than EXPIRY_PAST_MAX_S ago needs no row. */
static void derive_expiry(const struct derivation *derivation)
{
    const struct checked_item *item = derivation->item;
    const struct table *table = item->table;
    const struct space_info *space = inventory_find(derivation->inventory, table->ttl_space);
    int64_t time_s;
    assert(space->space == table->ttl_space);
    if (!expiry_time(table, item->row.item, &time_s) ||
        time_s <= derivation->now_s - EXPIRY_PAST_MAX_S ||
        !must_have(derivation, space, table->ttl_since_version)) {
        return;
    }
    struct derived_row row = {
        .space = space,
        .key = expiry_key(derivation->arena, table->ttl_space, item->key.row,
                          MAX(time_s, derivation->now_s)),
        .value = STR(""),
        .time_s = time_s,
    };
    derivation->visit(derivation->context, &row);
}

int64_t derive_rows(struct inventory *inventory, const struct checked_item *item, int64_t now_s,
                    bool is_complete, struct arena *arena, derived_visit *visit, void *context)
{
    struct derivation derivation = {.inventory = inventory,
                                    .item = item,
                                    .now_s = now_s,
                                    .is_complete = is_complete,
                                    .arena = arena,
                                    .visit = visit,
                                    .context = context};
    const struct table *table = item->table;
    int64_t bytes = (int64_t)item->row.size;
    assert(store_key_space(item->key.row) == table->space);
    assert(item->row_bytes.len > ROW_HEAD_LEN);
    for (size_t i = 0; i < table->index_count; i++) {
        size_t size = derive_entry(&derivation, &table->indexes[i]);
        bytes += table->indexes[i].kind == INDEX_LOCAL ? (int64_t)size : 0;
    }
    if (table->ttl_space != 0) {
        derive_expiry(&derivation);
    }
    return bytes;
}

struct str derive_collection_key(const struct table *table, struct str item_key,
                                 struct arena *arena)
{
    struct key_writer writer;
    assert(table->collection_space != 0);
    assert(item_key.len >= KEY_SPACE_LEN + KEY_HASH_LEN);
    key_start(&writer, arena, table->collection_space);
    key_add_bytes(&writer, str_make(item_key.data + KEY_SPACE_LEN, KEY_HASH_LEN));
    return key_finish(&writer);
}

/* Names --------------------------------------------------------------------------------------- */

static void add_escaped(struct buf *out, struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        uint8_t byte = (uint8_t)text.data[i];
        if (byte < 0x20 || byte == 0x7F || byte == '"' || byte == '\\') {
            buf_format(out, "\\x%02x", byte);
        } else {
            buf_add_char(out, text.data[i]);
        }
    }
}

static void add_key_value(struct buf *out, struct value value)
{
    struct str bytes = value_bytes(value);
    char number[NUMBER_TEXT_MAX];
    switch (value_type(value)) {
    case VALUE_S:
        buf_add_char(out, '"');
        add_escaped(out, bytes);
        buf_add_char(out, '"');
        break;
    case VALUE_N:
        buf_add(out, str_make(number, number_format(bytes, number)));
        break;
    default:
        buf_add(out, STR("0x"));
        for (size_t i = 0; i < bytes.len; i++) {
            buf_format(out, "%02x", (uint8_t)bytes.data[i]);
        }
        break;
    }
}

struct str derive_key_text(struct arena *arena, const struct table *table, struct value item)
{
    struct buf text = {0};
    for (size_t i = 0; i < 1 + table->key.range_count; i++) {
        const struct key_attribute *key = i == 0 ? &table->key.hash[0] : &table->key.range[0];
        struct value value = value_map_get(item, key->name);
        if (value_type(value) != key->type) {
            continue;
        }
        buf_add(&text, text.len > 0 ? STR(", ") : STR(""));
        add_escaped(&text, key->name);
        buf_add(&text, STR(" = "));
        add_key_value(&text, value);
    }
    struct str copy = arena_copy_c(arena, buf_str(&text));
    buf_finish(&text);
    return copy;
}
