/* Unit tests of the parser: rows of an expression and its dump, or its error, as AWS's own parser
 * reports it. */
#include "expr/parse/tree_internal.h"

#include "base/testing.h"

struct row {
    const char *text;
    const char *expected;
};

static const struct row conditions[] = {
    {"a = :v", "(= a :v)"},
    {"NOT a = :v AND b = :w", "(and (not (= a :v)) (= b :w))"},
    {"a = :v OR b = :v AND c = :v", "(or (= a :v) (and (= b :v) (= c :v)))"},
    {"(a = :v OR b = :v) AND c = :v", "(and (or (= a :v) (= b :v)) (= c :v))"},
    {"a = :v AND b = :v AND c = :v", "(and (and (= a :v) (= b :v)) (= c :v))"},
    {"NOT NOT a = :v", "(not (not (= a :v)))"},
    {"NOT (a = :v OR b = :v)", "(not (or (= a :v) (= b :v)))"},
    {"a <> b AND a < b AND a <= b AND a > b AND a >= b",
     "(and (and (and (and (<> a b) (< a b)) (<= a b)) (> a b)) (>= a b))"},
    {"a BETWEEN :l AND :h AND b = :v", "(and (between a :l :h) (= b :v))"},
    {"a IN (:v, b, size(c))", "(in a :v b (size c))"},
    {"attribute_exists(a.b[2].c)", "(attribute_exists a.b[2].c)"},
    {"contains(a, :v) or begins_with(b, :p)", "(or (contains a :v) (begins_with b :p))"},
    {"size(a) > :n", "(> (size a) :n)"},
    {"#a.#b[0] = :v", "(= #a.#b[0] :v)"},
    {"(a) = (:v)", "(= a :v)"},
    {"((a) = :v)", "(= a :v)"},
    {"(size(a)) = :v", "(= (size a) :v)"},
    {"(contains(a, :v))", "(contains a :v)"},
    {"a.b = c [ 1 ] . d", "(= a.b c[1].d)"},
    {"a=:v AnD nOt b<>:w", "(and (= a :v) (not (<> b :w)))"},
    {"attribute_type(a, :t) AND attribute_not_exists(b)",
     "(and (attribute_type a :t) (attribute_not_exists b))"},
    {"a\t=\n:v\r", "(= a :v)"},
    {"a[2147483647] = :v", "(= a[2147483647] :v)"},
};

static const struct row updates[] = {
    {"SET a = :v", "(set a :v)"},
    {"set a = b, c.d[1] = :v + e REMOVE f, g[0] ADD h :n DELETE i :s",
     "(set a b) (set c.d[1] (+ :v e)) (remove f) (remove g[0]) (add h :n) (delete i :s)"},
    {"SET a = (b - :v)", "(set a (- b :v))"},
    {"SET a = ((b) - (:v))", "(set a (- b :v))"},
    {"SET a = if_not_exists(a, :v) + :w", "(set a (+ (if_not_exists a :v) :w))"},
    {"SET a = list_append(if_not_exists(a, :e), :l)",
     "(set a (list_append (if_not_exists a :e) :l))"},
    {"REMOVE a[0]SET b=:v", "(remove a[0]) (set b :v)"},
    {"ADD a :v, b :w", "(add a :v) (add b :w)"},
};

static const struct row projections[] = {
    {"a", "a"},
    {"a, b.c, d[0][1].e", "a b.c d[0][1].e"},
    {"#a.b", "#a.b"},
};

