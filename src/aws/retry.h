/* aws/retry.h: which failures are retried, when, and how often: the AWS SDKs' "standard" mode as of
 * 2026 with its values for DynamoDB, which are used for other services, too
 * (docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html). */
#ifndef GRAMME_AWS_RETRY_H
#define GRAMME_AWS_RETRY_H

#include <pthread.h>

#include "base/random.h"

enum retry_kind {
    RETRY_NEVER,     /* the same request would fail again */
    RETRY_TRANSIENT, /* connection, time-out, the service's own failure */
    RETRY_THROTTLED, /* too many requests */
};

#define RETRY_ATTEMPTS 4

/* Classifies a failure by HTTP status (0: no response) and error code, the service's or one of
 * aws/options.h. */
enum retry_kind retry_kind_of(int status, const char *code);
/* Whether a reason of a canceled transaction may have passed at the next attempt. libgramme does
 * not retry those, as the SDKs do not; it only reports it. */
bool retry_reason_passes(const char *code);

/* A token bucket that limits the retries of a handle: when most calls fail, retries would only add
 * load. Thread-safe. */
struct retry_quota {
    pthread_mutex_t lock;
    struct random random;
    int tokens;
};

/* Starts with a full quota. */
void retry_quota_init(struct retry_quota *quota);
/* Frees its lock. */
void retry_quota_finish(struct retry_quota *quota);
/* Takes the tokens of a retry; false: not enough are left. */
MUST_USE bool retry_quota_take(struct retry_quota *quota, enum retry_kind kind);
/* Returns tokens after a call has succeeded. `kind`: of its last retry, whose tokens are returned;
 * RETRY_NEVER: it had none. */
void retry_quota_give(struct retry_quota *quota, enum retry_kind kind);

/* Returns how long to wait before retry number `retry`, from 1. `retry_after_ms`: what the server
 * asked for, or -1. */
int64_t retry_delay_ms(struct retry_quota *quota, enum retry_kind kind, int retry,
                       int64_t retry_after_ms);
/* Sleeps on the calling thread. */
void retry_wait_ms(int64_t delay_ms);

#endif
