/* CreateTable, changes of tables, DeleteTable: updates of catalog rows. The evaluation functions
 * run on the store's thread; the done functions on the publisher thread, which also puts
 * descriptions into memory (catalog.c). */
#include "base/bytes.h"
#include "base/clock.h"
#include "codec/stored_table.h"
#include "engine/backup_internal.h"
#include "engine/engine_internal.h"
#include "engine/feed_internal.h"
#include "err/messages.h"

/* Changes are published on one thread, in the order in which they were committed; then the call is
 * ended on its own thread, when all servers have seen the change. */
static struct mailbox *publisher(struct engine *engine)
{
    return background_begin(&engine->follow.background);
}

/* Sets the error of a call from the status of its update. Returns whether the update was written,
 * so that the caller publishes it. */
static bool is_written(struct engine_call *call, enum store_status status)
{
    engine_set_store_error(&call->err, status);
    if (status == STORE_UNKNOWN) {
        follow_note_unknown(call->engine);
    }
    return call->err.code == ERR_NONE;
}

/* A table that is being made can be neither changed nor deleted. */
static bool check_not_creating(const struct engine *engine, const struct table *table,
                               struct err *err)
{
    if (table_status(engine, table) == STATUS_CREATING) {
        return err_set(err, ERR_RESOURCE_IN_USE, MESSAGE_TABLE_IS_CREATING, STR_ARG(table->name));
    }
    return true;
}

/* --- CreateTable --- */

/* The name is taken. */
static bool refuse_name(struct table_create *create, struct str row, bool is_restore)
{
    struct table table;
    struct err *err = &create->call.err;
    struct str name = create->wanted->name;
    if (!table_decode(create->call.arena, row, &table, err)) {
        return false;
    }
    if (is_restore && table.restore.space != 0) {
        return err_set(err, ERR_TABLE_IN_USE, MESSAGE_TABLE_IS_RESTORED, STR_ARG(name),
                       STR_ARG(table.restore.backup_arn));
    }
    if (table.restore.space != 0) {
        return err_set(err, ERR_RESOURCE_IN_USE, MESSAGE_TABLE_IS_USED, STR_ARG(name));
    }
    if (!is_restore && !check_not_creating(create->call.engine, &table, err)) {
        return false;
    }
    return err_set(err, is_restore ? ERR_TABLE_ALREADY_EXISTS : ERR_RESOURCE_IN_USE,
                   MESSAGE_TABLE_EXISTS, STR_ARG(name));
}

/* Gives spaces to the items, the item collections and the indexes of a new table, from `space` on.
 * Returns the next free one. */
static uint32_t assign_spaces(struct table *table, uint32_t space, struct arena *arena)
{
    table->space = space++;
    if (table->local_count > 0) {
        table->collection_space = space++;
    }
    struct index *indexes = ARENA_ARRAY(arena, struct index, table->index_count + 1);
    for (size_t i = 0; i < table->index_count; i++) {
        indexes[i] = table->indexes[i];
        indexes[i].space = space++;
        indexes[i].since_version = table->version;
    }
    table->indexes = indexes;
    return space;
}

/* Puts the row with the number of the next free space, which is the declared key 1. */
static void put_next_space(struct store_batch *batch, struct arena *arena, uint32_t space)
{
    char *next = arena_bytes(arena, 4);
    put_u32_be(next, space);
    store_batch_put(batch, 1, str_make(next, 4));
}

static void drop_spaces(struct store_batch *batch, struct arena *arena, const uint32_t *spaces,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        store_batch_put_owned(batch, catalog_drop_key(arena, spaces[i]), STR(""));
    }
}

static bool create_eval(struct store_update *update, const struct str *rows,
                        struct store_batch *batch)
{
    struct table_create *create = CONTAINER_OF(update, struct table_create, update);
    create->call.err.code = ERR_NONE;
    bool is_restore = !str_is_null(create->backup_key);
    if (!str_is_null(rows[0])) {
        return refuse_name(create, rows[0], is_restore);
    }
    if (is_restore && !backup_begin_restore(create, rows[3], batch)) {
        return false;
    }
    struct arena *arena = create->call.arena;
    struct table table = *create->wanted;
    table.version = 1;
    uint32_t space = str_is_null(rows[1]) ? SPACE_FIRST_FREE : get_u32_be(rows[1].data);
    space = assign_spaces(&table, space, arena);
    create->stream_row = STR_NULL;
    if (table.stream != STREAM_NONE) {
        create->stream_row = stream_start(create->call.engine, &table, space++, batch, arena);
    }
    assert(table.space >= SPACE_FIRST_FREE);
    assert(space > table.space); /* it has not wrapped around */
    create->row = table_encode(arena, &table);
    store_batch_put(batch, 0, create->row);
    put_next_space(batch, arena, space);
    create->version = follow_version_after(rows[2]);
    store_batch_put(batch, 2, follow_version_row(arena, create->version));
    return true;
}

