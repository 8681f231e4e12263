/* Unit tests of the command line. */
#include "bench/options_internal.h"

#include "base/buf.h"
#include "base/testing.h"

enum { WORDS_MAX = 8 };

static const struct {
    const char *words[WORDS_MAX];
    const char *expected;
} rows[] = {
    {{"get"}, "get http://127.0.0.1:8000 64 5.00 1024 fresh=0 dummy"},
    {{"put", "--size", "100", "--fresh"}, "put http://127.0.0.1:8000 64 5.00 100 fresh=1 dummy"},
    {{"--connections=512", "get", "--seconds=0.25", "--auth", "none"},
     "get http://127.0.0.1:8000 512 0.25 1024 fresh=0 none"},
    {{"get", "--endpoint", "http://[::1]:9/x"}, "get http://[::1]:9/x 64 5.00 1024 fresh=0 dummy"},
    {{"--limit", "fsync"}, "- http://127.0.0.1:8000 64 5.00 1024 fresh=0 dummy"},
    {{NULL}, "name a work item, or a limit with --limit"},
    {{"get", "--limit", "fsync"}, "--limit goes without a work item"},
    {{"get", "put"}, "unexpected argument 'put'"},
    {{"get", "--size"}, "--size needs a value"},
    {{"get", "--size", "63"},
     "'63' is not a valid value for --size: expected a number from 64 to 409600"},
    {{"get", "--size", "1K"},
     "'1K' is not a valid value for --size: expected a number from 64 to 409600"},
    {{"get", "--seconds", "x"},
     "'x' is not a valid value for --seconds: expected a number from 0.01 to 86400"},
    {{"get", "--seconds", "nan"},
     "'nan' is not a valid value for --seconds: expected a number from 0.01 to 86400"},
    {{"get", "--fresh=yes"}, "--fresh takes no value"},
    {{"get", "--colour", "red"}, "unknown option --colour"},
    {{"get", "--auth", "any"}, "--auth is dummy, sign or none"},
};

static void test_arguments(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct buf out = {0};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int count = 0;
        while (count < WORDS_MAX && rows[i].words[count] != NULL) {
            count++;
        }
        struct err err = ERR_INIT(&arena);
        struct bench_options options;
        out.len = 0;
        if (options_read(count, (char **)rows[i].words, &options, &err)) {
            struct str workload = str_is_null(options.workload) ? STR("-") : options.workload;
            buf_format(&out, "%.*s %.*s %d %.2f %d fresh=%d %.*s", STR_ARG(workload),
                       STR_ARG(options.endpoint), (int)options.connections, options.seconds,
                       (int)options.size, options.fresh, STR_ARG(options.auth));
        } else {
            buf_add(&out, err.message);
        }
        CHECK_STR_EQ(rows[i].expected, buf_str(&out), str_from_c(rows[i].expected));
    }
    buf_finish(&out);
    arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_arguments)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
