/* Backups: making, reading, listing and deleting them. Each change is one update of the table's
 * description, or of what is kept of a deleted table, together with the backup's row. Called by the
 * operations on the thread of the request, and by the recovery thread. */
#include "engine/backup.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "base/random.h"
#include "codec/stored_table.h"
#include "engine/backup_internal.h"
#include "engine/engine_internal.h"
#include "err/messages.h"

static const int64_t system_backup_ms = (int64_t)35 * 24 * 60 * 60 * 1000;

/* --- names --- */

struct str backup_key(struct arena *arena, struct str row_name)
{
    return catalog_key(arena, "backup", row_name);
}

struct str kept_key(struct arena *arena, uint32_t space)
{
    char sort[4];
    put_u32_be(sort, space);
    return catalog_key(arena, "kept", str_make(sort, sizeof(sort)));
}

struct str backup_row_name(struct arena *arena, struct str id, struct str table_name)
{
    return arena_format(arena, "%.*s/%.*s", STR_ARG(id), STR_ARG(table_name));
}

/* The ID may be one of a request, of any length; a table's name has no slash. */
struct str backup_id(struct str row_name)
{
    const char *slash = memrchr(row_name.data, '/', row_name.len);
    return slash == NULL ? row_name : str_make(row_name.data, (size_t)(slash - row_name.data));
}

struct str backup_table_name(struct str row_name)
{
    return str_skip(row_name, MIN(row_name.len, backup_id(row_name).len + 1));
}

struct str backup_arn(const struct engine *engine, struct arena *arena, struct str row_name)
{
    struct str id = backup_id(row_name);
    struct str table = backup_table_name(row_name);
    return arena_format(arena, "arn:aws:dynamodb:%.*s:%.*s:table/%.*s/backup/%.*s",
                        STR_ARG(engine->region), STR_ARG(engine->account), STR_ARG(table),
                        STR_ARG(id));
}

static struct str iso_time(struct arena *arena, int64_t ms)
{
    struct str label = stream_label(arena, ms);
    return arena_format(arena, "%.*sZ", STR_ARG(label));
}

/* 14 digits of milliseconds, and a number that makes it unique: 0 for system backups. */
static struct str make_row_name(struct arena *arena, int64_t created_ms, uint32_t number,
                                struct str table_name)
{
    return arena_format(arena, "%014lld-%08x/%.*s", (long long)created_ms, number,
                        STR_ARG(table_name));
}

static uint32_t random_number(void)
{
    uint32_t number = 0;
    while (number == 0) {
        random_system(&number, sizeof(number));
    }
    return number;
}

struct str backup_new_row_name(struct arena *arena, int64_t created_ms, struct str table_name)
{
    return make_row_name(arena, created_ms, random_number(), table_name);
}

/* --- the history of a table, for `change` --- */

static void begin_history(struct table_change *change, struct table *table)
{
    if (table->history_space == 0) {
        table->history_space = change->next_space++;
        table->history_since = change->version;
    }
}

/* Ends the history if nothing needs it any more. */
static void end_history(struct table_change *change, struct table *table)
{
    if (table->history_space != 0 && table->history_holds == 0 && !table->recovery) {
        change->dropped[change->dropped_count++] = table->history_space;
        table->history_space = 0;
        table->history_since = 0;
    }
}

static struct table *copy_table(struct table_change *change, const struct table *table)
{
    struct table *made = ARENA_NEW(change->call.arena, struct table);
    *made = *table;
    return made;
}

/* --- CreateBackup --- */

static const struct table *add_backup(struct table_change *change, const struct table *table)
{
    struct backup_create *create = CONTAINER_OF(change, struct backup_create, change);
    struct arena *arena = change->call.arena;
    struct table *made = copy_table(change, table);
    begin_history(change, made);
    made->history_holds++;
    create->backup = (struct backup){
        .state = BACKUP_CREATING,
        .kind = BACKUP_USER,
        .created_ms = clock_wall_ms(),
        .size_bytes = create->size_bytes,
        .item_count = create->item_count,
        .ready_version = made->history_since,
        .name = create->name,
        .table = *made,
    };
    create->row_name =
        make_row_name(arena, create->backup.created_ms, random_number(), table->name);
    store_batch_put_owned(change->batch, backup_key(arena, create->row_name),
                          backup_encode(arena, &create->backup));
    return made;
}

void engine_create_backup(struct backup_create *create)
{
    create->change.change = add_backup;
    engine_change_table(&create->change);
}

/* --- reading --- */

static bool refuse_missing(struct engine_call *call, struct str row_name)
{
    struct str arn = backup_arn(call->engine, call->arena, row_name);
    return err_set(&call->err, ERR_BACKUP_NOT_FOUND, MESSAGE_BACKUP_NOT_FOUND, STR_ARG(arn));
}

