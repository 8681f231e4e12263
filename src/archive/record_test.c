/* Unit tests of the readers of records: rows of input and what is read. */
#include "archive/record_testing.h"

#include "archive/record.h"
#include "base/testing.h"

static const struct attribute_definition definitions[] = {
    {STR("pk"), VALUE_S},
    {STR("n"), VALUE_N},
    {STR("b"), VALUE_B},
};
static const struct table table = {.definitions = definitions, .definition_count = 3};

struct row {
    const char *label;
    const char *text;
    const char *expected;
};

static const struct row json_rows[] = {
    {"one", "{\"Item\":{\"pk\":{\"S\":\"a\"},\"n\":{\"N\":\"1\"}}}\n",
     "{\"n\":{\"N\":\"1\"},\"pk\":{\"S\":\"a\"}}\n"},
    {"no line feed at the end", "{\"Item\":{\"a\":{\"BOOL\":true}}}", "{\"a\":{\"BOOL\":true}}\n"},
    {"two on a line", "{\"Item\":{\"a\":{\"S\":\"1\"}}}{\"Item\":{\"a\":{\"S\":\"2\"}}} \n",
     "{\"a\":{\"S\":\"1\"}}\n{\"a\":{\"S\":\"2\"}}\n"},
    {"blank lines and CRLF", "\n\r\n{\"Item\":{\"a\":{\"NULL\":true}}}\r\n\n \n",
     "{\"a\":{\"NULL\":true}}\n"},
    {"byte order mark", "\xef\xbb\xbf{\"Item\":{\"a\":{\"S\":\"1\"}}}\n",
     "{\"a\":{\"S\":\"1\"}}\n"},
    {"other members", "{\"x\":[1,{}],\"Item\":{\"a\":{\"S\":\"1\"}},\"y\":null}\n",
     "{\"a\":{\"S\":\"1\"}}\n"},
    {"condition",
     "{\"Item\":{\"a\":{\"S\":\"1\"}},\"ConditionExpression\":\"#a < :v\","
     "\"ExpressionAttributeNames\":{\"#a\":\"a\"},"
     "\"ExpressionAttributeValues\":{\":v\":{\"N\":\"2\"}}}\n",
     "{\"a\":{\"S\":\"1\"}} if #a < :v names {\"#a\":{\"S\":\"a\"}} values "
     "{\":v\":{\"N\":\"2\"}}\n"},
    {"conditions that are none",
     "{\"Item\":{\"a\":{\"S\":\"1\"}},\"ConditionExpression\":{\"S\":\"a\"}}\n"
     "{\"Item\":{\"a\":{\"S\":\"2\"}},\"ConditionExpression\":null}\n",
     "bad: The ConditionExpression is not a string\n{\"a\":{\"S\":\"2\"}}\n"},
    {"no Item", "{\"Other\":{}}\n{\"Item\":{\"a\":{\"S\":\"1\"}}}\n",
     "bad: The record has no member Item\n{\"a\":{\"S\":\"1\"}}\n"},
    {"a bad number goes on", "{\"Item\":{\"a\":{\"N\":\"x\"}}}\n{\"Item\":{\"a\":{\"S\":\"1\"}}}\n",
     "bad: The parameter cannot be converted to a numeric value: x\n{\"a\":{\"S\":\"1\"}}\n"},
    {"a number as JSON goes on", "{\"Item\":{\"a\":{\"N\":1}}}\n{\"Item\":{\"a\":{\"S\":\"1\"}}}\n",
     "bad: NUMBER_VALUE cannot be converted to String\n{\"a\":{\"S\":\"1\"}}\n"},
    {"a bad value before another object on the line",
     "{\"Item\":{\"a\":{\"N\":1}}}{\"Item\":{\"a\":{\"S\":\"1\"}}}\n",
     "bad: NUMBER_VALUE cannot be converted to String\n{\"a\":{\"S\":\"1\"}}\n"},
    {"malformed ends it", "{\"Item\":{\"a\":{\"S\":\"1\"}}}\n{\"Item\":{\"a\"\n{\"Item\":{}}\n",
     "{\"a\":{\"S\":\"1\"}}\nbroken: Unable to parse the record: colon expected\n"},
    {"not an object", "[]\n{\"Item\":{}}\n",
     "broken: Unable to parse the record: it is not a JSON object\n"},
    {"nothing", "", ""},
};

