/* Unit tests of conditions: binding errors, and what conditions say of items. */
#include "expr/expr.h"

#include "base/testing.h"
#include "expr/expr_testing.h"

static const char names[] = "{#a: \"a\", #b: \"a\", #d: \"a.b\", #m: \"m\"}";
static const char values[] = "{:s: \"hello\", :t: \"he\", :e: \"\", :n: 5, :o: 2, :b: b\"ab\", "
                             ":ss: <\"a\", \"b\">, :ns: <1, 2>, :bs: <b\"a\">, :l: [\"l0\", 1], "
                             ":m: {x: 1}, :null: null, :bool: true, :type: \"S\", :odd: \"X\"}";
static const char item_text[] =
    "{pk: \"k\", s: \"hello\", u: \"hé😀\", n: 5, big: 12345678901234567890123456789012345678, b: "
    "b\"abc\", ss: <\"b\", \"a\">, ns: <2.0, 1>, bs: <b\"a\">, l: [\"l0\", 1, {y: 2, x: 1}], l2: "
    "[\"l0\", 1, {x: 1, y: 2}], m: {x: 1, y: \"q\", l: [\"p\"]}, nul: null, bo: true, e: \"\", el: "
    "[], em: {}}";

struct row {
    const char *text;
    const char *expected;
};

/* The beginnings of the texts. */
#define UNDEFINED_NAME                                                                             \
    "An expression attribute name used in the document path is not defined; attribute "            \
    "name: "
#define UNDEFINED_VALUE                                                                            \
    "An expression attribute value used in expression is not defined; attribute value: "
#define COUNT "Incorrect number of operands for operator or function; operator or function: "
#define DISTINCT                                                                                   \
    "The first operand must be distinct from the remaining operands for this operator or "         \
    "function; operator: "
#define TYPE "Incorrect operand type for operator or function; operator or function: "
#define PATH "Operator or function requires a document path; operator or function: "
#define BOUND_TYPES                                                                                \
    "The BETWEEN operator requires same data type for lower and upper bounds; lower bound "        \
    "operand: "
#define BOUND_ORDER                                                                                \
    "The BETWEEN operator requires upper bound to be greater than or equal to lower "              \
    "bound; lower bound operand: "

/* Rows of an expression and its error after "Invalid ConditionExpression: ", or its result. A row
 * with two errors shows which one is reported. */
