/* The transaction of a group of updates, from BEGIN to the answers. It takes two round trips:
 *
 *   locking   BEGIN; set the wid of the marker row; lock and read every declared key, in order
 *   writing   the writes of the updates; COMMIT
 *
 * If the table is distributed and rows are appended, there is a third one: see distributed.h.
 *
 * The marker row belongs to one writer of this process. If the connection is lost while COMMIT is
 * under way, the wid of the marker row shows whether it was committed: reading it waits for the
 * lock of the old transaction, until that has ended. A process that excludes this one deletes its
 * marker rows, so that none of its transactions can commit afterwards. group_outcome.c has what
 * happens after COMMIT or a failure. I/O thread only, but for evaluate_on_slow_thread(). */
#include <stdlib.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "store/pg/distributed.h"
#include "store/work.h"

struct group *group_create(struct pg *pg)
{
    struct group *group = mem_zalloc(sizeof(*group));
    group->pg = pg;
    group->deadline_ns = clock_monotonic_ns() + 2 * PG_PATIENCE_NS;
    map_init(&group->by_key);
    map_init(&group->added);
    return group;
}

void pg_clear_values(struct map *map)
{
    size_t at = 0;
    struct str name;
    void *value;
    while (map_next(map, &at, &name, &value)) {
        mem_free(value);
    }
    map_finish(map);
    map_init(map);
}

void group_destroy(struct group *group)
{
    for (size_t i = 0; i < group->result_count; i++) {
        PQclear(group->results[i]);
    }
    for (size_t i = 0; i < group->row_count; i++) {
        mem_free(group->rows[i]);
    }
    map_finish(&group->by_key);
    pg_clear_values(&group->added);
    map_finish(&group->added);
    mem_free(group->rows);
    mem_free(group->results);
    mem_free(group->erased_counters);
    mem_free(group->appended);
    mem_free(group->heads);
    mem_free(group->drops);
    mem_free(group);
}

struct group_row *group_row_of(struct group *group, struct str key)
{
    struct group_row *row = map_get(&group->by_key, key);
    if (row != NULL) {
        return row;
    }
    row = mem_zalloc(sizeof(*row));
    row->key = key;
    map_put(&group->by_key, key, row);
    if (group->row_count == group->row_capacity) {
        group->row_capacity = MAX(group->row_capacity * 2, (size_t)16);
        group->rows = mem_realloc(group->rows, group->row_capacity * sizeof(*group->rows));
    }
    group->rows[group->row_count++] = row;
    return row;
}

size_t group_marker_key(uint8_t out[OWN_KEY_MAX], const struct conn *conn)
{
    uint8_t name[8 + 2];
    put_u64_be(name, conn->member);
    put_u16_be(name + 8, (uint16_t)conn->number);
    return pg_own_key(out, OWN_MARKER, str_make(name, sizeof(name)));
}

/* Writing ---------------------------------------------------------------------------------- */

static void note_failure(struct group *group, const PGresult *result)
{
    if (group->has_failed || PQresultStatus(result) == PGRES_PIPELINE_ABORTED) {
        group->has_failed = true;
        return;
    }
    group->has_failed = true;
    const char *state = pg_state(result);
    memcpy(group->sqlstate, state, MIN(strlen(state), sizeof(group->sqlstate) - 1));
    bool is_expected = strcmp(state, "40001") == 0 || strcmp(state, "55P03") == 0;
    log_write(is_expected ? LOG_DEBUG : LOG_WARN, "store", "PostgreSQL: %s",
              PQresultErrorMessage(result));
}

enum { TAG_WRITE, TAG_COMMIT, TAG_HEAD }; /* TAG_HEAD + i: head number i */

static void send_commit(struct group *group);
static void keep_result(struct group *group, PGresult *result);
static void take_written(struct conn *conn, void *owner, size_t tag, PGresult *result);

