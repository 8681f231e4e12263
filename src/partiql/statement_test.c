/* Unit tests of statements: rows of a statement and its error, or what its parts mean. The errors
 * were measured on the service in September and October 2026 and published; where nobody measured
 * they are DynamoDB Local's. */
#include "partiql/partiql.h"

#include "base/testing.h"
#include "expr/expr_testing.h"

struct row {
    const char *text;
    const char *parameters; /* a list, or NULL */
    const char *expected;
};

static bool parse(struct arena *arena, const struct row *row, struct statement *out,
                  struct err *err)
{
    struct value values[8];
    size_t count = 0;
    if (row->parameters != NULL) {
        struct value_iter iter = value_iter(testing_value(arena, row->parameters));
        while (value_next(&iter, &values[count])) {
            count++;
        }
    }
    struct value *copy = ARENA_ARRAY(arena, struct value, count + 1);
    memcpy(copy, values, count * sizeof(values[0]));
    return statement_parse(arena, str_from_c(row->text), copy, count, out, err);
}

/* --- errors --- */

static const struct row refusals[] = {
    {"x IS INT4", NULL, "Unsupported operation: IsType"},
    {"SELECT COUNT(*) FROM t", NULL, "Unexpected path component at 1:8:5"},
    {"SELECT attribute_exists(a) FROM t", NULL, "Unexpected path component at 1:8:16"},
    {"SELECT a, a FROM t", NULL, "Duplicate identifiers in select clause: a"},
    {"SELECT c, b, a, b, c, c[*] FROM t", NULL, "Duplicate identifiers in select clause: b"},
    {"SELECT c, c[*], b, b FROM t", NULL, "Wildcard path component like a[*].b are not supported"},
    {"SELECT *, a FROM t", NULL,
     "Other attributes should not be present in the projection when '*' is used."},
    {"SELECT a[-1] FROM t", NULL,
     "List index is not within the allowable range; index: [-1] at 1:11:1"},
    {"SELECT a[2147483648] FROM t", NULL,
     "List index is not within the allowable range; index: [2147483648] at 1:10:10"},
    {"SELECT a.* FROM t", NULL, "Unpivot path component like a.*.b are not supported"},
    {"SELECT a[*] FROM t", NULL, "Wildcard path component like a[*].b are not supported"},
    {"SELECT * FROM t u", NULL, "Aliasing is not supported"},
    {"SELECT * FROM t AS u", NULL, "Aliasing is not supported"},
    {"UPDATE t u SET a = 1 WHERE b = 1", NULL, "Aliasing is not supported"},
    {"DELETE FROM t u WHERE b = 1", NULL, "Aliasing is not supported"},
    {"SELECT * FROM t, u", NULL, "Only select from a single table or index is supported."},
    {"SELECT * FROM t.i.x", NULL, "A path may contain at most 2 components in the FROM clause"},
    {"SELECT * FROM \"\"", NULL, "Path component cannot be an empty string"},
    {"SELECT * FROM t.\"\"", NULL, "Path component cannot be an empty string"},
    {"SELECT * FROM 'x'", NULL, "Unexpected from source"},
    {"SELECT * FROM t LIMIT 1", NULL, "Unsupported clause: LIMIT at 1:17:5"},
    {"SELECT DISTINCT a FROM t", NULL, "Unsupported clause: DISTINCT at 1:8:8"},
    {"SELECT * FROM t ORDER BY a", NULL,
     "Must have WHERE clause in the statement when using ORDER BY clause."},
    {"SELECT * FROM t WHERE a = ?", NULL,
     "Number of parameters in request and statement don't match."},
    {"SELECT * FROM t WHERE a = 1", "[1]",
     "Number of parameters in request and statement don't match."},
    {"SELECT * FROM t WHERE a < true", NULL,
     "Incorrect operand type for operator or function; operator or function: <, operand type: "
     "BOOL"},
    {"SELECT * FROM t WHERE a BETWEEN ? AND ?", "[true, false]",
     "Incorrect operand type for operator or function; operator or function: BETWEEN, operand "
     "type: "
     "BOOL"},
    {"SELECT * FROM t WHERE attribute_exists(a) > false", NULL,
     "Incorrect operand type for operator or function; operator or function: >, operand type: "
     "BOOL"},
    {"SELECT * FROM t WHERE attribute_exists('a')", NULL,
     "Operator or function requires a document path; operator or function: attribute_exists"},
    {"SELECT * FROM t WHERE attribute_exists()", NULL,
     "Incorrect number of operands for operator or function; operator or function: "
     "attribute_exists, number of operands: 0"},
    {"SELECT * FROM t WHERE EXISTS(a)", NULL, "Unrecognized function: exists at 1:23:6"},
    {"SELECT * FROM t WHERE set_add(a, <<'x'>>) = a", NULL,
     "Unrecognized function: set_add at 1:23:7"},
    {"SELECT * FROM t WHERE attribute_type(a, 1)", NULL,
     "Incorrect operand type for operator or function; operator or function: attribute_type, "
     "operand type: N"},
    {"SELECT * FROM t WHERE a IN []", NULL,
     "IN operator must have a left hand argument of type Variable Reference and right hand "
     "argument "
     "of type Seq with at least one member"},
    {"SELECT * FROM t WHERE a = MISSING", NULL, "MISSING must be compared using IS operator"},
    {"SELECT * FROM t WHERE a AND b = 1", NULL, "The arguments to AND/OR must be Expressions"},
    {"SELECT * FROM t WHERE NOT a", NULL, "The argument to NOT must be a Type or Expression"},
    {"SELECT * FROM t WHERE a", NULL,
     "WHERE clause must contain an expression that resolves to a boolean"},
    {"SELECT * FROM t WHERE a + 1 = 2", NULL,
     "Unsupported operator in Condition Expression. Operator: +"},
    {"SELECT * FROM t WHERE a = -b", NULL,
     "Unsupported operator in Condition Expression. Operator: -"},
    {"SELECT * FROM t WHERE a LIKE 'x%'", NULL,
     "Unsupported operator in Condition Expression. Operator: LIKE"},
    {"SELECT * FROM t WHERE a IS SYMBOL", NULL,
     "Unsupported data type for IS operator: symbol. Supported data types are [MISSING, NULL, "
     "BOOLEAN, BLOB, STRING, NUMERIC, STRUCT, TUPLE, LIST]"},
    {"SELECT * FROM t WHERE a = 1e126", NULL,
     "Number overflow. Attempting to store a number with magnitude larger than supported range "
     "under root"},
    {"SELECT * FROM t WHERE a = [1, 1e-131]", NULL,
     "Number underflow. Attempting to store a number with magnitude smaller than supported range "
     "under root[1]"},
    {"SELECT * FROM t WHERE a = (SELECT b FROM u)", NULL, "Unsupported operation: Select"},
    {"INSERT INTO t VALUE {'a': 1e126}", NULL,
     "Number overflow. Attempting to store a number with magnitude larger than supported range "
     "under root"},
    {"INSERT INTO t VALUE {'m': {'x': 123456789012345678901234567890123456789}}", NULL,
     "Attempting to store more than 38 significant digits in a Number under root.x"},
    {"INSERT INTO t VALUE {'a': <<>>}", NULL, "Empty bags are not supported"},
    {"INSERT INTO t VALUE {'a': <<1, 'b'>>}", NULL,
     "Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags"},
    {"INSERT INTO t VALUE {'a': [<<'x', 'x'>>]}", NULL,
     "One or more parameter values were invalid: Input collection [x, x] contains duplicates."},
    {"INSERT INTO t VALUE {'a': <<2, 2.0>>}", NULL,
     "One or more parameter values were invalid: Input collection [2, 2.0] contains duplicates! "
     "under root"},
    {"INSERT INTO t VALUE {'a': {'k': ?}}", "[1]",
     "Unsupported data type: Parameter under key root.k at 1:33:1"},
    {"INSERT INTO t VALUE {'a': set_add(<<'a'>>, <<'b'>>)}", NULL,
     "Unsupported data type: set_add under key root at 1:27:7"},
    {"INSERT INTO t VALUE {a: 1}", NULL,
     "Tuple keys must be of type String. Actual type: Id under root"},
    {"INSERT INTO t VALUE {'a': 1, 'a': 2}", NULL, "Duplicate keys in tuple. Key: a under root"},
    {"INSERT INTO t VALUE [1]", NULL,
     "Unsupported format in item expression. Please use struct format {...} to express item values "
     "for insert statement."},
    {"INSERT INTO t <<{'a': 1}>>", NULL,
     "Unsupported operation: Inserting multiple items in a single statement is not supported, use "
     "\"INSERT INTO tableName VALUE item\" instead"},
    {"INSERT INTO t VALUE {'a': 1} RETURNING ALL OLD *", NULL,
     "RETURNING is not supported in INSERT"},
    {"INSERT INTO t.i VALUE {'a': 1}", NULL,
     "FROM clause may only contain a single table name in data manipulation statements at 1:13:1"},
    {"UPDATE t SET a = [?] WHERE b = 1", "[1]",
     "Unsupported data type: Parameter under key root[0] at 1:19:1"},
    {"UPDATE t SET a = 'x' + 1 WHERE b = 1", NULL,
     "Incorrect operand type for operator or function; operator or function: +, operand type: S"},
    {"UPDATE t SET a = b - null WHERE b = 1", NULL,
     "Incorrect operand type for operator or function; operator or function: -, operand type: "
     "NULL"},
    {"UPDATE t SET a = b + 1 + 2 WHERE b = 1", NULL,
     "Unsupported operator in Update Expression. Operator: +"},
    {"UPDATE t SET a = b * 2 WHERE b = 1", NULL,
     "Unsupported operator in Update Expression. Operator: *"},
    {"UPDATE t SET a = f(b) WHERE b = 1", NULL, "Unrecognized function: f at 1:18:1"},
    {"UPDATE t SET a = set_add(b, <<'x'>>) WHERE b = 1", NULL,
     "The first argument to SET_ADD must equal the assignment value at 1:18:7"},
    {"UPDATE t SET a = set_add(<<'a'>>, <<'x'>>) WHERE b = 1", NULL,
     "The first argument to SET_ADD must equal the assignment value at 1:18:7"},
    {"UPDATE t SET a = set_delete(a, 'x') WHERE b = 1", NULL,
     "The second argument to SET_DELETE must be a value with type SET at 1:29:1"},
    {"UPDATE t SET a = set_add(a) WHERE b = 1", NULL,
     "SET_ADD must have exactly two arguments at 1:18:7"},
    {"UPDATE t SET a = 1, a.b = 2 WHERE b = 1", NULL,
     "Two document paths overlap with each other; must remove or rewrite one of these paths; path "
     "one: [a], path two: [a, b]"},
    {"UPDATE t SET a = 1 WHERE b = 1 RETURNING ALL OLD a", NULL,
     "Expected '*' after ( MODIFIED | ALL ) ( NEW | OLD ) in RETURNING clause"},
    {"DELETE FROM t WHERE a = 1 RETURNING MODIFIED NEW *", NULL,
     "Invalid returning clause: RETURNING MODIFIED NEW *. Only RETURNING ALL OLD * is allowed in "
     "DELETE statements."},
};

