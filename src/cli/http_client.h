/* cli/http_client.h: one HTTP request after the other, each on a connection of its own, for the
 * commands that talk to a running server. */
#ifndef GRAMME_CLI_HTTP_CLIENT_H
#define GRAMME_CLI_HTTP_CLIENT_H

#include "auth/sigv4.h"
#include "err/err.h"

struct http_address {
    bool is_secure;         /* https */
    struct str host_header; /* "127.0.0.1:8000" */
    struct str host;        /* without brackets; ends with NUL */
    struct str port;        /* ends with NUL */
};

/* From "http://host:port" or "https://host:port". Texts live in `arena`. */
MUST_USE bool http_address_parse(struct arena *arena, struct str url, struct http_address *out,
                                 struct err *err);
/* Sends a POST to "/" with these headers and an Authorization header, and adds the body of the
 * answer to `out`. False: no answer came (*err). */
MUST_USE bool http_post(const struct http_address *address, const struct sigv4_header *headers,
                        size_t header_count, struct str authorization, struct str body,
                        int *out_status, struct buf *out, struct err *err);

#endif
