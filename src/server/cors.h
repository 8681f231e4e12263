/* server/cors.h: which web pages may use the server. A browser sends the origin of a page with each
 * request of the page to another host, and with each POST. Requests of origins that are not allowed
 * get no CORS headers and are not carried out, because a browser sends some requests without a
 * preflight. */
#ifndef GRAMME_SERVER_CORS_H
#define GRAMME_SERVER_CORS_H

#include "base/buf.h"
#include "err/err.h"

struct cors {
    bool any; /* "*" */
    const struct str *origins;
    size_t count;
};

/* Reads a list such as "http://localhost:3000, https://app.example"; "*" allows every origin,
 * "null" pages without one (files). Empty: none. Texts live in `arena`. The error's message is the
 * second half of a sentence: what was expected. */
MUST_USE bool cors_parse(struct arena *arena, struct str text, struct cors *out, struct err *err);

enum cors_verdict {
    CORS_NONE,    /* the request has no origin: it is not from a page, or from one of this server */
    CORS_SAME,    /* the origin is the host of the request */
    CORS_ALLOWED, /* the answer gets CORS headers */
    CORS_REFUSED,
};
/* Decides whether a request may be carried out. `origin` and `host` are its headers, or STR_NULL.
 */
enum cors_verdict cors_judge(const struct cors *cors, struct str origin, struct str host);

/* Whether an origin is the host of the request, so that the page is one of this server. Both may be
 * STR_NULL. */
bool cors_is_same(struct str origin, struct str host);

/* Appends the CORS header lines of an answer to an allowed origin. */
void cors_write(const struct cors *cors, struct str origin, struct buf *out);
/* Headers of a preflight request (OPTIONS). */
struct cors_preflight {
    struct str method;  /* Access-Control-Request-Method, or STR_NULL */
    struct str headers; /* Access-Control-Request-Headers, or STR_NULL */
};
/* Appends the CORS header lines of the answer to a preflight request of an allowed origin. */
void cors_write_preflight(const struct cors *cors, struct str origin,
                          const struct cors_preflight *asked, struct buf *out);

#endif