static void get_done(struct store_get *store_get)
{
    struct backup_get *get = CONTAINER_OF(store_get, struct backup_get, get);
    struct engine_call *call = &get->call;
    engine_set_store_error(&call->err, store_get->status);
    if (call->err.code == ERR_NONE) {
        if (str_is_null(store_get->rows[0])) {
            refuse_missing(call, get->row_name);
        } else if (!backup_decode(call->arena, store_get->rows[0], &get->backup, &call->err)) {
            assert(call->err.code != ERR_NONE);
        }
    }
    call->done(call);
}

void engine_get_backup(struct backup_get *get)
{
    struct engine_call *call = &get->call;
    get->key = backup_key(call->arena, get->row_name);
    get->get = (struct store_get){
        .keys = &get->key,
        .key_count = 1,
        .arena = call->arena,
        .home = call->home,
        .done = get_done,
    };
    store_get(call->engine->store, &get->get);
}

static bool is_listed(const struct backup_list *list, const struct backup *backup)
{
    bool is_kind = backup->kind == BACKUP_USER     ? list->user
                   : backup->kind == BACKUP_SYSTEM ? list->system
                                                   : list->internal;
    return is_kind && (list->from_ms == 0 || backup->created_ms >= list->from_ms) &&
           (list->until_ms == 0 || backup->created_ms < list->until_ms) &&
           (str_is_null(list->table_name) || str_eq(list->table_name, backup->table.name));
}

static bool read_entry(struct catalog_list *rows, size_t at, struct str row_name, struct str value,
                       bool *out_wanted)
{
    struct backup_list *list = CONTAINER_OF(rows, struct backup_list, rows);
    struct backup_entry *entry = &list->entries[at];
    entry->row_name = row_name;
    if (!backup_decode(list->call.arena, value, &entry->backup, &list->call.err)) {
        return false;
    }
    *out_wanted = is_listed(list, &entry->backup);
    return true;
}

void engine_list_backups(struct backup_list *list)
{
    struct engine_call *call = &list->call;
    struct str prefix = catalog_key(call->arena, "backup", STR(""));
    struct str lo = prefix;
    if (!str_is_null(list->after)) { /* behind that row */
        char *behind = arena_bytes(call->arena, list->after.len + 1);
        memcpy(behind, list->after.data, list->after.len);
        behind[list->after.len] = 0;
        lo = catalog_key(call->arena, "backup", str_make(behind, list->after.len + 1));
    }
    list->entries = ARENA_ARRAY(call->arena, struct backup_entry, list->limit + 1);
    list->rows = (struct catalog_list){
        .call = call,
        .lo = lo,
        .hi = key_after_prefix(call->arena, prefix),
        .limit = list->limit,
        .read = read_entry,
        .out_count = &list->count,
        .out_more = &list->more,
    };
    catalog_list_start(&list->rows);
}

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
    struct table *made = copy_table(change, table);
    assert(made->history_holds > 0);
    made->history_holds--;
    end_history(change, made);
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
        return refuse_missing(call, remove->row_name);
    }
    struct str arn = backup_arn(call->engine, call->arena, remove->row_name);
    struct str time = iso_time(call->arena, backup->expires_ms);
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
    struct str row_name = make_row_name(arena, now_ms, 0, table->name);
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

/* --- restoring --- */

static bool is_restoring(const struct table *table)
{
    return table->restore.space != 0;
}

size_t engine_count_restores(struct engine *engine)
{
    struct arena arena;
    arena_init(&arena);
    const struct table **tables;
    size_t count = catalog_collect(engine, is_restoring, &arena, &tables);
    for (size_t i = 0; i < count; i++) {
        table_release(tables[i]);
    }
    arena_finish(&arena);
    return count;
}

/* Indexes are made with the table, so none of them is being filled. */
static void reset_indexes(struct arena *arena, struct table *table)
{
    struct index *indexes = ARENA_ARRAY(arena, struct index, table->index_count + 1);
    for (size_t i = 0; i < table->index_count; i++) {
        indexes[i] = table->indexes[i];
        indexes[i].status = STATUS_ACTIVE;
        indexes[i].changed_ms = 0;
        indexes[i].backfilling = false;
        indexes[i].warm = (struct unit_pair){0};
        indexes[i].insights = (struct insights){0};
    }
    table->indexes = indexes;
    table->deleting_index = NULL;
    table_prune_definitions(arena, table);
}

