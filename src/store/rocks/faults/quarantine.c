/* The list of keys in quarantine: see quarantine.h. Loaded when the database is opened; any thread
 * reads it. database/quarantine_sst.c adds to the rows. */
#include "store/rocks/faults/quarantine.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "store/image/quarantine_row.h"
#include "store/rocks/faults/damage.h"

void quarantine_init(struct quarantine *quarantine)
{
    *quarantine = (struct quarantine){0};
    arena_init(&quarantine->arena);
}

void quarantine_finish(struct quarantine *quarantine)
{
    arena_finish(&quarantine->arena);
    mem_free(quarantine->blocks);
}

/* Loading -------------------------------------------------------------------------------------- */

/* Adds a row. False: it is malformed. */
static bool add_row(struct quarantine *quarantine, struct str key, struct str value)
{
    struct quarantine_row row;
    if (!quarantine_row_decode(key, value, &row)) {
        return false;
    }
    if (quarantine->block_count == quarantine->block_capacity) {
        quarantine->block_capacity = MAX(2 * quarantine->block_capacity, (size_t)16);
        quarantine->blocks = mem_realloc(quarantine->blocks,
                                         quarantine->block_capacity * sizeof(*quarantine->blocks));
    }
    row.first = arena_copy(&quarantine->arena, row.first);
    row.last = arena_copy(&quarantine->arena, row.last);
    quarantine->blocks[quarantine->block_count++] = row;
    return true;
}

static bool read_rows(struct rocks *rocks, rocksdb_iterator_t *iter)
{
    char prefix[STORE_PREFIX_LEN];
    quarantine_prefix(prefix);
    bool good = true;
    for (rocksdb_iter_seek(iter, prefix, sizeof(prefix)); good && rocksdb_iter_valid(iter);
         rocksdb_iter_next(iter)) {
        size_t key_len;
        size_t value_len;
        const char *key = rocksdb_iter_key(iter, &key_len);
        const char *value = rocksdb_iter_value(iter, &value_len);
        if (!str_starts_with(str_make(key, key_len), str_make(prefix, sizeof(prefix)))) {
            break;
        }
        good = add_row(&rocks->quarantine, str_make(key, key_len), str_make(value, value_len));
    }
    char *message = NULL;
    rocksdb_iter_get_error(iter, &message);
    return !rocks_failed(message, "read") && good;
}

static int compare_first(const void *a, const void *b)
{
    const struct quarantine_range *x = a;
    const struct quarantine_range *y = b;
    return str_cmp(x->first, y->first);
}

/* Sorts the ranges, and merges those that overlap, so that a key can be searched for. */
static void make_ranges(struct quarantine *quarantine)
{
    quarantine->ranges =
        ARENA_ARRAY(&quarantine->arena, struct quarantine_range, quarantine->block_count + 1);
    for (size_t i = 0; i < quarantine->block_count; i++) {
        const struct quarantine_row *row = &quarantine->blocks[i];
        quarantine->ranges[i] = (struct quarantine_range){
            .first = row->first, .last = row->last, .sst = row->sst, .offset = row->offset};
    }
    qsort(quarantine->ranges, quarantine->block_count, sizeof(*quarantine->ranges), compare_first);
    for (size_t i = 0; i < quarantine->block_count; i++) {
        struct quarantine_range range = quarantine->ranges[i];
        struct quarantine_range *last =
            quarantine->range_count > 0 ? &quarantine->ranges[quarantine->range_count - 1] : NULL;
        if (last == NULL || str_cmp(last->last, range.first) < 0) {
            quarantine->ranges[quarantine->range_count++] = range;
        } else if (str_cmp(last->last, range.last) < 0) {
            last->last = range.last;
        }
    }
}

bool rocks_load_quarantine(struct rocks *rocks, struct err *err)
{
    struct quarantine *quarantine = &rocks->quarantine;
    assert(gate_is_shut(&rocks->gate)); /* no reader uses the list that is replaced */
    arena_reset(&quarantine->arena);
    quarantine->block_count = 0;
    quarantine->range_count = 0;
    rocksdb_iterator_t *iter = rocksdb_create_iterator(rocks->db, rocks->read_blocking);
    bool good = read_rows(rocks, iter);
    rocksdb_iter_destroy(iter);
    make_ranges(quarantine);
    return good ||
           err_set(err, ERR_INTERNAL,
                   "cannot read from the store in %s which blocks are in quarantine", rocks->path);
}

/* Searching ------------------------------------------------------------------------------------ */

bool quarantine_has_block(const struct quarantine *quarantine, uint64_t sst, uint64_t offset)
{
    for (size_t i = 0; i < quarantine->block_count; i++) {
        if (quarantine->blocks[i].sst == sst && quarantine->blocks[i].offset == offset) {
            return true;
        }
    }
    return false;
}

/* Returns the number of the first range that ends at `key` or behind it. */
static size_t find_end(const struct quarantine *quarantine, struct str key)
{
    size_t low = 0;
    size_t high = quarantine->range_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (str_cmp(quarantine->ranges[middle].last, key) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

const struct quarantine_range *quarantine_find(const struct quarantine *quarantine, struct str key)
{
    size_t i = find_end(quarantine, key);
    bool found = i < quarantine->range_count && str_cmp(quarantine->ranges[i].first, key) <= 0;
    return found ? &quarantine->ranges[i] : NULL;
}

const struct quarantine_range *rocks_quarantine_ahead(const struct rocks *rocks, struct str lo,
                                                      struct str hi, bool backward)
{
    const struct quarantine *quarantine = &rocks->quarantine;
    const struct quarantine_range *found = NULL;
    for (size_t i = find_end(quarantine, lo); i < quarantine->range_count; i++) {
        const struct quarantine_range *range = &quarantine->ranges[i];
        if (str_cmp(range->first, hi) >= 0 || (found != NULL && !backward)) {
            break;
        }
        if (!space_set_has(&rocks->gone, store_key_space(range->first))) {
            found = range;
        }
    }
    return found;
}

size_t rocks_quarantine_live_count(const struct rocks *rocks)
{
    size_t count = 0;
    for (size_t i = 0; i < rocks->quarantine.range_count; i++) {
        struct str first = rocks->quarantine.ranges[i].first;
        count += !space_set_has(&rocks->gone, store_key_space(first));
    }
    return count;
}

/* The log -------------------------------------------------------------------------------------- */

void rocks_note_quarantined_read(struct rocks *rocks, const struct quarantine_range *range)
{
    rocks_note_damage(rocks, range->sst, (int64_t)range->offset, "a block in quarantine");
}

void rocks_report_quarantine(const struct rocks *rocks)
{
    size_t count = rocks_quarantine_live_count(rocks);
    if (count > 0) {
        log_write(LOG_WARN, "store",
                  "%zu ranges of keys in %s are in quarantine, because blocks of SST files were "
                  "damaged: requests for the rows there fail; `gramme check` lists them; stop the "
                  "server, then `gramme repair %s %s-repaired` saves the other rows into a new "
                  "store",
                  count, rocks->path, rocks->path, rocks->path);
    }
}
