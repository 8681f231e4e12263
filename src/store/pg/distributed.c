/* Snapshot gets and appends on a table whose rows are spread over several servers: see
 * distributed.h. I/O thread, but for pg_get_locked() and what runs at home. */
#include "store/pg/distributed.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "base/mem.h"

int64_t pg_writer_lock(uint64_t member, int writer)
{
    return (int64_t)7167 << 48 | (int64_t)(member << 8 | (uint64_t)writer);
}

bool pg_marker_lock(struct str key, int64_t *out)
{
    enum { NAME = STORE_SPACE_LEN + 1, LEN = NAME + 8 + 2 };
    if (key.len != LEN || store_key_space(key) != 0 || key.data[STORE_SPACE_LEN] != OWN_MARKER) {
        return false;
    }
    const uint8_t *writer = (const uint8_t *)key.data + NAME + 8;
    *out = pg_writer_lock(get_u64_be(key.data + NAME), writer[0] << 8 | writer[1]);
    return true;
}

/* Snapshot gets ---------------------------------------------------------------------------- */

struct locked_get {
    struct pg *pg;
    struct store_get *get;
    struct store_update update;
    struct str *keys; /* without those of dropped spaces */
    size_t *indexes;  /* of these keys in the get */
    int64_t deadline_ns;
};

static void start_locked(struct locked_get *locked);

static bool copy_rows(struct store_update *update, const struct str *rows,
                      struct store_batch *batch)
{
    struct locked_get *locked = CONTAINER_OF(update, struct locked_get, update);
    (void)batch;
    for (size_t i = 0; i < update->key_count; i++) {
        struct str *row = &locked->get->rows[locked->indexes[i]];
        *row = STR_NULL;
        if (!str_is_null(rows[i])) {
            *row = rows[i].len > 0 ? arena_copy(locked->get->arena, rows[i]) : STR("");
        }
    }
    return false;
}

static enum store_status locked_status(const struct locked_get *locked)
{
    const struct store_get *get = locked->get;
    enum store_status status = locked->update.status;
    if (status != STORE_NO_WRITE) {
        return status == STORE_BUSY ? STORE_BUSY : STORE_FAILED;
    }
    size_t bytes = 0;
    for (size_t i = 0; i < get->key_count; i++) {
        bytes += get->rows[i].len;
    }
    return get->bytes_max > 0 && bytes > get->bytes_max ? STORE_TOO_MUCH : STORE_OK;
}

static void end_locked(struct store_update *update)
{
    struct locked_get *locked = CONTAINER_OF(update, struct locked_get, update);
    struct store_get *get = locked->get;
    if (update->status == STORE_GONE && clock_monotonic_ns() < locked->deadline_ns) {
        start_locked(locked); /* a space was dropped meanwhile: its rows are absent */
        return;
    }
    bool may_answer = get->before_serving || members_may_serve(locked->pg);
    get->status = may_answer ? locked_status(locked) : STORE_FAILED;
    get->done(get);
}

static void start_locked(struct locked_get *locked)
{
    struct store_get *get = locked->get;
    size_t count = 0;
    for (size_t i = 0; i < get->key_count; i++) {
        get->rows[i] = STR_NULL;
        if (!space_set_has(&locked->pg->gone, store_key_space(get->keys[i]))) {
            locked->keys[count] = get->keys[i];
            locked->indexes[count++] = i;
        }
    }
    locked->update = (struct store_update){
        .keys = locked->keys,
        .key_count = count,
        .arena = get->arena,
        .home = get->home,
        .eval = copy_rows,
        .done = end_locked,
    };
    pg_update(&locked->pg->store, &locked->update, true);
}

void pg_get_locked(struct store *store, struct store_get *get)
{
    struct locked_get *locked = ARENA_NEW(get->arena, struct locked_get);
    *locked = (struct locked_get){.pg = pg_of(store), .get = get};
    locked->keys = ARENA_ARRAY(get->arena, struct str, get->key_count);
    locked->indexes = ARENA_ARRAY(get->arena, size_t, get->key_count);
    locked->deadline_ns = clock_monotonic_ns() + PG_PATIENCE_NS;
    get->rows = ARENA_ARRAY(get->arena, struct str, get->key_count);
    start_locked(locked);
}

/* Appends ---------------------------------------------------------------------------------- */

/* The head of a log and its rows are on different servers. If only the head were locked, a
 * transaction could take the next stamps and commit its rows before those of an earlier one, whose
 * head is committed already. So it also locks the part: a row with the key `prefix` beside the rows
 * of the part, which is deleted before COMMIT. When the part changes it locks both, so no row can
 * come to the earlier part once one is in the later part. */

