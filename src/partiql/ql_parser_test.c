/* Unit tests of the parser of statements: rows of a statement and its dump, or the error. The
 * errors were measured on the service in October 2026 and published, or follow from the same
 * grammar. */
#include "partiql/ql_tree_internal.h"

#include "base/buf.h"
#include "base/testing.h"

struct row {
    const char *text;
    const char *expected;
};

static const struct row statements[] = {
    {"SELECT * FROM t", "(select * (from t))"},
    {"select * from \"my table\"", "(select * (from \"my table\"))"},
    {"SELECT a, b.c[0].d, \"e f\" FROM \"t\".\"i\"",
     "(select a b.c[0].d \"e f\" (from \"t\".\"i\"))"},
    {"SELECT * FROM t WHERE a = 'x'", "(select * (from t) (where (= a 'x')))"},
    {"SELECT * FROM t WHERE a = 'it''s'", "(select * (from t) (where (= a 'it''s')))"},
    {"SELECT * FROM t WHERE a = 1 AND b <> 2 OR NOT c < 3 AND d >= 4",
     "(select * (from t) (where (or (and (= a 1) (<> b 2)) (and (not (< c 3)) (>= d 4)))))"},
    {"SELECT * FROM t WHERE NOT a = 1 AND b != 2",
     "(select * (from t) (where (and (not (= a 1)) (<> b 2))))"},
    {"SELECT * FROM t WHERE NOT NOT a = 1", "(select * (from t) (where (not (not (= a 1)))))"},
    {"SELECT * FROM t WHERE NOT (a = 1 OR b = 2)",
     "(select * (from t) (where (not (or (= a 1) (= b 2)))))"},
    {"SELECT * FROM t WHERE ((((a))) = 1)", "(select * (from t) (where (= a 1)))"},
    {"SELECT * FROM t WHERE a BETWEEN 1 AND 2 AND b = 3",
     "(select * (from t) (where (and (between a 1 2) (= b 3))))"},
    {"SELECT * FROM t WHERE a NOT BETWEEN 1 AND 2",
     "(select * (from t) (where (not_between a 1 2)))"},
    {"SELECT * FROM t WHERE a IN [1, 'x', ?]", "(select * (from t) (where (in a (list 1 'x' ?))))"},
    {"SELECT * FROM t WHERE a IN (1, 2)", "(select * (from t) (where (in a (list 1 2))))"},
    {"SELECT * FROM t WHERE a IN (1)", "(select * (from t) (where (in a (list 1))))"},
    {"SELECT * FROM t WHERE a NOT IN <<1>>", "(select * (from t) (where (not_in a (bag 1))))"},
    {"SELECT * FROM t WHERE a IS MISSING AND b IS NOT NULL AND c IS STRING",
     "(select * (from t) (where (and (and (is a MISSING) (not_is b NULL)) (is c STRING))))"},
    {"SELECT * FROM t WHERE a IS DOUBLE PRECISION", "(select * (from t) (where (is a DOUBLE)))"},
    {"SELECT * FROM t WHERE begins_with(a, 'x') AND SIZE(b) > 3",
     "(select * (from t) (where (and (begins_with a 'x') (> (SIZE b) 3))))"},
    {"SELECT * FROM t WHERE a = -1.5e-3 AND b = - - .5 AND c = +2",
     "(select * (from t) (where (and (and (= a -1.5e-3) (= b .5)) (= c 2))))"},
    {"SELECT * FROM t WHERE a = [1, {'b': <<2>>, 'c': null}, true]",
     "(select * (from t) (where (= a (list 1 (struct 'b' (bag 2) 'c' null) true))))"},
    {"SELECT * FROM t WHERE a = [] AND b = {} AND c = <<>>",
     "(select * (from t) (where (and (and (= a (list)) (= b (struct))) (= c (bag)))))"},
    {"SELECT * FROM t WHERE f() = g(a)", "(select * (from t) (where (= (f) (g a))))"},
    {"SELECT COUNT(*) FROM t", "(select (COUNT *) (from t))"},
    {"SELECT * FROM t WHERE a = 1 ORDER BY b DESC, c",
     "(select * (from t) (where (= a 1)) (desc b) (asc c))"},
    {"SELECT * FROM t WHERE a = 1 order by b asc;", "(select * (from t) (where (= a 1)) (asc b))"},
    {"SELECT * FROM t AS u WHERE a = 1", "(select * (from t aliased) (where (= a 1)))"},
    {"SELECT * FROM t u", "(select * (from t aliased))"},
    {"SELECT * -- all\nFROM t /* the table */ WHERE a/**/= 1 --",
     "(select * (from t) (where (= a 1)))"},
    {"INSERT INTO t VALUE {'a': ?, 'b': [1]}", "(insert (struct 'a' ? 'b' (list 1)) (from t))"},
    {"UPDATE t SET a = 1 WHERE b = 2", "(update (set a 1) (from t) (where (= b 2)))"},
    {"UPDATE t SET a = a + 1 SET b.c[2] = list_append(b.c, [1]), d = 3 REMOVE e, f[0] WHERE g = 2 "
     "RETURNING ALL NEW *",
     "(update (set a (+ a 1)) (set b.c[2] (list_append b.c (list 1))) (set d 3) (remove e) "
     "(remove f[0]) (from t) (where (= g 2)) (returning all_new))"},
    {"UPDATE t SET n=n-1 WHERE a = 1", "(update (set n (- n 1)) (from t) (where (= a 1)))"},
    {"FROM t WHERE a = 1 SET b = 2 REMOVE c RETURNING MODIFIED OLD *",
     "(update (set b 2) (remove c) (from t) (where (= a 1)) (returning modified_old))"},
    {"DELETE FROM t WHERE a = 1 RETURNING ALL OLD *",
     "(delete (from t) (where (= a 1)) (returning all_old))"},
    {"EXISTS(SELECT * FROM t WHERE a = 1)", "(EXISTS (select * (from t) (where (= a 1))))"},
    {"a + b * c - d || e", "(|| (- (+ a (* b c)) d) e)"},
    {"a = b = c", "(= (= a b) c)"},
};

