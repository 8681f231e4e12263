/* The server that is measured: its address, and single blocking calls to it. */
#include "bench/target_internal.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

enum { CALL_TIMEOUT_SECONDS = 120 };

/* Reads HOST, HOST:PORT or [IPv6]:PORT. */
static void split_authority(struct str authority, struct str *out_host, struct str *out_port)
{
    *out_host = authority;
    *out_port = STR("80");
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

bool target_init(struct target *target, struct str url, bool auth, struct err *err)
{
    static const char scheme[] = "http://";
    if (!str_starts_with(url, STR(scheme)) || url.len == sizeof(scheme) - 1) {
        return err_set(err, ERR_VALIDATION, "the endpoint '%.*s' is not http://HOST:PORT",
                       STR_ARG(url));
    }
    struct str rest = str_skip(url, sizeof(scheme) - 1);
    const char *slash = memchr(rest.data, '/', rest.len);
    size_t len = slash == NULL ? rest.len : (size_t)(slash - rest.data);
    *target = (struct target){.authority = str_make(rest.data, len), .auth = auth};
    target->path = slash == NULL ? STR("/") : str_skip(rest, len);
    struct str host;
    struct str port;
    split_authority(target->authority, &host, &port);
    return resolve(target, host, port, err);
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

void target_add_request(const struct target *target, struct str operation, struct str body,
                        bool keep_alive, struct buf *out)
{
    buf_format(out,
               "POST %.*s HTTP/1.1\r\n"
               "Host: %.*s\r\n"
               "X-Amz-Target: DynamoDB_20120810.%.*s\r\n"
               "Content-Type: application/x-amz-json-1.0\r\n",
               STR_ARG(target->path), STR_ARG(target->authority), STR_ARG(operation));
    if (target->auth) {
        buf_format(out, "X-Amz-Date: 20250101T000000Z\r\n"
                        "Authorization: AWS4-HMAC-SHA256 "
                        "Credential=bench/20250101/us-east-1/dynamodb/aws4_request, "
                        "SignedHeaders=host;x-amz-date;x-amz-target, Signature="
                        "0000000000000000000000000000000000000000000000000000000000000000\r\n");
    }
    if (!keep_alive) {
        buf_format(out, "Connection: close\r\n");
    }
    buf_format(out, "Content-Length: %zu\r\n\r\n", body.len);
    buf_add(out, body);
}

static bool send_all(int fd, struct str bytes)
{
    while (bytes.len > 0) {
        ssize_t sent = send(fd, bytes.data, bytes.len, MSG_NOSIGNAL);
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

static bool receive_all(int fd, struct buf *out)
{
    for (;;) {
        ssize_t got = recv(fd, buf_reserve(out, 65536), 65536, 0);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return got == 0;
        }
        buf_added(out, (size_t)got);
    }
}

static bool exchange(const struct target *target, struct str request, struct buf *out)
{
    int fd = target_connect(target);
    if (fd < 0) {
        return false;
    }
    struct timeval timeout = {.tv_sec = CALL_TIMEOUT_SECONDS};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
    bool good = send_all(fd, request) && receive_all(fd, out);
    int error = errno;
    close(fd);
    errno = error;
    return good;
}

bool target_call(const struct target *target, struct str operation, struct str body,
                 struct arena *arena, int *out_status, struct str *out_answer, struct err *err)
{
    struct buf request = {0};
    struct buf answer = {0};
    target_add_request(target, operation, body, false, &request);
    bool good = exchange(target, buf_str(&request), &answer);
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
