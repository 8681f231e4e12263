/* Tests the decoder of chunked bodies with input that is split at every place. */
#include "http/chunked.h"

#include "base/buf.h"
#include "base/testing.h"

static const struct {
    const char *input;
    const char *expected; /* the data, then '|' and what is left, or why there is no end */
} cases[] = {
    {"0\r\n\r\n", "|"},
    {"3\r\nabc\r\n0\r\n\r\nGET", "abc|GET"},
    {"3\r\nabc\r\n1\r\nd\r\n00\r\n\r\n", "abcd|"},
    {"A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n", "01234567890123456789|"},
    {"000000000000003\r\nabc\r\n0\r\n\r\n", "abc|"},
    {"3;name=value;x=\"quoted; \"\r\nabc\r\n0;last\r\n\r\n", "abc|"},
    {"0\r\nTrailer: value\r\nX:\r\n\r\nrest", "|rest"},
    {"3\r\n\r\n\r\r\n0\r\n\r\n", "\r\n\r|"},

    {"", "more"},
    {"3", "more"},
    {"3\r\nab", "abmore"},
    {"3\r\nabc\r\n0\r\n", "abcmore"},
    {"3\r\nabc\r\n0\r\nTrailer: x\r\n", "abcmore"},

    {"\r\n", "bad"},
    {"x\r\n", "bad"},
    {"-1\r\n", "bad"},
    {"+1\r\n", "bad"},
    {"0x1\r\n", "bad"},
    {" 3\r\nabc", "bad"},
    {"3 \r\nabc", "bad"},
    {"3\nabc", "bad"},
    {"3\r\rabc", "bad"},
    {"3;a\nb\r\nabc", "bad"},
    {"3;a\x01\r\nabc", "bad"},
    {";a\r\n", "bad"},
    {"0000000000000003\r\nabc", "bad"},
    {"fffffffffffffffff\r\n", "bad"},
    {"3\r\nabcd\r\n", "abcbad"},
    {"3\r\nabc\n0\r\n\r\n", "abcbad"},
    {"3\r\nabc0\r\n\r\n", "abcbad"},
    {"0\r\n\n", "bad"},
    {"0\r\n\rx", "bad"},
    {"0\r\n: x\r\n\r\n", "bad"},
    {"0\r\nname\r\n\r\n", "bad"},
    {"0\r\n folded: x\r\n\r\n", "bad"},
    {"0\r\nna me: x\r\n\r\n", "bad"},
    {"0\r\nname: x\n\r\n", "bad"},
};

static void decode(struct str input, size_t piece, struct buf *out)
{
    struct chunked chunked;
    chunked_init(&chunked);
    enum chunked_status status = CHUNKED_MORE;
    size_t at = 0;
    while (status == CHUNKED_MORE && at < input.len) {
        struct str some = str_make(input.data + at, MIN(piece, input.len - at));
        at += some.len;
        struct str data;
        while ((status = chunked_next(&chunked, &some, &data)) == CHUNKED_DATA) {
            buf_add(out, data);
        }
        at -= some.len;
    }
    if (status == CHUNKED_DONE) {
        buf_add_char(out, '|');
        buf_add(out, str_skip(input, at));
    } else {
        buf_add(out, status == CHUNKED_MORE ? STR("more") : STR("bad"));
    }
}

static void test_chunks(void **state)
{
    (void)state;
    struct buf out = {0};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct str input = str_from_c(cases[i].input);
        for (size_t piece = 1; piece <= input.len + 1; piece++) {
            out.len = 0;
            decode(input, piece, &out);
            CHECK_STR_EQ(cases[i].input, buf_str(&out), str_from_c(cases[i].expected));
        }
    }
    buf_finish(&out);
}

/* The size of ignored text is limited over all chunks. */
static void test_endless_extensions(void **state)
{
    (void)state;
    struct chunked chunked;
    chunked_init(&chunked);
    enum chunked_status status = CHUNKED_MORE;
    int count = 0;
    while (status != CHUNKED_BAD && count < 100000) {
        struct str input = STR("1;0123456789\r\nx\r\n");
        struct str data;
        while ((status = chunked_next(&chunked, &input, &data)) == CHUNKED_DATA) {
        }
        count++;
    }
    assert_int_equal(status, CHUNKED_BAD);
    assert_in_range(count, 1000, 2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chunks),
        cmocka_unit_test(test_endless_extensions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
