/* The housekeeper: one thread that does, every now and then, what no request waits for. */
#include <time.h>

#include "base/clock.h"
#include "engine/engine_internal.h"
#include "engine/token.h"

enum { ROUND_SECONDS = 30 };

/* Waits for the next round; false when the engine closes. */
static bool wait_for_round(struct housekeeper *keeper)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += ROUND_SECONDS;
    pthread_mutex_lock(&keeper->mutex);
    int woken = 0;
    while (!keeper->stopping && woken == 0) {
        woken = pthread_cond_timedwait(&keeper->wake, &keeper->mutex, &until);
    }
    bool stopping = keeper->stopping;
    pthread_mutex_unlock(&keeper->mutex);
    return !stopping;
}

static void *housekeeper_main(void *arg)
{
    struct engine *engine = arg;
    while (wait_for_round(&engine->housekeeper)) {
        token_sweep(engine, clock_wall_ms());
    }
    return NULL;
}

bool housekeeper_start(struct engine *engine, struct err *err)
{
    struct housekeeper *keeper = &engine->housekeeper;
    pthread_mutex_init(&keeper->mutex, NULL);
    pthread_cond_init(&keeper->wake, NULL);
    keeper->started = pthread_create(&keeper->thread, NULL, housekeeper_main, engine) == 0;
    return keeper->started || err_set(err, ERR_INTERNAL, "cannot start a thread");
}

void housekeeper_stop(struct engine *engine)
{
    struct housekeeper *keeper = &engine->housekeeper;
    if (!keeper->started) {
        return;
    }
    pthread_mutex_lock(&keeper->mutex);
    keeper->stopping = true;
    pthread_cond_signal(&keeper->wake);
    pthread_mutex_unlock(&keeper->mutex);
    pthread_join(keeper->thread, NULL);
    pthread_cond_destroy(&keeper->wake);
    pthread_mutex_destroy(&keeper->mutex);
}
