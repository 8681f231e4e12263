/* Reads of ranges: like gets, first from the block cache on the caller's thread. The rest of a
 * range is a range itself (from just behind the last row that was given), so any thread can
 * continue with it:
 *  - a worker, if the cache has no more or the database is about to be closed;
 *  - the caller's thread in its next round of events, if other ranges have used up the time slice
 *    of this round, this one is cheap, and the thread has no short requests to serve;
 *  - a slow thread, if the range itself has used up a time slice or a row was put off as too
 *    expensive. Slow threads take turns: after a slice the range queues again behind the others. */
#include "base/buf.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/mem.h"
#include "store/rocks/rocks_internal.h"

/* A caller's thread does not wade through more dead rows than this between two live ones. */
static const uint64_t dead_rows_max = 1000;

/* The time slice of a range: after that it makes way for others. */
static const int64_t slice_ns = 2000000;

/* The clock is read once for so many rows, or bytes, whichever comes first. */
enum { ROWS_PER_CLOCK = 32, BYTES_PER_CLOCK = 64 * 1024 };

struct range_reader {
    struct rocks *rocks;
    struct store_range *range;
    struct str lo; /* what is left of the range */
    struct str hi;
    int64_t until_ns; /* end of the time slice; 0: not set before the clock is first read */
    int64_t clock_ns; /* what the clock said when it was last read in this slice */
    int64_t used_ns;  /* of the caller's thread, as far as the clock was read */
    int rows;         /* since the clock was read */
    size_t bytes;     /* of rows times their weight */
    size_t weight;
    bool is_at_home;    /* on the thread that started it */
    bool is_first_turn; /* in the round of events that started it */
    bool is_over;       /* the time slice is, or the last row was put off */
    struct buf bound;   /* lo or hi, once rows were given */
    struct buf last;    /* the newest row that was given */
};

static struct range_reader reader_start(struct rocks *rocks, struct store_range *range)
{
    return (struct range_reader){.rocks = rocks,
                                 .range = range,
                                 .lo = range->lo,
                                 .hi = range->hi,
                                 .weight = MAX(range->weight, (size_t)1),
                                 .is_at_home = true,
                                 .is_first_turn = true};
}

static void reader_finish(struct range_reader *reader)
{
    buf_finish(&reader->bound);
    buf_finish(&reader->last);
}

/* The rest of the range becomes the range. It begins with the last row if that was put off. */
static void leave_behind(struct range_reader *reader)
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
        buf_add_char(&reader->bound, '\0'); /* the smallest key behind it */
    }
    *(reader->range->backward ? &reader->hi : &reader->lo) = buf_str(&reader->bound);
}

/* Whether every key of the range begins with the same space and part. */
static bool is_in_one_part(const struct range_reader *reader)
{
    if (reader->lo.len < STORE_PREFIX_LEN) {
        return false;
    }
    uint8_t next[STORE_PREFIX_LEN]; /* the prefix behind that of `lo` */
    memcpy(next, reader->lo.data, sizeof(next));
    int i = STORE_PREFIX_LEN - 1;
    while (i >= 0 && ++next[i] == 0) {
        i--;
    }
    return i >= 0 && str_cmp(reader->hi, str_make(next, sizeof(next))) <= 0;
}

/* Files that have nothing of the part are passed over, by their filters. Only forward: looking
 * backward by prefix has been wrong in RocksDB more than once
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

/* The row's reader goes through it attribute by attribute, each a moment's wait for memory: ask for
 * all of them at once. */
static void prefetch(const char *bytes, size_t len)
{
    enum { LINE = 64, BYTES_MAX = 2048 };
    for (size_t i = 0; i < MIN(len, (size_t)BYTES_MAX); i += LINE) {
        __builtin_prefetch(bytes + i);
    }
}

/* Gives the row where the iterator stands. False ends the range. */
static bool give_row(struct range_reader *reader, rocksdb_iterator_t *iter)
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
    rocks_read_failed(reader->rocks, message);
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

/* Whether others wait for a slow thread. */
static bool must_make_way(const struct range_reader *reader)
{
    return !reader->range->may_take_long || !work_queue_is_empty(&reader->rocks->slow);
}

