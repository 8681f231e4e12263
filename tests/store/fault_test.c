/* Tests store/fault: each kind of fault has the documented effect, on the planned call. */
#include "support.h"

static const struct variant in_memory = {
    .name = "memory", .url = "memory:", .cache_bytes = (size_t)1 << 20};

static int set_up(void **state)
{
    struct fixture *fixture = mem_zalloc(sizeof(*fixture));
    fixture_open(fixture, &in_memory);
    fixture->store = fault_create(fixture->inner);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    fixture_close(*state);
    mem_free(*state);
    return 0;
}

static struct str number_key(struct client *client, uint64_t number)
{
    return key_number(&client->arena, 7, 1, number);
}

static void the_nth_get_fails(void **state)
{
    struct fixture *fixture = *state;
    struct client *client = client_create(fixture);
    struct str key = number_key(client, 1);
    struct str row;
    fault_nth(fixture->store, FAULT_GET, 3);
    for (int i = 1; i <= 5; i++) {
        enum store_status expected = i == 3 ? STORE_FAILED : STORE_OK;
        assert_int_equal(client_get_many(client, &key, 1, false, &row), expected);
    }
    assert_int_equal(fault_count(fixture->store, FAULT_GET), 1);
}

static void ranges_fail_before_or_after_a_row(void **state)
{
    struct fixture *fixture = *state;
    struct client *client = client_create(fixture);
    for (uint64_t i = 0; i < 5; i++) {
        client_put(client, number_key(client, i), STR("v"));
    }
    struct range_spec all = {.lo = number_key(client, 0), .hi = number_key(client, 9)};
    struct range_spec none = {.lo = number_key(client, 8), .hi = number_key(client, 9)};
    fault_nth(fixture->store, FAULT_RANGE, 1);
    struct rows rows = client_range(client, all);
    assert_int_equal(rows.status, STORE_FAILED);
    assert_false(rows.is_unreadable); /* a later attempt may succeed */
    assert_int_equal(rows.count, 0);
    fault_nth(fixture->store, FAULT_RANGE_BAD, 1);
    rows = client_range(client, all);
    assert_int_equal(rows.status, STORE_FAILED);
    assert_true(rows.is_unreadable);
    fault_nth(fixture->store, FAULT_RANGE_MIDDLE, 2);
    rows = client_range(client, all);
    assert_int_equal(rows.status, STORE_OK);
    assert_int_equal(rows.count, 5);
    rows = client_range(client, all);
    assert_int_equal(rows.status, STORE_FAILED);
    assert_int_equal(rows.count, 1);
    fault_nth(fixture->store, FAULT_RANGE_MIDDLE, 1);
    assert_int_equal(client_range(client, none).status, STORE_OK);
}

static void updates_fail_before_or_after(void **state)
{
    struct fixture *fixture = *state;
    struct client *client = client_create(fixture);
    struct str before = number_key(client, 1);
    struct str after = number_key(client, 2);
    fault_nth(fixture->store, FAULT_UPDATE_BEFORE, 1);
    assert_int_equal(client_try_put(client, before, STR("v")), STORE_FAILED);
    fault_nth(fixture->store, FAULT_UPDATE_AFTER, 1);
    assert_int_equal(client_try_put(client, after, STR("v")), STORE_UNKNOWN);
    assert_true(str_is_null(client_get(client, before)));
    CHECK_STR_EQ("written all the same", client_get(client, after), STR("v"));
    struct str lost = number_key(client, 3);
    fault_nth(fixture->store, FAULT_UPDATE_LOST, 1);
    assert_int_equal(client_try_put(client, lost, STR("v")), STORE_UNKNOWN);
    assert_true(str_is_null(client_get(client, lost)));
}

static bool eval_counted(void *context, struct arena *arena, const struct str *rows,
                         struct store_batch *batch)
{
    ++*(int *)context;
    store_batch_put(batch, 0, number_row(arena, number_of(rows[0]) + 1));
    return true;
}

static void every_second_eval_runs_twice(void **state)
{
    struct fixture *fixture = *state;
    struct client *client = client_create(fixture);
    struct str key = number_key(client, 1);
    fault_every(fixture->store, FAULT_EVAL_TWICE, 2);
    int runs = 0;
    for (int i = 0; i < 10; i++) {
        assert_int_equal(client_update(client, &key, 1, eval_counted, &runs), STORE_OK);
    }
    assert_int_equal(runs, 15);
    assert_int_equal(number_of(client_get(client, key)), 10);
    assert_int_equal(store_seed(fixture->store), store_seed(fixture->inner));
}

#define FAULT_TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FAULT_TEST(the_nth_get_fails),
        FAULT_TEST(ranges_fail_before_or_after_a_row),
        FAULT_TEST(updates_fail_before_or_after),
        FAULT_TEST(every_second_eval_runs_twice),
    };
    return cmocka_run_group_tests_name("fault", tests, NULL, NULL);
}
