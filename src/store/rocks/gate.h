/* store/rocks/gate.h: who uses the database right now, so that it can be closed and opened again
 * under the feet of its readers.
 *
 * A reader enters before it touches the database and leaves when it holds nothing of it any more,
 * on the same thread; entering twice is fine. It costs two atomic additions on a cache line that
 * few threads share. The committer alone shuts and opens the gate and needs not enter. */
#ifndef GRAMME_STORE_ROCKS_GATE_H
#define GRAMME_STORE_ROCKS_GATE_H

#include <pthread.h>
#include <rocksdb/c.h>
#include <stdatomic.h>

#include "base/base.h"

enum { GATE_SLOTS = 16 };

struct gate_slot {
    atomic_int inside;
    char padding[64 - sizeof(atomic_int)]; /* to a cache line */
};

struct gate {
    _Atomic(rocksdb_t *) db; /* NULL: shut */
    struct gate_slot slots[GATE_SLOTS];
    pthread_mutex_t mutex;
    pthread_cond_t opened;
    bool opening; /* shut, but not for long */
};

/* Shut, for good until it is opened. */
void gate_init(struct gate *gate);
void gate_finish(struct gate *gate);

/* NULL: shut; then there is nothing to leave. */
MUST_USE rocksdb_t *gate_try_enter(struct gate *gate);
/* Waits while the database is being opened. NULL: there is none. */
MUST_USE rocksdb_t *gate_enter(struct gate *gate);
void gate_leave(struct gate *gate);
/* Whether the thread that asks has entered a gate and not left it. */
MUST_USE bool gate_thread_is_inside(void);
/* Whether somebody waits for all to leave. */
static inline bool gate_is_shut(struct gate *gate)
{
    return atomic_load_explicit(&gate->db, memory_order_relaxed) == NULL;
}

/* Nobody gets in any more. */
void gate_shut(struct gate *gate);
/* Waits until everybody is out. */
void gate_wait_empty(struct gate *gate);
/* NULL: there is no database, do not wait for one. */
void gate_open(struct gate *gate, rocksdb_t *db);

#endif
