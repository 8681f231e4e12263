/* The server that is measured: its address, and single blocking calls to it, which create the table
 * and its items. Main thread; workers have connections of their own. */
#include "bench/target_internal.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"

#define SIGNED_HEADERS "host;x-amz-date;x-amz-target"
#define SCOPE_REST     "/us-east-1/dynamodb/aws4_request"

enum { CALL_TIMEOUT_SECONDS = 120 };

/* Reads HOST, HOST:PORT or [IPv6]:PORT. */
static void split_authority(struct str authority, bool is_secure, struct str *out_host,
                            struct str *out_port)
{
    *out_host = authority;
    *out_port = is_secure ? STR("443") : STR("80");
    for (size_t i = authority.len; i > 0 && authority.data[i - 1] != ']'; i--) {
        if (authority.data[i - 1] == ':') {
            *out_host = str_make(authority.data, i - 1);
            *out_port = str_skip(authority, i);
            break;
        }
    }
    if (out_host->len >= 2 && out_host->data[0] == '[') {
        *out_host = str_make(out_host->data + 1, out_host->len - 2);
    }
}

static bool resolve(struct target *target, struct str host, struct str port, struct err *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found;
    struct str host_text = arena_format(err->arena, "%.*s", STR_ARG(host));
    struct str port_text = arena_format(err->arena, "%.*s", STR_ARG(port));
    int failure = getaddrinfo(host_text.data, port_text.data, &hints, &found);
    if (failure != 0) {
        return err_set(err, ERR_VALIDATION, "cannot find %.*s: %s", STR_ARG(target->authority),
                       gai_strerror(failure));
    }
    memcpy(&target->address, found->ai_addr, found->ai_addrlen);
    target->address_len = found->ai_addrlen;
    freeaddrinfo(found);
    return true;
}

