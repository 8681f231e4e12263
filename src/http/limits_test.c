/* Tests limits and time-outs. Each test has its own server. */
#include "http/server_testing.h"

#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "http/coding_internal.h"

static void test_refused_heads(void **state)
{
    (void)state;
    static const struct {
        const char *request;
        int status;
    } cases[] = {
        {"GET / HTTP/1.1\r\n\r\n", 400},
        {"GET / HTTP/1.1\nHost: a\n\n", 400},
        {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
         400},
        {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501},
        {"POST / HTTP/1.1\r\nHost: a\r\nExpect: x\r\n\r\n", 417},
        {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
        {"\x16\x03\x01", 400},
    };
    struct http_options options = testing_options();
    struct testing_server testing;
    testing_open(&testing, &options);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct client client;
        client_open(&client, testing.port);
        client_send(&client, str_from_c(cases[i].request));
        client_read(&client);
        assert_int_equal(client.status, cases[i].status);
        CHECK_STR_EQ("close", client_header(&client, "Connection"), STR("close"));
        client_read_end(&client);
        client_close(&client);
    }
    assert_int_equal(atomic_load(&testing.call_count), 0);
    testing_close(&testing);
}

static void test_head_too_large(void **state)
{
    (void)state;
    struct http_options options = testing_options();
    struct testing_server testing;
    testing_open(&testing, &options);
    struct client client;
    client_open(&client, testing.port);
    client_send(&client, STR("GET / HTTP/1.1\r\nX: "));
    client_send_fill(&client, 2000);
    client_read(&client);
    assert_int_equal(client.status, 431);
    client_close(&client);
    testing_close(&testing);
}

static void check_too_large(struct testing_server *testing, const char *head, size_t body_len)
{
    struct client client;
    client_open(&client, testing->port);
    client_send(&client, STR("POST /echo HTTP/1.1\r\nHost: a\r\n"));
    client_send(&client, str_from_c(head));
    client_send_fill(&client, body_len);
    CHECK_ANSWER(&client, 413, "413 Content Too Large: request body too large\n");
    shutdown(client.fd, SHUT_WR);
    client_read_end(&client);
    client_close(&client);
}

/* The client sends its whole body before it reads, and still gets the answer. */
static void test_body_too_large(void **state)
{
    (void)state;
    struct http_options options = testing_options();
    struct testing_server testing;
    testing_open(&testing, &options);
    check_too_large(&testing, "Content-Length: 1000001\r\n\r\n", 1000001);
    check_too_large(&testing, "Content-Length: 1000001\r\nExpect: 100-continue\r\n\r\n", 0);
    check_too_large(&testing, "Content-Length: 99999999999999999999999\r\n\r\n", 5000000);
    check_too_large(&testing, "Transfer-Encoding: chunked\r\n\r\nF4241\r\n", 1000001);
    testing_close(&testing);
}

static void test_gzip_bomb(void **state)
{
    (void)state;
    struct http_options options = testing_options();
    struct testing_server testing;
    testing_open(&testing, &options);
    struct coder coder = {0};
    struct buf coded = {0};
    char *zeros = test_calloc(1, 50000000);
    coder_encode(&coder, CODING_GZIP, str_make(zeros, 50000000), &coded);
    assert_true(coded.len < options.body_bytes_max);
    struct client client;
    client_open(&client, testing.port);
    struct buf head = {0};
    buf_format(
        &head,
        "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\nContent-Length: %zu\r\n\r\n",
        coded.len);
    client_send(&client, buf_str(&head));
    client_send(&client, buf_str(&coded));
    CHECK_ANSWER(&client, 413, "413 Content Too Large: request body too large\n");
    client_close(&client);
    test_free(zeros);
    buf_finish(&head);
    buf_finish(&coded);
    coder_finish(&coder);
    testing_close(&testing);
}

static void test_slow_sender(void **state)
{
    (void)state;
    static const char *const beginnings[] = {
        "G",
        "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhell",
        "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhell",
    };
    struct http_options options = testing_options();
    options.request_timeout_ms = 50;
    struct testing_server testing;
    testing_open(&testing, &options);
    for (size_t i = 0; i < COUNT_OF(beginnings); i++) {
        struct client client;
        client_open(&client, testing.port);
        client_request(&client, "/echo", "quick");
        CHECK_ANSWER(&client, 200, "quick");
        client_send(&client, str_from_c(beginnings[i]));
        CHECK_ANSWER(&client, 408, "408 Request Timeout: the request did not come in time\n");
        client_read_end(&client);
        client_close(&client);
    }
    testing_close(&testing);
}

static void test_idle(void **state)
{
    (void)state;
    struct http_options options = testing_options();
    options.idle_timeout_ms = 3000; /* enough to send a request on a busy machine */
    struct testing_server testing;
    testing_open(&testing, &options);
    struct client unused;
    struct client used;
    client_open(&unused, testing.port);
    client_open(&used, testing.port);
    client_request(&used, "/later", "x");
    CHECK_ANSWER(&used, 200, "x");
    client_read_end(&unused);
    client_read_end(&used);
    /* There is no time-out for handlers. */
    client_close(&used);
    client_open(&used, testing.port);
    client_request(&used, "/hold", "held");
    testing_wait_held(&testing, 1);
    testing_release(&testing);
    CHECK_ANSWER(&used, 200, "held");
    client_close(&used);
    client_close(&unused);
    testing_close(&testing);
}

