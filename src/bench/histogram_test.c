/* Unit tests of histograms. */
#include "bench/histogram_internal.h"

#include "base/mem.h"
#include "base/testing.h"

/* A single value is returned with an error of at most 1/128, and never smaller. */
static void test_one_value(void **state)
{
    (void)state;
    static const int64_t values[] = {
        0, 1, 127, 128, 129, 255, 256, 1000, 123456, 99999999, (int64_t)1000 * 1000000000};
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        struct histogram *histogram = mem_zalloc(sizeof(*histogram));
        histogram_add(histogram, values[i]);
        histogram_add(histogram, values[i] * 2); /* keeps the maximum from hiding the bucket */
        uint64_t got = histogram_at(histogram, 0.5);
        assert_in_range(got, (uint64_t)values[i], (uint64_t)(values[i] + values[i] / 128));
        assert_int_equal(histogram->max_ns, values[i] * 2);
        mem_free(histogram);
    }
}

static void test_shares(void **state)
{
    (void)state;
    static const struct {
        double share;
        int64_t expected;
    } rows[] = {{0, 1000},       {0.5, 500000}, {0.99, 990000},
                {0.999, 999000}, {1, 1000000},  {0.001, 1000}};
    struct histogram *histogram = mem_zalloc(sizeof(*histogram));
    for (int64_t i = 1; i <= 1000; i++) {
        histogram_add(histogram, i * 1000);
    }
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        uint64_t got = histogram_at(histogram, rows[i].share);
        assert_in_range(got, (uint64_t)rows[i].expected,
                        (uint64_t)(rows[i].expected + rows[i].expected / 128));
    }
    assert_int_equal((int64_t)histogram_mean(histogram), 500500);
    mem_free(histogram);
}

static void test_bounds_and_merge(void **state)
{
    (void)state;
    struct histogram *a = mem_zalloc(sizeof(*a));
    struct histogram *b = mem_zalloc(sizeof(*b));
    assert_int_equal(histogram_at(a, 0.99), 0);
    histogram_add(a, -5); /* a negative value counts as 0 */
    histogram_add(a, INT64_MAX);
    histogram_add(b, 10);
    histogram_merge(a, b);
    assert_int_equal(a->count, 3);
    assert_int_equal(histogram_at(a, 0.3), 0);
    assert_int_equal(histogram_at(a, 0.5), 10);
    assert_int_equal(histogram_at(a, 1), ((uint64_t)1 << HISTOGRAM_VALUE_BITS) - 1);
    mem_free(a);
    mem_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_value),
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_bounds_and_merge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
