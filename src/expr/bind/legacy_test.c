/* Unit tests of the legacy parameters: rows of entries and what they mean, or the error. */
#include "expr/legacy.h"

#include "base/testing.h"
#include "expr/expr_testing.h"

static const char item_text[] =
    "{pk: \"k\", s: \"hello\", n: 5, b: b\"abc\", ss: <\"x\", \"y\">, ns: <1, 2>, "
    "l: [\"x\", 1, null], m: {x: 1}, nul: null}";

/* One entry: the operator or "", its values as a list, and the older members. */
struct entry {
    const char *attribute;
    const char *op;
    const char *values; /* NULL: no AttributeValueList */
    const char *value;
    const char *exists;
};

static enum legacy_operator operator_from(const char *name)
{
    static const char *const names[] = {
        [LEGACY_EQ] = "EQ",
        [LEGACY_NE] = "NE",
        [LEGACY_IN] = "IN",
        [LEGACY_LE] = "LE",
        [LEGACY_LT] = "LT",
        [LEGACY_GE] = "GE",
        [LEGACY_GT] = "GT",
        [LEGACY_BETWEEN] = "BETWEEN",
        [LEGACY_NOT_NULL] = "NOT_NULL",
        [LEGACY_NULL] = "NULL",
        [LEGACY_CONTAINS] = "CONTAINS",
        [LEGACY_NOT_CONTAINS] = "NOT_CONTAINS",
        [LEGACY_BEGINS_WITH] = "BEGINS_WITH",
    };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (strcmp(name, names[i]) == 0) {
            return (enum legacy_operator)i;
        }
    }
    fail_msg("no operator: %s", name);
    return LEGACY_EQ;
}

static struct legacy_condition convert(struct arena *arena, const struct entry *entry)
{
    struct legacy_condition c = {.attribute = str_from_c(entry->attribute)};
    if (entry->op[0] != '\0') {
        c.has_op = true;
        c.op = operator_from(entry->op);
    }
    if (entry->values != NULL) {
        struct value list = testing_value(arena, entry->values);
        struct value *values = ARENA_ARRAY(arena, struct value, value_count(list));
        for (uint32_t i = 0; i < value_count(list); i++) {
            values[i] = value_list_get(list, i);
        }
        c.has_values = true;
        c.values = values;
        c.value_count = value_count(list);
    }
    if (entry->value != NULL) {
        c.value = testing_value(arena, entry->value);
    }
    if (entry->exists != NULL) {
        c.has_exists = true;
        c.exists = strcmp(entry->exists, "true") == 0;
    }
    return c;
}

static struct str outcome(struct arena *arena, const struct entry *entries, size_t count,
                          enum legacy_join join, bool expected)
{
    struct err err = ERR_INIT(arena);
    struct legacy_condition conditions[4];
    for (size_t i = 0; i < count; i++) {
        conditions[i] = convert(arena, &entries[i]);
    }
    const struct condition *condition;
    if (!legacy_conditions(arena, conditions, count, join, expected, &condition, &err)) {
        return err.message;
    }
    if (condition == NULL) {
        return STR("none");
    }
    return condition_holds(condition, testing_value(arena, item_text)) ? STR("true") : STR("false");
}

#define INVALID    "One or more parameter values were invalid: "
#define COUNT(op_) INVALID "Invalid number of argument(s) for the " op_ " ComparisonOperator"
#define TYPE(op_, type_)                                                                           \
    INVALID "ComparisonOperator " op_ " is not valid for " type_ " AttributeValue type"

