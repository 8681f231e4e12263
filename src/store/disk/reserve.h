/* store/disk/reserve.h: reserves disk space, so that deletes and compactions work when the disk is
 * full. The file `reserve` in the store's directory occupies the space. When a write fails with
 * ENOSPC the file is deleted, and from then on the store accepts only updates that free space (enum
 * store_frees). When there is enough free space again, the file is created again, and all updates
 * are accepted.
 *
 * The size of the file is an eighth of that of the SST files, at least 16 MiB, at most the setting.
 */
#ifndef GRAMME_STORE_DISK_RESERVE_H
#define GRAMME_STORE_DISK_RESERVE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/base.h"

struct store_batch;
struct store_update;

struct reserve {
    const char *directory; /* NULL: there is no reserve */
    uint64_t bytes_max;
    pthread_mutex_t mutex;
    uint64_t held_bytes;           /* size of the file; 0: it does not exist */
    _Atomic uint64_t wanted_bytes; /* size that it should have */
    atomic_bool is_released;       /* only updates that free space are accepted */
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
/* Creates the file again if there is space, or enlarges it if the SST files have grown. The sweeper
 * calls it once a second. */
void reserve_tend(struct reserve *reserve, uint64_t sst_bytes);
/* Returns whether an evaluated update is accepted while the reserve is released: it frees space. An
 * update that erases rows and writes large ones (the previous versions, for a stream or a history)
 * is accepted only while half of the reserve is free, so that such updates cannot use up the space
 * that is needed to delete tables and to compact. */
MUST_USE bool reserve_accepts(const struct reserve *reserve, const struct store_update *update,
                              const struct store_batch *batch);

/* Returns whether the reserve is released. Any thread. */
static inline bool reserve_is_released(const struct reserve *reserve)
{
    return UNLIKELY(atomic_load_explicit(&reserve->is_released, memory_order_relaxed));
}

#endif
