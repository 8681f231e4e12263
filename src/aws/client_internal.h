/* aws/client_internal.h: the client, for client.c and attempts.c. */
#ifndef GRAMME_AWS_CLIENT_INTERNAL_H
#define GRAMME_AWS_CLIENT_INTERNAL_H

#include <pthread.h>

#include "aws/client.h"
#include "aws/credentials.h"
#include "aws/endpoint.h"
#include "aws/retry.h"

enum { AWS_IDLE_MAX = 64 }; /* handles kept for later */

struct aws_client {
    struct arena arena; /* of the settings */
    struct endpoint endpoint;
    struct str service;
    struct str ca_file; /* ends with NUL; STR_NULL: the system's */
    long connect_timeout_ms;
    long timeout_ms;
    int attempts_max;
    int64_t patience_ms;
    struct credential_source *credentials;
    struct retry_quota quota;
    pthread_mutex_t lock; /* of `idle` */
    void *idle[AWS_IDLE_MAX];
    size_t idle_count;
};

#endif
