/* Blocking sockets, with OpenSSL above them for https. Used by http_client.c and insight_client.c,
 * on the main thread of commands. */
#include "cli/connection.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/mem.h"

enum { TIMEOUT_SECONDS = 30, READ_BYTES = 64 * 1024 };

struct connection {
    int fd;
    SSL *ssl; /* NULL: plain */
};

/* Where ------------------------------------------------------------------------------------- */

static struct str default_ca_file(struct arena *arena, const char *ca_file)
{
    const char *name = ca_file != NULL ? ca_file : getenv("AWS_CA_BUNDLE");
    return name == NULL || name[0] == '\0' ? STR_NULL : arena_copy_c(arena, str_from_c(name));
}

bool address_parse(struct arena *arena, struct str url, const char *ca_file, struct address *out,
                   struct err *err)
{
    bool is_secure = str_starts_with(url, STR("https://"));
    *out = (struct address){.is_secure = is_secure};
    if (!is_secure && !str_starts_with(url, STR("http://"))) {
        return err_set(err, ERR_VALIDATION,
                       "'%.*s' is not an address of the form http://HOST:PORT or https://HOST:PORT",
                       STR_ARG(url));
    }
    struct str rest = str_skip(url, is_secure ? 8 : 7);
    while (rest.len > 0 && rest.data[rest.len - 1] == '/') {
        rest.len--;
    }
    size_t colon = rest.len;
    while (colon > 0 && rest.data[colon - 1] != ':' && rest.data[colon - 1] != ']') {
        colon--;
    }
    bool has_port = colon > 0 && rest.data[colon - 1] == ':';
    struct str host = has_port ? str_make(rest.data, colon - 1) : rest;
    if (host.len >= 2 && host.data[0] == '[') {
        host = str_make(host.data + 1, host.len - 2);
    }
    out->host_header = arena_copy_c(arena, rest);
    out->host = arena_copy_c(arena, host);
    out->port = has_port ? arena_copy_c(arena, str_skip(rest, colon))
                         : (is_secure ? STR("443") : STR("80"));
    out->ca_file = default_ca_file(arena, ca_file);
    return host.len > 0 || err_set(err, ERR_VALIDATION, "'%.*s' names no host", STR_ARG(url));
}

/* Opening ----------------------------------------------------------------------------------- */

/* The socket of the first address that accepts; -1: *out_reason is the errno of the last one. */
static int connect_to_any(const struct addrinfo *addresses, int *out_reason)
{
    int fd = -1;
    for (const struct addrinfo *at = addresses; at != NULL && fd < 0; at = at->ai_next) {
        fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
        if (fd >= 0 && connect(fd, at->ai_addr, at->ai_addrlen) != 0) {
            *out_reason = errno;
            close(fd);
            fd = -1;
        }
    }
    return fd;
}

/* A connected socket, or -1 with *err. */
static int connect_to(const struct address *address, struct err *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    int result = getaddrinfo(address->host.data, address->port.data, &hints, &found);
    if (result != 0) {
        err_set(err, ERR_VALIDATION, "cannot find %.*s: %s", STR_ARG(address->host_header),
                gai_strerror(result));
        return -1;
    }
    int reason = 0;
    int fd = connect_to_any(found, &reason);
    freeaddrinfo(found);
    if (fd < 0) {
        err_set(err, ERR_VALIDATION, "cannot connect to %.*s: %s", STR_ARG(address->host_header),
                strerror(reason));
        return -1;
    }
    struct timeval timeout = {.tv_sec = TIMEOUT_SECONDS};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
    return fd;
}

/* Why TLS failed; ssl may be NULL. */
static bool fail_tls(struct err *err, const struct address *address, const SSL *ssl)
{
    long verified = ssl == NULL ? X509_V_OK : SSL_get_verify_result(ssl);
    const char *reason = ERR_reason_error_string(ERR_peek_error());
    if (verified != X509_V_OK) {
        reason = X509_verify_cert_error_string(verified);
    }
    ERR_clear_error();
    return err_set(err, ERR_VALIDATION, "cannot connect to %.*s by TLS: %s",
                   STR_ARG(address->host_header), reason != NULL ? reason : "no answer");
}

