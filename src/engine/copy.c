/* Copies a store: see copy.h. Runs on the caller's thread, and blocks. */
#include "engine/copy.h"

#include "base/buf.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "engine/engine_internal.h"

enum {
    COPY_VERSION = 1,
    CHUNK_ROWS = 512,
    IN_FLIGHT = 4,
    COUNTERS_AT_ONCE = 64,
    SLOTS_MAX = 65536
};
static const size_t chunk_bytes_max = (size_t)1 << 20;
enum { PROGRESS_US = 1000 * 1000 };

/* The end of all keys. */
static struct str last_key(void)
{
    return STR("\xFF\xFF\xFF\xFF\xFF");
}

/* Rows that are written together. */
struct chunk {
    struct copy *copy;
    struct arena arena;
    struct store_range range;
    struct store_update update;
    struct str keys[CHUNK_ROWS];
    struct str values[CHUNK_ROWS];
    size_t count;
    size_t bytes;
    struct str next; /* the first key that is not copied; STR_NULL: none */
    bool is_last;
    bool done;
};

struct copy {
    struct store *source;
    struct store *target;
    const struct copy_options *options;
    struct copy_progress progress;
    int64_t reported_us;
    struct waiting_mailbox *mailbox;
    struct chunk chunk;
    struct err *err;
};

static bool fail(struct copy *copy, const char *what)
{
    return err_set(copy->err, ERR_INTERNAL, "%s", what);
}

static void tell(struct copy *copy, bool always)
{
    int64_t now_us = clock_monotonic_us();
    if ((always || now_us >= copy->reported_us + PROGRESS_US) && copy->options->progress != NULL) {
        copy->reported_us = now_us;
        copy->options->progress(copy->options->context, &copy->progress);
    }
}

static void chunk_reset(struct chunk *chunk)
{
    arena_reset(&chunk->arena);
    chunk->count = 0;
    chunk->bytes = 0;
    chunk->is_last = true;
    chunk->next = STR_NULL;
}

/* --- waiting for the stores --- */

static void range_done(struct store_range *range)
{
    CONTAINER_OF(range, struct chunk, range)->done = true;
}

static void update_done(struct store_update *update)
{
    CONTAINER_OF(update, struct chunk, update)->done = true;
}

static bool read_range(struct copy *copy, struct store *store)
{
    struct chunk *chunk = &copy->chunk;
    struct arena scratch;
    arena_init(&scratch);
    chunk->done = false;
    chunk->range.arena = &scratch;
    chunk->range.home = waiting_mailbox_box(copy->mailbox);
    chunk->range.done = range_done;
    chunk->range.before_serving = true;
    store_range(store, &chunk->range);
    waiting_mailbox_run(copy->mailbox, &chunk->done);
    arena_finish(&scratch);
    return chunk->range.status == STORE_OK;
}

static bool write_update(struct copy *copy, bool (*eval)(struct store_update *, const struct str *,
                                                         struct store_batch *))
{
    struct chunk *chunk = &copy->chunk;
    chunk->done = false;
    chunk->update = (struct store_update){
        .arena = &chunk->arena,
        .home = waiting_mailbox_box(copy->mailbox),
        .eval = eval,
        .done = update_done,
    };
    store_update(copy->target, &chunk->update);
    waiting_mailbox_run(copy->mailbox, &chunk->done);
    return chunk->update.status == STORE_OK;
}

/* --- how far it is --- */

static struct str place_key(struct arena *arena)
{
    return catalog_key(arena, "copy", STR(""));
}

static struct str place_row(struct arena *arena, uint64_t seed, struct str next)
{
    char *row = arena_bytes(arena, 1 + 8 + next.len);
    row[0] = COPY_VERSION;
    put_u64_be(row + 1, seed);
    if (next.len > 0) {
        memcpy(row + 9, next.data, next.len);
    }
    return str_make(row, 9 + next.len);
}

static bool keep_first(struct store_range *range, struct str key, struct str value)
{
    struct chunk *chunk = CONTAINER_OF(range, struct chunk, range);
    chunk->keys[0] = arena_copy(&chunk->arena, key);
    chunk->values[0] = arena_copy(&chunk->arena, value);
    chunk->count = 1;
    return false;
}

static bool read_first(struct copy *copy, struct store *store, struct str lo, struct str hi)
{
    chunk_reset(&copy->chunk);
    copy->chunk.range = (struct store_range){.lo = lo, .hi = hi, .row = keep_first};
    return read_range(copy, store);
}

