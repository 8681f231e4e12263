/* Tests of single items: every type of a value, conditions, statements and units. Run by
 * operations. */
#include "operations.h"

static void test_every_type_comes_back(void **state)
{
    (void)state;
    struct gramme_request *request = gramme_request_create("PutItem", table);
    struct gramme_value *item = gramme_request_item(request);
    set_key(item, "types", 1);
    gramme_set_string(item, "string", "caf\xc3\xa9 \"x\" \\ \n\t\x01");
    gramme_set_string(item, "empty", "");
    gramme_set_int(item, "int", INT64_MAX);
    gramme_set_double(item, "double", -0.1);
    gramme_set_number(item, "number", "123456789012345678901234567890.12345678");
    gramme_set_bool(item, "bool", true);
    gramme_set_null(item, "null");
    gramme_set_binary(item, "binary", "\0\xff\x80", 3);
    struct gramme_value *strings = gramme_set_string_set(item, "strings");
    gramme_add_string(strings, "b");
    gramme_add_string(strings, "a");
    struct gramme_value *numbers = gramme_set_number_set(item, "numbers");
    gramme_add_int(numbers, 3);
    gramme_add_number(numbers, "1.5");
    gramme_add_binary(gramme_set_binary_set(item, "binaries"), "x", 1);
    struct gramme_value *list = gramme_set_list(item, "list");
    gramme_add_int(list, 1);
    gramme_set_string(gramme_add_map(list), "deep", "yes");
    gramme_add_null(gramme_add_list(list));
    gramme_set_list(gramme_set_map(item, "map"), "empty list");
    struct gramme_value *sent = gramme_value_copy(item);
    run(request);

    struct gramme_answer *answer = get("types", 1);
    const struct gramme_value *got = gramme_answer_item(answer);
    assert_true(gramme_value_equal(got, sent));
    assert_int_equal(gramme_get_int(got, "int", 0), INT64_MAX);
    assert_true(gramme_get_double(got, "double", 0) == -0.1);
    assert_string_equal(gramme_get_string(gramme_value_at(gramme_get(got, "list"), 1), "deep"),
                        "yes");
    size_t len;
    assert_memory_equal(gramme_get_binary(got, "binary", &len), "\0\xff\x80", 3);
    gramme_answer_destroy(answer);
    gramme_value_destroy(sent);
}

/* An item that was read can be changed and put back. */
static void test_read_change_put(void **state)
{
    (void)state;
    put("change", 1, "ann");
    struct gramme_answer *answer = get("change", 1);
    struct gramme_value *item = gramme_value_copy(gramme_answer_item(answer));
    gramme_answer_destroy(answer);
    gramme_set_string(item, "owner", "bob");
    gramme_set_int(item, "version", 2);
    struct gramme_request *request = gramme_request_create("PutItem", table);
    gramme_request_set_item(request, item);
    run(request);
    answer = get("change", 1);
    assert_true(gramme_value_equal(gramme_answer_item(answer), item));
    gramme_answer_destroy(answer);
    gramme_value_destroy(item);
}

static void test_update_and_delete(void **state)
{
    (void)state;
    put("update", 1, "ann");
    struct gramme_request *update = gramme_request_create("UpdateItem", table);
    set_key(gramme_request_key(update), "update", 1);
    gramme_request_update(update, "SET #o = :o ADD version :one");
    gramme_request_condition(update, "#o = :old");
    gramme_request_name(update, "#o", "owner");
    gramme_set_string(gramme_request_values(update), ":o", "bob");
    gramme_set_string(gramme_request_values(update), ":old", "ann");
    gramme_set_int(gramme_request_values(update), ":one", 1);
    gramme_request_return(update, "ALL_NEW");
    struct gramme_answer *answer = ask(update);
    assert_string_equal(gramme_get_string(gramme_answer_attributes(answer), "owner"), "bob");
    assert_int_equal(gramme_get_int(gramme_answer_attributes(answer), "version", 0), 1);
    gramme_answer_destroy(answer);

    struct gramme_request *delete = gramme_request_create("DeleteItem", table);
    set_key(gramme_request_key(delete), "update", 1);
    gramme_request_return(delete, "ALL_OLD");
    answer = ask(delete);
    assert_string_equal(gramme_get_string(gramme_answer_attributes(answer), "owner"), "bob");
    gramme_answer_destroy(answer);
    answer = get("update", 1);
    assert_null(gramme_answer_item(answer));
    gramme_answer_destroy(answer);
}

static void test_failed_condition(void **state)
{
    (void)state;
    put("condition", 1, "ann");
    struct gramme_request *request = gramme_request_create("PutItem", table);
    set_key(gramme_request_item(request), "condition", 1);
    gramme_request_condition(request, "attribute_not_exists(pk)");
    gramme_request_return_on_failure(request);
    struct gramme_error *error = refuse(request, GRAMME_CONDITION_FAILED);
    assert_int_equal(gramme_error_status(error), 400);
    assert_false(gramme_error_retryable(error));
    assert_int_equal(gramme_error_attempts(error), 1);
    assert_string_equal(gramme_error_message(error), "The conditional request failed");
    assert_string_equal(gramme_get_string(gramme_error_item(error), "owner"), "ann");
    gramme_error_destroy(error);
}

static void test_statement(void **state)
{
    (void)state;
    put("statement", 1, "ann");
    struct gramme_request *request = gramme_request_create("ExecuteStatement", NULL);
    gramme_set_format(gramme_request_root(request), "Statement",
                      "SELECT * FROM \"%s\" WHERE pk = ? AND sk = ?", table);
    struct gramme_value *parameters = gramme_set_list(gramme_request_root(request), "Parameters");
    gramme_add_string(parameters, "statement");
    gramme_add_int(parameters, 1);
    struct gramme_answer *answer = ask(request);
    const struct gramme_value *items = gramme_answer_items(answer);
    assert_int_equal(gramme_value_count(items), 1);
    assert_string_equal(gramme_get_string(gramme_value_at(items, 0), "owner"), "ann");
    gramme_answer_destroy(answer);
}

static void test_units(void **state)
{
    (void)state;
    put("units", 1, "ann");
    struct gramme_request *request = gramme_request_create("GetItem", table);
    set_key(gramme_request_key(request), "units", 1);
    gramme_request_consistent(request);
    gramme_request_return_capacity(request);
    struct gramme_answer *answer = ask(request);
    assert_true(gramme_answer_units(answer) == 1.0);
    gramme_answer_destroy(answer);
    struct gramme_request *read = gramme_request_create("BatchGetItem", NULL);
    set_key(gramme_batch_get(read, table), "units", 1);
    set_key(gramme_batch_get(read, table), "units", 2);
    gramme_request_return_capacity(read);
    struct gramme_error *error = NULL;
    answer = gramme_batch_read(db, read, &error);
    require_ok(error);
    assert_true(gramme_answer_units(answer) > 0);
    gramme_answer_destroy(answer);
    gramme_request_destroy(read);
}

int item_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_type_comes_back),
        cmocka_unit_test(test_read_change_put),
        cmocka_unit_test(test_update_and_delete),
        cmocka_unit_test(test_failed_condition),
        cmocka_unit_test(test_statement),
        cmocka_unit_test(test_units),
    };
    return cmocka_run_group_tests_name("items", tests, NULL, NULL);
}
