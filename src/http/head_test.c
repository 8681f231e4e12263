/* Tests the parser of heads: rows of input and the expected result, split at every place. */
#include "http/head_internal.h"

#include "base/testing.h"

enum { HEAD_MAX = 200 };

/* "GET /path 1.1 close length=3 chunked continue gzip; name=value; ... | bytes that follow", or
 * "400 why", or "more". */
static void dump(const struct head *head, enum head_status status, struct str input,
                 struct buf *out)
{
    out->len = 0;
    if (status != HEAD_DONE) {
        if (status == HEAD_MORE) {
            buf_format(out, "more");
        } else {
            buf_format(out, "%d %s", head->status, head->problem);
        }
        return;
    }
    static const char *const codings[] = {"", " gzip", " deflate", " unknown"};
    buf_format(out, "%.*s %.*s 1.%d%s", STR_ARG(head->method), STR_ARG(head->target),
               head->minor_version, head->keep_alive ? "" : " close");
    if (head->content_length >= 0) {
        buf_format(out, " length=%lld", (long long)head->content_length);
    }
    buf_format(out, "%s%s%s", head->chunked ? " chunked" : "",
               head->expects_continue ? " continue" : "", codings[head->content_coding]);
    for (size_t i = 0; i < head->header_count; i++) {
        buf_format(out, "; %.*s=%.*s", STR_ARG(head->headers[i].name),
                   STR_ARG(head->headers[i].value));
    }
    if (head->size < input.len) {
        buf_format(out, " | %.*s", STR_ARG(str_skip(input, head->size)));
    }
}

static enum head_status parse_in_pieces(struct head *head, struct str input, size_t piece)
{
    head_init(head);
    enum head_status status = HEAD_MORE;
    for (size_t len = MIN(piece, input.len); status == HEAD_MORE; len += piece) {
        len = MIN(len, input.len);
        status = head_parse(head, str_make(input.data, len), HEAD_MAX);
        if (len == input.len) {
            break;
        }
    }
    return status;
}

#define GET_  "GET / HTTP/1.1\r\nHost: a\r\n"
#define POST_ "POST / HTTP/1.1\r\nHost: a\r\n"