static const struct {
    struct entry entry;
    const char *expected;
} filter_rows[] = {
    {{"s", "EQ", "[\"hello\"]", NULL, NULL}, "true"},
    {{"s", "EQ", "[5]", NULL, NULL}, "false"},
    {{"zz", "EQ", "[5]", NULL, NULL}, "false"},
    {{"ss", "EQ", "[<\"y\", \"x\">]", NULL, NULL}, "true"},
    {{"m", "EQ", "[{x: 1}]", NULL, NULL}, "true"},
    {{"s", "NE", "[\"hello\"]", NULL, NULL}, "false"},
    {{"s", "NE", "[5]", NULL, NULL}, "true"},
    {{"zz", "NE", "[5]", NULL, NULL}, "true"},
    {{"n", "LT", "[6]", NULL, NULL}, "true"},
    {{"n", "LE", "[5]", NULL, NULL}, "true"},
    {{"n", "GT", "[5]", NULL, NULL}, "false"},
    {{"n", "GE", "[5]", NULL, NULL}, "true"},
    {{"n", "LT", "[\"6\"]", NULL, NULL}, "false"},
    {{"n", "BETWEEN", "[1, 5]", NULL, NULL}, "true"},
    {{"zz", "BETWEEN", "[1, 5]", NULL, NULL}, "false"},
    {{"n", "IN", "[1, 5]", NULL, NULL}, "true"},
    {{"n", "IN", "[1]", NULL, NULL}, "false"},
    {{"ns", "IN", "[1, 2]", NULL, NULL}, "false"},
    {{"s", "BEGINS_WITH", "[\"he\"]", NULL, NULL}, "true"},
    {{"b", "BEGINS_WITH", "[b\"ab\"]", NULL, NULL}, "true"},
    {{"s", "CONTAINS", "[\"ell\"]", NULL, NULL}, "true"},
    {{"ss", "CONTAINS", "[\"x\"]", NULL, NULL}, "true"},
    {{"ns", "CONTAINS", "[2]", NULL, NULL}, "true"},
    {{"l", "CONTAINS", "[null]", NULL, NULL}, "true"},
    {{"n", "CONTAINS", "[5]", NULL, NULL}, "false"},
    {{"s", "NOT_CONTAINS", "[\"ell\"]", NULL, NULL}, "false"},
    {{"n", "NOT_CONTAINS", "[5]", NULL, NULL}, "true"},
    {{"s", "NOT_CONTAINS", "[5]", NULL, NULL}, "true"},
    {{"zz", "NOT_CONTAINS", "[5]", NULL, NULL}, "false"},
    {{"nul", "NULL", NULL, NULL, NULL}, "false"},
    {{"zz", "NULL", "[]", NULL, NULL}, "true"},
    {{"nul", "NOT_NULL", NULL, NULL, NULL}, "true"},
    {{"m.x", "NULL", NULL, NULL, NULL}, "true"}, /* a name, not a path */
    {{"s", "EQ", NULL, NULL, NULL}, COUNT("EQ")},
    {{"s", "EQ", "[]", NULL, NULL}, COUNT("EQ")},
    {{"s", "NE", "[1, 2]", NULL, NULL}, COUNT("NE")},
    {{"s", "BETWEEN", "[1]", NULL, NULL}, COUNT("BETWEEN")},
    {{"s", "BETWEEN", "[1, 2, 3]", NULL, NULL}, COUNT("BETWEEN")},
    {{"s", "IN", "[]", NULL, NULL}, COUNT("IN")},
    {{"s", "NULL", "[1]", NULL, NULL}, COUNT("NULL")},
    {{"s", "NOT_NULL", "[1, \"a\"]", NULL, NULL}, COUNT("NOT_NULL")},
    {{"s", "LT", "[<1>]", NULL, NULL}, TYPE("LT", "NS")},
    {{"s", "GE", "[true]", NULL, NULL}, TYPE("GE", "BOOL")},
    {{"s", "IN", "[<\"a\">, \"a\"]", NULL, NULL}, TYPE("IN", "SS")},
    {{"s", "BETWEEN", "[null, null]", NULL, NULL}, TYPE("BETWEEN", "NULL")},
    {{"s", "CONTAINS", "[[]]", NULL, NULL}, TYPE("CONTAINS", "L")},
    {{"s", "NOT_CONTAINS", "[{}]", NULL, NULL}, TYPE("NOT_CONTAINS", "M")},
    {{"s", "BEGINS_WITH", "[1]", NULL, NULL}, TYPE("BEGINS_WITH", "N")},
    {{"s", "IN", "[\"a\", 1]", NULL, NULL},
     INVALID "AttributeValues inside AttributeValueList must be of same type"},
    {{"s", "BETWEEN", "[\"a\", 1]", NULL, NULL},
     INVALID "AttributeValues inside AttributeValueList must be of same type"},
    {{"s", "BETWEEN", "[2, 1]", NULL, NULL},
     "The BETWEEN condition was provided a range where the lower bound is greater than the upper "
     "bound"},
    {{"", "NULL", NULL, NULL, NULL}, "Empty attribute name"},
};