static const struct row ion_rows[] = {
    {"as exports write it",
     "$ion_1_0 {Item:{Authors:$dynamodb_SS::[\"a\",\"b\"],Id:103.,PageCount:6d2,"
     "InPublication:false}}\n$ion_1_0 {Item:{Id:1.5,n:null,b:{{AAEC}}}}\n",
     "{\"Authors\":{\"SS\":[\"a\",\"b\"]},\"Id\":{\"N\":\"103\"},\"InPublication\":{\"BOOL\":false}"
     ","
     "\"PageCount\":{\"N\":\"600\"}}\n"
     "{\"Id\":{\"N\":\"1.5\"},\"b\":{\"B\":\"AAEC\"},\"n\":{\"NULL\":true}}\n"},
    {"a list", "$ion_1_0 [{Item:{a:\"1\"}}, {Item:{a:\"2\"}}]",
     "{\"a\":{\"S\":\"1\"}}\n{\"a\":{\"S\":\"2\"}}\n"},
    {"sets", "{Item:{n:$dynamodb_NS::[2,10., -1],b:$dynamodb_BS::[{{AA==}}]}}",
     "{\"b\":{\"BS\":[\"AA==\"]},\"n\":{\"NS\":[\"-1\",\"2\",\"10\"]}}\n"},
    {"nested", "{Item:{l:[1,[true],{m:'''x''' '''y'''}],},}",
     "{\"l\":{\"L\":[{\"N\":\"1\"},{\"L\":[{\"BOOL\":true}]},{\"M\":{\"m\":{\"S\":\"xy\"}}}]}}\n"},
    {"comments", "// one\n/* two } */ {Item: /* { */ {a: // }\n 1}}", "{\"a\":{\"N\":\"1\"}}\n"},
    {"names", "{Item:{'a b':1,\"c}\":2,'''d''':3,$e:4}}",
     "{\"$e\":{\"N\":\"4\"},\"a b\":{\"N\":\"1\"},\"c}\":{\"N\":\"2\"},\"d\":{\"N\":\"3\"}}\n"},
    {"escapes", "{Item:{a:\"\\n\\u00e9\\ud83d\\ude00\\U0001F600\\x41\\\"\\/\"}}",
     "{\"a\":{\"S\":\"\\n\xc3\xa9\xf0\x9f\x98\x80\xf0\x9f\x98\x80"
     "A\\\"/\"}}\n"},
    {"numbers", "{Item:{a:0xFf,b:-0b101,c:1_000,d:-1.5D-3,e:2e3,f:0}}",
     "{\"a\":{\"N\":\"255\"},\"b\":{\"N\":\"-5\"},\"c\":{\"N\":\"1000\"},\"d\":{\"N\":\"-0.0015\"},"
     "\"e\":{\"N\":\"2000\"},\"f\":{\"N\":\"0\"}}\n"},
    {"numbers like years", "{Item:{a:123d-12,b:1.5e-7,c:1234,d:1234d-5}}",
     "{\"a\":{\"N\":\"0.000000000123\"},\"b\":{\"N\":\"0.00000015\"},\"c\":{\"N\":\"1234\"},"
     "\"d\":{\"N\":\"0.01234\"}}\n"},
    {"typed null and other annotations", "{Item:{a:null.string,b:x::'y z'::1}}",
     "{\"a\":{\"NULL\":true},\"b\":{\"N\":\"1\"}}\n"},
    {"condition", "{Item:{a:1},ConditionExpression:\"attribute_not_exists(a)\"}",
     "{\"a\":{\"N\":\"1\"}} if attribute_not_exists(a)\n"},
    {"conditions that are none",
     "{Item:{a:1},ConditionExpression:[\"a\"]}{Item:{a:2},ConditionExpression:null}",
     "bad: The ConditionExpression is not a string\n{\"a\":{\"N\":\"2\"}}\n"},
    {"no Item", "{Other:1}{Item:{a:1}}",
     "bad: The record has no field Item\n{\"a\":{\"N\":\"1\"}}\n"},
    {"timestamps, symbols and clobs go on",
     "{Item:{a:2007-02-23T12:14Z}}{Item:{a:sym}}{Item:{a:{{\"}}\"}}}}{Item:{a:1}}",
     "bad: The record is not an item: items have no timestamps\n"
     "bad: The record is not an item: items have no symbols\n"
     "bad: The record is not an item: items have no clobs\n{\"a\":{\"N\":\"1\"}}\n"},
    {"a bad set goes on", "{Item:{a:$dynamodb_SS::[]}}{Item:{a:$dynamodb_SS::[1]}}",
     "bad: One or more parameter values were invalid: An string set  may not be empty\n"
     "bad: The record is not an item: a member of a set has another type\n"},
    {"equal members", "{Item:{a:$dynamodb_SS::[\"x\",\"x\"]}}",
     "bad: One or more parameter values were invalid: Input collection [\"x\",\"x\"] contains "
     "duplicates.\n"},
    {"malformed", "{Item:{a:1}}{Item:{a}}{Item:{a:2}}",
     "{\"a\":{\"N\":\"1\"}}\nbroken: Unable to parse the record: a field has no value\n"},
    {"not closed", "{Item:{a:1}", "broken: Unable to parse the record: the struct is not closed\n"},
    {"comma outside a list", "{Item:{a:1}},{Item:{a:2}}",
     "{\"a\":{\"N\":\"1\"}}\nbroken: Unable to parse the record: it is not a struct\n"},
    {"list not closed", "[{Item:{a:1}}",
     "{\"a\":{\"N\":\"1\"}}\nbroken: Unable to parse the record: the list is not closed\n"},
    {"not a struct", "hello", "broken: Unable to parse the record: it is not a struct\n"},
    {"leading zero", "{Item:{a:01}}",
     "broken: Unable to parse the record: a number is not valid\n"},
    {"comment not closed", "/* ", "broken: Unable to parse the record: a comment is not closed\n"},
    {"nothing", " // x", ""},
};

