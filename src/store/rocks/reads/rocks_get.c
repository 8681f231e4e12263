/* Gets: first from the block cache, on the caller's thread. A get that needs a file goes to a
 * worker, which posts the result to the caller's mailbox, unless the last reads from files were
 * quick (read_speed.h). */
#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "store/rocks/faults/damage.h"
#include "store/rocks/faults/quarantine.h"
#include "store/rocks/reads/reads.h"

/* A get of more keys that are not cached goes to a worker, even if reads are quick. */
enum { KEYS_HERE_MAX = 8 };

rocksdb_readoptions_t *rocks_read_options_create(void)
{
    rocksdb_readoptions_t *options = rocksdb_readoptions_create();
    /* There are no range tombstones: rows are erased one by one, spaces are dropped by
     * dropped_spaces.c. */
    rocksdb_readoptions_set_ignore_range_deletions(options, 1);
    return options;
}

/* If an SST file is not open yet (after a start only 16 are) and may not be opened, RocksDB returns
 * "found" with an empty value: TableCache::Get() means that the key may exist. */
static bool may_be_unread(rocksdb_readoptions_t *options, size_t len)
{
    return UNLIKELY(len == 0) && rocksdb_readoptions_get_read_tier(options) != 0;
}

/* Whether the row cannot be read, because its newest version may have been in a bad block. */
static bool is_quarantined(struct rocks *rocks, struct str key)
{
    const struct quarantine_range *range = quarantine_find(&rocks->quarantine, key);
    if (range != NULL) {
        rocks_note_quarantined_read(rocks, range);
    }
    return range != NULL;
}

enum read_result rocks_read(struct rocks *rocks, rocksdb_t *db, rocksdb_readoptions_t *options,
                            struct str key, struct str *out, rocksdb_pinnableslice_t **out_pin)
{
    assert(key.len >= STORE_SPACE_LEN);
    *out = STR_NULL;
    *out_pin = NULL;
    if (UNLIKELY(space_set_has(&rocks->gone, store_key_space(key)))) {
        return READ_OK;
    }
    if (UNLIKELY(rocks->quarantine.range_count > 0) && is_quarantined(rocks, key)) {
        return READ_FAILED;
    }
    char *message = NULL;
    rocksdb_pinnableslice_t *pin = rocksdb_get_pinned(db, options, key.data, key.len, &message);
    if (LIKELY(pin != NULL)) {
        size_t len;
        const char *data = rocksdb_pinnableslice_value(pin, &len);
        if (may_be_unread(options, len)) {
            rocksdb_pinnableslice_destroy(pin);
            return READ_INCOMPLETE;
        }
        *out = str_make(data != NULL ? data : "", len);
        *out_pin = pin;
        return READ_OK;
    }
    if (message == NULL) {
        return READ_OK;
    }
    if (rocks_is_incomplete(message)) {
        rocksdb_free(message);
        return READ_INCOMPLETE;
    }
    rocks_read_failed(rocks, message);
    return READ_FAILED;
}

/* One attempt at a get. Not in the arena of the request: it is finished after done(), which may
 * have freed the arena. */
struct attempt {
    struct rocks *rocks;
    rocksdb_t *db;
    const rocksdb_snapshot_t *snapshot; /* NULL: none */
    rocksdb_readoptions_t *options;
    size_t pin_count;
    rocksdb_pinnableslice_t **pins;
    rocksdb_pinnableslice_t *few_pins[8];
};

static void attempt_init(struct attempt *attempt, struct rocks *rocks, rocksdb_t *db,
                         const struct store_get *get, enum tier tier)
{
    attempt->rocks = rocks;
    attempt->db = db;
    attempt->snapshot = NULL;
    attempt->options = tier == TIER_CACHED ? rocks->read_cached : rocks->read_blocking;
    if (get->snapshot && get->key_count > 1) {
        attempt->snapshot = rocksdb_create_snapshot(db);
        attempt->options = rocks_read_options_create();
        rocksdb_readoptions_set_snapshot(attempt->options, attempt->snapshot);
        rocksdb_readoptions_set_read_tier(attempt->options, tier == TIER_CACHED ? 1 : 0);
    }
    attempt->pin_count = 0;
    attempt->pins = get->key_count <= COUNT_OF(attempt->few_pins)
                        ? attempt->few_pins
                        : mem_alloc(get->key_count * sizeof(*attempt->pins));
}

static void attempt_finish(struct attempt *attempt)
{
    while (attempt->pin_count > 0) {
        rocksdb_pinnableslice_destroy(attempt->pins[--attempt->pin_count]);
    }
    if (attempt->pins != attempt->few_pins) {
        mem_free(attempt->pins);
    }
    if (attempt->snapshot != NULL) {
        rocksdb_readoptions_destroy(attempt->options);
        rocksdb_release_snapshot(attempt->db, attempt->snapshot);
    }
}

