/* Gets: one statement for each key. Statements of many requests are pipelined on one connection.
 * I/O thread only, but for pg_get(). */
#include "base/bytes.h"
#include "base/clock.h"
#include "base/mem.h"
#include "store/pg/distributed.h"

static void start_get(struct pg *pg, struct get_job *job);

static void finish_on_owner_thread(struct task *task)
{
    struct get_job *job = CONTAINER_OF(task, struct get_job, task);
    job->get->done(job->get);
}

static void finish(struct get_job *job, enum store_status status)
{
    struct store_get *get = job->get;
    struct pg *pg = job->pg;
    if (!get->before_serving && !members_may_serve(pg)) {
        status = STORE_FAILED;
    }
    get->status = status;
    job->task.run = finish_on_owner_thread;
    mailbox_post(get->home, &job->task);
    pg_request_ended(pg);
}

/* Whether rows that follow are not kept, because there are too many bytes. */
static bool is_full(const struct get_job *job)
{
    size_t bytes_max = job->get->bytes_max;
    return (bytes_max > 0 && job->bytes > bytes_max) || arena_is_over_budget(job->get->arena);
}

static enum store_status outcome(const struct get_job *job)
{
    if (!is_full(job)) {
        return STORE_OK;
    }
    return arena_is_over_budget(job->get->arena) ? STORE_FAILED : STORE_TOO_MUCH;
}

/* All statements of the get have been answered. */
static void end_attempt(struct get_job *job)
{
    if (!job->has_failed) {
        finish(job, outcome(job));
        return;
    }
    if (!pg_retry_allows(job->pg, &job->retry)) {
        finish(job, STORE_FAILED);
        return;
    }
    start_get(job->pg, job);
}

static void count_answer(struct get_job *job, bool ok)
{
    job->has_failed = job->has_failed || !ok;
    if (--job->outstanding == 0) {
        end_attempt(job);
    }
}

static void take_row(struct conn *conn, void *owner, size_t tag, PGresult *result)
{
    (void)conn;
    struct get_job *job = owner;
    struct store_get *get = job->get;
    bool ok = result != NULL && PQresultStatus(result) == PGRES_TUPLES_OK &&
              !pg_fault_is_due(job->pg, PG_FAULT_BAD_PAGE);
    if (ok && PQntuples(result) > 0 && !is_full(job)) {
        struct str row = str_make(PQgetvalue(result, 0, 0), (size_t)PQgetlength(result, 0, 0));
        job->bytes += row.len;
        get->rows[tag] = arena_copy(get->arena, row);
        if (get->rows[tag].data == NULL) {
            get->rows[tag] = STR(""); /* an empty value is a row */
        }
    }
    PQclear(result);
    count_answer(job, ok);
}

/* Adds up the rows of a counter. */
static void take_counter(struct conn *conn, void *owner, size_t tag, PGresult *result)
{
    (void)conn;
    struct get_job *job = owner;
    bool ok = result != NULL && PQresultStatus(result) == PGRES_TUPLES_OK;
    struct store_count *sum = ARENA_NEW(job->get->arena, struct store_count);
    *sum = (struct store_count){0};
    for (int i = 0; ok && i < PQntuples(result); i++) {
        struct str row = str_make(PQgetvalue(result, i, 0), (size_t)PQgetlength(result, i, 0));
        struct store_count part = store_count_value(row);
        sum->count += part.count;
        sum->bytes += part.bytes;
    }
    job->get->rows[tag] = ok && PQntuples(result) > 0 ? str_make(sum, sizeof(*sum)) : STR_NULL;
    PQclear(result);
    count_answer(job, ok);
}

/* Adds up the rows of several counters: their number in the get, from 1, and a row. */
static void take_counters(struct conn *conn, void *owner, size_t tag, PGresult *result)
{
    (void)conn;
    (void)tag;
    struct get_job *job = owner;
    struct store_get *get = job->get;
    bool ok = result != NULL && PQresultStatus(result) == PGRES_TUPLES_OK;
    for (int i = 0; ok && i < PQntuples(result); i++) {
        struct str *row = &get->rows[get_u64_be(PQgetvalue(result, i, 0)) - 1];
        struct store_count sum = store_count_value(*row); /* absent: zero */
        struct store_count part = store_count_value(
            str_make(PQgetvalue(result, i, 1), (size_t)PQgetlength(result, i, 1)));
        sum.count += part.count;
        sum.bytes += part.bytes;
        if (str_is_null(*row)) {
            *row = str_make(arena_bytes(get->arena, STORE_COUNT_LEN), STORE_COUNT_LEN);
        }
        store_count_encode(sum, (char *)row->data);
    }
    PQclear(result);
    count_answer(job, ok);
}

/* Gets the results of BEGIN and COMMIT around a snapshot. If one fails, the connection is closed,
 * because a failed transaction would stay open. */
static void take_bracket(struct conn *conn, void *owner, size_t tag, PGresult *result)
{
    (void)tag;
    bool ok = result != NULL && PQresultStatus(result) == PGRES_COMMAND_OK;
    PQclear(result);
    count_answer(owner, ok);
    if (!ok && result != NULL) {
        conn_lose(conn);
    }
}