static const struct row csv_rows[] = {
    {"types by definitions", "pk,n,b,other\na,1,AAEC,2\n",
     "{\"b\":{\"B\":\"AAEC\"},\"n\":{\"N\":\"1\"},\"other\":{\"S\":\"2\"},\"pk\":{\"S\":\"a\"}}\n"},
    {"empty fields, CRLF, short rows", "pk,x,y\r\na,,1\r\n\r\nb\r\n",
     "{\"pk\":{\"S\":\"a\"},\"y\":{\"S\":\"1\"}}\n{\"pk\":{\"S\":\"b\"}}\n"},
    {"quotes", "pk,x\n\"a,\"\"b\"\"\n2\",\"\"\n", "{\"pk\":{\"S\":\"a,\\\"b\\\"\\n2\"}}\n"},
    {"no backslash", "pk\na\\\n", "{\"pk\":{\"S\":\"a\\\\\"}}\n"},
    {"too many fields go on", "pk\na,b\nc\n",
     "bad: The record has more fields than the header, which has 1\n{\"pk\":{\"S\":\"c\"}}\n"},
    {"a bad number goes on", "pk,n\na,x\nb,2\n",
     "bad: The parameter cannot be converted to a numeric value: x\n"
     "{\"n\":{\"N\":\"2\"},\"pk\":{\"S\":\"b\"}}\n"},
    {"bad base64", "b\n?\n", "bad: The value of a binary key attribute is not base64\n"},
    {"bad UTF-8", "pk,n\n\xff\n,\xff\n",
     "bad: The record is not valid UTF-8\nbad: The record is not valid UTF-8\n"},
    {"a stray quote ends it", "pk\na\"b\nc\n",
     "broken: Unable to parse the record: a quote is not closed, or stands inside a field\n"},
    {"text behind a quote", "pk\n\"a\"b\nc\n",
     "broken: Unable to parse the record: a quote is not closed, or stands inside a field\n"},
    {"header only", "pk,n\n", ""},
    {"nothing", "", ""},
};

