/* The thread that sends the heartbeats of this process and watches those of the others: see
 * members.h. It has its own connection and waits for each answer. If this process is the leader,
 * the thread also runs chores.c, in pieces between heartbeats. */
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "store/pg/chores.h"
#include "store/pg/distributed.h"

enum { OTHERS_MAX = 1024, PROGRESS_LEN = 16, JOIN_ATTEMPTS = 5 };
/* Calls that were under way when this process was excluded have ended after so long. */
static const int64_t old_calls_ns = 2 * PG_PATIENCE_NS;

/* Another member, as this process sees it. */
struct other {
    uint64_t number;
    int64_t beat;       /* number of its last heartbeat */
    int64_t changed_ns; /* when that number changed, by the local clock */
    int64_t held_ns;    /* when its advisory lock was last held */
    struct store_progress progress;
    bool is_listed; /* its row was read in this round */
};

struct members {
    struct pg *pg;
    pthread_t thread;
    bool started;
    int wake_fd;
    PGconn *pq; /* of the thread; NULL: it must be opened */
    struct other others[OTHERS_MAX];
    size_t other_count;
    bool has_joined;

    atomic_uint_least64_t number;
    /* The number under which updates are written. After the process has joined again it is the old
     * one, so that updates fail, until no call under way uses a version that is older than what the
     * others knew: they have not waited for these calls. */
    atomic_uint_least64_t writer_number;
    int64_t joined_ns;       /* used by the thread only, as the next */
    uint64_t newest_written; /* by write_newest() on this connection; 0: nothing */
    atomic_int_least64_t lease_until_ns;
    atomic_uint_least64_t newest_at_join;
    atomic_bool is_leader;
    atomic_bool is_fenced; /* a transaction found that this member is excluded */
    struct chores *chores; /* run by the thread */

    pthread_mutex_t mutex; /* protects all of the following */
    void (*changed)(void *context);
    void *context;
    bool has_announced; /* since it joined */
    pthread_cond_t is_watching;
    bool must_begin; /* store_watch() waits until the thread has reset the announced versions */
    struct store_progress announced;
    struct store_progress slowest;
};

/* Keys ------------------------------------------------------------------------------------- */

struct own_key {
    uint8_t bytes[OWN_KEY_MAX];
    size_t len;
};

static struct param number_key(struct own_key *key, enum own_kind kind, uint64_t number)
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

/* Joining ---------------------------------------------------------------------------------- */

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
    struct param params[] = {number_key(&key, OWN_MEMBER, number), {progress, sizeof(progress)}};
    if (pg_run(members->pq, "INSERT INTO gramme.kv VALUES (77, $1::bytea, 1, $2::bytea)", params,
               2) != 1) {
        return false;
    }
    bool ok = true;
    for (int i = 0; ok && i < PG_CONNS; i++) {
        struct own_key marker;
        (void)number_key(&marker, OWN_MARKER, number);
        put_u16_be(marker.bytes + marker.len, (uint16_t)i);
        struct param mark = {marker.bytes, marker.len + 2};
        ok = pg_run(members->pq, "INSERT INTO gramme.kv VALUES (87, $1::bytea, 0, '')", &mark, 1) ==
             1;
    }
    return ok;
}

/* Reads the newest version that any member has announced. This process must know it before it may
 * serve. */
static bool read_newest(struct members *members, uint64_t *out)
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

/* Takes the advisory lock, which shows other members that the session is open. */
static bool hold_session(struct members *members, uint64_t number)
{
    struct param_int memory;
    struct param params[] = {param_int32(&memory, (int32_t)number)};
    return pg_run(members->pq, "SELECT pg_advisory_lock(7166, $1::int4)", params, 1) == 1;
}

static bool join(struct members *members)
{
    uint64_t number;
    uint64_t newest;
    atomic_store(&members->lease_until_ns, 0);
    if (!take_number(members, &number) || pg_run(members->pq, "BEGIN", NULL, 0) < 0) {
        return false;
    }
    bool ok = write_rows(members, number);
    if (pg_run(members->pq, ok ? "COMMIT" : "ROLLBACK", NULL, 0) < 0 || !ok ||
        !read_newest(members, &newest)) {
        return false;
    }
    pthread_mutex_lock(&members->mutex);
    members->has_announced = false;
    bool has_watcher = members->changed != NULL;
    pthread_mutex_unlock(&members->mutex);
    if (!hold_session(members, number)) {
        return false;
    }
    atomic_store(&members->newest_at_join, newest);
    atomic_store(&members->is_leader, false); /* until compare() finds that it is */
    atomic_store(&members->number, number);
    if (!has_watcher) {
        atomic_store(&members->writer_number, number);
    }
    members->joined_ns = clock_monotonic_ns();
    atomic_store(&members->is_fenced, false);
    members->has_joined = true;
    members->other_count = 0;
    return true;
}

