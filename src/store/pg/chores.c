/* Work of the leader for all members: see chores.h. Runs on the thread of members.c, on its
 * connection. */
#include "store/pg/chores.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "base/mem.h"

struct chores {
    struct pg *pg;
    atomic_bool has_drops;
    atomic_bool has_deaths;
    bool has_emptied;     /* spaces may be left whose rows must be deleted a second time */
    int64_t next_look_ns; /* for these */
    uint32_t space;       /* is being emptied, and has no rows in buckets before the next */
    int bucket;
    struct buf fold_from; /* the key at which folding continues; empty: at the first counter */
};

struct chores *chores_create(struct pg *pg)
{
    struct chores *chores = mem_zalloc(sizeof(*chores));
    chores->pg = pg;
    chores_begin(chores);
    return chores;
}

void chores_begin(struct chores *chores)
{
    atomic_store(&chores->has_drops, true);
    atomic_store(&chores->has_deaths, true);
    chores->has_emptied = true;
    chores->space = 0; /* another server may have worked on what this one had begun */
    chores->fold_from.len = 0;
}

void chores_destroy(struct chores *chores)
{
    buf_finish(&chores->fold_from);
    mem_free(chores);
}

void chores_note_drop(struct chores *chores)
{
    atomic_store(&chores->has_drops, true);
}

bool chores_take_drop(struct chores *chores)
{
    return atomic_exchange(&chores->has_drops, false);
}

void chores_note_death(struct chores *chores)
{
    atomic_store(&chores->has_deaths, true);
}

/* Dropped spaces --------------------------------------------------------------------------- */

/* The wid of the row D of a space is 1 before its rows are deleted. Another member may still write
 * to the space then, in a call that began before it knew of the drop. So wid becomes the time at
 * which they were deleted (milliseconds since 1970, PostgreSQL's clock), and when no such call can
 * be under way they are deleted again, and wid becomes 2. */

#define DROP_ROWS "b = 68 AND k >= '\\x0000000044' AND k < '\\x0000000045'"
enum { DROP_DONE = 2, ROWS_AT_ONCE = 1000, BUCKETS = 256 };
/* A statement deletes rows until they have so many bytes, because a value of 400 KB consists of 200
 * rows of PostgreSQL's. */
enum { BYTES_AT_ONCE = 4 << 20 };
/* How long the chores may delay a heartbeat, besides one statement. */
static const int64_t piece_ns = (int64_t)100 * 1000 * 1000;

/* Returns the time of PostgreSQL in milliseconds; negative: it failed. */
static int64_t read_time_ms(PGconn *pq)
{
    PGresult *result =
        pg_query(pq, "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::int8", NULL, 0);
    bool ok = PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) == 1;
    int64_t time_ms = ok ? (int64_t)get_u64_be(PQgetvalue(result, 0, 0)) : -1;
    PQclear(result);
    return time_ms;
}

/* Deletes some rows between two keys, in buckets from chores->bucket on; returns how many,
 * negative: it failed. */
static int delete_rows(struct chores *chores, PGconn *pq, struct param lo, struct param hi)
{
    struct param_int numbers[3];
    struct param params[] = {lo, hi, param_int64(&numbers[0], ROWS_AT_ONCE),
                             param_int32(&numbers[1], chores->bucket),
                             param_int64(&numbers[2], BYTES_AT_ONCE)};
    PGresult *result = pg_query(
        pq,
        "WITH gone AS (DELETE FROM gramme.kv AS d USING (SELECT r.b, r.k FROM (SELECT s.b, s.k, "
        "sum(s.len) OVER (ROWS UNBOUNDED PRECEDING) - s.len AS bytes_before "
        "FROM generate_series($4::int4, 255) AS g(n), "
        "LATERAL (SELECT b, k, octet_length(v) AS len FROM gramme.kv "
        "WHERE b = g.n::int2 AND k >= $1::bytea AND k < $2::bytea ORDER BY k LIMIT $3::int8) AS s "
        "LIMIT $3::int8) AS r WHERE r.bytes_before < $5::int8) AS r "
        "WHERE d.b = r.b AND d.k = r.k RETURNING d.b) SELECT count(*), max(b)::int8 FROM gone",
        params, 5);
    bool ok = PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) == 1;
    int count = ok ? (int)get_u64_be(PQgetvalue(result, 0, 0)) : -1;
    if (count > 0) {
        chores->bucket = (int)get_u64_be(PQgetvalue(result, 0, 1));
    }
    PQclear(result);
    return count;
}

/* Returns the index of the last row to delete by one statement: the result has keys and lengths. */
static int last_row_to_delete(const PGresult *result)
{
    uint64_t bytes = 0;
    int i = 0;
    while (i + 1 < PQntuples(result) &&
           (bytes += get_u64_be(PQgetvalue(result, i, 1))) < BYTES_AT_ONCE) {
        i++;
    }
    return i;
}

