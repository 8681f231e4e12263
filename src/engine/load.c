/* The rows of imports and bulk puts: starting, reading, listing, cancelling. Called by the
 * operations on the thread of the request. */
#include "engine/load.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/random.h"
#include "engine/engine_internal.h"
#include "engine/load_internal.h"
#include "err/messages.h"

static const int64_t token_ms = (int64_t)8 * 60 * 60 * 1000;

/* --- names --- */

static const char *part_of(enum load_kind kind)
{
    return kind == LOAD_IMPORT ? "import" : "bulk";
}

struct str load_key(struct arena *arena, enum load_kind kind, struct str row_name)
{
    return catalog_key(arena, part_of(kind), row_name);
}

struct str load_token_key(struct arena *arena, enum load_kind kind, struct str token)
{
    uint8_t sort[1 + 16]; /* tokens can be longer than keys */
    sort[0] = kind == LOAD_IMPORT ? 'i' : 'b';
    hash_128(token, 0, sort + 1);
    return catalog_key(arena, "load-token", str_make(sort, sizeof(sort)));
}

struct str load_row_name(struct arena *arena, struct str id, struct str table_name)
{
    return arena_format(arena, "%.*s/%.*s", STR_ARG(id), STR_ARG(table_name));
}

struct str load_id(struct str row_name)
{
    return str_make(row_name.data, MIN(row_name.len, (size_t)LOAD_ID_LEN));
}

struct str load_arn(const struct engine *engine, struct arena *arena, enum load_kind kind,
                    struct str row_name)
{
    struct str id = load_id(row_name);
    struct str table = str_skip(row_name, MIN(row_name.len, (size_t)LOAD_ID_LEN + 1));
    return arena_format(arena, "arn:aws:dynamodb:%.*s:%.*s:table/%.*s/%s/%.*s",
                        STR_ARG(engine->region), STR_ARG(engine->account), STR_ARG(table),
                        kind == LOAD_IMPORT ? "import" : "bulk-operation", STR_ARG(id));
}

void engine_on_load(struct engine *engine, void (*wake)(void *context), void *context)
{
    pthread_rwlock_wrlock(&engine->tables_lock);
    engine->wake_loads = wake;
    engine->wake_loads_context = context;
    pthread_rwlock_unlock(&engine->tables_lock);
}

static void wake_loads(struct engine *engine)
{
    pthread_rwlock_rdlock(&engine->tables_lock);
    if (engine->wake_loads != NULL) {
        engine->wake_loads(engine->wake_loads_context);
    }
    pthread_rwlock_unlock(&engine->tables_lock);
}

/* --- starting --- */

/* The value of a token's row: version 1 (1 byte) | start in ms (i64_le) | digest (16) | row name.
 */
enum { TOKEN_VERSION = 1, DIGEST_LEN = 16, TOKEN_HEAD = 9 + DIGEST_LEN };

static struct str token_row(struct arena *arena, const struct load_start *start)
{
    char *row = arena_bytes(arena, TOKEN_HEAD + start->row_name.len);
    assert(start->load.digest.len == DIGEST_LEN);
    row[0] = TOKEN_VERSION;
    put_u64_le(row + 1, (uint64_t)start->load.start_ms);
    memcpy(row + 9, start->load.digest.data, DIGEST_LEN);
    memcpy(row + TOKEN_HEAD, start->row_name.data, start->row_name.len);
    return str_make(row, TOKEN_HEAD + start->row_name.len);
}

/* Returns whether the token is in use. */
static bool take_token(struct load_start *start, struct str row)
{
    if (row.len < TOKEN_HEAD || row.data[0] != TOKEN_VERSION ||
        (int64_t)get_u64_le(row.data + 1) + token_ms <= start->load.start_ms) {
        return false;
    }
    struct arena *arena = start->call.arena;
    start->is_repeated = true;
    start->digest = arena_copy(arena, str_make(row.data + 9, DIGEST_LEN));
    start->row_name = arena_copy(arena, str_skip(row, TOKEN_HEAD));
    return true;
}

static bool start_eval(struct store_update *update, const struct str *rows,
                       struct store_batch *batch)
{
    struct load_start *start = CONTAINER_OF(update, struct load_start, update);
    struct arena *arena = start->call.arena;
    start->is_repeated = false;
    start->call.err.code = ERR_NONE;
    if (take_token(start, rows[1])) {
        return false;
    }
    if (start->is_full) {
        return err_set(
            &start->call.err, ERR_LIMIT_EXCEEDED,
            "Subscriber limit exceeded: Only %d %s operations can be done simultaneously",
            LOADS_MAX, start->load.kind == LOAD_IMPORT ? "import" : "bulk");
    }
    store_batch_put(batch, 0, load_encode(arena, &start->load));
    store_batch_put(batch, 1, token_row(arena, start));
    return true;
}

static void start_done(struct store_update *update)
{
    struct load_start *start = CONTAINER_OF(update, struct load_start, update);
    engine_set_store_error(&start->call.err, update->status);
    if (update->status == STORE_OK) {
        wake_loads(start->call.engine);
    }
    start->call.done(&start->call);
}

