/* Unit tests of projections. */
#include "expr/expr.h"

#include "base/testing.h"
#include "expr/expr_testing.h"

static const char names[] = "{#a: \"a\", #b: \"a\", #d: \"a.b\", #l: \"l\", #odd: \"ab cd\"}";
static const char item_text[] =
    "{pk: \"k\", a: {b: \"bb\", c: \"cc\", d: {e: 1, f: 2}}, ab: 1, \"ab cd\": 2, "
    "l: [\"l0\", \"l1\", {x: 1, y: 2}, [3, 4, 5]], s: \"text\"}";

#define OVERLAP                                                                                    \
    "Invalid ProjectionExpression: Two document paths overlap with each other; must remove or "    \
    "rewrite one of these paths; path one: "
#define CONFLICT                                                                                   \
    "Invalid ProjectionExpression: Two document paths conflict with each other; must remove or "   \
    "rewrite one of these paths; path one: "
#define UNDEFINED                                                                                  \
    "Invalid ProjectionExpression: An expression attribute name used in the document path is not " \
    "defined; attribute name: "

static const struct {
    const char *text;
    const char *expected;
} rows[] = {
    {"pk", "{pk: \"k\"}"},
    {"s, pk", "{pk: \"k\", s: \"text\"}"},
    {"zz", "{}"},
    {"zz, pk, aa", "{pk: \"k\"}"},
    {"ab", "{ab: 1}"},
    {"#odd", "{\"ab cd\": 2}"},
    {"#d", "{}"},
    {"a", "{a: {b: \"bb\", c: \"cc\", d: {e: 1, f: 2}}}"},
    {"a.c, a.b", "{a: {b: \"bb\", c: \"cc\"}}"},
    {"a.d.f, a.b", "{a: {b: \"bb\", d: {f: 2}}}"},
    {"a.zz", "{}"},
    {"a.zz, a.b", "{a: {b: \"bb\"}}"},
    {"a.d.zz, a.d.e", "{a: {d: {e: 1}}}"},
    {"a[0]", "{}"},
    {"s.x, s[0]", CONFLICT "[s, x], path two: [s, [0]]"},
    {"s.x", "{}"},
    {"l[2], l[0]", "{l: [\"l0\", {x: 1, y: 2}]}"},
    {"l[2].y, l[0], l[2].x", "{l: [\"l0\", {x: 1, y: 2}]}"},
    {"l[2].y", "{l: [{y: 2}]}"},
    {"l[3][2], l[3][0], l[9]", "{l: [[3, 5]]}"},
    {"l[9]", "{}"},
    {"l[0].x", "{}"},
    {"l[2147483647]", "{}"},
    {"l.x", "{}"},
    {"#u", UNDEFINED "#u"},
    {"#u, #v", UNDEFINED "#v"},
    {"a, a", OVERLAP "[a], path two: [a]"},
    {"a, a.b", OVERLAP "[a], path two: [a, b]"},
    {"a.b, a", OVERLAP "[a, b], path two: [a]"},
    {"l[0], #l[0].x", OVERLAP "[l, [0]], path two: [l, [0], x]"},
    {"#a, #b", OVERLAP "[a], path two: [a]"},
    {"a, b, b, #u", UNDEFINED "#u"},
    {"a, a, b, b", OVERLAP "[b], path two: [b]"},
    {"a.x, a[0]", CONFLICT "[a, x], path two: [a, [0]]"},
    {"l[0].x, l[0][1]", CONFLICT "[l, [0], x], path two: [l, [0], [1]]"},
    {"", "Invalid ProjectionExpression: The expression can not be empty;"},
    {" ", "Invalid ProjectionExpression: Syntax error; token: \"<EOF>\", near: \" \""},
};

static struct str outcome(struct arena *arena, const char *text)
{
    struct expr_scope scope = testing_scope(arena, NULL, names, NULL);
    struct err err = ERR_INIT(arena);
    const struct projection *projection;
    if (!expr_projection(&scope, str_from_c(text), &projection, &err)) {
        return err.message;
    }
    struct builder builder;
    builder_init(&builder, arena, 0);
    projection_apply(projection, testing_value(arena, item_text), &builder);
    return testing_text(arena, builder_finish(&builder));
}

static void test_rows(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CHECK_STR_EQ(rows[i].text, outcome(&arena, rows[i].text), str_from_c(rows[i].expected));
    }
    arena_finish(&arena);
}

static void collect(void *context, const struct expr_path *path)
{
    buf_format(context, "%.*s/%zu ", STR_ARG(path->steps[0].name), path->step_count);
}

static void test_visit_paths(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct expr_scope scope = testing_scope(&arena, NULL, names, NULL);
    struct err err = ERR_INIT(&arena);
    const struct projection *projection;
    assert_true(expr_projection(&scope, STR("z, #a.b[0], l[1]"), &projection, &err));
    struct buf buf = {0};
    projection_visit_paths(projection, collect, &buf);
    CHECK_STR_EQ("paths", buf_str(&buf), STR("z/1 a/3 l/2 "));
    buf_finish(&buf);
    arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_visit_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
