/* The recovery thread: sets the instant of backups, and the earliest time to which a table can be
 * restored; copies the items of tables that are being restored; deletes backups that have expired.
 * The state is in the catalog, so that it continues after a restart, or on another server. */
#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "engine/backup_internal.h"
#include "engine/engine_internal.h"
#include "engine/export_internal.h"

enum { POLL_MS = 5, RETRY_MS = 200, IDLE_MS = 60 * 1000, FOLLOWER_MS = 500, BACKUPS_AT_ONCE = 64 };
/* An internal backup that no restore uses: the server was stopped in between. */
static const int64_t orphan_ms = (int64_t)10 * 60 * 1000;

/* A restore under way, from round to round. */
struct restore_entry {
    struct restore_entry *next;
    struct restoring *state;
};

struct round {
    struct background *background;
    struct arena arena;
    struct restore_entry *restores;
    bool is_pending; /* something cannot be done yet */
    bool has_failed; /* the store failed */
};

static bool delete_backup(struct round *round, struct str row_name)
{
    struct background_wait wait;
    struct backup_delete remove = {.call = background_call(round->background, &round->arena, &wait),
                                   .row_name = row_name,
                                   .by_expiry = true};
    engine_delete_backup(&remove);
    background_wait_for(round->background, &wait);
    enum err_code code = remove.call.err.code;
    return code == ERR_NONE || code == ERR_BACKUP_NOT_FOUND;
}

/* --- backups that are being made --- */

struct completion {
    struct background_update update;
    struct str key;
    int64_t instant_ns;
    struct store_count size;
};

static bool complete_eval(struct store_update *update, const struct str *rows,
                          struct store_batch *batch)
{
    const struct completion *completion = CONTAINER_OF(update, struct completion, update.update);
    struct err err = ERR_INIT(update->arena);
    struct backup backup;
    if (str_is_null(rows[0]) || !backup_decode(update->arena, rows[0], &backup, &err) ||
        backup.state != BACKUP_CREATING) {
        return false;
    }
    backup.state = BACKUP_AVAILABLE;
    backup.instant_ns = completion->instant_ns;
    if (backup.kind == BACKUP_SYSTEM) { /* it was made without reading counters */
        backup.size_bytes = completion->size.bytes;
        backup.item_count = completion->size.count;
    }
    store_batch_put(batch, 0, backup_encode(update->arena, &backup));
    return true;
}

/* Every call now records the changes of the table, so any settled instant can be used. */
static void complete_backup(struct round *round, const struct backup_entry *entry)
{
    if (!follow_is_settled(round->background->engine, entry->backup.ready_version)) {
        round->is_pending = true;
        return;
    }
    struct completion completion = {
        .key = backup_key(&round->arena, entry->row_name),
        .instant_ns = background_settle(round->background, &round->arena),
        .size = background_space_size(round->background, entry->backup.table.space, &round->arena),
    };
    completion.update.update = (struct store_update){
        .keys = &completion.key,
        .key_count = 1,
        .arena = &round->arena,
        .eval = complete_eval,
    };
    enum store_status status = completion.instant_ns == 0
                                   ? STORE_BUSY
                                   : background_update(round->background, &completion.update);
    round->has_failed = round->has_failed || (status != STORE_OK && status != STORE_NO_WRITE);
}

/* --- backups that are over --- */

static bool is_being_restored(struct round *round, const struct backup *backup)
{
    if (str_is_null(backup->target)) {
        return false;
    }
    const struct table *table = table_acquire(round->background->engine, backup->target);
    bool is_restored = table != NULL && table->restore.space != 0;
    table_release(table);
    return is_restored;
}

/* Whether the backup is the pin of an export in progress. */
static bool is_being_exported(struct round *round, const struct backup *backup)
{
    struct str mark = STR(EXPORT_PIN_NAME);
    if (!str_starts_with(backup->name, mark)) {
        return false;
    }
    struct background_wait wait;
    struct export_get get = {.call = background_call(round->background, &round->arena, &wait),
                             .row_name = str_skip(backup->name, mark.len)};
    engine_get_export(&get);
    background_wait_for(round->background, &wait);
    enum err_code code = get.call.err.code;
    return code == ERR_NONE ? get.export.state == EXPORT_IN_PROGRESS : code != ERR_EXPORT_NOT_FOUND;
}