static const struct row bind_rows[] = {
    {"#u = :s", UNDEFINED_NAME "#u"},
    {"s = :u", UNDEFINED_VALUE ":u"},
    {"#m.#u = :s", UNDEFINED_NAME "#u"},
    {"contains(#u, :u)", UNDEFINED_NAME "#u"},
    {"contains(:u, #u)", UNDEFINED_VALUE ":u"},
    {"s IN (:u, #u)", UNDEFINED_VALUE ":u"},
    {"#u = :u", UNDEFINED_NAME "#u"},
    {"contains(s)", COUNT "contains, number of operands: 1"},
    {"contains(s, :s, :n)", COUNT "contains, number of operands: 3"},
    {"size(s, :s) = :n", COUNT "size, number of operands: 2"},
    {"attribute_exists(s, n)", COUNT "attribute_exists, number of operands: 2"},
    {"contains(#u)", UNDEFINED_NAME "#u"},
    {"begins_with(s, s, :n)", COUNT "begins_with, number of operands: 3"},
    {"s = s", DISTINCT "=, first operand: [s]"},
    {"s <> s", DISTINCT "<>, first operand: [s]"},
    {"m.x < m.x", DISTINCT "<, first operand: [m, x]"},
    {"l[0].y = l[0].y", DISTINCT "=, first operand: [l, [0], y]"},
    {"s IN (n, s)", DISTINCT "IN, first operand: [s]"},
    {"s BETWEEN n AND s", DISTINCT "BETWEEN, first operand: [s]"},
    {"contains(m.x, m.x)", DISTINCT "contains, first operand: [m, x]"},
    {"begins_with(s, s)", DISTINCT "begins_with, first operand: [s]"},
    {"attribute_type(s, s)", DISTINCT "attribute_type, first operand: [s]"},
    {"#a = #b", DISTINCT "=, first operand: [a]"},
    {"#a = a", DISTINCT "=, first operand: [a]"},
    {"(s) = (s)", DISTINCT "=, first operand: [s]"},
    {"attribute_exists(:s)", PATH "attribute_exists"},
    {"attribute_not_exists(:s)", PATH "attribute_not_exists"},
    {"attribute_exists(size(s))", PATH "attribute_exists"},
    {"s < :ss", TYPE "<, operand type: SS"},
    {"s <= :ns", TYPE "<=, operand type: NS"},
    {"s > :bs", TYPE ">, operand type: BS"},
    {"s >= :m", TYPE ">=, operand type: M"},
    {"s < :l", TYPE "<, operand type: L"},
    {"s < :null", TYPE "<, operand type: NULL"},
    {":bool < s", TYPE "<, operand type: BOOL"},
    {"size(s) < :bool", TYPE "<, operand type: BOOL"},
    {"s BETWEEN :ss AND :ss", TYPE "BETWEEN, operand type: SS"},
    {":bool BETWEEN s AND n", TYPE "BETWEEN, operand type: BOOL"},
    {"s BETWEEN n AND :null", TYPE "BETWEEN, operand type: NULL"},
    {"s BETWEEN s AND :ss", TYPE "BETWEEN, operand type: SS"},
    {"begins_with(s, :n)", TYPE "begins_with, operand type: N"},
    {"begins_with(:ss, s)", TYPE "begins_with, operand type: SS"},
    {"begins_with(size(s), :s)", TYPE "begins_with, operand type: N"},
    {"begins_with(s, size(n))", TYPE "begins_with, operand type: N"},
    {"size(:n) = :n", TYPE "size, operand type: N"},
    {"size(:bool) = :n", TYPE "size, operand type: BOOL"},
    {"size(:null) = :n", TYPE "size, operand type: NULL"},
    {"size(size(s)) = :n", TYPE "size, operand type: N"},
    {"attribute_type(s, :n)", TYPE "attribute_type, operand type: N"},
    {"attribute_type(s, n)", TYPE "attribute_type, operand type: {NS,SS,L,BS,N,M,B,BOOL,NULL,S}"},
    {"attribute_type(s, :odd)",
     "Invalid attribute type name found; type: X, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}"},
    {"attribute_type(:n, :ss)", TYPE "attribute_type, operand type: SS"},
    {"n BETWEEN :s AND :n",
     BOUND_TYPES "AttributeValue: {S:hello}, upper bound operand: AttributeValue: {N:5}"},
    {"n BETWEEN :n AND :o",
     BOUND_ORDER "AttributeValue: {N:5}, upper bound operand: AttributeValue: {N:2}"},
    {"s BETWEEN :s AND :t",
     BOUND_ORDER "AttributeValue: {S:hello}, upper bound operand: AttributeValue: {S:he}"},
    {"b BETWEEN :b AND :e",
     BOUND_TYPES "AttributeValue: {B:YWI=}, upper bound operand: AttributeValue: {S:}"},
    {"n BETWEEN :n AND :n", "true"},
    {"#d BETWEEN :s AND :s", "false"},
    {"s = s AND #u = :s", DISTINCT "=, first operand: [s]"},
    {"#u = :s AND s = s", UNDEFINED_NAME "#u"},
    {"s < :bool AND s = :u", TYPE "<, operand type: BOOL"},
    {"size(:n) = :u", TYPE "size, operand type: N"},
    {":u = size(:n)", UNDEFINED_VALUE ":u"},
};

