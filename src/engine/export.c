/* Exports: creating, finding and listing them. An export is made by one update of the table's
 * description: with the pins that hold its items, its row and the row of its token. Called by the
 * operations on the thread of the request. */
#include "engine/export.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "engine/backup_internal.h"
#include "engine/engine_internal.h"
#include "engine/export_internal.h"
#include "err/messages.h"

static const int64_t minute_ms = (int64_t)60 * 1000;
static const int64_t token_ms = (int64_t)8 * 60 * 60 * 1000;
enum { TOKEN_HEAD_LEN = 16, TOKEN_HASH_LEN = 16, MINUTES_MIN = 15, MINUTES_MAX = 24 * 60 };

/* --- names --- */

struct str export_key(struct arena *arena, struct str row_name)
{
    return catalog_key(arena, "export", row_name);
}

struct str export_token_key(struct arena *arena, struct str token)
{
    uint8_t hash[TOKEN_HASH_LEN];
    hash_128(token, 0, hash);
    return catalog_key(arena, "export-token", str_make(hash, sizeof(hash)));
}

struct str export_arn(const struct engine *engine, struct arena *arena, struct str row_name)
{
    struct str id = backup_id(row_name);
    struct str table = backup_table_name(row_name);
    return arena_format(arena, "arn:aws:dynamodb:%.*s:%.*s:table/%.*s/export/%.*s",
                        STR_ARG(engine->region), STR_ARG(engine->account), STR_ARG(table),
                        STR_ARG(id));
}

void engine_set_exporter(struct engine *engine, struct background *exporter)
{
    engine->exporter = exporter;
}

/* --- ExportTableToPointInTime --- */

/* The row of a client token. */
struct token_row {
    uint64_t request_hash;
    int64_t created_ms;
    struct str row_name;
};

static bool token_decode(struct str row, struct token_row *out)
{
    if (row.len < TOKEN_HEAD_LEN) {
        return false;
    }
    *out = (struct token_row){
        .request_hash = get_u64_le(row.data),
        .created_ms = (int64_t)get_u64_le(row.data + 8),
        .row_name = str_skip(row, TOKEN_HEAD_LEN),
    };
    return true;
}

struct str export_of_token(struct str row)
{
    struct token_row token;
    return token_decode(row, &token) ? token.row_name : STR_NULL;
}

static bool is_token_used(struct str row, int64_t now_ms, struct token_row *out)
{
    return token_decode(row, out) && out->created_ms + token_ms > now_ms;
}

static struct str encode_token(struct arena *arena, const struct token_row *token)
{
    char *bytes = arena_bytes(arena, TOKEN_HEAD_LEN + token->row_name.len);
    put_u64_le(bytes, token->request_hash);
    put_u64_le(bytes + 8, (uint64_t)token->created_ms);
    memcpy(bytes + TOKEN_HEAD_LEN, token->row_name.data, token->row_name.len);
    return str_make(bytes, TOKEN_HEAD_LEN + token->row_name.len);
}

static struct str iso_time(struct arena *arena, int64_t ms)
{
    struct str label = stream_label(arena, ms);
    return arena_format(arena, "%.*sZ", STR_ARG(label));
}

static bool check_full(struct export_create *create, const struct table *table, int64_t now_ms)
{
    struct err *err = &create->change.call.err;
    struct recovery_window window = recovery_window(create->change.call.engine, table, now_ms);
    int64_t time_ms = create->export.time_ms;
    if (time_ms == 0) {
        return true;
    }
    if (time_ms > now_ms || time_ms < window.earliest_ms) {
        return err_set(err, ERR_INVALID_EXPORT_TIME, MESSAGE_EXPORT_TIME);
    }
    return (time_ms <= window.latest_ms && table->recovery_since_ns != 0) ||
           err_set(err, ERR_INVALID_EXPORT_TIME, MESSAGE_EXPORT_TIME_UNAVAILABLE);
}

