/* The other members, as this process sees them: lists them, excludes those that are dead, and finds
 * out whether this member is the leader. members.h has the protocol. On the members thread, which
 * waits for each answer. */
#include "base/bytes.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "store/pg/distributed.h"
#include "store/pg/members_internal.h"

static struct other *find_other(struct members *members, uint64_t number)
{
    for (size_t i = 0; i < members->other_count; i++) {
        if (members->others[i].number == number) {
            return &members->others[i];
        }
    }
    if (members->other_count == members->other_capacity) {
        members->other_capacity = MAX(2 * members->other_capacity, (size_t)16);
        members->others =
            mem_realloc(members->others, members->other_capacity * sizeof(*members->others));
    }
    struct other *other = &members->others[members->other_count++];
    *other = (struct other){.number = number};
    return other;
}

static void note_member(struct members *members, const PGresult *result, int row, int64_t now_ns)
{
    const char *key = PQgetvalue(result, row, 0);
    struct other *other = find_other(members, get_u64_be(key + STORE_SPACE_LEN + 1));
    if (PQgetlength(result, row, 2) != PROGRESS_LEN) {
        return;
    }
    int64_t beats = (int64_t)get_u64_be(PQgetvalue(result, row, 1));
    if (beats != other->beat) {
        other->held_ns = other->beat == 0 ? now_ns : other->held_ns;
        other->beat = beats;
        other->changed_ns = now_ns;
    }
    other->progress.seen = get_u64_be(PQgetvalue(result, row, 2));
    other->progress.settled = get_u64_be(PQgetvalue(result, row, 2) + 8);
    other->is_listed = true;
}

static void forget_unlisted(struct members *members)
{
    size_t kept = 0;
    for (size_t i = 0; i < members->other_count; i++) {
        if (members->others[i].is_listed) {
            members->others[kept] = members->others[i];
            members->others[kept++].is_listed = false;
        }
    }
    if (kept < members->other_count) {
        chores_note_death(members->chores);
        members->must_confirm = true;
    }
    members->other_count = kept;
}

bool members_list(struct members *members)
{
    PGresult *result = pg_query(members->pq,
                                "SELECT k, wid, v FROM gramme.kv WHERE b = 77 "
                                "AND k >= '\\x000000004d' AND k < '\\x000000004e' ORDER BY k",
                                NULL, 0);
    bool ok = PQresultStatus(result) == PGRES_TUPLES_OK;
    int64_t now_ns = clock_monotonic_ns();
    for (int i = 0; ok && i < PQntuples(result); i++) {
        note_member(members, result, i, now_ns);
    }
    PQclear(result);
    if (ok) {
        forget_unlisted(members);
    }
    return ok;
}

bool members_list_sessions(struct members *members)
{
    PGresult *result = pg_query(members->pq,
                                "SELECT objid::int8 FROM pg_locks WHERE locktype = 'advisory' "
                                "AND classid = 7166 AND granted AND database = "
                                "(SELECT oid FROM pg_database WHERE datname = current_database())",
                                NULL, 0);
    bool ok = PQresultStatus(result) == PGRES_TUPLES_OK;
    int64_t now_ns = clock_monotonic_ns();
    for (int i = 0; ok && i < PQntuples(result); i++) {
        uint64_t number = get_u64_be(PQgetvalue(result, i, 0));
        for (size_t k = 0; k < members->other_count; k++) {
            if (members->others[k].number == number) {
                members->others[k].held_ns = now_ns;
            }
        }
    }
    PQclear(result);
    return ok;
}

/* Waits until the transactions of a member have ended on all servers of a distributed table, after
 * its marker rows were deleted and before its row is. */
static bool end_elsewhere(struct members *members, uint64_t number)
{
    bool ok = pg_run(members->pq, "BEGIN", NULL, 0) >= 0 &&
              pg_run(members->pq, "SET LOCAL lock_timeout = '200ms'", NULL, 0) >= 0;
    for (int i = 0; ok && i < PG_CONNS_MAX; i++) {
        struct param_int lock;
        struct param params[] = {param_int64(&lock, pg_writer_lock(number, i))};
        ok = pg_run(members->pq, "SELECT pg_advisory_xact_lock($1::int8)", params, 1) == 1;
    }
    ok = pg_run_strictly(members->pq, ok ? "COMMIT" : "ROLLBACK", NULL, 0) >= 0 && ok;
    return ok &&
           pg_run_strictly(members->pq, "SELECT recover_prepared_transactions()", NULL, 0) == 1;
}