static const struct {
    struct entry entry;
    const char *expected;
} expected_rows[] = {
    {{"s", "", NULL, "\"hello\"", NULL}, "true"},
    {{"s", "", NULL, "\"hello\"", "true"}, "true"},
    {{"s", "", NULL, "\"bye\"", "true"}, "false"},
    {{"zz", "", NULL, NULL, "false"}, "true"},
    {{"nul", "", NULL, NULL, "false"}, "false"},
    {{"s", "EQ", NULL, "\"hello\"", NULL}, "true"},
    {{"s", "IN", NULL, "\"hello\"", NULL}, "true"},
    {{"zz", "NULL", NULL, NULL, NULL}, "true"},
    {{"s", "", NULL, NULL, NULL},
     INVALID "Value must be provided when Exists is null for "
             "Attribute: s"},
    {{"s", "", NULL, NULL, "true"},
     INVALID "Value must be provided when Exists is true for "
             "Attribute: s"},
    {{"s", "", NULL, "1", "false"},
     INVALID "Value cannot be used when Exists is false for "
             "Attribute: s"},
    {{"s", "EQ", "[1]", "1", NULL},
     INVALID "Value and AttributeValueList cannot be used together "
             "for Attribute: s"},
    {{"s", "EQ", "[1]", NULL, "true"},
     INVALID "Exists and ComparisonOperator cannot be used "
             "together for Attribute: s"},
    {{"s", "", "[1]", NULL, "true"},
     INVALID "AttributeValueList can only be used with a "
             "ComparisonOperator for Attribute: s"},
    {{"s", "", "[]", NULL, "false"},
     INVALID "AttributeValueList can only be used with a "
             "ComparisonOperator for Attribute: s"},
    {{"s", "EQ", NULL, NULL, NULL},
     INVALID "Value or AttributeValueList must be used with "
             "ComparisonOperator: EQ for Attribute: s"},
    {{"s", "EQ", "[]", NULL, NULL}, COUNT("EQ")},
    {{"s", "NULL", NULL, "1", NULL}, COUNT("NULL")},
    {{"s", "BETWEEN", NULL, "1", NULL}, COUNT("BETWEEN")},
};

static void test_filters(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(filter_rows); i++) {
        struct str got = outcome(&arena, &filter_rows[i].entry, 1, LEGACY_JOIN_NONE, false);
        CHECK_STR_EQ(filter_rows[i].entry.op, got, str_from_c(filter_rows[i].expected));
    }
    arena_finish(&arena);
}

static void test_expected(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(expected_rows); i++) {
        struct str got = outcome(&arena, &expected_rows[i].entry, 1, LEGACY_JOIN_NONE, true);
        CHECK_STR_EQ(expected_rows[i].expected, got, str_from_c(expected_rows[i].expected));
    }
    arena_finish(&arena);
}

static void test_join(void **state)
{
    (void)state;
    static const struct entry yes = {"n", "EQ", "[5]", NULL, NULL};
    static const struct entry no = {"n", "EQ", "[6]", NULL, NULL};
    const struct entry mixed[] = {no, yes, no};
    const struct entry all[] = {yes, yes, yes};
    struct arena arena;
    arena_init(&arena);
    CHECK_STR_EQ("none", outcome(&arena, mixed, 0, LEGACY_JOIN_NONE, true), STR("none"));
    CHECK_STR_EQ("and", outcome(&arena, mixed, 3, LEGACY_JOIN_NONE, true), STR("false"));
    CHECK_STR_EQ("and", outcome(&arena, mixed, 3, LEGACY_JOIN_AND, true), STR("false"));
    CHECK_STR_EQ("and", outcome(&arena, all, 3, LEGACY_JOIN_AND, true), STR("true"));
    CHECK_STR_EQ("or", outcome(&arena, mixed, 3, LEGACY_JOIN_OR, true), STR("true"));
    CHECK_STR_EQ("or of none", outcome(&arena, mixed, 0, LEGACY_JOIN_OR, true),
                 STR("ConditionalOperator cannot be used without Filter or Expected"));
    CHECK_STR_EQ("and of one", outcome(&arena, mixed, 1, LEGACY_JOIN_AND, true),
                 STR("ConditionalOperator can only be used when Filter or Expected has two or more "
                     "elements"));
    arena_finish(&arena);
}

