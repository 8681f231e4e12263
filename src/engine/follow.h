/* engine/follow.h: keeps the table descriptions in memory up to date when another server on the
 * same store changes them.
 *
 *   catalog | "version" |    u64, big-endian: grows with every change of tables and streams
 *
 * Every change increments the version in the same update. A background thread reads the catalog
 * again when another server has changed it, and announces two versions: "seen": this server knows
 * all changes up to it; "settled": no call under way uses an older one. A call that changes a table
 * is answered when every server has seen the change. If the store is not shared, both versions
 * follow at once.
 *
 * If the store does not know whether it has written a change (STORE_UNKNOWN), the call fails, and
 * memory keeps the description before it. The thread makes the store decide, as soon as it accepts
 * updates again, and then reads the catalog: a change that was written is published. */
#ifndef GRAMME_ENGINE_FOLLOW_H
#define GRAMME_ENGINE_FOLLOW_H

#include "engine/background.h"
#include "engine/engine.h"

struct waiting_call;

/* Used by the background thread only, unless a comment says otherwise. */
struct follow {
    struct background background; /* also the home of catalog updates: publishes them in order */
    _Atomic uint64_t seen;        /* any thread may read it, as the next */
    _Atomic uint64_t settled;
    _Atomic uint64_t slowest;     /* the lowest settled version of all servers */
    atomic_bool may_have_changed; /* set on any thread */
    atomic_bool is_undecided;     /* likewise: follow_note_unknown() */
    atomic_bool is_started;       /* the thread runs */
    struct waiting_call *waiting; /* calls that wait for other servers, or for recovery */
};

/* Reads the catalog into the engine, whose tables and streams are empty, and starts the thread. */
MUST_USE bool follow_open(struct engine *engine, struct err *err);
/* Stops the thread, and answers calls that still wait. */
void follow_close(struct engine *engine);

/* For updates that change the catalog. */
/* Returns the key of the version row. */
struct str follow_version_key(struct arena *arena);
/* Returns the version that follows the one in `row`. */
uint64_t follow_version_after(struct str row);
/* Returns the row of a version, in `arena`. */
struct str follow_version_row(struct arena *arena, uint64_t version);

/* A change by this server with this version is stored and published. */
void follow_note_change(struct engine *engine, uint64_t version);
/* The status of an update of the catalog is STORE_UNKNOWN: makes the thread find out whether it was
 * written, and publish it if so. Any thread. */
void follow_note_unknown(struct engine *engine);
/* Calls done() of a call, on its own thread, when all servers have seen the version. */
void follow_finish_call(struct engine_call *call, uint64_t version);
/* The same for a published change that has enabled point-in-time recovery, when in addition the
 * table can be restored; change->table then says since when. Waits for that for at most three
 * seconds. */
void follow_finish_recovery(struct table_change *change);

/* Returns whether no call of any server uses an older version. Any thread. */
MUST_USE bool follow_is_settled(const struct engine *engine, uint64_t version);
/* Makes the thread read the catalog again, after a change without follow_note_change(). Any thread.
 */
void follow_look_again(struct engine *engine);
/* Makes the thread check what is settled. Any thread. */
void follow_wake(struct engine *engine);

#endif
