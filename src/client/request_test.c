/* Unit tests of requests as JSON, cursors, and errors made from responses. */
#include "base/testing.h"
#include "client/client_internal.h"

static void check_request(const char *what, struct gramme_request *request, const char *expected)
{
    char *json = gramme_value_to_json(gramme_request_root(request), GRAMME_WIRE, NULL);
    CHECK_STR_EQ(what, str_from_c(json), str_from_c(expected));
    gramme_free(json);
    gramme_request_destroy(request);
}

static void test_put(void **state)
{
    (void)state;
    struct gramme_request *put = gramme_request_create("PutItem", "Calls");
    gramme_set_string(gramme_request_item(put), "userId", "u");
    gramme_set_int(gramme_request_item(put), "at", 5);
    gramme_request_condition(put, "attribute_not_exists(#u)");
    gramme_request_name(put, "#u", "userId");
    gramme_request_return(put, "ALL_OLD");
    gramme_request_return_on_failure(put);
    gramme_request_return_capacity(put);
    check_request(
        "PutItem", put,
        "{\"TableName\":\"Calls\",\"Item\":{\"userId\":{\"S\":\"u\"},\"at\":{\"N\":\"5\"}},"
        "\"ConditionExpression\":\"attribute_not_exists(#u)\","
        "\"ExpressionAttributeNames\":{\"#u\":\"userId\"},\"ReturnValues\":\"ALL_OLD\","
        "\"ReturnValuesOnConditionCheckFailure\":\"ALL_OLD\","
        "\"ReturnConsumedCapacity\":\"INDEXES\"}");
}

static void test_query(void **state)
{
    (void)state;
    struct gramme_request *query = gramme_request_create("Query", "Calls");
    gramme_request_index(query, "byUser");
    gramme_request_key_condition(query, "u = :u");
    gramme_request_filter(query, "v > :v");
    gramme_request_projection(query, "a, b");
    gramme_set_string(gramme_request_values(query), ":u", "x");
    gramme_set_int(gramme_request_values(query), ":v", 1);
    gramme_request_limit(query, 10);
    gramme_request_descending(query);
    gramme_request_consistent(query);
    struct gramme_value *key = gramme_map_create();
    gramme_set_string(key, "u", "x");
    gramme_request_start(query, key);
    gramme_value_destroy(key);
    check_request("Query", query,
                  "{\"TableName\":\"Calls\",\"IndexName\":\"byUser\","
                  "\"KeyConditionExpression\":\"u = :u\",\"FilterExpression\":\"v > :v\","
                  "\"ProjectionExpression\":\"a, b\","
                  "\"ExpressionAttributeValues\":{\":u\":{\"S\":\"x\"},\":v\":{\"N\":\"1\"}},"
                  "\"Limit\":10,\"ScanIndexForward\":false,\"ConsistentRead\":true,"
                  "\"ExclusiveStartKey\":{\"u\":{\"S\":\"x\"}}}");
}

static void test_transaction(void **state)
{
    (void)state;
    struct gramme_request *all = gramme_request_create("TransactWriteItems", NULL);
    gramme_set_string(gramme_request_item(gramme_transact_put(all, "A")), "k", "1");
    struct gramme_request *update = gramme_transact_update(all, "B");
    gramme_set_string(gramme_request_key(update), "k", "2");
    gramme_request_update(update, "SET n = :n");
    gramme_set_int(gramme_request_values(update), ":n", 3);
    gramme_set_string(gramme_request_key(gramme_transact_delete(all, "C")), "k", "3");
    struct gramme_request *check = gramme_transact_check(all, "D");
    gramme_set_string(gramme_request_key(check), "k", "4");
    gramme_request_condition(check, "attribute_exists(k)");
    gramme_transact_token(all, "token");
    check_request(
        "TransactWriteItems", all,
        "{\"TransactItems\":[{\"Put\":{\"TableName\":\"A\",\"Item\":{\"k\":{\"S\":\"1\"}}}},"
        "{\"Update\":{\"TableName\":\"B\",\"Key\":{\"k\":{\"S\":\"2\"}},"
        "\"UpdateExpression\":\"SET n = :n\","
        "\"ExpressionAttributeValues\":{\":n\":{\"N\":\"3\"}}}},"
        "{\"Delete\":{\"TableName\":\"C\",\"Key\":{\"k\":{\"S\":\"3\"}}}},"
        "{\"ConditionCheck\":{\"TableName\":\"D\",\"Key\":{\"k\":{\"S\":\"4\"}},"
        "\"ConditionExpression\":\"attribute_exists(k)\"}}],"
        "\"ClientRequestToken\":\"token\"}");
}

static void test_batches(void **state)
{
    (void)state;
    struct gramme_request *write = gramme_request_create("BatchWriteItem", NULL);
    gramme_set_int(gramme_batch_put(write, "A"), "k", 1);
    gramme_set_int(gramme_batch_delete(write, "B"), "k", 2);
    gramme_set_int(gramme_batch_put(write, "A"), "k", 3);
    check_request("BatchWriteItem", write,
                  "{\"RequestItems\":{\"A\":[{\"PutRequest\":{\"Item\":{\"k\":{\"N\":\"1\"}}}},"
                  "{\"PutRequest\":{\"Item\":{\"k\":{\"N\":\"3\"}}}}],"
                  "\"B\":[{\"DeleteRequest\":{\"Key\":{\"k\":{\"N\":\"2\"}}}}]}}");
    struct gramme_request *read = gramme_request_create("BatchGetItem", NULL);
    gramme_set_int(gramme_batch_get(read, "A"), "k", 1);
    gramme_set_bool(gramme_batch_table(read, "A"), "ConsistentRead", true);
    check_request("BatchGetItem", read,
                  "{\"RequestItems\":{\"A\":{\"Keys\":[{\"k\":{\"N\":\"1\"}}],"
                  "\"ConsistentRead\":true}}}");
}