/* Finds where to begin: at the first key, or at the cursor of an interrupted call. */
static bool find_place(struct copy *copy, struct buf *next, bool *out_resumed)
{
    struct chunk *chunk = &copy->chunk;
    struct arena arena;
    arena_init(&arena);
    struct str key = place_key(&arena);
    bool ok = read_first(copy, copy->target, key, key_after_prefix(&arena, key)) ||
              fail(copy, "the target cannot be read");
    *out_resumed = ok && chunk->count == 1;
    if (*out_resumed) {
        struct str row = chunk->values[0];
        bool same = row.len >= 9 && row.data[0] == COPY_VERSION &&
                    get_u64_be(row.data + 1) == store_seed(copy->source);
        ok = same || fail(copy, "the target is the unfinished copy of another store");
        buf_add(next, str_skip(row, MIN(row.len, (size_t)9)));
    } else if (ok) {
        buf_add(next, STR("\0\0\0\1"));
        ok = read_first(copy, copy->target, buf_str(next), last_key())
                 ? chunk->count == 0 || fail(copy, "the target is not empty")
                 : fail(copy, "the target cannot be read");
    }
    arena_finish(&arena);
    return ok;
}

bool copy_check_finished(struct store *store, struct err *err)
{
    struct copy *copy = mem_zalloc(sizeof(*copy));
    copy->err = err;
    copy->mailbox = waiting_mailbox_create();
    struct arena arena;
    arena_init(&arena);
    arena_init(&copy->chunk.arena);
    struct str key = place_key(&arena);
    bool ok = read_first(copy, store, key, key_after_prefix(&arena, key)) ||
              fail(copy, "the catalog of the store cannot be read");
    if (ok && copy->chunk.count > 0) {
        ok = fail(copy, "the store is a copy that was not finished: run gramme copy again");
    }
    arena_finish(&copy->chunk.arena);
    arena_finish(&arena);
    waiting_mailbox_destroy(copy->mailbox);
    mem_free(copy);
    return ok;
}

/* --- copying --- */

static bool is_counter(struct str key)
{
    return store_key_space(key) == SPACE_FACTS && key.len == STORE_PREFIX_LEN &&
           key.data[STORE_SPACE_LEN + STORE_SPACE_LEN] == SPACE_SIZE;
}

static bool is_place(struct str key)
{
    char part[STORE_PART_LEN] = "copy";
    return store_key_space(key) == SPACE_CATALOG && key.len >= STORE_PREFIX_LEN &&
           memcmp(key.data + STORE_SPACE_LEN, part, sizeof(part)) == 0;
}

/* Counters are copied by their values, because ranges of some stores do not return them. */
static bool keep_row(struct store_range *range, struct str key, struct str value)
{
    struct chunk *chunk = CONTAINER_OF(range, struct chunk, range);
    if (is_counter(key) || is_place(key)) {
        return true;
    }
    if (chunk->count == CHUNK_ROWS ||
        (chunk->count > 0 && chunk->bytes + value.len > chunk_bytes_max)) {
        chunk->is_last = false;
        chunk->next = arena_copy(&chunk->arena, key);
        return false;
    }
    chunk->keys[chunk->count] = arena_copy(&chunk->arena, key);
    chunk->values[chunk->count++] = arena_copy(&chunk->arena, value);
    chunk->bytes += key.len + value.len;
    return true;
}

static bool read_chunk(struct copy *copy, struct store *store, struct str from)
{
    chunk_reset(&copy->chunk);
    copy->chunk.range = (struct store_range){.lo = from, .hi = last_key(), .row = keep_row};
    return read_range(copy, store);
}

static bool eval_chunk(struct store_update *update, const struct str *rows,
                       struct store_batch *batch)
{
    (void)rows;
    struct chunk *chunk = CONTAINER_OF(update, struct chunk, update);
    for (size_t i = 0; i < chunk->count; i++) {
        store_batch_put_owned(batch, chunk->keys[i], chunk->values[i]);
    }
    struct str next = chunk->is_last ? last_key() : chunk->next;
    store_batch_put_owned(batch, place_key(update->arena),
                          place_row(update->arena, store_seed(chunk->copy->source), next));
    return true;
}

