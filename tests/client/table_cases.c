/* Tests of tables, their tags and streams, and of requests and answers as JSON text. Run by
 * operations.
 */
#include "operations.h"

#include <stdio.h>
#include <string.h>

static void test_tables(void **state)
{
    (void)state;
    struct gramme_error *error = NULL;
    struct gramme_answer *answer = ask(gramme_request_create("DescribeTable", table));
    const struct gramme_value *description = gramme_get(gramme_answer_root(answer), "Table");
    assert_string_equal(gramme_get_string(description, "TableStatus"), "ACTIVE");
    const struct gramme_value *keys = gramme_get(description, "KeySchema");
    assert_int_equal(gramme_value_count(keys), 2);
    assert_string_equal(gramme_get_string(gramme_value_at(keys, 1), "AttributeName"), "sk");
    gramme_answer_destroy(answer);
    assert_false(gramme_wait_table(db, "gramme-no-such-table", 50, &error));
    assert_true(gramme_error_is(error, GRAMME_TIMED_OUT));
    gramme_error_destroy(error);
}

/* Tags are changed with empty answers. */
static void test_tags(void **state)
{
    (void)state;
    if (is_local) {
        return;
    }
    char json[512];
    struct gramme_error *error = NULL;
    struct gramme_answer *answer = ask(gramme_request_create("DescribeTable", table));
    const char *arn =
        gramme_get_string(gramme_get(gramme_answer_root(answer), "Table"), "TableArn");
    snprintf(json, sizeof(json),
             "{\"ResourceArn\":\"%s\",\"Tags\":[{\"Key\":\"k\",\"Value\":\"v\"}]}", arn);
    struct gramme_answer *tagged = gramme_call(db, "TagResource", json, strlen(json), &error);
    require_ok(error);
    assert_int_equal(gramme_value_count(gramme_answer_root(tagged)), 0);
    gramme_answer_destroy(tagged);
    snprintf(json, sizeof(json), "{\"ResourceArn\":\"%s\",\"TagKeys\":[\"k\"]}", arn);
    gramme_answer_destroy(gramme_call(db, "UntagResource", json, strlen(json), &error));
    require_ok(error);
    gramme_answer_destroy(answer);
}

static void test_raw_call(void **state)
{
    (void)state;
    char json[256];
    struct gramme_error *error = NULL;
    snprintf(json, sizeof(json),
             "{\"TableName\":\"%s\",\"Item\":{\"pk\":{\"S\":\"raw\"},\"sk\":{\"N\":\"1\"},"
             "\"text\":{\"S\":\"a \\\"quoted\\\" one\"}}}",
             table);
    struct gramme_answer *answer = gramme_call(db, "PutItem", json, strlen(json), &error);
    require_ok(error);
    size_t len = 99;
    assert_string_equal(gramme_answer_json(answer, &len), "{}");
    assert_int_equal(len, 2);
    gramme_answer_destroy(answer);
    answer = get("raw", 1);
    assert_string_equal(gramme_get_string(gramme_answer_item(answer), "text"), "a \"quoted\" one");
    gramme_answer_destroy(answer);
    answer = gramme_call(db, "ListTables", "{}", 2, NULL);
    bool found = false;
    const struct gramme_value *names = gramme_get(gramme_answer_root(answer), "TableNames");
    for (size_t i = 0; i < gramme_value_count(names); i++) {
        found = found || strcmp(gramme_value_string(gramme_value_at(names, i)), table) == 0;
    }
    assert_true(found);
    gramme_answer_destroy(answer);
}

/* All records of a stream's shards so far that have this key; the newest image of the last. */
static struct gramme_value *find_image(const char *stream, const char *pk)
{
    struct gramme_value *image = NULL;
    struct gramme_request *describe = gramme_request_create("DescribeStream", NULL);
    gramme_set_string(gramme_request_root(describe), "StreamArn", stream);
    struct gramme_answer *answer = ask(describe);
    const struct gramme_value *shards =
        gramme_get(gramme_get(gramme_answer_root(answer), "StreamDescription"), "Shards");
    for (size_t i = 0; i < gramme_value_count(shards); i++) {
        struct gramme_request *request = gramme_request_create("GetShardIterator", NULL);
        gramme_set_string(gramme_request_root(request), "StreamArn", stream);
        gramme_set_string(gramme_request_root(request), "ShardId",
                          gramme_get_string(gramme_value_at(shards, i), "ShardId"));
        gramme_set_string(gramme_request_root(request), "ShardIteratorType", "TRIM_HORIZON");
        struct gramme_answer *iterator = ask(request);
        request = gramme_request_create("GetRecords", NULL);
        gramme_set_string(gramme_request_root(request), "ShardIterator",
                          gramme_get_string(gramme_answer_root(iterator), "ShardIterator"));
        gramme_answer_destroy(iterator);
        struct gramme_answer *got = ask(request);
        const struct gramme_value *records = gramme_get(gramme_answer_root(got), "Records");
        for (size_t j = 0; j < gramme_value_count(records); j++) {
            const struct gramme_value *change = gramme_get(gramme_value_at(records, j), "dynamodb");
            if (strcmp(gramme_get_string(gramme_get(change, "Keys"), "pk"), pk) == 0) {
                gramme_value_destroy(image);
                image = gramme_value_copy(gramme_get(change, "NewImage"));
            }
        }
        gramme_answer_destroy(got);
    }
    gramme_answer_destroy(answer);
    return image;
}

/* Streams are another service at the same address. */
static void test_stream(void **state)
{
    (void)state;
    put("stream", 1, "ann");
    struct gramme_answer *answer = ask(gramme_request_create("DescribeTable", table));
    struct gramme_value *image = find_image(
        gramme_get_string(gramme_get(gramme_answer_root(answer), "Table"), "LatestStreamArn"),
        "stream");
    assert_string_equal(gramme_get_string(image, "owner"), "ann");
    assert_int_equal(gramme_get_int(image, "sk", 0), 1);
    gramme_value_destroy(image);
    gramme_answer_destroy(answer);
}

int table_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_tags),
        cmocka_unit_test(test_raw_call),
        cmocka_unit_test(test_stream),
    };
    return cmocka_run_group_tests_name("tables", tests, NULL, NULL);
}