/* The same of one bucket, by statements that Citus accepts: finds the key of the last row to
 * delete, then deletes up to it. */
static int delete_rows_of_bucket(PGconn *pq, int bucket, struct param lo, struct param hi)
{
    struct param_int numbers[2];
    struct param params[] = {param_int16(&numbers[0], bucket), lo, hi,
                             param_int64(&numbers[1], ROWS_AT_ONCE)};
    PGresult *result = pg_query(
        pq,
        "SELECT k, octet_length(v)::int8 FROM gramme.kv WHERE b = $1::int2 AND k >= $2::bytea "
        "AND k < $3::bytea ORDER BY k LIMIT $4::int8",
        params, 4);
    int count = PQresultStatus(result) == PGRES_TUPLES_OK ? PQntuples(result) : -1;
    if (count > 0) {
        int last = last_row_to_delete(result);
        params[2] =
            (struct param){PQgetvalue(result, last, 0), (size_t)PQgetlength(result, last, 0)};
        count = pg_run(pq,
                       "DELETE FROM gramme.kv WHERE b = $1::int2 AND k >= $2::bytea "
                       "AND k <= $3::bytea",
                       params, 3);
    }
    PQclear(result);
    return count;
}

static int delete_distributed_rows(struct chores *chores, PGconn *pq, struct param lo,
                                   struct param hi)
{
    for (; chores->bucket < BUCKETS; chores->bucket++) {
        int deleted = delete_rows_of_bucket(pq, chores->bucket, lo, hi);
        if (deleted != 0) {
            return deleted;
        }
    }
    return 0;
}

/* Deletes rows of a dropped space until `until_ns`. If none are left, sets the wid of its row D. */
static bool empty_space(struct chores *chores, PGconn *pq, struct param key, int64_t wid,
                        int64_t until_ns)
{
    uint8_t lo[STORE_SPACE_LEN];
    uint8_t hi[STORE_SPACE_LEN];
    uint32_t space = get_u32_be((const uint8_t *)key.data + STORE_SPACE_LEN + 1);
    put_u32_be(lo, space);
    put_u32_be(hi, space + 1);
    struct param from = {lo, sizeof(lo)};
    struct param to = {hi, sizeof(hi)};
    if (chores->space != space) {
        chores->space = space;
        chores->bucket = 0;
    }
    int count;
    do {
        count = chores->pg->is_distributed ? delete_distributed_rows(chores, pq, from, to)
                                           : delete_rows(chores, pq, from, to);
    } while (count > 0 && clock_monotonic_ns() < until_ns);
    if (count != 0) {
        return count > 0;
    }
    chores->space = 0;
    struct param_int number;
    struct param params[] = {key, param_int64(&number, wid)};
    return pg_run(pq, "UPDATE gramme.kv SET wid = $2::int8 WHERE b = 68 AND k = $1::bytea", params,
                  2) >= 0;
}

/* Empties the first `count` spaces of the result for about piece_ns, so that heartbeats are not
 * delayed. */
static bool empty_spaces(struct chores *chores, PGconn *pq, const PGresult *result, int count,
                         int64_t wid)
{
    int64_t until_ns = clock_monotonic_ns() + piece_ns;
    bool ok = true;
    for (int i = 0;
         ok && i < count && clock_monotonic_ns() < until_ns && !atomic_load(&chores->pg->closing);
         i++) {
        struct param key = {PQgetvalue(result, i, 0), (size_t)PQgetlength(result, i, 0)};
        ok = empty_space(chores, pq, key, wid, until_ns);
    }
    return ok;
}

enum { SPACES_AT_ONCE = 64 };

/* Deletes rows of spaces that were dropped. False: nothing is left. */
static bool empty_some_spaces(struct chores *chores, PGconn *pq)
{
    struct param_int limit;
    struct param params[] = {param_int64(&limit, SPACES_AT_ONCE)};
    PGresult *result = pg_query(
        pq, "SELECT k FROM gramme.kv WHERE " DROP_ROWS " AND wid = 1 LIMIT $1::int8", params, 1);
    int64_t now_ms = read_time_ms(pq); /* after these drops */
    bool ok = PQresultStatus(result) == PGRES_TUPLES_OK && now_ms > 0 &&
              empty_spaces(chores, pq, result, PQntuples(result), now_ms);
    bool more = ok && PQntuples(result) > 0;
    PQclear(result);
    if (!ok) { /* tried again after the next heartbeat */
        atomic_store(&chores->has_drops, true);
    }
    chores->has_emptied = chores->has_emptied || more;
    return more;
}

