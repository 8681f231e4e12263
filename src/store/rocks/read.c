/* Reads: first from the block cache on the caller's thread; what would need the disk goes to a
 * worker and comes back through the caller's mailbox. */
#include "base/mem.h"
#include "store/rocks/rocks_internal.h"

/* What a get holds in RocksDB until its done() has returned. Not in the request's arena: done()
 * may end the request and with it the arena. */
struct held {
    struct rocks *rocks;
    const rocksdb_snapshot_t *snapshot; /* NULL: none */
    size_t count;
    rocksdb_pinnableslice_t *pinned[];
};

enum { HELD_ON_STACK = 4 };
#define HELD_SIZE(count) (sizeof(struct held) + (count) * sizeof(rocksdb_pinnableslice_t *))

/* A read that the cache cannot answer is no failure. */
static bool is_incomplete(const char *message)
{
    return str_starts_with(str_from_c(message), STR("Result incomplete"));
}

static void hold(struct held *held, struct rocks *rocks, const struct store_get *get)
{
    held->rocks = rocks;
    held->snapshot = get->snapshot ? rocksdb_create_snapshot(rocks->db) : NULL;
    held->count = 0;
}

static void let_go(struct held *held)
{
    while (held->count > 0) {
        rocksdb_pinnableslice_destroy(held->pinned[--held->count]);
    }
    if (held->snapshot != NULL) {
        rocksdb_release_snapshot(held->rocks->db, held->snapshot);
    }
}

static bool read_row(struct held *held, struct store_get *get, size_t i,
                     rocksdb_readoptions_t *options)
{
    char *message = NULL;
    rocksdb_pinnableslice_t *pinned =
        rocksdb_get_pinned(held->rocks->db, options, get->keys[i].data, get->keys[i].len, &message);
    get->rows[i] = STR_NULL;
    if (pinned != NULL) {
        held->pinned[held->count++] = pinned;
        size_t len;
        const char *data = rocksdb_pinnableslice_value(pinned, &len);
        get->rows[i] = str_make(data, len);
        return true;
    }
    if (message == NULL) {
        return true;
    }
    if (is_incomplete(message)) {
        rocksdb_free(message);
        return false;
    }
    rocks_failed(message, "read");
    get->status = STORE_FAILED;
    return true;
}

/* False: some row is not in the cache. */
static bool read_rows(struct held *held, struct store_get *get, bool blocking)
{
    struct rocks *rocks = held->rocks;
    rocksdb_readoptions_t *options = blocking ? rocks->read_blocking : rocks->read_cached;
    if (held->snapshot != NULL) {
        options = rocksdb_readoptions_create();
        rocksdb_readoptions_set_snapshot(options, held->snapshot);
        rocksdb_readoptions_set_read_tier(options, blocking ? 0 : 1);
    }
    get->status = STORE_OK;
    bool complete = true;
    for (size_t i = 0; i < get->key_count && complete && get->status == STORE_OK; i++) {
        complete = read_row(held, get, i, options);
    }
    if (held->snapshot != NULL) {
        rocksdb_readoptions_destroy(options);
    }
    return complete;
}

static void finish_get_at_home(struct task *task)
{
    struct store_get *get = CONTAINER_OF(task, struct store_get, task);
    struct held *held = get->internal;
    get->done(get);
    let_go(held);
    mem_free(held);
}

static void get_on_worker(struct task *task)
{
    struct store_get *get = CONTAINER_OF(task, struct store_get, task);
    read_rows(get->internal, get, true);
    task->run = finish_get_at_home;
    mailbox_post(get->home, task);
}

void rocks_get(struct store *store, struct store_get *get)
{
    struct rocks *rocks = rocks_of(store);
    get->rows = ARENA_ARRAY(get->arena, struct str, get->key_count);
    union {
        struct held held;
        char bytes[HELD_SIZE(HELD_ON_STACK)];
    } small;
    bool on_stack = get->key_count <= HELD_ON_STACK;
    struct held *held = on_stack ? &small.held : mem_alloc(HELD_SIZE(get->key_count));
    hold(held, rocks, get);
    bool complete = read_rows(held, get, false);
    if (complete) {
        get->done(get);
    }
    let_go(held);
    if (!on_stack) {
        mem_free(held);
    }
    if (!complete) {
        held = mem_alloc(HELD_SIZE(get->key_count));
        hold(held, rocks, get);
        get->internal = held;
        get->task.run = get_on_worker;
        work_queue_push(&rocks->reads, &get->task);
    }
}

