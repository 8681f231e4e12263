/* Backups: their names, creating, reading and listing them, and what the other files about backups
 * share. Each change of a backup is one update of the table's description, or of what is kept of a
 * deleted table, together with the backup's row. Called by the operations on the thread of the
 * request, and by the recovery thread. */
#include "engine/backup.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "base/random.h"
#include "engine/backup_internal.h"
#include "engine/engine_internal.h"
#include "err/messages.h"

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

struct str backup_iso_time(struct arena *arena, int64_t ms)
{
    struct str label = stream_label(arena, ms);
    return arena_format(arena, "%.*sZ", STR_ARG(label));
}

struct str backup_make_row_name(struct arena *arena, int64_t created_ms, uint32_t number,
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
    return backup_make_row_name(arena, created_ms, random_number(), table_name);
}

/* --- the table of a backup, for `change` --- */

void backup_begin_history(struct table_change *change, struct table *table)
{
    if (table->history_space == 0) {
        table->history_space = change->next_space++;
        table->history_since = change->version;
    }
}

void backup_end_history(struct table_change *change, struct table *table)
{
    if (table->history_space != 0 && table->history_holds == 0 && !table->recovery) {
        change->dropped[change->dropped_count++] = table->history_space;
        table->history_space = 0;
        table->history_since = 0;
    }
}

struct table *backup_copy_table(struct table_change *change, const struct table *table)
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
    struct table *made = backup_copy_table(change, table);
    backup_begin_history(change, made);
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
    create->row_name = backup_new_row_name(arena, create->backup.created_ms, table->name);
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

bool backup_refuse_missing(struct engine_call *call, struct str row_name)
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
            backup_refuse_missing(call, get->row_name);
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