static const char *const true_conditions[] = {
    "s = :s",
    "s <> :t",
    "n <> :s",
    "zz <> :s",
    "zz <> yy",
    ":s = s",
    ":n = :n",
    "n > :o",
    "n >= :n",
    "n <= :n",
    "s > :t",
    "b > :b",
    "ss = :ss",
    "ns = :ns",
    "bs = :bs",
    "l = l2",
    "nul = :null",
    "bo = :bool",
    "bo <> :null",
    "big > :n",
    "m.x < :n",
    "m.x = l[1]",
    "l[2].y > l[2].x",
    "#m.x < :n",
    "n BETWEEN :o AND :n",
    "n BETWEEN m.x AND big",
    "s BETWEEN :t AND :s",
    ":n BETWEEN m.x AND big",
    "size(s) BETWEEN :o AND :n",
    "s IN (:t, :s)",
    "ss IN (:s, :ss)",
    "n IN (size(s))",
    "attribute_exists(s)",
    "attribute_exists(m.x)",
    "attribute_exists(l[2].x)",
    "attribute_exists(nul)",
    "attribute_not_exists(zz)",
    "attribute_not_exists(s.x)",
    "attribute_type(s, :type)",
    "attribute_type(m.y, :type)",
    "attribute_type(:s, :type)",
    "begins_with(s, :t)",
    "begins_with(s, :s)",
    "begins_with(s, :e)",
    "begins_with(b, :b)",
    "begins_with(:s, :t)",
    "contains(s, :t)",
    "contains(s, :e)",
    "contains(b, :b)",
    "contains(ns, :o)",
    "contains(ns, m.x)",
    "contains(l, m.x)",
    "contains(:l, m.x)",
    "size(s) = :n",
    "size(u) > :o",
    "size(b) > :o",
    "size(ss) = :o",
    "size(l) > :o",
    "size(m) > :o",
    "size(el) < :o",
    "size(n) <> :n",
    "size(zz) <> :n",
    "size(:s) = n",
    "size(s) = size(:s)",
    "NOT zz = :s",
    "NOT zz < :n",
    "NOT attribute_exists(zz)",
    "s = :s AND n = :n",
    "s = :t OR n = :n",
    "s = :t AND n = :o OR bo = :bool",
    "NOT s = :t AND n = :n",
    "NOT (s = :s AND n = :o)",
};

static const char *const false_conditions[] = {
    "s = :t",
    "s <> :s",
    "n = :s",
    "zz = :s",
    "zz = yy",
    ":n = :o",
    "n < :n",
    "n < :s",
    "s < :n",
    "b < :b",
    "ns <> :ns",
    "m = :m",
    "el = em",
    "ss < n",
    "m.l[0] = :s",
    "l[9] = :s",
    "s.x = :s",
    "s[0] = :s",
    "m[0] = :s",
    "l.x = :s",
    "#d = :s",
    "n BETWEEN m.x AND n2",
    "zz BETWEEN :o AND :n",
    "s BETWEEN :o AND :n",
    "n IN (:s, :o)",
    "zz IN (:s)",
    "s IN (zz)",
    "zz IN (yy)",
    "attribute_exists(zz)",
    "attribute_exists(m.zz)",
    "attribute_exists(l[3])",
    "attribute_not_exists(s)",
    "attribute_type(n, :type)",
    "attribute_type(zz, :type)",
    "begins_with(b, :t)",
    "begins_with(zz, :t)",
    "begins_with(n, :t)",
    "begins_with(s, m.y)",
    "contains(t, :s)",
    "contains(s, :n)",
    "contains(ss, :s)",
    "contains(bs, :b)",
    "contains(l, :o)",
    "contains(l, m)",
    "contains(m, m.x)",
    "contains(n, :n)",
    "contains(zz, :s)",
    "contains(ss, :ss)",
    "contains(s, zz)",
    "size(u) = m.x",
    "size(n) = :n",
    "size(nul) < :n",
    "size(zz) < :n",
    "NOT s = :s",
    "s = :s AND n = :o",
    "s = :t OR n = :o",
    "s = :t AND (n = :o OR bo = :bool)",
};