static const struct {
    const char *input;
    const char *expected;
} cases[] = {
    /* The ordinary. */
    {GET_ "\r\n", "GET / 1.1; Host=a"},
    {GET_ "\r\nGET /next", "GET / 1.1; Host=a | GET /next"},
    {"GET /a?b=c%20d HTTP/1.1\r\nHost: a:8000\r\n\r\n", "GET /a?b=c%20d 1.1; Host=a:8000"},
    {"\r\n\r\n" GET_ "\r\n", "GET / 1.1; Host=a"},
    {"GET / HTTP/1.1\r\nhOST:a\r\nX-Y:\t b c \t\r\nEmpty:\r\n\r\n",
     "GET / 1.1; hOST=a; X-Y=b c; Empty="},
    {GET_ "X: tab\tinside \xc3\xa9\r\n\r\n", "GET / 1.1; Host=a; X=tab\tinside \xc3\xa9"},
    {"GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", "GET / 1.1; Host=[::1]:80"},
    {"GET / HTTP/1.1\r\nHost:\r\n\r\n", "GET / 1.1; Host="},
    {"M-SEARCH / HTTP/1.1\r\nHost: a\r\n\r\n", "M-SEARCH / 1.1; Host=a"},
    {"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS * 1.1; Host=a"},
    {"GET http://h:1/p?q HTTP/1.1\r\nHost: a\r\n\r\n", "GET /p?q 1.1; Host=a"},
    {"GET https://h HTTP/1.1\r\nHost: a\r\n\r\n", "GET / 1.1; Host=a"},
    {"GET / HTTP/1.7\r\nHost: a\r\n\r\n", "GET / 1.1; Host=a"},

    /* Bodies. */
    {POST_ "Content-Length: 12\r\n\r\n", "POST / 1.1 length=12; Host=a; Content-Length=12"},
    {POST_ "content-length: 0007\r\n\r\n", "POST / 1.1 length=7; Host=a; content-length=0007"},
    {POST_ "Transfer-Encoding: Chunked\r\n\r\n",
     "POST / 1.1 chunked; Host=a; Transfer-Encoding=Chunked"},
    {POST_ "Expect: 100-Continue\r\n\r\n", "POST / 1.1 continue; Host=a; Expect=100-Continue"},
    {POST_ "Content-Encoding: gzip\r\n\r\n", "POST / 1.1 gzip; Host=a; Content-Encoding=gzip"},
    {POST_ "Content-Encoding: deflate\r\n\r\n",
     "POST / 1.1 deflate; Host=a; Content-Encoding=deflate"},
    {POST_ "Content-Encoding: gzip\r\nContent-Encoding: gzip\r\n\r\n",
     "POST / 1.1 unknown; Host=a; Content-Encoding=gzip; Content-Encoding=gzip"},
    {POST_ "Content-Encoding: gzip, br\r\n\r\n",
     "POST / 1.1 unknown; Host=a; Content-Encoding=gzip, br"},

    /* Keep-alive. */
    {GET_ "Connection: close\r\n\r\n", "GET / 1.1 close; Host=a; Connection=close"},
    {GET_ "Connection: x, CLOSE\r\n\r\n", "GET / 1.1 close; Host=a; Connection=x, CLOSE"},
    {GET_ "Connection: keep-alive\r\n\r\n", "GET / 1.1; Host=a; Connection=keep-alive"},
    {"GET / HTTP/1.0\r\n\r\n", "GET / 1.0 close"},
    {"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", "GET / 1.0; Connection=Keep-Alive"},
    {"GET / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n", "GET / 1.0 close; Expect=100-continue"},

    /* Unfinished. */
    {"", "more"},
    {"G", "more"},
    {"\r\n", "more"},
    {GET_, "more"},
    {GET_ "\r", "more"},

    /* Request lines. */
    {"GET /\r\n\r\n", "400 malformed request line"},
    {"GET  / HTTP/1.1\r\n\r\n", "400 malformed request line"},
    {"GET /  HTTP/1.1\r\n\r\n", "400 malformed request line"},
    {"GET / HTTP/1.1 \r\n\r\n", "400 malformed request line"},
    {" GET / HTTP/1.1\r\n\r\n", "400 malformed request line"},
    {"G(T / HTTP/1.1\r\n\r\n", "400 malformed request line"},
    {"GET / http/1.1\r\n\r\n", "400 malformed request line"},
    {"GET / HTTP/1.10\r\n\r\n", "400 malformed request line"},
    {"GET / HTTP/11\r\n\r\n", "400 malformed request line"},
    {"GET\t/ HTTP/1.1\r\n\r\n", "400 malformed request line"},
    {"\x16\x03\x01\x02", "400 malformed request line"}, /* TLS */
    {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505 only HTTP/1.1 and HTTP/1.0 are spoken here"},
    {"GET / HTTP/0.9\r\n\r\n", "505 only HTTP/1.1 and HTTP/1.0 are spoken here"},
    {"GET * HTTP/1.1\r\nHost: a\r\n\r\n", "400 malformed request target"},
    {"GET path HTTP/1.1\r\nHost: a\r\n\r\n", "400 malformed request target"},
    {"GET ftp://h/ HTTP/1.1\r\nHost: a\r\n\r\n", "400 malformed request target"},
    {"GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n", "400 malformed request target"},
    {"GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n", "400 malformed request target"},
    {"GET /\xc3\xa9 HTTP/1.1\r\nHost: a\r\n\r\n", "400 malformed request target"},
    {"CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n", "501 this is not a proxy"},

    /* Lines. */
    {"GET / HTTP/1.1\nHost: a\n\n", "400 line that ends without CR LF"},
    {GET_ "X: a\n\r\n", "400 line that ends without CR LF"},
    {GET_ "\n", "400 line that ends without CR LF"},
    {GET_ "X: a\rb\r\n\r\n", "400 control character in a header"},
    {GET_ "X: a\r\r\n\r\n", "400 control character in a header"},
    {GET_ "X: 12345678\x7f\r\n\r\n", "400 control character in a header"},
    {GET_ "X: 1234567\x01rest of it\r\n\r\n", "400 control character in a header"},
    {GET_ "X: a\r\n folded\r\n\r\n", "400 malformed header name"},
    {GET_ "X : a\r\n\r\n", "400 malformed header name"},
    {GET_ "X\r\n\r\n", "400 malformed header name"},
    {GET_ ": a\r\n\r\n", "400 malformed header name"},
    {GET_ "X\x80: a\r\n\r\n", "400 malformed header name"},
    {GET_ "X(y): a\r\n\r\n", "400 malformed header name"},
    {"GET / HTTP/1.1\r\n X: a\r\nHost: a\r\n\r\n", "400 malformed header name"},

    /* Host. */
    {"GET / HTTP/1.1\r\n\r\n", "400 Host is missing"},
    {GET_ "Host: a\r\n\r\n", "400 Host given twice"},
    {"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", "400 malformed Host"},
    {"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", "400 malformed Host"},

    /* Request smuggling. */
    {POST_ "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
     "400 Content-Length beside Transfer-Encoding"},
    {POST_ "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
     "400 Content-Length beside Transfer-Encoding"},
    {POST_ "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", "400 Content-Length given twice"},
    {POST_ "Content-Length: 5\r\nContent-Length: 5\r\n\r\n", "400 Content-Length given twice"},
    {POST_ "Content-Length: 5, 5\r\n\r\n", "400 malformed Content-Length"},
    {POST_ "Content-Length: +5\r\n\r\n", "400 malformed Content-Length"},
    {POST_ "Content-Length: -5\r\n\r\n", "400 malformed Content-Length"},
    {POST_ "Content-Length: 0x5\r\n\r\n", "400 malformed Content-Length"},
    {POST_ "Content-Length: 5 5\r\n\r\n", "400 malformed Content-Length"},
    {POST_ "Content-Length:\r\n\r\n", "400 malformed Content-Length"},
    {POST_ "Content-Length: 99999999999999999999\r\n\r\n", "413 request body too large"},
    {POST_ "Transfer-Encoding: gzip, chunked\r\n\r\n",
     "501 only the transfer coding 'chunked' is known"},
    {POST_ "Transfer-Encoding: identity\r\n\r\n",
     "501 only the transfer coding 'chunked' is known"},
    {POST_ "Transfer-Encoding: xchunked\r\n\r\n",
     "501 only the transfer coding 'chunked' is known"},
    {POST_ "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
     "400 Transfer-Encoding given twice"},
    {POST_ "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n",
     "400 Transfer-Encoding given twice"},
    {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "400 Transfer-Encoding in HTTP/1.0"},
    {POST_ "Transfer-Encoding : chunked\r\n\r\n", "400 malformed header name"},
    {POST_ "Transfer-Encoding:\x0b chunked\r\n\r\n", "400 control character in a header"},
    {POST_ "Expect: the unexpected\r\n\r\n", "417 only '100-continue' can be expected"},
};

static void test_heads(void **state)
{
    (void)state;
    struct head *head = test_malloc(sizeof(*head));
    struct buf out = {0};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct str input = str_from_c(cases[i].input);
        for (size_t piece = 1; piece <= input.len + 1; piece++) {
            enum head_status status = parse_in_pieces(head, input, piece);
            dump(head, status, input, &out);
            CHECK_STR_EQ(cases[i].input, buf_str(&out), str_from_c(cases[i].expected));
        }
    }
    buf_finish(&out);
    test_free(head);
}

