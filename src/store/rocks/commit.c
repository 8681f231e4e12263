/* The committer: a thread that carries out all updates. It takes the queued updates, evaluates each
 * with the newest rows and the rows that the group has written so far, writes the group as one
 * batch with one fsync, and answers the updates. Updates that arrive meanwhile form the next group.
 *
 * The committer does not read from the disk: if the rows of an update are not in the cache, a
 * worker reads them into the cache first, and the update is queued again. An update that is
 * expensive to evaluate is prepared by a slow thread first: see prepare.h. */
#include <sys/prctl.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/mem.h"
#include "store/batch_internal.h"
#include "store/rocks/counters.h"
#include "store/rocks/overlay.h"
#include "store/rocks/prepare.h"
#include "store/rocks/rocks_internal.h"

/* The largest group, and the largest number of updates for which gather() waits. */
enum { GROUP_UPDATES_MAX = 1024, GATHERED_MAX = 8 };
static const size_t group_bytes_max = (size_t)8 << 20;
/* The longest time that gather() waits for more updates. */
static const int64_t gather_ns_max = 1000000;
/* A larger batch is freed after the commit, a smaller one is reused. */
static const size_t kept_bytes_max = (size_t)1 << 20;

struct group {
    struct rocks *rocks;
    rocksdb_writebatch_t *writes;
    struct overlay *newest; /* rows that the group has written */
    struct counters *counters;
    bool is_lost; /* a counter could not be read: the group cannot be written */
    bool stamped;
    bool timed; /* an update has used a time that is not stored yet, perhaps without writing */
    struct store_update *members[GROUP_UPDATES_MAX];
    size_t member_count;
    size_t warming_count; /* updates that a worker or a slow thread has */
    struct preparations preparations;
    bool must_evaluate; /* expensive updates are evaluated here, not prepared */
    bool closing;

    /* Of the last commit: number of updates, when it ended, and how long it took. */
    int last_count;
    int64_t last_ns;
    int64_t last_took_ns;

    /* Of the update that is being evaluated. */
    struct store_batch batch;
    struct str *rows;
    rocksdb_pinnableslice_t **pins;
    size_t row_capacity;
};

/* Evaluating ------------------------------------------------------------------------------- */

static enum read_result read_newest(struct group *group, struct str key, enum tier tier,
                                    struct str *out, rocksdb_pinnableslice_t **out_pin)
{
    struct rocks *rocks = group->rocks;
    *out_pin = NULL;
    if (overlay_get(group->newest, key, out)) {
        return READ_OK;
    }
    if (UNLIKELY(rocks->db == NULL)) {
        return READ_FAILED;
    }
    return rocks_read(rocks, rocks->db,
                      tier == TIER_CACHED ? rocks->read_cached : rocks->read_blocking, key, out,
                      out_pin);
}

static void need_rows(struct group *group, size_t count)
{
    if (count > group->row_capacity) {
        group->row_capacity = MAX(count, (size_t)128);
        mem_free(group->rows);
        mem_free(group->pins);
        group->rows = mem_alloc(group->row_capacity * sizeof(*group->rows));
        group->pins = mem_alloc(group->row_capacity * sizeof(*group->pins));
    }
}

/* Whether the update is to be prepared by a slow thread, given the rows that were read so far. */
static bool is_expensive(const struct group *group, const struct store_update *update,
                         size_t row_bytes)
{
    return update->prepare != NULL && preparations_wants(update, row_bytes) &&
           !group->must_evaluate && !group->rocks->health.broken;
}

/* Reads the declared rows. Stops when one cannot be read, or when they show that the update is
 * expensive: then the result is READ_OK with fewer rows than keys. */
static enum read_result read_declared(struct group *group, const struct store_update *update,
                                      enum tier tier, size_t *out_count, bool *out_expensive)
{
    need_rows(group, update->key_count);
    enum read_result result = READ_OK;
    size_t bytes = 0;
    size_t i = 0;
    *out_expensive = false;
    for (; i < update->key_count && result == READ_OK && !*out_expensive; i++) {
        result = read_newest(group, update->keys[i], tier, &group->rows[i], &group->pins[i]);
        bytes += group->rows[i].len;
        *out_expensive = is_expensive(group, update, bytes);
    }
    *out_count = i;
    return result;
}

