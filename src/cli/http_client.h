/* cli/http_client.h: HTTP requests, each on its own connection, for the commands that call a
 * running server. */
#ifndef GRAMME_CLI_HTTP_CLIENT_H
#define GRAMME_CLI_HTTP_CLIENT_H

#include "auth/sigv4.h"
#include "cli/connection.h"
#include "err/err.h"

/* Sends a POST to "/" with these headers and an Authorization header, and appends the body of the
 * answer to `out`. False: there is no answer; *err says why. */
MUST_USE bool http_post(const struct address *address, const struct sigv4_header *headers,
                        size_t header_count, struct str authorization, struct str body,
                        int *out_status, struct buf *out, struct err *err);

#endif
