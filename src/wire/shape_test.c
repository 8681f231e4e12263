/* Unit tests of shapes: decoding and constraints. */
#include "wire/shape.h"

#include "base/testing.h"

/* A request with every kind of member. */
struct inner {
    struct wire_int number;
};

struct request {
    struct str name;
    struct wire_enum mode;
    struct wire_bool flag;
    struct wire_int limit;
    struct wire_list words;
    struct wire_map map;
    struct inner *inner;
    struct wire_item item;
    struct str any;
};

static const char *const modes[] = {"ON", "OFF", NULL};
static const struct shape shape_name = {.kind = SHAPE_STRING, .min = 3, .max = 5};
static const struct shape shape_mode = {.kind = SHAPE_ENUM, .values = modes};
static const struct shape shape_flag = {.kind = SHAPE_BOOL};
static const struct shape shape_limit = {.kind = SHAPE_INTEGER, .min = 1, .max = 100};
static const struct shape shape_words = {.kind = SHAPE_LIST,
                                         .java = "java.util.List<java.lang.String>",
                                         .min = 1,
                                         .max = 2,
                                         .element = &shape_name};
static const struct shape shape_map = {.kind = SHAPE_MAP,
                                       .java = "java.util.Map<java.lang.String, java.lang.String>",
                                       .element = &shape_name};
static const struct shape shape_item = {.kind = SHAPE_ITEM};
static const struct shape shape_any = {.kind = SHAPE_ANY};
static const struct field inner_fields[] = {
    FIELD_REQUIRED(struct inner, number, "Number", shape_limit), FIELD_END};
static const struct shape shape_inner = {
    .kind = SHAPE_STRUCT, .java = "Inner", .fields = inner_fields, .size = sizeof(struct inner)};
static const struct field fields[] = {
    FIELD_REQUIRED(struct request, name, "Name", shape_name),
    FIELD(struct request, mode, "Mode", shape_mode),
    FIELD(struct request, flag, "Flag", shape_flag),
    FIELD(struct request, limit, "Limit", shape_limit),
    FIELD(struct request, words, "Words", shape_words),
    FIELD(struct request, map, "Map", shape_map),
    FIELD(struct request, inner, "Inner", shape_inner),
    FIELD(struct request, item, "Item", shape_item),
    FIELD(struct request, any, "Any", shape_any),
    FIELD_END,
};
static const struct shape shape_request = {
    .kind = SHAPE_STRUCT, .fields = fields, .size = sizeof(struct request)};

static void test_all_kinds(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    struct request request;
    struct str body =
        STR("{\"Name\":\"abc\",\"Mode\":\"OFF\",\"Flag\":true,\"Limit\":7,\"Other\":[{}],"
            "\"Words\":[\"one\",\"two\"],\"Map\":{\"k\":\"val\"},"
            "\"Inner\":{\"Number\":9},\"Item\":{\"a\":{\"N\":\"1\"}},\"Any\":[1,{\"b\":null}]}");
    assert_true(wire_decode(&arena, &shape_request, body, &request, &err));
    assert_true(wire_validate(&shape_request, &request, WORDING_OLDER, &err));
    CHECK_STR_EQ("name", request.name, STR("abc"));
    assert_true(request.mode.value == 1 && request.flag.value && request.limit.value == 7);
    assert_true(request.words.count == 2 && request.map.count == 1);
    CHECK_STR_EQ("word", ((struct str *)request.words.elements)[1], STR("two"));
    CHECK_STR_EQ("map", request.map.names[0], STR("k"));
    CHECK_STR_EQ("any", request.any, STR("[1,{\"b\":null}]"));
    assert_true(request.inner->number.value == 9 && value_type(request.item.value) == VALUE_M);
    arena_finish(&arena);
}

static void test_absence(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    struct request request;
    assert_true(wire_decode(&arena, &shape_request,
                            STR("{\"Name\":\"abc\",\"Limit\":null,\"Name\":\"last\"}"), &request,
                            &err));
    CHECK_STR_EQ("the last one counts", request.name, STR("last"));
    assert_true(!request.limit.given && !request.words.given && request.inner == NULL &&
                !request.item.given && str_is_null(request.any) && str_is_null(request.mode.text));
    arena_finish(&arena);
}

static const struct {
    const char *body;
    const char *expected;
} refusals[] = {
    {"{\"Name\":1}", "NUMBER_VALUE cannot be converted to String"},
    {"{\"Name\":[]}", "Unrecognized collection type class java.lang.String"},
    {"{\"Words\":\"x\"}", "Unexpected field type"},
    {"{\"Name\":\"abc\"", ""},
    {"[]", ""},
    {"{}", "1 validation error detected: Value null at 'name' failed to satisfy constraint: Member "
           "must not be null"},
    {"{\"Name\":\"ab\",\"Limit\":101}",
     "2 validation errors detected: Value 'ab' at 'name' failed to satisfy constraint: Member must "
     "have length greater than or equal to 3; Value '101' at 'limit' failed to satisfy constraint: "
     "Member must have value less than or equal to 100"},
    {"{\"Name\":\"abc\",\"Mode\":\"on\"}",
     "1 validation error detected: Value 'on' at 'mode' failed to satisfy constraint: Member must "
     "satisfy enum value set: [ON, OFF]"},
    {"{\"Name\":\"abc\",\"Inner\":{}}",
     "1 validation error detected: Value null at 'inner.number' failed to satisfy constraint: "
     "Member must not be null"},
    {"{\"Name\":\"abc\",\"Words\":[]}",
     "1 validation error detected: Value '[]' at 'words' failed to satisfy constraint: Member must "
     "have length greater than or equal to 1"},
};

static void test_refusals(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(refusals); i++) {
        struct err err = ERR_INIT(&arena);
        struct request request;
        assert_false(
            wire_decode(&arena, &shape_request, str_from_c(refusals[i].body), &request, &err) &&
            wire_validate(&shape_request, &request, WORDING_OLDER, &err));
        CHECK_STR_EQ(refusals[i].body, err.message, str_from_c(refusals[i].expected));
    }
    arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_kinds),
        cmocka_unit_test(test_absence),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
