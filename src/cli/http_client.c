/* A small HTTP client on blocking sockets. Runs on the main thread of commands. */
#include "cli/http_client.h"

#include <errno.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { TIMEOUT_SECONDS = 30, ANSWER_BYTES_MAX = 64 << 20 };

bool http_address_parse(struct arena *arena, struct str url, struct http_address *out,
                        struct err *err)
{
    *out = (struct http_address){0};
    struct str rest = url;
    if (!str_starts_with(url, STR("http://"))) {
        return err_set(err, ERR_VALIDATION, "an endpoint is http://HOST:PORT, not '%.*s'",
                       STR_ARG(url));
    }
    rest = str_skip(url, STR("http://").len);
    while (rest.len > 0 && rest.data[rest.len - 1] == '/') {
        rest.len--;
    }
    out->host_header = arena_copy(arena, rest);
    size_t colon = rest.len;
    while (colon > 0 && rest.data[colon - 1] != ':' && rest.data[colon - 1] != ']') {
        colon--;
    }
    bool has_port = colon > 0 && rest.data[colon - 1] == ':';
    struct str host = has_port ? str_make(rest.data, colon - 1) : rest;
    out->port = has_port ? arena_copy_c(arena, str_skip(rest, colon)) : STR("80");
    if (host.len >= 2 && host.data[0] == '[') {
        host = str_make(host.data + 1, host.len - 2);
    }
    out->host = arena_copy_c(arena, host);
    return host.len > 0 || err_set(err, ERR_VALIDATION, "'%.*s' names no host", STR_ARG(url));
}

/* A connected socket, or -1. */
static int connect_to(const struct http_address *address, struct err *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    int result = getaddrinfo(address->host.data, address->port.data, &hints, &found);
    if (result != 0) {
        err_set(err, ERR_VALIDATION, "cannot find %.*s: %s", STR_ARG(address->host_header),
                gai_strerror(result));
        return -1;
    }
    int fd = -1;
    for (struct addrinfo *at = found; at != NULL && fd < 0; at = at->ai_next) {
        fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
        if (fd >= 0 && connect(fd, at->ai_addr, at->ai_addrlen) != 0) {
            int reason = errno;
            close(fd);
            errno = reason;
            fd = -1;
        }
    }
    freeaddrinfo(found);
    if (fd < 0) {
        err_set(err, ERR_VALIDATION, "cannot connect to %.*s: %s", STR_ARG(address->host_header),
                strerror(errno));
        return -1;
    }
    struct timeval timeout = {.tv_sec = TIMEOUT_SECONDS};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
    return fd;
}

static bool send_all(int fd, struct str bytes)
{
    while (bytes.len > 0) {
        ssize_t count = send(fd, bytes.data, bytes.len, MSG_NOSIGNAL);
        if (count <= 0) {
            return false;
        }
        bytes = str_skip(bytes, (size_t)count);
    }
    return true;
}

/* Until the server closes the connection. */
static bool read_all(int fd, struct buf *out)
{
    ssize_t count;
    do {
        count = recv(fd, buf_reserve(out, 16384), 16384, 0);
        buf_added(out, count > 0 ? (size_t)count : 0);
    } while (count > 0 && out->len < ANSWER_BYTES_MAX);
    return count == 0;
}

static bool read_answer(struct str answer, int *out_status, struct buf *out)
{
    static const struct str begin = {"HTTP/1.1 ", 9};
    int64_t status;
    const char *end = memmem(answer.data, answer.len, "\r\n\r\n", 4);
    if (end == NULL || !str_starts_with(answer, begin) || answer.len < begin.len + 3 ||
        !str_to_int64(str_make(answer.data + begin.len, 3), &status)) {
        return false;
    }
    *out_status = (int)status;
    buf_add(out, str_skip(answer, (size_t)(end - answer.data) + 4));
    return true;
}

bool http_post(const struct http_address *address, const struct sigv4_header *headers,
               size_t header_count, struct str authorization, struct str body, int *out_status,
               struct buf *out, struct err *err)
{
    int fd = connect_to(address, err);
    if (fd < 0) {
        return false;
    }
    struct buf request = {0};
    buf_add(&request, STR("POST / HTTP/1.1\r\n"));
    for (size_t i = 0; i < header_count; i++) {
        buf_format(&request, "%.*s: %.*s\r\n", STR_ARG(headers[i].name), STR_ARG(headers[i].value));
    }
    buf_format(&request, "Authorization: %.*s\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n",
               STR_ARG(authorization), body.len);
    buf_add(&request, body);
    struct buf answer = {0};
    bool good = send_all(fd, buf_str(&request)) && read_all(fd, &answer) &&
                read_answer(buf_str(&answer), out_status, out);
    close(fd);
    buf_finish(&request);
    buf_finish(&answer);
    return good ||
           err_set(err, ERR_VALIDATION, "%.*s gave no answer", STR_ARG(address->host_header));
}
