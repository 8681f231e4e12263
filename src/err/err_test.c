/* Errors: the first one stays; names and statuses; memory that ran out. */
#include "err/err.h"

#include "base/testing.h"

static void test_first_stays(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    assert_false(err_set(&err, ERR_VALIDATION, "%.*s is %d", STR_ARG(STR("a")), 1));
    assert_false(err_set(&err, ERR_INTERNAL, "later"));
    assert_false(err_set_str(&err, ERR_INTERNAL, STR("later")));
    assert_int_equal(err.code, ERR_VALIDATION);
    CHECK_STR_EQ("message", err.message, STR("a is 1"));
    arena_finish(&arena);
}

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(err_wire_name(ERR_VALIDATION), "ValidationException");
    assert_string_equal(err_wire_type(ERR_VALIDATION),
                        "com.amazon.coral.validate#ValidationException");
    assert_int_equal(err_http_status(ERR_VALIDATION), 400);
    for (int code = ERR_NONE + 1; code < ERR_CODE_COUNT; code++) {
        assert_true(err_http_status((enum err_code)code) >= 400);
    }
}

static void test_over_budget(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct memory_pool pool = {.bytes_max = 1000};
    struct budget own;
    struct budget pooled;
    budget_init(&own, NULL, 10);
    budget_init(&pooled, &pool, 0);
    budget_charge(&own, 11);
    budget_charge(&pooled, 1001);
    struct err err = ERR_INIT(&arena);
    assert_false(err_set_over_budget(&err, &own));
    assert_int_equal(err.code, ERR_VALIDATION);
    err = ERR_INIT(&arena);
    assert_false(err_set_over_budget(&err, &pooled));
    assert_int_equal(err.code, ERR_OVERLOADED);
    assert_int_equal(err_http_status(err.code), 503);
    arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_stays),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_over_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
