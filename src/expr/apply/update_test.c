/* Unit tests of updates: binding errors, the new items, UPDATED_OLD and UPDATED_NEW, sizes. */
#include "expr/expr.h"

#include "base/testing.h"
#include "err/messages.h"
#include "expr/expr_testing.h"

static const char names[] = "{#x: \"x\", #d: \"[3]\", #c: \"c\", #s: \"s\"}";
static const char values[] = "{:s: \"new\", :t: \"more\", :n: 1, :o: 3, :l: [\"A\", \"B\"], :el: "
                             "[], :ss: <\"a\", \"c\">, :all: <\"a\", \"b\">, :ns: <1>, :m: {k: 1}, "
                             ":b: b\"x\", :null: null, :bool: true, :big: 9.9e125, :tiny: 1e-10}";
static const char item_text[] = "{pk: \"k\", s: \"old\", n: 5, ss: <\"a\", \"b\">, ns: <1, 2>, m: "
                                "{x: 1, y: \"q\", l: [\"p\"], m2: {z: 7}, ss: <\"a\", \"b\">}, l: "
                                "[\"l0\", \"l1\", \"l2\", {a: 1, b: 2}], huge: 9.9e125, e30: 1e30}";
static const char key_text[] = "{pk: \"k\"}";

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
#define TYPE        "Incorrect operand type for operator or function; operator or function: "
#define CHANGE_TYPE "Incorrect operand type for operator or function; operator: "
#define PATH        "Operator or function requires a document path; operator or function: "
#define OVERLAP                                                                                    \
    "Two document paths overlap with each other; must remove or rewrite one of these "             \
    "paths; path one: "
#define CONFLICT                                                                                   \
    "Two document paths conflict with each other; must remove or rewrite one of these "            \
    "paths; path one: "

/* Rows of an update and its error after "Invalid UpdateExpression: ". Of several errors the last
 * one in the text is reported. */
static const struct row bind_rows[] = {
    {"SET #a = :s, #b = :s", UNDEFINED_NAME "#b"},
    {"REMOVE #a ADD #b :n", UNDEFINED_NAME "#b"},
    {"SET a = :u, b = :v", UNDEFINED_VALUE ":v"},
    {"SET a = :u ADD b :v", UNDEFINED_VALUE ":v"},
    {"SET a = #u, #v = :s", UNDEFINED_NAME "#v"},
    {"SET a = :u REMOVE #v", UNDEFINED_NAME "#v"},
    {"SET a = #u + :v", UNDEFINED_NAME "#u"},
    {"SET a = if_not_exists(#u, :v)", UNDEFINED_NAME "#u"},
    {"SET a = :s, a = :s", OVERLAP "[a], path two: [a]"},
    {"SET a.b = :s, a = :s", OVERLAP "[a, b], path two: [a]"},
    {"SET a = :s, a.b = :s", OVERLAP "[a], path two: [a, b]"},
    {"SET a = :s REMOVE b, a", OVERLAP "[a], path two: [a]"},
    {"SET a[0] = :s, a[0].b = :s", OVERLAP "[a, [0]], path two: [a, [0], b]"},
    {"ADD a :n DELETE a :ss", OVERLAP "[a], path two: [a]"},
    {"SET a = :s, a = :s, #u = :s", UNDEFINED_NAME "#u"},
    {"SET #u = :s, a = :s, a = :s", OVERLAP "[a], path two: [a]"},
    {"SET #c.a = :s, c = :s", OVERLAP "[c, a], path two: [c]"},
    {"SET #c[3].#d = a, #c[3] = a", OVERLAP "[c, [3], [3]], path two: [c, [3]]"},
    {"SET d[1] = a, d.b = a, c[1].a = a, #c = if_not_exists(a)",
     OVERLAP "[c, [1], a], path two: [c]"},
    {"SET a.b = :s, a[0] = :s", CONFLICT "[a, b], path two: [a, [0]]"},
    {"REMOVE a.#c SET a[1] = #d", CONFLICT "[a, c], path two: [a, [1]]"},
    {"SET #c[3].#d = a, #c.#d[3] = if_not_exists(a)",
     CONFLICT "[c, [3], [3]], path two: [c, [3], [3]]"},
    {"SET a = if_not_exists(b)", COUNT "if_not_exists, number of operands: 1"},
    {"SET a = list_append(:l)", COUNT "list_append, number of operands: 1"},
    {"SET a = list_append(:l, :l, :l)", COUNT "list_append, number of operands: 3"},
    {"SET a = if_not_exists(:s, :s)", PATH "if_not_exists"},
    {"SET a = if_not_exists(if_not_exists(a, b), c)", PATH "if_not_exists"},
    {"SET a = if_not_exists(b, b)", DISTINCT "if_not_exists, first operand: [b]"},
    {"SET a = list_append(:s, a)", TYPE "list_append, operand type: S"},
    {"SET a = list_append(a, :n)", TYPE "list_append, operand type: N"},
    {"SET a = list_append(:ss, a)", TYPE "list_append, operand type: SS"},
    {"SET a = a + :s", TYPE "+, operand type: S"},
    {"SET a = :b - a", TYPE "-, operand type: B"},
    {"SET a = a + :l", TYPE "+, operand type: L"},
    {"SET a = a + :null", TYPE "+, operand type: NULL"},
    {"SET a = :s + :b", TYPE "+, operand type: S"},
    {"ADD a :s", CHANGE_TYPE "ADD, operand type: STRING"},
    {"ADD a :b", CHANGE_TYPE "ADD, operand type: BINARY"},
    {"ADD a :null", CHANGE_TYPE "ADD, operand type: NULL"},
    {"ADD a :bool", CHANGE_TYPE "ADD, operand type: BOOLEAN"},
    {"ADD a :l", CHANGE_TYPE "ADD, operand type: LIST"},
    {"ADD a :m", CHANGE_TYPE "ADD, operand type: MAP"},
    {"DELETE a :s", CHANGE_TYPE "DELETE, operand type: STRING"},
    {"DELETE a :n", CHANGE_TYPE "DELETE, operand type: NUMBER"},
    {"DELETE a :l", CHANGE_TYPE "DELETE, operand type: LIST"},
    {"SET b = list_append(:s, a), c = if_not_exists(a) ADD a.b :s",
     CHANGE_TYPE "ADD, operand type: STRING"},
};

