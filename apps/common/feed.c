/* The thread that reads a table's stream for live updates, from the present on, and passes each
 * change to the application and to the event loop (live.c). Without a stream it sends
 * MESSAGE_RELOAD from time to time. */
#include <time.h>

#include "apps/common/live_internal.h"
#include "apps/common/stream.h"
#include "base/clock.h"
#include "base/log.h"

enum { RETRY_MS = 300, PING_MS = 10000 };

struct feed {
    struct live *live;
    struct stream_reader *reader;
    bool is_down;
    int64_t pinged_at_ms;
};

static int64_t now_ms(void)
{
    return clock_monotonic_us() / 1000;
}

static void ping_if_due(struct feed *feed)
{
    if (now_ms() - feed->pinged_at_ms >= PING_MS) {
        feed->pinged_at_ms = now_ms();
        live_post(feed->live, &(struct message){.kind = MESSAGE_PING});
    }
}

/* --- changes --- */

static bool take_change(void *context, const struct stream_change *change,
                        struct gramme_error **error)
{
    (void)error;
    struct feed *feed = context;
    struct live *live = feed->live;
    pthread_mutex_lock(&live->mutex);
    bool stopping = live->stopping;
    pthread_mutex_unlock(&live->mutex);
    if (stopping) {
        return false; /* without an error: while clients write, reading to the end might not end */
    }
    ping_if_due(feed);
    const struct gramme_value *old = change->old_item;
    const struct gramme_value *new = change->new_item;
    if (live->options.app->apply != NULL) {
        live->options.app->apply(live->options.state, old, new);
    }
    live_post(live, &(struct message){.kind = MESSAGE_CHANGE,
                                      .old_image = old == NULL ? NULL : gramme_value_copy(old),
                                      .new_image = new == NULL ? NULL : gramme_value_copy(new)});
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

/* Sleeps for a time. Wakes earlier if a thread waits in live_sync(), the server stops, or, with
 * `until_written`, this server writes. */
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

/* Sleeps, even if a thread waits in live_sync(): further requests would be throttled, too. */
static void rest_throttled(struct live *live)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += RETRY_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&live->mutex);
    int result = 0;
    while (!live->stopping && result == 0) {
        result = pthread_cond_timedwait(&live->wake, &live->mutex, &until);
    }
    pthread_mutex_unlock(&live->mutex);
}

/* Waits until a client connects or live_sync() is called. False: the server stops. */
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

static void set_position(struct live *live, enum live_source position)
{
    pthread_mutex_lock(&live->mutex);
    live->position = position;
    pthread_mutex_unlock(&live->mutex);
}

/* Reads until no client is connected or the iterators have expired. */
static void follow_stream(struct feed *feed)
{
    struct live *live = feed->live;
    while (is_needed(live)) {
        uint64_t wanted = begin_pass(live);
        struct gramme_error *error = NULL;
        ping_if_due(feed);
        if (stream_reader_read(feed->reader, take_change, feed, &error)) {
            set_down(feed, false, NULL);
            end_pass(live, wanted, true);
            rest(live, live->options.interval_ms, false);
        } else if (error == NULL) { /* the server stops */
            rest(live, RETRY_MS, false);
            return;
        } else if (stream_error_is_throttled(error)) {
            rest_throttled(live);
        } else if (stream_error_may_pass(error) && !gramme_error_is(error, GRAMME_NOT_FOUND)) {
            set_down(feed, true, error);
            end_pass(live, wanted, false);
            rest(live, RETRY_MS, false);
        } else { /* the iterators have expired, or the table was created again */
            log_write(LOG_WARN, "live", "%s: the position in the stream is lost: %s: %s",
                      live->options.app->table, gramme_error_code(error),
                      gramme_error_message(error));
            gramme_error_destroy(error);
            rest(live, RETRY_MS, false);
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

/* `error`: why the stream cannot be read; NULL: the table has none. */
static void log_no_stream(const struct live *live, const struct gramme_error *error)
{
    if (error == NULL) {
        log_write(LOG_INFO, "live", "%s has no stream: pages poll every %d ms",
                  live->options.app->table, live->options.poll_ms);
    } else {
        log_write(LOG_WARN, "live",
                  "the stream of %s cannot be read (%s: %s): pages poll every %d ms",
                  live->options.app->table, gramme_error_code(error), gramme_error_message(error),
                  live->options.poll_ms);
    }
}

void *feed_main(void *argument)
{
    struct live *live = argument;
    struct feed feed = {.live = live,
                        .reader = stream_reader_create(&(struct stream_options){
                            .table = live->options.app->table,
                            .db = live->options.db,
                            .streams = live->options.streams,
                        })};
    while (wait_for_need(live)) {
        uint64_t wanted = begin_pass(live);
        struct gramme_error *error = NULL;
        bool has_stream;
        set_position(live, LIVE_NONE);
        ping_if_due(&feed);
        if (!stream_reader_open_latest(feed.reader, &has_stream, &error)) {
            set_down(&feed, true, error);
            end_pass(live, wanted, false);
            rest(live, RETRY_MS, false);
            gramme_error_destroy(error);
            continue;
        }
        enum live_source source = has_stream ? LIVE_STREAM : LIVE_POLL;
        if (!has_stream) {
            log_no_stream(live, error);
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
    stream_reader_destroy(feed.reader);
    return NULL;
}