void backup_prepare_restore(struct table_create *create, struct table *table, struct str row_name,
                            const struct backup *backup)
{
    struct engine *engine = create->call.engine;
    struct arena *arena = create->call.arena;
    struct str source = backup->table.name;
    bool is_internal = backup->kind == BACKUP_INTERNAL;
    create->backup_key = backup_key(arena, row_name);
    table->restore = (struct restore_source){
        .backup_row = row_name,
        .backup_arn = is_internal ? STR_NULL : backup_arn(engine, arena, row_name),
        .table_arn =
            arena_format(arena, "arn:aws:dynamodb:%.*s:%.*s:table/%.*s", STR_ARG(engine->region),
                         STR_ARG(engine->account), STR_ARG(source)),
        .time_ms = is_internal ? backup->instant_ns / 1000000 : backup->created_ms,
        .instant_ns = backup->instant_ns,
        .space = backup->table.space,
        .history_space = backup->table.history_space,
    };
    table->status = STATUS_CREATING;
    table->created_ms = clock_wall_ms();
    table->on_demand_since_ms = table->billing == BILLING_PAY_PER_REQUEST ? table->created_ms : 0;
    table->history_space = 0;
    table->history_since = 0;
    table->history_holds = 0;
    table->recovery = false;
    table->recovery_enabled_ms = 0;
    table->recovery_since_ns = 0;
    table->recovery_days = 0;
    table->collection_space = 0;
    table->class = TABLE_CLASS_STANDARD;
    table->class_given = false;
    table->class_changed_ms = 0;
    table->deletion_protection = false;
    table->stream = STREAM_NONE;
    table->stream_since_ms = 0;
    table->stream_space = 0;
    table->stream_shards = 0;
    table->stream_shard_ms = 0;
    table->ttl = TTL_DISABLED;
    table->ttl_attribute = STR_NULL;
    table->ttl_changed_ms = 0;
    table->ttl_space = 0;
    table->ttl_since_version = 0;
    table->policy = STR_NULL;
    table->policy_revision = STR_NULL;
    table->tag_count = 0;
    table->warm = (struct unit_pair){0};
    table->insights = (struct insights){0};
    table->destinations = NULL;
    table->destination_count = 0;
    table->feed_space = 0;
    table->feed_slots = 0;
    table->feed_version = 0;
    reset_indexes(arena, table);
}

bool backup_begin_restore(struct table_create *create, struct str row, struct store_batch *batch)
{
    struct engine_call *call = &create->call;
    struct str row_name = create->wanted->restore.backup_row;
    struct str arn = backup_arn(call->engine, call->arena, row_name);
    struct backup backup;
    if (str_is_null(row)) {
        return refuse_missing(call, row_name);
    }
    if (!backup_decode(call->arena, row, &backup, &call->err)) {
        return false;
    }
    if (!str_is_null(backup.target) || backup.state != BACKUP_AVAILABLE) {
        return err_set(&call->err, ERR_BACKUP_IN_USE, MESSAGE_BACKUP_IS_USED, STR_ARG(arn));
    }
    backup.target = create->wanted->name;
    store_batch_put(batch, 3, backup_encode(call->arena, &backup));
    return true;
}

bool backup_end_failed_restore(struct table_delete *remove, struct str row,
                               struct store_batch *batch)
{
    struct backup backup;
    if (str_is_null(row)) { /* there is nothing to release */
        return true;
    }
    if (!backup_decode(remove->call.arena, row, &backup, &remove->call.err)) {
        return false;
    }
    backup.target = STR_NULL;
    store_batch_put(batch, 2, backup_encode(remove->call.arena, &backup));
    return true;
}

/* --- point-in-time recovery --- */

static const int64_t day_ms = (int64_t)24 * 60 * 60 * 1000;
/* The service does not restore to the last five minutes, either. */
static const int64_t ahead_ms_max = (int64_t)5 * 60 * 1000;

struct recovery_window recovery_window(const struct engine *engine, const struct table *table,
                                       int64_t now_ms)
{
    int64_t since_ms = MAX(table->recovery_enabled_ms, table->recovery_since_ns / 1000000);
    return (struct recovery_window){
        .earliest_ms = MAX(since_ms, now_ms - (int64_t)table->recovery_days * day_ms),
        .latest_ms = MAX(since_ms, now_ms - engine->recovery_lag_ms),
    };
}

bool recovery_is_beginning(const struct table *table)
{
    return table->recovery && table->recovery_since_ns == 0;
}

