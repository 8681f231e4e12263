/* cli/http_client.h: one HTTP request after the other, each on a connection of its own, for the
 * commands that talk to a running server. */
#ifndef GRAMME_CLI_HTTP_CLIENT_H
#define GRAMME_CLI_HTTP_CLIENT_H

#include "auth/sigv4.h"
#include "cli/connection.h"
#include "err/err.h"

/* Sends a POST to "/" with these headers and an Authorization header, and adds the body of the
 * answer to `out`. False: no answer came (*err). */
MUST_USE bool http_post(const struct address *address, const struct sigv4_header *headers,
                        size_t header_count, struct str authorization, struct str body,
                        int *out_status, struct buf *out, struct err *err);

#endif
