/* Zipf-distributed random numbers, as YCSB draws them. workloads.c prepares the distribution once
 * on the main thread; afterwards the worker threads only read it and pass their own random
 * generator. */
#include "bench/zipf_internal.h"

#include <math.h>

static const double theta = 0.99;
static const uint64_t summed_max = 100000;

/* Returns the sum of 1 / i^theta up to `count`; after the first terms as an integral. */
static double zeta(uint64_t count)
{
    double sum = 0;
    uint64_t summed = MIN(count, summed_max);
    for (uint64_t i = 1; i <= summed; i++) {
        sum += pow((double)i, -theta);
    }
    double last = (double)summed + 0.5;
    double end = (double)count + 0.5;
    return sum + (pow(end, 1 - theta) - pow(last, 1 - theta)) / (1 - theta);
}

void zipf_init(struct zipf *zipf, uint64_t count)
{
    assert(count > 0);
    zipf->count = count;
    zipf->zeta = zeta(count);
    zipf->alpha = 1 / (1 - theta);
    double two = 1 + pow(2, -theta);
    zipf->eta = (1 - pow(2.0 / (double)count, 1 - theta)) / (1 - two / zipf->zeta);
}

uint64_t zipf_next(const struct zipf *zipf, struct random *random)
{
    double u = (double)(random_next(random) >> 11) * 0x1p-53;
    double uz = u * zipf->zeta;
    if (uz < 1 || zipf->count == 1) {
        return 0;
    }
    if (uz < 1 + pow(0.5, theta) || zipf->count == 2) {
        return 1;
    }
    double rank = (double)zipf->count * pow(zipf->eta * u - zipf->eta + 1, zipf->alpha);
    return MIN((uint64_t)rank, zipf->count - 1);
}
