/* bench/limits_internal.h: measures the limits of the machine itself, for comparison with the
 * results of a run. */
#ifndef GRAMME_BENCH_LIMITS_INTERNAL_H
#define GRAMME_BENCH_LIMITS_INTERNAL_H

#include "bench/histogram_internal.h"
#include "bench/options_internal.h"

struct limit_result {
    const char *unit; /* the unit of `count` */
    uint64_t count;
    double seconds;
    double cpu_seconds;       /* of this process */
    struct histogram latency; /* of each step: an fsync, a commit, a round trip */
};

/* By options->limit:
 *   fsync      appends 4 KB to a file and syncs it
 *   overwrite  writes 4 KB over what is in a file and syncs it
 *   rocksdb    commits what PutItem calls would write, --batch at once, with the store's options
 *   roundtrip  sends as many bytes as PutItem would over loopback to a thread that answers 200
 *   durable    the same, and the thread does what `fsync` does before it answers
 *   memory     reads from random places in 512 MiB, each named by the one before */
MUST_USE bool limit_measure(const struct bench_options *options, struct limit_result *out,
                            struct err *err);

#endif
