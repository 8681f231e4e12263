/* The server and the client that the tests of this folder use: see server_testing.h. */
#include "http/server_testing.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"

/* An exchange on its way to being answered. In the exchange's arena. */
struct work {
    struct task task;
    struct testing_server *testing;
    struct http_exchange *exchange;
    struct str rest; /* of the body, yet to be written */
    struct work *next;
};

static void reply(struct http_exchange *exchange, int status, struct str body)
{
    buf_add(exchange->out, body);
    struct http_answer answer = {.status = status, .content_type = STR("text/plain")};
    http_reply(exchange, &answer);
}

static void answer_work(struct task *task)
{
    struct work *work = CONTAINER_OF(task, struct work, task);
    reply(work->exchange, 200, work->rest);
}

/* On the worker: back to where it came from. */
static void return_work(struct task *task)
{
    struct work *work = CONTAINER_OF(task, struct work, task);
    work->task.run = answer_work;
    mailbox_post(work->exchange->mailbox, &work->task);
}

static struct work *work_create(struct testing_server *testing, struct http_exchange *exchange)
{
    struct work *work = ARENA_NEW(exchange->arena, struct work);
    work->testing = testing;
    work->exchange = exchange;
    work->rest = exchange->body;
    return work;
}

static void answer_later(struct testing_server *testing, struct http_exchange *exchange,
                         size_t written)
{
    struct work *work = work_create(testing, exchange);
    buf_add(exchange->out, str_make(exchange->body.data, written));
    work->rest = str_skip(exchange->body, written);
    work->task.run = return_work;
    mailbox_post(waiting_mailbox_box(testing->worker_mailbox), &work->task);
}

static void hold(struct testing_server *testing, struct http_exchange *exchange)
{
    struct work *work = work_create(testing, exchange);
    work->task.run = answer_work;
    pthread_mutex_lock(&testing->mutex);
    work->next = testing->held;
    testing->held = work;
    testing->held_count++;
    pthread_mutex_unlock(&testing->mutex);
}

static void hold_on_slow_thread(void *context, struct http_exchange *exchange)
{
    hold(context, exchange);
}

static void block(void *context, struct http_exchange *exchange)
{
    struct testing_server *testing = context;
    pthread_mutex_lock(&testing->mutex);
    testing->held_count++;
    while (!testing->is_unblocked) {
        pthread_cond_wait(&testing->unblocked, &testing->mutex);
    }
    testing->held_count--;
    pthread_mutex_unlock(&testing->mutex);
    reply(exchange, 200, exchange->body);
}

void testing_unblock(struct testing_server *testing)
{
    pthread_mutex_lock(&testing->mutex);
    testing->is_unblocked = true;
    pthread_cond_broadcast(&testing->unblocked);
    pthread_mutex_unlock(&testing->mutex);
}

static void answer_size(struct http_exchange *exchange, struct http_answer *answer)
{
    const char *slash = memrchr(exchange->target.data, '/', exchange->target.len);
    int64_t size = 0;
    size_t start = (size_t)(slash - exchange->target.data) + 1;
    bool is_number = str_to_int64(str_skip(exchange->target, start), &size);
    assert(is_number);
    for (int64_t i = 0; i < size; i++) {
        buf_add_char(exchange->out, (char)('a' + i % 26));
    }
    answer->status = 200;
    http_reply(exchange, answer);
}

static void answer_otherwise(struct http_exchange *exchange)
{
    struct str text = arena_format(exchange->arena, "%.*s %.*s", STR_ARG(exchange->method),
                                   STR_ARG(exchange->target));
    reply(exchange, 404, text);
}

static void answer_long_header(struct http_exchange *exchange)
{
    struct str spaces = arena_format(exchange->arena, "X-Long: %5000d\r\n", 7);
    buf_add(exchange->out, exchange->body);
    struct http_answer answer = {.status = 200, .headers = spaces};
    http_reply(exchange, &answer);
}

struct counted_hold {
    struct http_hold http;
    struct testing_server *testing;
};

static void release_hold(struct http_hold *http)
{
    struct counted_hold *hold = CONTAINER_OF(http, struct counted_hold, http);
    atomic_fetch_sub(&hold->testing->hold_count, 1);
    mem_free(hold);
}

static void add_hold(struct testing_server *testing, struct http_exchange *exchange)
{
    assert(exchange->hold == NULL);
    struct counted_hold *hold = mem_alloc(sizeof(*hold));
    *hold = (struct counted_hold){.http.release = release_hold, .testing = testing};
    atomic_fetch_add(&testing->hold_count, 1);
    exchange->hold = &hold->http;
}