/* Excludes a member that has not sent heartbeats: see members.h. If one of its transactions still
 * locks a marker row, the next round tries again. */
static void exclude(struct members *members, const struct other *other)
{
    struct own_key key;
    struct param_int wid;
    struct param params[] = {member_key(&key, OWN_MEMBER, other->number),
                             param_int64(&wid, other->beat)};
    struct own_key first;
    struct own_key end;
    struct param markers[] = {member_key(&first, OWN_MARKER, other->number),
                              member_key(&end, OWN_MARKER, other->number + 1)};
    static const char delete_member[] =
        "DELETE FROM gramme.kv WHERE b = 77 AND k = $1::bytea AND wid = $2::int8";
    static const char lock_member[] =
        "SELECT 1 FROM gramme.kv WHERE b = 77 AND k = $1::bytea AND wid = $2::int8 FOR UPDATE";
    bool is_distributed = members->pg->is_distributed;
    if (pg_run(members->pq, "BEGIN", NULL, 0) < 0) {
        return;
    }
    bool ok = pg_run(members->pq, "SET LOCAL lock_timeout = '200ms'", NULL, 0) >= 0 &&
              pg_run(members->pq, is_distributed ? lock_member : delete_member, params, 2) == 1 &&
              pg_run(members->pq,
                     "DELETE FROM gramme.kv WHERE b = 87 AND k >= $1::bytea AND k < $2::bytea",
                     markers, 2) >= 0;
    ok = pg_run_strictly(members->pq, ok ? "COMMIT" : "ROLLBACK", NULL, 0) >= 0 && ok;
    if (ok && is_distributed) {
        ok = end_elsewhere(members, other->number) &&
             pg_run_strictly(members->pq, delete_member, params, 2) == 1;
    }
    if (ok) {
        log_write(LOG_WARN, "store", "server %llu sent no heartbeat and was excluded",
                  (unsigned long long)other->number);
        (void)pg_run(members->pq, "NOTIFY gramme", NULL, 0);
    }
}

void members_exclude_dead(struct members *members)
{
    int64_t now_ns = clock_monotonic_ns();
    for (size_t i = 0; i < members->other_count; i++) {
        const struct other *other = &members->others[i];
        if (other->number != atomic_load(&members->number) &&
            (now_ns - other->changed_ns > MEMBERS_DEAD_NS ||
             now_ns - other->held_ns > MEMBERS_GONE_NS)) {
            exclude(members, other);
        }
    }
}

void members_compare(struct members *members)
{
    struct store_progress slowest = {.seen = UINT64_MAX, .settled = UINT64_MAX};
    uint64_t first = UINT64_MAX;
    uint64_t first_for_transfers = UINT64_MAX;
    for (size_t i = 0; i < members->other_count; i++) {
        const struct other *other = &members->others[i];
        slowest.seen = MIN(slowest.seen, other->progress.seen);
        slowest.settled = MIN(slowest.settled, other->progress.settled);
        first = MIN(first, other->number);
        if (other->beat < FIRST_BEAT_WITHOUT_TRANSFERS) {
            first_for_transfers = MIN(first_for_transfers, other->number);
        }
    }
    bool is_leader = first == atomic_load(&members->number);
    if (is_leader && !atomic_load(&members->is_leader)) {
        chores_begin(members->chores);
    }
    atomic_store(&members->is_leader, is_leader);
    atomic_store(&members->leads_transfers, first_for_transfers == atomic_load(&members->number));
    pthread_mutex_lock(&members->mutex);
    members->slowest = slowest;
    pthread_mutex_unlock(&members->mutex);
}

void members_expect_others(struct members *members)
{
    int64_t now_ns = clock_monotonic_ns();
    for (size_t i = 0; i < members->other_count; i++) {
        members->others[i].changed_ns = now_ns;
        members->others[i].held_ns = now_ns;
    }
}
