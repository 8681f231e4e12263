/* The committer: one thread that runs every write in order. It takes what is queued, evaluates each
 * update against the newest rows and what the group has written so far, writes one batch with
 * one fsync, and hands the answers back. While it waits for the disk the next group gathers. */
#include "base/log.h"
#include "base/mem.h"
#include "store/rocks/overlay.h"
#include "store/rocks/rocks_internal.h"

/* Space 0 is the store's own. */
static const char stamp_key[STORE_PREFIX_LEN] = "\0\0\0\0stamp";

/* A group is cut here, so that the first in it does not wait for thousands. */
enum { GROUP_UPDATES_MAX = 1024 };
static const size_t group_bytes_max = (size_t)8 << 20;

/* What the group adds up before it is written. */
struct group {
    struct rocks *rocks;
    rocksdb_writebatch_t *writes;
    struct store_update *members[GROUP_UPDATES_MAX];
    size_t member_count;
    struct overlay *sums; /* counter key -> int64_t in the group's arena */
    bool stamped;
};

static bool is_dropped(const struct rocks *rocks, uint32_t space)
{
    for (size_t i = 0; i < rocks->dropped_count; i++) {
        if (rocks->dropped[i] == space) {
            return true;
        }
    }
    return false;
}

/* The newest row: written by the group, or in the database. `*pinned` keeps the latter alive. */
static bool read_newest(struct rocks *rocks, struct str key, struct str *out,
                        rocksdb_pinnableslice_t **pinned)
{
    *pinned = NULL;
    *out = STR_NULL;
    if (overlay_get(rocks->overlay, key, out)) {
        return true;
    }
    char *message = NULL;
    *pinned = rocksdb_get_pinned(rocks->db, rocks->read_blocking, key.data, key.len, &message);
    if (rocks_failed(message, "read before write")) {
        return false;
    }
    if (*pinned != NULL) {
        size_t len;
        const char *data = rocksdb_pinnableslice_value(*pinned, &len);
        *out = str_make(data, len);
    }
    return true;
}

static enum store_status evaluate(struct rocks *rocks, struct store_update *update)
{
    for (size_t i = 0; i < update->key_count; i++) {
        if (is_dropped(rocks, store_key_space(update->keys[i]))) {
            return STORE_GONE;
        }
    }
    struct str *rows = ARENA_ARRAY(update->arena, struct str, update->key_count);
    rocksdb_pinnableslice_t **pinned =
        ARENA_ARRAY(update->arena, rocksdb_pinnableslice_t *, update->key_count);
    enum store_status status = STORE_OK;
    for (size_t i = 0; i < update->key_count && status == STORE_OK; i++) {
        if (!read_newest(rocks, update->keys[i], &rows[i], &pinned[i])) {
            status = STORE_FAILED;
        }
    }
    store_batch_start(&rocks->batch, update);
    if (status == STORE_OK && !update->eval(update, rows, &rocks->batch)) {
        status = STORE_NO_WRITE;
    }
    for (size_t i = 0; i < update->key_count; i++) {
        if (pinned[i] != NULL) {
            rocksdb_pinnableslice_destroy(pinned[i]);
        }
    }
    return status;
}

static void add_to_counter(struct group *group, struct str key, int64_t delta)
{
    struct str sum;
    if (!overlay_get(group->sums, key, &sum)) {
        int64_t *fresh = ARENA_NEW(&group->rocks->group_arena, int64_t);
        sum = str_make(fresh, sizeof(*fresh));
        overlay_set(group->sums, arena_copy(&group->rocks->group_arena, key), sum);
    }
    int64_t value;
    memcpy(&value, sum.data, sizeof(value));
    value += delta;
    memcpy((char *)sum.data, &value, sizeof(value));
}

static void append(struct group *group, struct str prefix, struct str value)
{
    char key[STORE_PREFIX_LEN + 8];
    memcpy(key, prefix.data, STORE_PREFIX_LEN);
    uint64_t stamp = ++group->rocks->last_stamp;
    for (int i = 7; i >= 0; i--, stamp >>= 8) {
        key[STORE_PREFIX_LEN + i] = (char)(stamp & 0xFF);
    }
    rocksdb_writebatch_put(group->writes, key, sizeof(key), value.data, value.len);
    group->stamped = true;
}

