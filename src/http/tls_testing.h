/* http/tls_testing.h: the server tests of this folder also run with TLS: they are compiled a second
 * time with TESTING_TLS defined to 1. */
#ifndef GRAMME_HTTP_TLS_TESTING_H
#define GRAMME_HTTP_TLS_TESTING_H

#include <openssl/ssl.h>

#include "http/http.h"

#ifndef TESTING_TLS
#define TESTING_TLS 0
#endif

/* Opens a server like http_server_open(), on options->host and port; with TLS if TESTING_TLS. */
MUST_USE bool testing_open_server(const struct http_options *options, http_handler *handler,
                                  void *context, struct http_server **out, struct err *err);
/* Creates TLS settings with a self-signed certificate, which is made at the first call. */
MUST_USE bool testing_tls_create(struct http_tls **out, struct err *err);
/* Does a handshake as a client on a connected socket, which then is non-blocking. NULL: it failed.
 * The caller frees the result. */
MUST_USE SSL *testing_tls_connect(int fd);

#endif
