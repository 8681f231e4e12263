/* auth/sigv4_check.h: checks signatures (AWS Signature Version 4) of requests, in the Authorization
 * header or in the query string, with the service's errors in the service's order.
 *
 * The check has two halves, so that a request whose key is unknown can be refused before its body
 * is read: sigv4_claim_read() needs the head only; sigv4_claim_verify() needs the secret and the
 * body's hash. */
#ifndef GRAMME_AUTH_SIGV4_CHECK_H
#define GRAMME_AUTH_SIGV4_CHECK_H

#include "auth/sigv4.h"
#include "err/err.h"

/* The head of a request as received. */
struct sigv4_head {
    struct str method;
    struct str target;                  /* path and query, as sent */
    const struct sigv4_header *headers; /* in order of arrival; a name may stand several times */
    size_t header_count;
};

/* What the server expects of every request. */
struct sigv4_expected {
    struct str region; /* STR_NULL: any region will do */
    struct str service;
    int64_t now_ms;  /* since 1970 */
    int64_t skew_ms; /* how far the request's clock may be off */
};

/* What a request says of its sender, before anything is proved. Borrows the head and the arena. */
struct sigv4_claim {
    struct str access_key_id;
    struct str day; /* of the scope */
    struct str region;
    struct str scope; /* "day/region/service/aws4_request" */
    struct str time;  /* "20150830T123600Z" */
    struct str signed_headers;
    struct str signature;
    struct str session_token; /* STR_NULL: none */
    bool is_in_query;
};

/* Reads and checks all that needs no secret: form, clock, scope. False: *err as the service says
 * it. */
MUST_USE bool sigv4_claim_read(struct arena *arena, const struct sigv4_head *head,
                               const struct sigv4_expected *expected, struct sigv4_claim *out,
                               struct err *err);

/* Whether the signature is the one that `key` (see sigv4_derive_key()) gives for this head and a
 * body of this SHA-256 in hexadecimal. Takes the same time wherever the first difference is. */
MUST_USE bool sigv4_claim_verify(struct arena *arena, const struct sigv4_head *head,
                                 const struct sigv4_claim *claim,
                                 const unsigned char key[SIGV4_HASH_LEN], struct str body_hash);

#endif