static void check_rows(enum record_format format, const struct row *rows, size_t count)
{
    static const size_t steps[] = {1, 2, 7, 1 << 20};
    struct record_options options = {.format = format, .table = &table};
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < COUNT_OF(steps); k++) {
            for (size_t resume = 0; resume < 3; resume++) {
                struct buf out = {0};
                transcribe(&options, str_from_c(rows[i].text), steps[k], resume, &out);
                CHECK_STR_EQ(rows[i].label, buf_str(&out), str_from_c(rows[i].expected));
                buf_finish(&out);
            }
        }
    }
}

static void test_json(void **state)
{
    (void)state;
    check_rows(RECORD_DYNAMODB_JSON, json_rows, COUNT_OF(json_rows));
}

static void test_ion(void **state)
{
    (void)state;
    check_rows(RECORD_ION, ion_rows, COUNT_OF(ion_rows));
}

static void test_csv(void **state)
{
    (void)state;
    check_rows(RECORD_CSV, csv_rows, COUNT_OF(csv_rows));
}

/* Names from the request: the first row is data. Another delimiter. */
static void test_csv_options(void **state)
{
    (void)state;
    static const struct str headers[] = {STR("pk"), STR("x")};
    struct record_options options = {
        .format = RECORD_CSV, .delimiter = '\t', .headers = headers, .header_count = 2};
    struct buf out = {0};
    transcribe(&options, STR("pk\tx,y\n"), 3, 0, &out);
    CHECK_STR_EQ("headers", buf_str(&out), STR("{\"pk\":{\"S\":\"pk\"},\"x\":{\"S\":\"x,y\"}}\n"));
    buf_finish(&out);
}

/* The same nesting is accepted in JSON and Ion, and one level more in neither. */
static void test_nesting(void **state)
{
    (void)state;
    for (int levels = 31; levels <= 33; levels++) {
        struct buf json = {0};
        struct buf ion = {0};
        struct buf results[2] = {{0}, {0}};
        buf_add(&json, STR("{\"Item\":{\"a\":"));
        buf_add(&ion, STR("{Item:{a:"));
        for (int i = 0; i < levels - 1; i++) {
            buf_add(&json, STR("{\"L\":["));
            buf_add(&ion, STR("["));
        }
        buf_add(&json, STR("{\"S\":\"x\"}"));
        buf_add(&ion, STR("\"x\""));
        for (int i = 0; i < levels - 1; i++) {
            buf_add(&json, STR("]}"));
            buf_add(&ion, STR("]"));
        }
        buf_add(&json, STR("}}"));
        buf_add(&ion, STR("}}"));
        transcribe(&(struct record_options){.format = RECORD_DYNAMODB_JSON}, buf_str(&json), 999, 0,
                   &results[0]);
        transcribe(&(struct record_options){.format = RECORD_ION}, buf_str(&ion), 999, 0,
                   &results[1]);
        CHECK_STR_EQ("levels", buf_str(&results[1]), buf_str(&results[0]));
        assert_int_equal(str_starts_with(buf_str(&results[0]), STR("bad: ")), levels > 32);
        buf_finish(&json);
        buf_finish(&ion);
        buf_finish(&results[0]);
        buf_finish(&results[1]);
    }
}

/* Endless input is refused after a bounded number of bytes. */
static bool read_endless(struct byte_source *source, char *room, size_t room_len, size_t *out_len,
                         struct err *err)
{
    struct memory_source *memory = CONTAINER_OF(source, struct memory_source, source);
    (void)err;
    memset(room, memory->text.data[0], room_len);
    if (memory->at == 0) {
        memcpy(room, memory->text.data, memory->text.len);
    }
    memory->at += room_len;
    *out_len = room_len;
    return true;
}