/* --- KeyConditions --- */

static const struct {
    struct entry entries[3];
    const char *expected;
} key_rows[] = {
    {{{"pk", "EQ", "[\"a\"]", NULL, NULL}}, "\"a\""},
    {{{"sk", "EQ", "[\"b\"]", NULL, NULL}, {"pk", "EQ", "[\"a\"]", NULL, NULL}}, "\"a\" = \"b\""},
    {{{"pk", "EQ", "[\"a\"]", NULL, NULL}, {"sk", "GE", "[\"b\"]", NULL, NULL}}, "\"a\" >= \"b\""},
    {{{"pk", "EQ", "[\"a\"]", NULL, NULL}, {"sk", "BETWEEN", "[\"b\", \"c\"]", NULL, NULL}},
     "\"a\" >= \"b\" <= \"c\""},
    {{{"pk", "EQ", "[\"a\"]", NULL, NULL}, {"sk", "BEGINS_WITH", "[\"b\"]", NULL, NULL}},
     "\"a\" >= \"b\" begins_with \"b\""},
    {{{0}}, "Conditions can be of length 1 or 2 only"},
    {{{"pk", "EQ", NULL, NULL, NULL}}, COUNT("EQ")},
    {{{"pk", "LT", "[true]", NULL, NULL}}, TYPE("LT", "BOOL")},
    {{{"sk", "EQ", "[\"a\"]", NULL, NULL}}, "Query condition missed key schema element: pk"},
    {{{"pk", "EQ", "[\"a\"]", NULL, NULL}, {"zz", "NE", "[\"a\"]", NULL, NULL}},
     "Query condition missed key schema element: sk"},
    {{{"pk", "EQ", "[1]", NULL, NULL}},
     INVALID "Condition parameter type does not match schema type"},
    {{{"pk", "EQ", "[<\"a\">]", NULL, NULL}},
     INVALID "Condition parameter type does not match schema type"},
    {{{"pk", "LT", "[\"a\"]", NULL, NULL}}, "Query key condition not supported"},
    {{{"pk", "NULL", NULL, NULL, NULL}},
     "Attempted conditional constraint is not an indexable operation"},
    {{{"pk", "NE", "[1]", NULL, NULL}},
     "Attempted conditional constraint is not an indexable operation"},
    {{{"pk", "IN", "[\"a\"]", NULL, NULL}},
     "Attempted conditional constraint is not an indexable operation"},
    {{{"pk", "EQ", "[\"a\"]", NULL, NULL}, {"sk", "CONTAINS", "[\"b\"]", NULL, NULL}},
     "Attempted conditional constraint is not an indexable operation"},
    {{{"pk", "EQ", "[\"a\"]", NULL, NULL}, {"sk", "NOT_NULL", NULL, NULL, NULL}},
     "Attempted conditional constraint is not an indexable operation"},
    {{{"pk", "EQ", "[\"a\"]", NULL, NULL}, {"sk", "IN", "[\"b\"]", NULL, NULL}},
     "Attempted conditional constraint is not an indexable operation"},
    {{{"pk", "EQ", "[\"a\"]", NULL, NULL},
      {"sk", "EQ", "[\"b\"]", NULL, NULL},
      {"zz", "EQ", "[\"b\"]", NULL, NULL}},
     "The number of query conditions (3) exceeds the number of key attributes defined in the "
     "schema (2)"},
};

