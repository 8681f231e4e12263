/* The thread that sends the heartbeats of this process and watches those of the others: see
 * members.h. It has its own connection and waits for each answer. If this process is the leader,
 * the thread also runs chores.c, in pieces between heartbeats. */
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "store/pg/members_internal.h"
#include "store/pg/pg_internal.h"

enum { JOIN_ATTEMPTS = 5 };
/* Calls that were under way when this process was excluded have ended after so long. */
static const int64_t old_calls_ns = 2 * PG_PATIENCE_NS;

static bool open_connection(struct members *members)
{
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    members->newest_written = 0; /* it may be another server */
    members->pq = pg_connect(members->pg, false, &err);
    bool ok =
        members->pq != NULL && pg_run(members->pq, "LISTEN gramme", NULL, 0) >= 0 &&
        (!members->has_joined || members_hold_session(members, atomic_load(&members->number)));
    if (!ok) {
        log_write(LOG_WARN, "store", "the lease cannot be renewed: %.*s", STR_ARG(err.message));
    }
    members_expect_others(members);
    chores_note_drop(members->chores); /* notifications may have been missed */
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
    if (!members_read_newest(members, &newest)) {
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

/* Shows that members which are not listed any more cannot come back by a failover: see members.h.
 */
static bool confirm_list(struct members *members, struct store_progress progress)
{
    if (members->must_confirm && members_beat(members, progress) != 1) {
        return false;
    }
    members->must_confirm = false;
    return true;
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
    if (progress.seen > 0 && has_watcher && !members_write_newest(members, progress.seen)) {
        return false;
    }
    int renewed = members_beat(members, progress);
    if (renewed == 0 || atomic_load(&members->is_fenced)) {
        log_write(LOG_WARN, "store", "this server was excluded by others; it joins again");
        members->has_joined = false;
        atomic_store(&members->lease_until_ns, 0);
        return members_join(members);
    }
    if (renewed < 0 || !members_list(members) || !confirm_list(members, progress) ||
        !members_list_sessions(members)) {
        return false;
    }
    if (must_begin && !begin_watching(members)) {
        return false;
    }
    if (may_serve) {
        renew_lease(members, start_ns, progress);
    }
    members_exclude_dead(members);
    members_compare(members);
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

/* Takes the notifications that libpq has received. Returns whether another process has sent one. */
static bool take_notifications(struct members *members)
{
    bool has_news = false;
    PGnotify *notify;
    while ((notify = PQnotifies(members->pq)) != NULL) {
        has_news = has_news || notify->be_pid != PQbackendPID(members->pq);
        if (strcmp(notify->extra, "drop") == 0 && atomic_load(&members->is_leader)) {
            chores_note_drop(members->chores);
        }
        PQfreemem(notify);
    }
    return has_news;
}

/* Waits for the next heartbeat, a notification of PostgreSQL, or a call of wake(). A notification
 * that came with the answer to a statement is not on the socket any more, so these are taken first.
 */
static void wait_for_news(struct members *members, int timeout_ms)
{
    if (members->pq != NULL && take_notifications(members)) {
        return;
    }
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
        (void)take_notifications(members);
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
    ok = ok && (members->has_joined || members_join(members)) && round_of_beats(members);
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
        ok = open_connection(members) && members_join(members) && round_of_beats(members);
        if (!ok) {
            close_connection(members);
        }
    }
    if (!ok) {
        return err_set(err, ERR_INTERNAL, "PostgreSQL at %s: this server cannot join the others",
                       pg->server);
    }
    members->started = pthread_create(&members->thread, NULL, members_main, members) == 0;
    if (members->started) {
        pthread_setname_np(members->thread, "store-members");
    }
    return members->started || err_set(err, ERR_INTERNAL, "cannot start a thread");
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
        members_leave(members);
    }
    PQfinish(members->pq);
    chores_destroy(members->chores);
    mem_free(members->others);
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

bool members_leads_transfers(const struct store *store)
{
    const struct pg *pg = CONTAINER_OF(store, const struct pg, store);
    return atomic_load(&pg->members->leads_transfers) && members_may_serve(pg);
}

bool members_store_may_serve(const struct store *store)
{
    return members_may_serve(CONTAINER_OF(store, const struct pg, store));
}
