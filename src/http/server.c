/* Opens and closes: sockets, loops, threads. */
#include "http/http_internal.h"

#include <unistd.h>

#include "base/mem.h"

struct http_options http_options_default(void)
{
    return (struct http_options){
        .host = STR("127.0.0.1"),
        .port = 8000,
        .thread_count = (int)uv_available_parallelism(),
        .slow_thread_count = 4,
        .body_bytes_max = (size_t)16 * 1024 * 1024,
        .head_bytes_max = (size_t)16 * 1024,
        .connections_max = 10000,
        .idle_timeout_ms = 60 * 1000,
        .request_timeout_ms = 30 * 1000,
        .send_timeout_ms = 30 * 1000,
        .rate_bytes_min = 1024,
        .compress_bytes_min = 4096,
        .server_name = STR("Gramme"),
    };
}

/* STR_NULL stays so. */
static struct str copy_text(struct str s)
{
    if (str_is_null(s)) {
        return s;
    }
    char *copy = mem_alloc(s.len + 1);
    memcpy(copy, s.data, s.len);
    copy[s.len] = '\0';
    return str_make(copy, s.len);
}

static bool open_loops(struct http_server *server, struct err *err)
{
    int count = server->options.thread_count;
    int *fds = mem_alloc(sizeof(*fds) * (size_t)count);
    struct listen_sockets sockets = {.fds = fds};
    bool ok = listen_bind(&server->options, &sockets, err);
    for (int i = 0; ok && i < count; i++) {
        ok = loop_open(&server->loops[i], server, i, fds[i], err); /* takes the socket */
        for (int rest = i + 1; !ok && rest < count; rest++) {
            close(fds[rest]);
        }
    }
    server->port = sockets.port;
    mem_free(fds);
    return ok;
}

static bool start_loops(struct http_server *server, struct err *err)
{
    for (int i = 0; i < server->options.thread_count; i++) {
        if (!loop_start(&server->loops[i], err)) {
            return false;
        }
    }
    return true;
}

bool http_server_open(const struct http_options *options, http_handler *handler, void *context,
                      struct http_server **out, struct err *err)
{
    assert(options->thread_count > 0);
    struct http_server *server = mem_zalloc(sizeof(*server));
    server->options = *options;
    server->options.host = copy_text(options->host);
    server->options.server_name = copy_text(options->server_name);
    server->options.busy.content_type = copy_text(options->busy.content_type);
    server->options.busy.body = copy_text(options->busy.body);
    server->options.busy.crc32_header = copy_text(options->busy.crc32_header);
    server->busy = answer_busy_text(options);
    server->handler = handler;
    server->context = context;
    server->loops = mem_zalloc(sizeof(*server->loops) * (size_t)options->thread_count);
    if (!open_loops(server, err) || !slow_open(server, err) || !start_loops(server, err)) {
        http_server_close(server, 0);
        return false;
    }
    *out = server;
    return true;
}

int http_server_port(const struct http_server *server)
{
    return server->port;
}

int http_server_connection_count(const struct http_server *server)
{
    return atomic_load_explicit(&server->connection_count, memory_order_relaxed);
}

void http_server_close(struct http_server *server, int grace_ms)
{
    if (server == NULL) {
        return;
    }
    server->grace_ms = grace_ms;
    for (int i = 0; i < server->options.thread_count; i++) { /* all at once, then wait for each */
        loop_stop(&server->loops[i]);
    }
    for (int i = 0; i < server->options.thread_count; i++) {
        loop_close(&server->loops[i]);
    }
    slow_close(server->slow);
    mem_free(server->loops);
    mem_free((char *)server->options.host.data);
    mem_free((char *)server->options.server_name.data);
    mem_free((char *)server->options.busy.content_type.data);
    mem_free((char *)server->options.busy.body.data);
    mem_free((char *)server->options.busy.crc32_header.data);
    mem_free((char *)server->busy.data);
    mem_free(server);
}