/* After "Invalid X: Syntax error; ". */
static const struct row condition_syntax[] = {
    {"a = ", "token: \"<EOF>\", near: \"= \""},
    {"a", "token: \"<EOF>\", near: \"a\""},
    {"= :v", "token: \"=\", near: \"= :v\""},
    {"  = :v", "token: \"=\", near: \"  = :v\""},
    {"a = :v AND", "token: \"<EOF>\", near: \"AND\""},
    {"a == :v", "token: \"=\", near: \"== :v\""},
    {"a !! :v", "token: \"!\", near: \"a !!\""},
    {"!!", "token: \"!\", near: \"!!\""},
    {"a = :v)", "token: \")\", near: \":v)\""},
    {"(a = :v", "token: \"<EOF>\", near: \":v\""},
    {"a = :v b = :v", "token: \"b\", near: \":v b =\""},
    {"a = :v :v", "token: \":v\", near: \":v :v\""},
    {"a[] = :v", "token: \"]\", near: \"[] =\""},
    {"a[x] = :v", "token: \"x\", near: \"[x]\""},
    {"a[-1] = :v", "token: \"-\", near: \"[-1\""},
    {"a[01] = :v", "token: \"1\", near: \"01]\""},
    {"a[1.5] = :v", "token: \".\", near: \"1.5\""},
    {"a[0]b = :v", "token: \"b\", near: \"]b =\""},
    {"a..b = :v", "token: \".\", near: \"..b\""},
    {".a = :v", "token: \".\", near: \".a\""},
    {"a. = :v", "token: \"=\", near: \". = :v\""},
    {"a[0 = :v", "token: \"=\", near: \"0 = :v\""},
    {"1a = :v", "token: \"1\", near: \"1a\""},
    {"_a = :v", "token: \"_\", near: \"_a\""},
    {"a-b = :v", "token: \"-\", near: \"a-b\""},
    {"a$ = :v", "token: \"$\", near: \"a$ =\""},
    {"é = :v", "token: \"é\", near: \"é =\""},
    {"a = 5", "token: \"5\", near: \"= 5\""},
    {"a = 'x'", "token: \"'x'\", near: \"= 'x'\""},
    {"a = \"x\"", "token: \"\"x\"\", near: \"= \"x\"\""},
    {"a = 'x", "token: \"'\", near: \"= 'x\""},
    {"a = 'it''s'", "token: \"'it'\", near: \"= 'it''s'\""},
    {"a = :", "token: \":\", near: \"= :\""},
    {"a = ::v", "token: \":\", near: \"= ::v\""},
    {"# = :v", "token: \"#\", near: \"# =\""},
    {"a IN :v", "token: \":v\", near: \"IN :v\""},
    {"a IN ()", "token: \")\", near: \"()\""},
    {"a IN (:v", "token: \"<EOF>\", near: \":v\""},
    {"a IN (:v,)", "token: \")\", near: \",)\""},
    {"a IN ((b, c))", "token: \",\", near: \"b, c\""},
    {"a BETWEEN :v", "token: \"<EOF>\", near: \":v\""},
    {"a BETWEEN :v OR :v", "token: \"OR\", near: \":v OR :v\""},
    {"a BETWEEN (:v AND :v)", "token: \"AND\", near: \":v AND :v\""},
    {"NOT", "token: \"<EOF>\", near: \"NOT\""},
    {"NOT a", "token: \"<EOF>\", near: \"a\""},
    {"a <> = :v", "token: \"=\", near: \"<> = :v\""},
    {"a < > :v", "token: \">\", near: \"< > :v\""},
    {"a = :v\n AND \n !", "token: \"!\", near: \"AND \n !\""},
    {"   ", "token: \"<EOF>\", near: \"   \""},
    {"()", "token: \")\", near: \"()\""},
    {"(a)", "token: \"<EOF>\", near: \")\""},
    {"((a)", "token: \"<EOF>\", near: \")\""},
    {"(a) b", "token: \"b\", near: \") b\""},
    {"(a) AND b = :v", "token: \"AND\", near: \") AND b\""},
    {"(a AND b = :v)", "token: \"AND\", near: \"a AND b\""},
    {"(b = :v AND a)", "token: \")\", near: \"a)\""},
    {"(a = b) = c", "token: \"=\", near: \") = c\""},
    {"a = (b = c)", "token: \"=\", near: \"b = c\""},
    {"(m).x = :v", "token: \".\", near: \").x\""},
    {"m.(x) = :v", "token: \"(\", near: \".(x\""},
    {"size()", "token: \")\", near: \"()\""},
    {"contains(a, , b)", "token: \",\", near: \", , b\""},
    {"contains(", "token: \"<EOF>\", near: \"(\""},
    {"attribute_exists(a", "token: \"<EOF>\", near: \"a\""},
    {"attribute_exists a", "token: \"a\", near: \"attribute_exists a\""},
    {"a + :v = :v", "token: \"+\", near: \"a + :v\""},
    {"a NOT IN (b)", "token: \"NOT\", near: \"a NOT IN\""},
    {"a = b = c", "token: \"=\", near: \"b = c\""},
    {"set = :v", "token: \"set\", near: \"set =\""},
    {"a.or = :v", "token: \"or\", near: \".or =\""},
    {"a= :v", "token: \"\", near: \"a=\""},
    {"((((", "token: \"<EOF>\", near: \"(\""},
    {"NOT NOT", "token: \"<EOF>\", near: \"NOT\""},
};

