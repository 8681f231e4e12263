/* Reads the items of an instant, or the changes between two instants, from rows and history
 * together. On background threads. */
#include "base/bytes.h"
#include "base/mem.h"
#include "engine/engine_internal.h"
#include "engine/history.h"

enum { CHUNK_ROWS_MAX = 1024 };
static const size_t chunk_bytes_max = (size_t)4 << 20;

/* One item in the history. */
struct past {
    struct str prefix; /* the key of its records, without the time */
    struct str key;    /* of the item's row */
    bool is_known;     /* there is a record after the instant; `before` is its row */
    struct str before;
    bool is_after_known; /* there is a record after `until_ns`; `after` is its row */
    struct str after;
    int64_t change_ns; /* the last record until `until_ns`; 0: none after the instant */
};

struct history_chunk {
    struct history_reader *reader;
    struct arena *arena;
    struct background_range range;
    struct str *keys; /* of rows */
    struct str *rows;
    size_t row_count;
    struct past *pasts;
    size_t past_count;
    size_t bytes;
    bool is_bad;    /* a record cannot be read */
    struct str end; /* the chunk ends before this row key; STR_NULL: at the end of the space */
};

/* --- the rows of now --- */

static bool read_row(struct store_range *range, struct str key, struct str value)
{
    struct history_chunk *chunk = CONTAINER_OF(range, struct history_chunk, range.range);
    size_t rows_max = chunk->reader->rows_max == 0 ? CHUNK_ROWS_MAX : chunk->reader->rows_max;
    if (chunk->row_count == MIN(rows_max, (size_t)CHUNK_ROWS_MAX) ||
        (chunk->row_count > 0 && chunk->bytes + value.len > chunk_bytes_max)) {
        chunk->end = arena_copy(chunk->arena, key);
        return false;
    }
    chunk->keys[chunk->row_count] = arena_copy(chunk->arena, key);
    chunk->rows[chunk->row_count++] = arena_copy(chunk->arena, value);
    chunk->bytes += value.len;
    return true;
}

static struct str space_start(struct arena *arena, uint32_t space)
{
    struct key_writer writer;
    key_start(&writer, arena, space);
    return key_finish(&writer);
}

static bool read_rows(struct history_chunk *chunk)
{
    const struct history_reader *reader = chunk->reader;
    struct str start = space_start(chunk->arena, reader->source.space);
    chunk->range.range = (struct store_range){
        .lo = str_is_null(reader->from) ? start : reader->from,
        .hi = key_after_prefix(chunk->arena, start),
        .arena = &chunk->reader->scratch,
        .row = read_row,
    };
    return background_range(reader->background, &chunk->range) == STORE_OK;
}

/* --- the history of the same keys --- */

/* Begins another item. False: the chunk is full, and ends before it. */
static bool begin_past(struct history_chunk *chunk, struct str prefix, struct str key)
{
    struct str row_key = history_row_key(chunk->arena, chunk->reader->source.space, key);
    if (str_is_null(row_key)) {
        chunk->is_bad = true;
        return false;
    }
    if (chunk->past_count == CHUNK_ROWS_MAX || chunk->bytes > 2 * chunk_bytes_max) {
        chunk->end = row_key;
        return false;
    }
    chunk->pasts[chunk->past_count++] =
        (struct past){.prefix = arena_copy(chunk->arena, prefix), .key = row_key};
    return true;
}

static struct str keep_before(struct history_chunk *chunk, struct str record)
{
    bool good;
    struct str row = history_row_before(record, &good);
    chunk->is_bad = chunk->is_bad || !good;
    chunk->bytes += row.len;
    return str_is_null(row) ? STR_NULL : arena_copy(chunk->arena, row);
}

static bool read_record(struct store_range *range, struct str key, struct str value)
{
    struct history_chunk *chunk = CONTAINER_OF(range, struct history_chunk, range.range);
    const struct history_source *source = &chunk->reader->source;
    if (key.len < STORE_PREFIX_LEN + HISTORY_TIME_LEN) {
        chunk->is_bad = true;
        return false;
    }
    struct str prefix = str_make(key.data, key.len - HISTORY_TIME_LEN);
    struct past *past = chunk->past_count > 0 ? &chunk->pasts[chunk->past_count - 1] : NULL;
    if (past == NULL || !str_eq(past->prefix, prefix)) {
        if (!begin_past(chunk, prefix, key)) {
            return false;
        }
        past = &chunk->pasts[chunk->past_count - 1];
    }
    int64_t time_ns = history_time_ns(key);
    if (time_ns > source->instant_ns && !past->is_known) {
        past->is_known = true;
        past->before = keep_before(chunk, value);
    }
    if (source->until_ns != 0 && time_ns > source->instant_ns && time_ns <= source->until_ns) {
        past->change_ns = time_ns;
    }
    if (source->until_ns != 0 && time_ns > source->until_ns && !past->is_after_known) {
        past->is_after_known = true;
        past->after = keep_before(chunk, value);
    }
    return !chunk->is_bad;
}

