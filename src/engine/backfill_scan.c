/* Fills spaces with rows that are derived from items: see backfill_scan.h. Background threads; the
 * functions for evals run on the threads of the store. */
#include "engine/backfill_scan.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "engine/engine_internal.h"

enum { CURSOR_VERSION = 1 };

/* Rows of a chunk. The committer evaluates a chunk at once: while calls come, a small chunk takes
 * half a millisecond. */
enum { CHUNK_ROWS_BUSY = 64, CHUNK_ROWS_MAX = 512 };
static const size_t chunk_bytes_max = (size_t)256 << 10;

/* --- the cursor --- */

struct str backfill_scan_cursor_key(struct arena *arena, uint32_t space)
{
    return space_fact_key(arena, space, SPACE_CURSOR);
}

static struct str cursor_row(struct arena *arena, struct str row_key)
{
    char *row = arena_bytes(arena, row_key.len + 1);
    row[0] = CURSOR_VERSION;
    if (row_key.len > 0) {
        memcpy(row + 1, row_key.data, row_key.len);
    }
    return str_make(row, row_key.len + 1);
}

/* Returns the row key in a cursor. */
static struct str cursor_at(struct str cursor)
{
    assert(cursor.len >= 1 && cursor.data[0] == CURSOR_VERSION);
    return str_skip(cursor, 1);
}

void backfill_scan_start(struct store_batch *batch, uint32_t space, struct arena *arena)
{
    store_batch_put_owned(batch, backfill_scan_cursor_key(arena, space),
                          cursor_row(arena, STR("")));
}

void backfill_scan_finish(struct store_batch *batch, uint32_t space, struct arena *arena)
{
    store_batch_erase_owned(batch, backfill_scan_cursor_key(arena, space));
}

bool backfill_scan_has(struct str cursor, struct str row_key, uint32_t row_version,
                       uint32_t since_version)
{
    return row_version >= since_version || str_is_null(cursor) ||
           str_cmp(row_key, cursor_at(cursor)) < 0;
}

/* --- a chunk --- */

struct chunk {
    struct backfill_scan *scan;
    struct arena arena;
    struct background_range range;
    struct background_update update;
    struct str before; /* the row of the cursor that was read */
    struct str after;  /* the row of the cursor that is written */
    size_t key_count;
    size_t bytes;
    bool at_end;                         /* there was nothing left to visit */
    bool is_last;                        /* this is all that was left */
    struct str keys[1 + CHUNK_ROWS_MAX]; /* the cursor's, then those of items */
};

static bool read_cursor_row(struct store_range *range, struct str key, struct str value)
{
    (void)key;
    struct chunk *chunk = CONTAINER_OF(range, struct chunk, range.range);
    chunk->before = arena_copy(&chunk->arena, value);
    return false;
}

/* False: there is no cursor, or it cannot be read. */
static bool read_cursor(struct chunk *chunk)
{
    struct str key = backfill_scan_cursor_key(&chunk->arena, chunk->scan->space);
    chunk->keys[chunk->key_count++] = key;
    chunk->before = STR_NULL;
    chunk->range.range = (struct store_range){
        .lo = key,
        .hi = key_after_prefix(&chunk->arena, key),
        .arena = &chunk->arena,
        .row = read_cursor_row,
    };
    return background_range(chunk->scan->background, &chunk->range) == STORE_OK &&
           !str_is_null(chunk->before);
}

/* The first row that does not fit is the start of the next chunk. */
static bool read_item_row(struct store_range *range, struct str key, struct str value)
{
    struct chunk *chunk = CONTAINER_OF(range, struct chunk, range.range);
    bool full = chunk->key_count > chunk->scan->chunk_rows ||
                (chunk->bytes > 0 && chunk->bytes + value.len > chunk_bytes_max);
    if (full) {
        chunk->is_last = false;
        chunk->after = cursor_row(&chunk->arena, key);
        return false;
    }
    chunk->keys[chunk->key_count++] = arena_copy(&chunk->arena, key);
    chunk->bytes += value.len;
    return true;
}

static bool read_items(struct chunk *chunk)
{
    struct arena *arena = &chunk->arena;
    struct key_writer writer;
    key_start(&writer, arena, chunk->scan->table->space);
    struct str lo = key_finish(&writer);
    struct str hi = key_after_prefix(arena, lo);
    struct str at = cursor_at(chunk->before);
    chunk->is_last = true;
    chunk->after = cursor_row(arena, hi);
    chunk->at_end = str_cmp(at, hi) >= 0;
    if (chunk->at_end) {
        return true;
    }
    chunk->range.range = (struct store_range){
        .lo = at.len > 0 ? at : lo,
        .hi = hi,
        .arena = arena,
        .row = read_item_row,
    };
    return background_range(chunk->scan->background, &chunk->range) == STORE_OK;
}

/* Visits the current items: they may have been written or deleted since they were read. Rows are
 * copied, because they are valid only until eval returns, which is before the batch is written. */
static bool chunk_eval(struct store_update *update, const struct str *rows,
                       struct store_batch *batch)
{
    struct chunk *chunk = CONTAINER_OF(update, struct chunk, update.update);
    struct backfill_scan *scan = chunk->scan;
    scan->added_rows = 0;
    scan->added_bytes = 0;
    if (str_is_null(rows[0]) || !str_eq(rows[0], chunk->before)) {
        return false;
    }
    for (size_t i = 1; i < update->key_count; i++) {
        if (str_is_null(rows[i]) || row_decode(rows[i]).table_version >= scan->since_version) {
            continue;
        }
        struct str bytes = arena_copy(update->arena, rows[i]);
        struct backfill_scan_item item = {
            .key.row = update->keys[i], .row = row_decode(bytes), .row_bytes = bytes};
        scan->visit(scan, &item, batch, update->arena);
    }
    store_batch_put(batch, 0, chunk->after);
    space_count(batch, update->arena, scan->space, scan->added_rows, scan->added_bytes);
    return true;
}

static enum store_status visit_items(struct chunk *chunk)
{
    chunk->update.update = (struct store_update){
        .keys = chunk->keys,
        .key_count = chunk->key_count,
        .arena = &chunk->arena,
        .eval = chunk_eval,
    };
    return background_update(chunk->scan->background, &chunk->update);
}

/* Keys are distributed evenly, by their hash. */
static double progress_at(const struct chunk *chunk)
{
    if (chunk->is_last) {
        return 1;
    }
    struct str hash = str_skip(cursor_at(chunk->after), STORE_SPACE_LEN);
    return (double)get_u32_be(hash.data) / (double)UINT32_MAX;
}

enum backfill_scan_result backfill_scan_chunk(struct backfill_scan *scan)
{
    struct chunk chunk = {.scan = scan};
    int64_t start_us = clock_monotonic_us();
    arena_init(&chunk.arena);
    scan->chunk_rows = scan->chunk_rows == 0 ? CHUNK_ROWS_BUSY : scan->chunk_rows;
    enum backfill_scan_result result = BACKFILL_SCAN_STOPPED;
    if (read_cursor(&chunk) && read_items(&chunk) &&
        (chunk.at_end || visit_items(&chunk) == STORE_OK)) {
        scan->visited_count += chunk.key_count - 1;
        scan->progress = progress_at(&chunk);
        result = chunk.is_last ? BACKFILL_SCAN_END : BACKFILL_SCAN_MORE;
    }
    arena_finish(&chunk.arena);
    bool busy = background_give_way(scan->background, clock_monotonic_us() - start_us);
    scan->chunk_rows = busy ? CHUNK_ROWS_BUSY : CHUNK_ROWS_MAX;
    return result;
}