static bool copy_rows(struct copy *copy, struct buf *next)
{
    struct chunk *chunk = &copy->chunk;
    while (str_cmp(buf_str(next), last_key()) < 0) {
        if (!read_chunk(copy, copy->source, buf_str(next))) {
            return fail(copy, "the source cannot be read");
        }
        if (!write_update(copy, eval_chunk)) {
            return fail(copy, "the target cannot be written");
        }
        next->len = 0;
        buf_add(next, chunk->is_last ? last_key() : chunk->next);
        copy->progress.rows += chunk->count;
        copy->progress.bytes += chunk->bytes;
        tell(copy, false);
    }
    return true;
}

/* --- counters --- */

struct counters_get {
    struct store_get get;
    struct store_count values[COUNTERS_AT_ONCE];
    bool done;
};

static void counters_done(struct store_get *get)
{
    struct counters_get *counters = CONTAINER_OF(get, struct counters_get, get);
    for (size_t i = 0; get->status == STORE_OK && i < get->key_count; i++) {
        counters->values[i] = store_count_value(get->rows[i]);
    }
    counters->done = true;
}

static bool get_counters(struct copy *copy, struct store *store, const struct str *keys,
                         size_t count, struct counters_get *out)
{
    struct arena arena;
    arena_init(&arena);
    *out = (struct counters_get){0};
    out->get = (struct store_get){
        .keys = keys,
        .key_count = count,
        .are_counters = true,
        .before_serving = true,
        .arena = &arena,
        .home = waiting_mailbox_box(copy->mailbox),
        .done = counters_done,
    };
    store_get(store, &out->get);
    waiting_mailbox_run(copy->mailbox, &out->done);
    arena_finish(&arena);
    return out->get.status == STORE_OK;
}

/* Adds the difference to the counters of the target, so that it can be repeated. */
struct counters_update {
    struct store_update update;
    const struct str *keys;
    struct store_count deltas[COUNTERS_AT_ONCE];
    size_t count;
    bool done;
};

static bool eval_counters(struct store_update *update, const struct str *rows,
                          struct store_batch *batch)
{
    (void)rows;
    struct counters_update *counters = CONTAINER_OF(update, struct counters_update, update);
    for (size_t i = 0; i < counters->count; i++) {
        if (counters->deltas[i].count != 0 || counters->deltas[i].bytes != 0) {
            store_batch_add(batch, counters->keys[i], counters->deltas[i]);
        }
    }
    return true;
}

static void counters_written(struct store_update *update)
{
    CONTAINER_OF(update, struct counters_update, update)->done = true;
}

static bool add_counters(struct copy *copy, struct counters_update *counters)
{
    struct arena arena;
    arena_init(&arena);
    counters->update = (struct store_update){
        .arena = &arena,
        .home = waiting_mailbox_box(copy->mailbox),
        .eval = eval_counters,
        .done = counters_written,
    };
    counters->done = false;
    store_update(copy->target, &counters->update);
    waiting_mailbox_run(copy->mailbox, &counters->done);
    arena_finish(&arena);
    return counters->update.status == STORE_OK;
}

static bool copy_some_counters(struct copy *copy, uint32_t first, size_t count, uint64_t *copied)
{
    struct arena arena;
    arena_init(&arena);
    struct str keys[COUNTERS_AT_ONCE];
    for (size_t i = 0; i < count; i++) {
        keys[i] = space_fact_key(&arena, first + (uint32_t)i, SPACE_SIZE);
    }
    struct counters_get source;
    struct counters_get target;
    struct counters_update update = {.keys = keys, .count = count};
    bool ok = (get_counters(copy, copy->source, keys, count, &source) ||
               fail(copy, "the source cannot be read")) &&
              (get_counters(copy, copy->target, keys, count, &target) ||
               fail(copy, "the target cannot be read"));
    for (size_t i = 0; ok && i < count; i++) {
        update.deltas[i].count = source.values[i].count - target.values[i].count;
        update.deltas[i].bytes = source.values[i].bytes - target.values[i].bytes;
        *copied += source.values[i].count != 0 || source.values[i].bytes != 0;
    }
    ok = ok && (add_counters(copy, &update) || fail(copy, "the target cannot be written"));
    arena_finish(&arena);
    return ok;
}

