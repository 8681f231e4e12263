/* Background threads of the engine and their blocking store requests: see background.h. Started and
 * stopped by engine.c and by src/kinesis and src/transfer; background_main() runs on the new
 * thread. */
#include "engine/background.h"

#include "base/clock.h"
#include "engine/engine_internal.h"
#include "err/messages.h"

/* How often a thread that is stopping checks for open requests of background_begin(). */
enum { STOPPING_MS = 5 };

static void *background_main(void *arg)
{
    struct background *background = arg;
    int64_t next_us = clock_monotonic_us();
    while (!background_is_stopping(background) || atomic_load(&background->open_count) > 0) {
        bool is_due = background->is_due || clock_monotonic_us() >= next_us;
        if (is_due && !background_is_stopping(background)) {
            background->is_due = false; /* a wake-up from now on means another round */
            next_us = background->round(background) * 1000 + clock_monotonic_us();
        }
        int64_t left_ms = (next_us - clock_monotonic_us()) / 1000;
        if (background_is_stopping(
                background)) { /* a round may have taken the wake-up of the stop */
            left_ms = MIN(left_ms, (int64_t)STOPPING_MS);
        }
        bool again = background->is_due && !background_is_stopping(background);
        waiting_mailbox_run_for(background->mailbox, again ? 0 : MAX(left_ms, 1));
    }
    return NULL;
}

static void be_due(struct task *task)
{
    struct background *background = CONTAINER_OF(task, struct background, wake);
    background->is_due = true;
    atomic_store(&background->woken, false);
}

void background_prepare(struct background *background, struct engine *engine)
{
    background->engine = engine;
    background->mailbox = waiting_mailbox_create();
    background->wake.run = be_due;
    atomic_init(&background->open_count, 0);
    atomic_init(&background->stopping, false);
    atomic_init(&background->woken, false);
}

bool background_start(struct background *background, struct engine *engine, const char *name,
                      int64_t (*round)(struct background *background), struct err *err)
{
    if (background->mailbox == NULL) {
        background_prepare(background, engine);
    }
    background->round = round;
    background->started =
        pthread_create(&background->thread, NULL, background_main, background) == 0;
    if (!background->started) {
        return err_set(err, ERR_INTERNAL, MESSAGE_NO_THREAD);
    }
    pthread_setname_np(background->thread, name);
    return true;
}

bool background_is_stopping(const struct background *background)
{
    return atomic_load_explicit(&background->stopping, memory_order_acquire);
}

bool background_may_go_on(const struct background *background)
{
    return !background_is_stopping(background) && store_is_leader(background->engine->store);
}

void background_sleep(struct background *background, int64_t sleep_us)
{
    int64_t until_us = clock_monotonic_us() + sleep_us;
    int64_t left_us;
    while (!background_is_stopping(background) && (left_us = until_us - clock_monotonic_us()) > 0) {
        waiting_mailbox_run_for(background->mailbox, MAX(left_us / 1000, 1));
    }
}

/* Most of the time of a piece of work is often waiting for the disk, which delays no call. */
enum { GIVE_WAY_FACTOR = 3, GIVE_WAY_US_MAX = 5000 };

bool background_give_way(struct background *background, int64_t spent_us)
{
    uint_fast64_t calls =
        atomic_load_explicit(&background->engine->call_count, memory_order_relaxed);
    if (calls == background->calls_seen) {
        return false;
    }
    background->calls_seen = calls;
    background_sleep(background, MIN(GIVE_WAY_FACTOR * spent_us, (int64_t)GIVE_WAY_US_MAX));
    return true;
}

void background_wake(struct background *background)
{
    if (!atomic_exchange(&background->woken, true)) { /* else the task is in the mailbox already */
        mailbox_post(waiting_mailbox_box(background->mailbox), &background->wake);
    }
}

void background_stop(struct background *background)
{
    if (background->started) {
        atomic_store_explicit(&background->stopping, true, memory_order_release);
        background_wake(background);
        pthread_join(background->thread, NULL);
        background->started = false;
    }
}

void background_finish(struct background *background)
{
    assert(!background->started);
    waiting_mailbox_destroy(background->mailbox);
    background->mailbox = NULL;
}

static void range_done(struct store_range *range)
{
    CONTAINER_OF(range, struct background_range, range)->done = true;
}

enum store_status background_range(struct background *background, struct background_range *range)
{
    range->done = false;
    range->range.home = waiting_mailbox_box(background->mailbox);
    range->range.done = range_done;
    store_range(background->engine->store, &range->range);
    waiting_mailbox_run(background->mailbox, &range->done);
    return range->range.status;
}

static void update_done(struct store_update *update)
{
    CONTAINER_OF(update, struct background_update, update)->done = true;
}

enum store_status background_update(struct background *background, struct background_update *update)
{
    update->done = false;
    update->update.home = waiting_mailbox_box(background->mailbox);
    update->update.done = update_done;
    store_update(background->engine->store, &update->update);
    waiting_mailbox_run(background->mailbox, &update->done);
    return update->update.status;
}

static void change_done(struct engine_call *call)
{
    CONTAINER_OF(call, struct background_change, change.call)->done = true;
}

void background_change(struct background *background, struct background_change *change)
{
    struct arena *arena = change->change.call.arena;
    change->done = false;
    change->change.call = (struct engine_call){
        .engine = background->engine,
        .arena = arena,
        .home = waiting_mailbox_box(background->mailbox),
        .err = ERR_INIT(arena),
        .done = change_done,
    };
    engine_change_table(&change->change);
    waiting_mailbox_run(background->mailbox, &change->done);
    table_release(change->change.table);
}

struct mailbox *background_begin(struct background *background)
{
    atomic_fetch_add(&background->open_count, 1);
    return waiting_mailbox_box(background->mailbox);
}

void background_end(struct background *background)
{
    atomic_fetch_sub(&background->open_count, 1);
}

static void call_done(struct engine_call *call)
{
    ((struct background_wait *)call->owner)->done = true;
}

struct engine_call background_call(struct background *background, struct arena *arena,
                                   struct background_wait *wait)
{
    *wait = (struct background_wait){0};
    return (struct engine_call){
        .engine = background->engine,
        .arena = arena,
        .home = waiting_mailbox_box(background->mailbox),
        .err = ERR_INIT(arena),
        .done = call_done,
        .owner = wait,
    };
}

void background_wait_for(struct background *background, const struct background_wait *wait)
{
    waiting_mailbox_run(background->mailbox, &wait->done);
}