static bool is_gone(const struct rocks *rocks, const struct store_update *update)
{
    for (size_t i = 0; i < update->key_count; i++) {
        if (UNLIKELY(space_set_has(&rocks->gone, store_key_space(update->keys[i])))) {
            return true;
        }
    }
    return false;
}

enum evaluation {
    EVALUATED,
    NEEDS_DISK,      /* rows are not in the cache */
    NEEDS_PREPARING, /* too expensive for the committer */
};

/* Evals run one after the other, so times that grow with each of them satisfy rule 8. */
static void set_time(struct group *group, struct store_update *update)
{
    struct rocks *rocks = group->rocks;
    rocks->last_time_ns = MAX(rocks->last_time_ns + 1, clock_wall_us() * 1000);
    update->time_ns = rocks->last_time_ns;
    group->timed = true;
}

static void run_eval(struct group *group, struct store_update *update, const struct str *rows)
{
    if (update->wants_time) {
        set_time(group, update);
    }
    store_batch_start(&group->batch, update);
    bool writes = update->eval(update, rows, &group->batch);
    update->status = writes ? STORE_OK : STORE_NO_WRITE;
}

static enum evaluation evaluate_rows(struct group *group, struct store_update *update,
                                     enum tier tier)
{
    size_t read_count;
    bool expensive;
    enum read_result result = read_declared(group, update, tier, &read_count, &expensive);
    if (UNLIKELY(result != READ_OK)) {
        update->status = STORE_FAILED;
    } else if (LIKELY(!expensive)) {
        run_eval(group, update, group->rows);
    }
    for (size_t i = 0; i < read_count; i++) {
        if (group->pins[i] != NULL) {
            rocksdb_pinnableslice_destroy(group->pins[i]);
        }
    }
    return result == READ_INCOMPLETE ? NEEDS_DISK : expensive ? NEEDS_PREPARING : EVALUATED;
}

/* If EVALUATED, sets update->status, and fills group->batch if that is STORE_OK. */
static enum evaluation evaluate(struct group *group, struct store_update *update, enum tier tier)
{
    if (is_gone(group->rocks, update)) {
        update->status = STORE_GONE;
        return EVALUATED;
    }
    if (UNLIKELY(update->is_prepared)) {
        run_eval(group, update, NULL);
        return EVALUATED;
    }
    return evaluate_rows(group, update, tier);
}

/* Warming ---------------------------------------------------------------------------------- */

static void run_warmed_update(struct task *task)
{
    (void)task; /* never called: as task->run it marks an update that a worker has */
}

static void warm_on_worker(struct task *task)
{
    struct store_update *update = CONTAINER_OF(task, struct store_update, task);
    struct rocks *rocks = update->internal;
    rocksdb_t *db = gate_enter(&rocks->gate);
    int64_t start_ns = clock_monotonic_ns();
    if (db != NULL) {
        for (size_t i = 0; i < update->key_count; i++) {
            struct str row;
            rocksdb_pinnableslice_t *pin;
            if (rocks_read(rocks, db, rocks->read_blocking, update->keys[i], &row, &pin) !=
                READ_OK) {
                break; /* the committer reads the row again and handles the error */
            }
            if (pin != NULL) {
                rocksdb_pinnableslice_destroy(pin);
            }
        }
        read_speed_note(&rocks->read_speed, clock_monotonic_ns() - start_ns);
        gate_leave(&rocks->gate);
    }
    task->run = run_warmed_update;
    inbox_push(&rocks->updates, task);
}

static void send_to_worker(struct group *group, struct store_update *update)
{
    group->warming_count++;
    update->task.run = warm_on_worker;
    work_queue_push(&group->rocks->reads, &update->task);
}

/* Joining a group -------------------------------------------------------------------------- */