/* Copies the counters of all spaces that the catalog names. */
static bool copy_counters(struct copy *copy, uint64_t *copied)
{
    struct arena arena;
    arena_init(&arena);
    struct str key = catalog_key(&arena, "next", STR(""));
    bool ok = read_first(copy, copy->source, key, key_after_prefix(&arena, key)) ||
              fail(copy, "the source cannot be read");
    uint32_t end =
        ok && copy->chunk.count > 0 ? get_u32_be(copy->chunk.values[0].data) : SPACE_FIRST_FREE;
    for (uint32_t at = SPACE_FIRST_FREE; ok && at < end; at += COUNTERS_AT_ONCE) {
        ok =
            copy_some_counters(copy, at, MIN((size_t)(end - at), (size_t)COUNTERS_AT_ONCE), copied);
    }
    arena_finish(&arena);
    return ok;
}

/* --- logs of streams and feeds --- */

/* The newest record of each slot, or the row with the last record that was erased, whose stamp the
 * log must continue. */
struct log_end {
    uint32_t slot;
    uint64_t stamp;
    struct stream_shard shard;
};

struct log_scan {
    struct copy *copy;
    struct store_range range;
    struct store_update update;
    struct arena arena;
    uint32_t space;
    struct log_end *ends;
    size_t count;
    bool done;
};

static bool note_record(struct store_range *range, struct str key, struct str value)
{
    struct log_scan *scan = CONTAINER_OF(range, struct log_scan, range);
    struct stream_shard shard = stream_key_shard(key);
    struct stream_trimmed last;
    if (shard.epoch == UINT64_MAX) {
        last = stream_trim_decode(value);
    } else {
        last = (struct stream_trimmed){shard.epoch, stream_key_stamp(key)};
    }
    size_t i = 0;
    while (i < scan->count && scan->ends[i].slot != shard.slot) {
        i++;
    }
    if (i == scan->count) {
        if (scan->count == SLOTS_MAX) {
            return false;
        }
        scan->ends[scan->count++] = (struct log_end){.slot = shard.slot};
    }
    struct log_end *end = &scan->ends[i];
    end->stamp = MAX(end->stamp, last.stamp);
    end->shard = (struct stream_shard){MAX(end->shard.epoch, last.epoch), shard.slot};
    return true;
}

static void scan_done(struct store_range *range)
{
    CONTAINER_OF(range, struct log_scan, range)->done = true;
}

static bool eval_ends(struct store_update *update, const struct str *rows,
                      struct store_batch *batch)
{
    (void)rows;
    struct log_scan *scan = CONTAINER_OF(update, struct log_scan, update);
    for (size_t i = 0; i < scan->count; i++) {
        const struct log_end *end = &scan->ends[i];
        store_batch_advance_log(batch, stream_log(update->arena, scan->space, end->slot),
                                stream_prefix(update->arena, scan->space, end->shard), end->stamp);
    }
    return true;
}

static void ends_written(struct store_update *update)
{
    CONTAINER_OF(update, struct log_scan, update)->done = true;
}

static bool advance_logs(struct copy *copy, uint32_t space)
{
    struct log_scan scan = {.copy = copy, .space = space};
    struct arena scratch;
    arena_init(&scan.arena);
    arena_init(&scratch);
    scan.ends = mem_alloc(SLOTS_MAX * sizeof(*scan.ends));
    scan.range = (struct store_range){
        .lo = stream_prefix(&scan.arena, space, (struct stream_shard){0}),
        .hi = key_after_prefix(
            &scan.arena, str_make(stream_trim_key(&scan.arena, space, 0).data, STORE_SPACE_LEN)),
        .arena = &scratch,
        .home = waiting_mailbox_box(copy->mailbox),
        .row = note_record,
        .done = scan_done,
        .before_serving = true,
    };
    store_range(copy->source, &scan.range);
    waiting_mailbox_run(copy->mailbox, &scan.done);
    bool ok = scan.range.status == STORE_OK;
    if (ok && scan.count > 0) {
        scan.done = false;
        scan.update = (struct store_update){
            .arena = &scan.arena,
            .home = waiting_mailbox_box(copy->mailbox),
            .eval = eval_ends,
            .done = ends_written,
        };
        store_update(copy->target, &scan.update);
        waiting_mailbox_run(copy->mailbox, &scan.done);
        ok = scan.update.status == STORE_OK;
    }
    mem_free(scan.ends);
    arena_finish(&scratch);
    arena_finish(&scan.arena);
    return ok || fail(copy, "the logs of streams cannot be copied");
}

