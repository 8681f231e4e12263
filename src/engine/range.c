/* Computes the row keys that a Query or Scan reads: see range.h. On the thread of the call. */
#include "engine/range.h"

#include "base/bytes.h"
#include "engine/engine_internal.h"

/* Adds a sort attribute to a key: raw in rows of tables, where it is last, and grouped in entries
 * of indexes. */
static void add_sort(struct key_writer *writer, bool grouped, struct value value)
{
    if (grouped) {
        key_add_grouped(writer, value_bytes(value));
    } else {
        key_add_bytes(writer, value_bytes(value));
    }
}

/* Returns the range of keys that start with `prefix` and the value. */
static struct key_range range_at(struct str prefix, bool grouped, struct value value,
                                 struct arena *arena)
{
    struct key_writer writer;
    key_start(&writer, arena, 0);
    writer.len = 0;
    key_add_bytes(&writer, prefix);
    add_sort(&writer, grouped, value);
    struct key_range range;
    range.lo = key_finish(&writer);
    if (grouped) {
        range.hi = key_after_prefix(arena, range.lo);
    } else { /* the row itself and nothing longer */
        char *hi = arena_bytes(arena, range.lo.len + 1);
        memcpy(hi, range.lo.data, range.lo.len);
        hi[range.lo.len] = '\0';
        range.hi = str_make(hi, range.lo.len + 1);
    }
    return range;
}

static struct str prefix_end(struct str prefix, bool grouped, struct value value,
                             struct arena *arena)
{
    struct key_writer writer;
    key_start(&writer, arena, 0);
    writer.len = 0;
    key_add_bytes(&writer, prefix);
    if (grouped) {
        key_add_grouped_prefix(&writer, value_bytes(value));
    } else {
        key_add_bytes(&writer, value_bytes(value));
    }
    return key_after_prefix(arena, key_finish(&writer));
}

/* Narrows the range to the bounds of the condition. */
static void apply_bounds(struct key_range *range, struct str prefix, bool grouped,
                         const struct key_condition *condition, struct arena *arena)
{
    const struct key_bound *low = &condition->low;
    const struct key_bound *high = &condition->high;
    if (low->kind != BOUND_NONE) {
        struct key_range at = range_at(prefix, grouped, low->value, arena);
        range->lo = low->kind == BOUND_CLOSED ? at.lo : at.hi;
    }
    if (high->kind == BOUND_PREFIX) {
        range->hi = prefix_end(prefix, grouped, high->value, arena);
    } else if (high->kind != BOUND_NONE) {
        struct key_range at = range_at(prefix, grouped, high->value, arena);
        range->hi = high->kind == BOUND_CLOSED ? at.hi : at.lo;
    }
}

struct key_range range_of_query(struct engine *engine, const struct table *table,
                                const struct index *index, const struct key_condition *condition,
                                struct arena *arena)
{
    const struct key_schema *key = index == NULL ? &table->key : &index->key;
    bool grouped = index != NULL;
    struct key_writer writer;
    key_start(&writer, arena, index == NULL ? table->space : index->space);
    key_add_hash(&writer, engine->seed, condition->hash, key->hash_count);
    struct str prefix = key_finish(&writer);
    struct key_range range = {.lo = prefix, .hi = key_after_prefix(arena, prefix)};
    for (size_t i = 0; i < condition->range_equal_count; i++) {
        range = range_at(prefix, grouped, condition->range_equal[i], arena);
        prefix = range.lo;
    }
    apply_bounds(&range, prefix, grouped, condition, arena);
    return range;
}

/* Returns the smallest key of a segment: an equal part of all hashes, by their first 8 bytes. */
static struct str segment_start(uint32_t space, uint32_t segment, uint32_t total,
                                struct arena *arena)
{
    if (segment == total) {
        struct key_writer writer;
        key_start(&writer, arena, space);
        return key_after_prefix(arena, key_finish(&writer));
    }
    uint64_t first = (uint64_t)(((unsigned __int128)segment << 64) / total);
    struct key_writer writer;
    key_start(&writer, arena, space);
    char bytes[8];
    put_u64_be(bytes, first);
    key_add_bytes(&writer, str_make(bytes, sizeof(bytes)));
    return key_finish(&writer);
}