static void handle(void *context, struct http_exchange *exchange)
{
    struct testing_server *testing = context;
    struct str target = exchange->target;
    struct http_answer answer = {.status = 204};
    if (atomic_fetch_add(&testing->call_count, 1) % 2 == 0 && !str_eq(target, STR("/exclusive"))) {
        add_hold(testing, exchange);
    }
    if (str_eq(target, STR("/echo"))) {
        reply(exchange, 200, exchange->body);
    } else if (str_eq(target, STR("/later"))) {
        answer_later(testing, exchange, 0);
    } else if (str_eq(target, STR("/split"))) {
        answer_later(testing, exchange, exchange->body.len / 2);
    } else if (str_eq(target, STR("/hold"))) {
        hold(testing, exchange);
    } else if (str_eq(target, STR("/slow"))) {
        http_run_slowly(exchange, hold_on_slow_thread, testing);
    } else if (str_eq(target, STR("/block"))) {
        http_run_slowly(exchange, block, testing);
    } else if (str_eq(target, STR("/stall"))) {
        block(testing, exchange);
    } else if (str_starts_with(target, STR("/size/"))) {
        answer_size(exchange, &answer);
    } else if (str_starts_with(target, STR("/coded/"))) {
        answer.is_coded = true;
        answer_size(exchange, &answer);
    } else if (str_starts_with(target, STR("/crc/"))) {
        answer.crc32_header = STR("x-amz-crc32");
        answer_size(exchange, &answer);
    } else if (str_eq(target, STR("/none"))) {
        http_reply(exchange, &answer);
    } else if (str_eq(target, STR("/exclusive"))) {
        reply(exchange, 200, exchange->out_is_exclusive ? STR("yes") : STR("no"));
    } else if (str_eq(target, STR("/header"))) {
        reply(exchange, 200, http_header(exchange, STR("x-test")));
    } else if (str_eq(target, STR("/close"))) {
        answer = (struct http_answer){.status = 200, .close = true};
        buf_add(exchange->out, exchange->body);
        http_reply(exchange, &answer);
    } else if (str_eq(target, STR("/long"))) {
        answer_long_header(exchange);
    } else {
        answer_otherwise(exchange);
    }
}

static void *work_main(void *argument)
{
    struct testing_server *testing = argument;
    waiting_mailbox_run(testing->worker_mailbox, &testing->worker_is_done);
    return NULL;
}

static void end_worker(struct task *task)
{
    CONTAINER_OF(task, struct testing_server, worker_end)->worker_is_done = true;
}

struct http_options testing_options(void)
{
    struct http_options options = http_options_default();
    options.port = 0;
    options.thread_count = 1;
    options.body_bytes_max = 1000000;
    options.head_bytes_max = 1000;
    options.connections_max = 1000;
    options.idle_timeout_ms = 60000;
    options.request_timeout_ms = 60000;
    options.send_timeout_ms = 60000;
    return options;
}

void testing_open(struct testing_server *testing, const struct http_options *options)
{
    memset(testing, 0, sizeof(*testing));
    arena_init(&testing->arena);
    pthread_mutex_init(&testing->mutex, NULL);
    pthread_cond_init(&testing->unblocked, NULL);
    signal(SIGPIPE,
           SIG_IGN); /* OpenSSL, as a client, writes to sockets that the server has closed */
    testing->worker_mailbox = waiting_mailbox_create();
    testing->worker_end.run = end_worker;
    assert_int_equal(pthread_create(&testing->worker, NULL, work_main, testing), 0);
    struct err err = ERR_INIT(&testing->arena);
    if (!testing_open_server(options, handle, testing, &testing->server, &err)) {
        fail_msg("%.*s", STR_ARG(err.message));
    }
    testing->port = http_server_port(testing->server);
}

void testing_release(struct testing_server *testing)
{
    pthread_mutex_lock(&testing->mutex);
    struct work *work = testing->held;
    testing->held = NULL;
    testing->held_count = 0;
    pthread_mutex_unlock(&testing->mutex);
    while (work != NULL) {
        struct work *next = work->next; /* the post may be answered, and freed, at once */
        mailbox_post(work->exchange->mailbox, &work->task);
        work = next;
    }
}

