#include "engine/service.h"

#include "base/clock.h"
#include "engine/engine_internal.h"

/* How often a service that is to stop looks whether requests of no call are still under way. */
enum { STOPPING_MS = 5 };

static void *service_main(void *arg)
{
    struct service *service = arg;
    int64_t next_us = clock_monotonic_us();
    while (!service_is_stopping(service) || atomic_load(&service->open_count) > 0) {
        bool is_due = service->is_due || clock_monotonic_us() >= next_us;
        if (is_due && !service_is_stopping(service)) {
            service->is_due = false; /* whoever wakes it from now on wants another round */
            next_us = service->round(service) * 1000 + clock_monotonic_us();
        }
        int64_t left_ms = (next_us - clock_monotonic_us()) / 1000;
        if (service_is_stopping(service)) { /* a round may have taken the wake-up of the stop */
            left_ms = MIN(left_ms, (int64_t)STOPPING_MS);
        }
        bool again = service->is_due && !service_is_stopping(service);
        waiting_mailbox_run_for(service->mailbox, again ? 0 : MAX(left_ms, 1));
    }
    return NULL;
}

static void be_due(struct task *task)
{
    struct service *service = CONTAINER_OF(task, struct service, wake);
    service->is_due = true;
    atomic_store(&service->woken, false);
}

void service_prepare(struct service *service, struct engine *engine)
{
    service->engine = engine;
    service->mailbox = waiting_mailbox_create();
    service->wake.run = be_due;
    atomic_init(&service->open_count, 0);
    atomic_init(&service->stopping, false);
    atomic_init(&service->woken, false);
}

bool service_start(struct service *service, struct engine *engine,
                   int64_t (*round)(struct service *service), struct err *err)
{
    if (service->mailbox == NULL) {
        service_prepare(service, engine);
    }
    service->round = round;
    service->started = pthread_create(&service->thread, NULL, service_main, service) == 0;
    return service->started || err_set(err, ERR_INTERNAL, "cannot start a thread");
}

bool service_is_stopping(const struct service *service)
{
    return atomic_load_explicit(&service->stopping, memory_order_acquire);
}

/* Most of what a piece of work takes is often waiting for the disk, which hinders nobody. */
enum { GIVE_WAY_FACTOR = 3, GIVE_WAY_US_MAX = 5000 };

bool service_give_way(struct service *service, int64_t spent_us)
{
    uint_fast64_t calls = atomic_load_explicit(&service->engine->call_count, memory_order_relaxed);
    if (calls == service->calls_seen) {
        return false;
    }
    service->calls_seen = calls;
    int64_t until_us =
        clock_monotonic_us() + MIN(GIVE_WAY_FACTOR * spent_us, (int64_t)GIVE_WAY_US_MAX);
    int64_t left_us;
    while (!service_is_stopping(service) && (left_us = until_us - clock_monotonic_us()) > 0) {
        waiting_mailbox_run_for(service->mailbox, MAX(left_us / 1000, 1));
    }
    return true;
}

void service_wake(struct service *service)
{
    if (!atomic_exchange(&service->woken, true)) { /* else the task is in the mailbox already */
        mailbox_post(waiting_mailbox_box(service->mailbox), &service->wake);
    }
}

void service_stop(struct service *service)
{
    if (service->started) {
        atomic_store_explicit(&service->stopping, true, memory_order_release);
        service_wake(service);
        pthread_join(service->thread, NULL);
        service->started = false;
    }
}

void service_finish(struct service *service)
{
    assert(!service->started);
    waiting_mailbox_destroy(service->mailbox);
    service->mailbox = NULL;
}

static void range_done(struct store_range *range)
{
    CONTAINER_OF(range, struct service_range, range)->done = true;
}

enum store_status service_range(struct service *service, struct service_range *range)
{
    range->done = false;
    range->range.home = waiting_mailbox_box(service->mailbox);
    range->range.done = range_done;
    store_range(service->engine->store, &range->range);
    waiting_mailbox_run(service->mailbox, &range->done);
    return range->range.status;
}

static void update_done(struct store_update *update)
{
    CONTAINER_OF(update, struct service_update, update)->done = true;
}

enum store_status service_update(struct service *service, struct service_update *update)
{
    update->done = false;
    update->update.home = waiting_mailbox_box(service->mailbox);
    update->update.done = update_done;
    store_update(service->engine->store, &update->update);
    waiting_mailbox_run(service->mailbox, &update->done);
    return update->update.status;
}

static void change_done(struct engine_call *call)
{
    CONTAINER_OF(call, struct service_change, change.call)->done = true;
}

void service_change(struct service *service, struct service_change *change)
{
    struct arena *arena = change->change.call.arena;
    change->done = false;
    change->change.call = (struct engine_call){
        .engine = service->engine,
        .arena = arena,
        .home = waiting_mailbox_box(service->mailbox),
        .err = ERR_INIT(arena),
        .done = change_done,
    };
    engine_change_table(&change->change);
    waiting_mailbox_run(service->mailbox, &change->done);
    table_release(change->change.table);
}

struct mailbox *service_begin(struct service *service)
{
    atomic_fetch_add(&service->open_count, 1);
    return waiting_mailbox_box(service->mailbox);
}

void service_end(struct service *service)
{
    atomic_fetch_sub(&service->open_count, 1);
}
