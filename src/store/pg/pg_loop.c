/* The threads of the store: the I/O thread, which uses all connections and runs everything that is
 * not documented otherwise; the connector, which opens connections and blocks; and the slow thread,
 * for rows and updates that take long. */
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "store/pg/pg_internal.h"

enum { TICK_MS = 100, CONNECT_PAUSE_MS = 100 };
/* Before the second repetition of a get or a range, and the longest one. They end with a tick. */
static const int64_t retry_pause_ns = (int64_t)TICK_MS * 1000000;
static const int64_t retry_pause_max_ns = (int64_t)8 * TICK_MS * 1000000;

/* The connector ---------------------------------------------------------------------------- */

static void note_notice(void *arg, const PGresult *notice)
{
    struct conn *conn = arg;
    const char *severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
    if (severity == NULL || strcmp(severity, "WARNING") == 0) {
        conn->has_warned = true;
        log_write(LOG_WARN, "store", "PostgreSQL warns: %s",
                  PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY));
    }
}

static void conn_is_up(struct task *task)
{
    struct conn *conn = CONTAINER_OF(task, struct conn, task);
    if (atomic_load(&conn->pg->closing)) {
        PQfinish(conn->pq);
        conn->pq = NULL;
        return;
    }
    conn->state = CONN_UP;
    conn->answered_ns = clock_monotonic_ns();
    PQsetNoticeReceiver(conn->pq, note_notice, conn);
    if (conn->group != NULL && conn->group->phase != GROUP_EVALUATING) {
        group_decide(conn->group);
    }
    if (!conn->is_writer) {
        pg_start_waiting_gets(conn->pg);
        pg_start_waiting_ranges(conn->pg);
    }
}

/* Opens a connection; tries until it succeeds or the store is closed. Connector thread. */
static void connect_in_background(struct task *task)
{
    struct conn *conn = CONTAINER_OF(task, struct conn, task);
    struct pg *pg = conn->pg;
    struct arena arena;
    arena_init(&arena);
    bool is_first = true;
    while (!atomic_load(&pg->closing)) {
        struct err err = ERR_INIT(&arena);
        conn->pq = pg_connect(pg, true, &err);
        if (conn->pq != NULL) {
            break;
        }
        log_write(is_first ? LOG_WARN : LOG_DEBUG, "store", "%.*s", STR_ARG(err.message));
        is_first = false;
        arena_reset(&arena);
        usleep(CONNECT_PAUSE_MS * 1000);
    }
    arena_finish(&arena);
    conn->task.run = conn_is_up;
    pg_post(pg, &conn->task);
}

void conn_open(struct conn *conn)
{
    if (atomic_load(&conn->pg->closing)) {
        return;
    }
    conn->task.run = connect_in_background;
    mailbox_post(waiting_mailbox_box(conn->pg->connector_box), &conn->task);
}

void *pg_connector_main(void *arg)
{
    struct pg *pg = arg;
    while (!atomic_load(&pg->closing)) {
        waiting_mailbox_run_for(pg->connector_box, 1000);
    }
    waiting_mailbox_run_for(pg->connector_box, 0);
    return NULL;
}

/* The slow thread -------------------------------------------------------------------------- */

void *pg_slow_main(void *arg)
{
    struct pg *pg = arg;
    thread_lower_priority(THREAD_LOW_NICE);
    while (!atomic_load(&pg->closing)) {
        waiting_mailbox_run_for(pg->slow_box, 1000);
    }
    return NULL;
}

/* The I/O thread --------------------------------------------------------------------------- */

void pg_retry_init(struct retry *retry)
{
    *retry = (struct retry){.deadline_ns = clock_monotonic_ns() + PG_PATIENCE_NS};
}

bool pg_retry_allows(struct pg *pg, struct retry *retry)
{
    int64_t now_ns = clock_monotonic_ns();
    retry->after_ns = retry->pause_ns > 0 ? now_ns + retry->pause_ns : 0;
    retry->pause_ns =
        retry->pause_ns > 0 ? MIN(2 * retry->pause_ns, retry_pause_max_ns) : retry_pause_ns;
    return now_ns < retry->deadline_ns && !atomic_load(&pg->closing);
}

