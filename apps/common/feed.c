/* Reads a table's stream on a thread of its own: finds or switches on the stream, follows its
 * shards, and hands each change on. Without streams it only says when to read again. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "apps/common/live_internal.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

enum {
    SHARDS_MAX = 128,
    RETRY_MS = 300,
    DESCRIBE_MS = 30000,
    PAGE_RECORDS = 1000,
    PING_MS = 10000,
};

struct shard {
    char *id;
    char *iterator; /* NULL: read to its end */
};

struct feed {
    struct live *live;
    char *arn;
    struct shard shards[SHARDS_MAX];
    size_t shard_count;
    int64_t described_at_ms;
    bool is_down;
    int64_t pinged_at_ms;
};

static int64_t now_ms(void)
{
    return clock_monotonic_us() / 1000;
}

/* --- requests --- */

static struct gramme_answer *send(struct gramme_db *db, struct gramme_request *request,
                                  struct gramme_error **error)
{
    struct gramme_answer *answer = gramme_send(db, request, error);
    gramme_request_destroy(request);
    return answer;
}

/* Whether the same may go well later; else the database is one without streams. */
static bool may_pass(const struct gramme_error *error)
{
    return gramme_error_status(error) == 0 || gramme_error_retryable(error) ||
           gramme_error_is(error, GRAMME_NOT_FOUND) || gramme_error_is(error, GRAMME_IN_USE);
}

static bool switch_on(struct feed *feed, struct gramme_error **error)
{
    struct gramme_request *update =
        gramme_request_create("UpdateTable", feed->live->options.app->table);
    struct gramme_value *stream =
        gramme_set_map(gramme_request_root(update), "StreamSpecification");
    gramme_set_bool(stream, "StreamEnabled", true);
    gramme_set_string(stream, "StreamViewType", "NEW_AND_OLD_IMAGES");
    struct gramme_answer *answer = send(feed->live->options.db, update, error);
    gramme_answer_destroy(answer);
    return answer != NULL;
}

/* The ARN of the table's stream, if it tells old and new images. True with feed->arn NULL: it has
 * none. */
static bool find_arn(struct feed *feed, struct gramme_error **error)
{
    struct gramme_answer *answer =
        send(feed->live->options.db,
             gramme_request_create("DescribeTable", feed->live->options.app->table), error);
    if (answer == NULL) {
        return false;
    }
    const struct gramme_value *table = gramme_get(gramme_answer_root(answer), "Table");
    const struct gramme_value *stream = gramme_get(table, "StreamSpecification");
    const char *view = gramme_get_string(stream, "StreamViewType");
    const char *arn = gramme_get_string(table, "LatestStreamArn");
    mem_free(feed->arn);
    feed->arn = NULL;
    if (arn != NULL && view != NULL && strcmp(view, "NEW_AND_OLD_IMAGES") == 0 &&
        gramme_get_bool(stream, "StreamEnabled", false)) {
        feed->arn = mem_strdup(arn);
    }
    gramme_answer_destroy(answer);
    return true;
}

static char *get_iterator(struct feed *feed, const char *shard, const char *type,
                          struct gramme_error **error)
{
    struct gramme_request *request = gramme_request_create("GetShardIterator", NULL);
    struct gramme_value *root = gramme_request_root(request);
    gramme_set_string(root, "StreamArn", feed->arn);
    gramme_set_string(root, "ShardId", shard);
    gramme_set_string(root, "ShardIteratorType", type);
    struct gramme_answer *answer = send(feed->live->options.streams, request, error);
    const char *iterator = gramme_get_string(gramme_answer_root(answer), "ShardIterator");
    char *copy = iterator == NULL ? NULL : mem_strdup(iterator);
    gramme_answer_destroy(answer);
    return copy;
}

/* --- shards --- */

static void forget(struct feed *feed)
{
    for (size_t i = 0; i < feed->shard_count; i++) {
        mem_free(feed->shards[i].id);
        mem_free(feed->shards[i].iterator);
    }
    feed->shard_count = 0;
    mem_free(feed->arn);
    feed->arn = NULL;
}

