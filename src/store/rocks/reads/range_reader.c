/* Reads ranges. As a get, a range starts on the caller's thread and reads from the block cache. The
 * rest of a range is a range itself, from just behind the last row, so any thread can continue it:
 *  - a worker, if the next block is not in the cache or the database is about to be closed;
 *  - the caller's thread in its next round of events, if other ranges have used up the time slice
 *    of this round, this range is cheap, and the thread has no short requests to serve;
 *  - a slow thread, if the range itself has used up a time slice, or row() has put a row off. After
 *    a time slice on a slow thread the range is queued again. */
#include "base/buf.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/mem.h"
#include "store/rocks/faults/damage.h"
#include "store/rocks/faults/quarantine.h"
#include "store/rocks/reads/reads.h"

/* RocksDB skips at most this many deleted rows on a caller's thread; then a worker continues. */
static const uint64_t dead_rows_max = 1000;

/* The time slice of a range: then other requests of the thread come first. */
static const int64_t slice_ns = 2000000;

/* The clock is read after so many rows or bytes, whichever comes first. */
enum { ROWS_PER_CLOCK = 32, BYTES_PER_CLOCK = 64 * 1024 };

struct range_reader {
    struct rocks *rocks;
    struct store_range *range;
    struct str lo; /* bounds of the rest of the range */
    struct str hi;
    int64_t until_ns; /* end of the time slice; 0: the clock has not been read yet */
    int64_t clock_ns; /* the last reading of the clock in this slice */
    int64_t used_ns;  /* time used on the caller's thread up to the last reading */
    int rows;         /* since the clock was read */
    size_t bytes;     /* of rows times the weight, since the clock was read */
    size_t weight;
    bool is_on_owner_thread; /* it runs on the thread that started it */
    bool is_first_round;     /* it runs in the round of events that started it */
    bool is_over;            /* the time slice is over, or the last row was put off */
    bool is_ended;           /* row() has ended the range, or has put a row off */
    struct buf bound;        /* memory of `lo` or `hi`, after the first row */
    struct buf last;         /* key of the last row that was passed to row() */
};

static struct range_reader reader_start(struct rocks *rocks, struct store_range *range)
{
    return (struct range_reader){.rocks = rocks,
                                 .range = range,
                                 .lo = range->lo,
                                 .hi = range->hi,
                                 .weight = MAX(range->weight, (size_t)1),
                                 .is_on_owner_thread = true,
                                 .is_first_round = true};
}

static void reader_finish(struct range_reader *reader)
{
    buf_finish(&reader->bound);
    buf_finish(&reader->last);
}

/* Narrows the bounds to the rest of the range: behind the last row, or to it if it was put off. */
static void narrow_to_rest(struct range_reader *reader)
{
    if (reader->last.len == 0) {
        return;
    }
    bool again = reader->range->put_off;
    reader->range->put_off = false;
    struct buf bound = reader->last;
    reader->last = reader->bound;
    reader->last.len = 0;
    reader->bound = bound;
    if (reader->range->backward == again) {
        buf_add_char(&reader->bound, '\0'); /* the next larger key */
    }
    struct str bound_key = buf_str(&reader->bound);
    assert(str_cmp(reader->lo, bound_key) <= 0); /* the rest lies in the range: it gets smaller */
    assert(str_cmp(bound_key, reader->hi) <= 0);
    *(reader->range->backward ? &reader->hi : &reader->lo) = bound_key;
}

/* Whether every key of the range begins with the same space and part. */
static bool is_in_one_part(const struct range_reader *reader)
{
    if (reader->lo.len < STORE_PREFIX_LEN) {
        return false;
    }
    uint8_t next[STORE_PREFIX_LEN]; /* the prefix that follows that of `lo` */
    memcpy(next, reader->lo.data, sizeof(next));
    int i = STORE_PREFIX_LEN - 1;
    while (i >= 0 && ++next[i] == 0) {
        i--;
    }
    return i >= 0 && str_cmp(reader->hi, str_make(next, sizeof(next))) <= 0;
}

/* Uses the prefix filters for a range in one part, so that RocksDB skips files without rows of it.
 * Only for ascending order: descending with prefix filters has had bugs in RocksDB
 * (https://github.com/facebook/rocksdb/pull/12872). */
static void set_order(rocksdb_readoptions_t *options, const struct range_reader *reader)
{
    if (!reader->range->backward && is_in_one_part(reader)) {
        rocksdb_readoptions_set_prefix_same_as_start(options, 1);
    } else {
        rocksdb_readoptions_set_total_order_seek(options, 1);
    }
}

