/* cli/http_client.h: HTTP requests, each on its own connection, for the commands that call a
 * running server. */
#ifndef GRAMME_CLI_HTTP_CLIENT_H
#define GRAMME_CLI_HTTP_CLIENT_H

#include "auth/sigv4.h"
#include "cli/connection.h"
#include "err/err.h"

/* Sends a POST to "/" with the headers and the body of `request` and with its Authorization header,
 * and appends the body of the answer to `out`. False: there is no answer; *err says why. */
MUST_USE bool http_post(const struct address *address, const struct sigv4_request *request,
                        struct str authorization, int *out_status, struct buf *out,
                        struct err *err);

#endif
