/* store/rocks/reserve.h: reserves disk space, so that deletes and compactions work when the disk is
 * full. The file `reserve` in the store's directory occupies the space. When a write fails with
 * ENOSPC the file is deleted, and from then on the store accepts only updates that erase rows. When
 * there is enough free space again, the file is created again, and all updates are accepted.
 *
 * The size of the file is an eighth of that of the tables, at least 16 MiB, at most the setting. */
#ifndef GRAMME_STORE_ROCKS_RESERVE_H
#define GRAMME_STORE_ROCKS_RESERVE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/base.h"

struct store_batch;

struct reserve {
    const char *directory; /* NULL: there is no reserve */
    uint64_t bytes_max;
    pthread_mutex_t mutex;
    uint64_t held_bytes;     /* size of the file; 0: it does not exist */
    uint64_t wanted_bytes;   /* size that it should have */
    atomic_bool is_released; /* only updates that erase are accepted */
};

/* Initializes the struct, without a reserve. */
void reserve_init(struct reserve *reserve);
/* Frees its mutex; the file stays. */
void reserve_finish(struct reserve *reserve);
/* Creates the file, or uses an existing one. If there is no space for it, the reserve starts in the
 * released state. `directory` must outlive the reserve; bytes_max 0: no reserve. */
void reserve_open(struct reserve *reserve, const char *directory, uint64_t bytes_max);
/* The disk is full: deletes the file. Returns whether there was one. Committer only. */
bool reserve_release(struct reserve *reserve);
/* Creates the file again if there is space, or enlarges it if the tables have grown. The sweeper
 * calls it once a second. */
void reserve_tend(struct reserve *reserve, uint64_t table_bytes);
/* Returns whether an update with these operations is accepted while the reserve is released: it
 * erases a row, and puts only small rows (sizes, marks). */
MUST_USE bool reserve_accepts(const struct store_batch *batch);

/* Returns whether the reserve is released. Any thread. */
static inline bool reserve_is_released(const struct reserve *reserve)
{
    return UNLIKELY(atomic_load_explicit(&reserve->is_released, memory_order_relaxed));
}

#endif