static void carry_out(struct group *group, const struct batch_op *op)
{
    switch (op->kind) {
    case BATCH_PUT:
        overlay_set(group->rocks->overlay, op->key, op->value);
        /* fallthrough */
    case BATCH_PUT_OWNED:
        rocksdb_writebatch_put(group->writes, op->key.data, op->key.len, op->value.data,
                               op->value.len);
        break;
    case BATCH_ERASE:
        overlay_set(group->rocks->overlay, op->key, STR_NULL);
        /* fallthrough */
    case BATCH_ERASE_OWNED:
        rocksdb_writebatch_delete(group->writes, op->key.data, op->key.len);
        break;
    case BATCH_ADD:
        add_to_counter(group, op->key, op->delta);
        break;
    case BATCH_APPEND:
        append(group, op->key, op->value);
        break;
    }
}

static void join_group(struct group *group, struct store_update *update)
{
    update->status = evaluate(group->rocks, update);
    group->members[group->member_count++] = update;
    if (update->status == STORE_OK) {
        for (size_t i = 0; i < group->rocks->batch.op_count; i++) {
            carry_out(group, &group->rocks->batch.ops[i]);
        }
    }
}

static bool write_counters(struct group *group)
{
    size_t at = 0;
    struct str key;
    struct str sum;
    while (overlay_next(group->sums, &at, &key, &sum)) {
        struct str row;
        rocksdb_pinnableslice_t *pinned;
        if (!read_newest(group->rocks, key, &row, &pinned)) {
            return false;
        }
        int64_t value;
        memcpy(&value, sum.data, sizeof(value));
        value += store_counter_value(row);
        rocksdb_writebatch_put(group->writes, key.data, key.len, (const char *)&value,
                               sizeof(value));
        if (pinned != NULL) {
            rocksdb_pinnableslice_destroy(pinned);
        }
    }
    if (group->stamped) {
        rocksdb_writebatch_put(group->writes, stamp_key, sizeof(stamp_key),
                               (const char *)&group->rocks->last_stamp, sizeof(uint64_t));
    }
    return true;
}

static bool write_group(struct group *group)
{
    bool good = write_counters(group);
    if (good && rocksdb_writebatch_count(group->writes) > 0) {
        char *message = NULL;
        rocksdb_write(group->rocks->db, group->rocks->write_synced, group->writes, &message);
        good = !rocks_failed(message, "write");
    }
    overlay_clear(group->rocks->overlay);
    overlay_clear(group->sums);
    arena_reset(&group->rocks->group_arena);
    rocksdb_writebatch_clear(group->writes);
    group->stamped = false;
    return good;
}

static void answer_at_home(struct task *task)
{
    struct store_update *update = CONTAINER_OF(task, struct store_update, task);
    update->done(update);
}

static void answer(struct store_update *update)
{
    update->task.run = answer_at_home;
    mailbox_post(update->home, &update->task);
}

/* A neighbour's failure must not be ours: each member gets a commit of its own. */
static void commit_one_by_one(struct group *group)
{
    size_t count = group->member_count;
    for (size_t i = 0; i < count; i++) {
        struct store_update *update = group->members[i];
        group->member_count = 0;
        join_group(group, update);
        if (!write_group(group) && update->status == STORE_OK) {
            update->status = STORE_FAILED;
        }
        answer(update);
    }
    group->member_count = 0;
}

static void commit(struct group *group)
{
    if (!write_group(group)) {
        commit_one_by_one(group);
        return;
    }
    for (size_t i = 0; i < group->member_count; i++) {
        answer(group->members[i]);
    }
    group->member_count = 0;
}

static bool is_full(const struct group *group)
{
    size_t bytes;
    rocksdb_writebatch_data(group->writes, &bytes);
    return group->member_count == GROUP_UPDATES_MAX || bytes >= group_bytes_max;
}

/* A task of the queue is an update, or a space to drop. */
struct drop_job {
    struct task task;
    uint32_t space;
};

