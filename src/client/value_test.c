/* Unit tests of values: building, reading, and their three forms as JSON. */
#include <locale.h>
#include <math.h>
#include <stdlib.h>

#include "base/testing.h"
#include "client/value_tree_internal.h"

static void check_json(const char *what, const struct gramme_value *value, enum gramme_form form,
                       const char *expected)
{
    char *got = gramme_value_to_json(value, form, NULL);
    CHECK_STR_EQ(what, str_from_c(got), str_from_c(expected));
    gramme_free(got);
}

static void test_all_types(void **state)
{
    (void)state;
    struct gramme_value *item = gramme_map_create();
    gramme_set_string(item, "s", "a \"b\"\n\xc3\xa9");
    gramme_set_text(item, "t", "cut here", 3);
    gramme_set_format(item, "f", "%03d#%s", 7, "x");
    gramme_set_int(item, "i", INT64_MIN);
    gramme_set_double(item, "d", 0.1);
    gramme_set_number(item, "n", "+0012.5000");
    gramme_set_bool(item, "yes", true);
    gramme_set_bool(item, "no", false);
    gramme_set_null(item, "null");
    gramme_set_binary(item, "b", "\0\1\2", 3);
    struct gramme_value *list = gramme_set_list(item, "l");
    gramme_add_string(list, "x");
    gramme_add_int(list, 1);
    gramme_add_string(gramme_add_list(list), "deep");
    gramme_set_int(gramme_add_map(list), "k", 2);
    gramme_add_string(gramme_set_string_set(item, "ss"), "m");
    gramme_add_int(gramme_set_number_set(item, "ns"), 5);
    gramme_add_binary(gramme_set_binary_set(item, "bs"), "\xff", 1);
    gramme_set_bool(gramme_set_map(item, "m"), "in", true);
    assert_null(gramme_value_problem(item));
    check_json("typed", item, GRAMME_TYPED,
               "{\"s\":{\"S\":\"a \\\"b\\\"\\n\xc3\xa9\"},\"t\":{\"S\":\"cut\"},"
               "\"f\":{\"S\":\"007#x\"},\"i\":{\"N\":\"-9223372036854775808\"},"
               "\"d\":{\"N\":\"0.1\"},\"n\":{\"N\":\"12.5\"},\"yes\":{\"BOOL\":true},"
               "\"no\":{\"BOOL\":false},\"null\":{\"NULL\":true},\"b\":{\"B\":\"AAEC\"},"
               "\"l\":{\"L\":[{\"S\":\"x\"},{\"N\":\"1\"},{\"L\":[{\"S\":\"deep\"}]},"
               "{\"M\":{\"k\":{\"N\":\"2\"}}}]},\"ss\":{\"SS\":[\"m\"]},\"ns\":{\"NS\":[\"5\"]},"
               "\"bs\":{\"BS\":[\"/w==\"]},\"m\":{\"M\":{\"in\":{\"BOOL\":true}}}}");
    check_json("plain", item, GRAMME_PLAIN,
               "{\"s\":\"a \\\"b\\\"\\n\xc3\xa9\",\"t\":\"cut\",\"f\":\"007#x\","
               "\"i\":-9223372036854775808,\"d\":0.1,\"n\":12.5,\"yes\":true,\"no\":false,"
               "\"null\":null,\"b\":\"AAEC\",\"l\":[\"x\",1,[\"deep\"],{\"k\":2}],\"ss\":[\"m\"],"
               "\"ns\":[5],\"bs\":[\"/w==\"],\"m\":{\"in\":true}}");
    gramme_value_destroy(item);
}

static void test_replace_and_remove(void **state)
{
    (void)state;
    struct gramme_value *item = gramme_map_create();
    gramme_set_int(item, "a", 1);
    gramme_set_int(item, "b", 2);
    gramme_set_int(item, "c", 3);
    gramme_set_string(item, "b", "two");
    gramme_remove(item, "a");
    gramme_remove(item, "none");
    gramme_set_value(item, "c", NULL);
    gramme_set_value(item, "self", item);
    check_json("changed", item, GRAMME_PLAIN, "{\"b\":\"two\",\"self\":{\"b\":\"two\"}}");
    gramme_value_destroy(item);
}