void engine_start_load(struct load_start *start)
{
    struct engine_call *call = &start->call;
    uint32_t number;
    random_system(&number, sizeof(number));
    start->load.start_ms = clock_wall_ms();
    start->row_name =
        arena_format(call->arena, "%014lld-%08x/%.*s", (long long)start->load.start_ms, number,
                     STR_ARG(start->load.table_name));
    start->keys[0] = load_key(call->arena, start->load.kind, start->row_name);
    start->keys[1] = load_token_key(call->arena, start->load.kind, start->load.token);
    start->update = (struct store_update){
        .keys = start->keys,
        .key_count = 2,
        .arena = call->arena,
        .home = call->home,
        .eval = start_eval,
        .done = start_done,
    };
    store_update(call->engine->store, &start->update);
}

/* --- looking --- */

/* The update that ends an import also makes its table ACTIVE. A read of the import's row may see
 * that before this server has published the table: until then the import is shown as running, so
 * that a client that has seen it end can use the table. An import that failed without leaving a
 * table has deleted it before. */
static void show_until_published(struct engine *engine, struct load *load)
{
    if (load->kind != LOAD_IMPORT || !load_is_over(load)) {
        return;
    }
    const struct table *table = table_acquire(engine, load->table_name);
    if (table != NULL && table->status == STATUS_CREATING &&
        str_eq(str_make(table->id, sizeof(table->id)), load->table_id)) {
        load->state = LOAD_IN_PROGRESS;
        load->end_ms = 0;
    }
    table_release(table);
}

static void get_done(struct store_get *store_get)
{
    struct load_get *get = CONTAINER_OF(store_get, struct load_get, get);
    struct engine_call *call = &get->call;
    engine_set_store_error(&call->err, store_get->status);
    if (call->err.code == ERR_NONE) {
        if (str_is_null(store_get->rows[0])) {
            err_set(&call->err, ERR_RESOURCE_NOT_FOUND, "%s", "");
        } else if (!load_decode(call->arena, store_get->rows[0], &get->load, &call->err)) {
            assert(call->err.code != ERR_NONE);
        } else {
            show_until_published(call->engine, &get->load);
        }
    }
    call->done(call);
}

void engine_get_load(struct load_get *get)
{
    struct engine_call *call = &get->call;
    get->key = load_key(call->arena, get->kind, get->row_name);
    get->get = (struct store_get){
        .keys = &get->key,
        .key_count = 1,
        .arena = call->arena,
        .home = call->home,
        .done = get_done,
    };
    store_get(call->engine->store, &get->get);
}

static bool read_entry(struct catalog_list *rows, size_t at, struct str row_name, struct str value,
                       bool *out_wanted)
{
    struct load_list *list = CONTAINER_OF(rows, struct load_list, rows);
    struct load_entry *entry = &list->entries[at];
    struct load *load = &entry->load;
    entry->row_name = row_name;
    if (!load_decode(list->call.arena, value, load, &list->call.err)) {
        return false;
    }
    if (!list->running) {
        show_until_published(list->call.engine, load);
    }
    *out_wanted = (!list->running || !load_is_over(load)) &&
                  (str_is_null(list->table_name) || str_eq(list->table_name, load->table_name));
    return true;
}

void engine_list_loads(struct load_list *list)
{
    struct engine_call *call = &list->call;
    struct str prefix = catalog_key(call->arena, part_of(list->kind), STR(""));
    list->entries = ARENA_ARRAY(call->arena, struct load_entry, list->limit + 1);
    list->rows = (struct catalog_list){
        .call = call,
        .lo = prefix,
        .hi = str_is_null(list->before) ? key_after_prefix(call->arena, prefix)
                                        : load_key(call->arena, list->kind, list->before),
        .backward = true,
        .limit = list->limit,
        .read = read_entry,
        .out_count = &list->count,
        .out_more = &list->more,
    };
    catalog_list_start(&list->rows);
}

/* --- cancelling --- */

static bool cancel_eval(struct store_update *update, const struct str *rows,
                        struct store_batch *batch)
{
    struct load_cancel *cancel = CONTAINER_OF(update, struct load_cancel, update);
    struct engine_call *call = &cancel->call;
    call->err.code = ERR_NONE;
    if (str_is_null(rows[0])) {
        return err_set(&call->err, ERR_RESOURCE_NOT_FOUND, "%s", "");
    }
    if (!load_decode(call->arena, rows[0], &cancel->load, &call->err) ||
        cancel->load.state != LOAD_IN_PROGRESS) {
        return false;
    }
    cancel->load.state = LOAD_CANCELLING;
    store_batch_put(batch, 0, load_encode(call->arena, &cancel->load));
    return true;
}

static void cancel_done(struct store_update *update)
{
    struct load_cancel *cancel = CONTAINER_OF(update, struct load_cancel, update);
    engine_set_store_error(&cancel->call.err, update->status);
    if (update->status == STORE_OK) {
        wake_loads(cancel->call.engine);
    }
    cancel->call.done(&cancel->call);
}

void engine_cancel_load(struct load_cancel *cancel)
{
    struct engine_call *call = &cancel->call;
    cancel->key = load_key(call->arena, LOAD_BULK_PUT, cancel->row_name);
    cancel->update = (struct store_update){
        .keys = &cancel->key,
        .key_count = 1,
        .arena = call->arena,
        .home = call->home,
        .eval = cancel_eval,
        .done = cancel_done,
    };
    store_update(call->engine->store, &cancel->update);
}