static void end_writing(struct group *group)
{
    struct conn *conn = group->conn;
    if (group->is_lost) {
        group->phase = GROUP_DECIDING; /* group_decide() is called when it is open again */
        return;
    }
    if (group->has_failed) {
        group_roll_back(group);
        return;
    }
    if (!group->has_heads) {
        group->has_heads = true;
        group_send_appended(group, take_written);
        send_commit(group);
        return;
    }
    if (!group->is_committed) { /* COMMIT of a failed transaction rolls back */
        group_retry_jobs(group, false, STORE_FAILED);
        pg_group_ended(group);
        return;
    }
    if (conn->has_warned || pg_fault_is_due(group->pg, PG_FAULT_WARNING)) {
        group->is_committed = false;
        group_decide(group);
        return;
    }
    group_note_counters(group);
    group_finish_jobs(group, STORE_OK);
    pg_group_ended(group);
}

static void take_written(struct conn *conn, void *owner, size_t tag, PGresult *result)
{
    (void)conn;
    struct group *group = owner;
    if (result == NULL) {
        group->is_lost = true;
    } else if (PQresultStatus(result) != PGRES_COMMAND_OK &&
               PQresultStatus(result) != PGRES_TUPLES_OK) {
        note_failure(group, result);
    } else if (tag == TAG_COMMIT) {
        group->is_committed = strcmp(PQcmdStatus(result), "COMMIT") == 0;
    } else if (tag >= TAG_HEAD) {
        bool is_there = group_take_head(group, tag - TAG_HEAD, result);
        group->has_failed = group->has_failed || !is_there;
        keep_result(group, result); /* the head borrows from it */
        result = NULL;
    }
    PQclear(result);
    if (--group->outstanding == 0) {
        end_writing(group);
    }
}

static void send_writes(struct group *group)
{
    group->phase = GROUP_WRITING;
    group->conn->has_warned = false;
    if (!group_send_writes(group, take_written)) {
        group_roll_back(group);
        return;
    }
    group->has_heads =
        !group->pg->is_distributed || !group_send_heads(group, take_written, TAG_HEAD);
    if (group->has_heads) {
        send_commit(group);
    } else {
        conn_sync(group->conn);
    }
}

static void send_commit(struct group *group)
{
    if (pg_fault_is_due(group->pg, PG_FAULT_CUT)) {
        conn_lose(group->conn);
        return;
    }
    group->outstanding++;
    conn_send(group->conn, STATEMENT_COMMIT, NULL, 0, take_written, group, TAG_COMMIT);
    conn_sync(group->conn);
    if (pg_fault_is_due(group->pg, PG_FAULT_CUT_COMMIT)) {
        conn_flush(group->conn);
        conn_lose(group->conn);
    }
}

/* Evaluating ------------------------------------------------------------------------------- */

static void evaluated(struct task *task)
{
    struct group *group = CONTAINER_OF(task, struct group, task);
    if (group->is_lost) { /* meanwhile; COMMIT was not sent, so nothing was written */
        group_retry_jobs(group, false, STORE_FAILED);
        pg_group_ended(group);
        return;
    }
    send_writes(group);
}

static void evaluate_on_slow_thread(struct task *task)
{
    struct group *group = CONTAINER_OF(task, struct group, task);
    group_evaluate(group);
    group->task.run = evaluated;
    pg_post(group->pg, &group->task);
}

static bool is_expensive(const struct group *group, const struct update_job *job)
{
    const struct store_update *update = job->update;
    size_t bytes = 0;
    for (size_t i = 0; i < update->key_count; i++) {
        const struct group_row *row = map_get(&group->by_key, update->keys[i]);
        bytes += row->value.len;
    }
    return update->prepare != NULL && work_is_expensive(update, bytes);
}

/* Evaluates the group here, or on the slow thread if it is expensive: then it is a group of one
 * update. `prepare` shows that no other update shares its arena. */