/* Heartbeats ------------------------------------------------------------------------------- */

/* Announces a version to members that join later, before it is in the row of this member. */
static bool write_newest(struct members *members, uint64_t seen)
{
    if (seen == members->newest_written) {
        return true;
    }
    struct own_key key;
    struct param_int wid;
    struct param params[] = {plain_key(&key, OWN_NEWEST), param_int64(&wid, (int64_t)seen)};
    bool ok = pg_run(members->pq,
                     "INSERT INTO gramme.kv AS t VALUES (78, $1::bytea, $2::int8, '') "
                     "ON CONFLICT (b, k) DO UPDATE SET wid = greatest(t.wid, excluded.wid)",
                     params, 2) == 1;
    members->newest_written = ok ? seen : 0;
    return ok;
}

/* Sends a heartbeat. Returns 1: renewed; 0: this member is excluded; negative: PostgreSQL does not
 * answer. */
static int beat(struct members *members, struct store_progress progress)
{
    uint8_t row[PROGRESS_LEN];
    encode_progress(row, progress);
    struct own_key key;
    struct param params[] = {number_key(&key, OWN_MEMBER, atomic_load(&members->number)),
                             {row, sizeof(row)}};
    return pg_run(
        members->pq,
        "UPDATE gramme.kv SET wid = wid + 1, v = $2::bytea WHERE b = 77 AND k = $1::bytea", params,
        2);
}

static struct other *find_other(struct members *members, uint64_t number)
{
    for (size_t i = 0; i < members->other_count; i++) {
        if (members->others[i].number == number) {
            return &members->others[i];
        }
    }
    if (members->other_count == OTHERS_MAX) {
        return NULL;
    }
    struct other *other = &members->others[members->other_count++];
    *other = (struct other){.number = number};
    return other;
}

static void note_member(struct members *members, const PGresult *result, int row, int64_t now_ns)
{
    const char *key = PQgetvalue(result, row, 0);
    struct other *other = find_other(members, get_u64_be(key + STORE_SPACE_LEN + 1));
    if (other == NULL || PQgetlength(result, row, 2) != PROGRESS_LEN) {
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
    }
    members->other_count = kept;
}

static bool list_members(struct members *members)
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

/* Finds out which members hold their advisory locks. */
static bool list_sessions(struct members *members)
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
    for (int i = 0; ok && i < PG_CONNS; i++) {
        struct param_int lock;
        struct param params[] = {param_int64(&lock, pg_writer_lock(number, i))};
        ok = pg_run(members->pq, "SELECT pg_advisory_xact_lock($1::int8)", params, 1) == 1;
    }
    ok = pg_run(members->pq, ok ? "COMMIT" : "ROLLBACK", NULL, 0) >= 0 && ok;
    return ok &&
           pg_run_strictly(members->pq, "SELECT recover_prepared_transactions()", NULL, 0) == 1;
}

/* Excludes a member that has not sent heartbeats: see members.h. If one of its transactions still
 * locks a marker row, the next round tries again. */
static void exclude(struct members *members, const struct other *other)
{
    struct own_key key;
    struct param_int wid;
    struct param params[] = {number_key(&key, OWN_MEMBER, other->number),
                             param_int64(&wid, other->beat)};
    struct own_key first;
    struct own_key end;
    struct param markers[] = {number_key(&first, OWN_MARKER, other->number),
                              number_key(&end, OWN_MARKER, other->number + 1)};
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
    ok = pg_run(members->pq, ok ? "COMMIT" : "ROLLBACK", NULL, 0) >= 0 && ok;
    if (ok && is_distributed) {
        ok = end_elsewhere(members, other->number) &&
             pg_run(members->pq, delete_member, params, 2) == 1;
    }
    if (ok) {
        log_write(LOG_WARN, "store", "server %llu is gone: excluded",
                  (unsigned long long)other->number);
        (void)pg_run(members->pq, "NOTIFY gramme", NULL, 0);
    }
}

