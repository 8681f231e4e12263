/* Unit tests of retries: which failures, and how long to wait. */
#include "aws/retry.h"

#include "aws/options.h"
#include "base/testing.h"

static void test_kinds(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *code;
        enum retry_kind kind;
    } rows[] = {
        {0, AWS_CONNECTION_FAILED, RETRY_TRANSIENT},
        {0, AWS_TIMED_OUT, RETRY_TRANSIENT},
        {0, AWS_BAD_ANSWER, RETRY_TRANSIENT},
        {404, AWS_BAD_ANSWER, RETRY_NEVER},
        {0, AWS_NO_CREDENTIALS, RETRY_NEVER},
        {0, "BadRequest", RETRY_NEVER},
        {500, "InternalServerError", RETRY_TRANSIENT},
        {502, AWS_BAD_ANSWER, RETRY_TRANSIENT},
        {503, "ServiceUnavailableException", RETRY_TRANSIENT},
        {504, AWS_BAD_ANSWER, RETRY_TRANSIENT},
        {501, "NotImplemented", RETRY_NEVER},
        {400, "ProvisionedThroughputExceededException", RETRY_THROTTLED},
        {400, "ThrottlingException", RETRY_THROTTLED},
        {400, "RequestLimitExceeded", RETRY_THROTTLED},
        {400, "TransactionInProgressException", RETRY_THROTTLED},
        {503, "SlowDown", RETRY_THROTTLED},
        {429, AWS_BAD_ANSWER, RETRY_THROTTLED},
        {400, "ConditionalCheckFailedException", RETRY_NEVER},
        {400, "TransactionCanceledException", RETRY_NEVER},
        {400, "TransactionConflictException", RETRY_NEVER},
        {400, "ValidationException", RETRY_NEVER},
        {400, "RequestTimeout", RETRY_TRANSIENT},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (retry_kind_of(rows[i].status, rows[i].code) != rows[i].kind) {
            fail_msg("%d %s", rows[i].status, rows[i].code);
        }
    }
}

/* Full jitter: any time up to the bound, which doubles to 20 s. */
static void test_delays(void **state)
{
    (void)state;
    static const struct {
        enum retry_kind kind;
        int retry;
        int64_t most;
    } rows[] = {
        {RETRY_TRANSIENT, 1, 25},     {RETRY_TRANSIENT, 2, 50},       {RETRY_TRANSIENT, 4, 200},
        {RETRY_THROTTLED, 1, 1000},   {RETRY_THROTTLED, 3, 4000},     {RETRY_THROTTLED, 6, 20000},
        {RETRY_THROTTLED, 60, 20000}, {RETRY_TRANSIENT, 1000, 20000},
    };
    struct retry_quota quota;
    retry_quota_init(&quota);
    random_init_seed(&quota.random, 1);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t low = INT64_MAX;
        int64_t high = 0;
        for (int round = 0; round < 2000; round++) {
            int64_t delay = retry_delay_ms(&quota, rows[i].kind, rows[i].retry, -1);
            low = MIN(low, delay);
            high = MAX(high, delay);
        }
        assert_in_range(low, 0, rows[i].most / 10);
        assert_in_range(high, rows[i].most * 9 / 10, rows[i].most);
    }
    retry_quota_finish(&quota);
}

/* The server's Retry-After is obeyed, but for no more than 5 s beyond our own delay. */
static void test_wishes(void **state)
{
    (void)state;
    struct retry_quota quota;
    retry_quota_init(&quota);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(retry_delay_ms(&quota, RETRY_TRANSIENT, 1, 1500), 1500);
        assert_in_range(retry_delay_ms(&quota, RETRY_TRANSIENT, 1, 60000), 5000, 5025);
        assert_in_range(retry_delay_ms(&quota, RETRY_TRANSIENT, 1, 0), 0, 25);
    }
    retry_quota_finish(&quota);
}

/* 500 tokens: 35 retries of failures or 100 of throttling; successes bring them back. */
static void test_quota(void **state)
{
    (void)state;
    struct retry_quota quota;
    retry_quota_init(&quota);
    int taken = 0;
    while (retry_quota_take(&quota, RETRY_TRANSIENT)) {
        taken++;
    }
    assert_int_equal(taken, 35);
    retry_quota_give(&quota, RETRY_TRANSIENT);
    assert_true(retry_quota_take(&quota, RETRY_TRANSIENT));
    for (int i = 0; i < 1000; i++) {
        retry_quota_give(&quota, RETRY_NEVER);
    }
    for (taken = 0; retry_quota_take(&quota, RETRY_THROTTLED);) {
        taken++;
    }
    assert_int_equal(taken, 100);
    retry_quota_finish(&quota);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_delays),
        cmocka_unit_test(test_wishes),
        cmocka_unit_test(test_quota),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
