/* The trusted clock, by rows of what the clocks say: times in seconds. */
#include "base/testing.h"
#include "engine/trusted_clock.h"

enum { HOUR = 3600, DAY = 24 * HOUR, CONFIRM = 600 };

struct row {
    int64_t boot_s;
    int64_t wall_s;
    enum trusted_look look;
    int64_t trusted_s;
};

static void start(struct trusted_clock *clock, int64_t offset_s)
{
    trusted_clock_init(clock, (int64_t)CONFIRM * 1000);
    atomic_store(&clock->offset_ms, offset_s * 1000);
}

static void check_row(struct trusted_clock *clock, const struct row *row)
{
    enum trusted_look look = trusted_clock_look(clock, row->wall_s * 1000, row->boot_s * 1000);
    assert_int_equal(look, row->look);
    assert_int_equal(trusted_clock_at(clock, row->wall_s * 1000, row->boot_s * 1000),
                     row->trusted_s * 1000);
}

#define CHECK_ROWS(clock_, rows_)                                                                  \
    for (size_t i = 0; i < COUNT_OF(rows_); i++) {                                                 \
        check_row(clock_, &(rows_)[i]);                                                            \
    }

static void test_even(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {1, 1001, TRUSTED_FINE, 1001},
        {2, 1002, TRUSTED_FINE, 1002},
        {3, 1003 + HOUR - 1, TRUSTED_FINE, 1003 + HOUR - 1}, /* a step of NTP, or summer time */
        {4, 1004 + HOUR - 1, TRUSTED_FINE, 1004 + HOUR - 1},
        {5, 900, TRUSTED_FINE, 900}, /* back is fine: nothing is deleted too early */
        {6, 901, TRUSTED_FINE, 901},
        {90 * DAY, 90 * DAY + 895, TRUSTED_FINE, 90 * DAY + 895}, /* the thread was held up */
    };
    struct trusted_clock clock;
    start(&clock, 1000);
    CHECK_ROWS(&clock, rows);
}

static void test_jump_of_seconds(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {1, 1001, TRUSTED_FINE, 1001},
        {2, 1002 + 31 * DAY, TRUSTED_JUMPED, 1002},
        {3, 1003 + 31 * DAY, TRUSTED_DOUBTED, 1003},
        {4, 1004 + 31 * DAY, TRUSTED_DOUBTED, 1004},
        {5, 1005, TRUSTED_CAME_BACK, 1005},
        {6, 1006, TRUSTED_FINE, 1006},
    };
    struct trusted_clock clock;
    start(&clock, 1000);
    /* A jump has no effect before the next comparison of the clocks. */
    assert_int_equal(trusted_clock_at(&clock, (1000 + 31 * DAY) * 1000LL, 0), 1000 * 1000);
    CHECK_ROWS(&clock, rows);
}

static void test_confirmed_by_time(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {1, 1001 + DAY, TRUSTED_JUMPED, 1001},
        {CONFIRM, 1000 + CONFIRM + DAY, TRUSTED_DOUBTED, 1000 + CONFIRM},
        {CONFIRM + 1, 1001 + CONFIRM + DAY, TRUSTED_CONFIRMED, 1001 + CONFIRM + DAY},
        {CONFIRM + 2, 1002 + CONFIRM + DAY, TRUSTED_FINE, 1002 + CONFIRM + DAY},
    };
    struct trusted_clock clock;
    start(&clock, 1000);
    CHECK_ROWS(&clock, rows);
}

/* One that jumps on is doubted anew each time. */
static void test_uneven(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {1, 1001 + DAY, TRUSTED_JUMPED, 1001},
        {CONFIRM, 1000 + CONFIRM + 2 * DAY, TRUSTED_DOUBTED, 1000 + CONFIRM},
        {2 * CONFIRM - 1, 999 + 2 * CONFIRM + 2 * DAY, TRUSTED_DOUBTED, 999 + 2 * CONFIRM},
        {2 * CONFIRM, 1010 + 2 * CONFIRM + 2 * DAY, TRUSTED_CONFIRMED,
         1010 + 2 * CONFIRM + 2 * DAY},
    };
    struct trusted_clock clock;
    start(&clock, 1000);
    CHECK_ROWS(&clock, rows);
}