static void test_reading(void **state)
{
    (void)state;
    static const char json[] =
        "{\"s\":{\"S\":\"text\"},\"i\":{\"N\":\"12\"},\"e\":{\"N\":\"1E3\"},\"f\":{\"N\":\"1.5\"},"
        "\"big\":{\"N\":\"99999999999999999999\"},\"t\":{\"BOOL\":true},\"b\":{\"B\":\"AAEC\"},"
        "\"l\":{\"L\":[{\"S\":\"x\"},{\"NULL\":true}]},\"nul\":{\"S\":\"a\\u0000b\"}}";
    struct gramme_value *item = gramme_value_from_json(json, sizeof(json) - 1, GRAMME_TYPED, NULL);
    assert_non_null(item);
    assert_string_equal(gramme_get_string(item, "s"), "text");
    assert_null(gramme_get_string(item, "i"));
    assert_null(gramme_get_string(item, "absent"));
    assert_int_equal(gramme_get_int(item, "i", -1), 12);
    assert_int_equal(gramme_get_int(item, "e", -1), 1000);
    assert_int_equal(gramme_get_int(item, "f", -1), -1);
    assert_int_equal(gramme_get_int(item, "big", -1), -1);
    assert_int_equal(gramme_get_int(item, "s", -1), -1);
    assert_true(gramme_get_double(item, "f", 0) == 1.5);
    assert_true(gramme_get_double(item, "s", -2) == -2);
    assert_string_equal(gramme_get_number(item, "big"), "99999999999999999999");
    assert_true(gramme_get_bool(item, "t", false));
    assert_true(gramme_get_bool(item, "s", true));
    size_t len = 0;
    assert_memory_equal(gramme_get_binary(item, "b", &len), "\0\1\2", 3);
    assert_int_equal(len, 3);
    assert_int_equal(gramme_value_len(gramme_get(item, "nul")), 3);
    const struct gramme_value *list = gramme_get(item, "l");
    assert_int_equal(gramme_value_count(list), 2);
    assert_string_equal(gramme_value_string(gramme_value_at(list, 0)), "x");
    assert_int_equal(gramme_value_type(gramme_value_at(list, 1)), GRAMME_NULL);
    assert_null(gramme_value_at(list, 2));
    assert_string_equal(gramme_value_name(gramme_value_at(item, 1)), "i");
    assert_null(gramme_value_name(gramme_value_at(list, 0)));
    gramme_value_destroy(item);
}

static void test_nothing_there(void **state)
{
    (void)state;
    int64_t number = 7;
    assert_null(gramme_get(NULL, "a"));
    assert_null(gramme_get_string(gramme_get(NULL, "a"), "b"));
    assert_int_equal(gramme_get_int(NULL, "a", 3), 3);
    assert_int_equal(gramme_value_type(NULL), GRAMME_NONE);
    assert_int_equal(gramme_value_count(NULL), 0);
    assert_null(gramme_value_at(NULL, 0));
    assert_false(gramme_value_int(NULL, &number));
    assert_int_equal(number, 7);
    assert_null(gramme_value_to_json(NULL, GRAMME_PLAIN, NULL));
    assert_null(gramme_value_copy(NULL));
    gramme_value_destroy(NULL);
    gramme_free(NULL);
}

/* A number reads back the same in any locale. */
static void test_doubles(void **state)
{
    (void)state;
    static const double numbers[] = {
        0.1, 1.0 / 3, 1e22, 1e-7, -2.5, 123456789.123456789, 5e-324, 1.7976931348623157e308, 0};
    setlocale(LC_ALL, "de_DE.UTF-8"); /* if it is installed */
    struct gramme_value *item = gramme_map_create();
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        gramme_set_double(item, "d", numbers[i]);
        assert_true(gramme_get_double(item, "d", 99) == numbers[i]);
        assert_null(strchr(gramme_get_number(item, "d"), ','));
    }
    gramme_value_destroy(item);
    setlocale(LC_ALL, "C");
}

static void set_not_a_number(struct gramme_value *item)
{
    gramme_set_double(item, "d", NAN);
}
static void set_infinite(struct gramme_value *item)
{
    gramme_set_double(item, "d", INFINITY);
}
static void set_bad_number(struct gramme_value *item)
{
    gramme_set_number(item, "n", "12x");
}
static void set_null_string(struct gramme_value *item)
{
    gramme_set_string(item, "s", NULL);
}
static void set_bad_utf8(struct gramme_value *item)
{
    gramme_set_string(item, "s", "a\xff");
}
static void set_bad_name(struct gramme_value *item)
{
    gramme_set_int(item, "\xff", 1);
}
static void set_in_list(struct gramme_value *item)
{
    gramme_set_int(gramme_set_list(item, "l"), "x", 1);
}
static void add_to_map(struct gramme_value *item)
{
    gramme_add_int(item, 1);
}
static void add_wrong_type(struct gramme_value *item)
{
    gramme_add_int(gramme_set_string_set(item, "ss"), 1);
}
static void copy_broken(struct gramme_value *item)
{
    struct gramme_value *broken = gramme_map_create();
    gramme_set_string(broken, "s", NULL);
    gramme_set_value(item, "copy", broken);
    gramme_value_destroy(broken);
}