#define MISSING  "The provided expression refers to an attribute that does not exist in the item"
#define BAD_PATH "The document path provided in the update expression is invalid for update"
#define BAD_TYPE "An operand in the update expression has an incorrect data type"
#define OVERFLOW                                                                                   \
    "Number overflow. Attempting to store a number with magnitude larger than supported range"

/* Rows of an update and the attributes that it changes, "-a" for one that it removes; or the error.
 */
static const struct row apply_rows[] = {
    {"SET a = :s", "a: \"new\""},
    {"SET s = :s", "s: \"new\""},
    {"SET a = s", "a: \"old\""},
    {"SET a = m.x", "a: 1"},
    {"SET a = m.m2", "a: {z: 7}"},
    {"SET a = l[3]", "a: {a: 1, b: 2}"},
    {"SET a = zz", MISSING},
    {"SET a = m.zz", MISSING},
    {"SET a = l[9]", MISSING},
    {"SET m.x = :s", "m: {l: [\"p\"], m2: {z: 7}, ss: <\"a\", \"b\">, x: \"new\", y: \"q\"}"},
    {"SET m.q = :s", "m: {l: [\"p\"], m2: {z: 7}, q: \"new\", ss: <\"a\", \"b\">, x: 1, y: \"q\"}"},
    {"SET m.m2.z = :s, m.y = :t",
     "m: {l: [\"p\"], m2: {z: \"new\"}, ss: <\"a\", \"b\">, x: 1, y: \"more\"}"},
    {"SET zz.a = :s", BAD_PATH},
    {"SET m.zz.a = :s", BAD_PATH},
    {"SET s.a = :s", BAD_PATH},
    {"SET s[0] = :s", BAD_PATH},
    {"SET m[0] = :s", BAD_PATH},
    {"SET l.a = :s", BAD_PATH},
    {"SET ss[0] = :s", BAD_PATH},
    {"SET l[0] = :s", "l: [\"new\", \"l1\", \"l2\", {a: 1, b: 2}]"},
    {"SET l[9] = :s", "l: [\"l0\", \"l1\", \"l2\", {a: 1, b: 2}, \"new\"]"},
    {"SET l[9] = :s, l[7] = :t, l[8] = :n",
     "l: [\"l0\", \"l1\", \"l2\", {a: 1, b: 2}, \"more\", 1, \"new\"]"},
    {"SET l[4] = :s, l[0] = :t", "l: [\"more\", \"l1\", \"l2\", {a: 1, b: 2}, \"new\"]"},
    {"SET m.l[5] = :s", "m: {l: [\"p\", \"new\"], m2: {z: 7}, ss: <\"a\", \"b\">, x: 1, y: \"q\"}"},
    {"SET l[3].c = :s", "l: [\"l0\", \"l1\", \"l2\", {a: 1, b: 2, c: \"new\"}]"},
    {"SET l[9].c = :s", BAD_PATH},
    {"SET zz[0] = :s", BAD_PATH},
    {"SET n = n + :o", "n: 8"},
    {"SET n = n - :o", "n: 2"},
    {"SET n = :o - n", "n: -2"},
    {"SET n = (n - :o)", "n: 2"},
    {"SET a = n + n", "a: 10"},
    {"SET a = if_not_exists(n, :s) + :n", "a: 6"},
    {"SET a = if_not_exists(zz, :n) + :n", "a: 2"},
    {"SET a = s + :n", BAD_TYPE},
    {"SET a = if_not_exists(zz, :s) + :n", BAD_TYPE},
    {"SET a = huge + :big", OVERFLOW},
    {"SET a = e30 + :tiny", OVERFLOW}, /* more than 38 digits */
    {"SET a = huge - :big", "a: 0"},
    {"SET a = if_not_exists(zz, :s)", "a: \"new\""},
    {"SET a = if_not_exists(s, :n)", "a: \"old\""},
    {"SET a = if_not_exists(zz, s)", "a: \"old\""},
    {"SET a = if_not_exists(zz, yy)", MISSING},
    {"SET a = if_not_exists(s, yy)", "a: \"old\""},
    {"SET a = if_not_exists(zz, if_not_exists(yy, :s))", "a: \"new\""},
    {"SET m.x = if_not_exists(m.x, :s)", ""},
    {"SET a = list_append(m.l, :l)", "a: [\"p\", \"A\", \"B\"]"},
    {"SET a = list_append(:l, m.l)", "a: [\"A\", \"B\", \"p\"]"},
    {"SET a = list_append(:el, :el)", "a: []"},
    {"SET a = list_append(if_not_exists(zz, :el), :l)", "a: [\"A\", \"B\"]"},
    {"SET a = list_append(s, :l)", BAD_TYPE},
    {"SET a = list_append(zz, :l)", MISSING},
    {"SET a = :s, b = a", MISSING},
    {"SET a = :s, s = n, n = s", "a: \"new\", n: \"old\", s: 5"},
    {"SET a = l[0], l[0] = s", "a: \"l0\", l: [\"old\", \"l1\", \"l2\", {a: 1, b: 2}]"},
    {"SET a = m, m.x = :s", "a: {l: [\"p\"], m2: {z: 7}, ss: <\"a\", \"b\">, x: 1, y: \"q\"}, m: "
                            "{l: [\"p\"], m2: {z: 7}, ss: <\"a\", \"b\">, x: \"new\", y: \"q\"}"},
    {"REMOVE s SET a = s", "a: \"old\", -s"},
    {"ADD n :n SET a = n", "a: 5, n: 6"},
    {"REMOVE l[0] SET a = l[0]", "a: \"l0\", l: [\"l1\", \"l2\", {a: 1, b: 2}]"},
    {"SET m = m.m2", "m: {z: 7}"},
    {"REMOVE s", "-s"},
    {"REMOVE zz", ""},
    {"REMOVE m.x", "m: {l: [\"p\"], m2: {z: 7}, ss: <\"a\", \"b\">, y: \"q\"}"},
    {"REMOVE m.zz", ""},
    {"REMOVE zz.a", BAD_PATH},
    {"REMOVE s.a", BAD_PATH},
    {"REMOVE m[0]", BAD_PATH},
    {"REMOVE l.a", BAD_PATH},
    {"REMOVE l[0]", "l: [\"l1\", \"l2\", {a: 1, b: 2}]"},
    {"REMOVE l[0], l[2]", "l: [\"l1\", {a: 1, b: 2}]"},
    {"REMOVE l[3], l[0], l[2], l[1]", "l: []"},
    {"REMOVE l[9]", ""},
    {"REMOVE l[9].a", BAD_PATH},
    {"REMOVE l[3].a", "l: [\"l0\", \"l1\", \"l2\", {b: 2}]"},
    {"REMOVE m.x, m.y, m.l, m.m2, m.ss", "m: {}"},
    {"REMOVE l[0] SET l[1] = :s", "l: [\"new\", \"l2\", {a: 1, b: 2}]"},
    {"REMOVE l[1] SET l[9] = :s", "l: [\"l0\", \"l2\", {a: 1, b: 2}, \"new\"]"},
    {"ADD n :o", "n: 8"},
    {"ADD zz :o", "zz: 3"},
    {"ADD ss :ss", "ss: <\"a\", \"b\", \"c\">"},
    {"ADD zz :ss", "zz: <\"a\", \"c\">"},
    {"ADD ns :ns", ""},
    {"ADD m.x :n", "m: {l: [\"p\"], m2: {z: 7}, ss: <\"a\", \"b\">, x: 2, y: \"q\"}"},
    {"ADD m.zz :n", "m: {l: [\"p\"], m2: {z: 7}, ss: <\"a\", \"b\">, x: 1, y: \"q\", zz: 1}"},
    {"ADD l[3].a :n", "l: [\"l0\", \"l1\", \"l2\", {a: 2, b: 2}]"},
    {"ADD l[9] :n", "l: [\"l0\", \"l1\", \"l2\", {a: 1, b: 2}, 1]"},
    {"ADD s :n", BAD_TYPE},
    {"ADD ss :ns", BAD_TYPE},
    {"ADD n :ss", BAD_TYPE},
    {"ADD m :n", BAD_TYPE},
    {"ADD l[0] :n", BAD_TYPE},
    {"ADD zz.a :n", BAD_PATH},
    {"ADD huge :big", OVERFLOW},
    {"ADD e30 :tiny", OVERFLOW},
    {"DELETE ss :ss", "ss: <\"b\">"},
    {"DELETE ss :all", "-ss"},
    {"DELETE ss :ns", BAD_TYPE},
    {"DELETE s :ss", BAD_TYPE},
    {"DELETE zz :ss", ""},
    {"DELETE m.ss :all", "m: {l: [\"p\"], m2: {z: 7}, x: 1, y: \"q\"}"},
    {"DELETE m.zz :ss", ""},
    {"DELETE zz.a :ss", BAD_PATH},
    {"DELETE l[9] :ss", ""},
    {"SET a = :s REMOVE s ADD n :n DELETE ss :ss", "a: \"new\", n: 6, ss: <\"b\">, -s"},
};

