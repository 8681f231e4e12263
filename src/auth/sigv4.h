/* auth/sigv4.h: AWS Signature Version 4: what a request's Authorization header says to prove that
 * its sender has the secret key. */
#ifndef GRAMME_AUTH_SIGV4_H
#define GRAMME_AUTH_SIGV4_H

#include "base/buf.h"

struct sigv4_header {
    struct str name; /* in any case */
    struct str value;
};

struct sigv4_request {
    struct str method; /* "POST" */
    struct str path;   /* in canonical form: "/" */
    struct str query;  /* in canonical form: encoded, and sorted by name */
    const struct sigv4_header *headers;
    size_t header_count; /* at most SIGV4_HEADERS_MAX; all are signed */
    struct str body;
};

#define SIGV4_HEADERS_MAX 16

struct sigv4_scope {
    struct str access_key_id;
    struct str secret_access_key;
    struct str region;
    struct str service; /* "dynamodb" */
    struct str time;    /* "20150830T123600Z", the same as in the header X-Amz-Date */
};

/* Adds the value of the Authorization header to `out`. */
void sigv4_sign(const struct sigv4_request *request, const struct sigv4_scope *scope,
                struct buf *out);

#define SIGV4_TIME_SIZE 17
/* The time of a moment (milliseconds since 1970) as SigV4 writes it, with a NUL. */
void sigv4_format_time(int64_t wall_ms, char out[SIGV4_TIME_SIZE]);

#endif