static bool read_history(struct history_chunk *chunk)
{
    const struct history_reader *reader = chunk->reader;
    uint32_t space = reader->source.history_space;
    struct str start = space_start(chunk->arena, space);
    chunk->range.range = (struct store_range){
        .lo = str_is_null(reader->from) ? start : history_prefix(chunk->arena, space, reader->from),
        .hi = str_is_null(chunk->end) ? key_after_prefix(chunk->arena, start)
                                      : history_prefix(chunk->arena, space, chunk->end),
        .arena = &chunk->reader->scratch,
        .row = read_record,
    };
    return background_range(reader->background, &chunk->range) == STORE_OK && !chunk->is_bad;
}

/* --- together --- */

static void add_item(struct history_chunk *chunk, struct history_item item)
{
    struct history_reader *reader = chunk->reader;
    bool is_wanted = reader->source.until_ns == 0 ? !str_is_null(item.row) : item.change_ns != 0;
    if (is_wanted) {
        reader->items[reader->count++] = item;
    }
}

static void add_past(struct history_chunk *chunk, const struct past *past, struct str row)
{
    add_item(chunk, (struct history_item){
                        .key = past->key,
                        .row = past->is_known ? past->before : row,
                        .after = past->is_after_known ? past->after : row,
                        .change_ns = past->change_ns,
                    });
}

/* Both lists are in order, and without keys behind the chunk's end. */
static void merge(struct history_chunk *chunk)
{
    size_t row = 0;
    size_t past = 0;
    while (row < chunk->row_count || past < chunk->past_count) {
        int order = row == chunk->row_count     ? 1
                    : past == chunk->past_count ? -1
                                                : str_cmp(chunk->keys[row], chunk->pasts[past].key);
        if (order < 0) {
            add_item(chunk, (struct history_item){.key = chunk->keys[row],
                                                  .row = chunk->rows[row],
                                                  .after = chunk->rows[row]});
        } else {
            add_past(chunk, &chunk->pasts[past], order == 0 ? chunk->rows[row] : STR_NULL);
        }
        row += order <= 0;
        past += order >= 0;
    }
}

static void cut_rows(struct history_chunk *chunk)
{
    while (!str_is_null(chunk->end) && chunk->row_count > 0 &&
           str_cmp(chunk->keys[chunk->row_count - 1], chunk->end) >= 0) {
        chunk->row_count--;
    }
}

static bool read_chunk(struct history_reader *reader)
{
    struct arena made; /* `from` may be in the memory of the chunk before */
    arena_init(&made);
    struct history_chunk chunk = {.reader = reader, .arena = &made};
    chunk.keys = ARENA_ARRAY(&made, struct str, CHUNK_ROWS_MAX);
    chunk.rows = ARENA_ARRAY(&made, struct str, CHUNK_ROWS_MAX);
    chunk.pasts = ARENA_ARRAY(&made, struct past, CHUNK_ROWS_MAX);
    arena_reset(&reader->scratch);
    reader->count = 0;
    bool ok = read_rows(&chunk) && read_history(&chunk);
    reader->is_unreadable = !ok && (chunk.is_bad || chunk.range.range.is_unreadable);
    if (ok) {
        cut_rows(&chunk);
        reader->items = ARENA_ARRAY(&made, struct history_item, chunk.row_count + chunk.past_count);
        merge(&chunk);
        reader->is_last = str_is_null(chunk.end);
        reader->from = chunk.end;
        struct arena before = reader->arena;
        reader->arena = made;
        made = before;
    }
    arena_finish(&made);
    return ok;
}

/* A disk may fail to read a block once, or return wrong bytes. Who gives up deletes the table or
 * the export, so an unreadable chunk is read several times. */
bool history_read(struct history_reader *reader)
{
    enum { READS_MAX = 4 };
    static const int64_t pause_us = (int64_t)1000 * 1000;
    for (int read_count = 1;; read_count++) {
        bool ok = read_chunk(reader);
        if (ok || !reader->is_unreadable || read_count == READS_MAX) {
            return ok;
        }
        background_sleep(reader->background, pause_us);
        if (background_is_stopping(reader->background)) {
            reader->is_unreadable = false; /* not known */
            return false;
        }
    }
}

void history_reader_finish(struct history_reader *reader)
{
    arena_finish(&reader->arena);
    arena_finish(&reader->scratch);
}

double history_progress(const struct history_reader *reader)
{
    if (reader->is_last) {
        return 1;
    }
    if (str_is_null(reader->from) || reader->from.len < STORE_PREFIX_LEN) {
        return 0;
    }
    return (double)get_u32_be(reader->from.data + KEY_SPACE_LEN) / (double)UINT32_MAX;
}
