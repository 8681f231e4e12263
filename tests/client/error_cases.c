/* Tests of requests that fail: errors of the service, and mistakes that the library finds itself.
 * Run by operations. */
#include "operations.h"

#include <stdlib.h>
#include <string.h>

static void test_errors(void **state)
{
    (void)state;
    gramme_error_destroy(
        refuse(gramme_request_create("DescribeTable", "gramme-no-such-table"), GRAMME_NOT_FOUND));
    struct gramme_request *bad = gramme_request_create("GetItem", table);
    gramme_set_string(gramme_request_key(bad), "pk", "only half of it");
    struct gramme_error *error = refuse(bad, GRAMME_VALIDATION);
    assert_true(strlen(gramme_error_message(error)) > 0);

    /* One variable serves for many calls: a good one leaves it empty. */
    struct gramme_request *list = gramme_request_create("ListTables", NULL);
    assert_true(gramme_run(db, list, &error));
    assert_null(error);
    gramme_request_destroy(list);

    assert_null(gramme_call(db, "NoSuchOperation", "{}", 2, &error));
    assert_int_equal(gramme_error_status(error), 400);
    assert_null(gramme_call(db, "List\r\nTables: x", "{}", 2, &error));
    assert_true(gramme_error_is(error, GRAMME_BAD_REQUEST));
    assert_null(gramme_call(db, "ListTables", "{", 1, &error));
    if (!is_local) {
        assert_string_equal(gramme_error_code(error), "SerializationException");
    }
    gramme_error_destroy(error);
}

static void test_mistakes_in_building(void **state)
{
    (void)state;
    struct gramme_request *request = gramme_request_create("PutItem", table);
    set_key(gramme_request_item(request), "mistake", 1);
    gramme_set_string(gramme_request_item(request), "name", NULL);
    struct gramme_error *error = refuse(request, GRAMME_BAD_REQUEST);
    assert_string_equal(gramme_error_message(error), "PutItem: a string is NULL");
    assert_int_equal(gramme_error_status(error), 0);
    gramme_error_destroy(error);
    assert_false(exists("mistake", 1));
}

/* 17 MB: no DynamoDB takes that much at once. */
static void test_request_that_is_too_large(void **state)
{
    (void)state;
    size_t len = 17 * 1024 * 1024;
    char *text = malloc(len);
    memset(text, 'x', len);
    struct gramme_request *request = gramme_request_create("PutItem", table);
    set_key(gramme_request_item(request), "large", 1);
    gramme_set_text(gramme_request_item(request), "text", text, len);
    free(text);
    struct gramme_error *error = NULL;
    assert_false(gramme_run(db, request, &error));
    assert_string_not_equal(gramme_error_message(error), "");
    gramme_error_destroy(error);
    gramme_request_destroy(request);
    assert_false(exists("large", 1));
}

int error_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_mistakes_in_building),
        cmocka_unit_test(test_request_that_is_too_large),
    };
    return cmocka_run_group_tests_name("errors", tests, NULL, NULL);
}
