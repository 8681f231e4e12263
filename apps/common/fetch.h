/* apps/common/fetch.h: HTTP requests to other services, by libcurl. */
#ifndef GRAMME_APPS_FETCH_H
#define GRAMME_APPS_FETCH_H

#include "base/buf.h"

struct fetch {
    const char *url;
    const char *form; /* posted as application/x-www-form-urlencoded; NULL: GET */
    const char *user; /* for basic authentication with `password`; NULL: none */
    const char *password;
    const char *bearer;  /* NULL: none */
    const char *ca_file; /* certificates to trust instead of the system's; NULL: those */
};

/* Returns the status, 0 if there was no complete answer within 10 s (then `out` has the reason as
 * text). `out` is emptied first, and gets the body, at most 1 MB. May block: not on the server's
 * event loop. */
int fetch_send(const struct fetch *fetch, struct buf *out);
/* %41 for all but letters, digits and -._~; the caller frees it with mem_free(). */
char *fetch_escape(const char *text);

#endif
