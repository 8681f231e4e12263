/* Reading and writing of days. */
#include "apps/calendar/date.h"

#include "base/testing.h"

static void dates_are_read_and_written(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int day;
    } rows[] = {
        {"1970-01-01", 0},      {"1969-12-31", -1},    {"1970-01-02", 1},
        {"2000-02-29", 11016},  {"2026-11-15", 20772}, {"1900-01-01", -25567},
        {"2999-12-31", 376199},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int day;
        char text[DATE_SIZE];
        assert_true(date_parse(rows[i].text, &day));
        assert_int_equal(day, rows[i].day);
        date_format(text, day);
        assert_string_equal(text, rows[i].text);
    }
}

static void what_is_no_date_is_refused(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "",           "2026",       "2026-2-09",   "2026-02-9",  "2026-02-30", "2026-13-01",
        "2026-00-01", "2026-01-00", "1899-12-31",  "3000-01-01", "2026/01/01", "2026-+1-01",
        "2026- 1-01", "2100-02-29", "2026-01-01T", "abcd-ef-gh",
    };
    int day = 7;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_false(date_parse(rows[i], &day));
    }
    assert_false(date_parse(NULL, &day));
    assert_int_equal(day, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dates_are_read_and_written),
        cmocka_unit_test(what_is_no_date_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