static bool is_known(const struct feed *feed, const char *id)
{
    for (size_t i = 0; i < feed->shard_count; i++) {
        if (strcmp(feed->shards[i].id, id) == 0) {
            return true;
        }
    }
    return false;
}

/* Adds a shard that was listed. At first only what comes from now on counts, so shards that have
 * ended do not; later a new one is the child of one that we have read, and is read from its start.
 */
static bool add_shard(struct feed *feed, const struct gramme_value *shard, bool is_first,
                      struct gramme_error **error)
{
    const char *id = gramme_get_string(shard, "ShardId");
    bool has_ended =
        gramme_get_string(gramme_get(shard, "SequenceNumberRange"), "EndingSequenceNumber") != NULL;
    if (id == NULL || is_known(feed, id) || feed->shard_count == SHARDS_MAX) {
        return true;
    }
    char *iterator = NULL;
    if (!is_first || !has_ended) {
        iterator = get_iterator(feed, id, is_first ? "LATEST" : "TRIM_HORIZON", error);
        if (iterator == NULL) {
            return false;
        }
    }
    feed->shards[feed->shard_count++] = (struct shard){.id = mem_strdup(id), .iterator = iterator};
    return true;
}

/* Forgets shards that have been read to their end and are not listed any more. */
static void drop_ended(struct feed *feed, const struct gramme_value *listed)
{
    size_t kept = 0;
    for (size_t i = 0; i < feed->shard_count; i++) {
        bool is_listed = feed->shards[i].iterator != NULL;
        for (size_t k = 0; !is_listed && k < gramme_value_count(listed); k++) {
            is_listed = strcmp(gramme_get_string(gramme_value_at(listed, k), "ShardId"),
                               feed->shards[i].id) == 0;
        }
        if (is_listed) {
            feed->shards[kept++] = feed->shards[i];
        } else {
            mem_free(feed->shards[i].id);
        }
    }
    feed->shard_count = kept;
}

static bool describe(struct feed *feed, bool is_first, struct gramme_error **error)
{
    char *start = NULL;
    bool ok = true;
    do {
        struct gramme_request *request = gramme_request_create("DescribeStream", NULL);
        gramme_set_string(gramme_request_root(request), "StreamArn", feed->arn);
        if (start != NULL) {
            gramme_set_string(gramme_request_root(request), "ExclusiveStartShardId", start);
        }
        struct gramme_answer *answer = send(feed->live->options.streams, request, error);
        const struct gramme_value *description =
            gramme_get(gramme_answer_root(answer), "StreamDescription");
        const struct gramme_value *shards = gramme_get(description, "Shards");
        const char *last = gramme_get_string(description, "LastEvaluatedShardId");
        if (start == NULL && last == NULL && answer != NULL) {
            drop_ended(feed, shards);
        }
        mem_free(start);
        start = last == NULL ? NULL : mem_strdup(last);
        ok = answer != NULL;
        for (size_t i = 0; ok && i < gramme_value_count(shards); i++) {
            ok = add_shard(feed, gramme_value_at(shards, i), is_first, error);
        }
        gramme_answer_destroy(answer);
    } while (ok && start != NULL);
    mem_free(start);
    feed->described_at_ms = now_ms();
    return ok;
}

/* Finds the stream, switches it on if that is allowed, and stands at its end. *out_source is
 * LIVE_POLL if there is none to be had. False: the database does not answer. */
static bool position(struct feed *feed, enum live_source *out_source, struct gramme_error **error)
{
    forget(feed);
    *out_source = LIVE_POLL;
    if (!find_arn(feed, error)) {
        return false;
    }
    if (feed->arn == NULL && feed->live->options.may_enable && switch_on(feed, error) &&
        !find_arn(feed, error)) {
        return false;
    }
    if (feed->arn != NULL && describe(feed, true, error)) {
        *out_source = LIVE_STREAM;
        return true;
    }
    return *error == NULL || !may_pass(*error);
}

/* --- records --- */