static void space_range(uint32_t space, char lo[STORE_SPACE_LEN], char hi[STORE_SPACE_LEN])
{
    for (int i = 0; i < STORE_SPACE_LEN; i++) {
        lo[i] = (char)(space >> (24 - 8 * i) & 0xFF);
        hi[i] = (char)((space + 1) >> (24 - 8 * i) & 0xFF);
    }
}

static void forget_space(struct rocks *rocks, uint32_t space)
{
    rocks->dropped = mem_realloc(rocks->dropped, (rocks->dropped_count + 1) * sizeof(uint32_t));
    rocks->dropped[rocks->dropped_count++] = space;
}

static void drop(struct rocks *rocks, uint32_t space)
{
    forget_space(rocks, space);
    char lo[STORE_SPACE_LEN];
    char hi[STORE_SPACE_LEN];
    space_range(space, lo, hi);
    rocksdb_writebatch_t *writes = rocksdb_writebatch_create();
    rocksdb_writebatch_delete_range(writes, lo, sizeof(lo), hi, sizeof(hi));
    char *message = NULL;
    rocksdb_write(rocks->db, rocks->write_synced, writes, &message);
    rocks_failed(message, "drop space");
    rocksdb_writebatch_destroy(writes);
}

static void drop_on_committer(struct task *task)
{
    (void)task; /* only its address matters: see commit_main() */
}

static void *commit_main(void *arg)
{
    struct rocks *rocks = arg;
    struct group *group = mem_zalloc(sizeof(*group));
    group->rocks = rocks;
    group->writes = rocksdb_writebatch_create();
    group->sums = overlay_create();
    struct task *task;
    while ((task = work_queue_pop(&rocks->updates, true)) != NULL) {
        while (task != NULL) {
            struct task *next = task->next;
            if (task->run == drop_on_committer) {
                struct drop_job *job = CONTAINER_OF(task, struct drop_job, task);
                commit(group);
                drop(rocks, job->space);
                mem_free(job);
            } else {
                join_group(group, CONTAINER_OF(task, struct store_update, task));
                if (is_full(group)) {
                    commit(group);
                }
            }
            task = next;
        }
        commit(group);
    }
    overlay_destroy(group->sums);
    rocksdb_writebatch_destroy(group->writes);
    mem_free(group);
    return NULL;
}

void rocks_update(struct store *store, struct store_update *update)
{
    update->task.run = NULL;
    work_queue_push(&rocks_of(store)->updates, &update->task);
}

void rocks_drop_space(struct store *store, uint32_t space)
{
    struct drop_job *job = mem_zalloc(sizeof(*job));
    job->space = space;
    job->task.run = drop_on_committer;
    work_queue_push(&rocks_of(store)->updates, &job->task);
}

static bool load_stamp(struct rocks *rocks, struct err *err)
{
    struct str row;
    rocksdb_pinnableslice_t *pinned;
    if (!read_newest(rocks, str_make(stamp_key, sizeof(stamp_key)), &row, &pinned)) {
        return err_set(err, ERR_INTERNAL, "cannot read the store");
    }
    if (pinned != NULL) {
        memcpy(&rocks->last_stamp, row.data, sizeof(rocks->last_stamp));
        rocksdb_pinnableslice_destroy(pinned);
    }
    return true;
}

bool rocks_commit_start(struct rocks *rocks, struct err *err)
{
    rocks->overlay = overlay_create();
    arena_init(&rocks->group_arena);
    if (!load_stamp(rocks, err)) {
        return false;
    }
    if (pthread_create(&rocks->committer, NULL, commit_main, rocks) != 0) {
        return err_set(err, ERR_INTERNAL, "cannot start a thread");
    }
    rocks->committer_started = true;
    return true;
}

void rocks_commit_stop(struct rocks *rocks)
{
    if (rocks->committer_started) {
        work_queue_close(&rocks->updates);
        pthread_join(rocks->committer, NULL);
    }
    overlay_destroy(rocks->overlay);
    store_batch_finish(&rocks->batch);
    arena_finish(&rocks->group_arena);
    mem_free(rocks->dropped);
}