static rocksdb_readoptions_t *make_options(const struct range_reader *reader, enum tier tier)
{
    rocksdb_readoptions_t *options = rocks_read_options_create();
    rocksdb_readoptions_set_iterate_lower_bound(options, reader->lo.data, reader->lo.len);
    rocksdb_readoptions_set_iterate_upper_bound(options, reader->hi.data, reader->hi.len);
    set_order(options, reader);
    if (tier == TIER_CACHED) {
        rocksdb_readoptions_set_read_tier(options, 1 /* block cache only */);
    }
    if (tier != TIER_BLOCKING) {
        rocksdb_readoptions_set_max_skippable_internal_keys(options, dead_rows_max);
    }
    return options;
}

static bool is_dropped(const struct range_reader *reader, struct str key)
{
    return UNLIKELY(space_set_has(&reader->rocks->gone, store_key_space(key)));
}

/* Prefetches a row: row() reads it attribute by attribute, and would wait for a cache miss each
 * time. */
static void prefetch(const char *bytes, size_t len)
{
    enum { LINE = 64, BYTES_MAX = 2048 };
    for (size_t i = 0; i < MIN(len, (size_t)BYTES_MAX); i += LINE) {
        __builtin_prefetch(bytes + i);
    }
}

/* Passes the row of the iterator to row(). False: the range ends. */
static bool pass_row(struct range_reader *reader, rocksdb_iterator_t *iter)
{
    size_t key_len;
    size_t value_len;
    const char *key = rocksdb_iter_key(iter, &key_len);
    reader->last.len = 0;
    buf_add(&reader->last, str_make(key, key_len));
    if (is_dropped(reader, str_make(key, key_len))) {
        return true;
    }
    const char *value = rocksdb_iter_value(iter, &value_len);
    prefetch(value, value_len);
    reader->bytes += value_len * reader->weight;
    return reader->range->row(reader->range, str_make(key, key_len),
                              str_make(value != NULL ? value : "", value_len));
}

static enum read_result result_of(struct range_reader *reader, rocksdb_iterator_t *iter,
                                  enum tier tier)
{
    char *message = NULL;
    rocksdb_iter_get_error(iter, &message);
    if (message == NULL) {
        return READ_OK;
    }
    if (tier != TIER_BLOCKING && rocks_is_incomplete(message)) {
        rocksdb_free(message);
        return READ_INCOMPLETE;
    }
    reader->range->is_unreadable = rocks_read_failed(reader->rocks, message);
    return READ_FAILED;
}

static void seek_first(struct range_reader *reader, rocksdb_iterator_t *iter, enum tier tier)
{
    int64_t start_ns = tier != TIER_CACHED ? clock_monotonic_ns() : 0;
    if (reader->range->backward) {
        rocksdb_iter_seek_to_last(iter);
    } else {
        rocksdb_iter_seek(iter, reader->lo.data, reader->lo.len);
    }
    if (tier != TIER_CACHED) {
        read_speed_note(&reader->rocks->read_speed, clock_monotonic_ns() - start_ns);
    }
}

static void begin_slice(struct range_reader *reader)
{
    reader->until_ns = 0;
    reader->rows = 0;
    reader->bytes = 0;
    reader->is_over = false;
}

/* Whether other requests wait for the thread. */
static bool must_make_way(const struct range_reader *reader)
{
    return !reader->range->may_take_long || !work_queue_is_empty(&reader->rocks->slow);
}

/* Returns the end of the time slice. All ranges that a network thread starts in one round of events
 * share a slice. */
static int64_t end_of_slice(const struct range_reader *reader, int64_t now_ns)
{
    struct mailbox *home = reader->range->home;
    if (!reader->is_on_owner_thread || !home->has_slices) {
        return now_ns + slice_ns;
    }
    home->long_count += reader->is_first_round;
    if (home->slice_until_ns == 0) {
        home->slice_until_ns = now_ns + slice_ns;
    }
    return home->slice_until_ns;
}

/* Reads the clock. The slice begins at the first reading; short ranges end before that. */
static bool slice_is_over(struct range_reader *reader)
{
    int64_t now_ns = clock_monotonic_ns();
    reader->rows = 0;
    reader->bytes = 0;
    if (reader->until_ns == 0) {
        reader->until_ns = end_of_slice(reader, now_ns);
        reader->clock_ns = now_ns;
    }
    reader->used_ns += now_ns - reader->clock_ns;
    reader->clock_ns = now_ns;
    if (now_ns >= reader->until_ns) {
        reader->is_over = must_make_way(reader);
        reader->until_ns = now_ns + slice_ns;
    }
    return reader->is_over;
}

