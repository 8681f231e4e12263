/* aws/options.h: how to reach AWS or a service with the same protocol. Members that are NULL or 0
 * are taken from where the AWS SDKs take them: environment, profile files, container or
 * instance. */
#ifndef GRAMME_AWS_OPTIONS_H
#define GRAMME_AWS_OPTIONS_H

#include "base/str.h"

struct aws_options {
    const char *service; /* what requests are signed for: "dynamodb", "s3", "kinesis" */
    const char *url;     /* NULL or "aws:": AWS_ENDPOINT_URL_SERVICE, AWS_ENDPOINT_URL, the profile,
                          * or the service in the region */
    const char *region;
    const char *access_key_id;
    const char *secret_access_key;
    const char *session_token;
    const char *profile;    /* in the files; else AWS_PROFILE, else "default" */
    const char *ca_file;    /* certificates to trust instead of the system's; also AWS_CA_BUNDLE */
    int connect_timeout_ms; /* 0: 3000 */
    int timeout_ms;         /* of each attempt, from connecting to the response's end; 0: 30000 */
    int attempts_max; /* including the first; 0: AWS_MAX_ATTEMPTS, max_attempts of the profile, 4 */
    /* Not 0: transient failures are retried for this long, with any number of attempts: for
     * background work that must survive an outage of the service. */
    int64_t patience_ms;
};

/* Codes of failures without a response. libgramme has the same texts in gramme.h. */
#define AWS_BAD_ADDRESS       "BadAddress"
#define AWS_NO_REGION         "NoRegion"
#define AWS_NO_CREDENTIALS    "NoCredentials"
#define AWS_CONNECTION_FAILED "ConnectionFailed"
#define AWS_TIMED_OUT         "TimedOut"
#define AWS_BAD_ANSWER        "BadAnswer"
#define AWS_STOPPED           "Stopped" /* the caller's `stop` was set */

/* Why something failed before there was a response. */
struct aws_problem {
    const char *code; /* one of the above */
    char text[256];
};

/* Fills in *problem and returns false. `problem` may be NULL. */
bool aws_problem_set(struct aws_problem *problem, const char *code, const char *format, ...)
    PRINTF_LIKE(3, 4);

#endif
