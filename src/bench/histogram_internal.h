/* bench/histogram_internal.h: how often which latency. Buckets are log-linear: below 128 ns one for
 * each, above it 128 for each power of two, so a value is known to 1 in 128 at any size. */
#ifndef GRAMME_BENCH_HISTOGRAM_INTERNAL_H
#define GRAMME_BENCH_HISTOGRAM_INTERNAL_H

#include "base/base.h"

enum {
    HISTOGRAM_SUB_BITS = 7,
    HISTOGRAM_VALUE_BITS = 42, /* 73 minutes; what is longer counts as that */
    HISTOGRAM_BUCKETS = (HISTOGRAM_VALUE_BITS - HISTOGRAM_SUB_BITS + 1) << HISTOGRAM_SUB_BITS,
};

struct histogram {
    uint64_t count;
    uint64_t sum_ns;
    uint64_t max_ns;
    uint64_t buckets[HISTOGRAM_BUCKETS];
};

/* All zeroes is an empty one. */
void histogram_add(struct histogram *histogram, int64_t value_ns);
void histogram_merge(struct histogram *into, const struct histogram *from);
/* The value that this share (0 to 1) of all does not exceed; 0 if there are none. */
MUST_USE uint64_t histogram_at(const struct histogram *histogram, double share);
MUST_USE double histogram_mean(const struct histogram *histogram);

#endif