static void exclude_dead(struct members *members)
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

/* Computes the lowest announced versions, and whether this member is the leader: the one with the
 * smallest number. */
static void compare(struct members *members)
{
    struct store_progress slowest = {.seen = UINT64_MAX, .settled = UINT64_MAX};
    uint64_t first = UINT64_MAX;
    for (size_t i = 0; i < members->other_count; i++) {
        const struct other *other = &members->others[i];
        slowest.seen = MIN(slowest.seen, other->progress.seen);
        slowest.settled = MIN(slowest.settled, other->progress.settled);
        first = MIN(first, other->number);
    }
    bool is_leader = first == atomic_load(&members->number);
    if (is_leader && !atomic_load(&members->is_leader)) {
        chores_begin(members->chores);
    }
    atomic_store(&members->is_leader, is_leader);
    pthread_mutex_lock(&members->mutex);
    members->slowest = slowest;
    pthread_mutex_unlock(&members->mutex);
}

/* The thread ------------------------------------------------------------------------------- */

/* While there was no connection the others could not be seen, and they may have lost theirs. */
static void expect_others(struct members *members)
{
    int64_t now_ns = clock_monotonic_ns();
    for (size_t i = 0; i < members->other_count; i++) {
        members->others[i].changed_ns = now_ns;
        members->others[i].held_ns = now_ns;
    }
}

static bool open_connection(struct members *members)
{
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    members->newest_written = 0; /* it may be another server */
    members->pq = pg_connect(members->pg, false, &err);
    bool ok = members->pq != NULL && pg_run(members->pq, "LISTEN gramme", NULL, 0) >= 0 &&
              (!members->has_joined || hold_session(members, atomic_load(&members->number)));
    if (!ok) {
        log_write(LOG_WARN, "store", "the lease cannot be renewed: %.*s", STR_ARG(err.message));
    }
    expect_others(members);
    arena_finish(&arena);
    return ok;
}

/* Closes the session and stops serving, because other members now assume that the process has
 * ended.
 */
static void close_connection(struct members *members)
{
    atomic_store(&members->lease_until_ns, 0);
    PQfinish(members->pq);
    members->pq = NULL;
}

/* Resets the announced versions of this member to 0, so that other members wait for it. It must
 * announce what they have announced before it may serve. */
static bool begin_watching(struct members *members)
{
    uint64_t newest;
    if (!read_newest(members, &newest)) {
        return false;
    }
    atomic_store(&members->newest_at_join, newest);
    pthread_mutex_lock(&members->mutex);
    members->must_begin = false;
    pthread_cond_signal(&members->is_watching);
    pthread_mutex_unlock(&members->mutex);
    return true;
}

/* Whether the member may serve after a heartbeat. With the mutex. */
static bool has_announced_all(const struct members *members)
{
    return (members->has_announced || members->changed == NULL) && !members->must_begin;
}

/* Whether calls may be under way that began before this process was excluded, and use versions that
 * the others have not waited for. */
static bool has_old_calls(const struct members *members, int64_t start_ns,
                          struct store_progress progress)
{
    return atomic_load(&members->writer_number) != atomic_load(&members->number) &&
           progress.settled < atomic_load(&members->newest_at_join) &&
           start_ns - members->joined_ns < old_calls_ns;
}

/* Renews the lease after a heartbeat that began at `start_ns` and announced `progress`.
 * store_watch() may have been called meanwhile: then the lease stays ended. */
static void renew_lease(struct members *members, int64_t start_ns, struct store_progress progress)
{
    pthread_mutex_lock(&members->mutex);
    if (has_announced_all(members) && progress.seen >= atomic_load(&members->newest_at_join) &&
        !has_old_calls(members, start_ns, progress)) {
        atomic_store(&members->writer_number, atomic_load(&members->number));
        atomic_store(&members->lease_until_ns, start_ns + MEMBERS_LEASE_NS);
    }
    pthread_mutex_unlock(&members->mutex);
}