void recovery_enable(struct table_change *change, struct table *table, uint32_t days)
{
    if (!table->recovery) {
        begin_history(change, table);
        table->recovery = true;
        table->recovery_enabled_ms = change->update.time_ns / 1000000;
        table->recovery_since_ns = 0;
        table->recovery_days = days == 0 ? RECOVERY_DAYS_MAX : days;
    } else if (days != 0 && days != table->recovery_days) {
        /* the start of the window never moves back */
        int64_t cut_ns = change->update.time_ns - (int64_t)table->recovery_days * day_ms * 1000000;
        if (table->recovery_since_ns != 0) {
            table->recovery_since_ns = MAX(table->recovery_since_ns, cut_ns);
        }
        table->recovery_days = days;
    }
    change->awaits_recovery = recovery_is_beginning(table);
}

void recovery_disable(struct table_change *change, struct table *table)
{
    table->recovery = false;
    table->recovery_enabled_ms = 0;
    table->recovery_since_ns = 0;
    table->recovery_days = 0;
    end_history(change, table);
}

bool recovery_is_ahead(const struct engine *engine, int64_t update_ns)
{
    return update_ns / 1000000 > trusted_clock_ms(&engine->clock) + ahead_ms_max;
}

static bool check_time(struct recovery_pin *pin, const struct table *table, int64_t *out_ns)
{
    struct engine_call *call = &pin->change.call;
    int64_t update_ns = pin->change.update.time_ns;
    if (recovery_is_ahead(call->engine, update_ns)) {
        struct str until = iso_time(call->arena, update_ns / 1000000);
        return err_set(&call->err, ERR_RECOVERY_UNAVAILABLE, MESSAGE_TIMES_ARE_AHEAD,
                       STR_ARG(until));
    }
    int64_t now_ms = MIN(update_ns / 1000000, trusted_clock_ms(&call->engine->clock));
    struct recovery_window window = recovery_window(call->engine, table, now_ms);
    int64_t wanted_ms = pin->instant_ms < 0 ? window.latest_ms : pin->instant_ms;
    if (wanted_ms < window.earliest_ms || wanted_ms > window.latest_ms) {
        struct str wanted = iso_time(call->arena, wanted_ms);
        struct str earliest = iso_time(call->arena, window.earliest_ms);
        struct str latest = iso_time(call->arena, window.latest_ms);
        return err_set(&call->err, ERR_INVALID_RESTORE_TIME, MESSAGE_RESTORE_TIME, STR_ARG(wanted),
                       STR_ARG(earliest), STR_ARG(latest));
    }
    *out_ns = MAX(wanted_ms * 1000000, table->recovery_since_ns);
    return true;
}

struct str backup_add_pin(struct table_change *change, struct table *made, int64_t instant_ns,
                          struct str name)
{
    struct arena *arena = change->call.arena;
    made->history_holds++;
    struct backup pin = {
        .state = instant_ns == 0 ? BACKUP_CREATING : BACKUP_AVAILABLE,
        .kind = BACKUP_INTERNAL,
        .created_ms = clock_wall_ms(),
        .instant_ns = instant_ns,
        .ready_version = made->history_since,
        .name = name,
        .table = *made,
    };
    struct str row_name = backup_new_row_name(arena, pin.created_ms, made->name);
    store_batch_put_owned(change->batch, backup_key(arena, row_name), backup_encode(arena, &pin));
    return row_name;
}

static const struct table *add_pin(struct table_change *change, const struct table *table)
{
    struct recovery_pin *pin = CONTAINER_OF(change, struct recovery_pin, change);
    struct engine_call *call = &change->call;
    int64_t instant_ns = 0;
    if (!table->recovery) {
        err_set(&call->err, ERR_RECOVERY_UNAVAILABLE, MESSAGE_RECOVERY_IS_OFF,
                STR_ARG(table->name));
        return NULL;
    }
    if (!check_time(pin, table, &instant_ns)) {
        return NULL;
    }
    if (table->recovery_since_ns == 0) {
        err_set(&call->err, ERR_CONTINUOUS_BACKUPS_UNAVAILABLE, MESSAGE_BACKUPS_BEGIN,
                STR_ARG(table->name));
        return NULL;
    }
    struct table *made = copy_table(change, table);
    made->history_holds++;
    pin->backup = (struct backup){
        .state = BACKUP_AVAILABLE,
        .kind = BACKUP_INTERNAL,
        .created_ms = clock_wall_ms(),
        .instant_ns = instant_ns,
        .name = STR("point-in-time"),
        .table = *made,
    };
    pin->row_name =
        make_row_name(call->arena, pin->backup.created_ms, random_number(), table->name);
    store_batch_put_owned(change->batch, backup_key(call->arena, pin->row_name),
                          backup_encode(call->arena, &pin->backup));
    return made;
}

void engine_pin_instant(struct recovery_pin *pin)
{
    pin->change.change = add_pin;
    engine_change_table(&pin->change);
}