/* UPDATED_OLD and UPDATED_NEW. */
static const struct {
    const char *text;
    const char *old;
    const char *new;
} touched_rows[] = {
    {"SET s = :s", "{s: \"old\"}", "{s: \"new\"}"},
    {"SET a = :s", "absent", "{a: \"new\"}"},
    {"SET m.x = :s", "{m: {x: 1}}", "{m: {x: \"new\"}}"},
    {"SET m.x = :s, m.q = :t, s = :s", "{m: {x: 1}, s: \"old\"}",
     "{m: {q: \"more\", x: \"new\"}, s: \"new\"}"},
    {"SET m.m2.z = :s REMOVE m.y", "{m: {m2: {z: 7}, y: \"q\"}}", "{m: {m2: {z: \"new\"}}}"},
    {"SET l[0] = :s", "{l: [\"l0\"]}", "{l: [\"new\"]}"},
    {"SET l[1] = :s, l[3].a = :s", "{l: [\"l1\", {a: 1}]}", "{l: [\"new\", {a: \"new\"}]}"},
    {"SET l[4] = :s", "absent", "{l: [\"new\"]}"},
    {"SET l[5] = :s", "absent", "absent"}, /* it is at index 4 */
    {"SET l[9] = :s, l[8] = :t", "absent", "absent"},
    {"SET l[5] = :s, l[6] = :t", "absent", "{l: [\"more\"]}"},
    {"SET l[9] = :s, s = :s", "{s: \"old\"}", "{s: \"new\"}"},
    {"SET m.l[5] = :s", "absent", "absent"},
    {"SET m.l[1] = :s", "absent", "{m: {l: [\"new\"]}}"},
    {"SET s = s", "{s: \"old\"}", "{s: \"old\"}"},
    {"ADD n :n", "{n: 5}", "{n: 6}"},
    {"ADD m.x :n", "{m: {x: 1}}", "{m: {x: 2}}"},
    {"ADD zz :ss", "absent", "{zz: <\"a\", \"c\">}"},
    {"DELETE ss :ss", "{ss: <\"a\", \"b\">}", "{ss: <\"b\">}"},
    {"DELETE ss :all", "{ss: <\"a\", \"b\">}", "absent"},
    {"DELETE m.ss :all", "{m: {ss: <\"a\", \"b\">}}", "absent"},
    {"DELETE zz :ss", "absent", "absent"},
    {"REMOVE s", "{s: \"old\"}", "absent"},
    {"REMOVE zz", "absent", "absent"},
    {"REMOVE m.x", "{m: {x: 1}}", "absent"},
    {"REMOVE l[1]", "{l: [\"l1\"]}", "{l: [\"l2\"]}"}, /* the element that moved there */
    {"REMOVE l[3]", "{l: [{a: 1, b: 2}]}", "absent"},
    {"REMOVE l[0], l[2]", "{l: [\"l0\", \"l2\"]}", "{l: [\"l1\"]}"},
    {"REMOVE l[3].a", "{l: [{a: 1}]}", "absent"},
    {"REMOVE l[1] SET l[2] = :s", "{l: [\"l1\", \"l2\"]}", "{l: [\"new\", {a: 1, b: 2}]}"},
    {"REMOVE l[0] SET l[9] = :s", "{l: [\"l0\"]}", "{l: [\"l1\"]}"},
    {"SET a = :s REMOVE s", "{s: \"old\"}", "{a: \"new\"}"},
};