static void send_row(struct conn *conn, struct get_job *job, size_t index)
{
    struct str key = job->get->keys[index];
    struct param_int bucket;
    struct param params[] = {param_int16(&bucket, pg_bucket(key)), param_bytes(key)};
    conn_send(conn, STATEMENT_GET, params, 2, take_row, job, index);
}

static void send_counter(struct conn *conn, struct get_job *job, size_t index)
{
    uint8_t key[OWN_KEY_MAX];
    uint8_t end[OWN_KEY_MAX];
    size_t len = pg_own_key(key, OWN_COUNTER, job->get->keys[index]);
    memcpy(end, key, len);
    memset(end + len, 0xFF, 16); /* larger than every slot */
    struct param_int bucket;
    struct param params[] = {param_int16(&bucket, OWN_COUNTER), {key, len}, {end, len + 16}};
    conn_send(conn, STATEMENT_COUNTER, params, 3, take_counter, job, index);
}

/* Counters are all in one bucket, so one statement reads them as of one instant also if the table
 * is distributed. */
static void send_counters(struct conn *conn, struct get_job *job)
{
    const struct store_get *get = job->get;
    struct str *firsts = ARENA_ARRAY(get->arena, struct str, get->key_count);
    struct str *ends = ARENA_ARRAY(get->arena, struct str, get->key_count);
    for (size_t i = 0; i < get->key_count; i++) {
        uint8_t key[OWN_KEY_MAX];
        size_t len = pg_own_key(key, OWN_COUNTER, get->keys[i]);
        bool is_gone = space_set_has(&job->pg->gone, store_key_space(get->keys[i]));
        memset(key + len, 0xFF, 16); /* larger than every slot */
        firsts[i] = arena_copy(get->arena, str_make(key, len));
        ends[i] = is_gone ? firsts[i] : arena_copy(get->arena, str_make(key, len + 16));
        get->rows[i] = STR_NULL;
    }
    struct buf memories[2] = {{0}, {0}};
    struct param params[] = {param_array(&memories[0], firsts, get->key_count),
                             param_array(&memories[1], ends, get->key_count)};
    job->has_failed = false;
    job->outstanding = 1;
    conn_send(conn, STATEMENT_COUNTERS, params, 2, take_counters, job, 0);
    buf_finish(&memories[0]);
    buf_finish(&memories[1]);
}

static void send_get(struct conn *conn, struct get_job *job)
{
    struct store_get *get = job->get;
    bool bracketed = get->snapshot && get->key_count > 1;
    job->has_failed = false;
    job->bytes = 0;
    job->outstanding = 1; /* keeps the job until all statements are sent */
    if (bracketed) {
        job->outstanding += 2;
        conn_sync(conn); /* ends the implicit transaction before BEGIN */
        conn_send(conn, STATEMENT_BEGIN_SNAPSHOT, NULL, 0, take_bracket, job, 0);
    }
    for (size_t i = 0; i < get->key_count; i++) {
        get->rows[i] = STR_NULL;
        if (space_set_has(&job->pg->gone, store_key_space(get->keys[i]))) {
            continue;
        }
        job->outstanding++;
        if (get->are_counters) {
            send_counter(conn, job, i);
        } else {
            send_row(conn, job, i);
        }
    }
    if (bracketed) {
        conn_send(conn, STATEMENT_COMMIT, NULL, 0, take_bracket, job, 1);
        conn_sync(conn);
    }
    count_answer(job, true);
}

static void start_get(struct pg *pg, struct get_job *job)
{
    struct conn *conn = pg_retry_waits(&job->retry) ? NULL : pg_pick_get_reader(pg);
    if (conn == NULL) {
        job->next = pg->waiting_gets;
        pg->waiting_gets = job;
        return;
    }
    if (pg->is_distributed && job->get->snapshot && job->get->are_counters) {
        send_counters(conn, job);
    } else {
        send_get(conn, job);
    }
    if (pg_fault_is_due(pg, PG_FAULT_CUT_READ)) {
        conn_lose(conn);
    }
}

/* Those whose deadline has passed fail if there is no connection. */
void pg_start_waiting_gets(struct pg *pg)
{
    struct get_job *job = pg->waiting_gets;
    pg->waiting_gets = NULL;
    int64_t now_ns = clock_monotonic_ns();
    while (job != NULL) {
        struct get_job *next = job->next;
        if (pg_pick_reader(pg) == NULL && now_ns >= job->retry.deadline_ns) {
            finish(job, STORE_FAILED);
        } else {
            start_get(pg, job);
        }
        job = next;
    }
}

static void take_get(struct task *task)
{
    struct get_job *job = CONTAINER_OF(task, struct get_job, task);
    start_get(job->pg, job);
}

void pg_get(struct store *store, struct store_get *get)
{
    struct pg *pg = pg_of(store);
    if (pg->is_distributed && get->snapshot && get->key_count > 1 && !get->are_counters) {
        pg_get_locked(store, get);
        return;
    }
    struct get_job *job = ARENA_NEW(get->arena, struct get_job);
    *job = (struct get_job){.pg = pg, .get = get, .task.run = take_get};
    pg_retry_init(&job->retry);
    get->rows = ARENA_ARRAY(get->arena, struct str, get->key_count);
    atomic_fetch_add_explicit(&pg->under_way, 1, memory_order_relaxed);
    pg_post(pg, &job->task);
}
