/* engine/follow.h: table descriptions in memory stay right when another server changes them.
 *
 *   catalog | "version" |    u64, big-endian: grows with every change of tables and streams
 *
 * Every change increments the version in the same update. A background thread reads the catalog
 * again when another server has changed it, and announces to the others up to which version this
 * server knows everything ("seen"), and up to which version no call under way knows less
 * ("settled"). A call that changes a table is answered only when every server has seen the change.
 * With a store that is not shared there is nothing to read again, and all of it happens at once. */
#ifndef GRAMME_ENGINE_FOLLOW_H
#define GRAMME_ENGINE_FOLLOW_H

#include "engine/engine.h"
#include "engine/background.h"

struct waiting_call;

/* Of the background thread, unless it says otherwise. */
struct follow {
    struct background background; /* also the home of changes: publishes them in order */
    _Atomic uint64_t seen;        /* any thread may read it, like the next */
    _Atomic uint64_t settled;
    _Atomic uint64_t slowest;     /* settled, of all servers */
    atomic_bool may_have_changed; /* set on any thread */
    atomic_bool is_started;       /* the thread is */
    struct waiting_call *waiting; /* for other servers */
};

/* Reads what there is and starts following; the engine's tables and streams are empty. */
MUST_USE bool follow_open(struct engine *engine, struct err *err);
/* Stops the thread. Calls that still wait for other servers are answered. */
void follow_close(struct engine *engine);

/* For updates that change the catalog: the key of the version's row, and the next version, for the
 * row that stands there. */
struct str follow_version_key(struct arena *arena);
uint64_t follow_version_after(struct str row);
struct str follow_version_row(struct arena *arena, uint64_t version);

/* A change of this server with that version is stored and published. */
void follow_note_change(struct engine *engine, uint64_t version);
/* Ends a call, on its own thread, when all servers have seen the version. */
void follow_finish_call(struct engine_call *call, uint64_t version);

/* Whether no call of any server knows less than this version. Any thread. */
MUST_USE bool follow_is_settled(const struct engine *engine, uint64_t version);
/* The catalog was changed without follow_note_change(): reads it again. Any thread. */
void follow_look_again(struct engine *engine);
/* Something may be settled now. Any thread. */
void follow_wake(struct engine *engine);

#endif