static bool read_credentials(struct target *target, struct err *err)
{
    const char *secret = getenv("AWS_SECRET_ACCESS_KEY");
    target->access_key_id = getenv("AWS_ACCESS_KEY_ID");
    if (target->access_key_id == NULL || secret == NULL) {
        return err_set(err, ERR_VALIDATION,
                       "--auth sign needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
    }
    sigv4_format_time(clock_wall_ms(), target->time);
    sigv4_derive_key(str_from_c(secret), str_make(target->time, SIGV4_DAY_LEN), STR("us-east-1"),
                     STR("dynamodb"), target->key);
    return true;
}

static bool make_context(struct target *target, struct err *err)
{
    target->tls = SSL_CTX_new(TLS_client_method());
    return target->tls != NULL || err_set(err, ERR_INTERNAL, "OpenSSL does not work");
}

bool target_init(struct target *target, struct str url, enum target_auth auth, struct err *err)
{
    bool is_secure = str_starts_with(url, STR("https://"));
    size_t scheme_len = is_secure ? 8 : 7;
    *target = (struct target){.auth = auth};
    if ((!is_secure && !str_starts_with(url, STR("http://"))) || url.len == scheme_len) {
        return err_set(err, ERR_VALIDATION, "the endpoint '%.*s' is not http[s]://HOST:PORT",
                       STR_ARG(url));
    }
    struct str rest = str_skip(url, scheme_len);
    const char *slash = memchr(rest.data, '/', rest.len);
    size_t len = slash == NULL ? rest.len : (size_t)(slash - rest.data);
    target->authority = str_make(rest.data, len);
    target->path = slash == NULL ? STR("/") : str_skip(rest, len);
    struct str host;
    struct str port;
    split_authority(target->authority, is_secure, &host, &port);
    return (!is_secure || make_context(target, err)) &&
           (auth != TARGET_AUTH_SIGN || read_credentials(target, err)) &&
           resolve(target, host, port, err);
}

void target_finish(struct target *target)
{
    SSL_CTX_free(target->tls);
    target->tls = NULL;
}

SSL *target_start_tls(const struct target *target, int fd)
{
    SSL *ssl = SSL_new(target->tls);
    if (ssl != NULL && (SSL_set_fd(ssl, fd) != 1 || SSL_connect(ssl) != 1)) {
        SSL_free(ssl);
        return NULL;
    }
    return ssl;
}

int target_connect(const struct target *target)
{
    int fd = socket(target->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -1;
    }
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (connect(fd, (const struct sockaddr *)&target->address, target->address_len) != 0) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

/* The value of a header of a request that target_add_request() made. */
static struct str header_value(struct str request, const char *name)
{
    const char *at = memmem(request.data, request.len, name, strlen(name));
    assert(at != NULL);
    struct str rest = str_skip(request, (size_t)(at - request.data) + strlen(name));
    const char *end = memchr(rest.data, '\r', rest.len);
    return str_make(rest.data, (size_t)(end - rest.data));
}

void target_sign(const struct target *target, struct buf *request)
{
    if (target->auth != TARGET_AUTH_SIGN) {
        return;
    }
    struct str text = buf_str(request);
    struct str operation = header_value(text, "\r\nX-Amz-Target: ");
    struct str authorization = header_value(text, "\r\nAuthorization: ");
    const char *body = (const char *)memmem(text.data, text.len, "\r\n\r\n", 4) + 4;
    char hash[SIGV4_HEX_LEN];
    sigv4_hash(str_skip(text, (size_t)(body - text.data)), hash);
    char scope[SIGV4_DAY_LEN + sizeof(SCOPE_REST)];
    snprintf(scope, sizeof(scope), "%.*s" SCOPE_REST, SIGV4_DAY_LEN, target->time);
    char canonical[1024];
    int len = snprintf(
        canonical, sizeof(canonical),
        "POST\n%.*s\n\nhost:%.*s\nx-amz-date:%s\nx-amz-target:%.*s\n\n" SIGNED_HEADERS "\n%.*s",
        STR_ARG(target->path), STR_ARG(target->authority), target->time, STR_ARG(operation),
        SIGV4_HEX_LEN, hash);
    assert(len > 0 && (size_t)len < sizeof(canonical));
    char *signature = (char *)authorization.data + authorization.len - SIGV4_HEX_LEN;
    sigv4_make_signature(target->key, str_from_c(target->time), str_from_c(scope),
                         str_make(canonical, (size_t)len), signature);
}

static void add_authorization(const struct target *target, struct buf *out)
{
    static const char zeros[] = "0000000000000000000000000000000000000000000000000000000000000000";
    bool signs = target->auth == TARGET_AUTH_SIGN;
    const char *time = signs ? target->time : "20250101T000000Z";
    buf_format(out,
               "X-Amz-Date: %s\r\nAuthorization: AWS4-HMAC-SHA256 Credential=%s/%.*s" SCOPE_REST
               ", SignedHeaders=" SIGNED_HEADERS ", Signature=%s\r\n",
               time, signs ? target->access_key_id : "bench", SIGV4_DAY_LEN, time, zeros);
}

void target_add_request(const struct target *target, struct str operation, struct str body,
                        bool keep_alive, struct buf *out)
{
    assert(out->len == 0);
    buf_format(out,
               "POST %.*s HTTP/1.1\r\n"
               "Host: %.*s\r\n"
               "X-Amz-Target: DynamoDB_20120810.%.*s\r\n"
               "Content-Type: application/x-amz-json-1.0\r\n",
               STR_ARG(target->path), STR_ARG(target->authority), STR_ARG(operation));
    if (target->auth != TARGET_AUTH_NONE) {
        add_authorization(target, out);
    }
    if (!keep_alive) {
        buf_format(out, "Connection: close\r\n");
    }
    buf_format(out, "Content-Length: %zu\r\n\r\n", body.len);
    buf_add(out, body);
    target_sign(target, out);
}

/* A blocking connection. */
struct call {
    int fd;
    SSL *ssl; /* NULL: plain */
};

static ssize_t send_some(struct call *call, struct str bytes)
{
    size_t sent = 0;
    if (call->ssl == NULL) {
        return send(call->fd, bytes.data, bytes.len, MSG_NOSIGNAL);
    }
    return SSL_write_ex(call->ssl, bytes.data, bytes.len, &sent) == 1 ? (ssize_t)sent : 0;
}

static bool send_all(struct call *call, struct str bytes)
{
    while (bytes.len > 0) {
        ssize_t sent = send_some(call, bytes);
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent <= 0) {
            return false;
        }
        bytes = str_skip(bytes, (size_t)sent);
    }
    return true;
}

static ssize_t receive_some(struct call *call, char *to, size_t size)
{
    size_t got = 0;
    if (call->ssl == NULL) {
        return recv(call->fd, to, size, 0);
    }
    if (SSL_read_ex(call->ssl, to, size, &got) == 1) {
        return (ssize_t)got;
    }
    return SSL_get_error(call->ssl, 0) == SSL_ERROR_ZERO_RETURN ? 0 : -1;
}

static bool receive_all(struct call *call, struct buf *out)
{
    for (;;) {
        ssize_t got = receive_some(call, buf_reserve(out, 65536), 65536);
        if (got < 0 && call->ssl == NULL && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return got == 0;
        }
        buf_added(out, (size_t)got);
    }
}

static bool send_and_receive(const struct target *target, struct str request, struct buf *out)
{
    struct call call = {.fd = target_connect(target)};
    if (call.fd < 0) {
        return false;
    }
    struct timeval timeout = {.tv_sec = CALL_TIMEOUT_SECONDS};
    setsockopt(call.fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
    call.ssl = target->tls != NULL ? target_start_tls(target, call.fd) : NULL;
    bool good = (target->tls == NULL || call.ssl != NULL) && send_all(&call, request) &&
                receive_all(&call, out);
    int error = errno;
    SSL_free(call.ssl);
    close(call.fd);
    errno = error;
    return good;
}

bool target_call(const struct target *target, struct str operation, struct str body,
                 struct arena *arena, int *out_status, struct str *out_answer, struct err *err)
{
    struct buf request = {0};
    struct buf answer = {0};
    target_add_request(target, operation, body, false, &request);
    bool good = send_and_receive(target, buf_str(&request), &answer);
    int64_t status = 0;
    if (!good) {
        err_set(err, ERR_INTERNAL, "%.*s does not answer: %s", STR_ARG(target->authority),
                strerror(errno));
    } else if (answer.len < 12 || !str_to_int64(str_make(answer.data + 9, 3), &status)) {
        good =
            err_set(err, ERR_INTERNAL, "%.*s: this is no HTTP server", STR_ARG(target->authority));
    } else {
        *out_status = (int)status;
        *out_answer = arena_copy(arena, buf_str(&answer));
    }
    buf_finish(&answer);
    buf_finish(&request);
    return good;
}
