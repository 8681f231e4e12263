/* Unit tests of the JSON reader: rows of text and what is read from it. */
#include "json/reader.h"

#include "base/buf.h"
#include "base/testing.h"
#include "json/writer.h"

/* Reads any value and writes what was read, without white space. */
static void copy_value(struct json_reader *reader, struct buf *out)
{
    struct json_string string;
    struct str number;
    bool truth;
    bool first = true;
    switch (json_peek(reader)) {
    case JSON_NULL:
        buf_add(out, json_read_null(reader) ? STR("null") : STR(""));
        break;
    case JSON_BOOL:
        if (json_read_bool(reader, &truth)) {
            json_write_bool(out, truth);
        }
        break;
    case JSON_NUMBER:
        if (json_read_number(reader, &number)) {
            buf_add(out, number);
        }
        break;
    case JSON_STRING:
        if (json_read_string(reader, &string)) {
            buf_add(out, string.plain ? STR("p") : STR(""));
            json_write_string(out, string.text);
        }
        break;
    case JSON_ARRAY:
        buf_add_char(out, '[');
        for (bool more = json_enter_array(reader); more && json_next_element(reader);
             first = false) {
            buf_add(out, first ? STR("") : STR(","));
            copy_value(reader, out);
        }
        buf_add_char(out, ']');
        break;
    case JSON_OBJECT:
        buf_add_char(out, '{');
        for (bool more = json_enter_object(reader); more && json_next_member(reader, &string);
             first = false) {
            buf_add(out, first ? STR("") : STR(","));
            json_write_string(out, string.text);
            buf_add_char(out, ':');
            copy_value(reader, out);
        }
        buf_add_char(out, '}');
        break;
    case JSON_BAD:
        json_skip(reader);
        break;
    }
}

static const struct {
    const char *text;
    const char *expected; /* NULL: refused */
} cases[] = {
    {"null", "null"},
    {" true ", "true"},
    {"[false,1, -0.5e+10 ,[]]", "[false,1,-0.5e+10,[]]"},
    {"{\"a\":{},\"b\":[{}]}", "{\"a\":{},\"b\":[{}]}"},
    {"\"plain text of more than eight bytes\"", "p\"plain text of more than eight bytes\""},
    {"\"a\\\"b\\\\c\\/\\n\\u0041\"", "\"a\\\"b\\\\c/\\nA\""},
    {"\"\\u00e9\\ud83d\\ude00\"", "p\"\xc3\xa9\xf0\x9f\x98\x80\""},
    {"\"\xc3\xa9\"", "p\"\xc3\xa9\""},
    {"\"\\u0000\"", "\"\\u0000\""},
    {"", NULL},
    {"nul", NULL},
    {"tru e", NULL},
    {"01", NULL},
    {"1.", NULL},
    {".5", NULL},
    {"+1", NULL},
    {"1e", NULL},
    {"-", NULL},
    {"[1,]", NULL},
    {"[1 2]", NULL},
    {"[", NULL},
    {"{\"a\":1,}", NULL},
    {"{\"a\" 1}", NULL},
    {"{a:1}", NULL},
    {"{\"a\":1]", NULL},
    {"\"abc", NULL},
    {"\"a\nb\"", NULL},
    {"\"\\x\"", NULL},
    {"\"\\u12\"", NULL},
    {"\"\\ud800\"", NULL},
    {"\"\\udc00\"", NULL},
    {"\"\\", NULL},
    {"\"\xff\"", NULL},
    {"\"\xc0\x80\"", NULL},
    {"\"\xed\xa0\x80\"", NULL},
    {"1 2", NULL},
    {"{} x", NULL},
};

static void test_texts(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        arena_init(&arena);
        struct buf out = {0};
        struct json_reader reader;
        json_reader_init(&reader, &arena, str_from_c(cases[i].text));
        copy_value(&reader, &out);
        bool good = json_at_end(&reader);
        if (good != (cases[i].expected != NULL)) {
            fail_msg("%s: %s", cases[i].text, good ? "accepted" : "refused");
        }
        if (good) {
            CHECK_STR_EQ(cases[i].text, buf_str(&out), str_from_c(cases[i].expected));
        }
        buf_finish(&out);
        arena_finish(&arena);
    }
}

static void test_depth(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    for (int depth = JSON_DEPTH_MAX; depth <= JSON_DEPTH_MAX + 1; depth++) {
        struct buf text = {0};
        for (int i = 0; i < depth; i++) {
            buf_add_char(&text, '[');
        }
        for (int i = 0; i < depth; i++) {
            buf_add_char(&text, ']');
        }
        struct json_reader reader;
        json_reader_init(&reader, &arena, buf_str(&text));
        bool good = json_skip(&reader) && json_at_end(&reader);
        assert_int_equal(good, depth == JSON_DEPTH_MAX);
        buf_finish(&text);
    }
    arena_finish(&arena);
}

static void test_raw(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct json_reader reader;
    json_reader_init(&reader, &arena, STR("{\"a\": [1, {\"b\": \"x\"}] , \"c\": 2}"));
    struct json_string name;
    struct str raw;
    assert_true(json_enter_object(&reader) && json_next_member(&reader, &name));
    assert_true(json_read_raw(&reader, &raw));
    CHECK_STR_EQ("raw", raw, STR("[1, {\"b\": \"x\"}]"));
    assert_true(json_next_member(&reader, &name) && json_skip(&reader));
    assert_false(json_next_member(&reader, &name));
    assert_true(json_at_end(&reader));
    arena_finish(&arena);
}

static void test_write_double(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *expected;
    } doubles[] = {{0.5, "0.5"}, {1, "1.0"}, {12.25, "12.25"}, {0, "0.0"}, {1000, "1000.0"}};
    for (size_t i = 0; i < COUNT_OF(doubles); i++) {
        struct buf out = {0};
        json_write_double(&out, doubles[i].value);
        CHECK_STR_EQ("double", buf_str(&out), str_from_c(doubles[i].expected));
        buf_finish(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_raw),
        cmocka_unit_test(test_write_double),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
