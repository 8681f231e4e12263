/* Unit tests of key conditions: rows of an expression and its key condition as text, or the error.
 */
#include "expr/expr.h"

#include "base/testing.h"
#include "expr/expr_testing.h"

static const char names[] = "{#pk: \"pk\", #sk: \"sk\"}";
static const char values[] = "{:p: \"a\", :s: \"b\", :t: \"c\", :n: 1, :m: 0, :bool: true, "
                             ":empty: \"\", :nothing: b\"\", :b: b\"x\", :type: \"S\"}";

static const struct key_schema table_s = {
    .hash = {{.name = {"pk", 2}, .type = VALUE_S}},
    .hash_count = 1,
    .range = {{.name = {"sk", 2}, .type = VALUE_S}},
    .range_count = 1,
};
static const struct key_schema table_n = {
    .hash = {{.name = {"pk", 2}, .type = VALUE_S}},
    .hash_count = 1,
    .range = {{.name = {"sk", 2}, .type = VALUE_N}},
    .range_count = 1,
};
static const struct key_schema hash_only = {
    .hash = {{.name = {"pk", 2}, .type = VALUE_S}},
    .hash_count = 1,
};
/* A global index of two hash and four range attributes. */
static const struct key_schema many = {
    .hash = {{.name = {"h", 1}, .type = VALUE_S}, {.name = {"i", 1}, .type = VALUE_N}},
    .hash_count = 2,
    .range = {{.name = {"a", 1}, .type = VALUE_S},
              {.name = {"b", 1}, .type = VALUE_N},
              {.name = {"c", 1}, .type = VALUE_S},
              {.name = {"d", 1}, .type = VALUE_B}},
    .range_count = 4,
};

/* "hash = equal... >= low < high", or the error. */
static struct str outcome(struct arena *arena, struct str text, const struct key_schema *keys)
{
    struct expr_scope scope = testing_scope(arena, NULL, names, values);
    struct err err = ERR_INIT(arena);
    const struct key_expression *expression;
    struct key_condition c;
    if (!expr_key_condition(&scope, text, &expression, &err) ||
        !key_expression_check(expression, &err) ||
        !key_expression_resolve(expression, keys, &c, &err)) {
        return err.message;
    }
    return testing_key_condition(arena, &c, keys->hash_count);
}

#define INVALID  "Invalid KeyConditionExpression: "
#define OPERATOR "Invalid operator used in KeyConditionExpression: "
#define MISSED   "Query condition missed key schema element: "
#define TYPE                                                                                       \
    "One or more parameter values were invalid: Condition parameter type does not match schema "   \
    "type"
#define MULTIPLE                                                                                   \
    "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition"
#define NO_ATTRIBUTE     "Invalid condition in KeyConditionExpression: No key attribute specified"
#define NESTED           INVALID "KeyConditionExpressions cannot have conditions on nested attributes"
#define NESTED_OPERATION INVALID "KeyConditionExpressions cannot contain nested operations"
#define ONE_EACH         INVALID "KeyConditionExpressions must only contain one condition per key"

struct row {
    const char *text;
    const char *expected;
};

