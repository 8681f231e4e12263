/* Latency histograms. Each worker thread has its own; they are merged at the end. */
#include "bench/histogram_internal.h"

#include <math.h>

static const uint64_t value_max = ((uint64_t)1 << HISTOGRAM_VALUE_BITS) - 1;

/* Returns how many low bits of the value its bucket drops. */
static int shift_of(uint64_t value)
{
    int bits = value == 0 ? 0 : 64 - __builtin_clzll(value);
    return MAX(bits - HISTOGRAM_SUB_BITS - 1, 0);
}

static size_t bucket_of(uint64_t value)
{
    int shift = shift_of(value);
    return ((size_t)shift << HISTOGRAM_SUB_BITS) + (size_t)(value >> shift);
}

/* Returns the largest value of a bucket. */
static uint64_t bucket_top(size_t bucket)
{
    size_t block = bucket >> HISTOGRAM_SUB_BITS;
    size_t shift = block == 0 ? 0 : block - 1;
    uint64_t high = bucket - (shift << HISTOGRAM_SUB_BITS);
    return ((high + 1) << shift) - 1;
}

void histogram_add(struct histogram *histogram, int64_t value_ns)
{
    uint64_t value = value_ns < 0 ? 0 : MIN((uint64_t)value_ns, value_max);
    histogram->count++;
    histogram->sum_ns += value;
    histogram->max_ns = MAX(histogram->max_ns, value);
    histogram->buckets[bucket_of(value)]++;
}

void histogram_merge(struct histogram *into, const struct histogram *from)
{
    into->count += from->count;
    into->sum_ns += from->sum_ns;
    into->max_ns = MAX(into->max_ns, from->max_ns);
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        into->buckets[i] += from->buckets[i];
    }
}

uint64_t histogram_at(const struct histogram *histogram, double share)
{
    uint64_t rank = (uint64_t)ceil(share * (double)histogram->count);
    uint64_t seen = 0;
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += histogram->buckets[i];
        if (seen >= MAX(rank, (uint64_t)1)) {
            return MIN(bucket_top(i), histogram->max_ns);
        }
    }
    return histogram->max_ns;
}

double histogram_mean(const struct histogram *histogram)
{
    return histogram->count == 0 ? 0 : (double)histogram->sum_ns / (double)histogram->count;
}