static void send(struct group *group, enum statement statement, const struct param *params,
                 size_t count, pg_handler *handle, size_t tag)
{
    group->outstanding++;
    conn_send(group->conn, statement, params, count, handle, group, tag);
}

static void send_key(struct group *group, enum statement statement, struct str key,
                     pg_handler *handle)
{
    struct param_int bucket;
    struct param params[] = {param_int16(&bucket, pg_bucket(key)), param_bytes(key)};
    send(group, statement, params, 2, handle, 0);
}

bool group_send_heads(struct group *group, pg_handler *handle, size_t first_tag)
{
    group_sort_appended(group);
    group->heads = mem_zalloc((group->appended_count + 1) * sizeof(*group->heads));
    for (size_t i = 0; i < group->appended_count; i++) {
        struct str log = group->appended[i].log;
        if (i > 0 && str_eq(log, group->appended[i - 1].log)) {
            continue;
        }
        uint8_t key[OWN_KEY_MAX];
        size_t len = pg_own_key(key, OWN_HEAD, log);
        struct param_int bucket;
        struct param params[] = {param_int16(&bucket, OWN_HEAD), {key, len}};
        send(group, STATEMENT_LOCK, params, 2, handle, 0);
        send(group, STATEMENT_READ, params, 2, handle, first_tag + group->head_count);
        group->heads[group->head_count++].log = log;
    }
    return group->head_count > 0;
}

bool group_take_head(struct group *group, size_t index, const PGresult *result)
{
    struct log_head *head = &group->heads[index];
    if (PQntuples(result) != 1) {
        return false;
    }
    int64_t stamp = (int64_t)get_u64_be(PQgetvalue(result, 0, 0));
    head->stamp = stamp == PG_WID_ABSENT ? 0 : (uint64_t)stamp;
    head->part = str_make(PQgetvalue(result, 0, 1), (size_t)PQgetlength(result, 0, 1));
    return true;
}

/* Moves to the part of an append if it is a later one. */
static void choose_part(struct group *group, struct log_head *head, struct str prefix,
                        pg_handler *handle)
{
    if (str_cmp(prefix, head->part) > 0) {
        head->part = prefix;
        send_key(group, STATEMENT_LOCK, prefix, handle);
    }
}

static void append_row(struct group *group, const struct log_head *head, struct str value,
                       pg_handler *handle)
{
    uint8_t key[OWN_KEY_MAX];
    memcpy(key, head->part.data, head->part.len);
    put_u64_be(key + head->part.len, head->stamp);
    struct str row_key = str_make(key, head->part.len + 8);
    struct param_int bucket;
    struct param_int wid;
    struct param params[] = {param_int16(&bucket, pg_bucket(row_key)), param_bytes(row_key),
                             param_int64(&wid, group->wid), param_bytes(value)};
    send(group, STATEMENT_PUT, params, 4, handle, 0);
}

static void write_head(struct group *group, const struct log_head *head, pg_handler *handle)
{
    uint8_t key[OWN_KEY_MAX];
    size_t len = pg_own_key(key, OWN_HEAD, head->log);
    struct param_int bucket;
    struct param_int wid;
    struct param params[] = {param_int16(&bucket, OWN_HEAD),
                             {key, len},
                             param_int64(&wid, (int64_t)head->stamp),
                             param_bytes(head->part)};
    send(group, STATEMENT_UPDATE, params, 4, handle, 0);
}

/* Appends to one log: the ops from `first` on. Returns how many there were. */
static size_t append_to_log(struct group *group, struct log_head *head, size_t first,
                            pg_handler *handle)
{
    struct str before = head->part;
    if (before.len > 0) {
        send_key(group, STATEMENT_LOCK, before, handle);
    }
    size_t next = first;
    for (; next < group->appended_count && str_eq(group->appended[next].log, head->log); next++) {
        const struct appended *op = &group->appended[next];
        struct str earlier = head->part;
        choose_part(group, head, op->prefix, handle);
        if (earlier.len > 0 && !str_eq(earlier, head->part)) {
            send_key(group, STATEMENT_DELETE, earlier, handle);
        }
        if (op->is_advance) {
            head->stamp = MAX(head->stamp, op->stamp);
            continue;
        }
        head->stamp++;
        append_row(group, head, op->value, handle);
    }
    send_key(group, STATEMENT_DELETE, head->part, handle);
    write_head(group, head, handle);
    return next - first;
}

void group_send_appended(struct group *group, pg_handler *handle)
{
    size_t at = 0;
    for (size_t i = 0; i < group->head_count; i++) {
        at += append_to_log(group, &group->heads[i], at, handle);
    }
    assert(at == group->appended_count);
}