static void hand_on(struct feed *feed, const struct gramme_value *record)
{
    struct live *live = feed->live;
    const struct gramme_value *change = gramme_get(record, "dynamodb");
    const struct gramme_value *old = gramme_get(change, "OldImage");
    const struct gramme_value *new = gramme_get(change, "NewImage");
    if (live->options.app->apply != NULL) {
        live->options.app->apply(live->options.state, live->options.db, old, new,
                                 gramme_get_int(change, "ApproximateCreationDateTime", 0));
    }
    live_post(live, &(struct message){.kind = MESSAGE_CHANGE,
                                      .old_image = old == NULL ? NULL : gramme_value_copy(old),
                                      .new_image = new == NULL ? NULL : gramme_value_copy(new)});
}

/* Reads a shard until it has nothing more now. */
static bool read_shard(struct feed *feed, struct shard *shard, struct gramme_error **error)
{
    size_t count = 1;
    while (shard->iterator != NULL && count > 0) {
        struct gramme_request *request = gramme_request_create("GetRecords", NULL);
        gramme_set_string(gramme_request_root(request), "ShardIterator", shard->iterator);
        gramme_set_int(gramme_request_root(request), "Limit", PAGE_RECORDS);
        struct gramme_answer *answer = send(feed->live->options.streams, request, error);
        if (answer == NULL) {
            return false;
        }
        const struct gramme_value *records = gramme_get(gramme_answer_root(answer), "Records");
        count = gramme_value_count(records);
        for (size_t i = 0; i < count; i++) {
            hand_on(feed, gramme_value_at(records, i));
        }
        const char *next = gramme_get_string(gramme_answer_root(answer), "NextShardIterator");
        mem_free(shard->iterator);
        shard->iterator = next == NULL ? NULL : mem_strdup(next);
        gramme_answer_destroy(answer);
    }
    return true;
}

static bool read_all(struct feed *feed, struct gramme_error **error)
{
    bool has_ended = false;
    for (size_t i = 0; i < feed->shard_count; i++) {
        bool was_open = feed->shards[i].iterator != NULL;
        if (!read_shard(feed, &feed->shards[i], error)) {
            return false;
        }
        has_ended |= was_open && feed->shards[i].iterator == NULL;
    }
    if (has_ended || now_ms() - feed->described_at_ms > DESCRIBE_MS) {
        return describe(feed, false, error);
    }
    return true;
}

/* --- the thread --- */

static void set_down(struct feed *feed, bool is_down, const struct gramme_error *error)
{
    if (feed->is_down == is_down) {
        return;
    }
    feed->is_down = is_down;
    if (is_down) {
        log_write(LOG_WARN, "live", "%s: the database does not answer: %s: %s",
                  feed->live->options.app->table, gramme_error_code(error),
                  gramme_error_message(error));
    } else {
        log_write(LOG_INFO, "live", "%s: the database answers again",
                  feed->live->options.app->table);
    }
    live_post(feed->live, &(struct message){.kind = MESSAGE_STATUS, .is_up = !is_down});
}

static void ping_if_due(struct feed *feed)
{
    if (now_ms() - feed->pinged_at_ms >= PING_MS) {
        feed->pinged_at_ms = now_ms();
        live_post(feed->live, &(struct message){.kind = MESSAGE_PING});
    }
}

/* Sleeps; sooner if somebody waits in live_sync(), the server stops, or, if so wanted, this server
 * writes something. */
static void rest(struct live *live, int for_ms, bool until_written)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t nsec = until.tv_nsec + (int64_t)for_ms * 1000000;
    until.tv_sec += nsec / 1000000000;
    until.tv_nsec = nsec % 1000000000;
    pthread_mutex_lock(&live->mutex);
    int result = 0;
    while (!live->stopping && live->sync_wanted == live->sync_done &&
           !(until_written && live->was_written) && result == 0) {
        result = pthread_cond_timedwait(&live->wake, &live->mutex, &until);
    }
    live->was_written = false;
    pthread_mutex_unlock(&live->mutex);
}

