/* The rows of this member: joins under a new number, sends heartbeats, announces versions, leaves.
 * members.h has the protocol. On the members thread, which waits for each answer. */
#include "base/bytes.h"
#include "base/clock.h"
#include "store/pg/members_internal.h"
#include "store/pg/pg_internal.h"

struct param member_key(struct own_key *key, enum own_kind kind, uint64_t number)
{
    uint8_t name[8];
    put_u64_be(name, number);
    key->len = pg_own_key(key->bytes, kind, str_make(name, sizeof(name)));
    return (struct param){key->bytes, key->len};
}

static struct param plain_key(struct own_key *key, enum own_kind kind)
{
    key->len = pg_own_key(key->bytes, kind, STR(""));
    return (struct param){key->bytes, key->len};
}

static void encode_progress(uint8_t out[PROGRESS_LEN], struct store_progress progress)
{
    put_u64_be(out, progress.seen);
    put_u64_be(out + 8, progress.settled);
}

static bool take_number(struct members *members, uint64_t *out)
{
    struct own_key key;
    struct param params[] = {plain_key(&key, OWN_JOINS)};
    PGresult *result = pg_query(members->pq,
                                "INSERT INTO gramme.kv AS t VALUES (74, $1::bytea, 1, '') "
                                "ON CONFLICT (b, k) DO UPDATE SET wid = t.wid + 1 RETURNING wid",
                                params, 1);
    bool ok = PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) == 1;
    *out = ok ? get_u64_be(PQgetvalue(result, 0, 0)) : 0;
    PQclear(result);
    return ok;
}

static bool write_rows(struct members *members, uint64_t number)
{
    uint8_t progress[PROGRESS_LEN];
    pthread_mutex_lock(&members->mutex);
    bool has_watcher = members->changed != NULL; /* it must announce again as the new member */
    encode_progress(progress, has_watcher ? (struct store_progress){0} : members->announced);
    pthread_mutex_unlock(&members->mutex);
    struct own_key key;
    struct param_int wid;
    struct param params[] = {
        member_key(&key, OWN_MEMBER, number),
        param_int64(&wid, members->pg->does_transfers ? 1 : FIRST_BEAT_WITHOUT_TRANSFERS),
        {progress, sizeof(progress)}};
    if (pg_run(members->pq, "INSERT INTO gramme.kv VALUES (77, $1::bytea, $2::int8, $3::bytea)",
               params, 3) != 1) {
        return false;
    }
    bool ok = true;
    for (int i = 0; ok && i < members->pg->conn_count; i++) {
        struct own_key marker;
        (void)member_key(&marker, OWN_MARKER, number);
        put_u16_be(marker.bytes + marker.len, (uint16_t)i);
        struct param mark = {marker.bytes, marker.len + 2};
        ok = pg_run(members->pq, "INSERT INTO gramme.kv VALUES (87, $1::bytea, 0, '')", &mark, 1) ==
             1;
    }
    return ok;
}

bool members_read_newest(struct members *members, uint64_t *out)
{
    struct own_key key;
    struct param params[] = {plain_key(&key, OWN_NEWEST)};
    PGresult *result = pg_query(
        members->pq, "SELECT wid FROM gramme.kv WHERE b = 78 AND k = $1::bytea", params, 1);
    bool ok = PQresultStatus(result) == PGRES_TUPLES_OK;
    *out = ok && PQntuples(result) > 0 ? get_u64_be(PQgetvalue(result, 0, 0)) : 0;
    PQclear(result);
    return ok;
}

bool members_hold_session(struct members *members, uint64_t number)
{
    struct param_int memory;
    struct param params[] = {param_int32(&memory, (int32_t)number)};
    return pg_run(members->pq, "SELECT pg_advisory_lock(7166, $1::int4)", params, 1) == 1;
}

bool members_join(struct members *members)
{
    uint64_t number;
    uint64_t newest;
    atomic_store(&members->lease_until_ns, 0);
    if (!take_number(members, &number) || pg_run(members->pq, "BEGIN", NULL, 0) < 0) {
        return false;
    }
    bool ok = write_rows(members, number);
    if (pg_run_strictly(members->pq, ok ? "COMMIT" : "ROLLBACK", NULL, 0) < 0 || !ok ||
        !members_read_newest(members, &newest)) {
        return false;
    }
    pthread_mutex_lock(&members->mutex);
    members->has_announced = false;
    bool has_watcher = members->changed != NULL;
    pthread_mutex_unlock(&members->mutex);
    if (!members_hold_session(members, number)) {
        return false;
    }
    atomic_store(&members->newest_at_join, newest);
    atomic_store(&members->is_leader, false); /* until members_compare() finds that it is */
    atomic_store(&members->leads_transfers, false);
    atomic_store(&members->number, number);
    if (!has_watcher) {
        atomic_store(&members->writer_number, number);
    }
    members->joined_ns = clock_monotonic_ns();
    atomic_store(&members->is_fenced, false);
    members->has_joined = true;
    members->other_count = 0;
    members->must_confirm = true;
    return true;
}

bool members_write_newest(struct members *members, uint64_t seen)
{
    if (seen == members->newest_written) {
        return true;
    }
    struct own_key key;
    struct param_int wid;
    struct param params[] = {plain_key(&key, OWN_NEWEST), param_int64(&wid, (int64_t)seen)};
    bool ok =
        pg_run_strictly(members->pq,
                        "INSERT INTO gramme.kv AS t VALUES (78, $1::bytea, $2::int8, '') "
                        "ON CONFLICT (b, k) DO UPDATE SET wid = greatest(t.wid, excluded.wid)",
                        params, 2) == 1;
    members->newest_written = ok ? seen : 0;
    return ok;
}

int members_beat(struct members *members, struct store_progress progress)
{
    uint8_t row[PROGRESS_LEN];
    encode_progress(row, progress);
    struct own_key key;
    struct param params[] = {member_key(&key, OWN_MEMBER, atomic_load(&members->number)),
                             {row, sizeof(row)}};
    int renewed = pg_run_strictly(
        members->pq,
        "UPDATE gramme.kv SET wid = wid + 1, v = $2::bytea WHERE b = 77 AND k = $1::bytea", params,
        2);
    return pg_fault_is_due(members->pg, PG_FAULT_WARN_BEAT) ? -1 : renewed;
}

void members_leave(struct members *members)
{
    uint64_t number = atomic_load(&members->number);
    struct own_key key;
    struct own_key end;
    struct param params[] = {member_key(&key, OWN_MEMBER, number)};
    struct param markers[] = {member_key(&key, OWN_MARKER, number),
                              member_key(&end, OWN_MARKER, number + 1)};
    if (pg_run(members->pq,
               "DELETE FROM gramme.kv WHERE b = 87 AND k >= $1::bytea AND k < $2::bytea", markers,
               2) < 0) {
        return;
    }
    params[0] = member_key(&key, OWN_MEMBER, number);
    (void)pg_run(members->pq, "DELETE FROM gramme.kv WHERE b = 77 AND k = $1::bytea", params, 1);
    (void)pg_run(members->pq, "NOTIFY gramme", NULL, 0);
}
