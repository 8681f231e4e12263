/* Tests the memory limit: bodies, answers and slots count, requests that do not fit are refused,
 * and slow clients that hold memory are disconnected. Each test has its own server. */
#include "http/server_testing.h"

#include <sys/socket.h>
#include <unistd.h>

#include "http/coding_internal.h"

#define BUSY "{\"busy\":true}"
#define HEAD "POST /echo HTTP/1.1\r\nHost: a\r\n"

static struct http_options limited_options(struct memory_pool *pool, size_t bytes_max)
{
    struct http_options options = testing_options();
    enum { TLS_BYTES = 100 * 1024 }; /* of the connections of one test */
    pool->bytes_max = bytes_max + (TESTING_TLS ? TLS_BYTES : 0);
    options.memory = pool;
    options.busy = (struct http_busy){
        .content_type = STR("application/json"), .body = STR(BUSY), .crc32_header = STR("X-Crc")};
    return options;
}

/* Waits until the server has freed the memory of closed connections. */
static void wait_for_used(const struct memory_pool *pool, size_t bytes_max)
{
    for (int i = 0; i < 10000 && memory_pool_used(pool) > bytes_max; i++) {
        usleep(1000);
    }
    assert_true(memory_pool_used(pool) <= bytes_max);
}

static void check_busy(struct client *client)
{
    CHECK_ANSWER(client, 503, BUSY);
    CHECK_STR_EQ("type", client_header(client, "Content-Type"), STR("application/json"));
    CHECK_STR_EQ("sum", client_header(client, "X-Crc"), STR("2416561906"));
}

static void check_body_refused(struct testing_server *testing, const char *head, size_t len)
{
    struct client client;
    client_open(&client, testing->port);
    client_send(&client, STR(HEAD));
    client_send(&client, str_from_c(head));
    client_send_fill(&client, len);
    check_busy(&client);
    CHECK_STR_EQ("ends", client_header(&client, "Connection"), STR("close"));
    shutdown(client.fd, SHUT_WR);
    client_read_end(&client);
    client_close(&client);
}

/* A body that does not fit is refused while it is received; small requests are served. */
static void test_bodies(void **state)
{
    (void)state;
    struct memory_pool pool = {0};
    struct http_options options = limited_options(&pool, 400000);
    struct testing_server testing;
    testing_open(&testing, &options);
    struct client small;
    client_open(&small, testing.port);
    client_request(&small, "/echo", "before");
    CHECK_ANSWER(&small, 200, "before");
    struct client holder; /* half of what there is */
    client_open(&holder, testing.port);
    client_send(&holder, STR(HEAD "Content-Length: 200000\r\n\r\n"));
    client_send_fill(&holder, 199000);
    while (memory_pool_used(&pool) < 190000) {
        usleep(1000);
    }
    check_body_refused(&testing, "Content-Length: 900000\r\n\r\n", 900000);
    check_body_refused(&testing, "Transfer-Encoding: chunked\r\n\r\nDBBA0\r\n", 900000);
    client_request(&small, "/echo", "after");
    CHECK_ANSWER(&small, 200, "after");
    client_send_fill(&holder, 1000);
    client_read(&holder);
    assert_int_equal(holder.status, 200); /* what was begun ends well */
    client_close(&holder);
    client_close(&small);
    testing_close(&testing);
    assert_int_equal(memory_pool_used(&pool), 0);
}

static void test_inflated_body(void **state)
{
    (void)state;
    struct memory_pool pool = {0};
    struct http_options options = limited_options(&pool, 400000);
    struct testing_server testing;
    testing_open(&testing, &options);
    struct coder coder = {0};
    struct buf coded = {0};
    char *zeros = test_calloc(1, 900000);
    coder_encode(&coder, CODING_GZIP, str_make(zeros, 900000), &coded);
    struct client client;
    client_open(&client, testing.port);
    struct buf head = {0};
    buf_format(&head, HEAD "Content-Encoding: gzip\r\nContent-Length: %zu\r\n\r\n", coded.len);
    client_send(&client, buf_str(&head));
    client_send(&client, buf_str(&coded));
    check_busy(&client);
    client_close(&client);
    wait_for_used(&pool, 200000); /* it is not kept with the slot */
    test_free(zeros);
    buf_finish(&head);
    buf_finish(&coded);
    coder_finish(&coder);
    testing_close(&testing);
    assert_int_equal(memory_pool_used(&pool), 0);
}

/* Without free memory, new connections with TLS are closed before the handshake. Open ones get an
 * answer. */
static void check_full_tls(struct testing_server *testing, struct memory_pool *pool)
{
    struct client open;
    struct client late;
    client_open(&open, testing->port);
    memory_pool_add(pool, pool->bytes_max);
    client_open(&late, testing->port);
    client_read_end(&late);
    client_request(&open, "/echo", "1");
    check_busy(&open);
    client_read_end(&open);
    client_close(&late);
    client_close(&open);
    memory_pool_remove(pool, pool->bytes_max);
    testing_close(testing);
    assert_int_equal(memory_pool_used(pool), 0);
}

/* Without free memory, requests are refused: a connection that has a slot continues, one that gets
 * none is closed. */