/* Returns the result, or the error, of a condition with the names and values above. */
static struct str outcome(struct arena *arena, struct str text, const char *item)
{
    struct expr_scope scope = testing_scope(arena, NULL, names, values);
    struct err err = ERR_INIT(arena);
    const struct condition *condition;
    if (!expr_condition(&scope, text, "ConditionExpression", &condition, &err)) {
        return err.message;
    }
    struct value value = item == NULL ? VALUE_ABSENT : testing_value(arena, item);
    return condition_holds(condition, value) ? STR("true") : STR("false");
}

static void test_bind(void **state)
{
    (void)state;
    static const struct str prefix = {"Invalid ConditionExpression: ", 29};
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(bind_rows); i++) {
        struct str got = outcome(&arena, str_from_c(bind_rows[i].text), item_text);
        if (str_starts_with(got, prefix)) {
            got = str_skip(got, prefix.len);
        }
        CHECK_STR_EQ(bind_rows[i].text, got, str_from_c(bind_rows[i].expected));
    }
    arena_finish(&arena);
}

static void test_holds(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(true_conditions); i++) {
        struct str got = outcome(&arena, str_from_c(true_conditions[i]), item_text);
        CHECK_STR_EQ(true_conditions[i], got, STR("true"));
    }
    for (size_t i = 0; i < COUNT_OF(false_conditions); i++) {
        struct str got = outcome(&arena, str_from_c(false_conditions[i]), item_text);
        CHECK_STR_EQ(false_conditions[i], got, STR("false"));
    }
    arena_finish(&arena);
}

/* An absent item has no attributes, not even those of its key. */
static void test_absent_item(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"attribute_exists(pk)", "false"},
        {"attribute_not_exists(pk)", "true"},
        {"pk = :s", "false"},
        {"pk <> :s", "true"},
        {"size(s) < :n", "false"},
        {"NOT s = :s", "true"},
    };
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CHECK_STR_EQ(rows[i].text, outcome(&arena, str_from_c(rows[i].text), NULL),
                     str_from_c(rows[i].expected));
    }
    arena_finish(&arena);
}

static struct str joined(struct arena *arena, const char *first, const char *unit, size_t count,
                         const char *last)
{
    struct buf buf = {0};
    buf_add(&buf, str_from_c(first));
    for (size_t i = 0; i < count; i++) {
        buf_add(&buf, str_from_c(unit));
    }
    buf_add(&buf, str_from_c(last));
    struct str text = arena_copy(arena, buf_str(&buf));
    buf_finish(&buf);
    return text;
}

static void test_limits(void **state)
{
    (void)state;
    static const char too_many[] = "Invalid ConditionExpression: The expression contains too many "
                                   "operators; operator count: 301";
    static const char too_large[] = "Invalid ConditionExpression: Expression size has exceeded the "
                                    "maximum allowed size;";
    static const struct {
        const char *what;
        const char *first;
        const char *unit;
        size_t count;
        const char *last;
        const char *expected;
    } rows[] = {
        {"100 operands of IN", "n IN (:o", ", :o", 99, ")", "false"},
        {"101 operands of IN", "n IN (:o", ", :o", 100, ")",
         "Invalid ConditionExpression: The IN operator is provided with too many operands; number "
         "of operands: 101"},
        {"300 operators", "NOT n = :o", " OR n = :o", 149, "", "true"},
        {"301 operators", "n = :o", " OR n = :o", 150, "", too_many},
        {"300 times NOT", "", "NOT ", 299, "n = :o", "true"},
        {"301 times NOT", "", "NOT ", 300, "n = :o", too_many},
        {"functions count", "attribute_exists(s)", " AND attribute_exists(s)", 150, "", too_many},
        {"other errors first", "n = :o", " OR n = :o", 150, " OR #u = :o",
         "Invalid ConditionExpression: An expression attribute name used in the document path is "
         "not defined; attribute name: #u"},
        {"32 levels", "a", ".a", 31, " = :s", "false"},
        {"33 levels", "a", "[0]", 32, " = :s",
         "Invalid ConditionExpression: The document path has too many nesting levels; nesting "
         "levels: 33"},
        {"depth before names", "#u", ".a", 39, " = :s",
         "Invalid ConditionExpression: The document path has too many nesting levels; nesting "
         "levels: 40"},
        {"4096 bytes", "n = :n", " ", 4090, "", "true"},
        {"4097 bytes", "n = :n", " ", 4091, "", too_large},
        {"size before syntax", "!", " ", 4096, "", too_large},
        {"bytes, not characters", "\"", "\xC3\xA9", 2048, "", too_large},
        {"nothing", "", "", 0, "", "Invalid ConditionExpression: The expression can not be empty;"},
    };
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct str text = joined(&arena, rows[i].first, rows[i].unit, rows[i].count, rows[i].last);
        CHECK_STR_EQ(rows[i].what, outcome(&arena, text, item_text), str_from_c(rows[i].expected));
    }
    arena_finish(&arena);
}