/* Using a builder of another operation is a mistake, but what it returns can still be filled. */
static void test_wrong_parts(void **state)
{
    (void)state;
    struct gramme_request *put = gramme_request_create("PutItem", "A");
    struct gramme_request *part = gramme_transact_put(put, "A");
    gramme_set_int(gramme_request_item(part), "k", 1);
    gramme_request_condition(part, "x");
    assert_string_equal(gramme_value_problem(gramme_request_root(put)),
                        "PutItem: a part that belongs in TransactWriteItems");
    gramme_request_destroy(put);
    struct gramme_request *query = gramme_request_create("Query", "A");
    gramme_set_int(gramme_batch_put(query, "A"), "k", 1);
    assert_string_equal(gramme_value_problem(gramme_request_root(query)),
                        "Query: an entry that belongs in BatchWriteItem");
    gramme_request_destroy(query);
}

static void test_cursor(void **state)
{
    (void)state;
    struct gramme_answer *answer = answer_create();
    assert_null(gramme_answer_cursor(answer));
    struct gramme_value *key = gramme_set_map(answer->tree->root, "LastEvaluatedKey");
    gramme_set_string(key, "pk", "\xc3\xbf\xc3\xbf?>~~");
    gramme_set_binary(key, "sk", "\xff\xfe", 2);
    char *cursor = gramme_answer_cursor(answer);
    assert_int_equal(strspn(cursor, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                    "0123456789-_"),
                     strlen(cursor));
    struct gramme_request *query = gramme_request_create("Query", "A");
    assert_true(gramme_request_cursor(query, cursor));
    assert_true(
        gramme_value_equal(gramme_get(gramme_request_root(query), "ExclusiveStartKey"), key));
    static const char *const bad[] = {"", "?", "e30", "AAAA", "W10", "eyJhIjoxfQ"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_false(gramme_request_cursor(query, bad[i]));
    }
    assert_false(gramme_request_cursor(query, NULL));
    gramme_free(cursor);
    gramme_request_destroy(query);
    gramme_answer_destroy(answer);
}

static void test_errors(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *body;
        const char *code;
        const char *message;
        bool retryable;
    } rows[] = {
        {400, "{\"__type\":\"com.amazon.coral.validate#ValidationException\",\"message\":\"m\"}",
         GRAMME_VALIDATION, "m", false},
        {400,
         "{\"__type\":\"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException\","
         "\"Message\":\"M\"}",
         GRAMME_NOT_FOUND, "M", false},
        {400, "{\"__type\":\"x#ProvisionedThroughputExceededException\"}",
         GRAMME_THROUGHPUT_EXCEEDED, GRAMME_THROUGHPUT_EXCEEDED, true},
        {500, "{\"__type\":\"x#InternalServerError\",\"message\":\"m\"}",
         GRAMME_INTERNAL_SERVER_ERROR, "m", true},
        {400, "{\"__type\":\"TransactionConflictException:http://x\"}", GRAMME_TRANSACTION_CONFLICT,
         GRAMME_TRANSACTION_CONFLICT, true},
        {400,
         "{\"__type\":\"x#TransactionCanceledException\",\"Message\":\"m\","
         "\"CancellationReasons\":[{\"Code\":\"None\"},{\"Code\":\"TransactionConflict\"}]}",
         GRAMME_TRANSACTION_CANCELED, "m", true},
        {400,
         "{\"__type\":\"x#TransactionCanceledException\",\"Message\":\"m\","
         "\"CancellationReasons\":[{\"Code\":\"ConditionalCheckFailed\"},"
         "{\"Code\":\"TransactionConflict\"}]}",
         GRAMME_TRANSACTION_CANCELED, "m", false},
        {502, "<html>Bad gateway</html>", GRAMME_BAD_ANSWER,
         "HTTP status 502: <html>Bad gateway</html>", true},
        {404, "", GRAMME_BAD_ANSWER, "HTTP status 404: ", false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct gramme_error *error = NULL;
        error_set_answer(&error, rows[i].status, str_from_c(rows[i].body), STR("id"));
        CHECK_STR_EQ(rows[i].body, str_from_c(gramme_error_code(error)), str_from_c(rows[i].code));
        CHECK_STR_EQ(rows[i].body, str_from_c(gramme_error_message(error)),
                     str_from_c(rows[i].message));
        assert_int_equal(gramme_error_status(error), rows[i].status);
        assert_int_equal(gramme_error_retryable(error), rows[i].retryable);
        assert_string_equal(gramme_error_request_id(error), "id");
        gramme_error_destroy(error);
    }
}

static void test_no_error(void **state)
{
    (void)state;
    assert_string_equal(gramme_error_code(NULL), "");
    assert_string_equal(gramme_error_message(NULL), "");
    assert_false(gramme_error_is(NULL, GRAMME_NOT_FOUND));
    assert_false(gramme_error_retryable(NULL));
    assert_int_equal(gramme_error_reason_count(NULL), 0);
    assert_string_equal(gramme_error_reason_code(NULL, 0), "");
    assert_null(gramme_error_item(NULL));
    gramme_error_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_put),         cmocka_unit_test(test_query),
        cmocka_unit_test(test_transaction), cmocka_unit_test(test_batches),
        cmocka_unit_test(test_wrong_parts), cmocka_unit_test(test_cursor),
        cmocka_unit_test(test_errors),      cmocka_unit_test(test_no_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
