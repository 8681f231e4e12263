/* Copies the items of a backup to the table that is being restored. The cursor is a row of the
 * table's space, like that of a backfill (engine/backfill_scan.h); copying a chunk twice has the
 * same result as once. Called by recovery_background.c, on its thread. */
#include "base/buf.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "engine/backfill_scan.h"
#include "engine/backup_internal.h"
#include "engine/engine_internal.h"
#include "engine/history.h"

/* Items of one update. */
enum { UPDATE_ITEMS = 64, CURSOR_VERSION = 1 };
static const int64_t progress_us = (int64_t)5 * 1000 * 1000;

struct restoring {
    uint32_t space; /* of the table */
    struct history_reader reader;
    struct arena arena; /* of the calls of one chunk */
    struct buf from;    /* where the reader begins */
    size_t item_count;
    int64_t start_us;
    int64_t reported_us;
};

uint32_t restoring_space(const struct restoring *state)
{
    return state->space;
}

void restoring_destroy(struct restoring *state)
{
    history_reader_finish(&state->reader);
    arena_finish(&state->arena);
    buf_finish(&state->from);
    mem_free(state);
}

/* --- the cursor --- */

struct cursor_read {
    struct background_range range;
    struct buf *from;
};

static bool take_cursor(struct store_range *range, struct str key, struct str value)
{
    (void)key;
    struct cursor_read *read = CONTAINER_OF(range, struct cursor_read, range.range);
    assert(value.len >= 1 && value.data[0] == CURSOR_VERSION);
    buf_add(read->from, str_skip(value, 1));
    return false;
}

static bool read_cursor(struct background *background, struct restoring *state)
{
    struct str key = backfill_scan_cursor_key(&state->arena, state->space);
    struct cursor_read read = {.from = &state->from};
    read.range.range = (struct store_range){
        .lo = key,
        .hi = key_after_prefix(&state->arena, key),
        .arena = &state->arena,
        .row = take_cursor,
    };
    bool ok = background_range(background, &read.range) == STORE_OK;
    state->reader.from = ok && state->from.len > 0 ? buf_str(&state->from) : STR_NULL;
    return ok;
}

struct cursor_write {
    struct background_update update;
    struct str key;
    struct str row;
};

static bool put_cursor(struct store_update *update, const struct str *rows,
                       struct store_batch *batch)
{
    (void)rows;
    store_batch_put(batch, 0, CONTAINER_OF(update, struct cursor_write, update.update)->row);
    return true;
}

static bool write_cursor(struct background *background, struct restoring *state)
{
    struct str from = state->reader.from;
    char *row = arena_bytes(&state->arena, 1 + from.len);
    row[0] = CURSOR_VERSION;
    memcpy(row + 1, from.data, from.len);
    struct cursor_write write = {
        .key = backfill_scan_cursor_key(&state->arena, state->space),
        .row = str_make(row, 1 + from.len),
    };
    write.update.update = (struct store_update){
        .keys = &write.key,
        .key_count = 1,
        .arena = &state->arena,
        .eval = put_cursor,
    };
    return background_update(background, &write.update) == STORE_OK;
}

/* --- a chunk --- */

/* The calls of one chunk, which are started together. */
struct chunk_writes {
    size_t waiting;
    bool has_failed;
    bool done;
};

static void write_done(struct engine_call *call)
{
    struct chunk_writes *writes = call->owner;
    struct items_write *write = CONTAINER_OF(call, struct items_write, call);
    writes->has_failed = writes->has_failed || call->err.code != ERR_NONE || write->failed;
    writes->done = --writes->waiting == 0;
}

/* Keys of rows differ in their space only. */
static struct str target_key(struct arena *arena, const struct table *table, struct str key)
{
    struct str copy = arena_copy(arena, key);
    put_u32_be((char *)copy.data, table->space);
    return copy;
}

static void fill_call(struct items_write *call, struct restoring *state, const struct table *table,
                      size_t first, size_t count)
{
    call->writes = ARENA_ARRAY(&state->arena, struct item_write, count);
    call->write_count = count;
    for (size_t i = 0; i < count; i++) {
        const struct history_item *item = &state->reader.items[first + i];
        struct row row = row_decode(item->row);
        call->writes[i] = (struct item_write){
            .kind = WRITE_PUT,
            .table = table,
            .key.row = target_key(&state->arena, table, item->key),
            .item = row.item,
            .item_size = row.size,
            .is_internal = true,
        };
    }
}

