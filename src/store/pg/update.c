/* Forms groups of updates. An update that declares a key which a transaction of this process uses
 * waits here, not in the database; the others are put into groups, one transaction each, when a
 * writer is free. I/O thread only, but for pg_update() and pg_drop_space(). */
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "store/pg/pg_internal.h"

/* A declared key of a group under way, and the updates that wait for it. */
struct busy_key {
    struct group *group;
    struct job_list waiting;
};

static void list_init(struct job_list *list)
{
    list->first = NULL;
    list->last = &list->first;
}

static void list_push(struct job_list *list, struct update_job *job)
{
    if (list->last == NULL) {
        list_init(list);
    }
    job->next = NULL;
    *list->last = job;
    list->last = &job->next;
}

static struct update_job *list_pop(struct job_list *list)
{
    struct update_job *job = list->first;
    if (job != NULL) {
        list->first = job->next;
        if (list->first == NULL) {
            list_init(list);
        }
    }
    return job;
}

/* Ending ----------------------------------------------------------------------------------- */

static void finish_on_owner_thread(struct task *task)
{
    struct store_update *update = CONTAINER_OF(task, struct store_update, task);
    update->done(update);
}

void pg_finish_job(struct update_job *job, enum store_status status)
{
    struct store_update *update = job->update;
    update->status = status;
    struct pg *pg = update->internal;
    update->task.run = finish_on_owner_thread;
    mailbox_post(update->home, &update->task);
    pg_request_ended(pg);
}

/* Forming groups --------------------------------------------------------------------------- */

static bool is_gone(const struct pg *pg, const struct store_update *update)
{
    for (size_t i = 0; i < update->key_count; i++) {
        if (UNLIKELY(space_set_has(&pg->gone, store_key_space(update->keys[i])))) {
            return true;
        }
    }
    return false;
}

static bool has_long_key(const struct store_update *update)
{
    for (size_t i = 0; i < update->key_count; i++) {
        if (update->keys[i].len > PG_KEY_MAX) {
            return true;
        }
    }
    return false;
}

/* Queues an update behind a key that another group uses. False: all its keys are free. */
static bool waits_for_key(struct pg *pg, const struct group *group, struct update_job *job)
{
    const struct store_update *update = job->update;
    for (size_t i = 0; i < update->key_count; i++) {
        struct busy_key *busy = map_get(&pg->busy, update->keys[i]);
        if (busy != NULL && busy->group != group) {
            list_push(&busy->waiting, job);
            return true;
        }
    }
    return false;
}

/* A group that has used the update may still be under way, and borrows its keys: then the update
 * waits for the group, and cannot end before. */
void pg_retry_job(struct pg *pg, struct update_job *job)
{
    job->attempts++;
    if (!waits_for_key(pg, NULL, job)) {
        list_push(&pg->pending, job);
    }
}

static void add_job(struct pg *pg, struct group *group, struct update_job *job)
{
    const struct store_update *update = job->update;
    group->jobs[group->job_count++] = job;
    for (size_t i = 0; i < update->key_count; i++) {
        struct group_row *row = group_row_of(group, update->keys[i]);
        if (row->is_declared) {
            continue;
        }
        row->is_declared = true;
        struct busy_key *busy = mem_zalloc(sizeof(*busy));
        busy->group = group;
        map_put(&pg->busy, update->keys[i], busy);
    }
}

/* Whether the update may join a group that is not empty. */
static bool fits(const struct group *group, const struct update_job *job)
{
    return !job->is_alone && !group->jobs[0]->is_alone &&
           group->row_count + job->update->key_count <= PG_KEYS_MAX;
}

static void fill_group(struct pg *pg, struct group *group)
{
    while (group->job_count < PG_GROUP_MAX && pg->pending.first != NULL) {
        struct update_job *job = pg->pending.first;
        if (group->job_count > 0 && !fits(group, job)) {
            return;
        }
        job = list_pop(&pg->pending);
        if (is_gone(pg, job->update)) {
            pg_finish_job(job, STORE_GONE);
        } else if (has_long_key(job->update)) {
            log_write(LOG_ERROR, "store",
                      "a key of more than %d bytes does not fit PostgreSQL's index", PG_KEY_MAX);
            pg_finish_job(job, STORE_FAILED);
        } else if (!waits_for_key(pg, group, job)) {
            add_job(pg, group, job);
        }
    }
}

static struct conn *free_writer(struct pg *pg)
{
    for (int i = 0; i < pg->conn_count; i++) {
        struct conn *conn = &pg->conns[i];
        if (conn->is_writer && conn->state == CONN_UP && conn->group == NULL) {
            return conn;
        }
    }
    return NULL;
}

static void begin(struct pg *pg, struct conn *conn, struct group *group)
{
    (void)pg;
    group->conn = conn;
    conn->group = group;
    group_begin(group);
}

/* Writes drops in a transaction of their own. No group starts before it is committed, so every
 * later commit implies that the drop is durable. */
static void start_drops(struct pg *pg, struct conn *conn)
{
    struct group *group = group_create(pg);
    group->drops = pg->drops;
    group->drop_count = pg->drop_count;
    pg->drops = NULL;
    pg->drop_count = 0;
    pg->drop_capacity = 0;
    pg->is_dropping = true;
    begin(pg, conn, group);
}