static void create_done(struct store_update *update)
{
    struct table_create *create = CONTAINER_OF(update, struct table_create, update);
    bool ok = is_written(&create->call, update->status);
    if (ok) {
        struct engine *engine = create->call.engine;
        stream_publish(engine, create->stream_row, create->version);
        create->table = catalog_publish(engine, create->row, create->version, &create->call.err);
        follow_note_change(engine, create->version);
        background_wake(&engine->recovery);
    }
    follow_finish_call(&create->call, ok ? create->version : 0);
}

void engine_create_table(struct table_create *create)
{
    struct engine_call *call = &create->call;
    struct str *keys = ARENA_ARRAY(call->arena, struct str, 4);
    keys[0] = catalog_key(call->arena, "table", create->wanted->name);
    keys[1] = catalog_key(call->arena, "next", STR(""));
    keys[2] = follow_version_key(call->arena);
    keys[3] = create->backup_key;
    create->table = NULL;
    create->update = (struct store_update){
        .keys = keys,
        .key_count = str_is_null(create->backup_key) ? 3 : 4,
        .arena = call->arena,
        .home = publisher(call->engine),
        .eval = create_eval,
        .done = create_done,
    };
    store_update(call->engine->store, &create->update);
}

/* --- UpdateTable --- */

/* Reads the table to be changed. To most changes a table that is being restored is missing. */
static bool find_table(const struct table_change *change, struct str row, struct table *table,
                       struct err *err)
{
    if (!str_is_null(row) && !table_decode(change->call.arena, row, table, err)) {
        return false;
    }
    if (str_is_null(row) || (table->restore.space != 0 && !change->may_be_creating)) {
        return err_set(err, ERR_RESOURCE_NOT_FOUND, MESSAGE_TABLE_NOT_FOUND, STR_ARG(change->name));
    }
    return change->may_be_creating || check_not_creating(change->call.engine, table, err);
}

static bool change_eval(struct store_update *update, const struct str *rows,
                        struct store_batch *batch)
{
    struct table_change *change = CONTAINER_OF(update, struct table_change, update);
    struct err *err = &change->call.err;
    err->code = ERR_NONE;
    struct table *table = ARENA_NEW(change->call.arena, struct table);
    if (!find_table(change, rows[0], table, err)) {
        return false;
    }
    change->version = follow_version_after(rows[2]);
    change->extra_row = update->key_count > CHANGE_EXTRA ? rows[CHANGE_EXTRA] : STR_NULL;
    uint32_t next_space = get_u32_be(rows[1].data);
    change->next_space = next_space;
    change->dropped_count = 0;
    change->stream_row = STR_NULL;
    change->batch = batch;
    change->awaits_recovery = false;
    update->frees = STORE_FREES_NOTHING; /* unless the function says otherwise */
    const struct table *made = change->change(change, table);
    if (made == NULL) {
        assert(err->code != ERR_NONE);
        return false;
    }
    struct table changed = *made;
    changed.version = table->version + 1;
    store_batch_put(batch, 2, follow_version_row(change->call.arena, change->version));
    change->row = table_encode(change->call.arena, &changed);
    store_batch_put(batch, 0, change->row);
    assert(change->next_space >= next_space);
    if (change->next_space != next_space) {
        put_next_space(batch, change->call.arena, change->next_space);
    }
    if (change->dropped_count > 0) {
        update->frees = STORE_FREES_SPACES;
        drop_spaces(batch, change->call.arena, change->dropped, change->dropped_count);
    }
    return true;
}

static void change_done(struct store_update *update)
{
    struct table_change *change = CONTAINER_OF(update, struct table_change, update);
    bool ok = is_written(&change->call, update->status);
    if (ok) {
        stream_publish(change->call.engine, change->stream_row, change->version);
        change->table =
            catalog_publish(change->call.engine, change->row, change->version, &change->call.err);
        follow_note_change(change->call.engine, change->version);
        if (change->dropped_count > 0) {
            catalog_drop_spaces(change->call.engine, change->dropped, change->dropped_count);
        }
        background_wake(&change->call.engine->backfill);
        background_wake(&change->call.engine->recovery);
    }
    if (change->table != NULL && change->awaits_recovery) {
        follow_finish_recovery(change);
    } else {
        follow_finish_call(&change->call, ok ? change->version : 0);
    }
}

