/* Unit tests of placeholders. */
#include "expr/expr.h"

#include "base/testing.h"
#include "expr/expr_testing.h"

/* Returns the outcome of expr_scope_init() for the maps of a request. */
static struct str outcome(struct arena *arena, const struct expr_names *names,
                          const struct expr_values *values)
{
    struct err err = ERR_INIT(arena);
    struct expr_scope scope;
    return expr_scope_init(&scope, arena, NULL, names, values, &err) ? STR("ok") : err.message;
}

static void test_form(void **state)
{
    (void)state;
    static const struct {
        const char *names;
        const char *values;
        const char *expected;
    } rows[] = {
        {NULL, NULL, "ok"},
        {"{#a: \"x\"}", "{:a: 1}", "ok"},
        {"{#0: \"x\", #_: \"y\"}", "{:0: 1, :_: 2}", "ok"},
        {"{}", NULL, "ExpressionAttributeNames must not be empty"},
        {NULL, "{}", "ExpressionAttributeValues must not be empty"},
        {"{}", "{}", "ExpressionAttributeNames must not be empty"},
        {"{a: \"x\"}", NULL,
         "ExpressionAttributeNames contains invalid key: Syntax error; key: "
         "\"a\""},
        {"{\"#\": \"x\"}", NULL,
         "ExpressionAttributeNames contains invalid key: Syntax error; key: \"#\""},
        {"{\"#a-b\": \"x\"}", NULL,
         "ExpressionAttributeNames contains invalid key: Syntax error; key: \"#a-b\""},
        {"{\":a\": \"x\"}", NULL,
         "ExpressionAttributeNames contains invalid key: Syntax error; key: \":a\""},
        {"{\"#é\": \"x\"}", NULL,
         "ExpressionAttributeNames contains invalid key: Syntax error; key: \"#é\""},
        {"{\"\": \"x\"}", NULL,
         "ExpressionAttributeNames contains invalid key: The expression attribute map contains an "
         "empty key;"},
        {"{#a: \"\"}", NULL,
         "ExpressionAttributeNames contains invalid value: Empty attribute name for key #a"},
        {NULL, "{v: 1}",
         "ExpressionAttributeValues contains invalid key: Syntax error; key: "
         "\"v\""},
        {NULL, "{\": v\": 1}",
         "ExpressionAttributeValues contains invalid key: Syntax error; key: \": v\""},
        {"{a: \"x\"}", "{v: 1}",
         "ExpressionAttributeNames contains invalid key: Syntax error; key: \"a\""},
    };
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct expr_names names = testing_names(&arena, rows[i].names);
        struct expr_values values = testing_values(&arena, rows[i].values);
        CHECK_STR_EQ(rows[i].expected, outcome(&arena, &names, &values),
                     str_from_c(rows[i].expected));
    }
    arena_finish(&arena);
}

static struct str filled(struct arena *arena, char first, size_t len)
{
    char *text = arena_bytes(arena, len);
    memset(text, 'x', len);
    text[0] = first;
    return str_make(text, len);
}

static void test_sizes(void **state)
{
    (void)state;
    static const struct {
        size_t key_len;
        size_t target_len;
        size_t value_len;
        const char *expected;
    } rows[] = {
        {255, 65535, 2 * 1024 * 1024 - 255, "ok"},
        {256, 1, 1,
         "ExpressionAttributeNames contains invalid key: The expression attribute map contains a "
         "key that is too long; size of key: 256"},
        {2, 65536, 1,
         "ExpressionAttributeNames contains invalid value: Attribute name is too large, must be "
         "less than 65536 bytes for key #x"},
        {2, 1, 2 * 1024 * 1024 - 1, "ExpressionAttributeValues exceeds max size"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct arena arena;
        arena_init(&arena);
        struct str name = filled(&arena, '#', rows[i].key_len);
        struct str target = filled(&arena, 'x', rows[i].target_len);
        struct str value_name = filled(&arena, ':', rows[i].key_len);
        struct builder builder;
        builder_init(&builder, &arena, rows[i].value_len + 8);
        builder_add_string(&builder, filled(&arena, 'x', rows[i].value_len));
        struct value value = builder_finish(&builder);
        struct expr_names names = {.given = true, .count = 1, .names = &name, .targets = &target};
        struct expr_values values = {
            .given = true, .count = 1, .names = &value_name, .values = &value};
        CHECK_STR_EQ(rows[i].expected, outcome(&arena, &names, &values),
                     str_from_c(rows[i].expected));
        arena_finish(&arena);
    }
}

/* A placeholder counts as used if an expression names it, even if it is never evaluated. */
static void test_used(void **state)
{
    (void)state;
    static const struct {
        const char *names;
        const char *values;
        const char *condition;
        const char *expected;
    } rows[] = {
        {"{#a: \"x\"}", "{:v: 1}", "#a = :v", "ok"},
        {NULL, NULL, "attribute_exists(a)", "ok"},
        {"{#a: \"x\"}", "{:v: 1, :w: 2}", "#a = :v OR #a = :w", "ok"},
        {"{#a: \"x\", #b: \"y\"}", "{:v: 1}", "#a = :v",
         "Value provided in ExpressionAttributeNames unused in expressions: keys: {#b}"},
        {"{#c: \"x\", #b: \"y\", #a: \"z\"}", "{:v: 1}", "a = :v",
         "Value provided in ExpressionAttributeNames unused in expressions: keys: {#a, #b, #c}"},
        {"{#a: \"x\"}", "{:v: 1, :w: 2}", "a = :v",
         "Value provided in ExpressionAttributeNames unused in expressions: keys: {#a}"},
        {NULL, "{:zz: 1, :w: 2, :v: 3}", "a = :v",
         "Value provided in ExpressionAttributeValues unused in expressions: keys: {:w, :zz}"},
    };
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct expr_scope scope = testing_scope(&arena, NULL, rows[i].names, rows[i].values);
        struct err err = ERR_INIT(&arena);
        const struct condition *condition;
        assert_true(expr_condition(&scope, str_from_c(rows[i].condition), "ConditionExpression",
                                   &condition, &err));
        bool used = expr_scope_check_used(&scope, &err);
        CHECK_STR_EQ(rows[i].condition, used ? STR("ok") : err.message,
                     str_from_c(rows[i].expected));
    }
    arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_form),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
