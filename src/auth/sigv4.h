/* auth/sigv4.h: AWS Signature Version 4: signs requests with a secret key. The client library signs
 * with it; sigv4_check.h verifies with the same functions. No function keeps state: any thread may
 * call them. */
#ifndef GRAMME_AUTH_SIGV4_H
#define GRAMME_AUTH_SIGV4_H

#include "base/buf.h"

struct sigv4_header {
    struct str name; /* upper or lower case */
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

/* Appends the value of the Authorization header of a request to `out`. */
void sigv4_sign(const struct sigv4_request *request, const struct sigv4_scope *scope,
                struct buf *out);

/* The steps of a signature, for signing and for checking. */

#define SIGV4_HASH_LEN 32
#define SIGV4_HEX_LEN  64 /* length of a hash or signature in hexadecimal, lower case */
#define SIGV4_DAY_LEN  8  /* length of a day: "20150830" */

/* Writes the SHA-256 of `text` in hexadecimal to `out`, without a NUL. */
void sigv4_hash(struct str text, char out[SIGV4_HEX_LEN]);
/* Derives the signing key of one day, region and service from a secret. `day` has SIGV4_DAY_LEN
 * bytes. */
void sigv4_derive_key(struct str secret, struct str day, struct str region, struct str service,
                      unsigned char out[SIGV4_HASH_LEN]);
/* Appends the canonical form of a request to `out`. `headers` (request->header_count of them) are
 * sorted by name in lower case, one for each name; `body_hash` is the result of sigv4_hash(). */
void sigv4_add_canonical_request(struct buf *out, const struct sigv4_request *request,
                                 const struct sigv4_header *headers, struct str body_hash);
/* Writes the signature of a canonical request, in hexadecimal, to `out`. `time` is
 * "20150830T123600Z", `scope` "20150830/us-east-1/service/aws4_request". */
void sigv4_make_signature(const unsigned char key[SIGV4_HASH_LEN], struct str time,
                          struct str scope, struct str canonical, char out[SIGV4_HEX_LEN]);

#define SIGV4_TIME_SIZE 17
/* Formats a time (milliseconds since 1970) as SigV4 requires it: "20150830T123600Z", with a NUL. */
void sigv4_format_time(int64_t wall_ms, char out[SIGV4_TIME_SIZE]);

#endif