void engine_change_table(struct table_change *change)
{
    struct engine_call *call = &change->call;
    struct str *keys = ARENA_ARRAY(call->arena, struct str, CHANGE_EXTRA + 1);
    keys[0] = catalog_key(call->arena, "table", change->name);
    keys[1] = catalog_key(call->arena, "next", STR(""));
    keys[2] = follow_version_key(call->arena);
    keys[CHANGE_EXTRA] = change->extra_key;
    change->table = NULL;
    change->update = (struct store_update){
        .keys = keys,
        .key_count = str_is_null(change->extra_key) ? CHANGE_EXTRA : CHANGE_EXTRA + 1,
        .wants_time = true,
        .arena = call->arena,
        .home = publisher(call->engine),
        .eval = change_eval,
        .done = change_done,
    };
    store_update(call->engine->store, &change->update);
}

/* --- DeleteTable --- */

/* The table may have become ACTIVE, or have been replaced, meanwhile. */
static bool end_failed_restore(struct table_delete *remove, const struct table *table,
                               struct str backup_row, struct store_batch *batch)
{
    if (table->restore.space == 0 || table->space != remove->failed_restore->space) {
        return err_set(&remove->call.err, ERR_RESOURCE_NOT_FOUND, MESSAGE_TABLE_NOT_FOUND,
                       STR_ARG(remove->name));
    }
    return backup_end_failed_restore(remove, backup_row, batch);
}

static bool delete_eval(struct store_update *update, const struct str *rows,
                        struct store_batch *batch)
{
    struct table_delete *remove = CONTAINER_OF(update, struct table_delete, update);
    struct err *err = &remove->call.err;
    err->code = ERR_NONE;
    if (str_is_null(rows[0])) {
        return err_set(err, ERR_RESOURCE_NOT_FOUND, MESSAGE_TABLE_NOT_FOUND, STR_ARG(remove->name));
    }
    struct table table;
    if (!table_decode(remove->call.arena, rows[0], &table, err) ||
        (!remove->may_be_creating && !check_not_creating(remove->call.engine, &table, err))) {
        return false;
    }
    if (table.deletion_protection) {
        return err_set(err, ERR_VALIDATION, MESSAGE_DELETION_PROTECTED);
    }
    if (index_is_changing(&table)) {
        return err_set(err, ERR_RESOURCE_IN_USE, MESSAGE_INDEXES_ARE_CHANGING);
    }
    if (remove->failed_restore != NULL && !end_failed_restore(remove, &table, rows[2], batch)) {
        return false;
    }
    store_batch_erase(batch, 0);
    remove->row = arena_copy(remove->call.arena, rows[0]);
    remove->version = follow_version_after(rows[1]);
    store_batch_put(batch, 1, follow_version_row(remove->call.arena, remove->version));
    remove->stream_row = STR_NULL;
    if (table.stream != STREAM_NONE) {
        remove->stream_row = stream_stop(remove->call.engine, &table, batch, remove->call.arena);
    }
    if (table.feed_space != 0) {
        feed_end_deleted(remove, &table, batch);
    }
    /* `gramme repair` may have left a history whose backups are lost. */
    remove->is_kept = table.history_space != 0 && (table.recovery || table.history_holds > 0);
    if (remove->is_kept) {
        backup_keep_deleted(remove, &table, batch);
    }
    uint32_t spaces[TABLE_SPACES_MAX];
    size_t count = catalog_table_spaces(&table, remove->is_kept, spaces);
    drop_spaces(batch, remove->call.arena, spaces, count);
    return true;
}

static void delete_done(struct store_update *update)
{
    struct table_delete *remove = CONTAINER_OF(update, struct table_delete, update);
    bool ok = is_written(&remove->call, update->status);
    if (ok) {
        struct engine *engine = remove->call.engine;
        stream_publish(engine, remove->stream_row, remove->version);
        remove->table = catalog_withdraw(engine, remove->row, remove->version);
        follow_note_change(engine, remove->version);
        uint32_t spaces[TABLE_SPACES_MAX];
        size_t count = catalog_table_spaces(remove->table, remove->is_kept, spaces);
        if (count > 0) {
            catalog_drop_spaces(engine, spaces, count);
        }
        background_wake(&engine->recovery);
    }
    follow_finish_call(&remove->call, ok ? remove->version : 0);
}

void engine_delete_table(struct table_delete *remove)
{
    struct engine_call *call = &remove->call;
    struct str *keys = ARENA_ARRAY(call->arena, struct str, 3);
    bool is_restore = remove->failed_restore != NULL;
    keys[0] = catalog_key(call->arena, "table", remove->name);
    keys[1] = follow_version_key(call->arena);
    if (is_restore) {
        keys[2] = backup_key(call->arena, remove->failed_restore->restore.backup_row);
    }
    remove->table = NULL;
    remove->update = (struct store_update){
        .keys = keys,
        .key_count = is_restore ? 3 : 2,
        .arena = call->arena,
        .home = publisher(call->engine),
        .eval = delete_eval,
        .frees = STORE_FREES_SPACES,
        .done = delete_done,
    };
    store_update(call->engine->store, &remove->update);
}
