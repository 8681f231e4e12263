/* The housekeeper: one thread that does what no request waits for. It has a mailbox, so that others
 * can start work in the store whose end nobody but the engine cares about, and every now and then
 * it makes a round by itself. */
#include "base/clock.h"
#include "engine/engine_internal.h"
#include "engine/token.h"

enum { ROUND_MS = 30 * 1000 };

static void *housekeeper_main(void *arg)
{
    struct engine *engine = arg;
    struct housekeeper *keeper = &engine->housekeeper;
    int64_t next_round_us = clock_monotonic_us() + ROUND_MS * INT64_C(1000);
    while (!keeper->stopping || atomic_load(&keeper->open_count) > 0) {
        int64_t left_ms = (next_round_us - clock_monotonic_us()) / 1000;
        waiting_mailbox_run_for(keeper->mailbox, MAX(left_ms, 1));
        if (clock_monotonic_us() >= next_round_us) {
            token_sweep(engine, clock_wall_ms());
            next_round_us = clock_monotonic_us() + ROUND_MS * INT64_C(1000);
        }
    }
    return NULL;
}

bool housekeeper_start(struct engine *engine, struct err *err)
{
    struct housekeeper *keeper = &engine->housekeeper;
    keeper->mailbox = waiting_mailbox_create();
    atomic_init(&keeper->open_count, 0);
    keeper->started = pthread_create(&keeper->thread, NULL, housekeeper_main, engine) == 0;
    return keeper->started || err_set(err, ERR_INTERNAL, "cannot start a thread");
}

/* Runs on the housekeeper's thread. */
static void stop(struct task *task)
{
    CONTAINER_OF(task, struct housekeeper, stop)->stopping = true;
}

void housekeeper_stop(struct engine *engine)
{
    struct housekeeper *keeper = &engine->housekeeper;
    if (keeper->started) {
        keeper->stop.run = stop;
        mailbox_post(waiting_mailbox_box(keeper->mailbox), &keeper->stop);
        pthread_join(keeper->thread, NULL);
    }
    waiting_mailbox_destroy(keeper->mailbox);
}