/* All ranges that a thread of connections starts in one round of events share a slice. */
static int64_t end_of_slice(const struct range_reader *reader, int64_t now_ns)
{
    struct mailbox *home = reader->range->home;
    if (!reader->is_at_home || !home->has_slices) {
        return now_ns + slice_ns;
    }
    home->long_count += reader->is_first_turn;
    if (home->slice_until_ns == 0) {
        home->slice_until_ns = now_ns + slice_ns;
    }
    return home->slice_until_ns;
}

/* Reads the clock. The slice begins when it is first read, which ranges with few rows never do. */
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

/* Gives rows until the range ends (READ_OK), or something stops it. */
static enum read_result iterate(struct range_reader *reader, rocksdb_iterator_t *iter,
                                enum tier tier)
{
    bool backward = reader->range->backward;
    seek_first(reader, iter, tier);
    while (rocksdb_iter_valid(iter)) {
        if (!give_row(reader, iter)) {
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

/* So that nobody walks through millions of rows that are gone. */
static bool is_in_dropped_space(const struct range_reader *reader)
{
    if (reader->lo.len < STORE_SPACE_LEN || !is_dropped(reader, reader->lo)) {
        return false;
    }
    char next[STORE_SPACE_LEN];
    put_u32_be(next, store_key_space(reader->lo) + 1);
    return str_cmp(reader->hi, str_make(next, sizeof(next))) <= 0;
}

static enum read_result walk_on(struct range_reader *reader, rocksdb_t *db, enum tier tier)
{
    if (str_cmp(reader->lo, reader->hi) >= 0 || is_in_dropped_space(reader)) {
        return READ_OK;
    }
    rocksdb_readoptions_t *options = make_options(reader, tier);
    rocksdb_iterator_t *iter = rocksdb_create_iterator(db, options);
    enum read_result result = iterate(reader, iter, tier);
    rocksdb_iter_destroy(iter);
    rocksdb_readoptions_destroy(options);
    if (result == READ_INCOMPLETE) {
        leave_behind(reader);
    }
    return result;
}

/* What a worker needs. Not in the request's arena: row() may rewind it. */
struct range_job {
    struct task task;
    struct range_reader reader;
};

static void finish_at_home(struct task *task)
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
    range->task.run = finish_at_home;
    mailbox_post(range->home, &range->task);
}

static void range_on_slow_thread(struct task *task);

/* Continues, on a worker or a slow thread, until the range or the time slice ends. */
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
        result = walk_on(&job->reader, db, TIER_BLOCKING);
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

static void range_at_home(struct task *task);

/* Whether the caller's thread should continue in its next round of events: to build and send an
 * ordinary page on one thread costs less than to hand it over. But not if it has short requests to
 * serve too, which would wait for a time slice each time. */
static bool continues_at_home(const struct range_reader *reader)
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
    if (continues_at_home(reader)) {
        job->task.run = range_at_home;
        mailbox_post(range->home, &job->task);
        return;
    }
    job->reader.is_at_home = false;
    job->task.run = reader->is_over ? range_on_slow_thread : range_on_worker;
    if (range->before_thread_change != NULL) {
        range->before_thread_change(range);
    }
    work_queue_push(reader->is_over ? &rocks->slow : &rocks->reads, &job->task);
}

/* Gives rows until the range ends, the time slice is over or the cache has no more. */
static void run_at_home(struct range_reader *reader)
{
    struct rocks *rocks = reader->rocks;
    struct store_range *range = reader->range;
    rocksdb_t *db = gate_try_enter(&rocks->gate);
    enum read_result result = READ_INCOMPLETE;
    if (db != NULL) {
        result = walk_on(reader, db, TIER_CACHED);
        if (UNLIKELY(result == READ_INCOMPLETE) && !reader->is_over &&
            read_speed_is_quick(&rocks->read_speed)) {
            result = walk_on(reader, db, TIER_QUICK);
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

static void range_at_home(struct task *task)
{
    struct range_job *job = CONTAINER_OF(task, struct range_job, task);
    struct range_reader reader = job->reader;
    mem_free(job);
    reader.is_first_turn = false;
    begin_slice(&reader);
    run_at_home(&reader);
}

void rocks_range(struct store *store, struct store_range *range)
{
    struct range_reader reader = reader_start(rocks_of(store), range);
    range->may_take_long = false;
    range->put_off = false;
    run_at_home(&reader);
}
