/* Tests answers without an end: order, limited memory, closing; and the callback http_failure. */
#include "http/server_testing.h"

#include <stdatomic.h>
#include <unistd.h>

struct streaming {
    struct http_server *server;
    struct http_stream *stream; /* on the server's thread */
    atomic_int closed_count;
    size_t flood_bytes; /* sent at once after the head */
};

static void on_stream_closed(void *context)
{
    struct streaming *streaming = context;
    streaming->stream = NULL;
    atomic_fetch_add(&streaming->closed_count, 1);
}

static void handle(void *context, struct http_exchange *exchange)
{
    struct streaming *streaming = context;
    buf_add(exchange->out, STR("never sent"));
    struct http_answer answer = {.status = 200, .content_type = STR("text/event-stream")};
    streaming->stream = http_stream_open(exchange, &answer, on_stream_closed, streaming);
    assert(streaming->stream != NULL);
    http_stream_send(streaming->stream, STR("one\n"));
    static const char block[4096] = "";
    for (size_t sent = 0; sent < streaming->flood_bytes; sent += sizeof(block)) {
        http_stream_send(streaming->stream, str_make(block, sizeof(block)));
    }
    if (str_eq(exchange->target, STR("/short"))) {
        http_stream_send(streaming->stream, STR("two\n"));
        http_stream_close(streaming->stream);
    }
}

static void describe(int status, const char *text, struct buf *headers, struct buf *body)
{
    buf_add(headers, STR("Content-Type: application/json\r\n"));
    buf_format(body, "{\"status\":%d,\"text\":\"%s\"}", status, text);
}

static void open_streaming(struct streaming *streaming)
{
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    struct http_options options = testing_options();
    options.failure = describe;
    assert_true(testing_open_server(&options, handle, streaming, &streaming->server, &err));
    arena_finish(&arena);
}

static void wait_closed(struct streaming *streaming, int count)
{
    for (int i = 0; i < 5000 && atomic_load(&streaming->closed_count) < count; i++) {
        usleep(1000);
    }
    assert_int_equal(atomic_load(&streaming->closed_count), count);
}

/* Reads until the text has come. */
static void expect_text(struct client *client, const char *text)
{
    while (client->in.len == 0 ||
           memmem(client->in.data, client->in.len, text, strlen(text)) == NULL) {
        size_t before = client->in.len;
        client_receive_some(client, 4096);
        assert_true(client->in.len > before);
    }
}

static void test_stream_goes_on_until_the_client_leaves(void **state)
{
    (void)state;
    struct streaming streaming = {0};
    open_streaming(&streaming);
    struct client client;
    client_open(&client, http_server_port(streaming.server));
    client_send(&client, STR("GET /long HTTP/1.1\r\nHost: x\r\n\r\n"));
    expect_text(&client, "text/event-stream\r\n");
    expect_text(&client, "\r\n\r\none\n");
    assert_null(memmem(client.in.data, client.in.len, "Content-Length", 14));
    assert_null(memmem(client.in.data, client.in.len, "never sent", 10));
    client_send(&client, STR("what a client says meanwhile is ignored"));
    assert_int_equal(atomic_load(&streaming.closed_count), 0);
    client_close(&client);
    wait_closed(&streaming, 1);
    http_server_close(streaming.server, 1000);
}

/* Also when it is closed before the head could be sent. */
static void test_stream_is_closed_by_the_server(void **state)
{
    (void)state;
    struct streaming streaming = {0};
    open_streaming(&streaming);
    struct client client;
    client_open(&client, http_server_port(streaming.server));
    client_send(&client, STR("GET /short HTTP/1.1\r\nHost: x\r\n\r\n"));
    expect_text(&client, "text/event-stream\r\n");
    expect_text(&client, "\r\n\r\none\ntwo\n");
    wait_closed(&streaming, 1);
    client_close(&client);
    http_server_close(streaming.server, 1000);
}

static void test_stream_ends_with_the_server(void **state)
{
    (void)state;
    struct streaming streaming = {0};
    open_streaming(&streaming);
    struct client client;
    client_open(&client, http_server_port(streaming.server));
    client_send(&client, STR("GET /long HTTP/1.1\r\nHost: x\r\n\r\n"));
    expect_text(&client, "one\n");
    http_server_close(streaming.server, 60000); /* does not wait for the client */
    assert_int_equal(atomic_load(&streaming.closed_count), 1);
    client_close(&client);
}

static void test_a_client_that_does_not_read_is_disconnected(void **state)
{
    (void)state;
    struct streaming streaming = {.flood_bytes = 2 * HTTP_STREAM_UNSENT_MAX};
    open_streaming(&streaming);
    struct client client;
    client_open(&client, http_server_port(streaming.server));
    client_send(&client, STR("GET /long HTTP/1.1\r\nHost: x\r\n\r\n"));
    wait_closed(&streaming, 1);
    client_close(&client);
    http_server_close(streaming.server, 1000);
}

static void test_failures_are_described(void **state)
{
    (void)state;
    struct streaming streaming = {0};
    open_streaming(&streaming);
    struct client client;
    client_open(&client, http_server_port(streaming.server));
    client_send(&client, STR("POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n"));
    client_read(&client);
    assert_int_equal(client.status, 413);
    CHECK_STR_EQ("type", client_header(&client, "Content-Type"), STR("application/json"));
    assert_true(str_starts_with(client.body, STR("{\"status\":413,")));
    client_close(&client);
    http_server_close(streaming.server, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stream_goes_on_until_the_client_leaves),
        cmocka_unit_test(test_stream_is_closed_by_the_server),
        cmocka_unit_test(test_stream_ends_with_the_server),
        cmocka_unit_test(test_a_client_that_does_not_read_is_disconnected),
        cmocka_unit_test(test_failures_are_described),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