/* Whether no call under way in any member uses a version that is older than the newest one which
 * any member has announced. */
static bool is_settled(struct chores *chores, PGconn *pq)
{
    PGresult *result = pg_query(
        pq, "SELECT wid FROM gramme.kv WHERE b = 78 AND k = '\\x000000004e'::bytea", NULL, 0);
    bool ok = PQresultStatus(result) == PGRES_TUPLES_OK;
    uint64_t newest = ok && PQntuples(result) > 0 ? get_u64_be(PQgetvalue(result, 0, 0)) : 0;
    PQclear(result);
    return ok && members_slowest(&chores->pg->store).settled >= newest;
}

/* After so long, a member that has dropped a space has announced the version without it, or is
 * excluded and others have read and announced that version. When it is settled, no call under way
 * knows the space. */
static const int64_t again_after_ms = MEMBERS_DEAD_NS / 1000000 + (int64_t)4 * MEMBERS_BEAT_MS;

/* Deletes rows again that were written after the first time. False: nothing is left for now. */
static bool empty_some_again(struct chores *chores, PGconn *pq)
{
    struct param_int limit;
    struct param params[] = {param_int64(&limit, SPACES_AT_ONCE)};
    int64_t now_ms = read_time_ms(pq);
    PGresult *result = pg_query(pq,
                                "SELECT k, wid FROM gramme.kv WHERE " DROP_ROWS
                                " AND wid > 2 ORDER BY wid LIMIT $1::int8",
                                params, 1);
    bool ok = PQresultStatus(result) == PGRES_TUPLES_OK && now_ms > 0;
    int count = ok ? PQntuples(result) : 0;
    chores->has_emptied = !ok || count > 0;
    int due = 0;
    while (due < count &&
           now_ms - (int64_t)get_u64_be(PQgetvalue(result, due, 1)) >= again_after_ms) {
        due++;
    }
    bool more =
        due > 0 && is_settled(chores, pq) && empty_spaces(chores, pq, result, due, DROP_DONE);
    PQclear(result);
    return more;
}

/* Counters --------------------------------------------------------------------------------- */

/* A counter is the sum of its rows, one for each writer that has added to it (counter_key() in
 * pg_write.c). The rows of members that have left are folded into one row, that of member 0.
 *
 * A member has its row M before it adds to counters, and cannot write after that row is deleted. So
 * the rows of counters are read first and those of members afterwards: a member that is missing
 * then has left for good. */

enum { FOLD_ROWS = 512, MEMBER_LEN = 8 };

static struct str cell(const PGresult *result, int row, int column)
{
    return str_make(PQgetvalue(result, row, column), (size_t)PQgetlength(result, row, column));
}

/* Returns the key of a counter row without its slot. */
static struct str counter_of(struct str part_key)
{
    return str_make(part_key.data, part_key.len - PG_COUNTER_SLOT_LEN);
}

static struct str member_of(struct str part_key)
{
    return str_make(part_key.data + part_key.len - PG_COUNTER_SLOT_LEN, MEMBER_LEN);
}

static PGresult *read_parts(struct chores *chores, PGconn *pq)
{
    static const uint8_t first[] = {0, 0, 0, 0, OWN_COUNTER};
    struct str from = buf_str(&chores->fold_from);
    struct param_int limit;
    struct param params[] = {from.len > 0 ? param_bytes(from)
                                          : (struct param){first, sizeof(first)},
                             param_int64(&limit, FOLD_ROWS)};
    return pg_query(pq,
                    "SELECT k FROM gramme.kv WHERE b = 67 AND k > $1::bytea "
                    "AND k < '\\x0000000044' ORDER BY k LIMIT $2::int8",
                    params, 2);
}

/* Whether a member is in the result, which lists the keys of member rows. */
static bool is_alive(const PGresult *members, struct str number)
{
    for (int i = 0; i < PQntuples(members); i++) {
        struct str key = cell(members, i, 0);
        if (key.len == STORE_SPACE_LEN + 1 + MEMBER_LEN &&
            memcmp(key.data + STORE_SPACE_LEN + 1, number.data, MEMBER_LEN) == 0) {
            return true;
        }
    }
    return false;
}

/* Writes the row of member 0: the sum of the rows that were deleted. */
static bool write_sum(PGconn *pq, struct str counter, struct store_count sum)
{
    uint8_t key[OWN_KEY_MAX] = {0};
    char value[STORE_COUNT_LEN];
    memcpy(key, counter.data, counter.len);
    store_count_encode(sum, value);
    struct param params[] = {{key, counter.len + PG_COUNTER_SLOT_LEN}, {value, sizeof(value)}};
    return pg_run(pq, "INSERT INTO gramme.kv VALUES (67, $1::bytea, 0, $2::bytea)", params, 2) == 1;
}

