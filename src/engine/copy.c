/* Copies a store: see copy.h. Runs on the caller's thread, and blocks. */
#include "engine/copy.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "base/mem.h"
#include "engine/copy_internal.h"

enum { COPY_VERSION = 1, SLOTS_MAX = 65536, PROGRESS_US = 1000 * 1000 };
static const size_t chunk_bytes_max = (size_t)1 << 20;

struct str copy_last_key(void)
{
    return STR("\xFF\xFF\xFF\xFF\xFF");
}

bool copy_fail(struct copy *copy, const char *what)
{
    return err_set(copy->err, ERR_INTERNAL, "%s", what);
}

void copy_report_progress(struct copy *copy, bool always)
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

bool copy_read_first(struct copy *copy, struct store *store, struct str lo, struct str hi)
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
    bool ok = copy_read_first(copy, copy->target, key, key_after_prefix(&arena, key)) ||
              copy_fail(copy, TARGET_UNREADABLE);
    *out_resumed = ok && chunk->count == 1;
    if (*out_resumed) {
        struct str row = chunk->values[0];
        bool same = row.len >= 9 && row.data[0] == COPY_VERSION &&
                    get_u64_be(row.data + 1) == store_seed(copy->source);
        ok = same ||
             copy_fail(copy, "the target is the unfinished copy of another store: " EMPTY_AND_COPY);
        buf_add(next, str_skip(row, MIN(row.len, (size_t)9)));
    } else if (ok) {
        buf_add(next, STR("\0\0\0\1"));
        ok = copy_read_first(copy, copy->target, buf_str(next), copy_last_key())
                 ? chunk->count == 0 || copy_fail(copy, "the target is not empty: " EMPTY_AND_COPY)
                 : copy_fail(copy, TARGET_UNREADABLE);
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
    bool ok = copy_read_first(copy, store, key, key_after_prefix(&arena, key)) ||
              copy_fail(copy, "the catalog of the store cannot be read");
    if (ok && copy->chunk.count > 0) {
        ok = copy_fail(copy, "the store is a copy that was not finished: run gramme copy again");
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

bool copy_read_chunk(struct copy *copy, struct store *store, struct str from)
{
    chunk_reset(&copy->chunk);
    copy->chunk.range = (struct store_range){.lo = from, .hi = copy_last_key(), .row = keep_row};
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
    struct str next = chunk->is_last ? copy_last_key() : chunk->next;
    store_batch_put_owned(batch, place_key(update->arena),
                          place_row(update->arena, store_seed(chunk->copy->source), next));
    return true;
}

static bool copy_rows(struct copy *copy, struct buf *next)
{
    struct chunk *chunk = &copy->chunk;
    while (str_cmp(buf_str(next), copy_last_key()) < 0) {
        if (!copy_read_chunk(copy, copy->source, buf_str(next))) {
            return copy_fail(copy, SOURCE_UNREADABLE);
        }
        if (!write_update(copy, eval_chunk)) {
            return copy_fail(copy, "the target cannot be written");
        }
        next->len = 0;
        buf_add(next, chunk->is_last ? copy_last_key() : chunk->next);
        copy->progress.rows += chunk->count;
        copy->progress.bytes += chunk->bytes;
        copy_report_progress(copy, false);
    }
    return true;
}

/* --- counters --- */

struct counters_get {
    struct store_get get;
    struct store_count *values;
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
                         size_t count, struct store_count *out)
{
    struct arena arena;
    arena_init(&arena);
    struct counters_get counters = {.values = out};
    counters.get = (struct store_get){
        .keys = keys,
        .key_count = count,
        .are_counters = true,
        .before_serving = true,
        .arena = &arena,
        .home = waiting_mailbox_box(copy->mailbox),
        .done = counters_done,
    };
    store_get(store, &counters.get);
    waiting_mailbox_run(copy->mailbox, &counters.done);
    arena_finish(&arena);
    return counters.get.status == STORE_OK;
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

static bool copy_counters(struct copy *copy, const struct copy_counters *counters)
{
    struct counters_update update = {.keys = counters->keys, .count = counters->count};
    for (size_t i = 0; i < counters->count; i++) {
        update.deltas[i].count = counters->source[i].count - counters->target[i].count;
        update.deltas[i].bytes = counters->source[i].bytes - counters->target[i].bytes;
    }
    return add_counters(copy, &update) || copy_fail(copy, "the target cannot be written");
}

/* Reads the counters of the spaces from `first` on to `out`; its keys are in `arena`. */
static bool read_counters(struct copy *copy, struct arena *arena, uint32_t first,
                          struct copy_counters *out)
{
    for (size_t i = 0; i < out->count; i++) {
        out->keys[i] = space_fact_key(arena, first + (uint32_t)i, SPACE_SIZE);
    }
    return (get_counters(copy, copy->source, out->keys, out->count, out->source) ||
            copy_fail(copy, SOURCE_UNREADABLE)) &&
           (get_counters(copy, copy->target, out->keys, out->count, out->target) ||
            copy_fail(copy, TARGET_UNREADABLE));
}

bool copy_each_counter(struct copy *copy,
                       bool (*visit)(struct copy *copy, const struct copy_counters *counters))
{
    struct arena arena;
    arena_init(&arena);
    struct str key = catalog_key(&arena, "next", STR(""));
    bool ok = copy_read_first(copy, copy->source, key, key_after_prefix(&arena, key)) ||
              copy_fail(copy, SOURCE_UNREADABLE);
    uint32_t end =
        ok && copy->chunk.count > 0 ? get_u32_be(copy->chunk.values[0].data) : SPACE_FIRST_FREE;
    for (uint32_t at = SPACE_FIRST_FREE; ok && at < end; at += COUNTERS_AT_ONCE) {
        arena_reset(&arena);
        struct copy_counters counters = {.count =
                                             MIN((size_t)(end - at), (size_t)COUNTERS_AT_ONCE)};
        ok = read_counters(copy, &arena, at, &counters) && visit(copy, &counters);
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

/* Advances the logs of the target to the ends that were found in the source. */
static bool write_ends(struct log_scan *scan)
{
    struct copy *copy = scan->copy;
    scan->done = false;
    scan->update = (struct store_update){
        .arena = &scan->arena,
        .home = waiting_mailbox_box(copy->mailbox),
        .eval = eval_ends,
        .done = ends_written,
    };
    store_update(copy->target, &scan->update);
    waiting_mailbox_run(copy->mailbox, &scan->done);
    return scan->update.status == STORE_OK;
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
    bool ok = scan.range.status == STORE_OK && (scan.count == 0 || write_ends(&scan));
    mem_free(scan.ends);
    arena_finish(&scratch);
    arena_finish(&scan.arena);
    return ok || copy_fail(copy, "the logs of streams cannot be copied");
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
        ok = copy_read_first(copy, copy->source, buf_str(&from), end) ||
             copy_fail(copy, SOURCE_UNREADABLE);
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
              copy_fail(copy, "the target was made with another seed, by a server or as the "
                              "copy of another store: " EMPTY_AND_COPY);
    ok = ok && find_place(copy, &next, &out->was_resumed) && copy_rows(copy, &next) &&
         copy_each_counter(copy, copy_counters) && copy_logs(copy) && copy_compare(copy, out);
    chunk_reset(&copy->chunk);
    ok = ok &&
         (write_update(copy, eval_finished) || copy_fail(copy, "the target cannot be written"));
    copy_report_progress(copy, true);
    buf_finish(&next);
    arena_finish(&copy->chunk.arena);
    waiting_mailbox_destroy(copy->mailbox);
    mem_free(copy);
    return ok;
}