/* The certificate must be for this host: a name or an address. */
static bool expect_host(SSL *ssl, const struct address *address)
{
    struct in6_addr ignored;
    const char *host = address->host.data;
    if (inet_pton(AF_INET, host, &ignored) == 1 || inet_pton(AF_INET6, host, &ignored) == 1) {
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
    }
    return SSL_set_tlsext_host_name(ssl, host) == 1 && SSL_set1_host(ssl, host) == 1;
}

static SSL *new_ssl(const struct address *address)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (context == NULL) {
        return NULL;
    }
    bool has_ca = !str_is_null(address->ca_file);
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    bool good = (has_ca ? SSL_CTX_load_verify_file(context, address->ca_file.data)
                        : SSL_CTX_set_default_verify_paths(context)) == 1;
    SSL *ssl = good ? SSL_new(context) : NULL;
    SSL_CTX_free(context); /* `ssl` holds it */
    return ssl;
}

static bool start_tls(struct connection *connection, const struct address *address, struct err *err)
{
    static const unsigned char protocol[] = "\x08http/1.1";
    signal(SIGPIPE, SIG_IGN); /* OpenSSL writes without MSG_NOSIGNAL */
    ERR_clear_error();
    connection->ssl = new_ssl(address);
    if (connection->ssl == NULL && !str_is_null(address->ca_file)) {
        const char *reason = ERR_reason_error_string(ERR_peek_last_error());
        return err_set(err, ERR_VALIDATION, "cannot read the authorities in %.*s: %s",
                       STR_ARG(address->ca_file), reason != NULL ? reason : strerror(errno));
    }
    SSL *ssl = connection->ssl;
    bool good = ssl != NULL && SSL_set_alpn_protos(ssl, protocol, sizeof(protocol) - 1) == 0 &&
                expect_host(ssl, address) && SSL_set_fd(ssl, connection->fd) == 1 &&
                SSL_connect(ssl) == 1;
    return good || fail_tls(err, address, ssl);
}

bool connection_open(const struct address *address, struct connection **out, struct err *err)
{
    int fd = connect_to(address, err);
    if (fd < 0) {
        return false;
    }
    struct connection *connection = mem_zalloc(sizeof(*connection));
    connection->fd = fd;
    if (address->is_secure && !start_tls(connection, address, err)) {
        connection_close(connection);
        return false;
    }
    *out = connection;
    return true;
}

/* Using ------------------------------------------------------------------------------------- */

static ssize_t send_some(struct connection *connection, struct str bytes)
{
    size_t sent = 0;
    if (connection->ssl == NULL) {
        return send(connection->fd, bytes.data, bytes.len, MSG_NOSIGNAL);
    }
    return SSL_write_ex(connection->ssl, bytes.data, bytes.len, &sent) == 1 ? (ssize_t)sent : -1;
}

bool connection_send(struct connection *connection, struct str bytes)
{
    while (bytes.len > 0) {
        ssize_t count = send_some(connection, bytes);
        if (count <= 0) {
            return false;
        }
        bytes = str_skip(bytes, (size_t)count);
    }
    return true;
}

/* How many bytes came; 0: the server has ended the connection; -1: it is lost. With TLS the end
 * must be announced: otherwise an attacker may have truncated the answer. */
static ssize_t receive_some(struct connection *connection, char *to, size_t size)
{
    size_t got = 0;
    if (connection->ssl == NULL) {
        return recv(connection->fd, to, size, 0);
    }
    ERR_clear_error();
    if (SSL_read_ex(connection->ssl, to, size, &got) == 1) {
        return (ssize_t)got;
    }
    return SSL_get_error(connection->ssl, 0) == SSL_ERROR_ZERO_RETURN ? 0 : -1;
}

bool connection_read_all(struct connection *connection, size_t bytes_max, struct buf *out)
{
    ssize_t count;
    do {
        count = receive_some(connection, buf_reserve(out, READ_BYTES), READ_BYTES);
        buf_added(out, count > 0 ? (size_t)count : 0);
    } while (count > 0 && out->len < bytes_max);
    return count == 0;
}

void connection_close(struct connection *connection)
{
    if (connection != NULL) {
        SSL_free(connection->ssl);
        close(connection->fd);
        mem_free(connection);
    }
}
