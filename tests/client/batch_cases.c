/* Tests of batches, which may be larger than one request, and of transactions. Run by operations.
 */
#include "operations.h"

#include <string.h>

static void test_batches(void **state)
{
    (void)state;
    struct gramme_error *error = NULL;
    struct gramme_request *write = gramme_request_create("BatchWriteItem", NULL);
    struct gramme_request *read = gramme_request_create("BatchGetItem", NULL);
    for (int i = 0; i < 230; i++) {
        set_key(gramme_batch_put(write, table), "batch", i);
        set_key(gramme_batch_get(read, table), "batch", i);
    }
    set_key(gramme_batch_get(read, table), "batch", 9999); /* is not there */
    gramme_set_bool(gramme_batch_table(read, table), "ConsistentRead", true);
    gramme_set_string(gramme_batch_table(read, table), "ProjectionExpression", "sk");
    gramme_batch_write(db, write, &error);
    require_ok(error);
    struct gramme_answer *answer = gramme_batch_read(db, read, &error);
    require_ok(error);
    const struct gramme_value *items = gramme_answer_table_items(answer, table);
    assert_int_equal(gramme_value_count(items), 230);
    int64_t sum = 0;
    for (size_t i = 0; i < 230; i++) {
        assert_int_equal(gramme_value_count(gramme_value_at(items, i)), 1);
        sum += gramme_get_int(gramme_value_at(items, i), "sk", -1);
    }
    assert_int_equal(sum, 229 * 230 / 2);
    assert_null(gramme_answer_table_items(answer, "another"));
    assert_non_null(strstr(gramme_answer_json(answer, NULL), "\"Responses\""));
    gramme_answer_destroy(answer);
    gramme_request_destroy(write);

    write = gramme_request_create("BatchWriteItem", NULL);
    for (int i = 0; i < 230; i++) {
        set_key(gramme_batch_delete(write, table), "batch", i);
    }
    gramme_batch_write(db, write, &error);
    require_ok(error);
    answer = gramme_batch_read(db, read, &error);
    require_ok(error);
    assert_int_equal(gramme_value_count(gramme_answer_table_items(answer, table)), 0);
    gramme_answer_destroy(answer);
    gramme_request_destroy(write);
    gramme_request_destroy(read);
}

static void test_refused_batches(void **state)
{
    (void)state;
    struct gramme_error *error = NULL;
    struct gramme_request *write = gramme_request_create("BatchWriteItem", NULL);
    set_key(gramme_batch_put(write, "gramme-no-such-table"), "x", 1);
    assert_false(gramme_batch_write(db, write, &error));
    assert_true(gramme_error_is(error, GRAMME_NOT_FOUND));
    assert_null(gramme_batch_read(db, write, &error));
    assert_true(gramme_error_is(error, GRAMME_BAD_REQUEST));
    gramme_error_destroy(error);
    gramme_request_destroy(write);
}

static void test_transaction(void **state)
{
    (void)state;
    put("tx", 1, "ann");
    put("tx", 2, "bob");
    put("tx", 3, "carl");
    struct gramme_request *all = gramme_request_create("TransactWriteItems", NULL);
    struct gramme_request *put_part = gramme_transact_put(all, table);
    set_key(gramme_request_item(put_part), "tx", 4);
    gramme_request_condition(put_part, "attribute_not_exists(pk)");
    struct gramme_request *update = gramme_transact_update(all, table);
    set_key(gramme_request_key(update), "tx", 1);
    gramme_request_update(update, "SET #o = :o");
    gramme_request_name(update, "#o", "owner");
    gramme_set_string(gramme_request_values(update), ":o", "dora");
    set_key(gramme_request_key(gramme_transact_delete(all, table)), "tx", 2);
    struct gramme_request *checked = gramme_transact_check(all, table);
    set_key(gramme_request_key(checked), "tx", 3);
    gramme_request_condition(checked, "attribute_exists(pk)");
    run(all);

    struct gramme_request *read = gramme_request_create("TransactGetItems", NULL);
    for (int i = 1; i <= 4; i++) {
        set_key(gramme_request_key(gramme_transact_get(read, table)), "tx", i);
    }
    struct gramme_answer *answer = ask(read);
    assert_string_equal(gramme_get_string(gramme_answer_response(answer, 0), "owner"), "dora");
    assert_null(gramme_answer_response(answer, 1));
    assert_string_equal(gramme_get_string(gramme_answer_response(answer, 2), "owner"), "carl");
    assert_int_equal(gramme_get_int(gramme_answer_response(answer, 3), "sk", 0), 4);
    assert_null(gramme_answer_response(answer, 4));
    gramme_answer_destroy(answer);
}

static void test_canceled_transaction(void **state)
{
    (void)state;
    put("canceled", 1, "ann");
    struct gramme_request *all = gramme_request_create("TransactWriteItems", NULL);
    set_key(gramme_request_item(gramme_transact_put(all, table)), "canceled", 2);
    struct gramme_request *put_part = gramme_transact_put(all, table);
    set_key(gramme_request_item(put_part), "canceled", 1);
    gramme_request_condition(put_part, "attribute_not_exists(pk)");
    gramme_request_return_on_failure(put_part);
    struct gramme_error *error = refuse(all, GRAMME_TRANSACTION_CANCELED);
    assert_int_equal(gramme_error_reason_count(error), 2);
    assert_true(gramme_error_reason_is(error, 0, GRAMME_REASON_NONE));
    assert_string_equal(gramme_error_reason_message(error, 0), "");
    assert_null(gramme_error_reason_item(error, 0));
    assert_true(gramme_error_reason_is(error, 1, GRAMME_REASON_CONDITION_FAILED));
    assert_string_equal(gramme_error_reason_message(error, 1), "The conditional request failed");
    assert_string_equal(gramme_get_string(gramme_error_reason_item(error, 1), "owner"), "ann");
    assert_false(gramme_error_reason_is(error, 2, GRAMME_REASON_NONE));
    assert_false(gramme_error_retryable(error));
    gramme_error_destroy(error);
    assert_false(exists("canceled", 2));
}

/* The same request twice adds twice, with a token of its own just once. */
static void test_token(void **state)
{
    (void)state;
    put("token", 1, "ann");
    struct gramme_request *all = gramme_request_create("TransactWriteItems", NULL);
    struct gramme_request *update = gramme_transact_update(all, table);
    set_key(gramme_request_key(update), "token", 1);
    gramme_request_update(update, "ADD n :one");
    gramme_set_int(gramme_request_values(update), ":one", 1);
    struct gramme_error *error = NULL;
    assert_true(gramme_run(db, all, &error));
    assert_true(gramme_run(db, all, &error));
    char token[GRAMME_UUID_SIZE];
    gramme_uuid(token);
    gramme_transact_token(all, token);
    assert_true(gramme_run(db, all, &error));
    assert_true(gramme_run(db, all, &error));
    gramme_request_destroy(all);
    struct gramme_answer *answer = get("token", 1);
    assert_int_equal(gramme_get_int(gramme_answer_item(answer), "n", 0), 3);
    gramme_answer_destroy(answer);
}

int batch_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batches),     cmocka_unit_test(test_refused_batches),
        cmocka_unit_test(test_transaction), cmocka_unit_test(test_canceled_transaction),
        cmocka_unit_test(test_token),
    };
    return cmocka_run_group_tests_name("batchs", tests, NULL, NULL);
}