static void add_to_counter(struct group *group, struct str key, struct store_count delta)
{
    struct counter *counter = counters_find(group->counters, key);
    if (UNLIKELY(counter == NULL)) {
        struct str row;
        rocksdb_pinnableslice_t *pin;
        if (read_newest(group, key, TIER_BLOCKING, &row, &pin) != READ_OK) {
            group->is_lost = true;
            return;
        }
        counter = counters_learn(group->counters, key, row);
        if (pin != NULL) {
            rocksdb_pinnableslice_destroy(pin);
        }
    }
    counters_add(group->counters, counter, delta);
}

static void append(struct group *group, struct str prefix, struct str value)
{
    char key[STORE_PREFIX_LEN + 8];
    memcpy(key, prefix.data, STORE_PREFIX_LEN);
    uint64_t stamp = ++group->rocks->last_stamp;
    put_u64_be(key + STORE_PREFIX_LEN, stamp);
    rocksdb_writebatch_put(group->writes, key, sizeof(key), value.data, value.len);
    group->stamped = true;
}

static void carry_out(struct group *group, const struct batch_op *op)
{
    if (UNLIKELY(space_set_has(&group->rocks->gone, store_key_space(op->key)))) {
        return;
    }
    switch (op->kind) {
    case BATCH_PUT:
    case BATCH_PUT_OWNED:
        preparations_note_write(&group->preparations, op->key);
        overlay_set(group->newest, op->key, op->value);
        counters_replace(group->counters, op->key, op->value);
        rocksdb_writebatch_put(group->writes, op->key.data, op->key.len, op->value.data,
                               op->value.len);
        break;
    case BATCH_ERASE:
    case BATCH_ERASE_OWNED:
    case BATCH_ERASE_COUNTER:
        preparations_note_write(&group->preparations, op->key);
        overlay_set(group->newest, op->key, STR_NULL);
        counters_replace(group->counters, op->key, STR_NULL);
        rocksdb_writebatch_delete(group->writes, op->key.data, op->key.len);
        break;
    case BATCH_ADD:
        add_to_counter(group, op->key, op->delta);
        break;
    case BATCH_APPEND:
        append(group, op->key, op->value);
        break;
    case BATCH_ADVANCE:
        /* A single process appends in the order of prefixes, so only the stamp must be moved. */
        group->stamped = group->stamped || op->stamp > group->rocks->last_stamp;
        group->rocks->last_stamp = MAX(group->rocks->last_stamp, op->stamp);
        break;
    }
}

/* Adds an update to the group, if it is EVALUATED. */
static enum evaluation join(struct group *group, struct store_update *update, enum tier tier)
{
    enum evaluation evaluation = evaluate(group, update, tier);
    if (evaluation != EVALUATED) {
        return evaluation;
    }
    group->members[group->member_count++] = update;
    if (reserve_is_released(&group->rocks->reserve) && update->status == STORE_OK &&
        !reserve_accepts(&group->batch)) {
        update->status = STORE_FAILED;
    }
    if (update->status == STORE_OK) {
        for (size_t i = 0; i < group->batch.op_count; i++) {
            carry_out(group, &group->batch.ops[i]);
        }
    }
    return EVALUATED;
}

/* As join(), but reads rows from files if that is quick at present. NEEDS_DISK: it is not, so a
 * worker must read the rows first. */
static enum evaluation join_with_disk(struct group *group, struct store_update *update)
{
    struct read_speed *speed = &group->rocks->read_speed;
    if (!read_speed_is_quick(speed)) {
        return NEEDS_DISK;
    }
    int64_t start_ns = clock_monotonic_ns();
    enum evaluation evaluation = join(group, update, TIER_BLOCKING);
    read_speed_note(speed, clock_monotonic_ns() - start_ns);
    return evaluation;
}

/* Adds an update that could not be prepared, or whose group could not be written; reads from the
 * disk if need be. */
static void join_in_any_case(struct group *group, struct store_update *update)
{
    update->is_prepared = false;
    group->must_evaluate = true;
    enum evaluation evaluation = join(group, update, TIER_BLOCKING);
    group->must_evaluate = false;
    assert(evaluation == EVALUATED);
}

