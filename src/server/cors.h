/* server/cors.h: which web pages may use the server. A browser names the origin of a page in each
 * request that the page makes to another host, and in each POST. Pages of origins that were not
 * allowed get no CORS headers, and their requests are not carried out: some of them a browser would
 * send without asking first. */
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
    CORS_NONE,    /* the request has no origin: no page made it, or one of this server */
    CORS_SAME,    /* the page's host is the one that the request went to */
    CORS_ALLOWED, /* the answer gets CORS headers */
    CORS_REFUSED,
};
/* `origin` and `host` are headers of the request, or STR_NULL. */
enum cors_verdict cors_judge(const struct cors *cors, struct str origin, struct str host);

/* Adds the header lines that an allowed origin's answer gets; those of OPTIONS differ. */
void cors_write(const struct cors *cors, struct str origin, struct buf *out);
struct cors_preflight {
    struct str method;  /* Access-Control-Request-Method, or STR_NULL */
    struct str headers; /* Access-Control-Request-Headers, or STR_NULL */
};
void cors_write_preflight(const struct cors *cors, struct str origin,
                          const struct cors_preflight *asked, struct buf *out);

#endif