static void test_refusals(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(refusals); i++) {
        struct err err = ERR_INIT(&arena);
        struct statement statement;
        assert_false(parse(&arena, &refusals[i], &statement, &err));
        CHECK_STR_EQ(refusals[i].text, err.message, str_from_c(refusals[i].expected));
        assert_int_equal(err.code, ERR_VALIDATION);
    }
    arena_finish(&arena);
}

/* --- conditions --- */

static const char item_text[] = "{n: 1, s: \"str\", nul: null, yes: true, ss: <\"a\", \"b\">, "
                                "l: [1, 2], m: {x: {y: 3}}, b: b\"xy\"}";

/* Rows of a condition, and whether the item fulfils it. */
static const struct row conditions[] = {
    {"n = 1", NULL, "yes"},
    {"1.0 = n", NULL, "yes"},
    {"n = '1'", NULL, "no"},
    {"n <> 2", NULL, "yes"},
    {"n <> 'x'", NULL, "yes"},
    {"none <> 1", NULL, "no"},
    {"none != 1", NULL, "no"},
    {"NOT none <> 1", NULL, "yes"},
    {"NOT none = 1", NULL, "yes"},
    {"NOT contains(none, 'x')", NULL, "yes"},
    {"NOT begins_with(none, 'x')", NULL, "yes"},
    {"n > -5 AND n < 2.5", NULL, "yes"},
    {"s < 5", NULL, "no"},
    {"n BETWEEN 1 AND 2", NULL, "yes"},
    {"n NOT BETWEEN 1 AND 2", NULL, "no"},
    {"none NOT BETWEEN 1 AND 2", NULL, "yes"},
    {"n IN [3, 2, 1]", NULL, "yes"},
    {"n NOT IN (3, 2)", NULL, "yes"},
    {"n IN [?, 2]", "[1]", "yes"},
    {"m.x.y = 3 AND l[1] = 2", NULL, "yes"},
    {"ss = <<'b', 'a'>>", NULL, "yes"},
    {"l = [1, 2]", NULL, "yes"},
    {"l = [2, 1]", NULL, "no"},
    {"m = {'x': {'y': 3}}", NULL, "yes"},
    {"nul = null", NULL, "yes"},
    {"nul IS NULL", NULL, "yes"},
    {"none IS NULL", NULL, "no"},
    {"none IS NOT NULL", NULL, "yes"},
    {"none IS MISSING", NULL, "yes"},
    {"nul IS NOT MISSING", NULL, "yes"},
    {"s IS STRING AND n IS NUMERIC AND yes IS BOOL AND l IS LIST AND m IS STRUCT AND b IS BLOB",
     NULL, "yes"},
    {"m IS TUPLE AND NOT s IS NUMERIC", NULL, "yes"},
    {"size(s) = 3 AND SIZE(l) = 2", NULL, "yes"},
    {"attribute_type(ss, 'SS')", NULL, "yes"},
    {"ATTRIBUTE_EXISTS(m.x.y) AND attribute_not_exists(m.z)", NULL, "yes"},
    {"attribute_exists(n) = true", NULL, "yes"},
    {"true = attribute_exists(none)", NULL, "no"},
    {"attribute_exists(n) <> 1", NULL, "yes"},
    {"attribute_exists(n) = 1", NULL, "no"},
    {"attribute_exists(n) = attribute_exists(s)", NULL, "yes"},
    {"attribute_exists(n) = yes", NULL, "yes"},
    {"attribute_exists(none) IN [true, false]", NULL, "yes"},
    {"(n BETWEEN 0 AND 5) = true", NULL, "yes"},
    {"(n = 5 OR s = 'x') = false", NULL, "yes"},
    {"contains(s, 'tr') AND contains(ss, 'a') AND contains(l, 2)", NULL, "yes"},
    {"begins_with(s, 'st') AND begins_with(\"s\", ?)", "[\"s\"]", "yes"},
    {"n = 2 OR n = 1 AND s = 'str'", NULL, "yes"},
    {"(n = 1 OR n = 2) AND s = 'x'", NULL, "no"},
    {"NOT (n = 1 AND s = 'x')", NULL, "yes"},
};