static struct str key_outcome(struct arena *arena, const struct entry *entries)
{
    static const struct key_schema keys = {
        .hash = {{.name = {"pk", 2}, .type = VALUE_S}},
        .hash_count = 1,
        .range = {{.name = {"sk", 2}, .type = VALUE_S}},
        .range_count = 1,
    };
    struct err err = ERR_INIT(arena);
    struct legacy_condition conditions[3];
    size_t count = 0;
    for (; count < 3 && entries[count].attribute != NULL; count++) {
        conditions[count] = convert(arena, &entries[count]);
    }
    const struct key_expression *expression;
    struct key_condition c;
    if (!legacy_key_conditions(arena, conditions, count, &expression, &err) ||
        !key_expression_resolve(expression, &keys, &c, &err)) {
        return err.message;
    }
    return testing_key_condition(arena, &c, 1);
}

static void test_key_conditions(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(key_rows); i++) {
        CHECK_STR_EQ(key_rows[i].expected, key_outcome(&arena, key_rows[i].entries),
                     str_from_c(key_rows[i].expected));
    }
    arena_finish(&arena);
}

/* --- AttributeUpdates --- */

#define P LEGACY_PUT
#define D LEGACY_DELETE
#define A LEGACY_ADD

static const struct {
    const char *item; /* NULL: none */
    struct {
        const char *attribute;
        enum legacy_action action;
        const char *value;
    } updates[3];
    const char *expected;
} update_rows[] = {
    {"{k: 1}", {{"x", P, "\"v\""}}, "{k: 1, x: \"v\"}"},
    {"{k: 1, x: 1}", {{"x", P, "<1>"}, {"a.b", P, "2"}}, "{a.b: 2, k: 1, x: <1>}"},
    {"{k: 1, x: 1}", {{"x", D, NULL}, {"zz", D, NULL}}, "{k: 1}"},
    {"{k: 1, x: 1}", {{"x", A, "2"}, {"y", A, "3"}}, "{k: 1, x: 3, y: 3}"},
    {"{k: 1, x: <1>}", {{"x", A, "<1, 2>"}, {"y", A, "<\"a\">"}}, "{k: 1, x: <1, 2>, y: <\"a\">}"},
    {"{k: 1, x: [1]}",
     {{"x", A, "[\"a\", [2]]"}, {"y", A, "[3]"}},
     "{k: 1, x: [1, \"a\", [2]], y: [3]}"},
    {"{k: 1, x: [1]}", {{"x", A, "[]"}, {"y", A, "[]"}}, "{k: 1, x: [1], y: []}"},
    {NULL, {{"x", A, "[2]"}}, "{k: 1, x: [2]}"},
    {"{k: 1, x: 1}", {{"x", A, "[2]"}}, "Type mismatch for attribute to update"},
    {"{k: 1, x: [1]}", {{"x", A, "2"}}, "Type mismatch for attribute to update"},
    {"{k: 1, x: <1, 2>}", {{"x", D, "<1, 3>"}, {"y", D, "<1>"}}, "{k: 1, x: <2>}"},
    {"{k: 1, x: <1, 2>}", {{"x", D, "<1, 2>"}}, "{k: 1}"},
    {"{k: 1}", {{0}}, "{k: 1}"},
    {NULL, {{0}}, "{k: 1}"},
    {NULL, {{"x", P, "2"}, {"y", D, NULL}}, "{k: 1, x: 2}"},
    {NULL, {{"x", A, "2"}}, "{k: 1, x: 2}"},
    {NULL, {{"x", D, NULL}, {"y", D, "<1>"}}, "absent"},
    {"{k: 1, x: \"s\"}", {{"x", A, "2"}}, "Type mismatch for attribute to update"},
    {"{k: 1, x: 1}", {{"x", A, "<2>"}}, "Type mismatch for attribute to update"},
    {"{k: 1, x: <\"a\">}", {{"x", D, "<2>"}}, "Type mismatch for attribute to update"},
    {"{k: 1, x: 9.9e125}",
     {{"x", A, "9.9e125"}},
     "Number overflow. Attempting to store a number with magnitude larger than supported range"},
    {"{k: 1}",
     {{"x", P, NULL}},
     INVALID "Only DELETE action is allowed when no attribute value is specified"},
    {"{k: 1}",
     {{"x", A, NULL}},
     INVALID "Only DELETE action is allowed when no attribute value is specified"},
    {"{k: 1}",
     {{"x", D, "\"a\""}},
     INVALID "DELETE action with value is not supported for the type S"},
    {"{k: 1}",
     {{"x", D, "[]"}},
     INVALID "DELETE action with value is not supported for the type L"},
    {"{k: 1}", {{"x", A, "\"a\""}}, INVALID "ADD action is not supported for the type S"},
    {"{k: 1}", {{"x", A, "true"}}, INVALID "ADD action is not supported for the type BOOL"},
    {"{k: 1}", {{"x", A, "{}"}}, INVALID "ADD action is not supported for the type M"},
    {"{k: 1}", {{"", P, "1"}}, "Empty attribute name"},
    {"{k: 1}", {{"x", P, "1"}, {"x", P, "2"}}, INVALID "Duplicate value in attribute name: x"},
};