static const struct row update_syntax[] = {
    {" ", "token: \"<EOF>\", near: \" \""},
    {"SET", "token: \"<EOF>\", near: \"SET\""},
    {"SET a", "token: \"<EOF>\", near: \"a\""},
    {"SET a =", "token: \"<EOF>\", near: \"=\""},
    {"SET a = :v,", "token: \"<EOF>\", near: \",\""},
    {"SET a = :v b = :v", "token: \"b\", near: \":v b =\""},
    {"SET a = :v, SET b = :v", "token: \"SET\", near: \", SET b\""},
    {"REMOVE", "token: \"<EOF>\", near: \"REMOVE\""},
    {"REMOVE a b", "token: \"b\", near: \"a b\""},
    {"REMOVE :v", "token: \":v\", near: \"REMOVE :v\""},
    {"REMOVE a = :v", "token: \"=\", near: \"a = :v\""},
    {"ADD n", "token: \"<EOF>\", near: \"n\""},
    {"ADD n n", "token: \"n\", near: \"n n\""},
    {"ADD n = :n", "token: \"=\", near: \"n = :n\""},
    {"ADD n (:n)", "token: \"(\", near: \"n (:n\""},
    {"DELETE s :s,", "token: \"<EOF>\", near: \",\""},
    {"INVALID SYNTAX HERE", "token: \"INVALID\", near: \"INVALID SYNTAX\""},
    {"a = :v", "token: \"a\", near: \"a =\""},
    {"SETa = :v", "token: \"SETa\", near: \"SETa =\""},
    {"SET a = :v + :n + :n", "token: \"+\", near: \":n + :n\""},
    {"SET a = :n + (:n + :n)", "token: \"+\", near: \":n + :n\""},
    {"SET a = (:n + :n) + :n", "token: \"+\", near: \") + :n\""},
    {"SET (a) = :n", "token: \"(\", near: \"SET (a\""},
    {"SET a = -:n", "token: \"-\", near: \"= -:n\""},
    {"SET a = :n * :n", "token: \"*\", near: \":n * :n\""},
    {"SET a = if_not_exists(a, :n + :n)", "token: \"+\", near: \":n + :n\""},
    {"SET add = :v", "token: \"add\", near: \"SET add =\""},
    {"SET a = set", "token: \"set\", near: \"= set\""},
    {"REMOVE remove", "token: \"remove\", near: \"REMOVE remove\""},
    {"SET a := :v", "token: \":\", near: \"a :=\""},
    {"SET a = :v AND b = :v", "token: \"AND\", near: \":v AND b\""},
};

static const struct row projection_syntax[] = {
    {"a,", "token: \"<EOF>\", near: \",\""},
    {",a", "token: \",\", near: \",a\""},
    {"a,,b", "token: \",\", near: \",,b\""},
    {"a b", "token: \"b\", near: \"a b\""},
    {":v", "token: \":v\", near: \":v\""},
    {"(a)", "token: \"(\", near: \"(a\""},
    {"size(a)", "token: \"(\", near: \"size(a\""},
    {"a = b", "token: \"=\", near: \"a = b\""},
    {"_a", "token: \"_\", near: \"_a\""},
    {"a!", "token: \"!\", near: \"a!\""},
    {"!!", "token: \"!\", near: \"!!\""},
    {"AND", "token: \"AND\", near: \"AND\""},
    {"a, between", "token: \"between\", near: \", between\""},
    {"l[00]", "token: \"0\", near: \"00]\""},
    {"l[1", "token: \"<EOF>\", near: \"1\""},
    {"[0]", "token: \"[\", near: \"[0\""},
    {"a['x']", "token: \"'x'\", near: \"['x']\""},
};

