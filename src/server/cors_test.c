/* Tests CORS: the option --cors, which origins are allowed, and the headers. */
#include "server/cors.h"

#include "base/testing.h"

static struct arena arena;

static int setup(void **state)
{
    (void)state;
    arena_init(&arena);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_finish(&arena);
    return 0;
}

static struct cors parse(const char *text)
{
    struct err err = ERR_INIT(&arena);
    struct cors cors;
    if (!cors_parse(&arena, str_from_c(text), &cors, &err)) {
        fail_msg("'%s' is refused", text);
    }
    return cors;
}

static void test_lists(void **state)
{
    (void)state;
    assert_int_equal(parse("").count, 0);
    assert_false(parse("").any);
    assert_true(parse("*").any);
    assert_int_equal(parse("http://a, https://b:8443,,null,").count, 3);
    static const char *const bad[] = {"a",
                                      "http://",
                                      "://a",
                                      "http://a/",
                                      "http://a/x",
                                      "http://u@a",
                                      "http://a b",
                                      "http://a;https://b/",
                                      "http://\xC3\xA9"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct err err = ERR_INIT(&arena);
        struct cors cors;
        if (cors_parse(&arena, str_from_c(bad[i]), &cors, &err)) {
            fail_msg("'%s' is taken for an origin", bad[i]);
        }
    }
}

static void test_verdicts(void **state)
{
    (void)state;
    static const struct {
        const char *allowed;
        const char *origin; /* NULL: no such header */
        const char *host;
        enum cors_verdict verdict;
    } cases[] = {
        {"", NULL, "localhost:8000", CORS_NONE},
        {"*", NULL, "localhost:8000", CORS_NONE},
        {"", "http://evil.example", "localhost:8000", CORS_REFUSED},
        {"", "null", "localhost:8000", CORS_REFUSED},
        {"", "", "localhost:8000", CORS_REFUSED},
        {"", "http://", "", CORS_REFUSED},
        {"", "http://localhost:8000", "localhost:8000", CORS_SAME},
        {"", "http://LOCALHOST:8000", "localhost:8000", CORS_SAME},
        {"", "http://localhost:3000", "localhost:8000", CORS_REFUSED},
        {"", "http://localhost", "localhost:8000", CORS_REFUSED},
        {"", "http://localhost", "localhost", CORS_SAME},
        {"", "http://localhost", "localhost:80", CORS_SAME},
        {"", "https://localhost", "localhost:443", CORS_SAME},
        {"", "http://localhost", "localhost:443", CORS_REFUSED},
        {"", "http://localhost:8000.evil.example", "localhost:8000", CORS_REFUSED},
        {"", "http://evil.example/localhost:8000", "localhost:8000", CORS_REFUSED},
        {"*", "http://a.example", "localhost:8000", CORS_ALLOWED},
        {"*", "null", "localhost:8000", CORS_ALLOWED},
        {"http://a.example", "http://a.example", "localhost:8000", CORS_ALLOWED},
        {"http://a.example", "https://a.example", "localhost:8000", CORS_REFUSED},
        {"http://a.example", "http://a.example:81", "localhost:8000", CORS_REFUSED},
        {"http://a.example", "http://b.a.example", "localhost:8000", CORS_REFUSED},
        {"http://a.example", "http://a.example.evil.example", "localhost:8000", CORS_REFUSED},
        {"http://a.example", "http://localhost:8000", "localhost:8000", CORS_SAME},
        {"null", "null", "localhost:8000", CORS_ALLOWED},
        {"http://b,http://a.example", "http://a.example", "localhost:8000", CORS_ALLOWED},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct cors cors = parse(cases[i].allowed);
        struct str origin = cases[i].origin == NULL ? STR_NULL : str_from_c(cases[i].origin);
        enum cors_verdict verdict = cors_judge(&cors, origin, str_from_c(cases[i].host));
        if (verdict != cases[i].verdict) {
            fail_msg("--cors '%s', origin '%s', host '%s': got %d", cases[i].allowed,
                     cases[i].origin, cases[i].host, (int)verdict);
        }
    }
}

static void test_headers(void **state)
{
    (void)state;
    struct buf out = {0};
    struct cors any = parse("*");
    cors_write(&any, STR("http://a"), &out);
    CHECK_STR_EQ("any", buf_str(&out),
                 STR("Access-Control-Allow-Origin: *\r\nAccess-Control-Expose-Headers: "
                     "x-amzn-RequestId,x-amzn-ErrorType,x-amzn-ErrorMessage,Date\r\n"));
    out.len = 0;
    struct cors one = parse("http://a");
    cors_write_preflight(&one, STR("http://a"),
                         &(struct cors_preflight){STR("POST"), STR("x-amz-target")}, &out);
    CHECK_STR_EQ("one", buf_str(&out),
                 STR("Access-Control-Allow-Origin: http://a\r\nVary: Origin\r\n"
                     "Access-Control-Allow-Headers: x-amz-target\r\n"
                     "Access-Control-Allow-Methods: POST\r\nAccess-Control-Max-Age: 172800\r\n"));
    buf_finish(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_lists, setup, teardown),
        cmocka_unit_test_setup_teardown(test_verdicts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_headers, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