static void test_bounds(void **state)
{
    (void)state;
    static const struct {
        enum record_format format;
        const char *start;
    } rows[] = {
        {RECORD_DYNAMODB_JSON, "["},
        {RECORD_ION, "{"},
        {RECORD_CSV, "\"x"},
        {RECORD_CSV, "x"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct memory_source source = memory_source(str_from_c(rows[i].start), 1);
        source.source.read = read_endless;
        struct record_options options = {.format = rows[i].format};
        struct record_reader *reader = record_reader_create(&options, &source.source);
        struct arena arena;
        arena_init(&arena);
        struct err err = ERR_INIT(&arena);
        struct record record;
        assert_int_equal(record_reader_next(reader, &arena, &record, &err), RECORD_BROKEN);
        assert_true(source.at <= 2 * (size_t)RECORD_BYTES_MAX);
        record_reader_destroy(reader);
        arena_finish(&arena);
    }
}

/* Objects that follow each other without a line feed may be more than the window. */
static void test_no_line_feed(void **state)
{
    (void)state;
    static char filling[1000];
    struct buf text = {0};
    size_t count = 0;
    memset(filling, 'x', sizeof(filling));
    for (; text.len < (size_t)RECORD_BYTES_MAX * 5 / 2; count++) {
        buf_format(&text, "{\"Item\":{\"a\":{\"N\":\"%zu\"},\"b\":{\"S\":\"%.*s\"}}}", count,
                   (int)(count % sizeof(filling)), filling);
    }
    struct memory_source source = memory_source(buf_str(&text), 100000);
    struct record_options options = {.format = RECORD_DYNAMODB_JSON};
    struct record_reader *reader = record_reader_create(&options, &source.source);
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    struct record record;
    size_t seen = 0;
    while (record_reader_next(reader, &arena, &record, &err) == RECORD_ITEM) {
        arena_reset(&arena);
        seen++;
    }
    assert_int_equal(seen, count);
    record_reader_destroy(reader);
    arena_finish(&arena);
    buf_finish(&text);
}

static bool read_failing(struct byte_source *source, char *room, size_t room_len, size_t *out_len,
                         struct err *err)
{
    (void)source;
    (void)room;
    (void)room_len;
    (void)out_len;
    return err_set(err, ERR_SERVICE_UNAVAILABLE, "away");
}

/* A source that cannot be read is reported differently from one whose bytes have changed. */
static void test_resume_fails(void **state)
{
    (void)state;
    struct byte_source source = {.read = read_failing};
    struct record_options options = {.format = RECORD_DYNAMODB_JSON};
    struct record_reader *reader = record_reader_create(&options, &source);
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    assert_false(record_reader_skip_to(reader, 10, &err));
    assert_int_equal(err.code, ERR_SERVICE_UNAVAILABLE);
    record_reader_destroy(reader);
    arena_finish(&arena);
}

/* Many values of one record take no more memory than a few times the record. */
static void test_memory(void **state)
{
    (void)state;
    enum { VALUES = 20000 };
    static const struct {
        enum record_format format;
        const char *start;
        const char *value;
        const char *end;
    } rows[] = {
        {RECORD_ION, "{Item:{a:[", "{{}},", "]}}"},
        {RECORD_CSV, "", "\"x\"\"\",", "x\n"},
    };
    static struct str headers[VALUES + 1];
    for (size_t i = 0; i < COUNT_OF(headers); i++) {
        headers[i] = STR("h");
    }
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct buf text = {0};
        buf_add(&text, str_from_c(rows[i].start));
        for (size_t k = 0; k < VALUES; k++) {
            buf_add(&text, str_from_c(rows[i].value));
        }
        buf_add(&text, str_from_c(rows[i].end));
        struct memory_source source = memory_source(buf_str(&text), 1 << 20);
        struct record_options options = {
            .format = rows[i].format, .headers = headers, .header_count = COUNT_OF(headers)};
        struct record_reader *reader = record_reader_create(&options, &source.source);
        struct budget budget;
        budget_init(&budget, NULL, 0);
        struct arena arena;
        arena_init(&arena);
        arena_set_budget(&arena, &budget);
        struct err err = ERR_INIT(&arena);
        struct record record;
        assert_int_equal(record_reader_next(reader, &arena, &record, &err), RECORD_ITEM);
        assert_true(budget_used(&budget) < 64 * text.len);
        record_reader_destroy(reader);
        arena_finish(&arena);
        buf_finish(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json),         cmocka_unit_test(test_ion),
        cmocka_unit_test(test_csv),          cmocka_unit_test(test_csv_options),
        cmocka_unit_test(test_nesting),      cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_no_line_feed), cmocka_unit_test(test_resume_fails),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
