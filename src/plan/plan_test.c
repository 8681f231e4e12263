/* Unit tests of plans: rows of a SELECT and its plan as text, or the error. */
#include "plan/plan.h"

#include "base/testing.h"
#include "expr/expr_testing.h"

/* A table t (p: S, s: N) with a local index by_d (p, d: S) that projects its keys only, and a
 * global index by_g (g: S, n: N) that projects `a`. */
static struct index indexes[] = {
    {
        .name = {"by_g", 4},
        .kind = INDEX_GLOBAL,
        .key = {.hash = {{.name = {"g", 1}, .type = VALUE_S}},
                .hash_count = 1,
                .range = {{.name = {"n", 1}, .type = VALUE_N}},
                .range_count = 1},
        .projection = PROJECTION_INCLUDE,
        .non_key_names = &(struct str){"a", 1},
        .non_key_count = 1,
    },
    {
        .name = {"by_d", 4},
        .kind = INDEX_LOCAL,
        .key = {.hash = {{.name = {"p", 1}, .type = VALUE_S}},
                .hash_count = 1,
                .range = {{.name = {"d", 1}, .type = VALUE_S}},
                .range_count = 1},
        .projection = PROJECTION_KEYS_ONLY,
    },
};

static const struct table table = {
    .name = {"t", 1},
    .key = {.hash = {{.name = {"p", 1}, .type = VALUE_S}},
            .hash_count = 1,
            .range = {{.name = {"s", 1}, .type = VALUE_N}},
            .range_count = 1},
    .indexes = indexes,
    .index_count = COUNT_OF(indexes),
    .local_count = 1,
};

/* A table u (p: S) without sort key. */
static const struct table hash_table = {
    .name = {"u", 1},
    .key = {.hash = {{.name = {"p", 1}, .type = VALUE_S}}, .hash_count = 1},
};

static struct plan_request request_of(struct arena *arena, const struct statement *statement)
{
    const struct table *found = str_eq(statement->table, STR("u")) ? &hash_table : &table;
    return (struct plan_request){
        .arena = arena,
        .table = found,
        .index = str_is_null(statement->index) ? NULL : table_index(found, statement->index),
        .where = statement->where,
        .columns = statement->columns,
        .column_count = statement->column_count,
        .order = statement->order,
        .order_count = statement->order_count,
    };
}

static bool parse(struct arena *arena, const char *text, struct statement *out, struct err *err)
{
    return statement_parse(arena, str_from_c(text), NULL, 0, out, err);
}

static struct str outcome(struct arena *arena, const char *text)
{
    struct err err = ERR_INIT(arena);
    struct statement statement;
    struct plan plan;
    if (!parse(arena, text, &statement, &err)) {
        return err.message;
    }
    struct plan_request request = request_of(arena, &statement);
    if (!plan_select(&request, &plan, &err)) {
        return err.message;
    }
    struct buf out = {0};
    plan_explain(&out, &plan);
    struct str copy = arena_copy(arena, buf_str(&out));
    buf_finish(&out);
    return copy;
}

#define OVERLAP "Overlapping conditions with range keys are not supported in where clause"