static bool round_of_beats(struct members *members)
{
    int64_t start_ns = clock_monotonic_ns();
    pthread_mutex_lock(&members->mutex);
    struct store_progress progress = members->announced;
    bool has_watcher = members->changed != NULL;
    bool may_serve = has_announced_all(members);
    bool must_begin = members->must_begin;
    pthread_mutex_unlock(&members->mutex);
    if (progress.seen > 0 && has_watcher && !write_newest(members, progress.seen)) {
        return false;
    }
    int renewed = beat(members, progress);
    if (renewed == 0 || atomic_load(&members->is_fenced)) {
        log_write(LOG_WARN, "store", "this server was excluded by others; it joins again");
        members->has_joined = false;
        atomic_store(&members->lease_until_ns, 0);
        return join(members);
    }
    if (renewed < 0 || !list_members(members) || !list_sessions(members)) {
        return false;
    }
    if (must_begin && !begin_watching(members)) {
        return false;
    }
    if (may_serve) {
        renew_lease(members, start_ns, progress);
    }
    exclude_dead(members);
    compare(members);
    return true;
}

static void tell(struct members *members)
{
    pthread_mutex_lock(&members->mutex);
    void (*changed)(void *context) = members->changed;
    void *context = members->context;
    if (changed != NULL) {
        changed(context);
    }
    pthread_mutex_unlock(&members->mutex);
}

/* Waits for the next heartbeat, a notification of PostgreSQL, or a call of wake(). */
static void wait_for_news(struct members *members, int timeout_ms)
{
    struct pollfd fds[] = {
        {.fd = members->wake_fd, .events = POLLIN},
        {.fd = members->pq != NULL ? PQsocket(members->pq) : -1, .events = POLLIN},
    };
    if (poll(fds, 2, timeout_ms) <= 0) {
        return;
    }
    uint64_t number;
    if (fds[0].revents != 0 && read(members->wake_fd, &number, sizeof(number)) < 0) {
        return;
    }
    if (fds[1].revents != 0 && members->pq != NULL) {
        if (!PQconsumeInput(members->pq)) {
            close_connection(members);
            return;
        }
        PGnotify *notify;
        while ((notify = PQnotifies(members->pq)) != NULL) {
            if (strcmp(notify->extra, "drop") == 0 && atomic_load(&members->is_leader)) {
                chores_note_drop(members->chores);
            }
            PQfreemem(notify);
        }
    }
}

static bool has_new_announcement(struct members *members, struct store_progress *last)
{
    pthread_mutex_lock(&members->mutex);
    bool is_new =
        members->announced.seen != last->seen || members->announced.settled != last->settled;
    *last = members->announced;
    pthread_mutex_unlock(&members->mutex);
    return is_new;
}

static void work(struct members *members, struct store_progress *last)
{
    bool is_new = has_new_announcement(members, last);
    bool ok = members->pq != NULL || open_connection(members);
    ok = ok && (members->has_joined || join(members)) && round_of_beats(members);
    if (!ok) {
        close_connection(members);
        return;
    }
    if (is_new) {
        (void)pg_run(members->pq, "NOTIFY gramme", NULL, 0);
    }
    if (!atomic_load(&members->is_leader) && chores_take_drop(members->chores)) {
        (void)pg_run(members->pq, "NOTIFY gramme, 'drop'", NULL, 0);
    }
    tell(members);
}

static void *members_main(void *arg)
{
    struct members *members = arg;
    struct store_progress last = {0};
    while (!atomic_load(&members->pg->closing)) {
        work(members, &last);
        bool more = members->pq != NULL && atomic_load(&members->is_leader) &&
                    chores_run(members->chores, members->pq);
        wait_for_news(members, more ? 0 : members->pq == NULL ? 100 : MEMBERS_BEAT_MS);
    }
    return NULL;
}

static void wake(struct members *members)
{
    uint64_t one = 1;
    ssize_t written = write(members->wake_fd, &one, sizeof(one));
    (void)written; /* a full eventfd has woken the thread already */
}

/* Calls ------------------------------------------------------------------------------------ */

bool members_open(struct pg *pg, struct err *err)
{
    struct members *members = mem_zalloc(sizeof(*members));
    pg->members = members;
    members->pg = pg;
    members->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&members->mutex, NULL);
    pthread_cond_init(&members->is_watching, NULL);
    /* Until store_watch() is called no member waits for this one. */
    members->announced = (struct store_progress){INT64_MAX, INT64_MAX};
    members->chores = chores_create(pg);
    bool ok = false;
    for (int i = 0; i < JOIN_ATTEMPTS && !ok; i++) { /* an old session may still hold the lock */
        ok = open_connection(members) && join(members) && round_of_beats(members);
        if (!ok) {
            close_connection(members);
        }
    }
    if (!ok) {
        return err_set(err, ERR_INTERNAL, "PostgreSQL at %s: this server cannot join the others",
                       pg->server);
    }
    members->started = pthread_create(&members->thread, NULL, members_main, members) == 0;
    return members->started || err_set(err, ERR_INTERNAL, "cannot start a thread");
}