static bool is_to_be_left(struct range_reader *reader, enum tier tier)
{
    if (UNLIKELY(gate_is_shut(&reader->rocks->gate))) {
        return true;
    }
    bool is_due =
        ++reader->rows >= ROWS_PER_CLOCK || reader->bytes >= BYTES_PER_CLOCK || tier == TIER_QUICK;
    return UNLIKELY(is_due) && slice_is_over(reader);
}

/* Passes rows to row() until the range ends (READ_OK), or another thread must continue
 * (READ_INCOMPLETE). */
static enum read_result iterate(struct range_reader *reader, rocksdb_iterator_t *iter,
                                enum tier tier)
{
    bool backward = reader->range->backward;
    seek_first(reader, iter, tier);
    while (rocksdb_iter_valid(iter)) {
        if (!pass_row(reader, iter)) {
            reader->is_ended = true;
            reader->is_over = reader->range->put_off;
            return reader->is_over ? READ_INCOMPLETE : READ_OK;
        }
        if (is_to_be_left(reader, tier)) {
            return READ_INCOMPLETE;
        }
        if (backward) {
            rocksdb_iter_prev(iter);
        } else {
            rocksdb_iter_next(iter);
        }
    }
    return result_of(reader, iter, tier);
}

/* Whether the whole range lies in a dropped space, whose rows need not be skipped one by one. */
static bool is_in_dropped_space(const struct range_reader *reader)
{
    if (reader->lo.len < STORE_SPACE_LEN || !is_dropped(reader, reader->lo)) {
        return false;
    }
    char next[STORE_SPACE_LEN];
    put_u32_be(next, store_key_space(reader->lo) + 1);
    return str_cmp(reader->hi, str_make(next, sizeof(next))) <= 0;
}

static enum read_result read_between_bounds(struct range_reader *reader, rocksdb_t *db,
                                            enum tier tier)
{
    if (str_cmp(reader->lo, reader->hi) >= 0) {
        return READ_OK;
    }
    rocksdb_readoptions_t *options = make_options(reader, tier);
    rocksdb_iterator_t *iter = rocksdb_create_iterator(db, options);
    enum read_result result = iterate(reader, iter, tier);
    rocksdb_iter_destroy(iter);
    rocksdb_readoptions_destroy(options);
    return result;
}

/* Reads the rows before a range of keys in quarantine. If row() does not end the range there, it
 * fails. */
static enum read_result read_to_quarantine(struct range_reader *reader, rocksdb_t *db,
                                           enum tier tier, const struct quarantine_range *ahead)
{
    bool backward = reader->range->backward;
    struct str whole = backward ? reader->lo : reader->hi;
    struct buf behind = {0}; /* the next larger key */
    if (backward) {
        buf_add(&behind, ahead->last);
        buf_add_char(&behind, '\0');
        reader->lo = buf_str(&behind);
    } else {
        reader->hi = ahead->first;
    }
    reader->is_ended = false;
    enum read_result result = read_between_bounds(reader, db, tier);
    *(backward ? &reader->lo : &reader->hi) = whole;
    buf_finish(&behind);
    if (result == READ_OK && !reader->is_ended) {
        rocks_note_quarantined_read(reader->rocks, ahead);
        reader->range->is_unreadable = true;
        result = READ_FAILED;
    }
    return result;
}

static enum read_result read_rest(struct range_reader *reader, rocksdb_t *db, enum tier tier)
{
    if (str_cmp(reader->lo, reader->hi) >= 0 || is_in_dropped_space(reader)) {
        return READ_OK;
    }
    const struct quarantine_range *ahead = NULL;
    if (UNLIKELY(reader->rocks->quarantine.range_count > 0)) {
        ahead =
            rocks_quarantine_ahead(reader->rocks, reader->lo, reader->hi, reader->range->backward);
    }
    enum read_result result = LIKELY(ahead == NULL) ? read_between_bounds(reader, db, tier)
                                                    : read_to_quarantine(reader, db, tier, ahead);
    if (result == READ_INCOMPLETE) {
        narrow_to_rest(reader);
    }
    return result;
}