/* Reads the rows. If they have more than bytes_max bytes, ends with STORE_TOO_MUCH. */
static enum read_result read_each(struct attempt *attempt, struct store_get *get)
{
    size_t bytes = 0;
    get->status = STORE_OK;
    for (size_t i = 0; i < get->key_count; i++) {
        rocksdb_pinnableslice_t *pin;
        enum read_result result = rocks_read(attempt->rocks, attempt->db, attempt->options,
                                             get->keys[i], &get->rows[i], &pin);
        if (result != READ_OK) {
            return result;
        }
        if (pin != NULL) {
            assert(attempt->pin_count < get->key_count);
            attempt->pins[attempt->pin_count++] = pin;
        }
        bytes += get->rows[i].len;
        if (UNLIKELY(bytes > get->bytes_max) && get->bytes_max > 0) {
            get->status = STORE_TOO_MUCH;
            break;
        }
    }
    return READ_OK;
}

static enum read_result read_rows(struct attempt *attempt, struct store_get *get, enum tier tier)
{
    if (tier == TIER_CACHED) {
        return read_each(attempt, get);
    }
    int64_t start_ns = clock_monotonic_ns();
    enum read_result result = read_each(attempt, get);
    read_speed_note(&attempt->rocks->read_speed, clock_monotonic_ns() - start_ns);
    return result;
}

static void finish_on_owner_thread(struct task *task)
{
    struct store_get *get = CONTAINER_OF(task, struct store_get, task);
    get->done(get);
}

/* Copies the rows to the arena, so that nothing of RocksDB is held until done() has run. */
static void copy_rows(struct store_get *get)
{
    for (size_t i = 0; i < get->key_count; i++) {
        if (!str_is_null(get->rows[i])) {
            get->rows[i] = arena_copy(get->arena, get->rows[i]);
        }
    }
}

static void get_on_worker(struct task *task)
{
    struct store_get *get = CONTAINER_OF(task, struct store_get, task);
    struct rocks *rocks = get->internal;
    rocksdb_t *db = gate_enter(&rocks->gate);
    if (db == NULL) {
        get->status = STORE_FAILED;
    } else {
        struct attempt attempt;
        attempt_init(&attempt, rocks, db, get, TIER_BLOCKING);
        if (read_rows(&attempt, get, TIER_BLOCKING) != READ_OK) {
            get->status = STORE_FAILED;
        } else if (get->status == STORE_OK) {
            copy_rows(get);
        }
        attempt_finish(&attempt);
        gate_leave(&rocks->gate);
    }
    task->run = finish_on_owner_thread;
    mailbox_post(get->home, task);
}

/* Reads on the caller's thread and calls done(). False: the get needs the disk, or the gate is
 * shut, and done() was not called. */
static bool get_here(struct rocks *rocks, struct store_get *get, enum tier tier)
{
    rocksdb_t *db = gate_try_enter(&rocks->gate);
    if (UNLIKELY(db == NULL)) {
        return false;
    }
    struct attempt attempt;
    attempt_init(&attempt, rocks, db, get, tier);
    enum read_result result = read_rows(&attempt, get, tier);
    if (result != READ_INCOMPLETE) {
        get->status = result == READ_OK ? get->status : STORE_FAILED;
        get->done(get);
    }
    attempt_finish(&attempt);
    gate_leave(&rocks->gate);
    return result != READ_INCOMPLETE;
}

void rocks_get(struct store *store, struct store_get *get)
{
    struct rocks *rocks = rocks_of(store);
    get->rows = ARENA_ARRAY(get->arena, struct str, get->key_count);
    bool is_done = get_here(rocks, get, TIER_CACHED);
    if (UNLIKELY(!is_done) && get->key_count <= KEYS_HERE_MAX &&
        read_speed_is_quick(&rocks->read_speed)) {
        is_done = get_here(rocks, get, TIER_BLOCKING);
    }
    if (UNLIKELY(!is_done)) {
        get->internal = rocks;
        get->task.run = get_on_worker;
        work_queue_push(&rocks->reads, &get->task);
    }
}

static void run_tasks(struct work_queue *queue)
{
    struct task *task;
    while ((task = work_queue_pop(queue)) != NULL) {
        task->run(task);
    }
}

void *rocks_worker_main(void *arg)
{
    struct rocks *rocks = arg;
    run_tasks(&rocks->reads);
    return NULL;
}

void *rocks_slow_main(void *arg)
{
    struct rocks *rocks = arg;
    thread_lower_priority(THREAD_LOW_NICE);
    run_tasks(&rocks->slow);
    return NULL;
}