static void test_conditions(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct value item = testing_value(&arena, item_text);
    for (size_t i = 0; i < COUNT_OF(conditions); i++) {
        struct err err = ERR_INIT(&arena);
        struct statement statement;
        struct str text =
            arena_format(&arena, "SELECT * FROM t WHERE %s%c", conditions[i].text, '\0');
        struct row row = {text.data, conditions[i].parameters, NULL};
        bool parsed = parse(&arena, &row, &statement, &err);
        CHECK_STR_EQ(conditions[i].text,
                     !parsed                                             ? err.message
                     : condition_holds(statement.where->condition, item) ? STR("yes")
                                                                         : STR("no"),
                     str_from_c(conditions[i].expected));
    }
    arena_finish(&arena);
}

/* --- comparisons of keys --- */

static const struct row key_tests[] = {
    {"a = 'x'", NULL, "a 1 \"x\""},
    {"'x' = a", NULL, "a 1 \"x\""},
    {"a < 5", NULL, "a 2 5"},
    {"5 < a", NULL, "a 4 5"},
    {"5 >= a", NULL, "a 3 5"},
    {"a BETWEEN 1 AND 2", NULL, "a 6 1 2"},
    {"begins_with(a, 'x')", NULL, "a 7 \"x\""},
    {"a IN [1, 2]", NULL, "a in 1 2"},
    {"\"a b\" = ?", "[7]", "a b 1 7"},
    {"a <> 1", NULL, "none"},
    {"a.b = 1", NULL, "none"},
    {"a = b", NULL, "none"},
    {"a IN [b]", NULL, "none"},
    {"1 BETWEEN a AND 2", NULL, "none"},
    {"begins_with('x', a)", NULL, "none"},
    {"contains(a, 'x')", NULL, "none"},
    {"size(a) = 1", NULL, "none"},
    {"a IS NULL", NULL, "none"},
};