static const struct update *bound(struct arena *arena, struct str text, struct err *err)
{
    struct expr_scope scope = testing_scope(arena, NULL, names, values);
    const struct update *update = NULL;
    return expr_update(&scope, text, &update, err) ? update : NULL;
}

static void test_bind(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(bind_rows); i++) {
        struct err err = ERR_INIT(&arena);
        assert_null(bound(&arena, str_from_c(bind_rows[i].text), &err));
        struct str expected =
            arena_format(&arena, "Invalid UpdateExpression: %s", bind_rows[i].expected);
        CHECK_STR_EQ(bind_rows[i].text, err.message, expected);
    }
    arena_finish(&arena);
}

/* Returns the differences of two items, as the rows show them. */
static struct str difference(struct arena *arena, struct value old, struct value new)
{
    struct str list = STR("");
    struct value_iter iter = value_iter(new);
    struct value_name name;
    struct value value;
    while (value_next_entry(&iter, &name, &value)) {
        if (!value_eq(value, value_map_get(old, name.text))) {
            struct str text = testing_text(arena, value);
            list = arena_format(arena, "%.*s%s%.*s: %.*s", STR_ARG(list), list.len > 0 ? ", " : "",
                                STR_ARG(name.text), STR_ARG(text));
        }
    }
    iter = value_iter(old);
    while (value_next_entry(&iter, &name, &value)) {
        if (value_is_absent(value_map_get(new, name.text))) {
            list = arena_format(arena, "%.*s%s-%.*s", STR_ARG(list), list.len > 0 ? ", " : "",
                                STR_ARG(name.text));
        }
    }
    return list;
}