/* After "Statement wasn't well formed, can't be processed: ". */
static const struct row mistakes[] = {
    {"SLECT * FROM \"t\" WHERE a = 1", "Expected data manipulation"},
    {"SELECTT * FROMM t", "Expected data manipulation"},
    {"foo", "Expected data manipulation"},
    {"foo bar", "Expected data manipulation"},
    {"CREATE TABLE t", "Expected data manipulation"},
    {"nothing", "Expected data manipulation"},
    {"FROM t", "Expected data manipulation"},
    {"UPDATE t WHERE a = 1", "Expected data manipulation"},
    {"SELECT * FROM t WHERE a = 1 foo", "Unexpected token after expression"},
    {"SELECT * FROM t WHERE a = 1 e5", "Unexpected token after expression"},
    {"SELECT * FROM t WHERE a = 1)", "Unexpected token after expression"},
    {"SELECT * FROM t ORDER BY a WHERE a = 1", "Unexpected token after expression"},
    {"INSERT INTO t VALUE {'a': 1} foo", "Unexpected token after expression"},
    {"INSERT INTO t u VALUE {'a': 1}", "Unexpected token after expression"},
    {"UPDATE t SET a = 1 WHERE b = 2 foo", "Unexpected token after expression"},
    {"DELETE FROM t WHERE a = 1 ORDER BY a", "Unexpected token after expression"},
    {"FROM t SET a = 1 WHERE b = 2", "Unexpected token after expression"},
    {"SELECT * FROM t; SELECT * FROM u",
     "Unexpected token after semicolon. (Only one query is allowed.)"},
    {"SELECT * FROM t WHERE", "Unexpected term"},
    {"SELECT * FROM t WHERE;", "Unexpected term"},
    {"SELECT * FROM t WHERE NOT", "Unexpected term"},
    {"SELECT * FROM t WHERE (", "Unexpected term"},
    {"SELECT * FROM t WHERE ()", "Unexpected term"},
    {"SELECT * FROM", "Unexpected term"},
    {"SELECT", "Unexpected term"},
    {"SELECT a, FROM t", "Expected data manipulation"},
    {"SELECT a WHERE b = 1", "Expected FROM after SELECT list"},
    {"SELECT * FROM t WHERE a = 1 AND", "Missing right-hand side expression of infix operator"},
    {"SELECT * FROM t WHERE a = 1 OR", "Missing right-hand side expression of infix operator"},
    {"SELECT * FROM t WHERE a =", "Missing right-hand side expression of infix operator"},
    {"SELECT * FROM t WHERE a BETWEEN 1", "Expected AND keyword"},
    {"SELECT * FROM t WHERE a BETWEEN 1 AND", "Expected expression after AND"},
    {"SELECT * FROM t WHERE ORDER BY a", "Unexpected keyword"},
    {"SELECT * FROM t WHERE IS NULL", "Unexpected operator"},
    {"SELECT * FROM t WHERE a = LIKE", "Unexpected operator"},
    {"SELECT * FROM t WHERE = 1", "Unexpected operator"},
    {"SELECT * FROM t WHERE a IS FOO", "Expected type name"},
    {"SELECT * FROM t WHERE a IS", "Expected type name"},
    {"SELECT * FROM t WHERE a.inner = 1", "Invalid path dot component"},
    {"SELECT * FROM t WHERE inner = 1", "Unexpected keyword"},
    {"SELECT * FROM t WHERE a[1 = 1", "Expected RIGHT_BRACKET"},
    {"SELECT * FROM t WHERE a = [1, 2", "Expected RIGHT_BRACKET"},
    {"SELECT * FROM t WHERE a = {'b' 2}", "Expected COLON"},
    {"SELECT * FROM t WHERE a = {'b': 2", "Expected RIGHT_CURLY"},
    {"SELECT * FROM t WHERE a = <<1", "Expected RIGHT_DOUBLE_ANGLE_BRACKET"},
    {"SELECT * FROM t WHERE f(a", "Expected RIGHT_PAREN"},
    {"SELECT * FROM t WHERE a = 1 ORDER b", "Expected BY"},
    {"DELETE FROM", "Expected identifier for simple path"},
    {"DELETE FROM;", "Expected identifier for simple path"},
    {"DELETE FROM WHERE a = 1", "Expected identifier for simple path"},
    {"DELETE t", "Expected FROM after DELETE"},
    {"UPDATE", "Expected identifier for simple path"},
    {"UPDATE t SET", "Expected identifier for simple path"},
    {"UPDATE t SET a", "Expected '='"},
    {"UPDATE t SET a[b] = 1", "Invalid path component for simple path"},
    {"UPDATE t SET a.* = 1", "Invalid path dot component for simple path"},
    {"UPDATE t SET a = 1 WHERE b = 1 RETURNING NEW *",
     "Expected ( MODIFIED | ALL ) ( NEW | OLD ) in each returning element."},
    {"INSERT t", "Unexpected keyword"},
    {"SELECT * FROM t AS WHERE a = 1", "Expected identifier for AS-alias"},
    /* a malformed token is reported without further text */
    {"SELECT * FROM t WHERE a = 'x", ""},
    {"SELECT * FROM \"t", ""},
    {"SELECT * FROM t # note", ""},
    {"SELECT * FROM t /* note", ""},
    {"SELECT * FROM t WHERE a = 1e2147483648", ""},
    {"SELECT * FROM t WHERE a = 1e99999999999", ""},
    {"SELECT * FROM t WHERE a = 1.5e-2147483647", ""},
    {"SELECT * FROM t WHERE a = 1e", ""},
    {"SELECT * FROM t WHERE a = 1foo", ""},
    {"SELECT * FROM t WHERE a = `1`", ""},
    {"\xc3\xa9", ""},
};

