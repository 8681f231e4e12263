/* Decides which failures are retried, and when. The threads of a handle share a quota. */
#include "aws/retry.h"

#include <time.h>

#include "aws/options.h"
#include "base/base.h"

enum {
    QUOTA_TOKENS = 500,
    COST_TRANSIENT = 14,
    COST_THROTTLED = 5,
    GAIN = 1, /* gained by a call that succeeds at once */
    BASE_TRANSIENT_MS = 25,
    BASE_THROTTLED_MS = 1000,
    DELAY_MS_MAX = 20000,
    RETRY_AFTER_MS_MAX = 5000, /* beyond our own delay */
};

static const char *const throttled_codes[] = {
    "BandwidthLimitExceeded",
    "EC2ThrottledException",
    "LimitExceededException",
    "PriorRequestNotComplete",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "RequestThrottled",
    "RequestThrottledException",
    "SlowDown",
    "ThrottledException",
    "Throttling",
    "ThrottlingException",
    "TooManyRequestsException",
    "TransactionInProgressException",
};

static const char *const transient_codes[] = {
    AWS_BAD_ANSWER,    AWS_CONNECTION_FAILED, AWS_TIMED_OUT,    "InternalError",
    "InternalFailure", "InternalServerError", "RequestTimeout", "RequestTimeoutException",
};

static const char *const passing_reasons[] = {
    "ProvisionedThroughputExceeded",
    "ThrottlingError",
    "TransactionConflict",
};

static bool is_one_of(const char *code, const char *const *codes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(code, codes[i]) == 0) {
            return true;
        }
    }
    return false;
}

enum retry_kind retry_kind_of(int status, const char *code)
{
    if (status == 429 || is_one_of(code, throttled_codes, COUNT_OF(throttled_codes))) {
        return RETRY_THROTTLED;
    }
    if (status == 500 || status == 502 || status == 503 || status == 504) {
        return RETRY_TRANSIENT;
    }
    /* A code of aws/options.h with an HTTP status was sent by the service. */
    bool transient = is_one_of(code, transient_codes, COUNT_OF(transient_codes));
    return transient && (status == 0 || strcmp(code, AWS_BAD_ANSWER) != 0) ? RETRY_TRANSIENT
                                                                           : RETRY_NEVER;
}

bool retry_reason_passes(const char *code)
{
    return is_one_of(code, passing_reasons, COUNT_OF(passing_reasons));
}

void retry_quota_init(struct retry_quota *quota)
{
    pthread_mutex_init(&quota->lock, NULL);
    random_init(&quota->random);
    quota->tokens = QUOTA_TOKENS;
}

void retry_quota_finish(struct retry_quota *quota)
{
    pthread_mutex_destroy(&quota->lock);
}

static int cost_of(enum retry_kind kind)
{
    return kind == RETRY_THROTTLED ? COST_THROTTLED : COST_TRANSIENT;
}

bool retry_quota_take(struct retry_quota *quota, enum retry_kind kind)
{
    pthread_mutex_lock(&quota->lock);
    bool enough = quota->tokens >= cost_of(kind);
    if (enough) {
        quota->tokens -= cost_of(kind);
    }
    pthread_mutex_unlock(&quota->lock);
    return enough;
}

void retry_quota_give(struct retry_quota *quota, enum retry_kind kind)
{
    int gain = kind == RETRY_NEVER ? GAIN : cost_of(kind);
    pthread_mutex_lock(&quota->lock);
    quota->tokens = MIN(quota->tokens + gain, (int)QUOTA_TOKENS);
    pthread_mutex_unlock(&quota->lock);
}

/* Returns a random number from 0 to 1. */
static double random_share(struct retry_quota *quota)
{
    pthread_mutex_lock(&quota->lock);
    uint64_t bits = random_next(&quota->random);
    pthread_mutex_unlock(&quota->lock);
    return (double)(bits >> 11) / (double)(UINT64_C(1) << 53);
}

int64_t retry_delay_ms(struct retry_quota *quota, enum retry_kind kind, int retry,
                       int64_t retry_after_ms)
{
    int64_t most = kind == RETRY_THROTTLED ? BASE_THROTTLED_MS : BASE_TRANSIENT_MS;
    for (int i = 1; i < retry && most < DELAY_MS_MAX; i++) {
        most *= 2;
    }
    int64_t delay = (int64_t)(random_share(quota) * (double)MIN(most, (int64_t)DELAY_MS_MAX));
    return retry_after_ms > delay ? MIN(retry_after_ms, delay + RETRY_AFTER_MS_MAX) : delay;
}

void retry_wait_ms(int64_t delay_ms)
{
    struct timespec time = {.tv_sec = delay_ms / 1000, .tv_nsec = delay_ms % 1000 * 1000000};
    while (nanosleep(&time, &time) != 0) {
    }
}
