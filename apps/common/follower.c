/* The thread that acts on the changes of a table: reads its stream from the stored position on and
 * stores the position from time to time. One per application that has a struct app_follower. */
#include "apps/common/follower.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

enum {
    INTERVAL_MS = 1000,   /* between two reads */
    SOON_MS = 200,        /* after a write of this server; five reads a second are allowed */
    RETRY_MS = 500,       /* after a failure */
    SAVE_MS = 5000,       /* between two stored positions */
    NO_STREAM_MS = 30000, /* between two attempts to find a stream */
};

struct follower {
    struct follower_options options;
    struct stream_reader *reader;
    pthread_t thread;
    bool has_thread;

    pthread_mutex_t mutex; /* guards the next two */
    pthread_cond_t wake;
    bool stopping;
    bool was_written;

    /* The thread's own. */
    bool is_dirty; /* acted on a change since the position was stored */
    bool is_down;  /* the last request failed */
    int64_t saved_at_ms;
};

static int64_t now_ms(void)
{
    return clock_monotonic_us() / 1000;
}

static void add_ms(struct timespec *time, int64_t ms)
{
    int64_t nsec = time->tv_nsec + ms % 1000 * 1000000;
    time->tv_sec += ms / 1000 + nsec / 1000000000;
    time->tv_nsec = nsec % 1000000000;
}

/* Waits; wakes earlier if this server writes. False: the follower ends. */
static bool wait(struct follower *follower, int for_ms)
{
    struct timespec until;
    struct timespec soon;
    clock_gettime(CLOCK_MONOTONIC, &until);
    soon = until;
    add_ms(&until, for_ms);
    add_ms(&soon, SOON_MS < for_ms ? SOON_MS : for_ms);
    int result = 0;
    pthread_mutex_lock(&follower->mutex);
    while (!follower->stopping && result == 0) {
        result = pthread_cond_timedwait(&follower->wake, &follower->mutex,
                                        follower->was_written ? &soon : &until);
    }
    follower->was_written = false;
    bool goes_on = !follower->stopping;
    pthread_mutex_unlock(&follower->mutex);
    return goes_on;
}

/* Logs the first failure of several. */
static void note_failure(struct follower *follower, const struct gramme_error *error)
{
    if (!follower->is_down) {
        log_write(LOG_WARN, "follower", "%s: cannot process changes, will retry: %s: %s",
                  follower->options.app->table, gramme_error_code(error),
                  gramme_error_message(error));
    }
    follower->is_down = true;
}

/* Stores the position if a change was acted on since it was stored. */
static void save(struct follower *follower)
{
    if (!follower->is_dirty || follower->is_down) {
        return;
    }
    struct gramme_error *error = NULL;
    struct gramme_value *positions = gramme_map_create();
    stream_reader_save(follower->reader, positions);
    if (follower->options.app->save(follower->options.db, positions, &error)) {
        follower->is_dirty = false;
    } else {
        note_failure(follower, error);
    }
    follower->saved_at_ms = now_ms();
    gramme_value_destroy(positions);
    gramme_error_destroy(error);
}

static bool is_stopping(struct follower *follower)
{
    pthread_mutex_lock(&follower->mutex);
    bool stopping = follower->stopping;
    pthread_mutex_unlock(&follower->mutex);
    return stopping;
}

/* Acts on a change. One read may return very many, after a day without a server: so this also
 * stores the position when it is due, and stops when the process ends. */
static bool take_change(void *context, const struct stream_change *change,
                        struct gramme_error **error)
{
    struct follower *follower = context;
    bool acted = false;
    if (is_stopping(follower)) {
        return false; /* without an error */
    }
    if (now_ms() - follower->saved_at_ms >= SAVE_MS) {
        save(follower);
    }
    if (!follower->options.app->act(follower->options.db, change, &acted, error)) {
        return false;
    }
    follower->is_dirty |= acted;
    return true;
}

/* Reads until the position is lost or the follower ends. False: it ends. */
static bool follow(struct follower *follower)
{
    for (;;) {
        struct gramme_error *error = NULL;
        bool ok = stream_reader_read(follower->reader, take_change, follower, &error);
        bool is_lost = !ok && !stream_error_is_throttled(error) &&
                       (!stream_error_may_pass(error) || gramme_error_is(error, GRAMME_NOT_FOUND));
        if (ok) {
            follower->is_down = false;
        } else if (error != NULL && !stream_error_is_throttled(error)) {
            note_failure(follower, error);
        }
        gramme_error_destroy(error);
        if (now_ms() - follower->saved_at_ms >= SAVE_MS) {
            save(follower);
        }
        if (!wait(follower, ok ? INTERVAL_MS : RETRY_MS)) {
            return false;
        }
        if (is_lost) {
            return true;
        }
    }
}

/* Opens the reader at the stored position. */
static bool open_reader(struct follower *follower, bool *out_found, struct gramme_error **error)
{
    struct gramme_value *positions = NULL;
    bool ok = follower->options.app->load(follower->options.db, &positions, error) &&
              stream_reader_open_at(follower->reader, positions, out_found, error);
    gramme_value_destroy(positions);
    return ok;
}

static void *run(void *argument)
{
    struct follower *follower = argument;
    bool goes_on = true;
    while (goes_on) {
        struct gramme_error *error = NULL;
        bool has_stream = false;
        bool ok = open_reader(follower, &has_stream, &error);
        if (!ok) {
            note_failure(follower, error);
        }
        gramme_error_destroy(error);
        if (ok && has_stream) {
            follower->is_down = false;
            goes_on = follow(follower);
            save(follower);
        } else {
            goes_on = wait(follower, ok ? NO_STREAM_MS : RETRY_MS);
        }
    }
    return NULL;
}

struct follower *follower_create(const struct follower_options *options)
{
    struct follower *follower = mem_zalloc(sizeof(*follower));
    follower->options = *options;
    follower->reader = stream_reader_create(&(struct stream_options){
        .table = options->app->table,
        .db = options->db,
        .streams = options->streams,
    });
    pthread_mutex_init(&follower->mutex, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&follower->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    if (pthread_create(&follower->thread, NULL, run, follower) != 0) {
        abort(); /* no memory */
    }
    follower->has_thread = true;
    return follower;
}

void follower_stop(struct follower *follower)
{
    if (follower == NULL || !follower->has_thread) {
        return;
    }
    pthread_mutex_lock(&follower->mutex);
    follower->stopping = true;
    pthread_cond_signal(&follower->wake);
    pthread_mutex_unlock(&follower->mutex);
    pthread_join(follower->thread, NULL);
    follower->has_thread = false;
}

void follower_destroy(struct follower *follower)
{
    if (follower == NULL) {
        return;
    }
    follower_stop(follower);
    stream_reader_destroy(follower->reader);
    pthread_cond_destroy(&follower->wake);
    pthread_mutex_destroy(&follower->mutex);
    mem_free(follower);
}

void follower_note_write(struct follower *follower)
{
    pthread_mutex_lock(&follower->mutex);
    follower->was_written = true;
    pthread_cond_signal(&follower->wake);
    pthread_mutex_unlock(&follower->mutex);
}
