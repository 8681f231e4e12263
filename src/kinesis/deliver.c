/* Delivers a feed: reads a window of records, sends them, and erases those that Kinesis has
 * accepted. Called by kinesis.c on a delivery thread.
 *
 * PutRecords may accept some records of a request and refuse others, so a request has at most one
 * record of each item: a record is sent only when all earlier ones of its item have been accepted.
 * So a window needs as many requests as it has changes of one item, and at least one for each 500
 * records. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "kinesis/kinesis_internal.h"

enum {
    SLOT_RECORDS = 500,   /* of a window */
    TURN_MS = 500,        /* time for one feed, before the next one is served */
    MEASURE_MS = 1000,    /* how often the backlog is counted, at least */
    LOOK_MS = 5000,       /* how often a feed without records is read */
    IDLE_BYTES = 1 << 16, /* of memory that are kept */
    WARN_MS = 60 * 1000,  /* how often the log repeats that deliveries fail */
    DELAY_MS_MIN = 100,   /* before the next attempt after a failure; doubled each time */
    DELAY_MS_MAX = 10 * 1000,
    REFUSED_DELAY_MS = 50, /* after a response that refused some records */
};

/* --- figures --- */

static void count(struct worker *worker, uint64_t *figure, uint64_t number)
{
    pthread_mutex_lock(&worker->kinesis->lock);
    *figure += number;
    pthread_mutex_unlock(&worker->kinesis->lock);
}

static void measure(struct worker *worker, const struct feed *feed, struct delivery *delivery,
                    int64_t interval_ms)
{
    int64_t now_us = clock_monotonic_us();
    if (delivery->measured_us != 0 && now_us < delivery->measured_us + interval_ms * 1000) {
        return;
    }
    struct arena arena;
    arena_init(&arena);
    struct store_count backlog = feed_backlog(&worker->background, feed, &arena);
    arena_finish(&arena);
    pthread_mutex_lock(&worker->kinesis->lock);
    delivery->backlog = backlog;
    pthread_mutex_unlock(&worker->kinesis->lock);
    delivery->measured_us = now_us;
}

int64_t delivery_failed(struct worker *worker, const struct feed *feed, struct delivery *delivery,
                        const char *problem)
{
    int64_t now_us = clock_monotonic_us();
    int64_t delay_ms = (int64_t)DELAY_MS_MIN << MIN(delivery->failures, 10);
    delay_ms = MIN(delay_ms, (int64_t)DELAY_MS_MAX);
    if (background_is_stopping(&worker->background)) {
        return delay_ms; /* the call was aborted */
    }
    delivery->failures++;
    delivery->retry_us = now_us + delay_ms * 1000;
    pthread_mutex_lock(&worker->kinesis->lock);
    delivery->failing_since_us =
        delivery->failing_since_us == 0 ? now_us : delivery->failing_since_us;
    delivery->failed_calls++;
    pthread_mutex_unlock(&worker->kinesis->lock);
    if (delivery->warned_us == 0 || now_us >= delivery->warned_us + (int64_t)WARN_MS * 1000) {
        measure(worker, feed, delivery, 0);
        log_write(LOG_WARN, "kinesis", "table %.*s: %lld changes wait for %.*s: %s",
                  STR_ARG(feed->table_name), (long long)delivery->backlog.count,
                  STR_ARG(feed->destination.stream_arn), problem);
        delivery->warned_us = now_us;
    }
    return delay_ms;
}

void delivery_succeeded(struct worker *worker, struct delivery *delivery)
{
    pthread_mutex_lock(&worker->kinesis->lock);
    delivery->failing_since_us = 0;
    pthread_mutex_unlock(&worker->kinesis->lock);
    delivery->failures = 0;
}

static void note_success(struct worker *worker, const struct feed *feed, struct delivery *delivery)
{
    if (delivery->failing_since_us == 0) {
        return;
    }
    if (delivery->warned_us >=
        delivery->failing_since_us) { /* the log has a line about the failures */
        log_write(LOG_INFO, "kinesis", "table %.*s: delivery to %.*s works again after %lld ms",
                  STR_ARG(feed->table_name), STR_ARG(feed->destination.stream_arn),
                  (long long)((clock_monotonic_us() - delivery->failing_since_us) / 1000));
    }
    delivery_succeeded(worker, delivery);
}

/* --- windows --- */

/* Computes the partition keys of the records of the window, and for each record the earliest time
 * of it and the later ones of its slot. */