static bool check_incremental(struct export_create *create, const struct table *table,
                              int64_t now_ms)
{
    struct err *err = &create->change.call.err;
    struct arena *arena = create->change.call.arena;
    struct recovery_window window = recovery_window(create->change.call.engine, table, now_ms);
    int64_t from_ms = create->export.time_ms;
    int64_t to_ms = create->export.to_ms == 0 ? now_ms : create->export.to_ms;
    if (from_ms < table->created_ms) {
        struct str time = iso_time(arena, table->created_ms);
        return err_set(err, ERR_INVALID_EXPORT_TIME, MESSAGE_EXPORT_BEFORE_TABLE, STR_ARG(time));
    }
    if (to_ms > now_ms) {
        struct str time = iso_time(arena, now_ms);
        return err_set(err, ERR_INVALID_EXPORT_TIME, MESSAGE_EXPORT_IN_FUTURE, STR_ARG(time));
    }
    if (to_ms - from_ms < MINUTES_MIN * minute_ms) {
        return err_set(err, ERR_INVALID_EXPORT_TIME, MESSAGE_EXPORT_TOO_SHORT);
    }
    if (to_ms - from_ms > MINUTES_MAX * minute_ms) {
        return err_set(err, ERR_INVALID_EXPORT_TIME, MESSAGE_EXPORT_TOO_LONG);
    }
    if (from_ms < window.earliest_ms) {
        return err_set(err, ERR_INVALID_EXPORT_TIME, MESSAGE_EXPORT_TIME);
    }
    return table->recovery_since_ns != 0 ||
           err_set(err, ERR_INVALID_EXPORT_TIME, MESSAGE_EXPORT_TIME_UNAVAILABLE);
}

static bool check(struct export_create *create, const struct table *table, int64_t now_ms)
{
    struct engine_call *call = &create->change.call;
    struct token_row token;
    if (is_token_used(create->change.extra_row, now_ms, &token)) {
        return err_set(&call->err, ERR_EXPORT_CONFLICT, MESSAGE_EXPORT_CONFLICT);
    }
    if (!table->recovery) {
        return err_set(&call->err, ERR_RECOVERY_UNAVAILABLE, MESSAGE_RECOVERY_IS_OFF,
                       STR_ARG(table->name));
    }
    bool has_time = create->export.is_incremental || create->export.time_ms != 0;
    if (has_time && recovery_is_ahead(call->engine, create->change.update.time_ns)) {
        return err_set(&call->err, ERR_INVALID_EXPORT_TIME, MESSAGE_EXPORT_TIME_UNAVAILABLE);
    }
    bool is_good = create->export.is_incremental ? check_incremental(create, table, now_ms)
                                                 : check_full(create, table, now_ms);
    return is_good && (call->engine->exporter != NULL ||
                       err_set(&call->err, ERR_VALIDATION, MESSAGE_NO_OBJECTS));
}

/* Makes the pins. The instants of an incremental export are the last ones before its times, because
 * its period includes the first and excludes the second. */
static void add_pins(struct export_create *create, struct export *export, struct table *made)
{
    struct table_change *change = &create->change;
    int64_t now_ns = change->update.time_ns;
    struct str name =
        arena_format(change->call.arena, EXPORT_PIN_NAME "%.*s", STR_ARG(create->row_name));
    if (export->is_incremental) {
        int64_t from_ns = MAX(export->time_ms * 1000000 - 1, made->recovery_since_ns);
        export->pin = backup_add_pin(change, made, from_ns, name);
        export->pin_to = backup_add_pin(change, made, export->to_ms * 1000000 - 1, name);
        return;
    }
    bool is_now = create->export.time_ms == 0;
    int64_t at_ns = is_now ? now_ns : MAX(export->time_ms * 1000000, made->recovery_since_ns);
    /* Right after point-in-time recovery was enabled the recovery thread finds an instant. */
    export->pin = backup_add_pin(change, made, made->recovery_since_ns == 0 ? 0 : at_ns, name);
}

static const struct table *add_export(struct table_change *change, const struct table *table)
{
    struct export_create *create = CONTAINER_OF(change, struct export_create, change);
    struct arena *arena = change->call.arena;
    int64_t now_ms = change->update.time_ns / 1000000;
    if (!check(create, table, now_ms)) {
        return NULL;
    }
    struct table *made = ARENA_NEW(arena, struct table);
    *made = *table;
    struct export export = create->export; /* the input stays: this may run again */
    export.state = EXPORT_IN_PROGRESS;
    export.start_ms = now_ms;
    export.time_ms = export.time_ms == 0 ? now_ms : export.time_ms;
    export.to_ms = export.is_incremental && export.to_ms == 0 ? now_ms : export.to_ms;
    export.table_name = table->name;
    memcpy(export.table_id, table->id, sizeof(export.table_id));
    create->row_name = backup_new_row_name(arena, now_ms, table->name);
    add_pins(create, &export, made);
    create->made = export;
    struct token_row token = {create->request_hash, now_ms, create->row_name};
    store_batch_put(change->batch, CHANGE_EXTRA, encode_token(arena, &token));
    store_batch_put_owned(change->batch, export_key(arena, create->row_name),
                          export_encode(arena, &export));
    return made;
}

