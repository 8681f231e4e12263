/* Tests compression, decompression, and the choice of a coding by Accept-Encoding. */
#include "http/coding_internal.h"

#include "base/testing.h"

static void test_choice(void **state)
{
    (void)state;
    static const struct {
        const char *accept;
        enum coding expected;
    } cases[] = {
        {"", CODING_IDENTITY},
        {"gzip", CODING_GZIP},
        {"GZIP", CODING_GZIP},
        {"x-gzip", CODING_IDENTITY},
        {"x-gzip, deflate", CODING_DEFLATE},
        {"deflate", CODING_DEFLATE},
        {"deflate, gzip", CODING_DEFLATE},
        {"gzip, deflate", CODING_GZIP},
        {"deflate;q=0.5, gzip;q=0.5", CODING_DEFLATE},
        {"deflate;q=2, gzip", CODING_DEFLATE},
        {"deflate;q=0.9, gzip;q=1.5", CODING_GZIP},
        {"gzip;q=10, deflate;q=11", CODING_GZIP},
        {"*, gzip", CODING_DEFLATE},
        {"gzip;q=0., deflate", CODING_DEFLATE},
        {"gzip, deflate, br, zstd", CODING_GZIP},
        {"br", CODING_IDENTITY},
        {"identity", CODING_IDENTITY},
        {"identity, gzip;q=0.5", CODING_GZIP},
        {"identity;q=0", CODING_IDENTITY},
        {"identity;q=0.5, gzip", CODING_GZIP},
        {"gzip;q=0", CODING_IDENTITY},
        {"gzip;q=0.000, deflate", CODING_DEFLATE},
        {"gzip; q=0.2, deflate; q=0.3", CODING_DEFLATE},
        {"gzip ;q=0.25,deflate;Q=0.249", CODING_GZIP},
        {"gzip;q=1.0", CODING_GZIP},
        {"*", CODING_GZIP},
        {"*;q=0", CODING_IDENTITY},
        {"*, gzip;q=0", CODING_DEFLATE},
        {"gzip;q=", CODING_IDENTITY},
        {"gzip;q=x", CODING_IDENTITY},
        {"gzip;q=-1", CODING_IDENTITY},
        {", ,gzip", CODING_GZIP},
        {";q=1", CODING_IDENTITY},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct coding_wishes wishes;
        coding_wishes_init(&wishes);
        coding_wishes_add(&wishes, str_from_c(cases[i].accept));
        if (coding_choose(&wishes) != cases[i].expected) {
            fail_msg("%s: got %d, expected %d", cases[i].accept, coding_choose(&wishes),
                     cases[i].expected);
        }
    }
}

static void test_several_lines(void **state)
{
    (void)state;
    struct coding_wishes wishes;
    coding_wishes_init(&wishes);
    coding_wishes_add(&wishes, STR("br"));
    coding_wishes_add(&wishes, STR("deflate"));
    assert_int_equal(coding_choose(&wishes), CODING_DEFLATE);
}

static struct str sample(struct buf *buf, size_t len)
{
    buf->len = 0;
    for (size_t i = 0; buf->len < len; i++) {
        buf_format(buf, "{\"id\":{\"N\":\"%zu\"}},", i * i);
    }
    buf->len = len;
    return buf_str(buf);
}

static void test_there_and_back(void **state)
{
    (void)state;
    static const size_t lens[] = {0, 1, 100, 4096, 70000, 1000000};
    struct coder coder = {0};
    struct buf text = {0};
    struct buf coded = {0};
    struct buf plain = {0};
    for (size_t i = 0; i < COUNT_OF(lens); i++) {
        struct str input = sample(&text, lens[i]);
        for (enum coding coding = CODING_GZIP; coding <= CODING_DEFLATE; coding++) {
            coded.len = 0;
            plain.len = 0;
            coder_encode(&coder, coding, input, &coded);
            assert_int_equal(coder_decode(&coder, coding, buf_str(&coded), input.len, &plain),
                             CODER_OK);
            CHECK_STR_EQ("round trip", buf_str(&plain), input);
        }
    }
    coder_finish(&coder);
    buf_finish(&text);
    buf_finish(&coded);
    buf_finish(&plain);
}

static void test_limit(void **state)
{
    (void)state;
    struct coder coder = {0};
    struct buf text = {0};
    struct buf coded = {0};
    struct buf plain = {0};
    struct str input = sample(&text, 100000);
    coder_encode(&coder, CODING_GZIP, input, &coded);
    for (size_t max = 0; max < 100000; max += 9999) {
        plain.len = 0;
        assert_int_equal(coder_decode(&coder, CODING_GZIP, buf_str(&coded), max, &plain),
                         CODER_TOO_LARGE);
        assert_true(plain.len <= max + 1);
    }
    coder_finish(&coder);
    buf_finish(&text);
    buf_finish(&coded);
    buf_finish(&plain);
}

static void test_damaged(void **state)
{
    (void)state;
    struct coder coder = {0};
    struct buf text = {0};
    struct buf coded = {0};
    struct buf plain = {0};
    struct str input = sample(&text, 500);
    coder_encode(&coder, CODING_GZIP, input, &coded);
    for (size_t len = 0; len < coded.len; len++) { /* cut short */
        plain.len = 0;
        assert_int_equal(coder_decode(&coder, CODING_GZIP, str_make(coded.data, len), 1000, &plain),
                         CODER_BAD);
    }
    coded.data[coded.len / 2] ^= 1;
    plain.len = 0;
    assert_int_equal(coder_decode(&coder, CODING_GZIP, buf_str(&coded), 1000, &plain), CODER_BAD);
    coded.len = 0;
    coder_encode(&coder, CODING_DEFLATE, input, &coded);
    buf_add(&coded, STR("more"));
    plain.len = 0;
    assert_int_equal(coder_decode(&coder, CODING_DEFLATE, buf_str(&coded), 1000, &plain),
                     CODER_BAD);
    coder_finish(&coder);
    buf_finish(&text);
    buf_finish(&coded);
    buf_finish(&plain);
}

/* Two consecutive gzip members are one text; "deflate" may be raw RFC 1951. */
static void test_variants(void **state)
{
    (void)state;
    struct coder coder = {0};
    struct buf coded = {0};
    struct buf plain = {0};
    coder_encode(&coder, CODING_GZIP, STR("one, "), &coded);
    coder_encode(&coder, CODING_GZIP, STR("two"), &coded);
    assert_int_equal(coder_decode(&coder, CODING_GZIP, buf_str(&coded), 8, &plain), CODER_OK);
    CHECK_STR_EQ("two members", buf_str(&plain), STR("one, two"));

    coded.len = 0;
    plain.len = 0;
    coder_encode(&coder, CODING_DEFLATE, STR("bare"), &coded);
    struct str bare = str_make(coded.data + 2, coded.len - 6); /* without header and checksum */
    assert_int_equal(coder_decode(&coder, CODING_DEFLATE, bare, 4, &plain), CODER_OK);
    CHECK_STR_EQ("bare deflate", buf_str(&plain), STR("bare"));
    coder_finish(&coder);
    buf_finish(&coded);
    buf_finish(&plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choice),         cmocka_unit_test(test_several_lines),
        cmocka_unit_test(test_there_and_back), cmocka_unit_test(test_limit),
        cmocka_unit_test(test_damaged),        cmocka_unit_test(test_variants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