static struct str describe(struct arena *arena, const struct where *where)
{
    if (where->kind != WHERE_TEST || str_is_null(where->attribute)) {
        return STR("none");
    }
    struct str text = where->in
                          ? arena_format(arena, "%.*s in", STR_ARG(where->attribute))
                          : arena_format(arena, "%.*s %d", STR_ARG(where->attribute), where->op);
    for (size_t i = 0; i < where->value_count; i++) {
        struct str value = testing_text(arena, where->values[i]);
        text = arena_format(arena, "%.*s %.*s", STR_ARG(text), STR_ARG(value));
    }
    return text;
}

static void test_key_tests(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(key_tests); i++) {
        struct err err = ERR_INIT(&arena);
        struct statement statement;
        struct str text =
            arena_format(&arena, "SELECT * FROM t WHERE %s%c", key_tests[i].text, '\0');
        struct row row = {text.data, key_tests[i].parameters, NULL};
        assert_true(parse(&arena, &row, &statement, &err));
        CHECK_STR_EQ(key_tests[i].text, describe(&arena, statement.where),
                     str_from_c(key_tests[i].expected));
    }
    arena_finish(&arena);
}

/* --- items, columns, updates --- */

static const struct row items[] = {
    {"INSERT INTO t VALUE {'pk': ?, 'n': -1.50, 'e': 1E3, 'z': -0}", "[\"k\"]",
     "{e: 1000, n: -1.5, pk: \"k\", z: 0}"},
    {"INSERT INTO t VALUE {'m': {'a': [1, 'it''s', null, true]}, 'ns': <<1, 4.5>>, 'ss': <<'a'>>}",
     NULL, "{m: {a: [1, \"it's\", null, true]}, ns: <1, 4.5>, ss: <\"a\">}"},
    {"INSERT INTO t VALUE {}", NULL, "{}"},
};