static struct str applied(struct arena *arena, const char *text)
{
    struct err err = ERR_INIT(arena);
    const struct update *update = bound(arena, str_from_c(text), &err);
    assert_non_null(update);
    struct value item = testing_value(arena, item_text);
    struct value made = VALUE_ABSENT;
    if (!update_apply(update, item, testing_value(arena, key_text), arena, &made, &err)) {
        return err.message;
    }
    assert_true(value_is_valid(str_make(made.data, made.len)));
    return difference(arena, item, made);
}

static void test_apply(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(apply_rows); i++) {
        CHECK_STR_EQ(apply_rows[i].text, applied(&arena, apply_rows[i].text),
                     str_from_c(apply_rows[i].expected));
    }
    arena_finish(&arena);
}

/* Without an item the key is used; updates that only remove create nothing and do not look up their
 * paths. */
static void test_absent_item(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"SET a = :s", "{a: \"new\", pk: \"k\"}"},
        {"REMOVE a", "absent"},
        {"REMOVE a.b, l[1], m.x[2].y", "absent"},
        {"DELETE a.b :ss", "absent"},
        {"REMOVE a DELETE b :ss", "absent"},
        {"REMOVE a SET b = :s", "{b: \"new\", pk: \"k\"}"},
        {"DELETE a :ss ADD b :n", "{b: 1, pk: \"k\"}"},
        {"REMOVE a.b SET b = :s", BAD_PATH},
        {"ADD a :n, b :ss", "{a: 1, b: <\"a\", \"c\">, pk: \"k\"}"},
        {"DELETE a :ss", "absent"},
        {"SET a = pk", "{a: \"k\", pk: \"k\"}"},
        {"SET a = if_not_exists(pk, :s)", "{a: \"k\", pk: \"k\"}"},
        {"SET a = zz", MISSING},
        {"SET a.b = :s", BAD_PATH},
    };
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct err err = ERR_INIT(&arena);
        const struct update *update = bound(&arena, str_from_c(rows[i].text), &err);
        struct value made = VALUE_ABSENT;
        bool done = update_apply(update, VALUE_ABSENT, testing_value(&arena, key_text), &arena,
                                 &made, &err);
        CHECK_STR_EQ(rows[i].text, done ? testing_text(&arena, made) : err.message,
                     str_from_c(rows[i].expected));
    }
    arena_finish(&arena);
}

