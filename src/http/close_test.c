/* Tests how connections and the server are closed, and which addresses it binds. Each test has its
 * own server. */
#include "http/server_testing.h"

#include "base/mem.h"

static void test_client_gone_before_reply(void **state)
{
    (void)state;
    struct http_options options = testing_options();
    struct testing_server testing;
    testing_open(&testing, &options);
    struct client client;
    for (int i = 0; i < 3; i++) {
        client_open(&client, testing.port);
        client_request(&client, "/hold", "nobody reads this");
        testing_wait_held(&testing, 1);
        client_abort(&client);
        testing_wait_connections(&testing, 0);
        testing_release(&testing);
    }
    client_open(&client, testing.port);
    client_request(&client, "/hold", "nor this"); /* closed without a reset: noticed when sending */
    testing_wait_held(&testing, 1);
    client_close(&client);
    testing_release(&testing);
    testing_wait_connections(&testing, 0);
    client_open(&client, testing.port);
    client_request(&client, "/echo", "still here");
    CHECK_ANSWER(&client, 200, "still here");
    client_close(&client);
    testing_close(&testing);
}

struct closing {
    struct testing_server *testing;
    int grace_ms;
};

static void *close_main(void *argument)
{
    struct closing *closing = argument;
    http_server_close(closing->testing->server, closing->grace_ms);
    closing->testing->server = NULL;
    return NULL;
}

static void test_close_waits_for_requests(void **state)
{
    (void)state;
    struct http_options options = testing_options();
    struct testing_server testing;
    testing_open(&testing, &options);
    struct client idle;
    struct client busy;
    struct client half;
    client_open(&idle, testing.port);
    client_request(&idle, "/echo", "x");
    CHECK_ANSWER(&idle, 200, "x");
    client_open(&half, testing.port);
    client_request(&half, "/echo", "x");
    CHECK_ANSWER(&half, 200, "x");
    client_send(&half, STR("POST /hold HTTP/1.1\r\nHost: a\r\nContent-Le"));
    client_open(&busy, testing.port);
    client_request(&busy, "/hold", "under way");
    testing_wait_held(&testing, 1);

    struct closing closing = {&testing, 60000};
    pthread_t closer;
    assert_int_equal(pthread_create(&closer, NULL, close_main, &closing), 0);
    client_read_end(&idle);
    testing_release(&testing);
    CHECK_ANSWER(&busy, 200, "under way");
    CHECK_STR_EQ("close", client_header(&busy, "Connection"), STR("close"));
    client_read_end(&busy);
    client_close(&half); /* its request is incomplete, so the server need not wait */
    pthread_join(closer, NULL);
    assert_false(client_try_open(&half, testing.port));
    client_close(&half);
    client_close(&idle);
    client_close(&busy);
    testing_close(&testing);
}

static void test_close_after_grace(void **state)
{
    (void)state;
    struct http_options options = testing_options();
    struct testing_server testing;
    testing_open(&testing, &options);
    struct client client;
    client_open(&client, testing.port);
    client_request(&client, "/hold", "too late");
    testing_wait_held(&testing, 1);
    struct closing closing = {&testing, 10};
    pthread_t closer;
    assert_int_equal(pthread_create(&closer, NULL, close_main, &closing), 0);
    client_read_end(&client); /* the exchange is still held, and valid */
    testing_release(&testing);
    pthread_join(closer, NULL);
    client_close(&client);
    testing_close(&testing);
}

/* The thread that posts an answer may still be waking the loop when the loop has nothing left to
 * do; closing must wait for it. */
static void test_close_right_after_answers(void **state)
{
    (void)state;
    enum { CLIENTS = 4 };
    struct http_options options = testing_options();
    options.thread_count = 2;
    for (int turn = 0; turn < 50; turn++) {
        struct testing_server testing;
        struct client clients[CLIENTS];
        testing_open(&testing, &options);
        for (int i = 0; i < CLIENTS; i++) {
            client_open(&clients[i], testing.port);
            client_request(&clients[i], i % 2 == 0 ? "/later" : "/hold", "x");
        }
        testing_wait_held(&testing, CLIENTS / 2);
        testing_close(&testing);
        for (int i = 1; i < CLIENTS; i += 2) {
            CHECK_ANSWER(&clients[i], 200, "x");
        }
        for (int i = 0; i < CLIENTS; i++) {
            client_close(&clients[i]);
        }
    }
}

static void test_second_server_is_refused(void **state)
{
    (void)state;
    struct http_options options = testing_options();
    options.thread_count = 2;
    struct testing_server testing;
    testing_open(&testing, &options);
    options.port = testing.port;
    struct err err = ERR_INIT(&testing.arena);
    struct http_server *second = NULL;
    assert_false(testing_open_server(&options, NULL, NULL, &second, &err));
    assert_null(second);
    assert_true(str_contains(err.message, STR("another server listens there")));
    testing_close(&testing);

    testing_open(&testing, &options); /* the port is free again, in spite of TIME_WAIT */
    testing_close(&testing);
}

static void test_hosts(void **state)
{
    (void)state;
    static const struct {
        const char *host;
        bool works;
    } cases[] = {{"0.0.0.0", true}, {"localhost", true}, {"no.such.host.invalid", false}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct http_options options = testing_options();
        struct arena arena;
        arena_init(&arena);
        struct err err = ERR_INIT(&arena);
        struct http_server *server = NULL;
        options.host = str_from_c(cases[i].host);
        if (testing_open_server(&options, NULL, NULL, &server, &err) != cases[i].works) {
            fail_msg("%s: %.*s", cases[i].host, STR_ARG(err.message));
        }
        struct client client;
        if (cases[i].works) {
            client_open(&client, http_server_port(server));
            client_close(&client);
        }
        http_server_close(server, 0);
        arena_finish(&arena);
    }
}

