/* Erases records of histories that no instant needs. A record of an item at time t, whose previous
 * record has the time p, is needed to restore instants from p up to t, excluding t. It is kept
 * while there is a backup of one of these instants, or one of them is in the window of
 * point-in-time recovery.
 *
 * Which records are needed is decided after store_settle(): a backup that is not listed by then
 * gets an instant after the settled time, or after the start of the window, and needs no record
 * that is erased here. A backup that is listed without an instant may get an earlier one: then
 * nothing is erased. On the thread of the housekeeper. */
#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "codec/stored_table.h"
#include "engine/backfill_scan.h"
#include "engine/backup_internal.h"
#include "engine/engine_internal.h"
#include "engine/history.h"

enum { ERASE_MAX = 512, PASS_ROWS = 4096, BACKUPS_AT_ONCE = 64 };
static const int64_t hour_ms = (int64_t)60 * 60 * 1000;
static const int64_t day_ns = (int64_t)24 * 60 * 60 * 1000 * 1000000;

/* The state of a history between passes; housekeeper only. */
struct trimmed_history {
    struct trimmed_history *next;
    uint32_t space;
    uint32_t holds;    /* of the description, at the last pass */
    uint32_t days;     /* likewise */
    int64_t rows;      /* after it */
    int64_t passed_ms; /* by the trusted clock */
    bool is_seen;
};

struct trim {
    struct background *background;
    struct arena arena;      /* of the round */
    struct arena scratch;    /* of a piece of work */
    int64_t settled_ns;      /* all updates up to then are decided */
    struct backup_list list; /* all backups, some at a time */
    bool is_listed;          /* the list has been read */
    bool has_failed;

    /* The history of one table. */
    uint32_t space;
    int64_t window_ns; /* instants from here on are needed */
    int64_t *instants; /* of backups, ascending */
    size_t instant_count;
    size_t instant_capacity;
    struct background_range range;
    struct background_update update;
    struct str declared;
    struct buf from;   /* where the next range begins */
    struct buf prefix; /* of the records of the item that was read last */
    int64_t before_ns; /* its last record; 0: none */
    struct str keys[ERASE_MAX];
    size_t count;
    int64_t bytes;
    size_t seen;
    bool is_end;
};

/* --- waiting for the store --- */

struct count_get {
    struct store_get get;
    struct str key;
    struct store_count size;
    bool done;
};

static void count_done(struct store_get *get)
{
    struct count_get *count = CONTAINER_OF(get, struct count_get, get);
    if (get->status == STORE_OK) {
        count->size = store_count_value(get->rows[0]);
    }
    count->done = true;
}

struct store_count background_space_size(struct background *background, uint32_t space,
                                         struct arena *arena)
{
    struct count_get count = {.key = space_fact_key(arena, space, SPACE_SIZE)};
    count.get = (struct store_get){
        .keys = &count.key,
        .key_count = 1,
        .are_counters = true,
        .arena = arena,
        .home = waiting_mailbox_box(background->mailbox),
        .done = count_done,
    };
    store_get(background->engine->store, &count.get);
    waiting_mailbox_run(background->mailbox, &count.done);
    return count.size;
}

struct settle_wait {
    struct store_settle settle;
    bool done;
};

static void settle_done(struct store_settle *settle)
{
    CONTAINER_OF(settle, struct settle_wait, settle)->done = true;
}

int64_t background_settle(struct background *background, struct arena *arena)
{
    struct settle_wait wait = {
        .settle = {.arena = arena,
                   .home = waiting_mailbox_box(background->mailbox),
                   .done = settle_done},
    };
    store_settle(background->engine->store, &wait.settle);
    waiting_mailbox_run(background->mailbox, &wait.done);
    return wait.settle.status == STORE_OK ? wait.settle.time_ns : 0;
}

/* --- which instants are needed --- */

static void list_done(struct engine_call *call)
{
    CONTAINER_OF(call, struct trim, list.call)->is_listed = true;
}

static void add_instant(struct trim *trim, int64_t instant_ns)
{
    if (trim->instant_count == trim->instant_capacity) {
        trim->instant_capacity = MAX(2 * trim->instant_capacity, (size_t)16);
        trim->instants =
            mem_realloc(trim->instants, trim->instant_capacity * sizeof(*trim->instants));
    }
    trim->instants[trim->instant_count++] = instant_ns;
}