/* Rows of an expression and its error after "Invalid X: ". A row with two errors shows which one is
 * reported. */
static const struct row condition_checks[] = {
    {"((a = :v))", "The expression has redundant parentheses;"},
    {"((a)) = :v", "The expression has redundant parentheses;"},
    {"a = ((:v))", "The expression has redundant parentheses;"},
    {"((a = :v) OR ((b = :v)))", "The expression has redundant parentheses;"},
    {"NOT ((a = :v))", "The expression has redundant parentheses;"},
    {"contains(((a)), :v)", "The expression has redundant parentheses;"},
    {"foo(a)", "Invalid function name; function: foo"},
    {"SIZE(a) = :v", "Invalid function name; function: SIZE"},
    {"foo(bar(a))", "Invalid function name; function: foo"},
    {"foo(abort)", "Invalid function name; function: foo"},
    {"if_not_exists(a, :v) = :v",
     "The function is not allowed in a condition expression; function: if_not_exists"},
    {"a = contains(a, :v)",
     "The function is not allowed to be used this way in an expression; function: contains"},
    {"contains(contains(abort, :v), :v)",
     "The function is not allowed to be used this way in an expression; function: contains"},
    {"size(a)", "The function is not allowed to be used this way in an expression; function: size"},
    {"NOT size(abort)",
     "The function is not allowed to be used this way in an expression; function: size"},
    {"size(foo(a), b)",
     "The function is not allowed to be used this way in an expression; function: size"},
    {"abort = :v", "Attribute name is a reserved keyword; reserved keyword: abort"},
    {"a.Absolute = :v", "Attribute name is a reserved keyword; reserved keyword: Absolute"},
    {"a = TRUE", "Attribute name is a reserved keyword; reserved keyword: TRUE"},
    {"abort = foo(a)", "Attribute name is a reserved keyword; reserved keyword: abort"},
    {"foo(a) = abort", "Invalid function name; function: foo"},
    {"a[2147483648] = :v", "List index is not within the allowable range; index: [2147483648]"},
    {"a[99999999999].abort = :v",
     "List index is not within the allowable range; index: [99999999999]"},
    {"abort[99999999999] = :v", "Attribute name is a reserved keyword; reserved keyword: abort"},
};

static const struct row update_checks[] = {
    {"SET a = ((:v))", "The expression has redundant parentheses;"},
    {"SET a = ((:v + :v))", "The expression has redundant parentheses;"},
    {"SET a = foo(:v)", "Invalid function name; function: foo"},
    {"SET a = size(b)", "The function is not allowed in an update expression; function: size"},
    {"SET a = list_append(:l, list_append(:l, :l))",
     "The function is not allowed to be used this way in an expression; function: list_append"},
    {"SET a = if_not_exists(a, list_append(:l, :l))",
     "The function is not allowed to be used this way in an expression; function: list_append"},
    {"SET a = list_append(a, :l) + :n",
     "The function is not allowed to be used this way in an expression; function: list_append"},
    {"SET abort = foo(:v)", "Attribute name is a reserved keyword; reserved keyword: abort"},
    {"SET a = abort", "Attribute name is a reserved keyword; reserved keyword: abort"},
    {"REMOVE a.abort", "Attribute name is a reserved keyword; reserved keyword: abort"},
    {"ADD a[99999999999] :n", "List index is not within the allowable range; index: [99999999999]"},
    {"SET a = :v SET b = :v", "The \"SET\" section can only be used once in an update expression;"},
    {"REMOVE a REMOVE b SET c = :v SET d = :v",
     "The \"REMOVE\" section can only be used once in an update expression;"},
    {"SET a = :v SET abort = :v", "Attribute name is a reserved keyword; reserved keyword: abort"},
};