static const struct {
    const char *statement;
    const char *expected;
} rows[] = {
    /* one item */
    {"SELECT * FROM t WHERE p = 'a' AND s = 1", "get t\n  key: p = \"a\", s = 1\n"},
    {"SELECT * FROM t WHERE p = 'a' AND s IN [1]", "get t\n  key: p = \"a\", s = 1\n"},
    {"SELECT * FROM t WHERE p = 'a' AND s = 1 AND x > 2",
     "get t\n  key: p = \"a\", s = 1\n  filter: x\n"},
    {"SELECT * FROM u WHERE p = 'a'", "get u\n  key: p = \"a\"\n"},
    {"SELECT * FROM t.by_d WHERE p = 'a' AND d = 'x'",
     "query t.by_d\n  range: p = \"a\", d = \"x\"\n"},
    /* intervals */
    {"SELECT * FROM t WHERE p = 'a'", "query t\n  range: p = \"a\"\n"},
    {"SELECT * FROM t WHERE p = 'a' AND s > 1", "query t\n  range: p = \"a\", s > 1\n"},
    {"SELECT * FROM t WHERE p = 'a' AND 1 > s", "query t\n  range: p = \"a\", s < 1\n"},
    {"SELECT * FROM t WHERE p = 'a' AND s >= 1 AND s < 9",
     "query t\n  range: p = \"a\", s >= 1, s < 9\n"},
    {"SELECT * FROM t WHERE p = 'a' AND s BETWEEN 1 AND 9 AND s > 1 AND s <= 5",
     "query t\n  range: p = \"a\", s > 1, s <= 5\n"},
    {"SELECT * FROM t WHERE p = 'a' AND s > 5 AND s < 3",
     "query t\n  range: p = \"a\", s > 5, s < 3\n"},
    {"SELECT * FROM t.by_d WHERE p = 'a' AND begins_with(d, 'x')",
     "query t.by_d\n  range: p = \"a\", begins_with(d, \"x\")\n"},
    {"SELECT * FROM t.by_d WHERE p = 'a' AND begins_with(d, 'x') AND d > 'xb'",
     "query t.by_d\n  range: p = \"a\", d > \"xb\", begins_with(d, \"x\")\n"},
    {"SELECT * FROM t.by_d WHERE p = 'a' AND begins_with(d, 'x') AND d < 'xb'",
     "query t.by_d\n  range: p = \"a\", d >= \"x\", d < \"xb\"\n"},
    {"SELECT * FROM t WHERE p = 'a' AND x = 1", "query t\n  range: p = \"a\"\n  filter: x\n"},
    {"SELECT * FROM t WHERE p = 'a' AND NOT s = 1", "query t\n  range: p = \"a\"\n"},
    /* several ranges, sorted */
    {"SELECT * FROM t WHERE p IN ['b', 'a']", "query t\n  range: p = \"a\"\n  range: p = \"b\"\n"},
    {"SELECT * FROM t WHERE p = 'a' AND s IN [3, 1]",
     "query t\n  range: p = \"a\", s = 1\n  range: p = \"a\", s = 3\n"},
    {"SELECT * FROM t WHERE p = 'a' AND (s < 2 OR s > 8)",
     "query t\n  range: p = \"a\", s < 2\n  range: p = \"a\", s > 8\n"},
    {"SELECT * FROM t WHERE (p = 'a' OR p = 'b') AND s = 1",
     "query t\n  range: p = \"a\", s = 1\n  range: p = \"b\", s = 1\n"},
    /* intervals that touch but do not overlap */
    {"SELECT * FROM t WHERE p = 'a' AND (s < 2 OR s >= 2)",
     "query t\n  range: p = \"a\", s < 2\n  range: p = \"a\", s >= 2\n"},
    {"SELECT * FROM t WHERE p = 'a' AND (s <= 2 OR s >= 2)", OVERLAP},
    {"SELECT * FROM t WHERE p = 'a' AND (s < 5 OR s > 2)", OVERLAP},
    {"SELECT * FROM t WHERE p = 'a' OR p = 'a' AND s = 1", OVERLAP},
    {"SELECT * FROM t WHERE p = 'a' AND (s < 5 OR s > 2 AND NOT s = 3)",
     "query t\n  range: p = \"a\"\n"},
    /* everything */
    {"SELECT * FROM t", "scan t\n"},
    {"SELECT * FROM t WHERE x = 1", "scan t\n  filter: x\n"},
    {"SELECT * FROM t WHERE s = 1", "scan t\n"},
    {"SELECT * FROM t WHERE p = 'a' OR x = 1", "scan t\n  filter: x\n"},
    {"SELECT * FROM t WHERE p = 'a' AND p = 'b'", "scan t\n"},
    {"SELECT * FROM t WHERE NOT p = 'a'", "scan t\n"},
    {"SELECT * FROM t WHERE p > 'a'", "scan t\n"},
    /* order */
    {"SELECT * FROM t WHERE p = 'a' ORDER BY s DESC",
     "query t\n  range: p = \"a\"\n  order: descending\n"},
    {"SELECT * FROM t WHERE p = 'a' ORDER BY s ASC", "query t\n  range: p = \"a\"\n"},
    {"SELECT * FROM t WHERE p = 'a' ORDER BY p ASC",
     "query t\n  range: p = \"a\"\n  order: descending\n"},
    {"SELECT * FROM t WHERE p IN ['a', 'b'] AND s IN [1, 2] ORDER BY p DESC, s ASC",
     "query t\n  range: p = \"b\", s = 1\n  range: p = \"b\", s = 2\n  range: p = \"a\", s = 1\n"
     "  range: p = \"a\", s = 2\n"},
    {"SELECT * FROM t WHERE p = 'a' ORDER BY x",
     "Attribute x in ORDER BY clause must be part of the primary key"},
    {"SELECT * FROM t WHERE x = 1 ORDER BY s",
     "Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY "
     "clause."},
    {"SELECT * FROM t WHERE p IN ['a', 'b'] ORDER BY s",
     "Must have hash key in ORDER BY clause when more than one hash key condition specified in "
     "WHERE clause."},
    /* indexes and what they project */
    {"SELECT a FROM t.by_g WHERE g = 'x' AND n = 1", "query t.by_g\n  range: g = \"x\", n = 1\n"},
    {"SELECT z FROM t.by_g WHERE g = 'x'",
     "One or more parameter values were invalid: Global secondary index by_g does not project [z]"},
    {"SELECT a FROM t.by_g WHERE g = 'x' AND y = 1 AND z = 1",
     "One or more parameter values were invalid: Secondary index by_g does not project one or more "
     "filter attributes: [y, z]"},
    {"SELECT z FROM t.by_d WHERE p = 'a'",
     "query t.by_d\n  range: p = \"a\"\n  fetch: whole items from the table\n"},
    /* values */
    {"SELECT * FROM t WHERE p = 1", "Key attribute's data type should match its data type in "
                                    "table's schema: Key p"},
    {"SELECT * FROM t WHERE p = true",
     "Key value must be of type S, N, or B. Key name: p, Key type: BOOL"},
    {"SELECT * FROM t WHERE p = ''",
     "One or more parameter values are not valid. The AttributeValue for a key attribute cannot "
     "contain an empty string value. Key: p"},
};

