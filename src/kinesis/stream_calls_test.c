/* Unit tests of requests to Kinesis streams, and of reading responses. */
#include "kinesis/stream_calls.h"

#include "base/testing.h"

static void test_arns(void **state)
{
    (void)state;
    static const struct {
        const char *arn;
        const char *expected; /* region and name, or "" */
    } cases[] = {
        {"arn:aws:kinesis:us-east-1:000000000000:stream/a", "us-east-1 a"},
        {"arn:aws-cn:kinesis:cn-north-1:123456789012:stream/a-b.c", "cn-north-1 a-b.c"},
        {"arn:aws:kinesis:us-east-1:000000000000:stream/", ""},
        {"arn:aws:kinesis:us-east-1:000000000000:consumer/a", ""},
        {"arn:aws:kinesis::000000000000:stream/a", ""},
        {"arn:aws:kinesis:us-east-1::stream/a", ""},
        {"arn:aws:dynamodb:us-east-1:000000000000:table/a", ""},
        {"arn:aws:kinesis", ""},
        {"", ""},
        {"x", ""},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct str region;
        struct str name;
        struct arena arena;
        arena_init(&arena);
        bool good = stream_arn_parse(str_from_c(cases[i].arn), &region, &name);
        struct str found = STR("");
        if (good) {
            found = arena_format(&arena, "%.*s %.*s", STR_ARG(region), STR_ARG(name));
        }
        CHECK_STR_EQ(cases[i].arn, found, str_from_c(cases[i].expected));
        arena_finish(&arena);
    }
}

static void test_request(void **state)
{
    (void)state;
    struct stream_put put = {0};
    stream_put_begin(&put, STR("s\"t"));
    stream_put_add(&put, STR("A"), STR("one"));
    stream_put_add(&put, STR("B"), STR("two"));
    CHECK_STR_EQ("body", buf_str(&put.body),
                 STR("{\"StreamName\":\"s\\\"t\",\"Records\":[{\"PartitionKey\":\"A\",\"Data\":"
                     "\"b25l\"},{\"PartitionKey\":\"B\",\"Data\":\"dHdv\"}"));
    assert_true(put.count == 2 && put.bytes == 8);
    assert_true(stream_put_fits(&put, PUT_BYTES_MAX - 8));
    assert_false(stream_put_fits(&put, PUT_BYTES_MAX - 7));
    put.count = PUT_RECORDS_MAX;
    assert_false(stream_put_fits(&put, 1));
    stream_put_begin(&put, STR("s")); /* from scratch */
    assert_true(put.count == 0 && put.bytes == 0 && stream_put_fits(&put, RECORD_BYTES_MAX));
    stream_put_finish(&put);
}

static void test_responses(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        const char *expected; /* of 3 records: t taken, f failed; "": no response */
        const char *problem;
    } cases[] = {
        {"{\"FailedRecordCount\":0,\"Records\":[{\"SequenceNumber\":\"1\",\"ShardId\":\"s\"},{},{}]"
         "}",
         "ttt", ""},
        {"{\"Records\":[{},{\"ErrorCode\":\"ProvisionedThroughputExceededException\","
         "\"ErrorMessage\":\"Rate exceeded\"},{\"SequenceNumber\":\"2\"}],\"FailedRecordCount\":1}",
         "tft", "Rate exceeded"},
        {"{\"Records\":[{\"ErrorCode\":null},{},{\"ErrorCode\":\"InternalFailure\"}]}", "ttf",
         "InternalFailure"},
        {"{\"Records\":[{},{}]}", "", "the answer to PutRecords cannot be read"},
        {"{\"Records\":[{},{},{},{}]}", "", "the answer to PutRecords cannot be read"},
        {"{\"Records\":[{},{},{}]", "", "the answer to PutRecords cannot be read"},
        {"{}", "", "the answer to PutRecords cannot be read"},
        {"<html>", "", "the answer to PutRecords cannot be read"},
        {"", "", "the answer to PutRecords cannot be read"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct stream_put put = {.count = 3};
        char found[4] = "";
        if (stream_put_read(&put, str_from_c(cases[i].body))) {
            for (size_t k = 0; k < 3; k++) {
                found[k] = put.failed[k] ? 'f' : 't';
            }
        }
        CHECK_STR_EQ(cases[i].body, str_from_c(found), str_from_c(cases[i].expected));
        CHECK_STR_EQ(cases[i].body, str_from_c(put.problem), str_from_c(cases[i].problem));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arns),
        cmocka_unit_test(test_request),
        cmocka_unit_test(test_responses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
