/* How the transaction of a group ends: answers its updates or queues them again, rolls back, and
 * decides about a COMMIT without an answer by the marker row. group.c has the way to COMMIT. I/O
 * thread only. */
#include "base/bytes.h"
#include "base/clock.h"
#include "base/mem.h"
#include "store/pg/distributed.h"

enum { ATTEMPTS_MAX = 50 };

void group_finish_jobs(struct group *group, enum store_status written)
{
    assert(written != STORE_OK || group->is_committed);
    pg_release_keys(group);
    for (size_t i = 0; i < group->job_count; i++) {
        enum store_status outcome = group->outcomes[i];
        bool depends =
            outcome == STORE_OK || (outcome == STORE_NO_WRITE && written == STORE_UNKNOWN);
        pg_finish_job(group->jobs[i], depends ? written : outcome);
    }
    group->job_count = 0;
}

void group_retry_jobs(struct group *group, bool alone, enum store_status status)
{
    assert(!group->is_committed); /* else an update would be carried out twice */
    int64_t now_ns = clock_monotonic_ns();
    pg_release_keys(group);
    for (size_t i = 0; i < group->job_count; i++) {
        struct update_job *job = group->jobs[i];
        job->is_alone = job->is_alone || alone;
        if (now_ns >= job->deadline_ns || job->attempts >= ATTEMPTS_MAX) {
            pg_finish_job(job, status);
        } else {
            pg_retry_job(group->pg, job);
        }
    }
    group->job_count = 0;
}

static void fail_jobs(struct group *group, enum store_status status)
{
    pg_release_keys(group);
    for (size_t i = 0; i < group->job_count; i++) {
        pg_finish_job(group->jobs[i], status);
    }
    group->job_count = 0;
}

static bool is_one_of(const char *state, const char *const *states)
{
    for (; *states != NULL; states++) {
        if (strncmp(state, *states, strlen(*states)) == 0) {
            return true;
        }
    }
    return false;
}

/* The transaction failed and is rolled back. */
static void judge_failure(struct group *group)
{
    static const char *const again[] = {"40001", "40P01", NULL};
    /* The server stops, is no longer the primary, or has ended the session: a new connection may
     * reach another server. */
    static const char *const elsewhere[] = {"57P", "25006", "25P03", "08", "26000", NULL};
    const char *state = group->sqlstate;
    bool shared = group->job_count > 1;
    if (is_one_of(state, again)) {
        group_retry_jobs(group, false, STORE_BUSY);
    } else if (is_one_of(state, elsewhere)) {
        group_retry_jobs(group, false, STORE_FAILED);
        conn_lose(group->conn);
    } else if (shared) { /* another update of the group may have caused it */
        group_retry_jobs(group, true, STORE_FAILED);
    } else {
        fail_jobs(group, strcmp(state, "55P03") == 0 ? STORE_BUSY : STORE_FAILED);
    }
}

static void take_decision(struct conn *conn, void *owner, size_t tag, PGresult *result)
{
    struct group *group = owner;
    bool ok = result != NULL && (PQresultStatus(result) == PGRES_TUPLES_OK ||
                                 PQresultStatus(result) == PGRES_COMMAND_OK);
    if (ok && tag == 1) {
        group->is_fenced = PQntuples(result) == 0;
        group->decided_wid = group->is_fenced ? 0 : (int64_t)get_u64_be(PQgetvalue(result, 0, 0));
    }
    bool is_lost = result == NULL;
    PQclear(result);
    group->has_failed = group->has_failed || !ok;
    group->is_lost = group->is_lost || is_lost;
    if (--group->outstanding > 0) {
        return;
    }
    if (group->is_lost) {
        return; /* decided when the connection is open again */
    }
    if (group->has_failed || conn->has_warned ||
        pg_fault_is_due(group->pg, PG_FAULT_WARN_DECISION)) {
        conn_lose(conn); /* tries again on a new connection */
        return;
    }
    if (group->is_fenced) {
        group_finish_jobs(group, STORE_UNKNOWN);
        members_note_fence(group->pg, conn->member);
    } else if (group->decided_wid == group->wid) {
        group->is_committed = true;
        group_note_counters(group);
        group_finish_jobs(group, STORE_OK);
    } else {
        group_retry_jobs(group, false, STORE_FAILED);
    }
    pg_group_ended(group);
}

