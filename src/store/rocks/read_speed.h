/* store/rocks/read_speed.h: whether reading what the block cache has not is quick at present.
 *
 * Mostly the kernel has the file's bytes in memory, and to read them takes less time than to wake a
 * worker. So once a number of reads in a row were quick, threads that must not wait for the disk
 * read for themselves; a single slow one sends them to the workers again. */
#ifndef GRAMME_STORE_ROCKS_READ_SPEED_H
#define GRAMME_STORE_ROCKS_READ_SPEED_H

#include <stdatomic.h>

#include "base/base.h"

enum { READ_SPEED_QUICK_READS = 64, READ_SPEED_SLOW_NS = 500000 };

struct read_speed {
    atomic_int quick_reads; /* in a row */
};

static inline bool read_speed_is_quick(const struct read_speed *speed)
{
    return atomic_load_explicit(&speed->quick_reads, memory_order_relaxed) >=
           READ_SPEED_QUICK_READS;
}

/* A read beyond the cache took so long. A few that get lost between threads do not matter. */
static inline void read_speed_note(struct read_speed *speed, int64_t took_ns)
{
    int quick_reads = atomic_load_explicit(&speed->quick_reads, memory_order_relaxed);
    quick_reads = took_ns > READ_SPEED_SLOW_NS ? 0 : MIN(quick_reads + 1, READ_SPEED_QUICK_READS);
    atomic_store_explicit(&speed->quick_reads, quick_reads, memory_order_relaxed);
}

#endif