static void create_done(struct engine_call *call)
{
    struct export_create *create = CONTAINER_OF(call, struct export_create, change.call);
    table_release(create->change.table);
    if (call->err.code == ERR_NONE && call->engine->exporter != NULL) {
        background_wake(call->engine->exporter);
    }
    create->done(call);
}

void engine_create_export(struct export_create *create)
{
    create->done = create->change.call.done;
    create->change.call.done = create_done;
    create->change.change = add_export;
    create->change.extra_key = export_token_key(create->change.call.arena, create->export.token);
    engine_change_table(&create->change);
}

/* --- reading --- */

static void start_get(struct engine_call *call, struct store_get *get, struct str *key,
                      void (*done)(struct store_get *get))
{
    *get = (struct store_get){
        .keys = key,
        .key_count = 1,
        .arena = call->arena,
        .home = call->home,
        .done = done,
    };
    store_get(call->engine->store, get);
}

static void find_done(struct store_get *get)
{
    struct export_find *find = CONTAINER_OF(get, struct export_find, get);
    struct token_row token;
    engine_set_store_error(&find->call.err, get->status);
    if (find->call.err.code == ERR_NONE &&
        (find->of_any_age
             ? token_decode(get->rows[0], &token)
             : is_token_used(get->rows[0], trusted_clock_ms(&find->call.engine->clock), &token))) {
        find->row_name = arena_copy(find->call.arena, token.row_name);
        find->request_hash = token.request_hash;
    }
    find->call.done(&find->call);
}

void engine_find_export(struct export_find *find)
{
    find->row_name = STR_NULL;
    find->key = export_token_key(find->call.arena, find->token);
    start_get(&find->call, &find->get, &find->key, find_done);
}

static void get_done(struct store_get *store_get)
{
    struct export_get *get = CONTAINER_OF(store_get, struct export_get, get);
    struct engine_call *call = &get->call;
    engine_set_store_error(&call->err, store_get->status);
    if (call->err.code == ERR_NONE && str_is_null(store_get->rows[0])) {
        struct str arn = export_arn(call->engine, call->arena, get->row_name);
        err_set(&call->err, ERR_EXPORT_NOT_FOUND, MESSAGE_EXPORT_NOT_FOUND, STR_ARG(arn));
    } else if (call->err.code == ERR_NONE &&
               !export_decode(call->arena, store_get->rows[0], &get->export, &call->err)) {
        assert(call->err.code != ERR_NONE);
    }
    call->done(call);
}

void engine_get_export(struct export_get *get)
{
    get->key = export_key(get->call.arena, get->row_name);
    start_get(&get->call, &get->get, &get->key, get_done);
}

static bool is_listed(const struct export_list *list, const struct export *export)
{
    return (!list->only_in_progress || export->state == EXPORT_IN_PROGRESS) &&
           (str_is_null(list->table_name) || str_eq(list->table_name, export->table_name)) &&
           (list->table_id == NULL || memcmp(list->table_id, export->table_id, UUID_TEXT_LEN) == 0);
}

static bool read_entry(struct catalog_list *rows, size_t at, struct str row_name, struct str value,
                       bool *out_wanted)
{
    struct export_list *list = CONTAINER_OF(rows, struct export_list, rows);
    struct export_entry *entry = &list->entries[at];
    entry->row_name = row_name;
    if (!export_decode(list->call.arena, value, &entry->export, &list->call.err)) {
        return false;
    }
    *out_wanted = is_listed(list, &entry->export);
    return true;
}

void engine_list_exports(struct export_list *list)
{
    struct engine_call *call = &list->call;
    struct str prefix = export_key(call->arena, STR(""));
    list->entries = ARENA_ARRAY(call->arena, struct export_entry, list->limit + 1);
    list->rows = (struct catalog_list){
        .call = call,
        .lo = prefix,
        .hi = str_is_null(list->before) ? key_after_prefix(call->arena, prefix)
                                        : export_key(call->arena, list->before),
        .backward = true,
        .limit = list->limit,
        .read = read_entry,
        .out_count = &list->count,
        .out_more = &list->more,
    };
    catalog_list_start(&list->rows);
}