static int instant_cmp(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a;
    int64_t right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

/* Adds the instants of the listed backups that need the history. False: one of them is being made.
 */
static bool add_instants(struct trim *trim)
{
    for (size_t i = 0; i < trim->list.count; i++) {
        const struct backup *backup = &trim->list.entries[i].backup;
        if (backup->table.history_space == trim->space) {
            add_instant(trim, backup->instant_ns);
            if (backup->instant_ns == 0) {
                return false;
            }
        }
    }
    return true;
}

/* The instants of the backups that need this history. False: they are not known. */
static bool collect_instants(struct trim *trim)
{
    struct buf after = {0};
    bool ok = true;
    bool more = true;
    trim->instant_count = 0;
    while (ok && more) {
        trim->is_listed = false;
        arena_reset(&trim->scratch);
        trim->list = (struct backup_list){
            .call = {.engine = trim->background->engine,
                     .arena = &trim->scratch,
                     .home = waiting_mailbox_box(trim->background->mailbox),
                     .err = ERR_INIT(&trim->scratch),
                     .done = list_done},
            .after = after.len > 0 ? arena_copy(&trim->scratch, buf_str(&after)) : STR_NULL,
            .user = true,
            .system = true,
            .internal = true,
            .limit = BACKUPS_AT_ONCE,
        };
        engine_list_backups(&trim->list);
        waiting_mailbox_run(trim->background->mailbox, &trim->is_listed);
        ok = trim->list.call.err.code == ERR_NONE;
        more = trim->list.more;
        ok = ok && add_instants(trim);
        after.len = 0;
        if (ok && trim->list.count > 0) {
            buf_add(&after, trim->list.entries[trim->list.count - 1].row_name);
        }
    }
    buf_finish(&after);
    if (trim->instant_count > 0) {
        qsort(trim->instants, trim->instant_count, sizeof(*trim->instants), instant_cmp);
    }
    return ok;
}

/* Whether an instant from `from_ns` up to `until_ns`, that excluded, is needed. */
static bool is_needed(const struct trim *trim, int64_t from_ns, int64_t until_ns)
{
    if (until_ns > trim->window_ns) {
        return true;
    }
    size_t low = 0; /* the first instant that is not before `from_ns` */
    size_t high = trim->instant_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (trim->instants[middle] < from_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < trim->instant_count && trim->instants[low] < until_ns;
}

/* --- a pass --- */

static bool look_at_record(struct store_range *range, struct str key, struct str value)
{
    struct trim *trim = CONTAINER_OF(range, struct trim, range.range);
    if (key.len < STORE_PREFIX_LEN + HISTORY_TIME_LEN) {
        return true; /* `gramme check` reports it */
    }
    if (trim->count == ERASE_MAX || trim->seen == PASS_ROWS) {
        trim->is_end = false;
        return false;
    }
    trim->seen++;
    struct str prefix = str_make(key.data, key.len - HISTORY_TIME_LEN);
    if (!str_eq(prefix, buf_str(&trim->prefix))) {
        trim->prefix.len = 0;
        buf_add(&trim->prefix, prefix);
        trim->before_ns = 0;
    }
    int64_t time_ns = history_time_ns(key);
    if (!is_needed(trim, trim->before_ns, time_ns)) {
        trim->keys[trim->count++] = arena_copy(&trim->scratch, key);
        trim->bytes += (int64_t)value.len;
    }
    trim->before_ns = time_ns;
    trim->from.len = 0;
    buf_add(&trim->from, key);
    buf_add_char(&trim->from, '\0');
    return true;
}

static bool erase_eval(struct store_update *update, const struct str *rows,
                       struct store_batch *batch)
{
    (void)rows;
    struct trim *trim = CONTAINER_OF(update, struct trim, update.update);
    for (size_t i = 0; i < trim->count; i++) {
        assert(store_key_space(trim->keys[i]) == trim->space);
        store_batch_erase_owned(batch, trim->keys[i]);
    }
    space_count(batch, update->arena, trim->space, -(int64_t)trim->count, -trim->bytes);
    return true;
}

/* Erases records. No other update writes them; a key is declared because an update needs one. */
static bool erase(struct trim *trim)
{
    trim->declared = backfill_scan_cursor_key(&trim->scratch, trim->space);
    trim->update.update = (struct store_update){
        .keys = &trim->declared,
        .key_count = 1,
        .arena = &trim->scratch,
        .eval = erase_eval,
        .frees = STORE_FREES_ROWS,
    };
    return trim->count == 0 || background_update(trim->background, &trim->update) == STORE_OK;
}

/* Reads some records, and erases those that are not needed. */
static bool trim_some(struct trim *trim)
{
    int64_t start_us = clock_monotonic_us();
    arena_reset(&trim->scratch);
    struct key_writer writer;
    key_start(&writer, &trim->scratch, trim->space);
    struct str start = key_finish(&writer);
    trim->count = 0;
    trim->bytes = 0;
    trim->seen = 0;
    trim->is_end = true;
    trim->range.range = (struct store_range){
        .lo = trim->from.len > 0 ? arena_copy(&trim->scratch, buf_str(&trim->from)) : start,
        .hi = key_after_prefix(&trim->scratch, start),
        .arena = &trim->scratch,
        .row = look_at_record,
    };
    bool ok = background_range(trim->background, &trim->range) == STORE_OK && erase(trim);
    background_give_way(trim->background, clock_monotonic_us() - start_us);
    return ok;
}

/* Where the window begins, by the description after store_settle(): `table` may be older, and
 * point-in-time recovery may have been enabled since. */
static void set_window(struct trim *trim, const struct table *table)
{
    struct engine *engine = trim->background->engine;
    const struct table *newest = table_acquire(engine, table->name);
    bool is_same = newest != NULL && newest->history_space == trim->space;
    const struct table *used = is_same ? newest : table;
    trim->window_ns = trim->settled_ns;
    if (used->recovery) {
        int64_t now_ns = MIN(trim->settled_ns, trusted_clock_ms(&engine->clock) * 1000000);
        trim->window_ns = now_ns - (int64_t)used->recovery_days * day_ns;
    }
    /* A later update may need a record of an instant that is not settled. */
    assert(trim->window_ns <= trim->settled_ns);
    table_release(newest);
}

static bool pass(struct trim *trim, const struct table *table)
{
    trim->space = table->history_space;
    trim->settled_ns = background_settle(trim->background, &trim->arena);
    if (trim->settled_ns == 0 || !collect_instants(trim)) {
        return false;
    }
    set_window(trim, table);
    trim->from.len = 0;
    trim->prefix.len = 0;
    trim->before_ns = 0;
    bool ok = true;
    do {
        ok = trim_some(trim);
    } while (ok && !trim->is_end && background_may_go_on(trim->background));
    return ok && trim->is_end;
}

/* --- which histories --- */

static struct trimmed_history *known_history(struct engine *engine, uint32_t space)
{
    struct trimmed_history *known = engine->trimmed;
    while (known != NULL && known->space != space) {
        known = known->next;
    }
    if (known == NULL) {
        known = mem_zalloc(sizeof(*known));
        known->space = space;
        known->next = engine->trimmed;
        engine->trimmed = known;
    }
    return known;
}

/* Whether a pass is worth while: it reads the whole history. */
static bool is_due(struct trim *trim, const struct table *table,
                   const struct trimmed_history *known, int64_t rows)
{
    int64_t now_ms = trusted_clock_ms(&trim->background->engine->clock);
    int64_t interval_ms = table->recovery ? (int64_t)table->recovery_days * hour_ms : hour_ms;
    return rows > 0 &&
           (known->holds != table->history_holds || known->days != table->recovery_days ||
            now_ms >= known->passed_ms + interval_ms || rows > 2 * known->rows + PASS_ROWS);
}

static void trim_history(struct trim *trim, const struct table *table)
{
    struct engine *engine = trim->background->engine;
    struct trimmed_history *known = known_history(engine, table->history_space);
    known->is_seen = true;
    int64_t rows =
        background_space_size(trim->background, table->history_space, &trim->arena).count;
    if (is_due(trim, table, known, rows) && pass(trim, table)) {
        struct store_count left =
            background_space_size(trim->background, table->history_space, &trim->arena);
        known->rows = left.count;
        known->holds = table->history_holds;
        known->days = table->recovery_days;
        known->passed_ms = trusted_clock_ms(&engine->clock);
        if (left.count < rows) {
            log_write(LOG_INFO, "recovery",
                      "table %.*s: %lld earlier versions of items erased, %lld of %.1f MiB kept",
                      STR_ARG(table->name), (long long)(rows - left.count), (long long)left.count,
                      (double)left.bytes / (1 << 20));
        }
    }
    arena_reset(&trim->arena);
}

static bool has_history(const struct table *table)
{
    return table->history_space != 0;
}

static void trim_tables(struct trim *trim)
{
    struct arena arena;
    arena_init(&arena);
    const struct table **tables;
    size_t count = catalog_collect(trim->background->engine, has_history, &arena, &tables);
    for (size_t i = 0; i < count; i++) {
        if (background_may_go_on(trim->background)) {
            trim_history(trim, tables[i]);
        }
        table_release(tables[i]);
    }
    arena_finish(&arena);
}

static void trim_kept(struct trim *trim)
{
    struct arena arena;
    struct table *tables;
    arena_init(&arena);
    size_t count = history_kept_tables(trim->background, &arena, &tables);
    for (size_t i = 0; i < count && background_may_go_on(trim->background); i++) {
        trim_history(trim, &tables[i]);
    }
    arena_finish(&arena);
}

static void forget_unseen(struct engine *engine)
{
    struct trimmed_history **at = &engine->trimmed;
    while (*at != NULL) {
        struct trimmed_history *known = *at;
        if (known->is_seen) {
            known->is_seen = false;
            at = &known->next;
        } else {
            *at = known->next;
            mem_free(known);
        }
    }
}

void history_forget_trims(struct engine *engine)
{
    forget_unseen(engine);
    forget_unseen(engine);
}

void history_trim(struct background *background)
{
    struct trim *trim = mem_zalloc(sizeof(*trim));
    trim->background = background;
    trim_tables(trim);
    trim_kept(trim);
    forget_unseen(background->engine);
    buf_finish(&trim->from);
    buf_finish(&trim->prefix);
    mem_free(trim->instants);
    arena_finish(&trim->arena);
    arena_finish(&trim->scratch);
    mem_free(trim);
}