/* Replaces rows of one counter, including that of member 0, by their sum, in a transaction. Rows
 * that another process has deleted meanwhile are not counted. */
static bool fold_counter(PGconn *pq, const struct str *keys, size_t count)
{
    struct str counter = counter_of(keys[0]);
    uint8_t zero[OWN_KEY_MAX] = {0};
    memcpy(zero, counter.data, counter.len);
    struct str all[FOLD_ROWS + 1];
    memcpy(all, keys, count * sizeof(*keys));
    all[count] = str_make(zero, counter.len + PG_COUNTER_SLOT_LEN);
    struct buf memory = {0};
    struct param params[] = {param_array(&memory, all, count + 1)};
    if (pg_run(pq, "BEGIN", NULL, 0) < 0) {
        buf_finish(&memory);
        return false;
    }
    PGresult *deleted = pg_query(
        pq, "DELETE FROM gramme.kv WHERE b = 67 AND k = ANY($1::bytea[]) RETURNING v", params, 1);
    bool ok = PQresultStatus(deleted) == PGRES_TUPLES_OK;
    struct store_count sum = {0};
    for (int i = 0; ok && i < PQntuples(deleted); i++) {
        struct store_count part = store_count_value(cell(deleted, i, 0));
        sum.count += part.count;
        sum.bytes += part.bytes;
    }
    ok = ok && (PQntuples(deleted) == 0 || write_sum(pq, counter, sum));
    PQclear(deleted);
    buf_finish(&memory);
    return pg_run(pq, ok ? "COMMIT" : "ROLLBACK", NULL, 0) >= 0 && ok;
}

/* Folds the counter rows in the result whose members have left, for about piece_ns. Returns the
 * index of the first row that it has not seen; negative: PostgreSQL failed. */
static int fold_parts(PGconn *pq, const PGresult *parts, const PGresult *members)
{
    int64_t until_ns = clock_monotonic_ns() + piece_ns;
    struct str keys[FOLD_ROWS];
    size_t count = 0;
    for (int i = 0; i < PQntuples(parts); i++) {
        struct str key = cell(parts, i, 0);
        static const char zero[MEMBER_LEN];
        bool is_dead = memcmp(member_of(key).data, zero, MEMBER_LEN) != 0 &&
                       !is_alive(members, member_of(key));
        if (count > 0 && !str_eq(counter_of(key), counter_of(keys[0]))) {
            if (!fold_counter(pq, keys, count)) {
                return -1;
            }
            if (clock_monotonic_ns() >= until_ns) {
                return i;
            }
            count = 0;
        }
        if (is_dead) {
            keys[count++] = key;
        }
    }
    return count == 0 || fold_counter(pq, keys, count) ? PQntuples(parts) : -1;
}

/* Folds some counters. False: all are done, or PostgreSQL failed; then it is tried again when the
 * next member leaves. */
static bool fold_some_counters(struct chores *chores, PGconn *pq)
{
    PGresult *parts = read_parts(chores, pq);
    PGresult *members = pg_query(pq,
                                 "SELECT k FROM gramme.kv WHERE b = 77 AND k >= '\\x000000004d' "
                                 "AND k < '\\x000000004e'",
                                 NULL, 0);
    bool ok =
        PQresultStatus(parts) == PGRES_TUPLES_OK && PQresultStatus(members) == PGRES_TUPLES_OK;
    int seen = ok ? fold_parts(pq, parts, members) : -1;
    chores->fold_from.len = 0;
    bool more = seen > 0 && (seen < PQntuples(parts) || seen == FOLD_ROWS);
    if (more) {
        buf_add(&chores->fold_from, cell(parts, seen - 1, 0));
    }
    PQclear(parts);
    PQclear(members);
    return more;
}

bool chores_run(struct chores *chores, PGconn *pq)
{
    bool more = false;
    if (atomic_load(&chores->has_drops)) {
        atomic_store(&chores->has_drops, false);
        more = empty_some_spaces(chores, pq);
        if (more) {
            atomic_store(&chores->has_drops, true);
        }
    }
    if (chores->has_emptied && clock_monotonic_ns() >= chores->next_look_ns) {
        bool has_more = empty_some_again(chores, pq);
        int64_t pause_ms = has_more ? 0 : 1000;
        chores->next_look_ns = clock_monotonic_ns() + pause_ms * 1000000;
        more = more || has_more;
    }
    if (atomic_load(&chores->has_deaths)) {
        atomic_store(&chores->has_deaths, false);
        if (fold_some_counters(chores, pq)) {
            atomic_store(&chores->has_deaths, true);
            more = true;
        }
    }
    return more;
}