static bool is_over(struct round *round, const struct backup *backup)
{
    int64_t now_ms = trusted_clock_ms(&round->background->engine->clock);
    if (backup->kind == BACKUP_SYSTEM) {
        return backup->expires_ms != 0 && backup->expires_ms <= now_ms &&
               str_is_null(backup->target);
    }
    if (backup->kind != BACKUP_INTERNAL || is_being_restored(round, backup) ||
        is_being_exported(round, backup)) {
        return false;
    }
    return backup->created_ms + orphan_ms <= now_ms;
}

static void look_at_backup(struct round *round, const struct backup_entry *entry)
{
    if (entry->backup.state == BACKUP_CREATING) {
        complete_backup(round, entry);
    } else if (is_over(round, &entry->backup)) {
        bool ok = delete_backup(round, entry->row_name);
        round->has_failed = round->has_failed || !ok;
    }
}

/* All backups, some at a time. */
static void look_at_backups(struct round *round)
{
    struct buf after = {0};
    bool more = true;
    while (more && !background_is_stopping(round->background)) {
        struct background_wait wait;
        arena_reset(&round->arena);
        struct backup_list list = {
            .call = background_call(round->background, &round->arena, &wait),
            .after = after.len > 0 ? arena_copy(&round->arena, buf_str(&after)) : STR_NULL,
            .user = true,
            .system = true,
            .internal = true,
            .limit = BACKUPS_AT_ONCE,
        };
        engine_list_backups(&list);
        background_wait_for(round->background, &wait);
        if (list.call.err.code != ERR_NONE) {
            round->has_failed = true;
            break;
        }
        for (size_t i = 0; i < list.count; i++) {
            look_at_backup(round, &list.entries[i]);
        }
        more = list.more;
        after.len = 0;
        if (list.count > 0) {
            buf_add(&after, list.entries[list.count - 1].row_name);
        }
    }
    buf_finish(&after);
}

/* --- point-in-time recovery that has been enabled --- */

struct beginning {
    struct background_change change;
    int64_t since_ns;
    uint64_t history_since; /* of the history that was settled by then */
};

static const struct table *set_since(struct table_change *change, const struct table *before)
{
    const struct beginning *beginning = CONTAINER_OF(change, struct beginning, change.change);
    if (!recovery_is_beginning(before) || before->history_since != beginning->history_since) {
        err_set(&change->call.err, ERR_RESOURCE_NOT_FOUND, "recovery is not being enabled");
        return NULL;
    }
    struct table *table = ARENA_NEW(change->call.arena, struct table);
    *table = *before;
    table->recovery_since_ns = beginning->since_ns;
    return table;
}

static void begin_recovery(struct round *round, const struct table *table)
{
    if (!follow_is_settled(round->background->engine, table->history_since)) {
        round->is_pending = true;
        return;
    }
    struct beginning beginning = {
        .change.change = {.call.arena = &round->arena, .name = table->name, .change = set_since},
        .since_ns = background_settle(round->background, &round->arena),
        .history_since = table->history_since,
    };
    if (beginning.since_ns != 0) {
        background_change(round->background, &beginning.change);
    }
    round->has_failed = round->has_failed || beginning.since_ns == 0;
}

static void begin_recoveries(struct round *round)
{
    struct arena arena;
    arena_init(&arena);
    const struct table **tables;
    size_t count =
        catalog_collect(round->background->engine, recovery_is_beginning, &arena, &tables);
    for (size_t i = 0; i < count; i++) {
        begin_recovery(round, tables[i]);
        table_release(tables[i]);
    }
    arena_finish(&arena);
}

/* --- restores --- */

static bool is_restoring(const struct table *table)
{
    return table->restore.space != 0;
}

static struct restore_entry *entry_of(struct round *round, const struct table *table)
{
    struct restore_entry *unused = NULL;
    for (struct restore_entry *entry = round->restores; entry != NULL; entry = entry->next) {
        if (entry->state != NULL && restoring_space(entry->state) == table->space) {
            return entry;
        }
        unused = entry->state == NULL ? entry : unused;
    }
    if (unused != NULL) {
        return unused;
    }
    struct restore_entry *entry = mem_zalloc(sizeof(*entry));
    entry->next = round->restores;
    round->restores = entry;
    return entry;
}