static void evaluate(struct group *group)
{
    size_t kept = 0;
    group->phase = GROUP_EVALUATING;
    bool is_slow = group->job_count == 1 && is_expensive(group, group->jobs[0]);
    for (size_t i = 0; i < group->job_count; i++) {
        struct update_job *job = group->jobs[i];
        if (!is_slow && is_expensive(group, job)) {
            job->is_alone = true;
            pg_retry_job(group->pg, job);
        } else {
            group->jobs[kept++] = job;
        }
    }
    group->job_count = kept;
    if (is_slow) {
        group->task.run = evaluate_on_slow_thread;
        mailbox_post(waiting_mailbox_box(group->pg->slow_box), &group->task);
        if (pg_fault_is_due(group->pg, PG_FAULT_CUT_EVAL)) {
            conn_lose(group->conn);
        }
        return;
    }
    group_evaluate(group);
    send_writes(group);
}

/* Locking ---------------------------------------------------------------------------------- */

enum { TAG_TIME = -4, TAG_BEGIN = -3, TAG_MARK = -2, TAG_LOCK = -1 }; /* others: a row */

static void keep_result(struct group *group, PGresult *result)
{
    if (group->result_count == group->result_capacity) {
        group->result_capacity = MAX(group->result_capacity * 2, (size_t)16);
        group->results =
            mem_realloc(group->results, group->result_capacity * sizeof(*group->results));
    }
    group->results[group->result_count++] = result;
}

static void take_row(struct group *group, struct group_row *row, PGresult *result)
{
    if (PQntuples(result) != 1) { /* a foreign client has deleted the row */
        group->has_failed = true;
        return;
    }
    int64_t wid = (int64_t)get_u64_be(PQgetvalue(result, 0, 0));
    row->was_present = wid != PG_WID_ABSENT;
    row->value = row->was_present
                     ? str_make(PQgetvalue(result, 0, 1), (size_t)PQgetlength(result, 0, 1))
                     : STR_NULL;
    group->row_bytes += row->value.len;
}

static void end_locking(struct group *group)
{
    /* RECOVER warns of servers that it cannot reach. */
    group->has_failed = group->has_failed || (group->pg->is_distributed && group->conn->has_warned);
    if (group->is_lost) { /* COMMIT was not sent, so nothing was written */
        group_retry_jobs(group, false, STORE_FAILED);
        pg_group_ended(group);
    } else if (group->has_failed || group->is_fenced) {
        group_roll_back(group);
    } else {
        evaluate(group);
    }
}

static void take_locked(struct conn *conn, void *owner, size_t tag, PGresult *result)
{
    (void)conn;
    struct group *group = owner;
    if (result == NULL) {
        group->is_lost = true;
    } else if (PQresultStatus(result) != PGRES_COMMAND_OK &&
               PQresultStatus(result) != PGRES_TUPLES_OK) {
        note_failure(group, result);
        PQclear(result);
    } else if (tag == (size_t)TAG_MARK) {
        group->is_fenced = strcmp(PQcmdTuples(result), "1") != 0;
        PQclear(result);
    } else if (tag == (size_t)TAG_TIME) {
        group->time_ns = (int64_t)get_u64_be(PQgetvalue(result, 0, 0)) * 1000;
        PQclear(result);
    } else if (tag == (size_t)TAG_BEGIN || tag == (size_t)TAG_LOCK) {
        PQclear(result);
    } else {
        keep_result(group, result);
        take_row(group, group->rows[tag], result);
    }
    if (--group->outstanding == 0) {
        end_locking(group);
    }
}

static int row_cmp(const void *a, const void *b)
{
    return str_cmp((*(struct group_row *const *)a)->key, (*(struct group_row *const *)b)->key);
}

/* Locks what shows that the transaction of another writer has ended on all servers. */
static void lock_elsewhere(struct group *group, struct str key)
{
    struct param_int number;
    int64_t lock;
    if (pg_marker_lock(key, &lock)) {
        struct param params[] = {param_int64(&number, lock)};
        group->outstanding++;
        conn_send(group->conn, STATEMENT_WRITER, params, 1, take_locked, group, (size_t)TAG_LOCK);
    } else if (store_key_space(key) == 0 && pg_bucket(key) == OWN_RECOVERY) {
        group->outstanding++;
        conn_send(group->conn, STATEMENT_RECOVER, NULL, 0, take_locked, group, (size_t)TAG_LOCK);
    }
}

