/* States of destinations: ENABLING to ACTIVE or ENABLE_FAILED, DISABLING to DISABLED. Called by
 * kinesis.c on a delivery thread. */
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "kinesis/kinesis_internal.h"

/* How long a check of an endpoint that does not answer is repeated, and how long DISABLING waits
 * for changes that cannot be delivered. */
enum { CHECK_MS_MAX = 30 * 1000, DISABLING_MS_MAX = 10 * 1000, IDLE_MS = 60 * 1000 };

#define NO_PERMISSION "User does not have a permission to use kinesis stream"
#define ARN_BELONGS                                                                                \
    "The kinesis Arn used to enable kinesis replication belongs to a stream which is "

static int64_t change_state(struct worker *worker, const struct feed *feed,
                            enum destination_state to, struct str problem)
{
    struct feed_transition transition = {
        .table_name = feed->table_name,
        .table_id = feed->table_id,
        .stream_arn = feed->destination.stream_arn,
        .from = feed->destination.state,
        .to = to,
        .problem = problem,
    };
    /* The change makes the worker read the list again. */
    return feed_change_state(&worker->background, &transition) ? IDLE_MS : RETRY_MS;
}

static int64_t fail_enabling(struct worker *worker, const struct feed *feed, struct str problem,
                             const char *detail)
{
    log_write(LOG_WARN, "kinesis", "table %.*s: %.*s cannot be enabled: %.*s (%s)",
              STR_ARG(feed->table_name), STR_ARG(feed->destination.stream_arn), STR_ARG(problem),
              detail);
    return change_state(worker, feed, DESTINATION_ENABLE_FAILED, problem);
}

/* No response: repeats the check for a limited time. */
static int64_t ask_again(struct worker *worker, const struct feed *feed, struct delivery *delivery,
                         const char *problem)
{
    int64_t wait_ms = delivery_failed(worker, feed, delivery, problem);
    bool is_failing = delivery->failing_since_us != 0; /* else the server is stopping */
    if (!is_failing ||
        clock_monotonic_us() - delivery->failing_since_us < (int64_t)CHECK_MS_MAX * 1000) {
        return wait_ms;
    }
    return fail_enabling(worker, feed, STR("The Kinesis endpoint does not answer"), problem);
}

int64_t enable_feed(struct worker *worker, const struct feed *feed, struct delivery *delivery)
{
    struct kinesis *kinesis = worker->kinesis;
    struct str arn = feed->destination.stream_arn;
    struct str region;
    struct str name;
    if (!catalog_delay_is_over(kinesis->engine, feed->destination.changed_ms)) {
        return POLL_MS;
    }
    int64_t left_us = delivery->retry_us - clock_monotonic_us();
    if (left_us > 0) {
        return left_us / 1000 + 1;
    }
    if (stream_arn_parse(arn, &region, &name) && !str_eq(region, kinesis->options.region)) {
        return fail_enabling(worker, feed, STR(ARN_BELONGS "not in the current region"), "");
    }
    char problem[256] = "";
    enum stream_check check =
        stream_check(kinesis->client, arn, &worker->background.stopping, problem);
    if (check != STREAM_IS_ACTIVE && background_is_stopping(&worker->background)) {
        return RETRY_MS; /* the call was aborted: it shows nothing about the stream */
    }
    switch (check) {
    case STREAM_IS_ACTIVE:
        delivery_succeeded(worker, delivery);
        log_write(LOG_INFO, "kinesis", "table %.*s: changes go to %.*s", STR_ARG(feed->table_name),
                  STR_ARG(arn));
        return change_state(worker, feed, DESTINATION_ACTIVE, STR_NULL);
    case STREAM_IS_NOT_ACTIVE:
        return fail_enabling(worker, feed, STR(ARN_BELONGS "not in Active state"), problem);
    case STREAM_IS_REFUSED:
        return fail_enabling(worker, feed, STR(NO_PERMISSION), problem);
    case STREAM_IS_UNKNOWN:
        break;
    }
    return ask_again(worker, feed, delivery, problem);
}

/* --- disabling --- */

struct disabling {
    struct worker *worker;
    int64_t wait_ms;
};

/* Whether the changes that were made before are delivered. */
static bool is_delivered(const struct worker *worker, const struct table *table,
                         const struct kinesis_destination *destination)
{
    for (size_t i = 0; i < worker->feed_count; i++) {
        const struct feed *feed = &worker->feeds[i];
        if (memcmp(feed->table_id, table->id, sizeof(table->id)) == 0 &&
            str_eq(feed->destination.stream_arn, destination->stream_arn)) {
            return false;
        }
    }
    return true;
}

static void finish_one(void *context, const struct table *table,
                       const struct kinesis_destination *destination)
{
    struct disabling *disabling = context;
    struct worker *worker = disabling->worker;
    int64_t age_ms = clock_wall_ms() - destination->changed_ms;
    bool is_late = age_ms < 0 || age_ms >= DISABLING_MS_MAX;
    if (!catalog_delay_is_over(worker->kinesis->engine, destination->changed_ms) ||
        (!is_late && !is_delivered(worker, table, destination))) {
        disabling->wait_ms = POLL_MS;
        return;
    }
    struct feed_transition transition = {
        .table_name = table->name,
        .table_id = table->id,
        .stream_arn = destination->stream_arn,
        .from = DESTINATION_DISABLING,
        .to = DESTINATION_DISABLED,
        .problem = STR_NULL,
    };
    if (!feed_change_state(&worker->background, &transition)) {
        disabling->wait_ms = RETRY_MS;
    }
}

int64_t finish_disabling(struct worker *worker)
{
    struct disabling disabling = {.worker = worker, .wait_ms = IDLE_MS};
    feed_each_disabling(worker->kinesis->engine, finish_one, &disabling);
    return disabling.wait_ms;
}
