/* Computes the entry of an item in an index. In evals, on threads of the store. */
#include "engine/engine_internal.h"
#include "err/messages.h"
#include "model/builder.h"

/* An item is in an index only if it has every key attribute, each of the right type and fit to be a
 * key: items that are older than the index may have others. */
static bool collect(const struct key_attribute *attributes, size_t count, size_t bytes_max,
                    struct value item, struct value *out)
{
    assert(count <= KEY_ATTRIBUTES_MAX);
    for (size_t i = 0; i < count; i++) {
        out[i] = value_map_get(item, attributes[i].name);
        if (value_type(out[i]) != attributes[i].type) {
            return false;
        }
        size_t len = value_bytes(out[i]).len;
        if (len == 0 || len > bytes_max) {
            return false;
        }
    }
    return true;
}

struct str index_entry_key(const struct engine *engine, const struct index *index,
                           const struct item_key *key, struct value item, struct arena *arena)
{
    struct value hash[KEY_ATTRIBUTES_MAX];
    struct value range[KEY_ATTRIBUTES_MAX];
    assert(key->row.len >= STORE_PREFIX_LEN);
    if (!collect(index->key.hash, index->key.hash_count, HASH_KEY_BYTES_MAX, item, hash) ||
        !collect(index->key.range, index->key.range_count, RANGE_KEY_BYTES_MAX, item, range)) {
        return STR_NULL;
    }
    struct key_writer writer;
    key_start(&writer, arena, index->space);
    key_add_hash(&writer, engine->seed, hash, index->key.hash_count);
    for (size_t i = 0; i < index->key.range_count; i++) {
        key_add_grouped(&writer, value_bytes(range[i]));
    }
    /* The key of the table makes entries with the same index key unique. */
    size_t skip = index->kind == INDEX_LOCAL ? STORE_PREFIX_LEN : KEY_SPACE_LEN;
    key_add_bytes(&writer, str_skip(key->row, skip));
    struct str entry_key = key_finish(&writer);
    assert(entry_key.len <= STORE_KEY_LEN_MAX);
    return entry_key;
}

/* The attributes that the index holds. */
static struct value project(const struct table *table, const struct index *index, struct value item,
                            struct arena *arena)
{
    struct builder builder;
    builder_init(&builder, arena, 256);
    size_t open = builder_open(&builder, VALUE_M);
    uint32_t count = 0;
    struct value_iter iter = value_iter(item);
    struct value_name name;
    struct value value;
    while (value_next_entry(&iter, &name, &value)) {
        if (index_projects(table, index, name.text)) {
            builder_add_name(&builder, name.text, name.plain);
            builder_add_value(&builder, value);
            count++;
        }
    }
    assert(count >= 1); /* at least the keys */
    builder_close_sorted(&builder, open, count);
    return builder_finish(&builder);
}

struct index_entry index_entry_of(const struct engine *engine, const struct table *table,
                                  const struct index *index, const struct item_key *key,
                                  struct value item, struct str item_row, struct arena *arena)
{
    struct index_entry entry = {0};
    if (value_is_absent(item)) {
        return entry;
    }
    assert(store_key_space(key->row) == table->space);
    struct str entry_key = index_entry_key(engine, index, key, item, arena);
    if (str_is_null(entry_key) || entry_key.len > store_key_len_max(engine->store)) {
        return entry;
    }
    entry.key = entry_key;
    if (index->projection == PROJECTION_ALL) {
        assert(row_decode(item_row).item.len == item.len); /* the row of this item */
        entry.row = item_row;
        entry.size = row_decode(item_row).size;
        return entry;
    }
    struct value image = project(table, index, item, arena);
    entry.size = item_size(image);
    entry.row = row_encode(arena, image, entry.size, 0);
    return entry;
}

/* Several sort key attributes can have more bytes than the store accepts in one key. An update that
 * does not change them is accepted: the item was there before the index and has no entry. */
static bool check_entry_key(const struct engine *engine, struct item_write *write,
                            const struct index *index, struct value old_item, struct arena *arena)
{
    struct str after = index_entry_key(engine, index, &write->key, write->new_item, arena);
    if (after.len <= store_key_len_max(engine->store) ||
        (!value_is_absent(old_item) &&
         str_eq(after, index_entry_key(engine, index, &write->key, old_item, arena)))) {
        return true;
    }
    return err_set(&write->err, ERR_VALIDATION, MESSAGE_INDEX_ENTRY_KEY_SIZE, STR_ARG(index->name),
                   store_key_len_max(engine->store));
}

bool index_check_entry_keys(const struct engine *engine, struct item_write *write,
                            struct value old_item, struct arena *arena)
{
    assert(store_key_len_max(engine->store) <= STORE_KEY_LEN_MAX);
    if (value_is_absent(write->new_item) || store_key_len_max(engine->store) == STORE_KEY_LEN_MAX) {
        return true;
    }
    if (write->is_internal) { /* a restore: such an item had no entry in the source either */
        return true;
    }
    for (size_t i = 0; i < write->table->index_count; i++) {
        const struct index *index = &write->table->indexes[i];
        if (index->key.range_count > 1 && !check_entry_key(engine, write, index, old_item, arena)) {
            return false;
        }
    }
    return true;
}

size_t index_local_size(const struct table *table, struct value item)
{
    size_t total = 0;
    for (size_t i = 0; i < table->index_count; i++) {
        const struct index *index = &table->indexes[i];
        struct value keys[KEY_ATTRIBUTES_MAX];
        if (index->kind != INDEX_LOCAL ||
            !collect(index->key.range, index->key.range_count, RANGE_KEY_BYTES_MAX, item, keys)) {
            continue;
        }
        struct value_iter iter = value_iter(item);
        struct value_name name;
        struct value value;
        while (value_next_entry(&iter, &name, &value)) {
            if (index_projects(table, index, name.text)) {
                total += name.text.len + value_size(value);
            }
        }
    }
    return total;
}

bool item_check_size(const struct table *table, struct value item, size_t size, struct err *err)
{
    if (size > ITEM_BYTES_MAX ||
        (table->local_count > 0 && size + index_local_size(table, item) > ITEM_BYTES_MAX)) {
        return err_set(err, ERR_VALIDATION, MESSAGE_ITEM_SIZE);
    }
    return true;
}
