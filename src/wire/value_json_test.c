/* Unit tests of attribute values as JSON. */
#include "wire/value_json.h"

#include "base/testing.h"
#include "json/writer.h"

/* Returns what was read of an item, written as JSON again, or its fault. */
static struct str understand_as(struct arena *arena, const char *text, enum value_wording wording)
{
    struct json_reader json;
    json_reader_init(&json, arena, str_from_c(text));
    struct value_reader reader = {.json = &json, .complaint = STR_NULL};
    builder_init(&reader.builder, arena, 0);
    if (!value_json_read_item(&reader, PLACE_MEMBER) || !json_at_end(&json)) {
        return str_is_null(reader.complaint) ? STR("malformed") : reader.complaint;
    }
    if (reader.problem.fault != FAULT_NONE) {
        return value_problem_text(&reader.problem, wording, arena);
    }
    struct buf out = {0};
    value_json_write_item(&out, builder_finish(&reader.builder));
    struct str copy = arena_copy(arena, buf_str(&out));
    buf_finish(&out);
    return copy;
}

static struct str understand(struct arena *arena, const char *text)
{
    return understand_as(arena, text, WORDING_OLDER);
}

static const struct {
    const char *label;
    const char *text;
    const char *expected;
} cases[] = {
    {"sorted names", "{\"b\":{\"S\":\"x\"},\"a\":{\"BOOL\":true}}",
     "{\"a\":{\"BOOL\":true},\"b\":{\"S\":\"x\"}}"},
    {"last of equal names", "{\"a\":{\"S\":\"x\"},\"a\":{\"S\":\"y\"}}", "{\"a\":{\"S\":\"y\"}}"},
    {"numbers", "{\"a\":{\"N\":\"+01.50e1\"}}", "{\"a\":{\"N\":\"15\"}}"},
    {"sets sorted", "{\"a\":{\"NS\":[\"2\",\"10\",\"-1\"]}}",
     "{\"a\":{\"NS\":[\"-1\",\"2\",\"10\"]}}"},
    {"binary", "{\"a\":{\"B\":\"AAEC\"}}", "{\"a\":{\"B\":\"AAEC\"}}"},
    {"nested", "{\"a\":{\"M\":{\"l\":{\"L\":[{\"NULL\":true},{\"M\":{}}]}}}}",
     "{\"a\":{\"M\":{\"l\":{\"L\":[{\"NULL\":true},{\"M\":{}}]}}}}"},
    {"escapes", "{\"\\u0041\\n\":{\"S\":\"\\\"\"}}", "{\"A\\n\":{\"S\":\"\\\"\"}}"},
    {"no type", "{\"a\":{}}",
     "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"},
    {"two types", "{\"a\":{\"S\":\"x\",\"N\":\"1\"}}",
     "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the "
     "supported datatypes"},
    {"empty set", "{\"a\":{\"SS\":[]}}",
     "One or more parameter values were invalid: An string set  may not be empty"},
    {"equal members", "{\"a\":{\"SS\":[\"x\",\"x\"]}}",
     "One or more parameter values were invalid: Input collection [x, x] contains duplicates."},
    {"no number", "{\"a\":{\"N\":\"ten\"}}",
     "The parameter cannot be converted to a numeric value: ten"},
    {"number as JSON", "{\"a\":{\"N\":10}}", "NUMBER_VALUE cannot be converted to String"},
    {"text for a map", "{\"a\":\"x\"}", "Unexpected value type in payload"},
    {"cut off", "{\"a\":{\"S\":\"x\"}", "malformed"},
};

static void test_items(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        CHECK_STR_EQ(cases[i].label, understand(&arena, cases[i].text),
                     str_from_c(cases[i].expected));
    }
    arena_finish(&arena);
}

/* Messages of the current layer about equal members of sets. */
static void test_duplicates(void **state)
{
    (void)state;
    static const struct {
        const char *set;
        const char *list;
    } rows[] = {
        {"\"SS\":[\"c\",\"b\",\"a\",\"b\",\"c\"]", " [\"a\", \"b\", \"b\"]"},
        {"\"SS\":[\"\",\"x\",\"\"]", " [\"\", \"\"]"},
        {"\"SS\":[\"\\\"\",\"\\u0022\"]", " [\"\\\"\", \"\\\"\"]"},
        {"\"BS\":[\"/w==\",\"AA==\",\"/w==\"]", " [\"AA==\", \"/w==\", \"/w==\"]"},
        {"\"NS\":[\"1\",\"2\",\"1.0\"]", ""},
    };
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct str item = arena_format(&arena, "{\"a\":{%s}}%c", rows[i].set, '\0');
        struct str expected =
            arena_format(&arena,
                         "One or more parameter values were invalid: Input collection%s contains "
                         "duplicates.",
                         rows[i].list);
        CHECK_STR_EQ(rows[i].set, understand_as(&arena, item.data, WORDING_CURRENT), expected);
    }
    arena_finish(&arena);
}

/* The message is short for any number of members. */
static void test_long_duplicates(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct buf text = {0};
    JSON_PUT(&text, "{\"a\":{\"SS\":[\"z\"");
    for (int i = 0; i < 50000; i++) {
        buf_format(&text, ",\"%d\"", i);
    }
    JSON_PUT(&text, ",\"z\"]}}");
    buf_add_char(&text, '\0');
    assert_true(understand_as(&arena, text.data, WORDING_CURRENT).len < 40000);
    assert_true(understand_as(&arena, text.data, WORDING_OLDER).len < 40000);
    buf_finish(&text);
    arena_finish(&arena);
}

/* Nested lists: 32 levels including the attribute pass, one more does not. */
static void test_depth(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    for (int levels = VALUE_LEVELS_MAX - 1; levels <= VALUE_LEVELS_MAX + 1; levels++) {
        struct buf text = {0};
        JSON_PUT(&text, "{\"a\":");
        for (int i = 0; i < levels; i++) {
            JSON_PUT(&text, "{\"L\":[");
        }
        JSON_PUT(&text, "{\"S\":\"x\"}");
        for (int i = 0; i < levels; i++) {
            JSON_PUT(&text, "]}");
        }
        JSON_PUT(&text, "}");
        buf_add_char(&text, '\0');
        struct str made = understand(&arena, text.data);
        bool passes = made.data[0] == '{';
        assert_int_equal(passes, levels < VALUE_LEVELS_MAX);
        buf_finish(&text);
    }
    arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_items),
        cmocka_unit_test(test_duplicates),
        cmocka_unit_test(test_long_duplicates),
        cmocka_unit_test(test_depth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