static void test_touched(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct value item = testing_value(&arena, item_text);
    struct value key = testing_value(&arena, key_text);
    for (size_t i = 0; i < COUNT_OF(touched_rows); i++) {
        struct err err = ERR_INIT(&arena);
        const struct update *update = bound(&arena, str_from_c(touched_rows[i].text), &err);
        struct value made;
        assert_true(update_apply(update, item, key, &arena, &made, &err));
        CHECK_STR_EQ(touched_rows[i].text,
                     testing_text(&arena, update_touched(update, item, &arena)),
                     str_from_c(touched_rows[i].old));
        CHECK_STR_EQ(touched_rows[i].text,
                     testing_text(&arena, update_touched(update, made, &arena)),
                     str_from_c(touched_rows[i].new));
    }
    arena_finish(&arena);
}

/* An attribute may be 32 levels deep, itself counted. */
static void test_nesting(void **state)
{
    (void)state;
    static const char too_deep[] = "Nesting Levels have exceeded supported limits: Attributes in "
                                   "the item have nested levels beyond supported limit";
    static const struct {
        size_t maps;
        const char *text;
        bool fits;
    } rows[] = {
        {31, "SET a = :deep", true},       {32, "SET a = :deep", false},
        {30, "SET m.q = :deep", true},     {31, "SET m.q = :deep", false},
        {30, "SET l[3].a = :deep", false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct arena arena;
        arena_init(&arena);
        struct buf buf = {0};
        buf_add(&buf, STR("{:deep: "));
        for (size_t k = 0; k < rows[i].maps; k++) {
            buf_add(&buf, STR("{n: "));
        }
        buf_add(&buf, STR("1"));
        for (size_t k = 0; k < rows[i].maps; k++) {
            buf_add_char(&buf, '}');
        }
        buf_add(&buf, STR("}"));
        buf_add_char(&buf, '\0');
        struct expr_scope scope = testing_scope(&arena, NULL, NULL, buf.data);
        struct err err = ERR_INIT(&arena);
        const struct update *update;
        struct value made;
        assert_true(expr_update(&scope, str_from_c(rows[i].text), &update, &err));
        bool fits = update_apply(update, testing_value(&arena, item_text), VALUE_ABSENT, &arena,
                                 &made, &err);
        assert_int_equal(fits, rows[i].fits);
        if (!fits) {
            CHECK_STR_EQ(rows[i].text, err.message, str_from_c(too_deep));
        }
        buf_finish(&buf);
        arena_finish(&arena);
    }
}

/* An item of one string `s` of `len` bytes. */
static struct value large_item(struct arena *arena, size_t len)
{
    struct builder builder;
    builder_init(&builder, arena, len + 64);
    size_t open = builder_open(&builder, VALUE_M);
    char *text = arena_bytes(arena, len);
    memset(text, 'x', len);
    builder_add_key(&builder, STR("s"));
    builder_add_string(&builder, str_make(text, len));
    builder_close_map(&builder, open, 1);
    return builder_finish(&builder);
}

/* Results that are together larger than an item are not written. */
static void test_too_large(void **state)
{
    (void)state;
    static const struct {
        size_t len;
        const char *text;
        bool too_large;
    } rows[] = {
        {200000, "SET a = s", false},
        {200000, "SET a = s, b = s", false}, /* the caller checks the sum of three */
        {200000, "SET a = s, b = s, c = s", true},
        {409600, "SET a = s", false},
        {409601, "SET a = s", true},
        {409601, "REMOVE s", false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct arena arena;
        arena_init(&arena);
        struct expr_scope scope = testing_scope(&arena, NULL, NULL, NULL);
        struct err err = ERR_INIT(&arena);
        const struct update *update;
        struct update_result result;
        struct value item = large_item(&arena, rows[i].len);
        assert_true(expr_update(&scope, str_from_c(rows[i].text), &update, &err));
        assert_true(update_eval(update, item, VALUE_ABSENT, &arena, &result, &err));
        assert_int_equal(result.too_large, rows[i].too_large);
        struct value made;
        bool done = update_apply(update, item, VALUE_ABSENT, &arena, &made, &err);
        assert_int_equal(done, !rows[i].too_large);
        CHECK_STR_EQ(rows[i].text, err.message,
                     rows[i].too_large ? STR(MESSAGE_UPDATED_ITEM_SIZE) : STR_NULL);
        arena_finish(&arena);
    }
}

/* The numbers of the published measurement. */
static void test_cost(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t overhead;
    } rows[] = {
        {"SET b = :s", 19},
        {"SET b = :s, c = :t", 38},
        {"SET #x = :s", 19},
        {"SET b = :s REMOVE r", 21},
        {"SET d.leaf = :s", 19},
        {"SET d[0] = :s", 20},
        {"SET n = n + :n", 69},
        {"SET n = n - :n", 69},
        {"SET c = abcdefghij", 19},
        {"SET c = m.z", 19},
        {"SET c = l[10]", 19},
        {"SET l = list_append(l, :l)", 19},
        {"SET c = if_not_exists(c, :m)", 19},
        {"ADD abcdefghij :n", 19},
        {"ADD tags :ss", 19},
        {"REMOVE abcdefghij", 2},
        {"REMOVE m.yyyyyyyyyy", 2},
        {"REMOVE l[10]", 2},
        {"DELETE tags :ss", 2},
    };
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct err err = ERR_INIT(&arena);
        const struct update *update = bound(&arena, str_from_c(rows[i].text), &err);
        assert_int_equal(update_overhead(update), rows[i].overhead);
    }
    arena_finish(&arena);
}

