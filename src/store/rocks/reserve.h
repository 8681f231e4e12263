/* store/rocks/reserve.h: a reserve of disk, so that deletes and compactions still work when the
 * disk is full. The file `reserve` in the store's directory takes up room; when a write fails
 * because there is none left, the file is deleted, and from then on only updates are accepted that
 * erase rows. When there is room for it again, the file is made again and everything is accepted.
 *
 * The file has an eighth of the bytes of the tables, at least 16 MiB, at most what the setting
 * says. */
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
    uint64_t held_bytes;     /* of the file; 0: there is none */
    uint64_t wanted_bytes;   /* what it should have */
    atomic_bool is_released; /* only updates that erase are accepted */
};

/* No reserve, until reserve_open(). */
void reserve_init(struct reserve *reserve);
void reserve_finish(struct reserve *reserve);
/* Makes the file, or uses the one that is there. If there is no room for it, the store starts as if
 * it had been released. `directory` must outlive the reserve; bytes_max 0: there is none. */
void reserve_open(struct reserve *reserve, const char *directory, uint64_t bytes_max);
/* The disk is full: gives the file up. True: there was one. */
bool reserve_release(struct reserve *reserve);
/* To be called once a second: makes the file again once there is room, or a larger one if the
 * tables have grown. */
void reserve_tend(struct reserve *reserve, uint64_t table_bytes);
/* Whether an update with these operations is accepted while the reserve is released: it erases
 * something, and puts only small rows (sizes, marks). */
MUST_USE bool reserve_accepts(const struct store_batch *batch);

static inline bool reserve_is_released(const struct reserve *reserve)
{
    return UNLIKELY(atomic_load_explicit(&reserve->is_released, memory_order_relaxed));
}

#endif