static void test_connection_cap(void **state)
{
    (void)state;
    enum { CAP = 5 };
    struct http_options options = testing_options();
    options.connections_max = CAP;
    options.thread_count = 2;
    struct testing_server testing;
    testing_open(&testing, &options);
    struct client clients[CAP];
    for (int i = 0; i < CAP; i++) {
        client_open(&clients[i], testing.port);
        client_request(&clients[i], "/echo", "in");
        CHECK_ANSWER(&clients[i], 200, "in");
    }
    struct client late;
    client_open(&late, testing.port);
    if (!TESTING_TLS) { /* with TLS there is no answer without a handshake */
        client_request(&late, "/echo", "out");
        CHECK_ANSWER(&late, 503, "503 Service Unavailable: too many connections\n");
    }
    client_read_end(&late);
    client_close(&late);
    client_close(&clients[0]);
    testing_wait_connections(&testing, CAP - 1);
    client_open(&clients[0], testing.port);
    client_request(&clients[0], "/echo", "in again");
    CHECK_ANSWER(&clients[0], 200, "in again");
    for (int i = 0; i < CAP; i++) {
        client_close(&clients[i]);
    }
    testing_close(&testing);
}

static void set_small_buffer(struct client *client)
{
    int size = 65536;
    setsockopt(client->fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
}

/* Clients that send or read nothing do not keep others out: when there is no connection left, one
 * that has been waiting for 2 s with hardly any progress is closed. */
static void test_slow_clients_make_way(void **state)
{
    (void)state;
    enum { EACH = 2, CAP = 4 * EACH };
    static const char *const beginnings[] = {
        "POST /echo HTTP/1.1\r\nHo",
        "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 500000\r\n\r\nsome",
        "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nFF\r\nsome",
        "GET /size/20000000 HTTP/1.1\r\nHost: a\r\n\r\n",
    };
    struct http_options options = testing_options();
    options.connections_max = CAP;
    struct testing_server testing;
    testing_open(&testing, &options);
    struct client slow[CAP];
    struct client late[CAP];
    for (int i = 0; i < CAP; i++) {
        client_open(&slow[i], testing.port);
        set_small_buffer(&slow[i]);
        client_send(&slow[i], str_from_c(beginnings[i / EACH]));
    }
    testing_wait_calls(&testing, EACH); /* the answers that nobody reads */
    sleep(3);
    for (int i = 0; i < CAP; i++) {
        client_open(&late[i], testing.port);
        client_request(&late[i], "/echo", "in");
        CHECK_ANSWER(&late[i], 200, "in");
    }
    for (int i = 0; i < CAP; i++) {
        client_close(&slow[i]);
        client_close(&late[i]);
    }
    testing_close(&testing);
}

/* Clients that send fast enough stay, but do not protect slow ones that came after them. */
static void test_fast_clients_protect_no_slow_ones(void **state)
{
    (void)state;
    enum { FAST = 80, SLOW = 4, TRIES = 3, BODY_BYTES = 700000, FIRST_BYTES = 8000000 };
    struct http_options options = testing_options();
    options.connections_max = FAST + SLOW;
    options.body_bytes_max = FIRST_BYTES;
    struct testing_server testing;
    testing_open(&testing, &options);
    struct client clients[FAST + SLOW];
    struct client late[SLOW * TRIES];
    for (int i = 0; i < FAST + SLOW; i++) {
        int size = i == 0 ? FIRST_BYTES : BODY_BYTES;
        char head[100];
        snprintf(head, sizeof(head),
                 "POST /size/5 HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", size);
        client_open(&clients[i], testing.port);
        client_send(&clients[i], str_from_c(head));
        client_send_fill(&clients[i], i < FAST ? (size_t)size - 1 : 1);
    }
    sleep(3);
    int served_count = 0;
    for (int i = 0; i < SLOW * TRIES; i++) {
        bool is_open = client_try_open(&late[i], testing.port) && !(TESTING_TLS && !late[i].ssl);
        if (is_open) {
            client_request(&late[i], "/echo", "in");
            client_read(&late[i]);
            served_count += late[i].status == 200;
        }
    }
    assert_true(served_count >= SLOW);
    client_send(&clients[0], STR("x"));
    CHECK_ANSWER(&clients[0], 200, "abcde");
    for (int i = 0; i < FAST + SLOW; i++) {
        client_close(&clients[i]);
    }
    for (int i = 0; i < SLOW * TRIES; i++) {
        client_close(&late[i]);
    }
    testing_close(&testing);
}

/* A slow client whose request becomes complete in the same round of events as a new client comes is
 * answered. */
static void test_complete_request_is_not_slow(void **state)
{
    (void)state;
    struct http_options options = testing_options();
    options.connections_max = 2;
    struct testing_server testing;
    testing_open(&testing, &options);
    struct client slow;
    struct client stalling;
    client_open(&slow, testing.port);
    client_open(&stalling, testing.port);
    client_send(&slow, STR("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nsl"));
    sleep(3);
    client_request(&stalling, "/stall", "stalled");
    testing_wait_held(&testing, 1);
    client_send(&slow, STR("ow"));
    int late = testing_connect(&testing);
    testing_unblock(&testing);
    CHECK_ANSWER(&stalling, 200, "stalled");
    CHECK_ANSWER(&slow, 200, "slow");
    close(late);
    client_close(&stalling);
    client_close(&slow);
    testing_close(&testing);
}

/* A client that reads nothing of its answers is disconnected. */
static void test_client_that_never_reads(void **state)
{
    (void)state;
    struct http_options options = testing_options();
    options.send_timeout_ms = 50;
    struct testing_server testing;
    testing_open(&testing, &options);
    struct client client;
    client_open(&client, testing.port);
    set_small_buffer(&client);
    client_request(&client, "/size/20000000", "");
    testing_wait_calls(&testing, 1);
    testing_wait_connections(&testing, 0);
    client_close(&client);
    testing_close(&testing);
}

/* A client that reads slowly is not disconnected. */
static bool try_to_read_slowly(int timeout_ms)
{
    struct http_options options = testing_options();
    options.send_timeout_ms = timeout_ms;
    struct testing_server testing;
    testing_open(&testing, &options);
    struct client client;
    client_open(&client, testing.port);
    set_small_buffer(&client);
    client_request(&client, "/size/20000000", "");
    int64_t until_us = clock_monotonic_us() + 1500 * (int64_t)timeout_ms;
    while (clock_monotonic_us() < until_us) {
        client_receive_some(&client, 4096);
        usleep(1000);
    }
    bool is_open = http_server_connection_count(testing.server) == 1;
    if (is_open) {
        client_read(&client);
        assert_int_equal(client.body.len, 20000000);
    }
    client_close(&client);
    testing_close(&testing);
    return is_open;
}

/* On a busy machine the client may not be scheduled for longer than a short time-out. */
static void test_client_that_reads_slowly(void **state)
{
    (void)state;
    assert_true(try_to_read_slowly(1000) || try_to_read_slowly(5000));
}

/* A client that reads late gets all answers. Until it reads, the server handles no more of its
 * requests: the kernel holds some megabytes, and the server little more than one answer. */
static void check_late_reader(const char *target, int64_t size, int count)
{
    struct http_options options = testing_options();
    struct testing_server testing;
    testing_open(&testing, &options);
    struct client client;
    client_open(&client, testing.port);
    set_small_buffer(&client);
    for (int i = 0; i < count; i++) {
        client_request(&client, i % 3 == 0 ? "/split" : target, "small");
    }
    testing_wait_calm(&testing);
    assert_true(atomic_load(&testing.call_count) < count);
    for (int i = 0; i < count; i++) {
        client_read(&client);
        assert_int_equal(client.status, 200);
        assert_int_equal(client.body.len, i % 3 == 0 ? 5 : size);
    }
    client_close(&client);
    testing_close(&testing);
}

static void test_client_that_reads_late(void **state)
{
    (void)state;
    check_late_reader("/size/1000000", 1000000, 60);
    check_late_reader("/size/100000", 100000, 600); /* deferred answers behind unsent ones */
}

/* With more requests behind a held one than the read buffer holds, the server stops reading. */
static void test_many_behind_held(void **state)
{
    (void)state;
    enum { COUNT = 1000 };
    struct http_options options = testing_options();
    struct testing_server testing;
    testing_open(&testing, &options);
    struct client client;
    client_open(&client, testing.port);
    client_request(&client, "/hold", "held");
    testing_wait_held(&testing, 1);
    for (int i = 0; i < COUNT; i++) {
        client_request(&client, "/echo", "next");
    }
    testing_release(&testing);
    CHECK_ANSWER(&client, 200, "held");
    for (int i = 0; i < COUNT; i++) {
        CHECK_ANSWER(&client, 200, "next");
    }
    client_close(&client);
    testing_close(&testing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused_heads),
        cmocka_unit_test(test_head_too_large),
        cmocka_unit_test(test_body_too_large),
        cmocka_unit_test(test_gzip_bomb),
        cmocka_unit_test(test_slow_sender),
        cmocka_unit_test(test_idle),
        cmocka_unit_test(test_connection_cap),
        cmocka_unit_test(test_slow_clients_make_way),
        cmocka_unit_test(test_fast_clients_protect_no_slow_ones),
        cmocka_unit_test(test_complete_request_is_not_slow),
        cmocka_unit_test(test_client_that_never_reads),
        cmocka_unit_test(test_client_that_reads_slowly),
        cmocka_unit_test(test_client_that_reads_late),
        cmocka_unit_test(test_many_behind_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