static void check_fill(const char *before, size_t fill, const char *after, const char *expected)
{
    struct head *head = test_malloc(sizeof(*head));
    struct buf input = {0};
    struct buf out = {0};
    buf_add(&input, str_from_c(before));
    for (size_t i = 0; i < fill; i++) {
        buf_add_char(&input, 'x');
    }
    buf_add(&input, str_from_c(after));
    for (size_t piece = 1; piece <= input.len; piece += 13) {
        enum head_status status = parse_in_pieces(head, buf_str(&input), piece);
        dump(head, status, buf_str(&input), &out);
        if (!str_starts_with(buf_str(&out), str_from_c(expected))) {
            fail_msg("got \"%.*s\", expected \"%s...\"", STR_ARG(buf_str(&out)), expected);
        }
    }
    buf_finish(&input);
    buf_finish(&out);
    test_free(head);
}

static void test_size_limit(void **state)
{
    (void)state;
    size_t fixed = sizeof(GET_ "X: \r\n\r\n") - 1;
    check_fill(GET_ "X: ", HEAD_MAX - fixed, "\r\n\r\n", "GET / 1.1; Host=a; X=xxx");
    check_fill(GET_ "X: ", HEAD_MAX - fixed + 1, "\r\n\r\n", "431 ");
    check_fill(GET_ "X: ", HEAD_MAX, "", "431 ");
    check_fill("GET /", HEAD_MAX, " HTTP/1.1\r\n\r\n", "414 ");
    check_fill("GET /", HEAD_MAX, "", "414 ");
}

static void test_too_many_headers(void **state)
{
    (void)state;
    struct head *head = test_malloc(sizeof(*head));
    struct buf input = {0};
    buf_add(&input, STR(GET_));
    for (int i = 1; i < HEAD_HEADERS_MAX; i++) {
        buf_add(&input, STR("A:b\r\n"));
    }
    size_t fits = input.len;
    buf_add(&input, STR("\r\n"));
    head_init(head);
    assert_int_equal(head_parse(head, buf_str(&input), 10000), HEAD_DONE);
    assert_int_equal(head->header_count, HEAD_HEADERS_MAX);
    input.len = fits;
    buf_add(&input, STR("A:b\r\n\r\n"));
    head_init(head);
    assert_int_equal(head_parse(head, buf_str(&input), 10000), HEAD_BAD);
    assert_int_equal(head->status, 431);
    buf_finish(&input);
    test_free(head);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_heads),
        cmocka_unit_test(test_size_limit),
        cmocka_unit_test(test_too_many_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