static void collect(void *context, const struct expr_path *path)
{
    struct buf *buf = context;
    buf_format(buf, "%.*s/%zu ", STR_ARG(path->steps[0].name), path->step_count);
}

static void test_visit(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    const struct update *update =
        bound(&arena,
              STR("SET a.b = if_not_exists(c, d) + e[0], f = list_append(:l, g), h = :s "
                  "REMOVE i, j[0] ADD k :n DELETE l :ss"),
              &err);
    struct buf buf = {0};
    update_visit_paths(update, collect, &buf);
    CHECK_STR_EQ("paths", buf_str(&buf), STR("a/2 f/1 h/1 i/1 j/2 k/1 l/1 "));
    buf.len = 0;
    update_visit_operands(update, collect, &buf);
    CHECK_STR_EQ("operands", buf_str(&buf), STR("c/1 d/1 e/2 g/1 "));
    buf_finish(&buf);
    arena_finish(&arena);
}

static void test_operator_limit(void **state)
{
    (void)state;
    for (int count = 300; count <= 301; count++) {
        struct arena arena;
        arena_init(&arena);
        struct err err = ERR_INIT(&arena);
        struct buf buf = {0};
        for (int i = 0; i < count; i++) {
            buf_format(&buf, "%s%d=n+:n", i == 0 ? "SET a" : ",a", i);
        }
        bool fits = bound(&arena, buf_str(&buf), &err) != NULL;
        assert_int_equal(fits, count == 300);
        if (!fits) {
            CHECK_STR_EQ("301", err.message,
                         STR("Invalid UpdateExpression: The expression contains too many "
                             "operators; operator count: 301"));
        }
        buf_finish(&buf);
        arena_finish(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bind),           cmocka_unit_test(test_apply),
        cmocka_unit_test(test_absent_item),    cmocka_unit_test(test_touched),
        cmocka_unit_test(test_nesting),        cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_cost),           cmocka_unit_test(test_visit),
        cmocka_unit_test(test_operator_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