void pg_start_groups(struct pg *pg)
{
    struct conn *conn;
    while (!pg->is_dropping && (pg->pending.first != NULL || pg->drop_count > 0) &&
           (conn = free_writer(pg)) != NULL) {
        if (pg->drop_count > 0) {
            if (clock_monotonic_ns() >= pg->drop_after_ns) {
                start_drops(pg, conn);
            }
            return;
        }
        struct group *group = group_create(pg);
        fill_group(pg, group);
        if (group->job_count == 0) {
            group_destroy(group);
            return;
        }
        begin(pg, conn, group);
    }
}

/* Updates that waited for the keys of the group can start now. */
void pg_release_keys(struct group *group)
{
    struct pg *pg = group->pg;
    struct job_list released;
    if (group->is_released) {
        return;
    }
    group->is_released = true;
    list_init(&released);
    for (size_t i = 0; i < group->row_count; i++) {
        if (!group->rows[i]->is_declared) {
            continue;
        }
        struct busy_key *busy = map_remove(&pg->busy, group->rows[i]->key);
        assert(busy != NULL && busy->group == group);
        struct update_job *job;
        while ((job = list_pop(&busy->waiting)) != NULL) {
            list_push(&released, job);
        }
        mem_free(busy);
    }
    if (released.first != NULL) {
        *released.last = pg->pending.first;
        if (pg->pending.first == NULL) {
            pg->pending.last = released.last;
        }
        pg->pending.first = released.first;
    }
}

/* Drops that were not committed are tried again. */
static void end_drops(struct pg *pg, struct group *group)
{
    pg->is_dropping = false;
    if (group->is_committed) {
        members_note_drop(pg);
        return;
    }
    pg->drop_after_ns = clock_monotonic_ns() + (int64_t)100 * 1000 * 1000;
    for (size_t i = 0; i < group->drop_count; i++) {
        if (pg->drop_count == pg->drop_capacity) {
            pg->drop_capacity = MAX(pg->drop_capacity * 2, (size_t)16);
            pg->drops = mem_realloc(pg->drops, pg->drop_capacity * sizeof(*pg->drops));
        }
        pg->drops[pg->drop_count++] = group->drops[i];
    }
}

void pg_group_ended(struct group *group)
{
    struct pg *pg = group->pg;
    pg_release_keys(group);
    if (group->drop_count > 0) {
        end_drops(pg, group);
    }
    group->conn->group = NULL;
    group_destroy(group);
}

void pg_expire(struct pg *pg, int64_t now_ns)
{
    bool has_writer = false;
    for (int i = 0; i < pg->conn_count; i++) {
        struct conn *conn = &pg->conns[i];
        has_writer = has_writer || (conn->is_writer && conn->state == CONN_UP);
        struct group *group = conn->group;
        if (group != NULL && group->phase == GROUP_DECIDING && conn->state == CONN_DOWN &&
            now_ns >= group->deadline_ns) {
            group_give_up(group);
        }
    }
    if (has_writer && !pg->is_dropping && pg->drop_count == 0) {
        return; /* else updates do not start */
    }
    struct job_list left;
    list_init(&left);
    struct update_job *job;
    while ((job = list_pop(&pg->pending)) != NULL) {
        if (now_ns >= job->deadline_ns) {
            pg_finish_job(job, STORE_FAILED);
        } else {
            list_push(&left, job);
        }
    }
    if (left.first != NULL) {
        pg->pending = left;
    } else {
        list_init(&pg->pending);
    }
}

/* Starting --------------------------------------------------------------------------------- */

/* On the I/O thread, which alone allocates from the arenas of updates: updates of one
 * store_update_all() may share an arena, so the thread that starts them must not. */
static void take_update(struct task *task)
{
    struct store_update *update = CONTAINER_OF(task, struct store_update, task);
    struct pg *pg = update->internal;
    struct update_job *job = ARENA_NEW(update->arena, struct update_job);
    *job = (struct update_job){.update = update};
    job->deadline_ns = clock_monotonic_ns() + PG_PATIENCE_NS;
    list_push(&pg->pending, job);
}

void pg_update(struct store *store, struct store_update *update, bool is_alone)
{
    (void)is_alone;
    struct pg *pg = pg_of(store);
    update->internal = pg;
    update->is_prepared = false;
    update->task.run = take_update;
    atomic_fetch_add_explicit(&pg->under_way, 1, memory_order_relaxed);
    pg_post(pg, &update->task);
}

struct drop_task {
    struct task task;
    struct pg *pg;
    uint32_t space;
};

static void take_drop(struct task *task)
{
    struct drop_task *drop = CONTAINER_OF(task, struct drop_task, task);
    struct pg *pg = drop->pg;
    if (pg->drop_count == pg->drop_capacity) {
        pg->drop_capacity = MAX(pg->drop_capacity * 2, (size_t)16);
        pg->drops = mem_realloc(pg->drops, pg->drop_capacity * sizeof(*pg->drops));
    }
    pg->drops[pg->drop_count++] = drop->space;
    mem_free(drop);
}

void pg_drop_space(struct store *store, uint32_t space)
{
    struct pg *pg = pg_of(store);
    if (space_set_has(&pg->gone, space)) {
        return; /* dropped before: it is durable, or part of the next transaction */
    }
    space_set_add(&pg->gone, space);
    struct drop_task *drop = mem_alloc(sizeof(*drop));
    *drop = (struct drop_task){.task.run = take_drop, .pg = pg, .space = space};
    pg_post(pg, &drop->task);
}
