/* The committer: a thread that carries out all updates. It takes the queued updates, evaluates each
 * with the newest rows and the rows that the group has written so far (join.c), writes the group as
 * one batch with one fsync (group_commit.c), and answers the updates (group_answers.c). Updates
 * that arrive meanwhile form the next group.
 *
 * The committer does not wait for a slow disk: if the rows of an update are not in the cache, and
 * reads of files are not quick at present, a worker reads them into the cache first, and the update
 * is queued again (warm.c). The exceptions are in README.md, "What may block". An update that is
 * expensive to evaluate is prepared by a slow thread first: see prepare.h. */
#include <sys/prctl.h>

#include "base/clock.h"
#include "store/rocks/commit/commit.h"
#include "store/rocks/commit/commit_group.h"
#include "store/rocks/faults/health.h"

/* The largest number of updates for which gather() waits, and the longest time. */
enum { GATHERED_MAX = 8 };
static const int64_t gather_ns_max = 1000000;

static void commit_if_full(struct rocks_group *group)
{
    if (rocks_group_is_full(group)) {
        rocks_group_commit(group);
        rocks_group_answer(group);
    }
}

static void take_new(struct rocks_group *group, struct store_update *update)
{
    bool warmed = rocks_is_warmed(&update->task);
    assert(!warmed || group->warming_count > 0);
    group->warming_count -= warmed;
    enum evaluation evaluation =
        rocks_group_join(group, update, warmed ? TIER_BLOCKING : TIER_CACHED);
    if (UNLIKELY(evaluation == NEEDS_DISK)) {
        evaluation = rocks_group_join_with_disk(group, update);
    }
    switch (evaluation) {
    case EVALUATED:
        commit_if_full(group);
        break;
    case NEEDS_DISK:
        rocks_group_warm(group, update);
        break;
    case NEEDS_PREPARING:
        group->warming_count++;
        preparations_add(&group->preparations, update);
        break;
    }
}

static int take_tasks(struct rocks_group *group, struct task *task);

static void take_prepared(struct rocks_group *group, struct store_update *update)
{
    if (!preparations_take_back(&group->preparations, update)) {
        return; /* a row has changed meanwhile: it is prepared again */
    }
    assert(group->warming_count > 0);
    group->warming_count--;
    if (!update->is_prepared) {
        rocks_group_join_in_any_case(group, update);
    } else {
        enum evaluation evaluation = rocks_group_join(group, update, TIER_BLOCKING);
        assert(evaluation == EVALUATED);
    }
    commit_if_full(group);
    take_tasks(group, preparations_unpark(&group->preparations));
}

static void take_update(struct rocks_group *group, struct task *task)
{
    struct store_update *update = CONTAINER_OF(task, struct store_update, task);
    if (UNLIKELY(preparations_park(&group->preparations, update))) {
        return;
    }
    if (UNLIKELY(preparations_is_back(task))) {
        take_prepared(group, update);
    } else {
        take_new(group, update);
    }
}

static void take_task(struct rocks_group *group, struct task *task)
{
    struct rocks *rocks = group->rocks;
    if (UNLIKELY(task == &rocks->last_task)) {
        group->closing = true;
    } else if (UNLIKELY(rocks_is_drop(task))) {
        rocks_note_drop(rocks, task);
    } else {
        take_update(group, task);
    }
}

static int take_tasks(struct rocks_group *group, struct task *task)
{
    int count = 0;
    while (task != NULL) {
        struct task *next = task->next;
        take_task(group, task);
        task = next;
        count++;
    }
    return count;
}

/* Waits briefly for more updates: clients of the last group usually send their next update at once,
 * and one fsync for all costs less than one for the first of them and another for the rest. */
static void gather(struct rocks_group *group)
{
    struct inbox *updates = &group->rocks->updates;
    int64_t until_ns = group->last_ns + MIN(group->last_took_ns / 2, gather_ns_max);
    int missing = MIN(group->last_count, GATHERED_MAX) - (int)group->member_count;
    while (missing > 0) {
        int64_t left_ns = until_ns - clock_monotonic_ns();
        struct task *tasks = inbox_take(updates, missing, MAX(left_ns, (int64_t)0));
        missing -= take_tasks(group, tasks);
        if (left_ns <= 0) {
            break;
        }
    }
}

/* Runs one group; the caller has the turn. Resumes writing before rows are read, because the replay
 * may bring back a write that was STORE_UNKNOWN. */
static void run_group(struct rocks_group *group, struct task *tasks)
{
    if (UNLIKELY(group->rocks->health.broken)) {
        preparations_invalidate(&group->preparations);
    }
    rocks_resume(group->rocks);
    take_tasks(group, tasks);
    gather(group);
    rocks_group_commit(group);
    rocks_group_answer(group);
}

void *rocks_committer_main(void *arg)
{
    struct rocks *rocks = arg;
    struct rocks_group *group = rocks->group;
    rocksdb_set_perf_level(rocksdb_disable); /* per thread: RocksDB's counters are not read */
    prctl(PR_SET_TIMERSLACK, 1000);          /* ns; gather() waits less than the default slack */
    pthread_mutex_lock(&rocks->turn);
    while (!group->closing || group->warming_count > 0) {
        int64_t wait_ns = rocks_resume_wait_ns(rocks);
        pthread_mutex_unlock(&rocks->turn);
        struct task *tasks = inbox_take(&rocks->updates, 1, wait_ns);
        pthread_mutex_lock(&rocks->turn);
        run_group(group, tasks);
    }
    pthread_mutex_unlock(&rocks->turn);
    return NULL;
}

/* Carries out an update on the thread that starts it. Returns false, and does nothing, if other
 * updates are queued, or if the update would have to wait for more than its own commit. Also if the
 * disk fails: the committer resumes writing and starts the update again. */
static bool commit_here(struct rocks *rocks, struct store_update *update)
{
    if (!inbox_is_empty(&rocks->updates) || pthread_mutex_trylock(&rocks->turn) != 0) {
        return false;
    }
    struct rocks_group *group = rocks->group;
    bool done = !rocks->health.broken && group->preparations.exclusive == NULL &&
                rocks_group_join(group, update, TIER_CACHED) == EVALUATED &&
                rocks_group_try_commit(group);
    pthread_mutex_unlock(&rocks->turn);
    if (done) {
        update->done(update);
    }
    return done;
}

void rocks_update(struct store *store, struct store_update *update, bool is_alone)
{
    struct rocks *rocks = rocks_of(store);
    update->internal = rocks;
    update->task.run = NULL;
    update->is_prepared = false;
    update->preparation = NULL;
    bool may_block = is_alone && update->home->may_block;
    if (!may_block || !commit_here(rocks, update)) {
        inbox_push(&rocks->updates, &update->task);
    }
}

void rocks_set_clock(struct store *store, struct store_clock clock)
{
    struct rocks *rocks = rocks_of(store);
    pthread_mutex_lock(&rocks->turn);
    rocks->clock = clock;
    pthread_mutex_unlock(&rocks->turn);
}