static const struct row s_rows[] = {
    {"pk = :p", "\"a\""},
    {"pk = :p AND sk = :s", "\"a\" = \"b\""},
    {"sk = :s AND pk = :p", "\"a\" = \"b\""},
    {"pk = :p AND sk < :s", "\"a\" < \"b\""},
    {"pk = :p AND sk <= :s", "\"a\" <= \"b\""},
    {"pk = :p AND sk > :s", "\"a\" > \"b\""},
    {"pk = :p AND sk >= :s", "\"a\" >= \"b\""},
    {"pk = :p AND sk BETWEEN :s AND :t", "\"a\" >= \"b\" <= \"c\""},
    {"pk = :p AND begins_with(sk, :s)", "\"a\" >= \"b\" begins_with \"b\""},
    {":p = pk AND :s < sk", "\"a\" > \"b\""},
    {":s >= sk AND pk = :p", "\"a\" <= \"b\""},
    {"(#pk = :p) AND (#sk = :s)", "\"a\" = \"b\""},
    {"(#pk = :p AND #sk = :s)", "\"a\" = \"b\""},
    {"(pk) = (:p)", "\"a\""},
    {"((pk = :p)) AND sk = :s", INVALID "The expression has redundant parentheses;"},
    {"", INVALID "The expression can not be empty;"},
    {"pk", INVALID "Syntax error; token: \"<EOF>\", near: \"pk\""},
    {"abort = :p", INVALID "Attribute name is a reserved keyword; reserved keyword: abort"},
    {"foo(pk)", INVALID "Invalid function name; function: foo"},
    {"pk = :u", INVALID "An expression attribute value used in expression is not defined; "
                        "attribute value: :u"},
    {"pk = pk", INVALID "The first operand must be distinct from the remaining operands for this "
                        "operator or function; operator: =, first operand: [pk]"},
    {"pk = :p AND begins_with(sk, :n)",
     INVALID "Incorrect operand type for operator or function; operator or function: begins_with, "
             "operand type: N"},
    {"pk = :p AND sk < :bool", INVALID "Incorrect operand type for operator or function; operator "
                                       "or function: <, operand type: BOOL"},
    {"pk = :p AND :bool >= sk", INVALID "Incorrect operand type for operator or function; operator "
                                        "or function: >=, operand type: BOOL"},
    {"pk = :p AND sk BETWEEN :t AND :s",
     INVALID "The BETWEEN operator requires upper bound to be greater than or equal to lower "
             "bound; lower bound operand: AttributeValue: {S:c}, upper bound operand: "
             "AttributeValue: {S:b}"},
    {"pk = :u AND begins_with(sk, :n)",
     INVALID "An expression attribute value used in expression is not defined; attribute value: "
             ":u"},
    {"begins_with(sk, :n) AND pk = :u",
     INVALID "Incorrect operand type for operator or function; operator or function: begins_with, "
             "operand type: N"},
    {"pk = :p OR sk = :s", OPERATOR "OR"},
    {"pk = :p AND (sk = :s OR sk = :t)", OPERATOR "OR"},
    {"NOT pk = :p", OPERATOR "NOT"},
    {"pk <> :p", OPERATOR "<>"},
    {"pk = :p AND sk IN (:s)", OPERATOR "IN"},
    {"attribute_exists(pk)", OPERATOR "attribute_exists"},
    {"attribute_not_exists(pk)", OPERATOR "attribute_not_exists"},
    {"attribute_type(pk, :type)", OPERATOR "attribute_type"},
    {"pk = :p AND contains(sk, :s)", OPERATOR "contains"},
    {"a > b and size(b) > c or a > c", OPERATOR "OR"},
    {"size(pk) = :n", NESTED_OPERATION},
    {"pk = :p AND sk = size(zz)", NESTED_OPERATION},
    {"pk BETWEEN size(a) AND size(b)", NESTED_OPERATION},
    {"pk = sk", MULTIPLE},
    {"pk BETWEEN a AND size(b)", MULTIPLE},
    {"begins_with(pk, a)", MULTIPLE},
    {"b > a.b", MULTIPLE},
    {"pk.x = :p", NESTED},
    {"pk = :p AND sk[0] = :s", NESTED},
    {"b.d > a", NESTED},
    {":p = :s", NO_ATTRIBUTE},
    {"pk = :p AND :s < :t", NO_ATTRIBUTE},
    {"pk = :p AND :s BETWEEN sk AND :t",
     "Invalid condition in KeyConditionExpression: BETWEEN operator must have the key attribute as "
     "its first operand"},
    {"begins_with(:s, sk) AND pk = :p",
     "Invalid condition in KeyConditionExpression: begins_with operator must have the key "
     "attribute as its first operand"},
    {"pk = :p AND pk = :s", ONE_EACH},
    {"pk = :p AND sk > :s AND sk < :t", ONE_EACH},
    {"pk = :p AND (zz = :s AND zz = :t)", ONE_EACH},
    {"pk = :p AND sk = :s AND zz = :t",
     "The number of query conditions (3) exceeds the number of key attributes defined in the "
     "schema (2)"},
    {"sk = :s", MISSED "pk"},
    {"zz = :p", MISSED "pk"},
    {"zz = :p AND yy = :s", MISSED "pk"},
    {"pk = :p AND zz = :s", MISSED "sk"},
    {"pk = :n", TYPE},
    {"pk = :bool", TYPE},
    {"pk > :n", TYPE},
    {"pk = :n AND zz = :s", TYPE},
    {"pk = :p AND sk = :n", TYPE},
    {"pk = :p AND begins_with(sk, :b)", TYPE},
    {"pk = :p AND sk BETWEEN :m AND :n", TYPE},
    {"pk > :p", "Query key condition not supported"},
    {"begins_with(pk, :p)", "Query key condition not supported"},
    {"pk > :p AND sk = :n", "Query key condition not supported"},
    {"pk = :empty", "One or more parameter values are not valid. The AttributeValue for a key "
                    "attribute cannot contain an empty string value. Key: pk"},
    {"pk = :p AND begins_with(sk, :empty)",
     "One or more parameter values are not valid. The AttributeValue for a key attribute cannot "
     "contain an empty string value. Key: sk"},
};

static const struct row n_rows[] = {
    {"pk = :p AND sk BETWEEN :m AND :n", "\"a\" >= 0 <= 1"},
    {"pk = :p AND sk > :n", "\"a\" > 1"},
    {"pk = :p AND sk = :s", TYPE},
    {"pk = :p AND begins_with(sk, :s)", TYPE},
    {"pk = :p AND sk = :bool", TYPE},
};

static const struct row hash_rows[] = {
    {"pk = :p", "\"a\""},
    {"pk = :p AND sk = :s",
     "The number of query conditions (2) exceeds the number of key attributes defined in the "
     "schema (1)"},
    {"zz = :p", MISSED "pk"},
};

#define NEEDS(names_, last_)                                                                       \
    "RANGE key attributes " names_                                                                 \
    " must have equality conditions specified in the query because a condition is present on key " \
    "attribute " last_

