/* Unit tests of the reader of responses. */
#include "bench/response_reader_internal.h"

#include "base/buf.h"
#include "base/testing.h"

/* Returns what was read, as text. */
static void dump(const struct reader *reader, enum reader_status status, struct str rest,
                 struct buf *out)
{
    static const char *const names[] = {"more", "done", "bad"};
    out->len = 0;
    buf_format(out, "%s", names[status]);
    if (status == READER_DONE) {
        struct str type = reader_error_type(reader);
        buf_format(out, " %d%s %llu [%.*s] rest %zu", reader->status,
                   reader->closes ? " closes" : "", (unsigned long long)reader->body_len,
                   (int)reader->back_len, reader->back, rest.len);
        if (!str_is_null(type)) {
            buf_format(out, " %.*s", STR_ARG(type));
        }
    }
}

/* Reads `text` in pieces of `size` bytes. */
static void read_in_pieces(struct str text, size_t size, struct buf *out)
{
    struct reader reader;
    reader_init(&reader);
    reader.keep_back = true;
    enum reader_status status = READER_MORE;
    struct str rest = text;
    while (status == READER_MORE && rest.len > 0) {
        struct str piece = str_make(rest.data, MIN(size, rest.len));
        size_t before = piece.len;
        status = reader_take(&reader, &piece);
        rest = str_skip(rest, before - piece.len);
    }
    dump(&reader, status, rest, out);
}

static const struct {
    const char *what;
    const char *text;
    const char *expected;
} rows[] = {
    {"a length", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "done 200 2 [{}] rest 0"},
    {"any case", "HTTP/1.1 200 OK\r\nA: b\r\ncontent-LENGTH:2 \r\n\r\n{}",
     "done 200 2 [{}] rest 0"},
    {"no body", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "done 200 0 [] rest 0"},
    {"204", "HTTP/1.1 204 No Content\r\n\r\n", "done 204 0 [] rest 0"},
    {"the next answer stays", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxHTTP",
     "done 200 1 [x] rest 4"},
    {"it ends", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx",
     "done 200 closes 1 [x] rest 0"},
    {"an old server ends", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx",
     "done 200 closes 1 [x] rest 0"},
    {"an old server that stays",
     "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx",
     "done 200 1 [x] rest 0"},
    {"chunks",
     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\nH",
     "done 200 5 [abcde] rest 1"},
    {"an error",
     "HTTP/1.1 400 Bad Request\r\nContent-Length: 45\r\n\r\n"
     "{\"__type\": \"com.amazon.coral#SomeException\"}  ",
     "done 400 45 [{\"__type\": \"com.amazon.coral#SomeException\"} ] rest 1 SomeException"},
    {"half a body", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", "more"},
    {"half a head", "HTTP/1.1 200 OK\r\nContent-Le", "more"},
    {"no length", "HTTP/1.1 200 OK\r\nServer: x\r\n\r\nabc", "bad"},
    {"an odd length", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\nabc", "bad"},
    {"an odd coding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nabc", "bad"},
    {"a bad chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "bad"},
    {"no HTTP", "SSH-2.0-OpenSSH\r\n\r\n", "bad"},
};

/* The result is the same for any division of the bytes into pieces. */
static void test_answers(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 2, 7, 100, 100000};
    struct buf out = {0};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        for (size_t j = 0; j < COUNT_OF(sizes); j++) {
            read_in_pieces(str_from_c(rows[i].text), sizes[j], &out);
            CHECK_STR_EQ(rows[i].what, buf_str(&out), str_from_c(rows[i].expected));
        }
    }
    buf_finish(&out);
}

static void test_back_of_long_body(void **state)
{
    (void)state;
    struct buf text = {0};
    buf_format(&text, "HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n");
    for (int i = 0; i < 1000; i++) {
        buf_format(&text, "%010d", i);
    }
    static const size_t sizes[] = {1, 300, 512, 700, 100000};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct reader reader;
        reader_init(&reader);
        reader.keep_back = true;
        struct str rest = buf_str(&text);
        enum reader_status status = READER_MORE;
        while (status == READER_MORE) {
            struct str piece = str_make(rest.data, MIN(sizes[i], rest.len));
            rest = str_skip(rest, piece.len);
            status = reader_take(&reader, &piece);
        }
        assert_int_equal(status, READER_DONE);
        CHECK_STR_EQ("back", str_make(reader.back, reader.back_len),
                     str_make(text.data + text.len - READER_BACK_MAX, READER_BACK_MAX));
        CHECK_STR_EQ("front", str_make(reader.front, 10), STR("0000000000"));
    }
    buf_finish(&text);
}

static void test_endless_head(void **state)
{
    (void)state;
    struct buf text = {0};
    buf_format(&text, "HTTP/1.1 200 OK\r\n");
    while (text.len <= READER_HEAD_MAX) {
        buf_format(&text, "x: y\r\n");
    }
    struct buf out = {0};
    read_in_pieces(buf_str(&text), 1000, &out);
    CHECK_STR_EQ("endless head", buf_str(&out), STR("bad"));
    buf_finish(&out);
    buf_finish(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_back_of_long_body),
        cmocka_unit_test(test_endless_head),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