static void describe_window(struct worker *worker)
{
    for (size_t i = 0; i < worker->record_count; i++) {
        worker->done[i] = false;
        record_partition_key(&worker->records[i], worker->keys[i]);
    }
    for (size_t i = worker->record_count; i-- > 0;) {
        const struct feed_record *record = &worker->records[i];
        bool is_last = i + 1 == worker->record_count || record[1].slot != record->slot;
        int64_t time_ms = record->change.time_ms;
        worker->times[i] = is_last ? time_ms : MIN(time_ms, worker->times[i + 1]);
    }
}

/* Reads the first records of the slots, slot by slot, beginning with another one each time. */
static bool read_window(struct worker *worker, const struct feed *feed, struct delivery *delivery)
{
    size_t bytes = 0;
    worker->record_count = 0;
    arena_reset(&worker->window_arena);
    for (uint32_t i = 0; i < feed->slot_count && bytes < WINDOW_BYTES; i++) {
        uint32_t slot = (delivery->next_slot + i) % feed->slot_count;
        size_t left = WINDOW_RECORDS - worker->record_count;
        struct feed_read read = {
            .slot = slot,
            .after = delivery->cursors[slot],
            .limit = MIN(left, (size_t)SLOT_RECORDS),
            .bytes_max = WINDOW_BYTES - bytes,
            .out = worker->records + worker->record_count,
        };
        if (left == 0) {
            break;
        }
        if (!feed_read(&worker->background, feed, &read, &worker->window_arena)) {
            return false;
        }
        worker->record_count += read.count;
        bytes += read.bytes;
    }
    delivery->next_slot = (delivery->next_slot + 1) % feed->slot_count;
    describe_window(worker);
    return true;
}

/* Erases the first records of a slot. Tries again while the store fails: records that were accepted
 * and are not erased would be sent again. */
static enum store_status erase(struct worker *worker, const struct feed *feed, uint64_t after,
                               const struct feed_record *records, size_t record_count)
{
    for (;;) {
        enum store_status status =
            feed_erase(&worker->background, feed, after, records, record_count);
        bool may_pass = status == STORE_FAILED || status == STORE_UNKNOWN || status == STORE_BUSY;
        if (!may_pass || !background_may_go_on(&worker->background)) {
            return status;
        }
        waiting_mailbox_run_for(worker->background.mailbox, RETRY_MS);
    }
}

/* Erases the records at the front of each slot that are done. False: the store failed. */
static bool erase_done(struct worker *worker, const struct feed *feed, struct delivery *delivery)
{
    size_t at = 0;
    while (at < worker->record_count) {
        uint32_t slot = worker->records[at].slot;
        size_t end = at;
        size_t done_count = 0;
        for (; end < worker->record_count && worker->records[end].slot == slot; end++) {
            done_count += done_count == end - at && worker->done[end];
        }
        if (done_count > 0) {
            enum store_status status =
                erase(worker, feed, delivery->cursors[slot], worker->records + at, done_count);
            if (status != STORE_OK) { /* reads the cursors again */
                mem_free(delivery->cursors);
                delivery->cursors = NULL;
                return false;
            }
            delivery->cursors[slot] = worker->records[at + done_count - 1].stamp;
        }
        at = end;
    }
    return true;
}

/* --- sending --- */

/* A request: up to 500 records, the first of each item that is not done. */
struct wave {
    size_t numbers[PUT_RECORDS_MAX]; /* in the window */
};

static void leave_out(struct worker *worker, const struct feed *feed, struct delivery *delivery,
                      size_t number)
{
    const struct feed_record *record = &worker->records[number];
    worker->done[number] = true;
    if (delivery->left_out_to == NULL) {
        delivery->left_out_to = mem_zalloc(feed->slot_count * sizeof(*delivery->left_out_to));
    }
    if (record->stamp > delivery->left_out_to[record->slot]) { /* else read again after a failure */
        delivery->left_out_to[record->slot] = record->stamp;
        count(worker, &delivery->left_out, 1);
    }
    if (!delivery->has_left_out) {
        delivery->has_left_out = true;
        log_write(LOG_WARN, "kinesis",
                  "table %.*s: a change of more than 1 MiB was dropped; later ones are dropped "
                  "without a log line",
                  STR_ARG(feed->table_name));
    }
}