static void test_select(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CHECK_STR_EQ(rows[i].statement, outcome(&arena, rows[i].statement),
                     str_from_c(rows[i].expected));
    }
    arena_finish(&arena);
}

static void test_too_many(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct buf text = {0};
    buf_format(&text, "SELECT * FROM t WHERE p IN ['0'");
    for (int i = 1; i < 50; i++) {
        buf_format(&text, ", '%d'", i);
    }
    size_t len = text.len;
    buf_format(&text, "]");
    assert_true(str_starts_with(outcome(&arena, text.data), STR("query t\n")));
    text.len = len;
    buf_format(&text, ", '50']");
    CHECK_STR_EQ("51 values", outcome(&arena, text.data),
                 STR("Too many decomposed read operations for a given query."));
    buf_finish(&text);
    arena_finish(&arena);
}

/* --- single items --- */

static struct str write_key(struct arena *arena, const char *text, struct plan_write write)
{
    struct err err = ERR_INIT(arena);
    struct statement statement;
    struct value key;
    bool has_more = false;
    assert_true(parse(arena, text, &statement, &err));
    struct plan_request request = request_of(arena, &statement);
    if (!plan_write_key(&request, write, &key, &has_more, &err)) {
        return err.message;
    }
    struct str shown = testing_text(arena, key);
    return arena_format(arena, "%.*s%s", STR_ARG(shown), has_more ? " and more" : "");
}

#define NO_KEY "Where clause does not contain a mandatory equality on all key attributes"

static void test_write_key(void **state)
{
    (void)state;
    static const struct {
        const char *statement;
        struct plan_write write;
        const char *expected;
    } writes[] = {
        {"DELETE FROM t WHERE p = 'a' AND s = 1", {0}, "{p: \"a\", s: 1}"},
        {"DELETE FROM t WHERE p = 'a' AND s = 1 AND x = 2", {0}, "{p: \"a\", s: 1} and more"},
        {"DELETE FROM u WHERE p = 'a'", {0}, "{p: \"a\"}"},
        {"DELETE FROM t WHERE p = 'a'", {0}, NO_KEY},
        {"DELETE FROM t WHERE p = 'a' AND s > 1", {0}, NO_KEY},
        {"DELETE FROM t WHERE p = 'a' AND s = 1 OR x = 2", {0}, NO_KEY},
        {"DELETE FROM t WHERE p = 'a'",
         {.in_transaction = true},
         "The provided key element does not match the schema"},
        {"DELETE FROM t WHERE p = 'a' AND s = 1 AND s = 2",
         {0},
         "Multiple conditions on same key s. Only single item Update/Insert/Delete are supported"},
        {"DELETE FROM t WHERE p = 'a' AND s = 1 AND s = 2",
         {.is_exists = true},
         "{p: \"a\", s: 1} and more"},
    };
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(writes); i++) {
        CHECK_STR_EQ(writes[i].statement, write_key(&arena, writes[i].statement, writes[i].write),
                     str_from_c(writes[i].expected));
    }
    arena_finish(&arena);
}

static void test_select_key(void **state)
{
    (void)state;
    static const struct {
        const char *statement;
        const char *expected;
    } reads[] = {
        {"SELECT * FROM t WHERE p = 'a' AND s = 1", "{p: \"a\", s: 1}"},
        {"SELECT * FROM t WHERE p = 'a' AND s IN [1]", "{p: \"a\", s: 1}"},
        {"SELECT * FROM t WHERE p = 'a' AND s IN [1, 2]", "absent"},
        {"SELECT * FROM t WHERE p = 'a' AND s = 1 AND x = 1", "absent"},
        {"SELECT * FROM t.by_d WHERE p = 'a' AND s = 1", "absent"},
        {"SELECT * FROM t", "absent"},
    };
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(reads); i++) {
        struct err err = ERR_INIT(&arena);
        struct statement statement;
        assert_true(parse(&arena, reads[i].statement, &statement, &err));
        struct plan_request request = request_of(&arena, &statement);
        CHECK_STR_EQ(reads[i].statement, testing_text(&arena, plan_select_key(&request)),
                     str_from_c(reads[i].expected));
    }
    arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_select),
        cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_write_key),
        cmocka_unit_test(test_select_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
