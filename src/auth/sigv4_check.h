/* auth/sigv4_check.h: checks signatures (AWS Signature Version 4) of requests, in the Authorization
 * header or in the query string. Errors have the service's texts and come in the service's order.
 *
 * The check has two steps, so that a request with an unknown key can be refused before its body is
 * read: sigv4_claim_read() needs only the head; sigv4_claim_verify() needs the secret and the
 * body's hash. Any thread; no function keeps state. */
#ifndef GRAMME_AUTH_SIGV4_CHECK_H
#define GRAMME_AUTH_SIGV4_CHECK_H

#include "auth/sigv4.h"
#include "err/err.h"

/* The head of a request as received. */
struct sigv4_head {
    struct str method;
    struct str target;                  /* path and query, as sent */
    const struct sigv4_header *headers; /* in order of arrival; a name may occur several times */
    size_t header_count;
};

/* What the server expects of every request. */
struct sigv4_expected {
    struct str region; /* STR_NULL: any region */
    struct str service;
    int64_t now_ms;  /* since 1970 */
    int64_t skew_ms; /* how far the request's time may differ from now_ms */
};

/* What a request claims about its sender, not verified yet. Borrows the head and the arena. */
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

/* Reads the claim and checks all that needs no secret: syntax, time and scope. Returns false with
 * the service's error in *err. */
MUST_USE bool sigv4_claim_read(struct arena *arena, const struct sigv4_head *head,
                               const struct sigv4_expected *expected, struct sigv4_claim *out,
                               struct err *err);

/* Returns whether the signature is correct for `key` (see sigv4_derive_key()), this head, and a
 * body with this SHA-256 in hexadecimal. Compares in constant time. `arena` is scratch memory. */
MUST_USE bool sigv4_claim_verify(struct arena *arena, const struct sigv4_head *head,
                                 const struct sigv4_claim *claim,
                                 const unsigned char key[SIGV4_HASH_LEN], struct str body_hash);

#endif
