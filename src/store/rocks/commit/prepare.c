/* Prepares expensive updates on slow threads: see prepare.h. Called by the committer. Only
 * prepare_on_slow_thread() runs on a slow thread; while a slow thread has a preparation the
 * committer accesses only its is_stale. */
#include "store/rocks/commit/prepare.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "store/rocks/reads/reads.h"
#include "store/work.h"

/* Updates of more bytes are not evaluated by the committer, whatever their weight. */
static const size_t row_bytes_max = (size_t)1 << 20;
/* Time slice of a task on a slow thread. */
static const int64_t slice_ns = 2000000;

enum { BUCKETS_MIN = 256, ATTEMPTS_MAX = 3 };

/* tests/histories builds a server with this bug, which its checker must find: updates that were
 * prepared on rows that have changed since are evaluated all the same. */
#ifdef PLANT_OVERLOOKED_WRITES
enum { OVERLOOKS_WRITES = true };
#else
enum { OVERLOOKS_WRITES = false };
#endif

struct watch {
    struct watch *next;
    struct str key;
    struct preparation *owner;
};

enum progress { ADDED, STARTED };

struct preparation {
    struct preparation *next;
    struct preparation **link; /* the pointer to it in the list of all */
    struct rocks *rocks;
    struct store_update *update;
    struct watch *watches; /* one per declared key */
    enum progress progress;
    int attempts;
    bool failed;          /* a row could not be read */
    atomic_bool is_stale; /* a declared row was written since it was started */
    size_t next_key;      /* to be prepared */
};

void preparations_init(struct preparations *preparations, struct rocks *rocks)
{
    *preparations = (struct preparations){.rocks = rocks, .bucket_count = BUCKETS_MIN};
    preparations->buckets = mem_zalloc(BUCKETS_MIN * sizeof(struct watch *));
}

void preparations_finish(struct preparations *preparations)
{
    assert(preparations->all == NULL);
    assert(preparations->parked == NULL);
    mem_free(preparations->buckets);
}

bool preparations_wants(const struct store_update *update, size_t row_bytes)
{
    return row_bytes > row_bytes_max || work_is_expensive(update, row_bytes);
}

/* Watching --------------------------------------------------------------------------------- */

static struct watch **bucket_of(const struct preparations *preparations, struct str key)
{
    return &preparations->buckets[hash_64(key) & (preparations->bucket_count - 1)];
}

static void put_watch(struct preparations *preparations, struct watch *watch)
{
    struct watch **bucket = bucket_of(preparations, watch->key);
    watch->next = *bucket;
    *bucket = watch;
}

static void grow_buckets(struct preparations *preparations)
{
    struct watch **old = preparations->buckets;
    size_t old_count = preparations->bucket_count;
    preparations->bucket_count = old_count * 2;
    preparations->buckets = mem_zalloc(preparations->bucket_count * sizeof(struct watch *));
    for (size_t i = 0; i < old_count; i++) {
        for (struct watch *watch = old[i]; watch != NULL;) {
            struct watch *next = watch->next;
            put_watch(preparations, watch);
            watch = next;
        }
    }
    mem_free(old);
}

static void watch_keys(struct preparations *preparations, struct preparation *preparation)
{
    const struct store_update *update = preparation->update;
    preparation->watches = mem_alloc(update->key_count * sizeof(struct watch));
    for (size_t i = 0; i < update->key_count; i++) {
        if (preparations->watch_count == preparations->bucket_count) {
            grow_buckets(preparations);
        }
        preparation->watches[i] = (struct watch){.key = update->keys[i], .owner = preparation};
        put_watch(preparations, &preparation->watches[i]);
        preparations->watch_count++;
    }
}

static void unwatch_keys(struct preparations *preparations, struct preparation *preparation)
{
    for (size_t i = 0; i < preparation->update->key_count; i++) {
        struct watch *watch = &preparation->watches[i];
        struct watch **at = bucket_of(preparations, watch->key);
        while (*at != watch) {
            assert(*at != NULL);
            at = &(*at)->next;
        }
        *at = watch->next;
        preparations->watch_count--;
    }
    mem_free(preparation->watches);
}

void preparations_note_write(struct preparations *preparations, struct str key)
{
    if (LIKELY(preparations->watch_count == 0) || OVERLOOKS_WRITES) {
        return;
    }
    for (struct watch *watch = *bucket_of(preparations, key); watch != NULL; watch = watch->next) {
        if (str_eq(watch->key, key)) {
            atomic_store_explicit(&watch->owner->is_stale, true, memory_order_relaxed);
        }
    }
}

void preparations_invalidate(struct preparations *preparations)
{
    for (struct preparation *at = preparations->all; at != NULL; at = at->next) {
        atomic_store_explicit(&at->is_stale, true, memory_order_relaxed);
    }
}

/* Preparing -------------------------------------------------------------------------------- */

static void mark_of_prepared(struct task *task)
{
    (void)task; /* never called: as task->run it marks an update that was prepared */
}

bool preparations_is_back(const struct task *task)
{
    return task->run == mark_of_prepared;
}