static void flush_all(struct pg *pg)
{
    for (int i = 0; i < pg->conn_count; i++) {
        struct conn *conn = &pg->conns[i];
        if (conn->needs_sync || conn->wants_write || conn->pending_count > 0) {
            conn_flush(conn);
        }
    }
}

static bool is_silent(const struct conn *conn, int64_t now_ns)
{
    return conn->state == CONN_UP && now_ns - conn->answered_ns > PG_SILENCE_NS;
}

/* If the server has not answered a statement for PG_SILENCE_NS, closes all connections on which it
 * has not answered since: also idle ones, or each would cost the next request as much time. */
static void check_silence(struct pg *pg, int64_t now_ns)
{
    bool must_close = false;
    for (int i = 0; i < pg->conn_count; i++) {
        struct conn *conn = &pg->conns[i];
        must_close = must_close || (conn->pending_count > 0 && is_silent(conn, now_ns));
    }
    for (int i = 0; must_close && i < pg->conn_count; i++) {
        if (is_silent(&pg->conns[i], now_ns)) {
            conn_lose(&pg->conns[i]);
        }
    }
}

static void wait_for_events(struct pg *pg)
{
    struct pollfd fds[PG_CONNS_MAX + 1];
    struct conn *conns[PG_CONNS_MAX + 1];
    nfds_t count = 0;
    fds[count++] = (struct pollfd){.fd = pg->wake_fd, .events = POLLIN};
    for (int i = 0; i < pg->conn_count; i++) {
        struct conn *conn = &pg->conns[i];
        if (conn->state == CONN_UP) {
            short events = (short)(POLLIN | (conn->wants_write ? POLLOUT : 0));
            conns[count] = conn;
            fds[count++] = (struct pollfd){.fd = PQsocket(conn->pq), .events = events};
        }
    }
    if (poll(fds, count, TICK_MS) <= 0) {
        return;
    }
    if (fds[0].revents != 0) {
        uint64_t number;
        ssize_t got = read(pg->wake_fd, &number, sizeof(number));
        (void)got; /* fails with EAGAIN if it was read before */
    }
    for (nfds_t i = 1; i < count; i++) {
        if ((fds[i].revents & ~POLLOUT) != 0 && conns[i]->state == CONN_UP) {
            conn_receive(conns[i]);
        }
    }
}

static void tick(struct pg *pg)
{
    int64_t now_ns = clock_monotonic_ns();
    check_silence(pg, now_ns);
    pg_expire(pg, now_ns);
    if (pg->waiting_gets != NULL) {
        pg_start_waiting_gets(pg);
    }
    if (pg->waiting_ranges != NULL) {
        pg_start_waiting_ranges(pg);
    }
}

/* Whether the thread may end. It waits for drops until close_by_ns; if one is not written by then,
 * the engine repeats it at the next start. */
static bool is_over(struct pg *pg)
{
    if (!atomic_load(&pg->closing) || atomic_load(&pg->under_way) > 0) {
        return false;
    }
    bool has_drops = pg->drop_count > 0 || pg->is_dropping;
    return !has_drops || clock_monotonic_ns() >= atomic_load(&pg->close_by_ns);
}

void *pg_io_main(void *arg)
{
    struct pg *pg = arg;
    int64_t next_tick_ns = 0;
    while (!is_over(pg)) {
        mailbox_drain(&pg->box);
        pg_start_groups(pg);
        flush_all(pg);
        if (clock_monotonic_ns() >= next_tick_ns) {
            tick(pg);
            next_tick_ns = clock_monotonic_ns() + (int64_t)TICK_MS * 1000000;
            flush_all(pg);
        }
        wait_for_events(pg);
    }
    mailbox_drain(&pg->box);
    return NULL;
}