#undef P
#undef D
#undef A

static void test_updates(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(update_rows); i++) {
        struct err err = ERR_INIT(&arena);
        struct legacy_update updates[3] = {0};
        size_t count = 0;
        size_t overhead = 0;
        for (; count < 3 && update_rows[i].updates[count].attribute != NULL; count++) {
            overhead += update_rows[i].updates[count].action == LEGACY_DELETE ? 2 : 19;
            const char *value = update_rows[i].updates[count].value;
            updates[count] = (struct legacy_update){
                .attribute = str_from_c(update_rows[i].updates[count].attribute),
                .action = update_rows[i].updates[count].action,
                .value = value == NULL ? VALUE_ABSENT : testing_value(&arena, value),
            };
        }
        struct value item =
            update_rows[i].item == NULL ? VALUE_ABSENT : testing_value(&arena, update_rows[i].item);
        const struct update *update;
        struct value made = VALUE_ABSENT;
        bool done =
            legacy_updates(&arena, updates, count, &update, &err) &&
            update_apply(update, item, testing_value(&arena, "{k: 1}"), &arena, &made, &err);
        CHECK_STR_EQ(update_rows[i].expected, done ? testing_text(&arena, made) : err.message,
                     str_from_c(update_rows[i].expected));
        if (done) {
            assert_int_equal(update_overhead(update), overhead);
        }
    }
    arena_finish(&arena);
}

/* --- AttributesToGet --- */

static void test_projection(void **state)
{
    (void)state;
    static const struct {
        struct str names[5];
        const char *expected;
    } rows[] = {
        {{{"s", 1}, {"pk", 2}}, "{pk: \"k\", s: \"hello\"}"},
        {{{"zz", 2}}, "{}"},
        {{{"m.x", 3}}, "{}"},
        {{{"m", 1}, {"zz", 2}}, "{m: {x: 1}}"},
        {{{"s", 1}, {"", 0}, {"s", 1}}, "Empty attribute name"},
        {{{"s", 1}, {"s", 1}}, INVALID "Duplicate value in attribute name: s"},
        {{{"s", 1}, {"n", 1}, {"n", 1}, {"pk", 2}, {"s", 1}},
         INVALID "Duplicate value in attribute name: n"},
    };
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct err err = ERR_INIT(&arena);
        size_t count = 0;
        while (count < 5 && !str_is_null(rows[i].names[count])) {
            count++;
        }
        const struct projection *projection;
        struct str got = STR_NULL;
        if (legacy_projection(&arena, rows[i].names, count, &projection, &err)) {
            struct builder builder;
            builder_init(&builder, &arena, 0);
            projection_apply(projection, testing_value(&arena, item_text), &builder);
            got = testing_text(&arena, builder_finish(&builder));
        } else {
            got = err.message;
        }
        CHECK_STR_EQ(rows[i].expected, got, str_from_c(rows[i].expected));
    }
    arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filters), cmocka_unit_test(test_expected),
        cmocka_unit_test(test_join),    cmocka_unit_test(test_key_conditions),
        cmocka_unit_test(test_updates), cmocka_unit_test(test_projection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
