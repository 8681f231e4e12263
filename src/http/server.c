/* Opens and closes a server: sockets, loops, threads. On the caller's thread. */
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
        .handshake_timeout_ms = 10 * 1000,
        .rate_bytes_min = 1024,
        .compress_bytes_min = 4096,
        .server_name = STR("Gramme"),
    };
}

/* Copies a text; STR_NULL stays STR_NULL. */
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

/* Binds a listener, with one socket for each loop. */
static bool open_listener(struct http_server *server, int number, struct err *err)
{
    const struct http_listener *listener = &server->options.listeners[number];
    int count = server->options.thread_count;
    int *fds = mem_alloc(sizeof(*fds) * (size_t)count);
    struct listen_sockets sockets = {.fds = fds, .count = count};
    bool ok = listen_bind(listener, &sockets, err);
    for (int i = 0; ok && i < count; i++) {
        ok = loop_listen(&server->loops[i], fds[i], listener->is_secure, err);
        for (int rest = i + 1; !ok && rest < count; rest++) {
            close(fds[rest]);
        }
    }
    server->ports[number] = sockets.port;
    mem_free(fds);
    return ok;
}

static bool open_loops(struct http_server *server, struct err *err)
{
    bool ok = true;
    for (int i = 0; ok && i < server->options.thread_count; i++) {
        ok = loop_open(&server->loops[i], server, i, err);
    }
    for (int i = 0; ok && i < server->options.listener_count; i++) {
        ok = open_listener(server, i, err);
    }
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

/* Replaces host and port by a listener if there is none, and copies the texts. */
static void copy_listeners(struct http_options *options)
{
    assert(options->listener_count <= HTTP_LISTENERS_MAX);
    if (options->listener_count == 0) {
        options->listeners[0] =
            (struct http_listener){.host = options->host, .port = options->port};
        options->listener_count = 1;
    }
    for (int i = 0; i < options->listener_count; i++) {
        options->listeners[i].host = copy_text(options->listeners[i].host);
    }
    options->host = options->listeners[0].host;
}

static bool is_secure(const struct http_server *server)
{
    bool secure = false;
    for (int i = 0; i < server->options.listener_count; i++) {
        secure = secure || server->options.listeners[i].is_secure;
    }
    return secure;
}

bool http_server_open_tls(const struct http_options *options, struct http_tls *tls,
                          http_handler *handler, void *context, struct http_server **out,
                          struct err *err)
{
    assert(options->thread_count > 0);
    struct http_server *server = mem_zalloc(sizeof(*server));
    server->options = *options;
    copy_listeners(&server->options);
    pthread_mutex_init(&server->tls_mutex, NULL);
    server->tls = tls;
    assert(tls != NULL || !is_secure(server));
    server->options.server_name = copy_text(options->server_name);
    server->options.busy.content_type = copy_text(options->busy.content_type);
    server->options.busy.body = copy_text(options->busy.body);
    server->options.busy.crc32_header = copy_text(options->busy.crc32_header);
    server->busy = answer_busy_text(options);
    server->handler = handler;
    server->context = context;
    server->loops = mem_zalloc(sizeof(*server->loops) * (size_t)options->thread_count);
    if (!open_loops(server, err) || !slow_open(server, err) ||
        (is_secure(server) && !handshake_open(server, err)) || !start_loops(server, err)) {
        http_server_close(server, 0);
        return false;
    }
    *out = server;
    return true;
}

bool http_server_open(const struct http_options *options, http_handler *handler, void *context,
                      struct http_server **out, struct err *err)
{
    return http_server_open_tls(options, NULL, handler, context, out, err);
}

int http_server_port(const struct http_server *server)
{
    return http_server_listener_port(server, 0);
}

int http_server_listener_port(const struct http_server *server, int number)
{
    assert(number >= 0 && number < server->options.listener_count);
    return server->ports[number];
}

/* On the loop's thread. */
static void give_life_sign(struct task *task)
{
    struct loop *loop = CONTAINER_OF(task, struct loop, life_sign);
    atomic_store(&loop->life_sign_is_wanted, false);
}

bool http_server_is_alive(struct http_server *server)
{
    bool is_alive = true;
    for (int i = 0; i < server->options.thread_count; i++) {
        struct loop *loop = &server->loops[i];
        if (atomic_exchange(&loop->life_sign_is_wanted, true)) {
            is_alive = false;
        } else {
            loop->life_sign.run = give_life_sign;
            mailbox_post(&loop->mailbox, &loop->life_sign);
        }
    }
    return is_alive;
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
    handshake_close(server->handshakes);
    http_tls_destroy(server->tls);
    pthread_mutex_destroy(&server->tls_mutex);
    mem_free(server->loops);
    for (int i = 0; i < server->options.listener_count; i++) {
        mem_free((char *)server->options.listeners[i].host.data);
    }
    mem_free((char *)server->options.server_name.data);
    mem_free((char *)server->options.busy.content_type.data);
    mem_free((char *)server->options.busy.body.data);
    mem_free((char *)server->options.busy.crc32_header.data);
    mem_free((char *)server->busy.data);
    mem_free(server);
}
