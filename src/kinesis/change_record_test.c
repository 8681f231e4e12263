/* Unit tests of the records for Kinesis streams. */
#include "kinesis/change_record.h"

#include "base/testing.h"
#include "wire/value_json.h"

static struct value item(struct arena *arena, const char *json)
{
    struct json_reader reader;
    json_reader_init(&reader, arena, str_from_c(json));
    struct value_reader values = {.json = &reader};
    builder_init(&values.builder, arena, 64);
    assert_true(value_json_read_item(&values, PLACE_MEMBER));
    return builder_finish(&values.builder);
}

static const struct record_source source = {
    .region = {"us-east-1", 9},
    .table_name = {"Music", 5},
    .space = 20,
    .seed = 7,
};

#define ID "00000000-0000-0000-0000-000000000000"

/* The record with its eventID replaced. */
static struct str written(struct arena *arena, const struct record_source *from,
                          const struct feed_record *record)
{
    struct buf out = {0};
    record_write(&out, from, record);
    struct str text = arena_copy(arena, buf_str(&out));
    buf_finish(&out);
    static const char before[] = "\"eventID\":\"";
    char *id = memmem(text.data, text.len, before, sizeof(before) - 1);
    assert_non_null(id);
    memcpy(id + sizeof(before) - 1, ID, sizeof(ID) - 1);
    return text;
}

static void test_records(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct feed_record record = {
        .slot = 1,
        .stamp = 5,
        .change = {.event = STREAM_INSERT,
                   .time_ms = 1660598951097,
                   .has_micros = true,
                   .micros = 42,
                   .size = 68,
                   .keys = item(&arena, "{\"pk\":{\"S\":\"a\\\"b\"}}"),
                   .new_image = item(&arena, "{\"b\":{\"B\":\"AQID\"},\"pk\":{\"S\":\"a\\\"b\"}}")},
    };
    CHECK_STR_EQ(
        "insert", written(&arena, &source, &record),
        STR("{\"awsRegion\":\"us-east-1\",\"eventID\":\"" ID "\",\"eventName\":\"INSERT\","
            "\"userIdentity\":null,\"recordFormat\":\"application/json\",\"tableName\":\"Music\","
            "\"dynamodb\":{\"ApproximateCreationDateTime\":1660598951097,"
            "\"Keys\":{\"pk\":{\"S\":\"a\\\"b\"}},"
            "\"NewImage\":{\"b\":{\"B\":\"QVFJRA==\"},\"pk\":{\"S\":\"a\\\"b\"}},"
            "\"SizeBytes\":68},\"eventSource\":\"aws:dynamodb\"}"));
    struct record_source precise = source;
    precise.precision = PRECISION_MICROSECOND;
    record.change.event = STREAM_REMOVE;
    record.change.by_expiry = true;
    record.change.old_image = item(&arena, "{\"n\":{\"N\":\"1\"}}");
    record.change.new_image = VALUE_ABSENT;
    CHECK_STR_EQ(
        "remove", written(&arena, &precise, &record),
        STR("{\"awsRegion\":\"us-east-1\",\"eventID\":\"" ID "\",\"eventName\":\"REMOVE\","
            "\"userIdentity\":{\"principalId\":\"dynamodb.amazonaws.com\",\"type\":\"Service\"},"
            "\"recordFormat\":\"application/json\",\"tableName\":\"Music\","
            "\"dynamodb\":{\"ApproximateCreationDateTime\":1660598951097042,"
            "\"Keys\":{\"pk\":{\"S\":\"a\\\"b\"}},\"OldImage\":{\"n\":{\"N\":\"1\"}},"
            "\"SizeBytes\":68,\"ApproximateCreationDateTimePrecision\":\"MICROSECOND\"},"
            "\"eventSource\":\"aws:dynamodb\"}"));
    arena_finish(&arena);
}

/* Binaries are encoded twice wherever they are; all else is as in responses. */
static void test_values(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        const char *out;
    } cases[] = {
        {"{}", "{}"},
        {"{\"a\":{\"L\":[]}}", "{\"a\":{\"L\":[]}}"},
        {"{\"a\":{\"L\":[{\"B\":\"AQID\"},{\"N\":\"2\"}]}}",
         "{\"a\":{\"L\":[{\"B\":\"QVFJRA==\"},{\"N\":\"2\"}]}}"},
        {"{\"a\":{\"M\":{\"b\":{\"B\":\"\"}}}}", "{\"a\":{\"M\":{\"b\":{\"B\":\"\"}}}}"},
        {"{\"a\":{\"BS\":[\"AQ==\",\"Ag==\"]}}", "{\"a\":{\"BS\":[\"QVE9PQ==\",\"QWc9PQ==\"]}}"},
        {"{\"a\":{\"SS\":[\"x\"]},\"b\":{\"NULL\":true},\"c\":{\"BOOL\":false}}",
         "{\"a\":{\"SS\":[\"x\"]},\"b\":{\"NULL\":true},\"c\":{\"BOOL\":false}}"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        arena_init(&arena);
        struct feed_record record = {.change = {.keys = item(&arena, cases[i].in)}};
        struct str text = written(&arena, &source, &record);
        struct str expected = arena_format(&arena, "\"Keys\":%s,\"SizeBytes\":0", cases[i].out);
        CHECK_STR_EQ(cases[i].in,
                     memmem(text.data, text.len, expected.data, expected.len) != NULL ? STR("found")
                                                                                      : text,
                     STR("found"));
        arena_finish(&arena);
    }
}

static struct str id_of(struct arena *arena, const struct feed_record *record)
{
    struct buf out = {0};
    record_write(&out, &source, record);
    struct str text = arena_copy(arena, buf_str(&out));
    buf_finish(&out);
    const char *id = memmem(text.data, text.len, "\"eventID\":\"", 11);
    return str_make(id + 11, 36);
}

static void test_ids(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct feed_record record = {.slot = 1, .stamp = 5};
    record.change.keys = item(&arena, "{\"pk\":{\"S\":\"a\"}}");
    struct str first = id_of(&arena, &record);
    CHECK_STR_EQ("again", id_of(&arena, &record), first);
    assert_true(first.data[8] == '-' && first.data[14] == '4' && first.data[23] == '-');
    record.stamp++;
    assert_false(str_eq(id_of(&arena, &record), first));
    char key[PARTITION_KEY_LEN];
    char same[PARTITION_KEY_LEN];
    char other[PARTITION_KEY_LEN];
    record_partition_key(&record, key);
    record.change.new_image = item(&arena, "{\"pk\":{\"S\":\"a\"},\"x\":{\"S\":\"y\"}}");
    record_partition_key(&record, same);
    record.change.keys = item(&arena, "{\"pk\":{\"S\":\"b\"}}");
    record_partition_key(&record, other);
    assert_memory_equal(key, same, sizeof(key));
    assert_memory_not_equal(key, other, sizeof(key));
    for (size_t i = 0; i < sizeof(key); i++) {
        assert_non_null(memchr("0123456789ABCDEF", key[i], 16));
    }
    arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