/* A slow thread does not begin a request whose client has disconnected. */
static void test_client_gone_before_slow_thread(void **state)
{
    (void)state;
    struct http_options options = testing_options();
    options.slow_thread_count = 1;
    struct testing_server testing;
    testing_open(&testing, &options);
    struct client first;
    struct client gone;
    struct client last;
    client_open(&first, testing.port);
    client_open(&gone, testing.port);
    client_open(&last, testing.port);
    client_request(&first, "/block", "first");
    testing_wait_held(&testing, 1);
    client_request(&gone, "/slow", "gone");
    testing_wait_calls(&testing, 2);
    client_abort(&gone);
    client_request(&last, "/slow", "last");
    testing_wait_calls(&testing, 3);
    testing_wait_connections(&testing, 2);
    testing_unblock(&testing);
    CHECK_ANSWER(&first, 200, "first");
    testing_wait_held(&testing, 1);
    testing_release(&testing);
    CHECK_ANSWER(&last, 200, "last");
    client_close(&first);
    client_close(&last);
    testing_close(&testing);
}

/* The same with a request whose memory the slow thread frees. Its slot has had an answer before. */
static void test_client_gone_before_slow_thread_frees_body(void **state)
{
    (void)state;
    enum { COUNT = 3, BODY_BYTES = 512 * 1024 };
    struct http_options options = testing_options();
    options.slow_thread_count = 1;
    struct testing_server testing;
    struct client clients[COUNT];
    testing_open(&testing, &options);
    for (int i = 0; i < COUNT; i++) {
        client_open(&clients[i], testing.port);
        client_request(&clients[i], "/slow", "earlier");
    }
    testing_wait_held(&testing, COUNT);
    testing_release(&testing);
    for (int i = 0; i < COUNT; i++) {
        CHECK_ANSWER(&clients[i], 200, "earlier");
    }
    char *body = mem_alloc(BODY_BYTES + 1);
    memset(body, 'b', BODY_BYTES);
    body[BODY_BYTES] = '\0';
    client_request(&clients[0], "/block", "first");
    testing_wait_held(&testing, 1);
    client_request(&clients[1], "/slow", body);
    testing_wait_calls(&testing, COUNT + 2);
    client_abort(&clients[1]);
    client_request(&clients[2], "/slow", "last");
    testing_wait_calls(&testing, COUNT + 3);
    testing_wait_connections(&testing, 2);
    testing_unblock(&testing);
    CHECK_ANSWER(&clients[0], 200, "first");
    testing_wait_held(&testing, 1);
    testing_release(&testing);
    CHECK_ANSWER(&clients[2], 200, "last");
    client_close(&clients[0]);
    client_close(&clients[2]);
    mem_free(body);
    testing_close(&testing);
}

/* A request that waits for another thread does not occupy its slow thread. */
static void test_slow_thread_serves_others_meanwhile(void **state)
{
    (void)state;
    enum { COUNT = 20 };
    struct http_options options = testing_options();
    options.slow_thread_count = 1;
    struct testing_server testing;
    struct client clients[COUNT];
    testing_open(&testing, &options);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < COUNT; i++) {
            if (round == 0) {
                client_open(&clients[i], testing.port);
            }
            client_request(&clients[i], "/slow", "body");
        }
        testing_wait_held(&testing, COUNT);
        testing_release(&testing);
        for (int i = 0; i < COUNT; i++) {
            CHECK_ANSWER(&clients[i], 200, "body");
        }
    }
    for (int i = 0; i < COUNT; i++) {
        client_close(&clients[i]);
    }
    testing_close(&testing);
}

/* While memory is short a slow thread begins only one request at a time; others begin when it has
 * ended. */
static void test_slow_thread_saves_memory(void **state)
{
    (void)state;
    struct memory_pool memory = {0};
    memory.bytes_max = (size_t)64 << 20;
    struct http_options options = testing_options();
    options.slow_thread_count = 1;
    options.memory = &memory;
    struct testing_server testing;
    struct client clients[2];
    testing_open(&testing, &options);
    memory_pool_add(&memory, (size_t)40 << 20);
    client_open(&clients[0], testing.port);
    client_open(&clients[1], testing.port);
    client_request(&clients[0], "/slow", "first");
    testing_wait_held(&testing, 1);
    client_request(&clients[1], "/slow", "second");
    testing_wait_calls(&testing, 2);
    testing_wait_calm(&testing);
    testing_wait_held(&testing, 1);
    testing_release(&testing);
    CHECK_ANSWER(&clients[0], 200, "first");
    testing_wait_held(&testing, 1);
    testing_release(&testing);
    CHECK_ANSWER(&clients[1], 200, "second");
    client_close(&clients[0]);
    client_close(&clients[1]);
    memory_pool_remove(&memory, (size_t)40 << 20);
    testing_close(&testing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_client_gone_before_reply),
        cmocka_unit_test(test_close_waits_for_requests),
        cmocka_unit_test(test_close_after_grace),
        cmocka_unit_test(test_close_right_after_answers),
        cmocka_unit_test(test_second_server_is_refused),
        cmocka_unit_test(test_hosts),
        cmocka_unit_test(test_client_gone_before_slow_thread),
        cmocka_unit_test(test_client_gone_before_slow_thread_frees_body),
        cmocka_unit_test(test_slow_thread_serves_others_meanwhile),
        cmocka_unit_test(test_slow_thread_saves_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