static void destroy_restores(struct round *round)
{
    while (round->restores != NULL) {
        struct restore_entry *entry = round->restores;
        round->restores = entry->next;
        if (entry->state != NULL) {
            restoring_destroy(entry->state);
        }
        mem_free(entry);
    }
}

/* Before the first chunk all updates up to the instant must be decided. */
static bool is_instant_settled(struct round *round, const struct table *table,
                               const struct restore_entry *entry)
{
    return entry->state != NULL ||
           background_settle(round->background, &round->arena) >= table->restore.instant_ns;
}

/* Deletes the internal backup of a restore to a point in time, which is not needed any more. */
static void release_instant(struct round *round, const struct table *table)
{
    bool is_internal = str_is_null(table->restore.backup_arn);
    if (is_internal && !delete_backup(round, table->restore.backup_row)) {
        round->has_failed = true;
    }
}

/* Items cannot be read: deletes the table. Its backup can be used again. */
static void give_up_restore(struct round *round, const struct table *table)
{
    struct background_wait wait;
    struct table_delete remove = {
        .call = background_call(round->background, &round->arena, &wait),
        .name = table->name,
        .may_be_creating = true,
        .failed_restore = table,
    };
    engine_delete_table(&remove);
    background_wait_for(round->background, &wait);
    table_release(remove.table);
    enum err_code code = remove.call.err.code;
    if (code != ERR_NONE) { /* not found: another server has ended the restore */
        round->has_failed = round->has_failed || code != ERR_RESOURCE_NOT_FOUND;
        return;
    }
    log_write(LOG_ERROR, "restore",
              "table %.*s: failed, and the table is deleted: the store is damaged, and some items "
              "of %.*s cannot be read",
              STR_ARG(table->name), STR_ARG(table->restore.table_arn));
    release_instant(round, table);
}

/* True: there is more to do at once. */
static bool restore_table(struct round *round, const struct table *table)
{
    struct restore_entry *entry = entry_of(round, table);
    if (!is_instant_settled(round, table, entry)) {
        round->is_pending = true;
        return false;
    }
    enum restore_result result = restore_step(round->background, table, &entry->state);
    if (result == RESTORE_OVER) {
        restoring_destroy(entry->state);
        entry->state = NULL;
        release_instant(round, table);
    } else if (result == RESTORE_UNREADABLE) {
        give_up_restore(round, table);
    }
    round->is_pending = round->is_pending || result == RESTORE_LATER;
    round->has_failed = round->has_failed || result == RESTORE_FAILED;
    return result == RESTORE_MORE;
}

/* One chunk of each, so that none waits for another. */
static bool restore_some(struct round *round)
{
    struct arena arena;
    arena_init(&arena);
    const struct table **tables;
    bool more = false;
    size_t count = catalog_collect(round->background->engine, is_restoring, &arena, &tables);
    for (size_t i = 0; i < count; i++) {
        more = (background_may_go_on(round->background) && restore_table(round, tables[i])) || more;
        table_release(tables[i]);
    }
    arena_finish(&arena);
    return more;
}

/* --- the round --- */

int64_t recovery_round(struct background *background)
{
    if (!store_is_leader(background->engine->store)) {
        return FOLLOWER_MS;
    }
    struct round round = {.background = background};
    arena_init(&round.arena);
    bool more;
    do { /* backups do not wait for long restores */
        round.is_pending = false;
        round.has_failed = false;
        look_at_backups(&round);
        begin_recoveries(&round);
        more = restore_some(&round);
        int64_t until_us = clock_monotonic_us() + (int64_t)50 * 1000;
        while (more && clock_monotonic_us() < until_us && background_may_go_on(background)) {
            more = restore_some(&round);
        }
    } while (more && background_may_go_on(background));
    destroy_restores(&round);
    arena_finish(&round.arena);
    if (!store_is_leader(background->engine->store)) {
        return FOLLOWER_MS;
    }
    return round.has_failed ? RETRY_MS : round.is_pending ? POLL_MS : IDLE_MS;
}