void testing_close(struct testing_server *testing)
{
    testing_release(testing);
    http_server_close(testing->server, 5000);
    assert_int_equal(testing->hold_count, 0);
    mailbox_post(waiting_mailbox_box(testing->worker_mailbox), &testing->worker_end);
    pthread_join(testing->worker, NULL);
    waiting_mailbox_destroy(testing->worker_mailbox);
    pthread_cond_destroy(&testing->unblocked);
    pthread_mutex_destroy(&testing->mutex);
    arena_finish(&testing->arena);
}

static void pause_briefly(int *turns)
{
    struct timespec pause = {.tv_nsec = 1000000};
    nanosleep(&pause, NULL);
    if (++*turns > 20000) {
        fail_msg("the condition does not come true");
    }
}

void testing_wait_held(struct testing_server *testing, int count)
{
    int turns = 0;
    for (;;) {
        pthread_mutex_lock(&testing->mutex);
        int held = testing->held_count;
        pthread_mutex_unlock(&testing->mutex);
        if (held == count) {
            return;
        }
        pause_briefly(&turns);
    }
}

void testing_wait_calls(struct testing_server *testing, int count)
{
    int turns = 0;
    while (atomic_load(&testing->call_count) != count) {
        pause_briefly(&turns);
    }
}

void testing_wait_calm(struct testing_server *testing)
{
    int turns = 0;
    int calls = 0;
    for (int calm = 0; calm < 50; calm++) {
        if (atomic_load(&testing->call_count) != calls) {
            calls = atomic_load(&testing->call_count);
            calm = 0;
        }
        pause_briefly(&turns);
    }
}

void testing_wait_connections(struct testing_server *testing, int count)
{
    int turns = 0;
    while (http_server_connection_count(testing->server) != count) {
        pause_briefly(&turns);
    }
}

static bool connect_socket(int fd, int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    return connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
}

int testing_connect(const struct testing_server *testing)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0 && connect_socket(fd, testing->port));
    return fd;
}