/* Writing ---------------------------------------------------------------------------------- */

static void write_counters(struct group *group)
{
    for (struct counter *counter = counters_listed(group->counters); counter != NULL;
         counter = counter->next_listed) {
        if (counter->changed) {
            char row[STORE_COUNT_LEN];
            store_count_encode(counter->value, row);
            rocksdb_writebatch_put(group->writes, counter->key.data, counter->key.len, row,
                                   sizeof(row));
        }
    }
}

static void write_number(struct group *group, const char *name, uint64_t number)
{
    char key[STORE_PREFIX_LEN];
    rocks_own_key(key, name);
    char row[8];
    put_u64_le(row, number);
    rocksdb_writebatch_put(group->writes, key, sizeof(key), row, sizeof(row));
}

static enum written write_all(struct group *group)
{
    struct rocks *rocks = group->rocks;
    rocks_write_drops(rocks, group->writes);
    if (UNLIKELY(group->is_lost)) {
        return NOT_WRITTEN;
    }
    write_counters(group);
    if (group->stamped) {
        write_number(group, "stamp", group->rocks->last_stamp);
    }
    if (rocksdb_writebatch_count(group->writes) == 0) {
        return WRITTEN;
    }
    if (group->timed) {
        write_number(group, "time", (uint64_t)group->rocks->last_time_ns);
    }
    if (UNLIKELY(rocks->health.broken)) {
        return NOT_WRITTEN;
    }
    enum written written = rocks_write(rocks, group->writes);
    if (written == WRITTEN) {
        rocks_drops_written(rocks);
        group->timed = false;
    }
    return written;
}

static enum written write_group(struct group *group)
{
    enum written written = write_all(group);
    if (written == WRITTEN) {
        counters_settle(group->counters);
    } else {
        counters_forget(group->counters);
    }
    return written;
}

/* Clears what the updates of the group have written, but not the list of updates. */
static void clear(struct group *group)
{
    overlay_clear(group->newest);
    group->is_lost = false;
    group->stamped = false;
    size_t bytes;
    rocksdb_writebatch_data(group->writes, &bytes);
    if (UNLIKELY(bytes > kept_bytes_max)) {
        rocksdb_writebatch_destroy(group->writes);
        group->writes = rocksdb_writebatch_create();
    } else {
        rocksdb_writebatch_clear(group->writes);
    }
}

/* Answering -------------------------------------------------------------------------------- */

static void answer_at_home(struct task *task)
{
    struct store_update *update = CONTAINER_OF(task, struct store_update, task);
    update->done(update);
}

/* Posts all updates of one home as one list, so that its thread is woken once. */
static void answer_home(struct group *group, size_t first)
{
    struct mailbox *home = group->members[first]->home;
    struct task *newest = NULL;
    struct task *oldest = &group->members[first]->task;
    for (size_t i = first; i < group->member_count; i++) {
        struct store_update *update = group->members[i];
        if (update != NULL && update->home == home) {
            update->task.run = answer_at_home;
            update->task.next = newest;
            newest = &update->task;
            group->members[i] = NULL;
        }
    }
    mailbox_post_list(home, newest, oldest);
}

static void answer_all(struct group *group)
{
    for (size_t i = 0; i < group->member_count; i++) {
        if (group->members[i] != NULL) {
            answer_home(group, i);
        }
    }
    group->member_count = 0;
}

/* Evaluates one update again and commits it alone. */
static enum written commit_alone(struct group *group, struct store_update *update)
{
    clear(group);
    group->member_count = 0;
    rocks_repair(group->rocks);
    join_in_any_case(group, update);
    return write_group(group);
}

/* A group could not be written. Commits each update alone, because another one may have caused the
 * failure, and tries a second time if the first attempt was not the first record of its segment.
 * Each update is evaluated again, also one that did not want to write: it may have read rows of the
 * group that were never written. */