static void fill_wave(struct worker *worker, const struct feed *feed, struct delivery *delivery,
                      struct wave *wave)
{
    const struct kinesis *kinesis = worker->kinesis;
    struct record_source source = {
        .region = kinesis->options.region,
        .table_name = feed->table_name,
        .precision = feed->destination.precision,
        .space = feed->space,
        .seed = engine_seed(kinesis->engine),
    };
    struct str region;
    struct str name;
    struct map items;
    map_init(&items);
    bool ok = stream_arn_parse(feed->destination.stream_arn, &region, &name);
    assert(ok); /* the stream was checked */
    stream_put_begin(&worker->put, name);
    for (size_t i = 0; i < worker->record_count && worker->put.count < PUT_RECORDS_MAX; i++) {
        struct str key = str_make(worker->keys[i], PARTITION_KEY_LEN);
        if (worker->done[i] || map_get(&items, key) != NULL) {
            continue;
        }
        worker->data.len = 0;
        record_write(&worker->data, &source, &worker->records[i]);
        if (worker->data.len + key.len > RECORD_BYTES_MAX) {
            leave_out(worker, feed, delivery, i);
            continue;
        }
        if (!stream_put_fits(&worker->put, worker->data.len + key.len)) {
            break;
        }
        map_put(&items, key, worker);
        wave->numbers[worker->put.count] = i;
        stream_put_add(&worker->put, key, buf_str(&worker->data));
    }
    map_finish(&items);
}

/* Marks the records of the wave that the stream has accepted, and returns how many they are. */
static size_t mark_taken(struct worker *worker, const struct wave *wave, size_t sent)
{
    size_t taken = 0;
    for (size_t i = 0; i < sent; i++) {
        if (!worker->put.failed[i]) {
            worker->done[wave->numbers[i]] = true;
            taken++;
        }
    }
    return taken;
}

/* Sends all records of the window that are not done, while this server is the leader. False:
 * worker->put.problem says why. */
static bool send_window(struct worker *worker, const struct feed *feed, struct delivery *delivery)
{
    struct wave wave;
    while (engine_leads_transfers(worker->kinesis->engine)) {
        fill_wave(worker, feed, delivery, &wave);
        size_t sent = worker->put.count;
        if (sent == 0) {
            return true;
        }
        if (!stream_put_send(&worker->put, worker->kinesis->client, &worker->background.stopping)) {
            return false;
        }
        size_t taken = mark_taken(worker, &wave, sent);
        count(worker, &delivery->delivered, taken);
        if (taken == 0) {
            return false;
        }
        note_success(worker, feed, delivery);
        if (taken < sent) {
            waiting_mailbox_run_for(worker->background.mailbox, REFUSED_DELAY_MS);
        }
    }
    return true; /* another server sends the rest */
}

/* --- changes that are not kept any longer --- */

struct aged {
    int64_t time_ms;
    size_t bytes;
};

static int compare_ages(const void *a, const void *b)
{
    int64_t first_ms = ((const struct aged *)a)->time_ms;
    int64_t second_ms = ((const struct aged *)b)->time_ms;
    return (first_ms > second_ms) - (first_ms < second_ms);
}

/* The time up to which records of the window must be dropped so that the backlog shrinks by
 * `excess` bytes. */
static int64_t time_of_excess(struct worker *worker, int64_t excess)
{
    struct aged *by_age = mem_alloc((worker->record_count + 1) * sizeof(*by_age));
    for (size_t i = 0; i < worker->record_count; i++) {
        by_age[i] = (struct aged){worker->times[i], worker->records[i].bytes};
    }
    qsort(by_age, worker->record_count, sizeof(*by_age), compare_ages);
    int64_t time_ms = INT64_MIN;
    for (size_t i = 0; i < worker->record_count && excess > 0; i++) {
        excess -= (int64_t)by_age[i].bytes;
        time_ms = by_age[i].time_ms;
    }
    mem_free(by_age);
    return time_ms;
}

/* By how many bytes the backlog is too large. */
static int64_t excess_of(const struct worker *worker, const struct delivery *delivery)
{
    size_t bytes_max = worker->kinesis->options.backlog_bytes_max;
    int64_t excess = delivery->backlog.bytes - (int64_t)bytes_max;
    return bytes_max > 0 && excess > 0 ? excess : 0;
}

/* Erases the oldest records of the window if the backlog is too large, and those that are too old:
 * only at the front of each slot. Sets *out_count to their number. False: the store failed. */
static bool drop_some(struct worker *worker, const struct feed *feed, struct delivery *delivery,
                      size_t *out_count)
{
    const struct kinesis_options *options = &worker->kinesis->options;
    int64_t oldest_ms = engine_trusted_ms(worker->kinesis->engine) - options->retention_ms;
    int64_t excess = excess_of(worker, delivery);
    bool is_too_large = excess > 0;
    int64_t excess_ms = is_too_large ? time_of_excess(worker, excess) + 1 : INT64_MIN;
    *out_count = 0;
    for (size_t i = 0; i < worker->record_count; i++) {
        const struct feed_record *record = &worker->records[i];
        bool is_front = i == 0 || record[-1].slot != record->slot || worker->done[i - 1];
        worker->done[i] =
            worker->times[i] < excess_ms || (is_front && record->change.time_ms < oldest_ms);
        *out_count += worker->done[i];
    }
    if (*out_count == 0) {
        return true;
    }
    if (!erase_done(worker, feed, delivery)) {
        return false;
    }
    count(worker, &delivery->lost, *out_count);
    log_write(LOG_WARN, "kinesis", "table %.*s: %zu changes for %.*s are lost: %s",
              STR_ARG(feed->table_name), *out_count, STR_ARG(feed->destination.stream_arn),
              is_too_large ? "the backlog exceeds --kinesis-backlog-mb"
                           : "they could not be delivered in time");
    measure(worker, feed, delivery, 0);
    return true;
}