static void collect(void *context, const struct expr_path *path)
{
    struct buf *buf = context;
    for (size_t i = 0; i < path->step_count; i++) {
        if (str_is_null(path->steps[i].name)) {
            buf_format(buf, "[%u]", path->steps[i].index);
        } else {
            buf_format(buf, "/%.*s", STR_ARG(path->steps[i].name));
        }
    }
    buf_add_char(buf, ' ');
}

static void test_visit_paths(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct expr_scope scope = testing_scope(&arena, NULL, names, values);
    struct err err = ERR_INIT(&arena);
    const struct condition *condition;
    assert_true(expr_condition(&scope,
                               STR("NOT a.b[2] = :s AND (size(#m) > x OR y IN (:s, z)) AND "
                                   "attribute_exists(#d)"),
                               "FilterExpression", &condition, &err));
    struct buf buf = {0};
    condition_visit_paths(condition, collect, &buf);
    CHECK_STR_EQ("paths", buf_str(&buf), STR("/a/b[2] /m /x /y /z /a.b "));
    buf_finish(&buf);
    arena_finish(&arena);
}

/* The weight of a condition on a string `:v` of `len` bytes. */
static size_t weight_of(struct str text, size_t len)
{
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    char *bytes = arena_bytes(&arena, len);
    memset(bytes, 'x', len);
    struct builder builder;
    builder_init(&builder, &arena, len + 16);
    builder_add_string(&builder, str_make(bytes, len));
    struct str name = STR(":v");
    struct value value = builder_finish(&builder);
    struct expr_names no_names = {0};
    struct expr_values one_value = {.given = true, .count = 1, .names = &name, .values = &value};
    struct expr_scope scope;
    const struct condition *condition;
    assert_true(expr_scope_init(&scope, &arena, NULL, &no_names, &one_value, &err));
    assert_true(expr_condition(&scope, text, "FilterExpression", &condition, &err));
    size_t weight = condition_weight(condition);
    arena_finish(&arena);
    return weight;
}

/* Values of the request that are read for each item count, those that items are compared with do
 * not. */
static void test_weight(void **state)
{
    (void)state;
    enum { LARGE = 1024 * 1024 };
    assert_int_equal(weight_of(STR("a = :v"), 1), 2);
    assert_int_equal(weight_of(STR("a = :v"), LARGE), 2);
    assert_int_equal(weight_of(STR("contains(a, :v)"), LARGE), 10);
    assert_int_equal(weight_of(STR("contains(:v, a)"), 1), 10);
    assert_true(weight_of(STR("contains(:v, a)"), LARGE) > LARGE / 64);
    assert_true(weight_of(STR("size(:v) > a"), LARGE) > LARGE / 512);
    assert_true(weight_of(STR(":v = :v"), LARGE) > LARGE / 512);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bind),        cmocka_unit_test(test_holds),
        cmocka_unit_test(test_absent_item), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_visit_paths), cmocka_unit_test(test_weight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
