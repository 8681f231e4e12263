/* cli/connection.h: a blocking connection to a server, with or without TLS, for the commands that
 * call a running server. */
#ifndef GRAMME_CLI_CONNECTION_H
#define GRAMME_CLI_CONNECTION_H

#include "base/buf.h"
#include "err/err.h"

/* The address of a server. All texts end with NUL. */
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
/* Connects; the certificate of the server must be valid for the host. Close *out with
 * connection_close(). False: *err says why. */
MUST_USE bool connection_open(const struct address *address, struct connection **out,
                              struct err *err);
/* Sends all bytes. False: the connection is lost, or nothing was sent for 30 seconds. */
MUST_USE bool connection_send(struct connection *connection, struct str bytes);
/* Appends to `out` what the server sends until it closes the connection. False: it did not close,
 * or sent more than `bytes_max`. */
MUST_USE bool connection_read_all(struct connection *connection, size_t bytes_max, struct buf *out);
/* Closes the connection. Accepts NULL. */
void connection_close(struct connection *connection);

#endif