static void test_statements(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(statements); i++) {
        struct err err = ERR_INIT(&arena);
        struct ql_tree tree;
        bool parsed = ql_parse(&arena, str_from_c(statements[i].text), &tree, &err);
        CHECK_STR_EQ(statements[i].text, parsed ? ql_dump(&tree, &arena) : err.message,
                     str_from_c(statements[i].expected));
    }
    arena_finish(&arena);
}

static void test_mistakes(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(mistakes); i++) {
        struct err err = ERR_INIT(&arena);
        struct ql_tree tree;
        assert_false(ql_parse(&arena, str_from_c(mistakes[i].text), &tree, &err));
        struct str expected = arena_format(
            &arena, "Statement wasn't well formed, can't be processed: %s", mistakes[i].expected);
        CHECK_STR_EQ(mistakes[i].text, err.message, expected);
    }
    arena_finish(&arena);
}

/* `count` times `open`, then `middle`, then `count` times `close`. */
static struct str nest(struct buf *buf, const char *open, const char *middle, const char *close,
                       size_t count)
{
    buf->len = 0;
    buf_add(buf, STR("SELECT * FROM t WHERE a = "));
    for (size_t i = 0; i < count; i++) {
        buf_add(buf, str_from_c(open));
    }
    buf_add(buf, str_from_c(middle));
    for (size_t i = 0; i < count; i++) {
        buf_add(buf, str_from_c(close));
    }
    return buf_str(buf);
}

static void test_depth(void **state)
{
    (void)state;
    static const struct {
        const char *open;
        const char *middle;
        const char *close;
    } shapes[] = {
        {"(", "1", ")"},     {"[", "1", "]"},  {"{'a':", "1", "}"}, {"<<", "1", ">>"},
        {"NOT ", "b", ""},   {"f(", "1", ")"}, {"- ", "b", ""},     {"b[", "1", "]"},
        {"(b = ", "1", ")"}, {"(", "", ""},    {"[", "", ""},       {"{'a':", "", ""},
    };
    struct arena arena;
    struct buf buf = {0};
    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        struct err err = ERR_INIT(&arena);
        struct ql_tree tree;
        struct str text = nest(&buf, shapes[i].open, shapes[i].middle, shapes[i].close, 1300);
        assert_false(ql_parse(&arena, text, &tree, &err));
        CHECK_STR_EQ(
            shapes[i].open, err.message,
            STR("Statement wasn't well formed, can't be processed: Statement is nested too "
                "deeply to parse"));
        arena_reset(&arena);
    }
    buf_finish(&buf);
    arena_finish(&arena);
}

static void test_positions(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct ql_tree tree = {.text = STR("a\n \xc3\xa9\"b\xc3\xa9\" c")};
    CHECK_STR_EQ("first", ql_position(&tree, ql_token_at(tree.text, 0), &arena), STR("1:1:1"));
    CHECK_STR_EQ("quoted", ql_position(&tree, ql_token_at(tree.text, 5), &arena), STR("2:3:4"));
    CHECK_STR_EQ("last", ql_position(&tree, ql_token_at(tree.text, 11), &arena), STR("2:8:1"));
    arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_statements),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_positions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