struct key_range range_of_scan(const struct table *table, const struct index *index,
                               uint32_t segment, uint32_t total, struct arena *arena)
{
    uint32_t space = index == NULL ? table->space : index->space;
    return (struct key_range){
        .lo = segment_start(space, segment, total, arena),
        .hi = segment_start(space, segment + 1, total, arena),
    };
}

/* Whether the values of those attributes can be keys. */
static enum start_key check_keys(const struct key_attribute *attributes, size_t count,
                                 size_t bytes_max, struct value key)
{
    enum start_key fit = START_KEY_FITS;
    for (size_t i = 0; i < count; i++) {
        struct value value = value_map_get(key, attributes[i].name);
        if (value_is_absent(value)) {
            return START_KEY_INCOMPLETE;
        }
        if (value_type(value) != attributes[i].type || value_bytes(value).len == 0 ||
            value_bytes(value).len > bytes_max) {
            fit = START_KEY_MISMATCH;
        }
    }
    return fit;
}

static enum start_key check_schema(const struct key_schema *keys, struct value key)
{
    enum start_key hash = check_keys(keys->hash, keys->hash_count, HASH_KEY_BYTES_MAX, key);
    enum start_key range = check_keys(keys->range, keys->range_count, RANGE_KEY_BYTES_MAX, key);
    bool incomplete = hash == START_KEY_INCOMPLETE || range == START_KEY_INCOMPLETE;
    return incomplete ? START_KEY_INCOMPLETE : MAX(hash, range);
}

/* How many different attributes the two schemas have. */
static size_t attribute_count(const struct table *table, const struct index *index)
{
    size_t count = table->key.hash_count + table->key.range_count;
    for (size_t i = 0; index != NULL && i < index->key.hash_count; i++) {
        count += !key_schema_has(&table->key, index->key.hash[i].name);
    }
    for (size_t i = 0; index != NULL && i < index->key.range_count; i++) {
        count += !key_schema_has(&table->key, index->key.range[i].name);
    }
    return count;
}

enum start_key range_start_row(struct engine *engine, const struct table *table,
                               const struct index *index, struct value start_key,
                               struct arena *arena, struct str *out)
{
    enum start_key fit = check_schema(&table->key, start_key);
    enum start_key index_fit = index == NULL ? fit : check_schema(&index->key, start_key);
    if (value_count(start_key) != attribute_count(table, index) || fit == START_KEY_INCOMPLETE ||
        index_fit == START_KEY_INCOMPLETE) {
        return START_KEY_INCOMPLETE;
    }
    if (fit != START_KEY_FITS || index_fit != START_KEY_FITS) {
        return START_KEY_MISMATCH;
    }
    struct item_key key = {
        .hash = value_map_get(start_key, table->key.hash[0].name),
        .range = table->key.range_count == 0 ? VALUE_ABSENT
                                             : value_map_get(start_key, table->key.range[0].name),
    };
    key.row = key_of_item(arena, engine->seed, table->space, key.hash, key.range);
    *out = index == NULL ? key.row : index_entry_key(engine, index, &key, start_key, arena);
    return START_KEY_FITS;
}

bool range_fits_sort_key(struct engine *engine, const struct table *table,
                         const struct index *index, struct key_condition condition,
                         struct value start_key, struct str row, struct arena *arena)
{
    const struct key_schema *keys = index == NULL ? &table->key : &index->key;
    for (size_t i = 0; i < keys->hash_count; i++) {
        condition.hash[i] = value_map_get(start_key, keys->hash[i].name);
    }
    struct key_range range = range_of_query(engine, table, index, &condition, arena);
    return str_cmp(row, range.lo) >= 0 && str_cmp(row, range.hi) < 0;
}

bool range_start_after(struct key_range *range, struct str row, bool backward, struct arena *arena)
{
    if (str_cmp(row, range->lo) < 0 || str_cmp(row, range->hi) >= 0) {
        return false;
    }
    if (backward) {
        range->hi = row;
        return true;
    }
    char *lo = arena_bytes(arena, row.len + 1);
    memcpy(lo, row.data, row.len);
    lo[row.len] = '\0';
    range->lo = str_make(lo, row.len + 1);
    return true;
}
