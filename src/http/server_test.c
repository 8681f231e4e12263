/* Tests the server as a client sees it: requests, answers, their order and their form. */
#include "http/server_testing.h"

#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"
#include "base/random.h"
#include "http/coding_internal.h"

static struct testing_server testing;

static int open_server(void **state)
{
    (void)state;
    struct http_options options = testing_options();
    testing_open(&testing, &options);
    return 0;
}

static int close_server(void **state)
{
    (void)state;
    testing_close(&testing);
    return 0;
}

/* Checks that a date is a second from the one before the request was sent until now. */
static void check_date(struct str date, int64_t sent_s)
{
    bool is_found = false;
    for (int64_t at = sent_s - 1; at <= clock_wall_ms() / 1000 && !is_found; at++) {
        char text[64];
        time_t seconds = (time_t)at;
        struct tm tm;
        strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&seconds, &tm));
        is_found = str_eq(date, str_from_c(text));
    }
    assert_true(is_found);
}

static void test_keep_alive(void **state)
{
    (void)state;
    struct client client;
    client_open(&client, testing.port);
    for (int i = 0; i < 3; i++) {
        int64_t sent_s = clock_wall_ms() / 1000;
        client_request(&client, "/echo", "hello");
        CHECK_ANSWER(&client, 200, "hello");
        CHECK_STR_EQ("Server", client_header(&client, "Server"), STR("Gramme"));
        CHECK_STR_EQ("Content-Type", client_header(&client, "Content-Type"), STR("text/plain"));
        assert_true(str_is_null(client_header(&client, "Connection")));
        check_date(client_header(&client, "Date"), sent_s);
    }
    client_send(&client, STR("GET /x?y HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
    CHECK_ANSWER(&client, 404, "GET /x?y");
    CHECK_STR_EQ("Connection", client_header(&client, "Connection"), STR("close"));
    client_read_end(&client);
    client_close(&client);
}

static void test_http_1_0(void **state)
{
    (void)state;
    struct client client;
    client_open(&client, testing.port);
    client_send(&client, STR("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
    CHECK_ANSWER(&client, 404, "GET /a");
    CHECK_STR_EQ("Connection", client_header(&client, "Connection"), STR("keep-alive"));
    client_send(&client, STR("GET /b HTTP/1.0\r\n\r\n"));
    CHECK_ANSWER(&client, 404, "GET /b");
    CHECK_STR_EQ("Connection", client_header(&client, "Connection"), STR("close"));
    client_read_end(&client);
    client_close(&client);
}

static void test_answers_without_body(void **state)
{
    (void)state;
    struct client client;
    client_open(&client, testing.port);
    client_send(&client,
                STR("HEAD /size/5000 HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n"));
    client_read_head(&client);
    assert_int_equal(client.status, 200);
    CHECK_STR_EQ("HEAD", client_header(&client, "Content-Length"), STR("5000"));
    client_send(&client, STR("GET /none HTTP/1.1\r\nHost: a\r\n\r\n"));
    CHECK_ANSWER(&client, 204, "");
    assert_true(str_is_null(client_header(&client, "Content-Length")));
    client_request(&client, "/echo", "");
    CHECK_ANSWER(&client, 200, "");
    CHECK_STR_EQ("empty", client_header(&client, "Content-Length"), STR("0"));
    client_close(&client);
}

static void test_close_asked_by_handler(void **state)
{
    (void)state;
    struct client client;
    client_open(&client, testing.port);
    client_request(&client, "/close", "bye");
    CHECK_ANSWER(&client, 200, "bye");
    CHECK_STR_EQ("Connection", client_header(&client, "Connection"), STR("close"));
    client_read_end(&client);
    client_close(&client);
}

static void test_header(void **state)
{
    (void)state;
    struct client client;
    client_open(&client, testing.port);
    client_send(&client, STR("GET /header HTTP/1.1\r\nHost: a\r\nX-TEST: first\r\nX-Test: 2\r\n\r\n"
                             "GET /header HTTP/1.1\r\nHost: a\r\nX-Tes: x\r\n\r\n"));
    CHECK_ANSWER(&client, 200, "first");
    CHECK_ANSWER(&client, 200, "");
    client_close(&client);
}

static void test_long_header(void **state)
{
    (void)state;
    struct client client;
    client_open(&client, testing.port);
    client_request(&client, "/long", "and a body");
    CHECK_ANSWER(&client, 200, "and a body");
    assert_int_equal(client_header(&client, "X-Long").len, 5000);
    client_request(&client, "/echo", "next");
    CHECK_ANSWER(&client, 200, "next");
    client_close(&client);
}

static void test_pipelining(void **state)
{
    (void)state;
    struct client client;
    client_open(&client, testing.port);
    client_send(&client, STR("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n1"
                             "\r\n"
                             "POST /later HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n2"
                             "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n3"
                             "POST /split HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n45"
                             "GET /6 HTTP/1.1\r\nHost: a\r\n\r\n"
                             "GET /7 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
                             "GET /never HTTP/1.1\r\nHost: a\r\n\r\n"));
    CHECK_ANSWER(&client, 200, "1");
    CHECK_ANSWER(&client, 200, "2");
    CHECK_ANSWER(&client, 200, "3");
    CHECK_ANSWER(&client, 200, "45");
    CHECK_ANSWER(&client, 404, "GET /6");
    CHECK_ANSWER(&client, 404, "GET /7");
    client_read_end(&client);
    client_close(&client);
}

/* Answers before one that is held are sent at once. */
static void test_pipelining_before_held(void **state)
{
    (void)state;
    struct client client;
    client_open(&client, testing.port);
    client_send(&client, STR("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n1"
                             "POST /hold HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n2"
                             "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n3"));
    CHECK_ANSWER(&client, 200, "1");
    testing_wait_held(&testing, 1);
    testing_release(&testing);
    CHECK_ANSWER(&client, 200, "2");
    CHECK_ANSWER(&client, 200, "3");
    client_close(&client);
}

/* The buffer is not exclusive while it holds earlier answers. */
static void test_exclusive_buffer(void **state)
{
    (void)state;
    struct client client;
    client_open(&client, testing.port);
    client_request(&client, "/exclusive", "");
    CHECK_ANSWER(&client, 200, "yes");
    client_send(&client, STR("GET /exclusive HTTP/1.1\r\nHost: a\r\n\r\n"
                             "GET /exclusive HTTP/1.1\r\nHost: a\r\n\r\n"));
    CHECK_ANSWER(&client, 200, "yes");
    CHECK_ANSWER(&client, 200, "no");
    client_request(&client, "/exclusive", "");
    CHECK_ANSWER(&client, 200, "yes");
    client_close(&client);
}

static void test_chunked(void **state)
{
    (void)state;
    struct client client;
    client_open(&client, testing.port);
    client_send(&client, STR("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                             "4\r\nWiki\r\n5;x=y\r\npedia\r\n0\r\nTrailer: z\r\n\r\n"
                             "POST /later HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                             "1\r\nA\r\n"));
    CHECK_ANSWER(&client, 200, "Wikipedia");
    client_send(&client, STR("2\r\nBC\r\n"));
    client_send(&client, STR("0\r\n\r\n"));
    CHECK_ANSWER(&client, 200, "ABC");
    client_close(&client);
}

static void test_expect_continue(void **state)
{
    (void)state;
    struct client client;
    client_open(&client, testing.port);
    client_send(&client, STR("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n"
                             "Expect: 100-continue\r\n\r\n"));
    client_read_head(&client);
    assert_int_equal(client.status, 100);
    client_send(&client, STR("body"));
    CHECK_ANSWER(&client, 200, "body");
    /* Not asked for the body: it has come already, or there is none. */
    client_send(&client, STR("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n"
                             "Expect: 100-continue\r\n\r\nbody"
                             "POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n"));
    CHECK_ANSWER(&client, 200, "body");
    CHECK_ANSWER(&client, 200, "");
    client_close(&client);
}

static void test_half_closed(void **state)
{
    (void)state;
    struct client client;
    client_open(&client, testing.port);
    client_request(&client, "/later", "1");
    client_request(&client, "/echo", "2");
    client_send(&client, STR("POST /echo HTTP/1.1\r\nunfinis"));
    shutdown(client.fd, SHUT_WR);
    CHECK_ANSWER(&client, 200, "1");
    CHECK_ANSWER(&client, 200, "2");
    client_read_end(&client);
    client_close(&client);
}

static void test_byte_by_byte(void **state)
{
    (void)state;
    struct client client;
    client_open(&client, testing.port);
    struct str text = STR("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"
                          "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                          "3\r\nabc\r\n0\r\n\r\n");
    for (size_t i = 0; i < text.len; i++) {
        client_send(&client, str_make(text.data + i, 1));
    }
    CHECK_ANSWER(&client, 200, "hello");
    CHECK_ANSWER(&client, 200, "abc");
    client_close(&client);
}

/* Bodies about as large as the read buffer, and much larger. */
static void test_large_bodies(void **state)
{
    (void)state;
    static const size_t lens[] = {10000, 32000, 32768, 33000, 100000, 1000000};
    struct client client;
    client_open(&client, testing.port);
    char *body = test_malloc(1000001);
    for (size_t i = 0; i < COUNT_OF(lens); i++) {
        memset(body, 'a' + (int)i, lens[i]);
        body[lens[i]] = '\0';
        client_request(&client, "/echo", body);
        client_request(&client, "/later", "between");
        client_request(&client, "/split", body);
        CHECK_ANSWER(&client, 200, body);
        CHECK_ANSWER(&client, 200, "between");
        CHECK_ANSWER(&client, 200, body);
    }
    test_free(body);
    client_close(&client);
}

static void send_coded(struct client *client, const char *name, struct str coded)
{
    struct buf text = {0};
    buf_format(
        &text,
        "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Encoding: %s\r\nContent-Length: %zu\r\n\r\n",
        name, coded.len);
    buf_add(&text, coded);
    client_send(client, buf_str(&text));
    buf_finish(&text);
}

static void test_compressed_requests(void **state)
{
    (void)state;
    struct client client;
    struct coder coder = {0};
    struct buf coded = {0};
    client_open(&client, testing.port);
    coder_encode(&coder, CODING_GZIP, STR("zipped"), &coded);
    send_coded(&client, "gzip", buf_str(&coded));
    CHECK_ANSWER(&client, 200, "zipped");
    coded.len = 0;
    coder_encode(&coder, CODING_DEFLATE, STR("deflated"), &coded);
    send_coded(&client, "deflate", buf_str(&coded));
    CHECK_ANSWER(&client, 200, "deflated");
    send_coded(&client, "identity", STR("plain"));
    CHECK_ANSWER(&client, 200, "plain");
    send_coded(&client, "gzip", STR("no gzip"));
    CHECK_ANSWER(&client, 400, "400 Bad Request: request body cannot be decompressed\n");
    client_read_end(&client);
    client_close(&client);
    client_open(&client, testing.port);
    send_coded(&client, "br", STR("x"));
    client_read(&client);
    assert_int_equal(client.status, 415);
    client_close(&client);
    coder_finish(&coder);
    buf_finish(&coded);
}

static void get_coded(struct client *client, const char *target, const char *accept)
{
    struct buf text = {0};
    buf_format(&text, "GET %s HTTP/1.1\r\nHost: a\r\nAccept-Encoding: %s\r\n\r\n", target, accept);
    client_send(client, buf_str(&text));
    client_read(client);
    assert_int_equal(client->status, 200);
    buf_finish(&text);
}

static void check_coded(struct client *client, const char *name, enum coding coding, size_t len)
{
    struct coder coder = {0};
    struct buf plain = {0};
    CHECK_STR_EQ("coding", client_header(client, "Content-Encoding"), str_from_c(name));
    CHECK_STR_EQ("Vary", client_header(client, "Vary"), STR("Accept-Encoding"));
    assert_true(client->body.len < len / 2);
    assert_int_equal(coder_decode(&coder, coding, client->body, len, &plain), CODER_OK);
    assert_int_equal(plain.len, len);
    coder_finish(&coder);
    buf_finish(&plain);
}

static void test_compressed_answers(void **state)
{
    (void)state;
    struct client client;
    client_open(&client, testing.port);
    get_coded(&client, "/size/5000", "gzip");
    check_coded(&client, "gzip", CODING_GZIP, 5000);
    get_coded(&client, "/size/500000", "deflate");
    check_coded(&client, "deflate", CODING_DEFLATE, 500000);
    get_coded(&client, "/crc/5000", "gzip");
    int64_t checksum = 0;
    assert_true(str_to_int64(client_header(&client, "x-amz-crc32"), &checksum));
    assert_int_equal(checksum, crc32(0, (const Bytef *)client.body.data, (uInt)client.body.len));
    static const char *const plain[][2] = {{"/size/4096", "gzip"},
                                           {"/size/5000", "gzip;q=0"},
                                           {"/size/5000", "br"},
                                           {"/size/5000", "identity"},
                                           {"/coded/5000", "gzip"}};
    for (size_t i = 0; i < COUNT_OF(plain); i++) {
        get_coded(&client, plain[i][0], plain[i][1]);
        assert_true(str_is_null(client_header(&client, "Content-Encoding")));
        assert_true(client.body.len >= 4096);
    }
    client_close(&client);
}

static void add_random_request(struct random *random, struct buf *text, int number)
{
    static const char *const targets[] = {"/echo", "/later", "/split", "/echo", "/echo"};
    const char *target = targets[random_next(random) % COUNT_OF(targets)];
    size_t fill = random_next(random) % 20 == 0 ? random_next(random) % 50000 : (size_t)number % 7;
    bool chunked = random_next(random) % 3 == 0;
    buf_format(text, "POST %s HTTP/1.1\r\nHost: a\r\n", target);
    if (chunked) {
        buf_format(text, "Transfer-Encoding: chunked\r\n\r\n6\r\n%06d\r\n%zx\r\n", number,
                   fill + 1);
    } else {
        buf_format(text, "Content-Length: %zu\r\n\r\n%06d", fill + 7, number);
    }
    for (size_t i = 0; i <= fill; i++) {
        buf_add_char(text, (char)('a' + number % 26));
    }
    if (chunked) {
        buf_add(text, STR("\r\n0\r\n\r\n"));
    }
}

struct sending {
    struct client *client;
    struct random *random;
    struct str text;
};

static void *send_in_pieces(void *argument)
{
    struct sending *sending = argument;
    struct str rest = sending->text;
    while (rest.len > 0) {
        size_t len = 1 + random_next(sending->random) % 3000;
        len = MIN(len, rest.len);
        client_send(sending->client, str_make(rest.data, len));
        rest = str_skip(rest, len);
    }
    return NULL;
}

/* Random requests, split at random places: the answers come in order. */
static void test_random_pipelines(void **state)
{
    (void)state;
    enum { COUNT = 500 };
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct random random;
        random_init_seed(&random, seed);
        struct buf text = {0};
        for (int i = 0; i < COUNT; i++) {
            add_random_request(&random, &text, i);
        }
        struct client client;
        client_open(&client, testing.port);
        struct sending sending = {&client, &random, buf_str(&text)};
        pthread_t sender;
        assert_int_equal(pthread_create(&sender, NULL, send_in_pieces, &sending), 0);
        for (int i = 0; i < COUNT; i++) {
            client_read(&client);
            int64_t number = -1;
            assert_true(str_to_int64(str_make(client.body.data, 6), &number));
            if (client.status != 200 || number != i || client.body.data[6] != 'a' + i % 26) {
                fail_msg("seed %d: answer %d is \"%.*s\"", (int)seed, i, STR_ARG(client.body));
            }
        }
        pthread_join(sender, NULL);
        client_close(&client);
        buf_finish(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keep_alive),
        cmocka_unit_test(test_http_1_0),
        cmocka_unit_test(test_answers_without_body),
        cmocka_unit_test(test_close_asked_by_handler),
        cmocka_unit_test(test_header),
        cmocka_unit_test(test_long_header),
        cmocka_unit_test(test_pipelining),
        cmocka_unit_test(test_pipelining_before_held),
        cmocka_unit_test(test_exclusive_buffer),
        cmocka_unit_test(test_chunked),
        cmocka_unit_test(test_expect_continue),
        cmocka_unit_test(test_half_closed),
        cmocka_unit_test(test_byte_by_byte),
        cmocka_unit_test(test_large_bodies),
        cmocka_unit_test(test_compressed_requests),
        cmocka_unit_test(test_compressed_answers),
        cmocka_unit_test(test_random_pipelines),
    };
    return cmocka_run_group_tests(tests, open_server, close_server);
}