static void send_locks(struct group *group)
{
    struct conn *conn = group->conn;
    if (group->row_count > 1) {
        qsort(group->rows, group->row_count, sizeof(*group->rows), row_cmp);
    }
    for (size_t i = 0; i < group->row_count; i++) {
        struct str key = group->rows[i]->key;
        struct param_int bucket;
        struct param params[] = {param_int16(&bucket, pg_bucket(key)), param_bytes(key)};
        group->outstanding += 2;
        conn_send(conn, STATEMENT_LOCK, params, 2, take_locked, group, (size_t)TAG_LOCK);
        conn_send(conn, STATEMENT_READ, params, 2, take_locked, group, i);
        if (group->pg->is_distributed) {
            lock_elsewhere(group, key);
        }
    }
}

/* Starts a new counter slot if the process has joined again as another member. */
static void renew_member(struct conn *conn)
{
    uint64_t member = members_number(conn->pg);
    if (conn->member != member) {
        pg_clear_values(&conn->counters);
        conn->member = member;
    }
}

static bool wants_time(const struct group *group)
{
    for (size_t i = 0; i < group->job_count; i++) {
        if (group->jobs[i]->update->wants_time) {
            return true;
        }
    }
    return false;
}

static void begin_elsewhere(struct group *group)
{
    struct conn *conn = group->conn;
    struct param_int number;
    struct param params[] = {param_int64(&number, pg_writer_lock(conn->member, conn->number))};
    group->outstanding += 2;
    conn_send(conn, STATEMENT_LOCK_TIMEOUT, NULL, 0, take_locked, group, (size_t)TAG_LOCK);
    conn_send(conn, STATEMENT_WRITER, params, 1, take_locked, group, (size_t)TAG_LOCK);
}

/* The transaction fails with this SQLSTATE, if a test wants that now. */
static void fail_for_test(struct group *group, enum pg_fault fault, const char *state)
{
    if (!group->has_failed && pg_fault_is_due(group->pg, fault)) {
        memcpy(group->sqlstate, state, sizeof(group->sqlstate));
        group->has_failed = true;
    }
}

void group_begin(struct group *group)
{
    struct conn *conn = group->conn;
    renew_member(conn);
    conn->has_warned = false;
    group->phase = GROUP_LOCKING;
    group->wid = (int64_t)(random_next(&group->pg->random) >> 2);
    uint8_t key[OWN_KEY_MAX];
    size_t len = group_marker_key(key, conn);
    struct param_int bucket;
    struct param_int wid;
    struct param params[] = {
        param_int16(&bucket, OWN_MARKER), {key, len}, param_int64(&wid, group->wid)};
    group->outstanding = 2;
    conn_send(conn, STATEMENT_BEGIN, NULL, 0, take_locked, group, (size_t)TAG_BEGIN);
    if (group->pg->is_distributed) {
        begin_elsewhere(group);
    }
    conn_send(conn, STATEMENT_MARK, params, 3, take_locked, group, (size_t)TAG_MARK);
    send_locks(group);
    if (wants_time(group)) {
        struct param_int moved_us;
        struct param time_params[] = {param_int64(&moved_us, clock_wall_moved_ms() * 1000)};
        group->outstanding++;
        conn_send(conn, STATEMENT_TIME, time_params, 1, take_locked, group, (size_t)TAG_TIME);
    }
    conn_sync(conn);
    fail_for_test(group, PG_FAULT_SERIALIZE, "40001");
    fail_for_test(group, PG_FAULT_LOCKED, "55P03");
    fail_for_test(group, PG_FAULT_IDLE, "25P03");
    if (pg_fault_is_due(group->pg, PG_FAULT_CUT)) {
        conn_lose(conn);
    }
}