static void commit_one_by_one(struct group *group)
{
    struct rocks *rocks = group->rocks;
    size_t count = group->member_count;
    if (count == 0) {
        return;
    }
    struct store_update **members = mem_alloc(count * sizeof(*members));
    memcpy(members, group->members, count * sizeof(*members));
    for (size_t i = 0; i < count; i++) {
        bool fresh = rocks->health.broken || wal_is_fresh(rocks->wal);
        enum written written = commit_alone(group, members[i]);
        if (written == NOT_WRITTEN && !fresh) {
            written = commit_alone(group, members[i]);
        }
        if (written != WRITTEN && members[i]->status == STORE_OK) {
            members[i]->status = written == NOT_WRITTEN ? STORE_FAILED : STORE_UNKNOWN;
        }
    }
    memcpy(group->members, members, count * sizeof(*members));
    group->member_count = count;
    mem_free(members);
}

/* It is not known whether the group was written. All its updates are STORE_UNKNOWN, also those that
 * did not want to write: they may have read rows of the group. */
static void leave_undecided(struct group *group)
{
    for (size_t i = 0; i < group->member_count; i++) {
        struct store_update *update = group->members[i];
        if (update->status == STORE_OK) {
            update->status = STORE_UNKNOWN;
        } else if (update->status == STORE_NO_WRITE) {
            update->status = STORE_FAILED;
        }
    }
}

/* Writes the group and sets the status of each update. The caller answers them. */
static void commit(struct group *group)
{
    if (group->member_count == 0 && group->rocks->drop_count == 0) {
        preparations_start(&group->preparations);
        return;
    }
    int64_t start_ns = clock_monotonic_ns();
    group->last_count = (int)group->member_count;
    switch (write_group(group)) {
    case WRITTEN:
        break;
    case NOT_WRITTEN:
        preparations_invalidate(&group->preparations);
        commit_one_by_one(group);
        break;
    case PERHAPS_WRITTEN:
        preparations_invalidate(&group->preparations);
        leave_undecided(group);
        break;
    }
    clear(group);
    preparations_start(&group->preparations);
    group->last_ns = clock_monotonic_ns();
    group->last_took_ns = group->last_ns - start_ns;
}

static bool is_full(const struct group *group)
{
    size_t bytes;
    rocksdb_writebatch_data(group->writes, &bytes);
    return group->member_count == GROUP_UPDATES_MAX || bytes >= group_bytes_max;
}

/* The thread ------------------------------------------------------------------------------- */

static void commit_if_full(struct group *group)
{
    if (is_full(group)) {
        commit(group);
        answer_all(group);
    }
}

static void take_new(struct group *group, struct store_update *update)
{
    bool warmed = update->task.run == run_warmed_update;
    group->warming_count -= warmed;
    enum evaluation evaluation = join(group, update, warmed ? TIER_BLOCKING : TIER_CACHED);
    if (UNLIKELY(evaluation == NEEDS_DISK)) {
        evaluation = join_with_disk(group, update);
    }
    switch (evaluation) {
    case EVALUATED:
        commit_if_full(group);
        break;
    case NEEDS_DISK:
        send_to_worker(group, update);
        break;
    case NEEDS_PREPARING:
        group->warming_count++;
        preparations_add(&group->preparations, update);
        break;
    }
}

static int take_tasks(struct group *group, struct task *task);

static void take_prepared(struct group *group, struct store_update *update)
{
    if (!preparations_take_back(&group->preparations, update)) {
        return; /* a row has changed meanwhile: it is prepared again */
    }
    group->warming_count--;
    if (!update->is_prepared) {
        join_in_any_case(group, update);
    } else {
        enum evaluation evaluation = join(group, update, TIER_BLOCKING);
        assert(evaluation == EVALUATED);
    }
    commit_if_full(group);
    take_tasks(group, preparations_unpark(&group->preparations));
}

static void take_update(struct group *group, struct task *task)
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

static void take_task(struct group *group, struct task *task)
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

static int take_tasks(struct group *group, struct task *task)
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
static void gather(struct group *group)
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