/* The server could not be reached in time. */
void group_give_up(struct group *group)
{
    struct conn *conn = group->conn;
    pg_clear_values(&conn->counters); /* the values of the counter rows are not known either */
    conn->counter_slot++;
    group_finish_jobs(group, STORE_UNKNOWN);
    pg_group_ended(group);
}

/* Waits until the transaction has ended at the coordinator, and ends it on the other servers. */
static void end_elsewhere(struct group *group)
{
    struct conn *conn = group->conn;
    struct param_int writer;
    struct param params[] = {param_int64(&writer, pg_writer_lock(conn->member, conn->number))};
    group->outstanding += 4;
    conn_send(conn, STATEMENT_BEGIN, NULL, 0, take_decision, group, 0);
    conn_send(conn, STATEMENT_WRITER, params, 1, take_decision, group, 0);
    conn_send(conn, STATEMENT_COMMIT, NULL, 0, take_decision, group, 0);
    conn_sync(conn);
    conn_send(conn, STATEMENT_RECOVER, NULL, 0, take_decision, group, 0);
    conn_sync(conn);
}

/* Reads the marker row and writes it again. When that is committed without a warning, every earlier
 * commit is durable, too. Its wid stays as it is: this transaction may be lost or warned about as
 * well, and then the next one must find the same. */
void group_decide(struct group *group)
{
    struct conn *conn = group->conn;
    uint8_t key[OWN_KEY_MAX];
    size_t len = group_marker_key(key, conn);
    struct param_int bucket;
    struct param params[] = {param_int16(&bucket, OWN_MARKER), {key, len}};
    group->phase = GROUP_DECIDING;
    group->has_failed = false;
    group->is_lost = false;
    group->outstanding = 4;
    conn->has_warned = false;
    conn_sync(conn);
    if (group->pg->is_distributed) {
        end_elsewhere(group);
    }
    conn_send(conn, STATEMENT_BEGIN, NULL, 0, take_decision, group, 0);
    conn_send(conn, STATEMENT_READ_MARK, params, 2, take_decision, group, 1);
    conn_send(conn, STATEMENT_MARK_AGAIN, params, 2, take_decision, group, 2);
    conn_send(conn, STATEMENT_COMMIT, NULL, 0, take_decision, group, 3);
    conn_sync(conn);
    if (pg_fault_is_due(group->pg, PG_FAULT_CUT_DECISION)) {
        if (pg_fault_count(&group->pg->store, PG_FAULT_CUT_DECISION) % 2 == 0) {
            conn_flush(conn); /* carried out, but not answered */
        }
        conn_lose(conn);
    }
}

static void take_rolled_back(struct conn *conn, void *owner, size_t tag, PGresult *result)
{
    (void)tag;
    struct group *group = owner;
    bool ok = result != NULL && PQresultStatus(result) == PGRES_COMMAND_OK;
    bool is_lost = result == NULL;
    PQclear(result);
    if (group->is_fenced) {
        members_note_fence(group->pg, conn->member);
        group_retry_jobs(group, false, STORE_FAILED);
    } else if (group->has_failed) {
        judge_failure(group);
    } else {
        group_finish_jobs(group, STORE_NO_WRITE); /* no update wanted to write */
    }
    pg_group_ended(group);
    if (!ok && !is_lost) {
        conn_lose(conn);
    }
}

void group_roll_back(struct group *group)
{
    group->phase = GROUP_UNDOING;
    conn_send(group->conn, STATEMENT_ROLLBACK, NULL, 0, take_rolled_back, group, 0);
    conn_sync(group->conn);
}
