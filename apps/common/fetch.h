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

/* Sends a request. Returns the status and stores the body in `out`, at most 1 MB; 0: there was no
 * complete response within 10 s, and `out` has the reason as text. Blocks: do not call it on the
 * event loop. */
int fetch_send(const struct fetch *fetch, struct buf *out);
/* Returns a text with all bytes but letters, digits and -._~ percent-encoded; the caller frees it
 * with mem_free(). */
char *fetch_escape(const char *text);

#endif
