/* cli/connection.h: a blocking connection to a server, plain or with TLS, for the commands that
 * talk to a running one. */
#ifndef GRAMME_CLI_CONNECTION_H
#define GRAMME_CLI_CONNECTION_H

#include "base/buf.h"
#include "err/err.h"

/* Where a server is. All texts end with NUL. */
struct address {
    bool is_secure;         /* https */
    struct str host_header; /* "127.0.0.1:8000" */
    struct str host;        /* without brackets */
    struct str port;
    struct str ca_file; /* https: the authorities to trust, PEM; STR_NULL: those of the system */
};

/* Reads http://HOST:PORT or https://HOST:PORT; the texts live in `arena`. `ca_file` may be NULL:
 * then it is the variable AWS_CA_BUNDLE, if that is set. Fails with ERR_VALIDATION. */
MUST_USE bool address_parse(struct arena *arena, struct str url, const char *ca_file,
                            struct address *out, struct err *err);

struct connection;
/* Connects; the server's certificate must be valid for the host. The caller ends *out with
 * connection_close(). *err says what went wrong. */
MUST_USE bool connection_open(const struct address *address, struct connection **out,
                              struct err *err);
/* Sends all of it. False: the connection is lost, or nothing moved for 30 seconds. */
MUST_USE bool connection_send(struct connection *connection, struct str bytes);
/* Adds to `out` all that the server sends until it ends the connection. False: that did not come,
 * or it is more than `bytes_max`. */
MUST_USE bool connection_read_all(struct connection *connection, size_t bytes_max, struct buf *out);
/* Accepts NULL. */
void connection_close(struct connection *connection);

#endif
