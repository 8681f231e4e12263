/* A small HTTP client on blocking connections. Runs on the main thread of commands. */
#include "cli/http_client.h"

enum { ANSWER_BYTES_MAX = 64 << 20 };

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

static void add_request(struct buf *out, const struct sigv4_request *request,
                        struct str authorization)
{
    buf_add(out, STR("POST / HTTP/1.1\r\n"));
    for (size_t i = 0; i < request->header_count; i++) {
        buf_format(out, "%.*s: %.*s\r\n", STR_ARG(request->headers[i].name),
                   STR_ARG(request->headers[i].value));
    }
    buf_format(out, "Authorization: %.*s\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n",
               STR_ARG(authorization), request->body.len);
    buf_add(out, request->body);
}

bool http_post(const struct address *address, const struct sigv4_request *request,
               struct str authorization, int *out_status, struct buf *out, struct err *err)
{
    struct connection *connection;
    if (!connection_open(address, &connection, err)) {
        return false;
    }
    struct buf bytes = {0};
    add_request(&bytes, request, authorization);
    struct buf answer = {0};
    bool good = connection_send(connection, buf_str(&bytes)) &&
                connection_read_all(connection, ANSWER_BYTES_MAX, &answer) &&
                read_answer(buf_str(&answer), out_status, out);
    connection_close(connection);
    buf_finish(&bytes);
    buf_finish(&answer);
    return good ||
           err_set(err, ERR_VALIDATION, "%.*s gave no answer", STR_ARG(address->host_header));
}
