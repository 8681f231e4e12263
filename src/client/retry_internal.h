/* client/retry_internal.h: which failures are tried again, when, and how often: the AWS SDKs'
 * "standard" mode as of 2026 with its values for DynamoDB
 * (docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html). */
#ifndef GRAMME_CLIENT_RETRY_INTERNAL_H
#define GRAMME_CLIENT_RETRY_INTERNAL_H

#include <pthread.h>

#include "base/random.h"

enum retry_kind {
    RETRY_NEVER,     /* the same request would fail again */
    RETRY_TRANSIENT, /* connection, time-out, the service's own failure */
    RETRY_THROTTLED, /* too many requests */
};

#define RETRY_ATTEMPTS 4

/* By HTTP status (0: there was no answer) and code of an error. */
enum retry_kind retry_kind_of(int status, const char *code);
/* Whether a part of a canceled transaction has a reason that may be gone next time. The library
 * does not retry those, as the SDKs do not; it only says so. */
bool retry_reason_passes(const char *code);

/* How many retries a handle may still make: when most calls fail, retries make it worse. Threads
 * share it. */
struct retry_quota {
    pthread_mutex_t lock;
    struct random random;
    int tokens;
};

void retry_quota_init(struct retry_quota *quota);
void retry_quota_finish(struct retry_quota *quota);
/* Takes the price of a retry; false: there is not enough left. */
MUST_USE bool retry_quota_take(struct retry_quota *quota, enum retry_kind kind);
/* A call went well. `kind`: of its last retry, whose price comes back; RETRY_NEVER: it had none. */
void retry_quota_give(struct retry_quota *quota, enum retry_kind kind);

/* How long to wait before retry number `retry`, from 1. `wish_ms`: what the server asked for, or
 * -1. */
int64_t retry_delay_ms(struct retry_quota *quota, enum retry_kind kind, int retry, int64_t wish_ms);
/* Sleeps. */
void retry_wait_ms(int64_t delay_ms);

#endif