#define SEVERAL(names_)                                                                            \
    "HASH key attributes " names_ " must have equality conditions specified in the query"

static const struct row many_rows[] = {
    {"h = :p AND i = :n", "\"a\" 1"},
    {"i = :n AND h = :p", "\"a\" 1"},
    {"h = :p", SEVERAL("i")},
    {"i = :n", SEVERAL("h")},
    {"a = :s", SEVERAL("h, i")},
    {"zz = :s", SEVERAL("h, i")},
    {"h > :p", SEVERAL("i")}, /* missing attributes are reported first */
    {"h = :p AND a = :s", SEVERAL("i")},
    {"h = :p AND i > :n", SEVERAL("i")},
    {"begins_with(h, :p) AND i > :n", SEVERAL("h, i")},
    {"h = :p AND i > :p", TYPE},
    {"h = :p AND i = :n AND a = :s", "\"a\" 1 = \"b\""},
    {"h = :p AND i = :n AND a > :s", "\"a\" 1 > \"b\""},
    {"b = :m AND h = :p AND i = :n AND a = :s", "\"a\" 1 = \"b\" = 0"},
    {"h = :p AND i = :n AND a = :s AND b BETWEEN :m AND :n", "\"a\" 1 = \"b\" >= 0 <= 1"},
    {"h = :p AND i = :n AND a = :s AND b = :n AND c = :t AND d = :b",
     "\"a\" 1 = \"b\" = 1 = \"c\" = b\"x\""},
    {"h = :p AND i = :n AND a = :s AND b = :n AND c = :t AND begins_with(d, :b)",
     "\"a\" 1 = \"b\" = 1 = \"c\" >= b\"x\" begins_with b\"x\""},
    {"h = :p AND i = :n AND b = :n", NEEDS("a", "b")},
    {"h = :p AND i = :n AND a = :s AND c = :t", NEEDS("b", "c")},
    {"h = :p AND i = :n AND a = :s AND b > :n AND c = :t", NEEDS("b", "c")},
    {"h = :p AND i = :n AND d = :b", NEEDS("a, b, c", "d")},
    {"h = :p AND i = :n AND zz = :t", MISSED "a"},
    {"h = :p AND i = :n AND a = :s AND zz = :t", MISSED "b"},
    {"h = :p AND i = :n AND a = :n", TYPE},
    {"h = :p AND i = :n AND a = :s AND b = :n AND c = :t AND d = :nothing",
     "One or more parameter values are not valid. The AttributeValue for a key attribute cannot "
     "contain an empty binary value. Key: d"},
};

static void check_rows(const struct row *rows, size_t count, const struct key_schema *keys)
{
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < count; i++) {
        CHECK_STR_EQ(rows[i].text, outcome(&arena, str_from_c(rows[i].text), keys),
                     str_from_c(rows[i].expected));
    }
    arena_finish(&arena);
}

static void test_one_range_key(void **state)
{
    (void)state;
    check_rows(s_rows, COUNT_OF(s_rows), &table_s);
    check_rows(n_rows, COUNT_OF(n_rows), &table_n);
}

static void test_hash_only(void **state)
{
    (void)state;
    check_rows(hash_rows, COUNT_OF(hash_rows), &hash_only);
}

static void test_many_attributes(void **state)
{
    (void)state;
    check_rows(many_rows, COUNT_OF(many_rows), &many);
}

/* Binding succeeds, so that errors of the filter and the projection are reported first. */
static void test_told_late(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct expr_scope scope = testing_scope(&arena, NULL, names, values);
    struct err err = ERR_INIT(&arena);
    const struct key_expression *expression;
    struct key_condition condition;
    assert_true(expr_key_condition(&scope, STR("pk = :p OR sk = :s"), &expression, &err));
    assert_int_equal(err.code, ERR_NONE);
    assert_false(key_expression_resolve(expression, &table_s, &condition, &err));
    CHECK_STR_EQ("resolve", err.message, STR(OPERATOR "OR"));
    arena_finish(&arena);
}

static void test_long_range_key(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct expr_scope scope = testing_scope(&arena, NULL, NULL, "{:p: \"a\", :s: \"b\"}");
    char text[1025];
    memset(text, 'x', sizeof(text));
    for (size_t len = 1024; len <= 1025; len++) {
        struct builder builder;
        builder_init(&builder, &arena, 0);
        builder_add_string(&builder, str_make(text, len));
        struct value all[] = {scope.values.values[0], builder_finish(&builder)};
        scope.values.values = all;
        struct err err = ERR_INIT(&arena);
        const struct key_expression *expression;
        struct key_condition condition;
        assert_true(expr_key_condition(&scope, STR("pk = :p AND sk = :s"), &expression, &err));
        assert_int_equal(key_expression_resolve(expression, &table_s, &condition, &err),
                         len == 1024);
    }
    arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_range_key),   cmocka_unit_test(test_hash_only),
        cmocka_unit_test(test_many_attributes), cmocka_unit_test(test_told_late),
        cmocka_unit_test(test_long_range_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
