/* Reads the primary keys of items from requests, with the errors of the service. On the thread of
 * the call. */
#include "engine/engine_internal.h"
#include "err/messages.h"
#include "model/builder.h"

static bool is_empty(struct value value)
{
    enum value_type type = value_type(value);
    return (type == VALUE_S || type == VALUE_B) && value_bytes(value).len == 0;
}

static bool refuse_empty(struct str name, struct value value, struct err *err)
{
    return err_set(err, ERR_VALIDATION, MESSAGE_KEY_EMPTY,
                   value_type(value) == VALUE_S ? "string" : "binary", STR_ARG(name));
}

static bool check_sizes(struct value hash, struct value range, struct err *err)
{
    if (!value_is_absent(hash) && value_bytes(hash).len > HASH_KEY_BYTES_MAX) {
        return err_set(err, ERR_VALIDATION, MESSAGE_HASH_KEY_SIZE);
    }
    if (!value_is_absent(range) && value_bytes(range).len > RANGE_KEY_BYTES_MAX) {
        return err_set(err, ERR_VALIDATION, MESSAGE_RANGE_KEY_SIZE);
    }
    return true;
}

/* One key attribute of an index: its value must fit into a row's key. */
static bool check_index_key_size(const struct key_attribute *attribute, const struct index *index,
                                 struct value value, struct err *err)
{
    for (size_t i = 0; i < index->key.hash_count; i++) {
        if (attribute == &index->key.hash[i]) {
            return check_sizes(value, VALUE_ABSENT, err);
        }
    }
    return check_sizes(VALUE_ABSENT, value, err);
}

static void fill(struct engine *engine, const struct table *table, struct arena *arena,
                 struct item_key *key)
{
    key->row = key_of_item(arena, engine->seed, table->space, key->hash, key->range);
}

bool item_key_from_key(struct engine *engine, const struct table *table, struct value key,
                       struct arena *arena, struct item_key *out, struct err *err)
{
    const struct key_attribute *hash = &table->key.hash[0];
    const struct key_attribute *range = table->key.range_count > 0 ? &table->key.range[0] : NULL;
    *out = (struct item_key){.hash = value_map_get(key, hash->name)};
    if (range != NULL) {
        out->range = value_map_get(key, range->name);
    }
    if (value_count(key) != table->key.range_count + 1 || value_type(out->hash) != hash->type ||
        (range != NULL && value_type(out->range) != range->type)) {
        return err_set(err, ERR_VALIDATION, MESSAGE_KEY_MISMATCH);
    }
    if (is_empty(out->hash)) {
        return refuse_empty(hash->name, out->hash, err);
    }
    if (range != NULL && is_empty(out->range)) {
        return refuse_empty(range->name, out->range, err);
    }
    if (!check_sizes(out->hash, out->range, err)) {
        return false;
    }
    fill(engine, table, arena, out);
    return true;
}

static bool take_key(const struct key_attribute *attribute, struct value item, struct value *out,
                     struct err *err)
{
    *out = value_map_get(item, attribute->name);
    if (value_is_absent(*out)) {
        return err_set(err, ERR_VALIDATION, MESSAGE_KEY_MISSING, STR_ARG(attribute->name));
    }
    if (value_type(*out) != attribute->type) {
        return err_set(err, ERR_VALIDATION, MESSAGE_KEY_TYPE, STR_ARG(attribute->name),
                       value_type_name(attribute->type), value_type_name(value_type(*out)));
    }
    return !is_empty(*out) || refuse_empty(attribute->name, *out, err);
}

static bool has_attribute(const struct key_attribute *attribute, struct value item)
{
    return value_type(value_map_get(item, attribute->name)) == attribute->type;
}

bool item_has_key(const struct table *table, struct value item)
{
    return has_attribute(&table->key.hash[0], item) &&
           (table->key.range_count == 0 || has_attribute(&table->key.range[0], item));
}

bool item_key_from_item(struct engine *engine, const struct table *table, struct value item,
                        struct arena *arena, struct item_key *out, struct err *err)
{
    *out = (struct item_key){0};
    if (!take_key(&table->key.hash[0], item, &out->hash, err)) {
        return false;
    }
    if (table->key.range_count > 0 && !take_key(&table->key.range[0], item, &out->range, err)) {
        return false;
    }
    if (!check_sizes(out->hash, out->range, err)) {
        return false;
    }
    fill(engine, table, arena, out);
    return true;
}

/* --- index keys --- */

static bool refuse_empty_index_key(const struct index *index, const struct key_attribute *attribute,
                                   struct err *err)
{
    return err_set(err, ERR_VALIDATION, MESSAGE_INDEX_KEY_EMPTY,
                   attribute->type == VALUE_S ? "string" : "binary", STR_ARG(index->name),
                   STR_ARG(attribute->name));
}

/* Iterates over the key attributes of all indexes, in the order of index names: the service reports
 * the first error in this order. */
struct index_key_iter {
    const struct table *table;
    const struct index *index; /* NULL: before the first */
    size_t attribute;
};