bool client_try_open(struct client *client, int port)
{
    memset(client, 0, sizeof(*client));
    client->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(client->fd >= 0);
    struct timeval patience = {.tv_sec = 20};
    int one = 1;
    setsockopt(client->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(client->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    bool good = connect_socket(client->fd, port);
    client->ssl = good && TESTING_TLS ? testing_tls_connect(client->fd) : NULL;
    pthread_mutex_init(&client->ssl_mutex, NULL);
    return good;
}

void client_open(struct client *client, int port)
{
    assert_true(client_try_open(client, port));
}

void client_close(struct client *client)
{
    SSL_free(client->ssl);
    pthread_mutex_destroy(&client->ssl_mutex);
    close(client->fd);
    buf_finish(&client->in);
}

void client_abort(struct client *client)
{
    struct linger none = {.l_onoff = 1, .l_linger = 0};
    setsockopt(client->fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
    client_close(client);
}

/* Whether an SSL function is to be called again: waits until the socket is ready for it. The SSL is
 * not locked meanwhile. */
static bool wait_for_ssl(const struct client *client, int reason)
{
    enum { PATIENCE_MS = 20000 };
    bool is_read = reason == SSL_ERROR_WANT_READ;
    struct pollfd poll_fd = {.fd = client->fd, .events = is_read ? POLLIN : POLLOUT};
    return (is_read || reason == SSL_ERROR_WANT_WRITE) && poll(&poll_fd, 1, PATIENCE_MS) > 0;
}

/* How many were sent; -1: the connection is lost. */
static ssize_t send_some(struct client *client, struct str text)
{
    if (!TESTING_TLS) {
        return send(client->fd, text.data, text.len, MSG_NOSIGNAL);
    }
    size_t sent = 0;
    int reason = SSL_ERROR_SSL;
    do {
        pthread_mutex_lock(&client->ssl_mutex);
        ERR_clear_error();
        bool good =
            client->ssl != NULL && SSL_write_ex(client->ssl, text.data, text.len, &sent) == 1;
        reason = good || client->ssl == NULL ? SSL_ERROR_NONE : SSL_get_error(client->ssl, 0);
        pthread_mutex_unlock(&client->ssl_mutex);
    } while (wait_for_ssl(client, reason));
    return sent > 0 ? (ssize_t)sent : -1;
}

void client_send(struct client *client, struct str text)
{
    while (text.len > 0) {
        ssize_t sent = send_some(client, text);
        assert_true(sent > 0);
        text = str_skip(text, (size_t)sent);
    }
}

void client_send_fill(struct client *client, size_t count)
{
    char fill[4096];
    memset(fill, 'x', sizeof(fill));
    for (size_t sent = 0; sent < count; sent += sizeof(fill)) {
        if (send_some(client, str_make(fill, MIN(sizeof(fill), count - sent))) < 0) {
            return;
        }
    }
}

void client_request(struct client *client, const char *target, const char *body)
{
    struct buf text = {0};
    buf_format(&text, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n\r\n%s",
               target, strlen(body), body);
    client_send(client, buf_str(&text));
    buf_finish(&text);
}

/* How many came; 0: the end; -1: an error. */
static ssize_t receive_some(struct client *client, char *to, size_t size)
{
    size_t got = 0;
    if (!TESTING_TLS) {
        return recv(client->fd, to, size, 0);
    }
    if (client->ssl == NULL) {
        return 0;
    }
    int reason;
    do {
        pthread_mutex_lock(&client->ssl_mutex);
        ERR_clear_error();
        reason = SSL_read_ex(client->ssl, to, size, &got) == 1 ? SSL_ERROR_NONE
                                                               : SSL_get_error(client->ssl, 0);
        pthread_mutex_unlock(&client->ssl_mutex);
    } while (wait_for_ssl(client, reason));
    bool is_end = reason == SSL_ERROR_NONE || reason == SSL_ERROR_ZERO_RETURN;
    return is_end ? (ssize_t)got : -1;
}

void client_receive_some(struct client *client, size_t bytes_max)
{
    ssize_t count = receive_some(client, buf_reserve(&client->in, bytes_max), bytes_max);
    if (count < 0) {
        fail_msg("recv: %s", strerror(errno));
    }
    buf_added(&client->in, (size_t)count);
}

/* More bytes, or the end: false. */
static bool receive(struct client *client)
{
    size_t before = client->in.len;
    client_receive_some(client, 65536);
    return client->in.len > before;
}

static void need(struct client *client, size_t len)
{
    while (client->in.len - client->at < len) {
        if (!receive(client)) {
            fail_msg("the connection ended inside an answer: \"%.*s\"",
                     STR_ARG(str_skip(buf_str(&client->in), client->at)));
        }
    }
}

void client_read_head(struct client *client)
{
    if (client->at > 0) {
        memmove(client->in.data, client->in.data + client->at, client->in.len - client->at);
        client->in.len -= client->at;
        client->at = 0;
    }
    need(client, 1);
    const char *end = NULL;
    while ((end = memmem(client->in.data, client->in.len, "\r\n\r\n", 4)) == NULL) {
        need(client, client->in.len + 1);
    }
    client->head = str_make(client->in.data, (size_t)(end - client->in.data) + 4);
    client->body = STR("");
    client->at = client->head.len;
    assert_true(str_starts_with(client->head, STR("HTTP/1.1 ")));
    int64_t status = 0;
    assert_true(str_to_int64(str_make(client->in.data + 9, 3), &status));
    client->status = (int)status;
}

void client_read(struct client *client)
{
    client_read_head(client);
    size_t head_len = client->head.len;
    int64_t length = 0;
    struct str text = client_header(client, "Content-Length");
    assert_true(str_is_null(text) ? client->status == 204 : str_to_int64(text, &length));
    need(client, (size_t)length);
    client->head = str_make(client->in.data, head_len); /* the buffer may have moved */
    client->body = str_make(client->in.data + head_len, (size_t)length);
    client->at = head_len + (size_t)length;
}

void client_read_end(struct client *client)
{
    assert_int_equal(client->in.len, client->at);
    if (receive(client)) {
        fail_msg("bytes instead of the end: \"%.*s\"",
                 STR_ARG(str_skip(buf_str(&client->in), client->at)));
    }
}

struct str client_header(const struct client *client, const char *name)
{
    struct str rest = client->head;
    size_t name_len = strlen(name);
    const char *lf = NULL;
    while ((lf = memchr(rest.data, '\n', rest.len)) != NULL) {
        rest = str_skip(rest, (size_t)(lf - rest.data) + 1);
        if (str_starts_with(rest, str_from_c(name)) && rest.len > name_len + 1 &&
            rest.data[name_len] == ':') {
            struct str value = str_skip(rest, name_len + 2);
            value.len = (size_t)((const char *)memchr(value.data, '\r', value.len) - value.data);
            return value;
        }
    }
    return STR_NULL;
}
