/* engine/background.h: a background thread of the engine: it calls a function (a round), sleeps,
 * and calls it again. Rounds may wait for the store, so their code is sequential. */
#ifndef GRAMME_ENGINE_BACKGROUND_H
#define GRAMME_ENGINE_BACKGROUND_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/mailbox.h"
#include "engine/engine.h"

struct background {
    struct engine *engine;
    /* Does a round of work and returns the time until the next one in milliseconds. A long round
     * checks background_is_stopping() now and then. */
    int64_t (*round)(struct background *background);

    /* Private. */
    pthread_t thread;
    bool started;
    struct waiting_mailbox *mailbox; /* home of its store requests and of background_begin() */
    atomic_int open_count;           /* requests of background_begin() that are under way */
    atomic_bool stopping;
    atomic_bool woken; /* `wake` is in the mailbox */
    struct task wake;
    bool is_due;              /* used by its thread only, as the next */
    uint_fast64_t calls_seen; /* engine->call_count at the last background_give_way() */
};

/* Initializes the struct, so that it can be woken before it is started: for threads that wake each
 * other. */
void background_prepare(struct background *background, struct engine *engine);
/* Starts the thread, which calls `round` at once. `name`: of the thread, at most 15 characters (see
 * docs/internals/request.md). False: *err says why. */
MUST_USE bool background_start(struct background *background, struct engine *engine,
                               const char *name, int64_t (*round)(struct background *background),
                               struct err *err);
/* Stops and joins the thread, if it was started. It may still be woken, without effect. */
void background_stop(struct background *background);
/* Frees its memory, after all background threads that may wake it have stopped, too. */
void background_finish(struct background *background);
/* Returns whether background_stop() was called. */
bool background_is_stopping(const struct background *background);
/* Returns whether a long round of work that one server is to do may go on: the thread is not
 * stopping, and no other server has become the leader. */
bool background_may_go_on(const struct background *background);
/* For long rounds, after a piece of work of `spent_us`: if calls came meanwhile, sleeps for a
 * multiple of that time, up to a few milliseconds, so that calls get most of the processor time.
 * Returns whether calls came. */
bool background_give_way(struct background *background, int64_t spent_us);
/* Sleeps for a time, or until background_stop() is called. */
void background_sleep(struct background *background, int64_t sleep_us);
/* Makes the next round begin at once. Any thread. */
void background_wake(struct background *background);

/* Requests to the store that block; `home` and `done` are set by the functions below. On the
 * background thread. */
struct background_range {
    struct store_range range;
    bool done;
};
struct background_update {
    struct store_update update;
    bool done;
};
/* A change of a table that blocks. The caller sets change.call.arena, name and change; the result
 * is in change.call.err, and the new description is released. */
struct background_change {
    struct table_change change;
    bool done;
};
/* Runs a range and waits for it. */
enum store_status background_range(struct background *background, struct background_range *range);
/* Runs an update and waits for it. */
enum store_status background_update(struct background *background,
                                    struct background_update *update);
/* Runs a change of a table and waits for it. */
void background_change(struct background *background, struct background_change *change);

/* Whether a call of the engine that the thread waits for is done. */
struct background_wait {
    bool done;
};
/* Makes the part `call` of a call of the engine, in `arena`. The caller begins the call, then calls
 * background_wait_for(); the result is in its `err`. */
struct engine_call background_call(struct background *background, struct arena *arena,
                                   struct background_wait *wait);
/* Waits until the call is done. */
void background_wait_for(struct background *background, const struct background_wait *wait);

/* Begins a store request that the thread does not wait for, and returns its home. done() must call
 * background_end(); the thread does not end before. Any thread. */
MUST_USE struct mailbox *background_begin(struct background *background);
/* Ends a request of background_begin(). */
void background_end(struct background *background);

#endif