static const struct row projection_checks[] = {
    {"abort", "Attribute name is a reserved keyword; reserved keyword: abort"},
    {"a, b.abort", "Attribute name is a reserved keyword; reserved keyword: abort"},
    {"a[99999999999]", "List index is not within the allowable range; index: [99999999999]"},
};

static struct str outcome(struct arena *arena, enum tree_kind kind, struct str text)
{
    struct err err = ERR_INIT(arena);
    const struct tree *tree = NULL;
    if (tree_parse(arena, kind, text, "X", &tree, &err) && tree_check(tree, text, "X", &err)) {
        return tree_dump(tree, text, arena);
    }
    assert_int_equal(err.code, ERR_VALIDATION);
    return err.message;
}

static void check_rows(const struct row *rows, size_t count, enum tree_kind kind,
                       const char *prefix)
{
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < count; i++) {
        struct str expected = arena_format(&arena, "%s%s", prefix, rows[i].expected);
        CHECK_STR_EQ(rows[i].text, outcome(&arena, kind, str_from_c(rows[i].text)), expected);
    }
    arena_finish(&arena);
}

static void test_dumps(void **state)
{
    (void)state;
    check_rows(conditions, COUNT_OF(conditions), TREE_CONDITION, "");
    check_rows(updates, COUNT_OF(updates), TREE_UPDATE, "");
    check_rows(projections, COUNT_OF(projections), TREE_PROJECTION, "");
}

static void test_syntax_errors(void **state)
{
    (void)state;
    static const char prefix[] = "Invalid X: Syntax error; ";
    check_rows(condition_syntax, COUNT_OF(condition_syntax), TREE_CONDITION, prefix);
    check_rows(update_syntax, COUNT_OF(update_syntax), TREE_UPDATE, prefix);
    check_rows(projection_syntax, COUNT_OF(projection_syntax), TREE_PROJECTION, prefix);
}

static void test_checks(void **state)
{
    (void)state;
    check_rows(condition_checks, COUNT_OF(condition_checks), TREE_CONDITION, "Invalid X: ");
    check_rows(update_checks, COUNT_OF(update_checks), TREE_UPDATE, "Invalid X: ");
    check_rows(projection_checks, COUNT_OF(projection_checks), TREE_PROJECTION, "Invalid X: ");
}

/* Repeats `unit` up to the size limit. */
static struct str repeated(char *text, const char *unit)
{
    size_t len = strlen(unit);
    size_t at = 0;
    for (; at + len <= EXPRESSION_BYTES_MAX; at += len) {
        memcpy(text + at, unit, len);
    }
    return str_make(text, at);
}

/* The deepest texts that fit into the size limit fail without exhausting the stack. */
static void test_depth(void **state)
{
    (void)state;
    static const struct row deep[] = {
        {"(", "Invalid X: Syntax error; token: \"<EOF>\", near: \"(\""},
        {"NOT ", "Invalid X: Syntax error; token: \"<EOF>\", near: \"NOT \""},
        {"size(", "Invalid X: Syntax error; token: \"<EOF>\", near: \"(\""},
        {"a.", "Invalid X: Syntax error; token: \"<EOF>\", near: \".\""},
        {"NOT(", "Invalid X: Syntax error; token: \"<EOF>\", near: \"(\""},
    };
    struct arena arena;
    arena_init(&arena);
    char text[EXPRESSION_BYTES_MAX];
    for (size_t i = 0; i < COUNT_OF(deep); i++) {
        struct str got = outcome(&arena, TREE_CONDITION, repeated(text, deep[i].text));
        CHECK_STR_EQ(deep[i].text, got, str_from_c(deep[i].expected));
    }
    arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dumps),
        cmocka_unit_test(test_syntax_errors),
        cmocka_unit_test(test_checks),
        cmocka_unit_test(test_depth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