static void test_full(void **state)
{
    (void)state;
    struct memory_pool pool = {0};
    struct http_options options = limited_options(&pool, 1);
    struct testing_server testing;
    testing_open(&testing, &options);
    if (TESTING_TLS) {
        check_full_tls(&testing, &pool);
        return;
    }
    struct client with_slot;
    struct client without;
    client_open(&with_slot, testing.port);
    client_open(&without, testing.port);
    client_request(&with_slot, "/echo", "1");
    check_busy(&with_slot);
    client_send(&with_slot, STR("POST"));
    while (memory_pool_used(&pool) == 0) {
        usleep(1000);
    }
    client_request(&without, "/echo", "2");
    check_busy(&without);
    client_read_end(&without);
    client_send(&with_slot, STR(" / HTTP/1.1\r\nHost: a\r\n\r\n"));
    check_busy(&with_slot);
    assert_int_equal(atomic_load(&testing.call_count), 0);
    client_close(&without);
    client_close(&with_slot);
    testing_close(&testing);
    assert_int_equal(memory_pool_used(&pool), 0);
}

/* Answers count until the client has received them. */
static void test_unread_answer(void **state)
{
    (void)state;
    struct memory_pool pool = {0};
    struct http_options options = limited_options(&pool, 100000000);
    struct testing_server testing;
    testing_open(&testing, &options);
    struct client client;
    client_open(&client, testing.port);
    int size = 65536;
    setsockopt(client.fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
    client_request(&client, "/size/20000000", "");
    while (memory_pool_used(&pool) < 20000000) {
        usleep(1000);
    }
    assert_int_equal(testing.hold_count, 1);
    client_read(&client);
    assert_int_equal(client.body.len, 20000000);
    wait_for_used(&pool, 200000);
    assert_int_equal(testing.hold_count, 0);
    client_close(&client);
    testing_close(&testing);
}

/* Buffers of large answers are kept for a short time, up to a limit. */
static void test_kept_buffers(void **state)
{
    enum { CLIENTS = 40 };
    (void)state;
    struct memory_pool pool = {0};
    struct http_options options = limited_options(&pool, 1000000000);
    struct testing_server testing;
    testing_open(&testing, &options);
    struct client clients[CLIENTS];
    for (int i = 0; i < CLIENTS; i++) {
        client_open(&clients[i], testing.port);
        client_request(&clients[i], "/size/1000000", "");
    }
    for (int i = 0; i < CLIENTS; i++) {
        client_read(&clients[i]);
        assert_int_equal(clients[i].body.len, 1000000);
    }
    wait_for_used(&pool, 20000000);
    wait_for_used(&pool, 5000000); /* the slots */
    client_request(&clients[0], "/size/1000000", "");
    client_read(&clients[0]);
    assert_int_equal(clients[0].body.len, 1000000);
    for (int i = 0; i < CLIENTS; i++) {
        client_close(&clients[i]);
    }
    testing_close(&testing);
    assert_int_equal(memory_pool_used(&pool), 0);
}

/* A large body may take longer than the time-out if the client sends fast enough. Returns whether
 * it was accepted. */
static bool try_to_send_slowly(int timeout_ms)
{
    struct http_options options = testing_options();
    options.request_timeout_ms = timeout_ms;
    options.rate_bytes_min = 1000;
    struct testing_server testing;
    testing_open(&testing, &options);
    struct client client;
    client_open(&client, testing.port);
    client_send(&client, STR(HEAD "Content-Length: 100000\r\n\r\n"));
    for (int i = 0; i < 50; i++) { /* in five times the time-out; 20,000 bytes per second or more */
        client_send_fill(&client, 2000);
        usleep((useconds_t)timeout_ms * 100);
    }
    client_read(&client);
    bool is_accepted = client.status == 200;
    client_close(&client);
    testing_close(&testing);
    return is_accepted;
}

/* On a busy machine the client may not be scheduled for longer than a short time-out. */
static void test_rate_of_sender(void **state)
{
    (void)state;
    assert_true(try_to_send_slowly(200) || try_to_send_slowly(1000) || try_to_send_slowly(5000));
}

/* The last bytes of a body come too slowly. */
static void test_rate_of_slow_sender(void **state)
{
    (void)state;
    struct http_options options = testing_options();
    options.request_timeout_ms = 200;
    options.rate_bytes_min = 1000;
    struct testing_server testing;
    testing_open(&testing, &options);
    struct client client;
    client_open(&client, testing.port);
    client_send(&client, STR(HEAD "Content-Length: 100000\r\n\r\n"));
    client_send_fill(&client, 99990);
    for (int i = 0; i < 9; i++) { /* each retry requests one byte more */
        client_send_fill(&client, 1);
        usleep(100000);
    }
    client_read(&client);
    assert_int_equal(client.status, 408);
    client_close(&client);
    testing_close(&testing);
}

/* The same for a client that reads a large answer. */
static void test_rate_of_reader(void **state)
{
    (void)state;
    struct http_options options = testing_options();
    options.send_timeout_ms = 100;
    options.rate_bytes_min = 100000000;
    struct testing_server testing;
    testing_open(&testing, &options);
    struct client client;
    client_open(&client, testing.port);
    int size = 65536;
    setsockopt(client.fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
    client_request(&client, "/size/20000000", "");
    testing_wait_calls(&testing, 1);
    for (int i = 0; i < 10000 && http_server_connection_count(testing.server) > 0; i++) {
        client_receive_some(&client, 4096); /* some progress, but far less */
        usleep(1000);
    }
    assert_int_equal(http_server_connection_count(testing.server), 0);
    client_close(&client);
    testing_close(&testing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bodies),
        cmocka_unit_test(test_inflated_body),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_unread_answer),
        cmocka_unit_test(test_kept_buffers),
        cmocka_unit_test(test_rate_of_sender),
        cmocka_unit_test(test_rate_of_slow_sender),
        cmocka_unit_test(test_rate_of_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
