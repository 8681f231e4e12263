/* Blocks: buckets and quantiles of latency, sums of a pattern, kinds of errors, when it is full. */
#include "meter/meter_internal.h"

#include "base/testing.h"

static void test_latency_buckets(void **state)
{
    (void)state;
    unsigned before = 0;
    for (uint64_t us = 0; us < 1u << 20; us++) {
        unsigned bucket = latency_bucket(us);
        assert_true(bucket == before || bucket == before + 1);
        assert_true(us < latency_bucket_end(bucket));
        assert_true(bucket == 0 || us >= latency_bucket_end(bucket - 1));
        before = bucket;
    }
    assert_int_equal(latency_bucket(UINT64_MAX), LATENCY_BUCKETS - 1);
}

static void test_latency_quantile(void **state)
{
    (void)state;
    uint64_t latencies[LATENCY_BUCKETS] = {0};
    assert_int_equal(latency_quantile(latencies, 0.5, 0), 0);
    for (uint64_t us = 1; us <= 1000; us++) {
        latencies[latency_bucket(us)]++;
    }
    const struct {
        double part;
        uint64_t us;
    } rows[] = {{0.01, 10}, {0.5, 500}, {0.9, 900}, {0.99, 990}, {1, 1000}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        uint64_t got = latency_quantile(latencies, rows[i].part, 1000);
        assert_true(got <= 1000 && got * 10 >= rows[i].us * 7 && got * 10 <= rows[i].us * 14);
    }
}

static void record(struct block *block, uint64_t fingerprint, enum err_code err, int64_t us)
{
    const struct meter_call call = {
        .operation = STR("ListTables"), .body = STR("{}"), .answer_bytes = 10, .err = err};
    const struct meter_access access = {.items_read = 3, .items_returned = 2, .bytes_read = 100};
    const struct recording recording = {
        .call = &call, .access = &access, .fingerprint = fingerprint, .now_ns = us * 1000};
    block_record(block, &recording);
}

static const struct block_entry *entry_of(const struct block *block, uint64_t fingerprint)
{
    for (size_t i = 0; i < block->slot_count; i++) {
        if (block->entries[i].fingerprint == fingerprint) {
            return &block->entries[i];
        }
    }
    return NULL;
}

static void test_sums(void **state)
{
    (void)state;
    struct block *block = block_create(1 << 20);
    record(block, 1, ERR_NONE, 10);
    record(block, 1, ERR_VALIDATION, 20);
    record(block, 1, ERR_VALIDATION, 30);
    record(block, 2, ERR_INTERNAL, 1);
    assert_int_equal(block->entry_count, 2);
    const struct pattern_sums *sums = &entry_of(block, 1)->sums;
    assert_int_equal(sums->calls, 3);
    assert_int_equal(sums->errors, 2);
    assert_int_equal(sums->items_read, 9);
    assert_int_equal(sums->items_returned, 6);
    assert_int_equal(sums->bytes_read, 300);
    assert_int_equal(sums->request_bytes, 6);
    assert_int_equal(sums->answer_bytes, 30);
    assert_int_equal(sums->latency_us, 60);
    assert_int_equal(sums->latency_max_us, 30);
    assert_int_equal(sums->error_kinds[0].code, ERR_VALIDATION);
    assert_int_equal(sums->error_kinds[0].count, 2);
    CHECK_STR_EQ("text", entry_of(block, 1)->text->text, STR("ListTables"));
    block_reset(block);
    assert_int_equal(block->entry_count, 0);
    assert_null(entry_of(block, 1));
    block_destroy(block);
}

/* More kinds of errors than are kept: the last one stands for all further kinds. */
static void test_kinds_of_errors(void **state)
{
    (void)state;
    struct block *block = block_create(1 << 20);
    for (int code = ERR_NONE + 1; code < ERR_NONE + 1 + 10; code++) {
        record(block, 1, (enum err_code)code, 1);
    }
    const struct pattern_sums *sums = &entry_of(block, 1)->sums;
    uint64_t total = 0;
    for (size_t i = 0; i < ERROR_KINDS; i++) {
        total += sums->error_kinds[i].count;
    }
    assert_int_equal(sums->errors, 10);
    assert_int_equal(total, 10);
    struct pattern_sums twice = {0};
    pattern_sums_add(&twice, sums);
    pattern_sums_add(&twice, sums);
    assert_int_equal(twice.calls, 20);
    assert_int_equal(twice.errors, 20);
    block_destroy(block);
}

static void test_is_full_before_it_overflows(void **state)
{
    (void)state;
    struct block *block = block_create(0);
    uint64_t fingerprint = 1;
    while (!block_is_full(block)) {
        record(block, fingerprint++, ERR_NONE, 1);
        assert_true(block->entry_count < block->slot_count);
    }
    assert_true(block_is_full_of_patterns(block));
    assert_true(block_bytes(block) < 512 * 1024);
    block_destroy(block);
    block_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_latency_buckets),
        cmocka_unit_test(test_latency_quantile),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_kinds_of_errors),
        cmocka_unit_test(test_is_full_before_it_overflows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
