/* engine/background.h: a thread that works for the engine beside all calls: it makes a round,
 * sleeps, and makes the next one. It waits for the store, so its code reads from top to bottom. */
#ifndef GRAMME_ENGINE_BACKGROUND_H
#define GRAMME_ENGINE_BACKGROUND_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/mailbox.h"
#include "engine/engine.h"

struct background {
    struct engine *engine;
    /* Returns in how many milliseconds the next round is due. A long one asks now and then whether
     * it should end. */
    int64_t (*round)(struct background *background);

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

/* Makes a thread that can be woken, though it is not started yet: for threads that wake each
 * other. */
void service_prepare(struct background *background, struct engine *engine);
MUST_USE bool background_start(struct background *background, struct engine *engine,
                               int64_t (*round)(struct background *background), struct err *err);
/* Waits for its end; it can still be woken, to no effect. Does nothing to one that was not started.
 */
void background_stop(struct background *background);
/* Frees what it has, once all background threads that may wake it have been stopped, too. */
void background_finish(struct background *background);
bool background_is_stopping(const struct background *background);
/* For long rounds, after a piece of work that took so long: if calls came meanwhile, sleeps some
 * times as long, up to a few milliseconds, so that most of the machine is theirs. Returns whether
 * calls came. */
bool background_give_way(struct background *background, int64_t spent_us);
/* The next round begins at once. Any thread. */
void background_wake(struct background *background);

/* Store requests that are waited for; `home` and `done` are filled in. On the background thread. */
struct background_range {
    struct store_range range;
    bool done;
};
struct background_update {
    struct store_update update;
    bool done;
};
/* The same for a change of a table; `call` but for call.arena is filled in, call.err is what came
 * of it, and the new description is released. */
struct background_change {
    struct table_change change;
    bool done;
};
enum store_status background_range(struct background *background, struct background_range *range);
enum store_status background_update(struct background *background,
                                    struct background_update *update);
void background_change(struct background *background, struct background_change *change);

/* For store requests whose end nobody waits for: where they come back to. Each such request is one
 * background_begin() and, from its done(), one background_end(). Any thread. */
MUST_USE struct mailbox *background_begin(struct background *background);
void background_end(struct background *background);

#endif
