/* bench/histogram_internal.h: a histogram of latencies. Buckets are log-linear: one per ns below
 * 128 ns, above that 128 per power of two, so the relative error is at most 1/128. */
#ifndef GRAMME_BENCH_HISTOGRAM_INTERNAL_H
#define GRAMME_BENCH_HISTOGRAM_INTERNAL_H

#include "base/base.h"

enum {
    HISTOGRAM_SUB_BITS = 7,
    HISTOGRAM_VALUE_BITS = 42, /* 73 minutes; longer values count as this */
    HISTOGRAM_BUCKETS = (HISTOGRAM_VALUE_BITS - HISTOGRAM_SUB_BITS + 1) << HISTOGRAM_SUB_BITS,
};

struct histogram {
    uint64_t count;
    uint64_t sum_ns;
    uint64_t max_ns;
    uint64_t buckets[HISTOGRAM_BUCKETS];
};

/* Adds a value. A zeroed histogram is empty. */
void histogram_add(struct histogram *histogram, int64_t value_ns);
/* Adds all values of `from` to `into`. */
void histogram_merge(struct histogram *into, const struct histogram *from);
/* Returns the quantile: the value that this share (0 to 1) of all values does not exceed; 0 if
 * there are none. */
MUST_USE uint64_t histogram_at(const struct histogram *histogram, double share);
/* Returns the mean; 0 if there are no values. */
MUST_USE double histogram_mean(const struct histogram *histogram);

#endif