static bool prepare_row(struct preparation *preparation, rocksdb_t *db)
{
    struct rocks *rocks = preparation->rocks;
    struct store_update *update = preparation->update;
    size_t index = preparation->next_key++;
    struct str row;
    rocksdb_pinnableslice_t *pin;
    if (rocks_read(rocks, db, rocks->read_blocking, update->keys[index], &row, &pin) != READ_OK) {
        return false;
    }
    update->prepare(update, index, row);
    if (pin != NULL) {
        rocksdb_pinnableslice_destroy(pin);
    }
    return true;
}

/* Prepares rows until all are done or the time slice is over. The rows need not be of one snapshot:
 * if one of them is written meanwhile, all are prepared again. */
static void prepare_rows(struct preparation *preparation)
{
    size_t key_count = preparation->update->key_count;
    int64_t until_ns = clock_monotonic_ns() + slice_ns;
    rocksdb_t *db = gate_enter(&preparation->rocks->gate);
    if (db == NULL) {
        preparation->failed = true;
        return;
    }
    while (preparation->next_key < key_count && !preparation->failed &&
           !atomic_load_explicit(&preparation->is_stale, memory_order_relaxed)) {
        preparation->failed = !prepare_row(preparation, db);
        if (clock_monotonic_ns() >= until_ns) {
            break;
        }
    }
    gate_leave(&preparation->rocks->gate);
}

static void prepare_on_slow_thread(struct task *task)
{
    struct store_update *update = CONTAINER_OF(task, struct store_update, task);
    struct preparation *preparation = update->preparation;
    prepare_rows(preparation);
    if (preparation->next_key < update->key_count && !preparation->failed &&
        !atomic_load_explicit(&preparation->is_stale, memory_order_relaxed)) {
        work_queue_push(&preparation->rocks->slow, task); /* continues after the other tasks */
        return;
    }
    task->run = mark_of_prepared;
    inbox_push(&preparation->rocks->updates, task);
}

void preparations_add(struct preparations *preparations, struct store_update *update)
{
    assert(update->prepare != NULL);
    struct preparation *preparation = mem_zalloc(sizeof(*preparation));
    preparation->rocks = preparations->rocks;
    preparation->update = update;
    preparation->progress = ADDED;
    preparations->added_count++;
    preparation->next = preparations->all;
    preparation->link = &preparations->all;
    if (preparations->all != NULL) {
        preparations->all->link = &preparation->next;
    }
    preparations->all = preparation;
    update->preparation = preparation;
    watch_keys(preparations, preparation);
}

void preparations_start(struct preparations *preparations)
{
    for (struct preparation *at = preparations->all; at != NULL && preparations->added_count > 0;) {
        struct preparation *next = at->next;
        if (at->progress == ADDED) {
            preparations->added_count--;
            at->progress = STARTED;
            at->next_key = 0;
            at->failed = false;
            atomic_store_explicit(&at->is_stale, false, memory_order_relaxed);
            at->update->task.run = prepare_on_slow_thread;
            work_queue_push(&at->rocks->slow, &at->update->task);
        }
        at = next;
    }
}

static void remove_preparation(struct preparations *preparations, struct preparation *preparation)
{
    unwatch_keys(preparations, preparation);
    *preparation->link = preparation->next;
    if (preparation->next != NULL) {
        preparation->next->link = preparation->link;
    }
    if (preparations->exclusive == preparation) {
        preparations->exclusive = NULL;
    }
    preparation->update->preparation = NULL;
    mem_free(preparation);
}

static void prepare_again(struct preparations *preparations, struct preparation *preparation)
{
    preparation->progress = ADDED;
    preparations->added_count++;
    if (++preparation->attempts >= ATTEMPTS_MAX && preparations->exclusive == NULL) {
        preparations->exclusive = preparation;
    }
}

bool preparations_take_back(struct preparations *preparations, struct store_update *update)
{
    struct preparation *preparation = update->preparation;
    assert(preparation->progress == STARTED);
    if (!preparation->failed &&
        atomic_load_explicit(&preparation->is_stale, memory_order_relaxed)) {
        prepare_again(preparations, preparation);
        return false;
    }
    update->is_prepared = !preparation->failed;
    remove_preparation(preparations, preparation);
    return true;
}

/* Parking ---------------------------------------------------------------------------------- */

static bool shares_key(const struct preparations *preparations, const struct store_update *update)
{
    for (size_t i = 0; i < update->key_count; i++) {
        const struct watch *watch = *bucket_of(preparations, update->keys[i]);
        for (; watch != NULL; watch = watch->next) {
            if (watch->owner == preparations->exclusive && str_eq(watch->key, update->keys[i])) {
                return true;
            }
        }
    }
    return false;
}

bool preparations_park(struct preparations *preparations, struct store_update *update)
{
    if (LIKELY(preparations->exclusive == NULL) || preparations->exclusive->update == update ||
        !shares_key(preparations, update)) {
        return false;
    }
    update->task.next = preparations->parked;
    preparations->parked = &update->task;
    return true;
}

struct task *preparations_unpark(struct preparations *preparations)
{
    if (LIKELY(preparations->parked == NULL) || preparations->exclusive != NULL) {
        return NULL;
    }
    struct task *oldest = NULL;
    for (struct task *task = preparations->parked; task != NULL;) {
        struct task *next = task->next;
        task->next = oldest;
        oldest = task;
        task = next;
    }
    preparations->parked = NULL;
    return oldest;
}