static bool write_items(struct background *background, struct restoring *state,
                        const struct table *table)
{
    size_t count = (state->reader.count + UPDATE_ITEMS - 1) / UPDATE_ITEMS;
    struct chunk_writes writes = {.waiting = count};
    struct items_write **calls = ARENA_ARRAY(&state->arena, struct items_write *, count + 1);
    for (size_t i = 0; i < count; i++) {
        size_t first = i * UPDATE_ITEMS;
        calls[i] = ARENA_NEW(&state->arena, struct items_write);
        calls[i]->call = (struct engine_call){
            .engine = background->engine,
            .arena = &state->arena,
            .home = waiting_mailbox_box(background->mailbox),
            .err = ERR_INIT(&state->arena),
            .done = write_done,
            .owner = &writes,
        };
        fill_call(calls[i], state, table, first,
                  MIN((size_t)UPDATE_ITEMS, state->reader.count - first));
    }
    if (count > 0) {
        engine_write_items(calls, count);
        waiting_mailbox_run(background->mailbox, &writes.done);
    }
    return !writes.has_failed;
}

/* --- the end --- */

struct finish {
    struct background_change change;
    struct backup backup;
};

/* The table becomes ACTIVE, and the backup may be used again. */
static const struct table *finish_table(struct table_change *change, const struct table *before)
{
    struct finish *finish = CONTAINER_OF(change, struct finish, change.change);
    struct arena *arena = change->call.arena;
    if (before->restore.space == 0) {
        err_set(&change->call.err, ERR_RESOURCE_NOT_FOUND, "the table is not being restored");
        return NULL;
    }
    if (!str_is_null(change->extra_row)) {
        if (!backup_decode(arena, change->extra_row, &finish->backup, &change->call.err)) {
            return NULL;
        }
        finish->backup.target = STR_NULL;
        store_batch_put(change->batch, CHANGE_EXTRA, backup_encode(arena, &finish->backup));
    }
    struct table *table = ARENA_NEW(arena, struct table);
    *table = *before;
    table->status = STATUS_ACTIVE;
    table->restore = (struct restore_source){0};
    backfill_scan_finish(change->batch, table->space, arena);
    return table;
}

static bool finish_restore(struct background *background, struct restoring *state,
                           const struct table *table)
{
    struct finish finish = {
        .change.change =
            {
                .call.arena = &state->arena,
                .name = table->name,
                .change = finish_table,
                .extra_key = backup_key(&state->arena, table->restore.backup_row),
                .may_be_creating = true,
            },
    };
    background_change(background, &finish.change);
    return finish.change.change.call.err.code == ERR_NONE;
}

/* --- steps --- */

static void tell_progress(struct restoring *state, const struct table *table, bool is_done)
{
    int64_t now_us = clock_monotonic_us();
    if (is_done || now_us >= state->reported_us + progress_us) {
        state->reported_us = now_us;
        log_write(LOG_INFO, "restore", "table %.*s: %.0f %%, %zu items in %.1f s",
                  STR_ARG(table->name), is_done ? 100 : 100 * history_progress(&state->reader),
                  state->item_count, (double)(now_us - state->start_us) / 1e6);
    }
}

static struct restoring *begin(struct background *background, const struct table *table)
{
    struct restoring *state = mem_zalloc(sizeof(*state));
    state->space = table->space;
    state->start_us = state->reported_us = clock_monotonic_us();
    state->reader.background = background;
    state->reader.source = (struct history_source){
        .space = table->restore.space,
        .history_space = table->restore.history_space,
        .instant_ns = table->restore.instant_ns,
    };
    if (!read_cursor(background, state)) {
        restoring_destroy(state);
        return NULL;
    }
    if (state->from.len > 0) {
        log_write(LOG_INFO, "restore", "table %.*s: continues at %.0f %%", STR_ARG(table->name),
                  100 * history_progress(&state->reader));
    }
    return state;
}

/* Copies the next chunk and stores how far that is. */
static enum restore_result copy_chunk(struct background *background, struct restoring *state,
                                      const struct table *table)
{
    int64_t start_us = clock_monotonic_us();
    if (!history_read(&state->reader)) {
        return state->reader.is_unreadable ? RESTORE_UNREADABLE : RESTORE_FAILED;
    }
    if (!write_items(background, state, table) ||
        (!state->reader.is_last && !write_cursor(background, state))) {
        return RESTORE_FAILED;
    }
    state->item_count += state->reader.count;
    background_give_way(background, clock_monotonic_us() - start_us);
    tell_progress(state, table, false);
    return RESTORE_MORE;
}

enum restore_result restore_step(struct background *background, const struct table *table,
                                 struct restoring **state_at)
{
    if (!catalog_delay_is_over(background->engine, table->created_ms)) {
        return RESTORE_LATER;
    }
    if (*state_at == NULL) {
        *state_at = begin(background, table);
    }
    struct restoring *state = *state_at;
    if (state == NULL) {
        return RESTORE_FAILED;
    }
    arena_reset(&state->arena);
    enum restore_result result =
        state->reader.is_last ? RESTORE_MORE : copy_chunk(background, state, table);
    if (result != RESTORE_MORE) {
        restoring_destroy(state); /* starts again at the stored cursor */
        *state_at = NULL;
        return result;
    }
    if (!state->reader.is_last) {
        return RESTORE_MORE;
    }
    if (!finish_restore(background, state, table)) {
        return RESTORE_FAILED;
    }
    tell_progress(state, table, true);
    return RESTORE_OVER;
}
