/* store/rocks/threads/gate.h: counts the readers of the database, so that the committer can close
 * it and open it again while the store is in use.
 *
 * A reader enters before it uses the database, and leaves on the same thread when it holds no
 * iterator, snapshot or pinned row any more; it may enter again inside. Both cost one atomic
 * addition on a cache line that few threads share. Only the thread that has the turn to commit
 * shuts and opens the gate; it does not enter. */
#ifndef GRAMME_STORE_ROCKS_THREADS_GATE_H
#define GRAMME_STORE_ROCKS_THREADS_GATE_H

#include <pthread.h>
#include <rocksdb/c.h>
#include <stdatomic.h>

#include "base/base.h"

enum { GATE_COUNTS = 16 };

struct gate_count {
    atomic_int inside;
    char padding[64 - sizeof(atomic_int)]; /* to a cache line */
};

struct gate {
    _Atomic(rocksdb_t *) db; /* NULL: the gate is shut */
    struct gate_count counts[GATE_COUNTS];
    pthread_mutex_t mutex;
    pthread_cond_t opened;
    bool opening; /* shut, and the database is being opened: gate_enter() waits */
};

/* Makes a gate that is shut. */
void gate_init(struct gate *gate);
/* Frees its mutex and condition variable. */
void gate_finish(struct gate *gate);

/* Enters and returns the database, without waiting. NULL: the gate is shut, and the caller has not
 * entered. */
MUST_USE rocksdb_t *gate_try_enter(struct gate *gate);
/* Enters and returns the database; waits while it is being opened. NULL: there is no database, and
 * the caller has not entered. */
MUST_USE rocksdb_t *gate_enter(struct gate *gate);
/* Leaves: the caller holds nothing of the database any more. */
void gate_leave(struct gate *gate);
/* Returns whether the gate is shut: readers inside should leave soon. */
static inline bool gate_is_shut(struct gate *gate)
{
    return atomic_load_explicit(&gate->db, memory_order_relaxed) == NULL;
}

/* Shuts the gate: readers that come later wait, readers inside leave as soon as they can. */
void gate_shut(struct gate *gate);
/* Waits until no reader is inside. */
void gate_wait_empty(struct gate *gate);
/* Opens the gate. With NULL readers stop waiting, and find no database. */
void gate_open(struct gate *gate, rocksdb_t *db);

#endif
