/* bench/zipf_internal.h: Zipf-distributed numbers as YCSB draws them (theta 0.99; Gray et al.,
 * "Quickly generating billion-record synthetic databases"). */
#ifndef GRAMME_BENCH_ZIPF_INTERNAL_H
#define GRAMME_BENCH_ZIPF_INTERNAL_H

#include "base/random.h"

struct zipf {
    uint64_t count;
    double zeta;
    double alpha;
    double eta;
};

/* Prepares numbers from 0 to count - 1. */
void zipf_init(struct zipf *zipf, uint64_t count);
/* Draws a rank from 0, the most frequent, to count - 1. */
MUST_USE uint64_t zipf_next(const struct zipf *zipf, struct random *random);

#endif