static const struct row columns[] = {
    {"SELECT n FROM t", NULL, "{n: 1}"},
    {"SELECT m.x.y, l[1], none FROM t", NULL, "{\"l[1]\": 2, y: 3}"},
    {"SELECT m.x FROM t", NULL, "{x: {y: 3}}"},
    {"SELECT m.x.y, m.x, m, n.y.z, n FROM t", NULL, "{m: {x: {y: 3}}, n: 1, x: {y: 3}, y: 3}"},
    {"SELECT l[1], l[0], l[9], l.a, m[0], l FROM t", NULL, "{l: [1, 2], \"l[0]\": 1, \"l[1]\": 2}"},
    {"SELECT zz, n, aa, yes, s FROM t", NULL, "{n: 1, s: \"str\", yes: true}"},
    {"SELECT none FROM t", NULL, "{}"},
};

static const struct row updates[] = {
    {"UPDATE t SET n = n + 1 SET s = 'x', \"new\" = [1] REMOVE l, ss WHERE a = 1", NULL,
     "{b: b\"xy\", m: {x: {y: 3}}, n: 2, new: [1], nul: null, s: \"x\", yes: true}"},
    {"UPDATE t SET l = list_append(l, ?) SET n=n-1 REMOVE m WHERE a = 1", "[[3]]",
     "{b: b\"xy\", l: [1, 2, 3], n: 0, nul: null, s: \"str\", ss: <\"a\", \"b\">, yes: true}"},
    {"UPDATE t SET ss = set_add(ss, <<'c'>>) SET fresh = SET_ADD(fresh, <<1>>) REMOVE l[0] SET "
     "m.x.z = 4 WHERE a = 1",
     NULL,
     "{b: b\"xy\", fresh: <1>, l: [2], m: {x: {y: 3, z: 4}}, n: 1, nul: null, s: \"str\", "
     "ss: <\"a\", \"b\", \"c\">, yes: true}"},
    {"UPDATE t SET ss = set_delete(ss, <<'a', 'b'>>) SET l[9] = 9 SET s = n WHERE a = 1", NULL,
     "{b: b\"xy\", l: [1, 2, 9], m: {x: {y: 3}}, n: 1, nul: null, s: 1, yes: true}"},
    {"UPDATE t SET none.x = 1 WHERE a = 1", NULL,
     "The document path provided in the update expression is invalid for update"},
    {"UPDATE t SET s = none WHERE a = 1", NULL,
     "The provided expression refers to an attribute that does not exist in the item"},
    {"UPDATE t SET ss = set_add(ss, <<1>>) WHERE a = 1", NULL,
     "An operand in the update expression has an incorrect data type"},
};