/* A range on its way to another thread. Not in the arena of the request, because row() may rewind
 * it. */
struct range_job {
    struct task task;
    struct range_reader reader;
};

static void finish_on_owner_thread(struct task *task)
{
    struct store_range *range = CONTAINER_OF(task, struct store_range, task);
    range->done(range);
}

static void finish_job(struct range_job *job, enum read_result result)
{
    struct store_range *range = job->reader.range;
    reader_finish(&job->reader);
    mem_free(job);
    range->status = result == READ_OK ? STORE_OK : STORE_FAILED;
    range->task.run = finish_on_owner_thread;
    mailbox_post(range->home, &range->task);
}

static void range_on_slow_thread(struct task *task);

/* Continues a range on a worker or slow thread, until it or the time slice ends. */
static void run_slice(struct range_job *job)
{
    struct rocks *rocks = job->reader.rocks;
    enum read_result result = READ_INCOMPLETE;
    begin_slice(&job->reader);
    while (result == READ_INCOMPLETE && !job->reader.is_over) {
        rocksdb_t *db = gate_enter(&rocks->gate);
        if (db == NULL) {
            result = READ_FAILED;
            break;
        }
        result = read_rest(&job->reader, db, TIER_BLOCKING);
        gate_leave(&rocks->gate);
    }
    if (result != READ_INCOMPLETE) {
        finish_job(job, result);
        return;
    }
    job->task.run = range_on_slow_thread;
    work_queue_push(&rocks->slow, &job->task);
}

static void range_on_slow_thread(struct task *task)
{
    struct range_job *job = CONTAINER_OF(task, struct range_job, task);
    job->reader.range->may_take_long = true;
    run_slice(job);
}

static void range_on_worker(struct task *task)
{
    run_slice(CONTAINER_OF(task, struct range_job, task));
}

static void range_on_owner_thread(struct task *task);

/* Whether the caller's thread continues in its next round of events, which costs less than passing
 * the range to another thread. Not if the thread also serves short requests: each would wait for a
 * time slice. */
static bool continues_on_owner_thread(const struct range_reader *reader)
{
    const struct mailbox *home = reader->range->home;
    return reader->is_over && reader->weight == 1 && reader->used_ns < slice_ns &&
           home->has_slices && reader->clock_ns >= home->leave_until_ns;
}

static void hand_over(const struct range_reader *reader)
{
    struct rocks *rocks = reader->rocks;
    struct store_range *range = reader->range;
    struct range_job *job = mem_alloc(sizeof(*job));
    job->reader = *reader;
    if (continues_on_owner_thread(reader)) {
        job->task.run = range_on_owner_thread;
        mailbox_post(range->home, &job->task);
        return;
    }
    job->reader.is_on_owner_thread = false;
    job->task.run = reader->is_over ? range_on_slow_thread : range_on_worker;
    if (range->before_thread_change != NULL) {
        range->before_thread_change(range);
    }
    work_queue_push(reader->is_over ? &rocks->slow : &rocks->reads, &job->task);
}

/* Reads on the caller's thread, until the range or the time slice ends or a block is not cached. */
static void run_on_owner_thread(struct range_reader *reader)
{
    struct rocks *rocks = reader->rocks;
    struct store_range *range = reader->range;
    rocksdb_t *db = gate_try_enter(&rocks->gate);
    enum read_result result = READ_INCOMPLETE;
    if (db != NULL) {
        result = read_rest(reader, db, TIER_CACHED);
        if (UNLIKELY(result == READ_INCOMPLETE) && !reader->is_over &&
            read_speed_is_quick(&rocks->read_speed)) {
            result = read_rest(reader, db, TIER_QUICK);
        }
        gate_leave(&rocks->gate);
    }
    if (result == READ_INCOMPLETE) {
        hand_over(reader);
        return;
    }
    reader_finish(reader);
    range->status = result == READ_OK ? STORE_OK : STORE_FAILED;
    range->done(range);
}

static void range_on_owner_thread(struct task *task)
{
    struct range_job *job = CONTAINER_OF(task, struct range_job, task);
    struct range_reader reader = job->reader;
    mem_free(job);
    reader.is_first_round = false;
    begin_slice(&reader);
    run_on_owner_thread(&reader);
}

void rocks_range(struct store *store, struct store_range *range)
{
    struct range_reader reader = reader_start(rocks_of(store), range);
    range->may_take_long = false;
    range->put_off = false;
    run_on_owner_thread(&reader);
}
