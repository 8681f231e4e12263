/* Deletes backups, and keeps what backups need of a deleted table. Called by the operations on the
 * thread of the request, by the recovery thread, and by the deletion of a table (catalog_change.c).
 */
#include "base/clock.h"
#include "codec/stored_table.h"
#include "engine/backup_internal.h"
#include "engine/engine_internal.h"
#include "err/messages.h"

static const int64_t system_backup_ms = (int64_t)35 * 24 * 60 * 60 * 1000;

/* --- DeleteBackup --- */

enum { ATTEMPTS_MAX = 5 };

static void start_delete(struct backup_delete *remove);

/* Whether the backup in `row` may be deleted. False: *err. */
static bool check_deletable(struct backup_delete *remove, struct str row, struct err *err)
{
    struct engine_call *call = &remove->call;
    struct str arn = backup_arn(call->engine, call->arena, remove->row_name);
    if (str_is_null(row)) {
        return err_set(err, ERR_BACKUP_NOT_FOUND, MESSAGE_BACKUP_NOT_FOUND, STR_ARG(arn));
    }
    if (!backup_decode(call->arena, row, &remove->backup, err)) {
        return false;
    }
    if (!str_is_null(remove->backup.target)) {
        return err_set(err, ERR_BACKUP_IN_USE, MESSAGE_BACKUP_IS_RESTORED, STR_ARG(arn));
    }
    return true;
}

static void end_delete(struct backup_delete *remove, const struct err *err)
{
    remove->call.err = *err;
    remove->call.done(&remove->call);
}

/* The table was deleted, created, or both meanwhile: starts again. */
static void try_again(struct backup_delete *remove)
{
    if (++remove->attempts < ATTEMPTS_MAX) {
        start_delete(remove);
        return;
    }
    struct err err = ERR_INIT(remove->call.arena);
    err_set(&err, ERR_INTERNAL, MESSAGE_INTERNAL);
    end_delete(remove, &err);
}

static const struct table *remove_from_table(struct table_change *change, const struct table *table)
{
    struct backup_delete *remove = CONTAINER_OF(change, struct backup_delete, live);
    if (!check_deletable(remove, change->extra_row, &change->call.err)) {
        return NULL;
    }
    if (memcmp(table->id, remove->backup.table.id, sizeof(table->id)) != 0) {
        err_set(&change->call.err, ERR_TABLE_CHANGED, MESSAGE_TABLE_CHANGED);
        return NULL;
    }
    struct table *made = backup_copy_table(change, table);
    assert(made->history_holds > 0);
    made->history_holds--;
    backup_end_history(change, made);
    change->update.frees = STORE_FREES_SPACES;
    store_batch_erase(change->batch, CHANGE_EXTRA);
    return made;
}

static void live_done(struct engine_call *call)
{
    struct backup_delete *remove = CONTAINER_OF(call, struct backup_delete, live.call);
    table_release(remove->live.table);
    bool is_other = call->err.code == ERR_TABLE_CHANGED || call->err.code == ERR_RESOURCE_NOT_FOUND;
    if (is_other) {
        try_again(remove);
    } else {
        end_delete(remove, &call->err);
    }
}

static void delete_from_table(struct backup_delete *remove, struct str table_name)
{
    remove->live = (struct table_change){
        .call = remove->call,
        .name = table_name,
        .change = remove_from_table,
        .extra_key = backup_key(remove->call.arena, remove->row_name),
        .may_be_creating = true,
    };
    remove->live.call.done = live_done;
    engine_change_table(&remove->live);
}

/* Declared are the backup's row and the one of the deleted table. */
static bool kept_eval(struct store_update *update, const struct str *rows,
                      struct store_batch *batch)
{
    struct backup_delete *remove = CONTAINER_OF(update, struct backup_delete, kept);
    struct err *err = &remove->live.call.err;
    struct arena *arena = remove->call.arena;
    *err = ERR_INIT(arena);
    remove->dropped_count = 0;
    if (!check_deletable(remove, rows[0], err)) {
        return false;
    }
    struct table table;
    if (str_is_null(rows[1])) {
        return err_set(err, ERR_TABLE_CHANGED, MESSAGE_TABLE_CHANGED);
    }
    if (!table_decode(arena, rows[1], &table, err)) {
        return false;
    }
    store_batch_erase(batch, 0);
    assert(table.history_holds > 0);
    table.history_holds--;
    if (table.history_holds > 0) {
        store_batch_put(batch, 1, table_encode(arena, &table));
        return true;
    }
    store_batch_erase(batch, 1);
    remove->dropped[remove->dropped_count++] = table.space;
    remove->dropped[remove->dropped_count++] = table.history_space;
    for (size_t i = 0; i < remove->dropped_count; i++) {
        store_batch_put_owned(batch, catalog_drop_key(arena, remove->dropped[i]), STR(""));
    }
    return true;
}