struct group *rocks_group_create(struct rocks *rocks)
{
    struct group *group = mem_zalloc(sizeof(*group));
    group->rocks = rocks;
    group->writes = rocksdb_writebatch_create();
    group->newest = overlay_create();
    group->counters = counters_create();
    preparations_init(&group->preparations, rocks);
    return group;
}

void rocks_group_destroy(struct group *group)
{
    store_batch_finish(&group->batch);
    preparations_finish(&group->preparations);
    mem_free(group->rows);
    mem_free(group->pins);
    counters_destroy(group->counters);
    overlay_destroy(group->newest);
    rocksdb_writebatch_destroy(group->writes);
    mem_free(group);
}

/* Runs one group; the caller has the turn. Repairs the database before rows are read, because the
 * repair may bring back a write that was STORE_UNKNOWN. */
static void run_group(struct group *group, struct task *tasks)
{
    if (UNLIKELY(group->rocks->health.broken)) {
        preparations_invalidate(&group->preparations);
    }
    rocks_repair(group->rocks);
    take_tasks(group, tasks);
    gather(group);
    commit(group);
    answer_all(group);
}

void *rocks_committer_main(void *arg)
{
    struct rocks *rocks = arg;
    struct group *group = rocks->group;
    rocksdb_set_perf_level(rocksdb_disable); /* per thread: RocksDB's counters are not read */
    prctl(PR_SET_TIMERSLACK, 1000);          /* ns; gather() waits less than the default slack */
    pthread_mutex_lock(&rocks->turn);
    while (!group->closing || group->warming_count > 0) {
        int64_t wait_ns = rocks_repair_wait_ns(rocks);
        pthread_mutex_unlock(&rocks->turn);
        struct task *tasks = inbox_take(&rocks->updates, 1, wait_ns);
        pthread_mutex_lock(&rocks->turn);
        run_group(group, tasks);
    }
    pthread_mutex_unlock(&rocks->turn);
    return NULL;
}

/* Carries out an update on the thread that starts it. Returns false, and does nothing, if other
 * updates are queued, if the update would have to wait for more than its own commit, or if the
 * thread is inside the gate: a failed commit would wait until it leaves. */
static bool commit_here(struct rocks *rocks, struct store_update *update)
{
    if (gate_thread_is_inside() || !inbox_is_empty(&rocks->updates) ||
        pthread_mutex_trylock(&rocks->turn) != 0) {
        return false;
    }
    struct group *group = rocks->group;
    bool joined = !rocks->health.broken && group->preparations.exclusive == NULL &&
                  join(group, update, TIER_CACHED) == EVALUATED;
    if (joined) {
        commit(group);
        group->member_count = 0;
        if (UNLIKELY(rocks->health.broken)) {
            inbox_nudge(&rocks->updates); /* the committer waits for the disk and repairs */
        }
    }
    pthread_mutex_unlock(&rocks->turn);
    if (joined) {
        update->done(update);
    }
    return joined;
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

/* Reads a number from a row of space 0; 0 if the row is absent. */
static bool load_number(struct rocks *rocks, const char *name, uint64_t *out, struct err *err)
{
    char key[STORE_PREFIX_LEN];
    rocks_own_key(key, name);
    struct str row;
    rocksdb_pinnableslice_t *pin;
    *out = 0;
    if (rocks_read(rocks, rocks->db, rocks->read_blocking, str_make(key, sizeof(key)), &row,
                   &pin) != READ_OK) {
        return err_set(err, ERR_INTERNAL, "cannot read the store in %s", rocks->path);
    }
    if (pin != NULL) {
        assert(row.len == 8);
        *out = get_u64_le(row.data);
        rocksdb_pinnableslice_destroy(pin);
    }
    return true;
}

bool rocks_load_numbers(struct rocks *rocks, struct err *err)
{
    uint64_t time_ns = 0;
    bool ok = load_number(rocks, "stamp", &rocks->last_stamp, err) &&
              load_number(rocks, "time", &time_ns, err);
    rocks->last_time_ns = (int64_t)time_ns;
    return ok;
}