/* The index whose name comes next, or NULL. */
static const struct index *next_index(const struct table *table, const struct index *after)
{
    const struct index *next = NULL;
    for (size_t i = 0; i < table->index_count; i++) {
        const struct index *index = &table->indexes[i];
        if ((after == NULL || str_cmp(index->name, after->name) > 0) &&
            (next == NULL || str_cmp(index->name, next->name) < 0)) {
            next = index;
        }
    }
    return next;
}

static const struct key_attribute *next_index_key(struct index_key_iter *iter)
{
    const struct index *index = iter->index;
    if (index == NULL || iter->attribute == index->key.hash_count + index->key.range_count) {
        iter->index = next_index(iter->table, index);
        iter->attribute = 0;
        index = iter->index;
    }
    if (index == NULL) {
        return NULL;
    }
    size_t i = iter->attribute++;
    return i < index->key.hash_count ? &index->key.hash[i]
                                     : &index->key.range[i - index->key.hash_count];
}

/* Checks one key attribute of an index in an item to put; it may be absent. */
static bool check_index_key(const struct index *index, const struct key_attribute *attribute,
                            struct value value, struct err *err)
{
    if (value_is_absent(value)) {
        return true;
    }
    if (value_type(value) != attribute->type) {
        return err_set(err, ERR_VALIDATION, MESSAGE_INDEX_KEY_TYPE, STR_ARG(attribute->name),
                       value_type_name(attribute->type), value_type_name(value_type(value)),
                       STR_ARG(index->name));
    }
    if (is_empty(value)) {
        return refuse_empty_index_key(index, attribute, err);
    }
    return check_index_key_size(attribute, index, value, err);
}

bool item_check_index_keys(const struct table *table, struct value item, struct err *err)
{
    struct index_key_iter iter = {.table = table};
    const struct key_attribute *attribute;
    while ((attribute = next_index_key(&iter)) != NULL) {
        struct value value = value_map_get(item, attribute->name);
        if (!check_index_key(iter.index, attribute, value, err)) {
            return false;
        }
    }
    return true;
}

bool item_check_empty_keys(const struct table *table, struct value attributes, bool put,
                           struct err *err)
{
    for (size_t i = 0; i < 1 + table->key.range_count; i++) {
        const struct key_attribute *key = i == 0 ? &table->key.hash[0] : &table->key.range[0];
        struct value value = value_map_get(attributes, key->name);
        if (value_type(value) == key->type && is_empty(value)) {
            return refuse_empty(key->name, value, err);
        }
    }
    struct index_key_iter iter = {.table = table};
    const struct key_attribute *attribute;
    while (put && (attribute = next_index_key(&iter)) != NULL) {
        struct value value = value_map_get(attributes, attribute->name);
        if (value_type(value) == attribute->type && is_empty(value)) {
            return refuse_empty_index_key(iter.index, attribute, err);
        }
    }
    return true;
}

static bool check_changed_key(struct item_write *write, const struct index *index,
                              const struct key_attribute *attribute, struct value before,
                              struct value after)
{
    if (value_is_absent(after) || value_eq(before, after)) {
        return true;
    }
    if (value_type(after) == attribute->type && is_empty(after)) {
        write->empty_index_key = true;
        return err_set(&write->err, ERR_VALIDATION, MESSAGE_INDEX_KEY_SET_EMPTY,
                       attribute->type == VALUE_S ? "string" : "binary");
    }
    return check_index_key(index, attribute, after, &write->err);
}

bool item_check_changed_index_keys(struct item_write *write, struct value old_item,
                                   const struct update_result *result)
{
    struct index_key_iter iter = {.table = write->table};
    const struct key_attribute *attribute;
    while ((attribute = next_index_key(&iter)) != NULL) {
        struct value before =
            value_is_absent(old_item) ? VALUE_ABSENT : value_map_get(old_item, attribute->name);
        struct value after = result == NULL ? value_map_get(write->new_item, attribute->name)
                                            : update_result_get(result, attribute->name);
        if (!check_changed_key(write, iter.index, attribute, before, after)) {
            return false;
        }
    }
    return true;
}

/* Adds those attributes of the schema that are not in `known` (may be NULL). */
static uint32_t add_attributes(struct builder *builder, const struct key_attribute *attributes,
                               size_t count, const struct key_schema *known, struct value item)
{
    uint32_t added = 0;
    for (size_t i = 0; i < count; i++) {
        struct value value = value_map_get(item, attributes[i].name);
        if (!value_is_absent(value) &&
            (known == NULL || !key_schema_has(known, attributes[i].name))) {
            builder_add_key(builder, attributes[i].name);
            builder_add_value(builder, value);
            added++;
        }
    }
    return added;
}

struct value item_key_value(const struct table *table, const struct index *index, struct value item,
                            struct arena *arena)
{
    struct builder builder;
    builder_init(&builder, arena, 256);
    size_t open = builder_open(&builder, VALUE_M);
    uint32_t count = add_attributes(&builder, table->key.hash, table->key.hash_count, NULL, item);
    count += add_attributes(&builder, table->key.range, table->key.range_count, NULL, item);
    if (index != NULL) {
        count +=
            add_attributes(&builder, index->key.hash, index->key.hash_count, &table->key, item);
        count +=
            add_attributes(&builder, index->key.range, index->key.range_count, &table->key, item);
    }
    builder_close_map(&builder, open, count);
    return builder_finish(&builder);
}