static void kept_done(struct store_update *update)
{
    struct backup_delete *remove = CONTAINER_OF(update, struct backup_delete, kept);
    struct err *err = &remove->live.call.err;
    engine_set_store_error(err, update->status);
    if (err->code == ERR_TABLE_CHANGED) {
        try_again(remove);
        return;
    }
    if (err->code == ERR_NONE && remove->dropped_count > 0) {
        catalog_drop_spaces(remove->call.engine, remove->dropped, remove->dropped_count);
    }
    end_delete(remove, err);
}

static void delete_from_kept(struct backup_delete *remove, uint32_t space)
{
    struct engine_call *call = &remove->call;
    remove->keys[0] = backup_key(call->arena, remove->row_name);
    remove->keys[1] = kept_key(call->arena, space);
    remove->kept = (struct store_update){
        .keys = remove->keys,
        .key_count = 2,
        .arena = call->arena,
        .home = call->home,
        .eval = kept_eval,
        .frees = STORE_FREES_SPACES,
        .done = kept_done,
    };
    store_update(call->engine->store, &remove->kept);
}

static bool is_live(struct engine *engine, const struct table *wanted)
{
    const struct table *table = table_acquire(engine, wanted->name);
    bool is_live = table != NULL && memcmp(table->id, wanted->id, sizeof(table->id)) == 0;
    table_release(table);
    return is_live;
}

static bool check_kind(struct backup_delete *remove)
{
    struct engine_call *call = &remove->call;
    const struct backup *backup = &remove->backup;
    if (remove->by_expiry || backup->kind == BACKUP_USER) {
        return true;
    }
    if (backup->kind == BACKUP_INTERNAL) {
        return backup_refuse_missing(call, remove->row_name);
    }
    struct str arn = backup_arn(call->engine, call->arena, remove->row_name);
    struct str time = backup_iso_time(call->arena, backup->expires_ms);
    return err_set(&call->err, ERR_VALIDATION, MESSAGE_SYSTEM_BACKUP, STR_ARG(arn), STR_ARG(time));
}

static void delete_found(struct engine_call *get_call)
{
    struct backup_delete *remove = CONTAINER_OF(get_call, struct backup_delete, get.call);
    remove->call.err = get_call->err;
    remove->backup = remove->get.backup;
    if (remove->call.err.code != ERR_NONE || !check_kind(remove)) {
        remove->call.done(&remove->call);
        return;
    }
    const struct table *table = &remove->backup.table;
    if (is_live(remove->call.engine, table)) {
        delete_from_table(remove, table->name);
    } else {
        delete_from_kept(remove, table->space);
    }
}

static void start_delete(struct backup_delete *remove)
{
    remove->get = (struct backup_get){.call = remove->call, .row_name = remove->row_name};
    remove->get.call.done = delete_found;
    remove->get.call.err = ERR_INIT(remove->call.arena);
    engine_get_backup(&remove->get);
}

void engine_delete_backup(struct backup_delete *remove)
{
    remove->attempts = 0;
    start_delete(remove);
}

/* --- deleting a table --- */

static void add_system_backup(struct table_delete *remove, const struct table *table,
                              struct store_batch *batch)
{
    struct arena *arena = remove->call.arena;
    int64_t now_ms = clock_wall_ms();
    struct backup backup = {
        .state = BACKUP_CREATING,
        .kind = BACKUP_SYSTEM,
        .created_ms = now_ms,
        .expires_ms = now_ms + system_backup_ms,
        .ready_version = remove->version,
        .name = arena_format(arena, "%.*s$DeletedTableBackup", STR_ARG(table->name)),
        .table = *table,
    };
    struct str row_name = backup_make_row_name(arena, now_ms, 0, table->name);
    store_batch_put_owned(batch, backup_key(arena, row_name), backup_encode(arena, &backup));
}

void backup_keep_deleted(struct table_delete *remove, struct table *table,
                         struct store_batch *batch)
{
    struct arena *arena = remove->call.arena;
    if (table->recovery) {
        table->history_holds++;
        add_system_backup(remove, table, batch);
    }
    assert(table->history_holds > 0);
    struct table kept = *table;
    kept.recovery = false;
    store_batch_put_owned(batch, kept_key(arena, table->space), table_encode(arena, &kept));
}