/* --- a feed --- */

static bool read_cursors(struct worker *worker, const struct feed *feed, struct delivery *delivery)
{
    if (delivery->cursors != NULL) {
        return true;
    }
    uint64_t *cursors = mem_zalloc(feed->slot_count * sizeof(*cursors));
    if (!feed_read_cursors(&worker->background, feed, cursors)) {
        mem_free(cursors);
        return false;
    }
    delivery->cursors = cursors;
    return true;
}

/* Whether the counter shows that there is nothing to deliver. Reading the counter takes one row,
 * reading the feed one for each slot; the feed itself is read at intervals, and before it is
 * removed. */
static bool is_idle(struct worker *worker, const struct feed *feed, struct delivery *delivery)
{
    int64_t now_us = clock_monotonic_us();
    measure(worker, feed, delivery, 0);
    if (delivery->backlog.count > 0 || feed->ended_ms != 0 ||
        now_us >= delivery->looked_us + (int64_t)LOOK_MS * 1000) {
        delivery->looked_us = now_us;
        return false;
    }
    return true;
}

/* Frees what large windows needed. */
static void shrink(struct worker *worker)
{
    buf_shrink(&worker->put.body, IDLE_BYTES);
    buf_shrink(&worker->put.response.body, IDLE_BYTES);
    buf_shrink(&worker->data, IDLE_BYTES);
    arena_reset(&worker->window_arena);
}

/* Delivers one window. Returns false if the feed must wait *out_wait_ms. */
static bool deliver_window(struct worker *worker, const struct feed *feed,
                           struct delivery *delivery, int64_t *out_wait_ms)
{
    size_t dropped;
    *out_wait_ms = RETRY_MS;
    if (!read_cursors(worker, feed, delivery) || !read_window(worker, feed, delivery)) {
        return false;
    }
    measure(worker, feed, delivery, MEASURE_MS);
    if (worker->record_count == 0) {
        *out_wait_ms = POLL_MS;
        return false;
    }
    if (!drop_some(worker, feed, delivery, &dropped)) {
        return false;
    }
    if (dropped > 0) {
        return true; /* perhaps more must be dropped */
    }
    bool is_sent = send_window(worker, feed, delivery);
    if (!is_sent) {
        *out_wait_ms = delivery_failed(worker, feed, delivery, worker->put.problem);
    }
    return erase_done(worker, feed, delivery) && is_sent;
}

int64_t deliver_feed(struct worker *worker, const struct feed *feed, struct delivery *delivery,
                     bool *out_is_empty)
{
    int64_t start_us = clock_monotonic_us();
    int64_t wait_ms =
        delivery->retry_us > start_us ? (delivery->retry_us - start_us) / 1000 + 1 : 0;
    if (wait_ms > 0) {
        return wait_ms;
    }
    if (is_idle(worker, feed, delivery)) {
        return POLL_MS;
    }
    while (deliver_window(worker, feed, delivery, &wait_ms)) {
        if (!background_may_go_on(&worker->background) ||
            clock_monotonic_us() > start_us + (int64_t)TURN_MS * 1000) {
            return 0;
        }
    }
    *out_is_empty = wait_ms == POLL_MS && worker->record_count == 0;
    if (*out_is_empty) {
        measure(worker, feed, delivery, 0);
        shrink(worker);
    }
    return wait_ms;
}

int64_t limit_backlog(struct worker *worker, const struct feed *feed, struct delivery *delivery)
{
    int64_t start_us = clock_monotonic_us();
    size_t dropped = 1;
    measure(worker, feed, delivery, MEASURE_MS);
    while (dropped > 0 && excess_of(worker, delivery) > 0 &&
           !background_is_stopping(&worker->background) &&
           clock_monotonic_us() < start_us + (int64_t)TURN_MS * 1000) {
        if (!read_cursors(worker, feed, delivery) || !read_window(worker, feed, delivery) ||
            !drop_some(worker, feed, delivery, &dropped)) {
            return RETRY_MS;
        }
    }
    return POLL_MS;
}
