/* Computes the rows of a table or index before some writes: see past.h. Called on the thread of a
 * read, only while stale reads or index lag are simulated. */
#include "engine/past.h"

#include <stdlib.h>

#include "engine/engine_internal.h"

static int compare_keys(const void *a, const void *b)
{
    const struct past_row *left = a;
    const struct past_row *right = b;
    int order = str_cmp(left->key, right->key);
    if (order != 0) {
        return order;
    }
    /* Of one key: the row that was there comes before the mark that there was none. */
    return (int)str_is_null(left->row) - (int)str_is_null(right->row);
}

/* Sorts the rows and keeps the first of each key. */
static size_t sort_rows(struct past_row *rows, size_t count)
{
    size_t kept = 0;
    if (count > 0) {
        qsort(rows, count, sizeof(*rows), compare_keys);
    }
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || !str_eq(rows[kept - 1].key, rows[i].key)) {
            rows[kept++] = rows[i];
        }
    }
    return kept;
}

struct add {
    const struct engine *engine;
    const struct past_range *range;
    struct arena *arena;
    struct past_row *rows;
    size_t count;
};

static void add_row(struct add *add, struct str key, struct str row)
{
    if (!str_is_null(key) && str_cmp(key, add->range->lo) >= 0 &&
        str_cmp(key, add->range->hi) < 0) {
        add->rows[add->count++] = (struct past_row){.key = key, .row = row};
    }
}

static struct str encode(const struct add *add, struct value item)
{
    return value_is_absent(item)
               ? STR_NULL
               : row_encode(add->arena, item, item_size(item), add->range->table->version);
}

/* The entry of an item in the index. */
static void add_entry(struct add *add, const struct past_write *write)
{
    struct item_key key = {.row = write->row};
    struct str item_row = encode(add, write->old_item);
    struct index_entry entry = index_entry_of(add->engine, add->range->table, add->range->index,
                                              &key, write->old_item, item_row, add->arena);
    add_row(add, entry.key, entry.row);
}

/* The entry that the write made, if any, was not there, unless an older one had the same key. */
static void add_absence(struct add *add, const struct past_write *write)
{
    struct item_key key = {.row = write->row};
    if (!value_is_absent(write->new_item)) {
        struct str entry =
            index_entry_key(add->engine, add->range->index, &key, write->new_item, add->arena);
        add_row(add, entry, STR_NULL);
    }
}

static int compare_writes(const void *a, const void *b)
{
    const struct past_write *left = *(const struct past_write *const *)a;
    const struct past_write *right = *(const struct past_write *const *)b;
    int order = str_cmp(left->row, right->row);
    return order != 0 ? order : (left > right) - (left < right); /* of one item in their order */
}

/* Pointers to the writes, those of one item together and in their order. */
static const struct past_write **sort_writes(const struct past_write *writes, size_t count,
                                             struct arena *arena)
{
    const struct past_write **sorted = ARENA_ARRAY(arena, const struct past_write *, count + 1);
    for (size_t i = 0; i < count; i++) {
        sorted[i] = &writes[i];
    }
    if (count > 0) {
        qsort(sorted, count, sizeof(const struct past_write *), compare_writes);
    }
    return sorted;
}

struct past past_before(const struct engine *engine, const struct past_range *range,
                        const struct past_write *writes, size_t count, struct arena *arena)
{
    const struct past_write **sorted = sort_writes(writes, count, arena);
    struct add add = {
        .engine = engine,
        .range = range,
        .arena = arena,
        .rows = ARENA_ARRAY(arena, struct past_row, 2 * count + 1),
    };
    for (size_t i = 0; i < count; i++) {
        bool is_first = i == 0 || !str_eq(sorted[i - 1]->row, sorted[i]->row);
        if (range->index == NULL && is_first) { /* the oldest write contains the previous row */
            add_row(&add, sorted[i]->row, encode(&add, sorted[i]->old_item));
        } else if (range->index != NULL) {
            if (is_first) {
                add_entry(&add, sorted[i]);
            }
            add_absence(&add, sorted[i]);
        }
    }
    return (struct past){.rows = add.rows, .count = sort_rows(add.rows, add.count)};
}