static void seek_first(rocksdb_iterator_t *iter, const struct store_range *range)
{
    if (!str_is_null(range->resume)) { /* a row that was given already: the one behind it */
        rocksdb_iter_seek(iter, range->resume.data, range->resume.len);
        size_t len;
        const char *key = rocksdb_iter_valid(iter) ? rocksdb_iter_key(iter, &len) : NULL;
        if (range->backward) {
            if (key == NULL) {
                rocksdb_iter_seek_for_prev(iter, range->resume.data, range->resume.len);
            } else {
                rocksdb_iter_prev(iter);
            }
        } else if (key != NULL && str_eq(str_make(key, len), range->resume)) {
            rocksdb_iter_next(iter);
        }
        return;
    }
    if (!range->backward) {
        rocksdb_iter_seek(iter, range->lo.data, range->lo.len);
        return;
    }
    rocksdb_iter_seek_for_prev(iter, range->hi.data, range->hi.len);
    size_t len;
    const char *key = rocksdb_iter_valid(iter) ? rocksdb_iter_key(iter, &len) : NULL;
    if (key != NULL && str_cmp(str_make(key, len), range->hi) >= 0) {
        rocksdb_iter_prev(iter); /* hi itself is outside */
    }
}

static bool inside(const struct store_range *range, struct str key)
{
    return range->backward ? str_cmp(key, range->lo) >= 0 : str_cmp(key, range->hi) < 0;
}

/* Gives rows until the range ends. False: the cache has no more; range->resume says where. */
static bool walk(struct rocks *rocks, struct store_range *range, bool blocking)
{
    rocksdb_iterator_t *iter =
        rocksdb_create_iterator(rocks->db, blocking ? rocks->read_blocking : rocks->read_cached);
    struct str last = STR_NULL;
    bool stopped = false;
    for (seek_first(iter, range); !stopped && rocksdb_iter_valid(iter);
         range->backward ? rocksdb_iter_prev(iter) : rocksdb_iter_next(iter)) {
        size_t key_len;
        size_t value_len;
        const char *key = rocksdb_iter_key(iter, &key_len);
        if (!inside(range, str_make(key, key_len))) {
            stopped = true;
            break;
        }
        const char *value = rocksdb_iter_value(iter, &value_len);
        stopped = !range->row(range, str_make(key, key_len), str_make(value, value_len));
        if (!blocking) { /* only then may we have to go on from here */
            if (last.data == NULL || last.len < key_len) {
                last.data = arena_bytes(range->arena, key_len * 2);
            }
            memcpy((char *)last.data, key, key_len);
            last.len = key_len;
        }
    }
    range->status = STORE_OK;
    char *message = NULL;
    if (!stopped) {
        rocksdb_iter_get_error(iter, &message);
    }
    rocksdb_iter_destroy(iter);
    if (message == NULL) {
        return true;
    }
    if (!is_incomplete(message)) {
        rocks_failed(message, "read");
        range->status = STORE_FAILED;
        return true;
    }
    rocksdb_free(message);
    if (last.data != NULL) {
        range->resume = last;
    }
    return false;
}

static void finish_range_at_home(struct task *task)
{
    struct store_range *range = CONTAINER_OF(task, struct store_range, task);
    range->done(range);
}

/* What a worker needs to know of a range. */
struct range_job {
    struct task task;
    struct rocks *rocks;
    struct store_range *range;
};

static void range_on_worker(struct task *task)
{
    struct range_job *job = CONTAINER_OF(task, struct range_job, task);
    struct store_range *range = job->range;
    walk(job->rocks, range, true);
    range->task.run = finish_range_at_home;
    mailbox_post(range->home, &range->task);
}

void rocks_range(struct store *store, struct store_range *range)
{
    struct rocks *rocks = rocks_of(store);
    range->resume = STR_NULL;
    if (walk(rocks, range, false)) {
        range->done(range);
        return;
    }
    struct range_job *job = ARENA_NEW(range->arena, struct range_job);
    job->rocks = rocks;
    job->range = range;
    job->task.run = range_on_worker;
    work_queue_push(&rocks->reads, &job->task);
}

void *rocks_worker_main(void *arg)
{
    struct rocks *rocks = arg;
    struct task *task;
    while ((task = work_queue_pop(&rocks->reads, false)) != NULL) {
        task->run(task);
    }
    return NULL;
}
