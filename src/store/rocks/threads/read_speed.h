/* store/rocks/threads/read_speed.h: decides whether callers and the committer read files
 * themselves.
 *
 * A row that is not in the block cache is usually in the kernel's page cache, and reading it from
 * there takes less time than waking a worker. So after READ_SPEED_QUICK_READS quick reads in a row
 * they read files on their own thread; after a single slow read these reads go to the workers
 * again, until enough of them were quick. README.md has what else may block. Any thread. */
#ifndef GRAMME_STORE_ROCKS_THREADS_READ_SPEED_H
#define GRAMME_STORE_ROCKS_THREADS_READ_SPEED_H

#include <stdatomic.h>

#include "base/base.h"

enum { READ_SPEED_QUICK_READS = 64, READ_SPEED_SLOW_NS = 500000 };

struct read_speed {
    atomic_int quick_reads; /* in a row */
};

/* Returns whether the last reads from files were all quick. */
static inline bool read_speed_is_quick(const struct read_speed *speed)
{
    return atomic_load_explicit(&speed->quick_reads, memory_order_relaxed) >=
           READ_SPEED_QUICK_READS;
}

/* Records the duration of a read from a file. Concurrent calls may lose some; that is harmless. */
static inline void read_speed_note(struct read_speed *speed, int64_t took_ns)
{
    int quick_reads = atomic_load_explicit(&speed->quick_reads, memory_order_relaxed);
    quick_reads = took_ns > READ_SPEED_SLOW_NS ? 0 : MIN(quick_reads + 1, READ_SPEED_QUICK_READS);
    atomic_store_explicit(&speed->quick_reads, quick_reads, memory_order_relaxed);
}

#endif
