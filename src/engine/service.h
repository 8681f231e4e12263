/* engine/service.h: a thread that works for the engine beside all calls: it makes a round, sleeps,
 * and makes the next one. It waits for the store, so its code reads from top to bottom. */
#ifndef GRAMME_ENGINE_SERVICE_H
#define GRAMME_ENGINE_SERVICE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/mailbox.h"
#include "engine/engine.h"

struct service {
    struct engine *engine;
    /* Returns in how many milliseconds the next round is due. A long one asks now and then whether
     * it should end. */
    int64_t (*round)(struct service *service);

    /* Its own. */
    pthread_t thread;
    bool started;
    struct waiting_mailbox *mailbox; /* home of store requests, its own and those of no call */
    atomic_int open_count; /* those of no call under way; it does not end before they do */
    atomic_bool stopping;
    atomic_bool woken; /* `wake` is in the mailbox */
    struct task wake;
    bool is_due;              /* its thread only, like the next */
    uint_fast64_t calls_seen; /* of the engine, when it last gave way */
};

/* Makes a service that can be woken, though it is not started yet: for services that wake each
 * other. */
void service_prepare(struct service *service, struct engine *engine);
MUST_USE bool service_start(struct service *service, struct engine *engine,
                            int64_t (*round)(struct service *service), struct err *err);
/* Waits for its end; it can still be woken, to no effect. Does nothing to one that was not started.
 */
void service_stop(struct service *service);
/* Frees what it has, once all services that may wake it have been stopped, too. */
void service_finish(struct service *service);
bool service_is_stopping(const struct service *service);
/* For long rounds, after a piece of work that took so long: if calls came meanwhile, sleeps some
 * times as long, up to a few milliseconds, so that most of the machine is theirs. Returns whether
 * calls came. */
bool service_give_way(struct service *service, int64_t spent_us);
/* The next round begins at once. Any thread. */
void service_wake(struct service *service);

/* Store requests that are waited for; `home` and `done` are filled in. On the service's thread. */
struct service_range {
    struct store_range range;
    bool done;
};
struct service_update {
    struct store_update update;
    bool done;
};
/* The same for a change of a table; `call` but for call.arena is filled in, call.err is what came
 * of it, and the new description is released. */
struct service_change {
    struct table_change change;
    bool done;
};
enum store_status service_range(struct service *service, struct service_range *range);
enum store_status service_update(struct service *service, struct service_update *update);
void service_change(struct service *service, struct service_change *change);

/* For store requests whose end nobody waits for: where they come back to. Each such request is one
 * service_begin() and, from its done(), one service_end(). Any thread. */
MUST_USE struct mailbox *service_begin(struct service *service);
void service_end(struct service *service);

#endif
