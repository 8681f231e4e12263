/* Compares a copy with its source: the rows of each space by count, bytes and a checksum, which are
 * reported for each table, and the values of all counters. Runs on the caller's thread, and
 * blocks. */
#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"
#include "codec/stored_table.h"
#include "engine/copy_internal.h"

struct digest {
    uint64_t rows;
    uint64_t bytes;
    uint64_t sum; /* of the hashes of the rows */
};

struct digests {
    struct map spaces; /* 4 bytes -> struct digest */
    struct digest all;
};

static void digests_finish(struct digests *digests)
{
    size_t at = 0;
    struct str space;
    void *digest;
    while (map_next(&digests->spaces, &at, &space, &digest)) {
        mem_free(digest);
    }
    map_finish(&digests->spaces);
}

static void add(struct digest *digest, const struct digest *more)
{
    digest->rows += more->rows;
    digest->bytes += more->bytes;
    digest->sum += more->sum;
}

static bool is_equal(const struct digest *a, const struct digest *b)
{
    return a->rows == b->rows && a->bytes == b->bytes && a->sum == b->sum;
}

static void add_row(struct digests *digests, struct str key, struct str value)
{
    struct digest row = {
        .rows = 1,
        .bytes = key.len + value.len,
        .sum = hash_64_seeded(value, hash_64(key)),
    };
    struct str space = str_make(key.data, STORE_SPACE_LEN);
    struct digest *digest = map_get(&digests->spaces, space);
    if (digest == NULL) {
        digest = mem_zalloc(sizeof(*digest));
        map_put(&digests->spaces, space, digest);
    }
    add(digest, &row);
    add(&digests->all, &row);
}

static struct digest digest_of(const struct digests *digests, uint32_t space)
{
    uint8_t name[STORE_SPACE_LEN];
    put_u32_be(name, space);
    const struct digest *digest = map_get(&digests->spaces, str_make(name, sizeof(name)));
    return digest != NULL ? *digest : (struct digest){0};
}

static bool digest_store(struct copy *copy, struct store *store, struct digests *out)
{
    struct buf next = {0};
    buf_add(&next, STR("\0\0\0\1"));
    bool ok = true;
    copy->progress = (struct copy_progress){.is_comparing = true};
    while (ok && str_cmp(buf_str(&next), copy_last_key()) < 0) {
        ok = copy_read_chunk(copy, store, buf_str(&next));
        const struct chunk *chunk = &copy->chunk;
        for (size_t i = 0; ok && i < chunk->count; i++) {
            add_row(out, chunk->keys[i], chunk->values[i]);
        }
        copy->progress.rows += chunk->count;
        copy->progress.bytes += chunk->bytes;
        copy_report_progress(copy, false);
        next.len = 0;
        buf_add(&next, chunk->is_last ? copy_last_key() : chunk->next);
    }
    buf_finish(&next);
    return ok;
}

/* --- tables --- */

static struct digest digest_of_table(const struct digests *digests, const struct table *table)
{
    uint32_t spaces[TABLE_SPACES_MAX];
    size_t count = catalog_table_spaces(table, false, spaces);
    struct digest sum = {0};
    for (size_t i = 0; i < count; i++) {
        struct digest digest = digest_of(digests, spaces[i]);
        add(&sum, &digest);
    }
    return sum;
}

static bool compare_table(struct copy *copy, const struct table *table,
                          const struct digests *source, const struct digests *target)
{
    struct digest from = digest_of_table(source, table);
    struct digest to = digest_of_table(target, table);
    if (!is_equal(&from, &to)) {
        return err_set(copy->err, ERR_INTERNAL,
                       "the table %.*s differs (%llu rows in the source, %llu in the target): was "
                       "the source changed meanwhile? Stop its servers, " EMPTY_AND_COPY,
                       STR_ARG(table->name), (unsigned long long)from.rows,
                       (unsigned long long)to.rows);
    }
    if (copy->options->table != NULL) {
        struct copy_table report = {
            .name = table->name,
            .items = digest_of(target, table->space).rows,
            .rows = to.rows,
            .bytes = to.bytes,
            .checksum = to.sum,
        };
        copy->options->table(copy->options->context, &report);
    }
    return true;
}

/* Compares all tables of the source's catalog. */
static bool compare_tables(struct copy *copy, const struct digests *source,
                           const struct digests *target)
{
    struct arena arena;
    arena_init(&arena);
    struct str prefix = catalog_key(&arena, "table", STR(""));
    struct str end = key_after_prefix(&arena, prefix);
    struct buf from = {0};
    buf_add(&from, prefix);
    bool ok;
    while ((ok = copy_read_first(copy, copy->source, buf_str(&from), end) ||
                 copy_fail(copy, SOURCE_UNREADABLE)) &&
           copy->chunk.count > 0) {
        struct table table;
        from.len = 0;
        buf_add(&from, copy->chunk.keys[0]);
        buf_add_char(&from, '\0');
        if (!table_decode(&copy->chunk.arena, copy->chunk.values[0], &table, copy->err) ||
            !compare_table(copy, &table, source, target)) {
            ok = false;
            break;
        }
    }
    buf_finish(&from);
    arena_finish(&arena);
    return ok;
}

static bool compare_rows(struct copy *copy, const struct digests *source,
                         const struct digests *target)
{
    if (!compare_tables(copy, source, target)) {
        return false;
    }
    return is_equal(&source->all, &target->all) ||
           err_set(copy->err, ERR_INTERNAL,
                   "rows that belong to no table differ (%llu rows in the source, %llu in the "
                   "target, with those of tables): was the source changed meanwhile?",
                   (unsigned long long)source->all.rows, (unsigned long long)target->all.rows);
}

/* --- counters --- */

static bool compare_counters(struct copy *copy, const struct copy_counters *counters)
{
    bool ok = true;
    for (size_t i = 0; ok && i < counters->count; i++) {
        struct store_count from = counters->source[i];
        struct store_count to = counters->target[i];
        ok = (from.count == to.count && from.bytes == to.bytes) ||
             copy_fail(copy, "counters differ: was the source changed meanwhile? Stop its "
                             "servers, " EMPTY_AND_COPY);
        copy->result->counters += to.count != 0 || to.bytes != 0;
    }
    return ok;
}

bool copy_compare(struct copy *copy, struct copy_result *out)
{
    struct digests source = {0};
    struct digests target = {0};
    map_init(&source.spaces);
    map_init(&target.spaces);
    copy->result = out;
    bool ok = (digest_store(copy, copy->source, &source) || copy_fail(copy, SOURCE_UNREADABLE)) &&
              (digest_store(copy, copy->target, &target) || copy_fail(copy, TARGET_UNREADABLE)) &&
              compare_rows(copy, &source, &target) && copy_each_counter(copy, compare_counters);
    out->rows = target.all.rows;
    out->bytes = target.all.bytes;
    digests_finish(&source);
    digests_finish(&target);
    return ok;
}