static void test_confirmed_by_operator(void **state)
{
    (void)state;
    static const struct row before[] = {{1, 1001 + DAY, TRUSTED_JUMPED, 1001}};
    static const struct row after[] = {
        {2, 1002 + DAY, TRUSTED_CONFIRMED, 1002 + DAY},
        {3, 1003 + DAY, TRUSTED_FINE, 1003 + DAY},
    };
    struct trusted_clock clock;
    start(&clock, 1000);
    CHECK_ROWS(&clock, before);
    trusted_clock_confirm(&clock, (1002 + DAY) * 1000, 2000);
    assert_int_equal(trusted_clock_at(&clock, (1002 + DAY) * 1000, 2000), (1002 + DAY) * 1000);
    CHECK_ROWS(&clock, after);
}

/* The clock is set and confirmed between reading it and comparing it. */
static void test_confirmed_meanwhile(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {2, 1002, TRUSTED_FINE, 1002},
        {3, 1003 + DAY, TRUSTED_FINE, 1003 + DAY},
    };
    struct trusted_clock clock;
    start(&clock, 1000);
    trusted_clock_confirm(&clock, (1002 + DAY) * 1000, 2000);
    CHECK_ROWS(&clock, rows);
}

static enum trusted_look resume(struct trusted_clock *clock, int64_t stored_s, int64_t wall_s)
{
    struct trusted_time stored = {.trusted_ms = stored_s * 1000};
    return trusted_clock_resume(clock, &stored, wall_s * 1000, 0, false);
}

/* The server was down, for a short or long time, or the clock is behind. */
static void test_resume(void **state)
{
    (void)state;
    struct trusted_clock clock;
    start(&clock, 5000);
    assert_int_equal(resume(&clock, 1000, 2000), TRUSTED_FINE);
    assert_int_equal(resume(&clock, 9000, 2000), TRUSTED_FINE);
    assert_int_equal(resume(&clock, 1000, DAY), TRUSTED_JUMPED);
    static const struct row rows[] = {
        {1, DAY + 1, TRUSTED_DOUBTED, 1001},
        {CONFIRM, DAY + CONFIRM, TRUSTED_CONFIRMED, DAY + CONFIRM},
    };
    CHECK_ROWS(&clock, rows);
}

/* The server was down for ten days; the clock agrees, or is another day ahead. */
static void test_resume_in_the_same_boot(void **state)
{
    (void)state;
    enum { DOWN = 10 * DAY };
    struct trusted_clock clock;
    start(&clock, 5000);
    clock.has_boot_id = true;
    memset(clock.boot_id, 'a', sizeof(clock.boot_id));
    struct trusted_time stored = {.trusted_ms = 1000 * 1000, .has_boot_id = true, .boot_ms = 500};
    memset(stored.boot_id, 'a', sizeof(stored.boot_id));
    int64_t boot_ms = 500 + (int64_t)DOWN * 1000;
    int64_t wall_ms = (int64_t)(1000 + DOWN) * 1000;
    assert_int_equal(trusted_clock_resume(&clock, &stored, wall_ms, boot_ms, false), TRUSTED_FINE);
    assert_int_equal(
        trusted_clock_resume(&clock, &stored, wall_ms + (int64_t)DAY * 1000, boot_ms, true),
        TRUSTED_JUMPED);
    assert_int_equal(trusted_clock_at(&clock, wall_ms + (int64_t)DAY * 1000, boot_ms), wall_ms);
}

/* The machine was started again: nothing tells how long it was off, but the clock may be right. */
static void test_resume_after_a_boot(void **state)
{
    (void)state;
    struct trusted_clock clock;
    start(&clock, 5000);
    clock.has_boot_id = true;
    memset(clock.boot_id, 'b', sizeof(clock.boot_id));
    struct trusted_time stored = {.trusted_ms = 1000 * 1000, .has_boot_id = true, .boot_ms = 500};
    memset(stored.boot_id, 'a', sizeof(stored.boot_id));
    int64_t wall_ms = (int64_t)DAY * 1000;
    assert_int_equal(trusted_clock_resume(&clock, &stored, wall_ms, 9000, true), TRUSTED_FINE);
    assert_int_equal(trusted_clock_resume(&clock, &stored, wall_ms, 9000, false), TRUSTED_JUMPED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_even),
        cmocka_unit_test(test_jump_of_seconds),
        cmocka_unit_test(test_confirmed_by_time),
        cmocka_unit_test(test_uneven),
        cmocka_unit_test(test_confirmed_by_operator),
        cmocka_unit_test(test_confirmed_meanwhile),
        cmocka_unit_test(test_resume),
        cmocka_unit_test(test_resume_in_the_same_boot),
        cmocka_unit_test(test_resume_after_a_boot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