/* Leaves: deletes the rows of this member. If a lost transaction still locks a marker row, others
 * exclude this member later: while its row is there, they know that it may still write. */
static void leave(struct members *members)
{
    uint64_t number = atomic_load(&members->number);
    struct own_key key;
    struct own_key end;
    struct param params[] = {number_key(&key, OWN_MEMBER, number)};
    struct param markers[] = {number_key(&key, OWN_MARKER, number),
                              number_key(&end, OWN_MARKER, number + 1)};
    if (pg_run(members->pq,
               "DELETE FROM gramme.kv WHERE b = 87 AND k >= $1::bytea AND k < $2::bytea", markers,
               2) < 0) {
        return;
    }
    params[0] = number_key(&key, OWN_MEMBER, number);
    (void)pg_run(members->pq, "DELETE FROM gramme.kv WHERE b = 77 AND k = $1::bytea", params, 1);
    (void)pg_run(members->pq, "NOTIFY gramme", NULL, 0);
}

void members_close(struct pg *pg)
{
    struct members *members = pg->members;
    if (members == NULL) {
        return;
    }
    if (members->started) {
        wake(members);
        pthread_join(members->thread, NULL);
    }
    if (members->pq != NULL && members->has_joined) {
        leave(members);
    }
    PQfinish(members->pq);
    chores_destroy(members->chores);
    close(members->wake_fd);
    pthread_cond_destroy(&members->is_watching);
    pthread_mutex_destroy(&members->mutex);
    mem_free(members);
    pg->members = NULL;
}

uint64_t members_number(const struct pg *pg)
{
    return atomic_load_explicit(&pg->members->writer_number, memory_order_acquire);
}

bool members_may_serve(const struct pg *pg)
{
    return clock_monotonic_ns() <
           atomic_load_explicit(&pg->members->lease_until_ns, memory_order_acquire);
}

void members_note_fence(struct pg *pg, uint64_t number)
{
    if (number == atomic_load(&pg->members->number)) {
        atomic_store(&pg->members->is_fenced, true);
        atomic_store(&pg->members->lease_until_ns, 0);
        wake(pg->members);
    }
}

void members_note_drop(struct pg *pg)
{
    chores_note_drop(pg->members->chores);
    wake(pg->members);
}

void members_watch(struct store *store, void (*changed)(void *context), void *context)
{
    struct members *members = pg_of(store)->members;
    pthread_mutex_lock(&members->mutex);
    members->changed = changed;
    members->context = context;
    if (changed != NULL) {
        atomic_store(&members->lease_until_ns, 0); /* until it has announced something */
        members->announced = (struct store_progress){0};
        members->has_announced = false;
        members->must_begin = true;
        wake(members);
    }
    while (members->must_begin) {
        pthread_cond_wait(&members->is_watching, &members->mutex);
    }
    pthread_mutex_unlock(&members->mutex);
}

/* Wakes the thread only for something new: the watcher announces after every heartbeat, and would
 * cause the next one at once. */
void members_announce(struct store *store, struct store_progress progress)
{
    struct members *members = pg_of(store)->members;
    pthread_mutex_lock(&members->mutex);
    bool is_new = !members->has_announced || members->announced.seen != progress.seen ||
                  members->announced.settled != progress.settled;
    members->announced = progress;
    members->has_announced = true;
    pthread_mutex_unlock(&members->mutex);
    if (is_new) {
        wake(members);
    }
}

struct store_progress members_slowest(const struct store *store)
{
    struct members *members = CONTAINER_OF(store, const struct pg, store)->members;
    pthread_mutex_lock(&members->mutex);
    struct store_progress slowest = members->slowest;
    pthread_mutex_unlock(&members->mutex);
    return slowest;
}

bool members_is_leader(const struct store *store)
{
    const struct pg *pg = CONTAINER_OF(store, const struct pg, store);
    return atomic_load(&pg->members->is_leader) && members_may_serve(pg);
}

bool members_store_may_serve(const struct store *store)
{
    return members_may_serve(CONTAINER_OF(store, const struct pg, store));
}