/* Waits until somebody needs us. False: the server stops. */
static bool wait_for_need(struct live *live)
{
    pthread_mutex_lock(&live->mutex);
    while (!live->stopping && live->client_count == 0 && live->sync_wanted == live->sync_done &&
           !live->options.app->is_always_read) {
        live->is_idle = true;
        pthread_cond_wait(&live->wake, &live->mutex);
    }
    bool goes_on = !live->stopping;
    live->is_idle = false;
    pthread_mutex_unlock(&live->mutex);
    return goes_on;
}

static bool is_needed(struct live *live)
{
    pthread_mutex_lock(&live->mutex);
    bool needed = !live->stopping && (live->options.app->is_always_read || live->client_count > 0 ||
                                      live->sync_wanted != live->sync_done ||
                                      now_ms() - live->needed_at_ms < IDLE_AFTER_MS);
    live->is_idle = !needed;
    pthread_mutex_unlock(&live->mutex);
    return needed;
}

static uint64_t begin_pass(struct live *live)
{
    pthread_mutex_lock(&live->mutex);
    uint64_t wanted = live->sync_wanted;
    pthread_mutex_unlock(&live->mutex);
    return wanted;
}

static void end_pass(struct live *live, uint64_t wanted, bool can_sync)
{
    pthread_mutex_lock(&live->mutex);
    live->sync_done = wanted;
    live->can_sync = can_sync;
    pthread_cond_broadcast(&live->synced);
    pthread_mutex_unlock(&live->mutex);
}

/* A shard may be read five times a second. */
static bool is_throttled(const struct gramme_error *error)
{
    return gramme_error_is(error, "LimitExceededException") ||
           gramme_error_is(error, GRAMME_THROUGHPUT_EXCEEDED) ||
           gramme_error_is(error, "ThrottlingException");
}

static void set_position(struct live *live, enum live_source position)
{
    pthread_mutex_lock(&live->mutex);
    live->position = position;
    pthread_mutex_unlock(&live->mutex);
}

/* Until nobody needs it, or the position is lost. */
static void follow_stream(struct feed *feed)
{
    struct live *live = feed->live;
    while (is_needed(live)) {
        uint64_t wanted = begin_pass(live);
        struct gramme_error *error = NULL;
        ping_if_due(feed);
        if (read_all(feed, &error)) {
            set_down(feed, false, NULL);
            end_pass(live, wanted, true);
            rest(live, live->options.interval_ms, false);
        } else if (is_throttled(error)) {
            rest(live, RETRY_MS, false);
        } else if (may_pass(error) && !gramme_error_is(error, GRAMME_NOT_FOUND)) {
            set_down(feed, true, error);
            end_pass(live, wanted, false);
            rest(live, RETRY_MS, false);
        } else { /* iterators are too old, or the table is another one */
            gramme_error_destroy(error);
            return;
        }
        gramme_error_destroy(error);
    }
}

static void poll(struct feed *feed)
{
    struct live *live = feed->live;
    while (is_needed(live)) {
        end_pass(live, begin_pass(live), false);
        ping_if_due(feed);
        rest(live, live->options.poll_ms, true);
        live_post(live, &(struct message){.kind = MESSAGE_RELOAD});
    }
}

void *feed_main(void *argument)
{
    struct live *live = argument;
    struct feed feed = {.live = live};
    while (wait_for_need(live)) {
        uint64_t wanted = begin_pass(live);
        struct gramme_error *error = NULL;
        enum live_source source;
        set_position(live, LIVE_NONE);
        ping_if_due(&feed);
        if (!position(&feed, &source, &error)) {
            set_down(&feed, true, error);
            end_pass(live, wanted, false);
            rest(live, RETRY_MS, false);
            gramme_error_destroy(error);
            continue;
        }
        if (source == LIVE_POLL) {
            log_write(LOG_INFO, "live",
                      "%s has no stream: pages are told to read again every %d ms",
                      live->options.app->table, live->options.poll_ms);
        }
        gramme_error_destroy(error);
        set_down(&feed, false, NULL);
        if (live->options.app->restart != NULL) {
            live->options.app->restart(live->options.state);
        }
        set_position(live, source);
        live_post(live, &(struct message){.kind = MESSAGE_READY, .source = source});
        (source == LIVE_STREAM ? follow_stream : poll)(&feed);
    }
    forget(&feed);
    return NULL;
}