static void test_items(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(items); i++) {
        struct err err = ERR_INIT(&arena);
        struct statement statement;
        bool parsed = parse(&arena, &items[i], &statement, &err);
        CHECK_STR_EQ(items[i].text, parsed ? testing_text(&arena, statement.item) : err.message,
                     str_from_c(items[i].expected));
    }
    arena_finish(&arena);
}

static void test_columns(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct value item = testing_value(&arena, item_text);
    for (size_t i = 0; i < COUNT_OF(columns); i++) {
        struct err err = ERR_INIT(&arena);
        struct statement statement;
        struct builder builder;
        assert_true(parse(&arena, &columns[i], &statement, &err));
        builder_init(&builder, &arena, 16);
        columns_apply(&statement, item, &builder);
        CHECK_STR_EQ(columns[i].text, testing_text(&arena, builder_finish(&builder)),
                     str_from_c(columns[i].expected));
    }
    arena_finish(&arena);
}

static void test_updates(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct value item = testing_value(&arena, item_text);
    for (size_t i = 0; i < COUNT_OF(updates); i++) {
        struct err err = ERR_INIT(&arena);
        struct statement statement;
        struct value result = VALUE_ABSENT;
        assert_true(parse(&arena, &updates[i], &statement, &err));
        bool applied = update_apply(statement.update, item, VALUE_ABSENT, &arena, &result, &err);
        CHECK_STR_EQ(updates[i].text, applied ? testing_text(&arena, result) : err.message,
                     str_from_c(updates[i].expected));
    }
    arena_finish(&arena);
}

/* --- limits --- */

static void test_operators(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    for (size_t count = 150; count <= 800; count += 650) {
        struct buf buf = {0};
        struct err err = ERR_INIT(&arena);
        struct statement statement;
        buf_add(&buf, STR("SELECT * FROM t WHERE a=1"));
        for (size_t i = 1; i < count; i++) {
            buf_add(&buf, STR(" OR a=1"));
        }
        bool parsed = statement_parse(&arena, buf_str(&buf), NULL, 0, &statement, &err);
        CHECK_STR_EQ("many operators", parsed ? STR("parsed") : err.message,
                     count == 150 ? STR("parsed")
                                  : STR("The expression contains too many operators; operator "
                                        "count: 301"));
        buf_finish(&buf);
    }
    arena_finish(&arena);
}

static void test_levels(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    for (size_t levels = 31; levels <= 32; levels++) {
        struct buf buf = {0};
        struct err err = ERR_INIT(&arena);
        struct statement statement;
        buf_add(&buf, STR("INSERT INTO t VALUE {'d': "));
        for (size_t i = 0; i < levels; i++) {
            buf_add(&buf, i % 2 == 0 ? STR("{'a':") : STR("["));
        }
        buf_add(&buf, STR("1"));
        for (size_t i = levels; i-- > 0;) {
            buf_add(&buf, i % 2 == 0 ? STR("}") : STR("]"));
        }
        buf_add(&buf, STR("}"));
        bool parsed = statement_parse(&arena, buf_str(&buf), NULL, 0, &statement, &err);
        CHECK_STR_EQ("levels", parsed ? STR("parsed") : err.message,
                     levels == 31
                         ? STR("parsed")
                         : STR("Nesting Levels have exceeded supported limits under root"
                               ".a[0].a[0].a[0].a[0].a[0].a[0].a[0].a[0].a[0].a[0].a[0].a[0].a[0]"
                               ".a[0].a[0].a[0]"));
        buf_finish(&buf);
    }
    arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),  cmocka_unit_test(test_conditions),
        cmocka_unit_test(test_key_tests), cmocka_unit_test(test_items),
        cmocka_unit_test(test_columns),   cmocka_unit_test(test_updates),
        cmocka_unit_test(test_operators), cmocka_unit_test(test_levels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