/* The logs of all spaces that one part of the catalog names: "stream" or "feed". */
static bool copy_logs_of(struct copy *copy, const char *part)
{
    struct arena arena;
    arena_init(&arena);
    struct str prefix = catalog_key(&arena, part, STR(""));
    struct str end = key_after_prefix(&arena, prefix);
    struct buf from = {0};
    buf_add(&from, prefix);
    bool ok = true;
    for (;;) {
        ok = read_first(copy, copy->source, buf_str(&from), end) ||
             fail(copy, "the source cannot be read");
        if (!ok || copy->chunk.count == 0) {
            break;
        }
        struct str key = copy->chunk.keys[0];
        uint32_t space = get_u32_be(str_skip(key, STORE_PREFIX_LEN).data);
        from.len = 0;
        buf_add(&from, key);
        buf_add_char(&from, '\0');
        if (!advance_logs(copy, space)) {
            ok = false;
            break;
        }
    }
    buf_finish(&from);
    arena_finish(&arena);
    return ok;
}

static bool copy_logs(struct copy *copy)
{
    return copy_logs_of(copy, "stream") && copy_logs_of(copy, "feed");
}

/* --- comparing --- */

struct digest {
    uint64_t rows;
    uint64_t bytes;
    uint64_t sum;
};

static uint64_t row_hash(struct str key, struct str value)
{
    return hash_64_seeded(value, hash_64(key));
}

/* Reads a store and computes the sum of the hashes of its rows. */
static bool digest_store(struct copy *copy, struct store *store, struct digest *out)
{
    struct buf next = {0};
    buf_add(&next, STR("\0\0\0\1"));
    bool ok = true;
    while (ok && str_cmp(buf_str(&next), last_key()) < 0) {
        ok = read_chunk(copy, store, buf_str(&next));
        struct chunk *chunk = &copy->chunk;
        for (size_t i = 0; ok && i < chunk->count; i++) {
            out->sum += row_hash(chunk->keys[i], chunk->values[i]);
        }
        out->rows += chunk->count;
        out->bytes += chunk->bytes;
        copy->progress.rows += chunk->count;
        copy->progress.bytes += chunk->bytes;
        tell(copy, false);
        next.len = 0;
        buf_add(&next, chunk->is_last ? last_key() : chunk->next);
    }
    buf_finish(&next);
    return ok;
}

static bool compare(struct copy *copy, struct copy_result *out)
{
    struct digest source = {0};
    struct digest target = {0};
    copy->progress = (struct copy_progress){.is_comparing = true};
    if (!digest_store(copy, copy->source, &source)) {
        return fail(copy, "the source cannot be read");
    }
    copy->progress = (struct copy_progress){.is_comparing = true};
    if (!digest_store(copy, copy->target, &target)) {
        return fail(copy, "the target cannot be read");
    }
    out->rows = target.rows;
    out->bytes = target.bytes;
    if (source.rows != target.rows || source.bytes != target.bytes || source.sum != target.sum) {
        return err_set(copy->err, ERR_INTERNAL,
                       "the target differs from the source (%llu and %llu rows): was the source "
                       "changed meanwhile?",
                       (unsigned long long)target.rows, (unsigned long long)source.rows);
    }
    return true;
}

static bool eval_finished(struct store_update *update, const struct str *rows,
                          struct store_batch *batch)
{
    (void)rows;
    store_batch_erase_owned(batch, place_key(update->arena));
    return true;
}

bool store_copy(struct store *source, struct store *target, const struct copy_options *options,
                struct copy_result *out, struct err *err)
{
    struct copy *copy = mem_zalloc(sizeof(*copy));
    copy->source = source;
    copy->target = target;
    copy->options = options;
    copy->err = err;
    copy->mailbox = waiting_mailbox_create();
    copy->chunk.copy = copy;
    arena_init(&copy->chunk.arena);
    struct buf next = {0};
    *out = (struct copy_result){0};
    bool ok = store_seed(source) == store_seed(target) ||
              fail(copy, "the target was made with another seed");
    ok = ok && find_place(copy, &next, &out->was_resumed) && copy_rows(copy, &next) &&
         copy_counters(copy, &out->counters) && copy_logs(copy) && compare(copy, out);
    chunk_reset(&copy->chunk);
    ok = ok && (write_update(copy, eval_finished) || fail(copy, "the target cannot be written"));
    tell(copy, true);
    buf_finish(&next);
    arena_finish(&copy->chunk.arena);
    waiting_mailbox_destroy(copy->mailbox);
    mem_free(copy);
    return ok;
}
