/* Unit tests of the Zipf distribution. */
#include "bench/zipf_internal.h"

#include "base/testing.h"

enum { DRAWS = 200000 };

/* Returns the share of draws below `rank`. */
static double share_below(uint64_t count, uint64_t rank)
{
    struct zipf zipf;
    struct random random;
    zipf_init(&zipf, count);
    random_init_seed(&random, 1);
    int below = 0;
    for (int i = 0; i < DRAWS; i++) {
        uint64_t drawn = zipf_next(&zipf, &random);
        assert_true(drawn < count);
        below += drawn < rank;
    }
    return (double)below / DRAWS;
}

/* Expected: the sums of 1 / i^0.99, computed apart. */
static void test_shares(void **state)
{
    (void)state;
    static const struct {
        uint64_t count;
        uint64_t rank;
        double expected;
    } rows[] = {{1, 1, 1},
                {2, 1, 0.665},
                {1000, 1, 0.1293},
                {1000, 10, 0.3812},
                {1000000, 1, 0.0650},
                {1000000, 1000, 0.5029},
                {1000000, 1000000, 1}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        double share = share_below(rows[i].count, rows[i].rank);
        if (share < rows[i].expected - 0.02 || share > rows[i].expected + 0.02) {
            fail_msg("%llu of %llu: %f", (unsigned long long)rows[i].rank,
                     (unsigned long long)rows[i].count, share);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shares)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
