/* Reading and writing of times. */
#include "apps/common/when.h"

#include "base/testing.h"

static const struct {
    const char *text;
    const char *again; /* NULL: refused */
} rows[] = {
    {"2026-02-09T12:20:25.343883Z", "2026-02-09T12:20:25.343883Z"},
    {"2026-02-09T12:20:25Z", "2026-02-09T12:20:25.000000Z"},
    {"2024-02-29T23:59:59.5Z", "2024-02-29T23:59:59.500000Z"},
    {"1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000Z"},
    {"9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"},
    {"1969-12-31T23:59:59Z", NULL},
    {"2023-02-29T00:00:00Z", NULL},
    {"2026-13-01T00:00:00Z", NULL},
    {"2026-02-09T24:00:00Z", NULL},
    {"2026-02-09T12:20:25", NULL},
    {"2026-02-09T12:20:25+01:00", NULL},
    {"2026-02-09T12:20:25.Z", NULL},
    {"2026-02-09T12:20:25.3438831Z", NULL},
    {"2026-02-09 12:20:25Z", NULL},
    {"-026-02-09T12:20:25Z", NULL},
    {"2026-02-09T12:20:2xZ", NULL},
    {"2026-02-09", NULL},
    {"", NULL},
    {NULL, NULL},
};

static void test_parse_and_format(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t when = -7;
        char again[WHEN_SIZE] = "none";
        if (when_parse(rows[i].text, &when)) {
            when_format(again, when);
        } else {
            assert_int_equal(when, -7);
        }
        assert_string_equal(again, rows[i].again == NULL ? "none" : rows[i].again);
    }
}

static void test_now(void **state)
{
    (void)state;
    char text[WHEN_SIZE];
    int64_t now = when_now();
    int64_t parsed;
    when_format_seconds(text, now);
    assert_true(when_parse(text, &parsed));
    assert_true(parsed <= now && now - parsed < WHEN_SECOND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse_and_format),
        cmocka_unit_test(test_now),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
