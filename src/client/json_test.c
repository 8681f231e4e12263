/* Tests that JSON is unchanged by reading and writing it, for each form, and which JSON is refused.
 */
#include "base/testing.h"
#include "client/error_internal.h"

static const struct {
    enum gramme_form form;
    const char *json;
} same[] = {
    {GRAMME_PLAIN, "[1,-2.50,1e9,\"x\",true,false,null,[],{},{\"a\":{\"S\":\"x\"}}]"},
    {GRAMME_PLAIN, "\"just text\""},
    {GRAMME_TYPED, "{}"},
    {GRAMME_TYPED,
     "{\"Item\":{\"M\":{\"Key\":{\"S\":\"x\"}}},\"e\":{\"L\":[]},\"s\":{\"S\":\"\"}}"},
    /* Attribute values stand where the names say, and only there. */
    {GRAMME_WIRE, "{\"TableName\":\"T\",\"Item\":{\"pk\":{\"S\":\"a\"}},\"Limit\":5}"},
    {GRAMME_WIRE, "{\"Items\":[{\"pk\":{\"N\":\"1\"}}],\"Count\":1,"
                  "\"LastEvaluatedKey\":{\"pk\":{\"B\":\"AA==\"}}}"},
    {GRAMME_WIRE,
     "{\"TransactItems\":[{\"Put\":{\"TableName\":\"T\",\"Item\":{\"a\":{\"S\":\"b\"}}}},"
     "{\"Update\":{\"Key\":{\"a\":{\"S\":\"b\"}},"
     "\"ExpressionAttributeValues\":{\":v\":{\"NULL\":true}}}}]}"},
    {GRAMME_WIRE, "{\"Parameters\":[{\"S\":\"a\"},{\"L\":[{\"N\":\"1\"}]}]}"},
    {GRAMME_WIRE, "{\"CancellationReasons\":[{\"Code\":\"None\"},"
                  "{\"Code\":\"X\",\"Item\":{\"a\":{\"SS\":[\"b\"]}}}]}"},
    {GRAMME_WIRE, "{\"Responses\":[{\"Item\":{\"a\":{\"S\":\"b\"}}},{}]}"},
    {GRAMME_WIRE, "{\"Records\":[{\"dynamodb\":{\"Keys\":{\"a\":{\"S\":\"b\"}},"
                  "\"NewImage\":{\"a\":{\"S\":\"b\"}}}}]}"},
    /* Tables and indexes may be called anything. */
    {GRAMME_WIRE, "{\"RequestItems\":{\"Key\":{\"Keys\":[{\"a\":{\"S\":\"b\"}}]},"
                  "\"Items\":[{\"PutRequest\":{\"Item\":{\"a\":{\"S\":\"b\"}}}},"
                  "{\"DeleteRequest\":{\"Key\":{\"a\":{\"S\":\"b\"}}}}]}}"},
    {GRAMME_WIRE, "{\"Responses\":{\"Item\":[{\"a\":{\"S\":\"b\"}}]},"
                  "\"UnprocessedKeys\":{\"Keys\":{\"Keys\":[{\"a\":{\"S\":\"b\"}}]}}}"},
    {GRAMME_WIRE, "{\"ItemCollectionMetrics\":{\"ItemCollectionKey\":{\"a\":{\"S\":\"b\"}},"
                  "\"SizeEstimateRangeGB\":[0.0,1.0]}}"},
    {GRAMME_WIRE, "{\"ItemCollectionMetrics\":{\"ItemCollectionKey\":["
                  "{\"ItemCollectionKey\":{\"a\":{\"S\":\"b\"}},\"SizeEstimateRangeGB\":[0,1]}]}}"},
    {GRAMME_WIRE, "{\"ConsumedCapacity\":{\"GlobalSecondaryIndexes\":{\"Items\":"
                  "{\"CapacityUnits\":0.5}}},\"Table\":{\"Key\":{\"x\":1}}}"},
    {GRAMME_WIRE, "{\"Tags\":[{\"Key\":\"k\",\"Value\":\"v\"}],"
                  "\"ExpressionAttributeNames\":{\"#k\":\"Key\"}}"},
};

static void test_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(same); i++) {
        struct gramme_error *error = NULL;
        struct gramme_value *value =
            gramme_value_from_json(same[i].json, strlen(same[i].json), same[i].form, &error);
        if (value == NULL) {
            fail_msg("%s: %s", same[i].json, gramme_error_message(error));
        }
        size_t len;
        char *json = gramme_value_to_json(value, same[i].form, &len);
        CHECK_STR_EQ("again", str_make(json, len), str_from_c(same[i].json));
        struct gramme_value *copy = gramme_value_copy(value);
        assert_true(gramme_value_equal(copy, value));
        gramme_value_destroy(copy);
        gramme_free(json);
        gramme_value_destroy(value);
    }
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        enum gramme_form form;
        const char *json;
    } rows[] = {
        {GRAMME_PLAIN, ""},
        {GRAMME_PLAIN, "{"},
        {GRAMME_PLAIN, "{\"a\":1,}"},
        {GRAMME_PLAIN, "1 2"},
        {GRAMME_PLAIN, "\"\xff\""},
        {GRAMME_TYPED, "[]"},
        {GRAMME_TYPED, "{\"a\":\"b\"}"},
        {GRAMME_TYPED, "{\"a\":{}}"},
        {GRAMME_TYPED, "{\"a\":{\"S\":\"b\",\"N\":\"1\"}}"},
        {GRAMME_TYPED, "{\"a\":{\"X\":\"b\"}}"},
        {GRAMME_TYPED, "{\"a\":{\"N\":\"b\"}}"},
        {GRAMME_TYPED, "{\"a\":{\"B\":\"?\"}}"},
        {GRAMME_TYPED, "{\"a\":{\"SS\":[1]}}"},
        {GRAMME_WIRE, "{\"Item\":{\"a\":\"b\"}}"},
        {GRAMME_WIRE, "3"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct gramme_error *error = NULL;
        struct gramme_value *value =
            gramme_value_from_json(rows[i].json, strlen(rows[i].json), rows[i].form, &error);
        if (value != NULL || !gramme_error_is(error, GRAMME_BAD_JSON) ||
            gramme_error_message(error)[0] == '\0') {
            fail_msg("%s: accepted, or refused with another message", rows[i].json);
        }
        gramme_error_destroy(error);
    }
}

/* Of two entries of one name the last is found. */
static void test_duplicates(void **state)
{
    (void)state;
    static const char json[] = "{\"a\":1,\"a\":2}";
    struct gramme_value *value = gramme_value_from_json(json, sizeof(json) - 1, GRAMME_PLAIN, NULL);
    assert_int_equal(gramme_get_int(value, "a", 0), 2);
    gramme_value_destroy(value);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_duplicates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
