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

/* The pieces of a signature, for those who sign and those who check. */

#define SIGV4_HASH_LEN 32
#define SIGV4_HEX_LEN  64 /* of a hash or signature, in lower case */
#define SIGV4_DAY_LEN  8  /* of a time: "20150830" */

/* The SHA-256 of `text` in hexadecimal, without a NUL. */
void sigv4_hash(struct str text, char out[SIGV4_HEX_LEN]);
/* The key of one day, region and service. `day` has SIGV4_DAY_LEN bytes. */
void sigv4_derive_key(struct str secret, struct str day, struct str region, struct str service,
                      unsigned char out[SIGV4_HASH_LEN]);
/* Adds the canonical form of a request. `headers` are sorted by name in lower case, one for each
 * name; `body_hash` is what sigv4_hash() wrote. */
void sigv4_add_canonical_request(struct buf *out, const struct sigv4_request *request,
                                 const struct sigv4_header *headers, struct str body_hash);
/* The signature, in hexadecimal, of a canonical request. `time` is "20150830T123600Z", `scope`
 * "20150830/us-east-1/service/aws4_request". */
void sigv4_make_signature(const unsigned char key[SIGV4_HASH_LEN], struct str time,
                          struct str scope, struct str canonical, char out[SIGV4_HEX_LEN]);

#define SIGV4_TIME_SIZE 17
/* The time of a moment (milliseconds since 1970) as SigV4 writes it, with a NUL. */
void sigv4_format_time(int64_t wall_ms, char out[SIGV4_TIME_SIZE]);

#endif