static void test_mistakes(void **state)
{
    (void)state;
    static const struct {
        void (*make)(struct gramme_value *item);
        const char *problem;
    } rows[] = {
        {set_not_a_number, "a number is infinite or not a number"},
        {set_infinite, "a number is infinite or not a number"},
        {set_bad_number, "'12x' is not a number, or not one that DynamoDB can hold"},
        {set_null_string, "a string is NULL"},
        {set_bad_utf8, "a string is not UTF-8: 'a\xff'"},
        {set_bad_name, "a name is NULL or not UTF-8"},
        {set_in_list, "'x' is set in a value that is not a map"},
        {add_to_map, "a value is added to one that is neither a list nor a set of its type"},
        {add_wrong_type, "a value is added to one that is neither a list nor a set of its type"},
        {copy_broken, "a string is NULL"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct gramme_value *item = gramme_map_create();
        rows[i].make(item);
        CHECK_STR_EQ("problem", str_from_c(gramme_value_problem(item)),
                     str_from_c(rows[i].problem));
        gramme_set_string(item, "later", NULL); /* the first one stays */
        CHECK_STR_EQ("first", str_from_c(gramme_value_problem(item)), str_from_c(rows[i].problem));
        assert_null(gramme_value_to_json(item, GRAMME_TYPED, NULL));
        gramme_value_destroy(item);
    }
}

static void test_too_deep(void **state)
{
    (void)state;
    struct gramme_value *root = gramme_list_create();
    struct gramme_value *at = root;
    for (int i = 0; i < 2000; i++) {
        at = gramme_add_list(at);
    }
    assert_null(gramme_value_to_json(root, GRAMME_PLAIN, NULL));
    gramme_value_destroy(root);
}

static void test_equal(void **state)
{
    (void)state;
    static const struct {
        const char *a;
        const char *b;
        bool equal;
    } rows[] = {
        {"{\"a\":{\"N\":\"1.0\"}}", "{\"a\":{\"N\":\"1\"}}", true},
        {"{\"a\":{\"N\":\"1\"}}", "{\"a\":{\"S\":\"1\"}}", false},
        {"{\"a\":{\"SS\":[\"x\",\"y\"]}}", "{\"a\":{\"SS\":[\"y\",\"x\"]}}", true},
        {"{\"a\":{\"L\":[{\"S\":\"x\"},{\"S\":\"y\"}]}}",
         "{\"a\":{\"L\":[{\"S\":\"y\"},{\"S\":\"x\"}]}}", false},
        {"{\"a\":{\"BOOL\":true},\"b\":{\"NULL\":true}}",
         "{\"b\":{\"NULL\":true},\"a\":{\"BOOL\":true}}", true},
        {"{\"a\":{\"BOOL\":true}}", "{\"a\":{\"BOOL\":false}}", false},
        {"{\"a\":{\"M\":{\"x\":{\"B\":\"AA==\"}}}}", "{\"a\":{\"M\":{\"x\":{\"B\":\"AQ==\"}}}}",
         false},
        {"{}", "{\"a\":{\"NULL\":true}}", false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct gramme_value *a =
            gramme_value_from_json(rows[i].a, strlen(rows[i].a), GRAMME_TYPED, NULL);
        struct gramme_value *b =
            gramme_value_from_json(rows[i].b, strlen(rows[i].b), GRAMME_TYPED, NULL);
        if (gramme_value_equal(a, b) != rows[i].equal || !gramme_value_equal(a, a)) {
            fail_msg("%s and %s", rows[i].a, rows[i].b);
        }
        gramme_value_destroy(a);
        gramme_value_destroy(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_types), cmocka_unit_test(test_replace_and_remove),
        cmocka_unit_test(test_reading),   cmocka_unit_test(test_nothing_there),
        cmocka_unit_test(test_doubles),   cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_too_deep),  cmocka_unit_test(test_equal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
