/* Unit tests of the cache of parsed expressions. */
#include "expr/parse/cache_internal.h"

#include "base/testing.h"
#include "expr/expr_testing.h"

/* Puts the tree of a text into the cache; it must not be there yet. */
static void put(struct expr_cache *cache, const char *text)
{
    struct arena scratch;
    struct arena arena;
    arena_init(&scratch);
    arena_init(&arena);
    struct err err = ERR_INIT(&scratch);
    const struct tree *tree;
    assert_null(cache_get(cache, TREE_CONDITION, str_from_c(text)));
    assert_true(tree_parse(&arena, TREE_CONDITION, str_from_c(text), "X", &tree, &err));
    cache_put(cache, TREE_CONDITION, str_from_c(text), &arena, tree);
    arena_finish(&scratch);
}

static bool has(struct expr_cache *cache, const char *text)
{
    return cache_get(cache, TREE_CONDITION, str_from_c(text)) != NULL;
}

static void test_get(void **state)
{
    (void)state;
    struct expr_cache *cache = expr_cache_create(4);
    struct arena arena;
    arena_init(&arena);
    put(cache, "a = :v");
    put(cache, "b = :v");
    const struct tree *tree = cache_get(cache, TREE_CONDITION, STR("a = :v"));
    CHECK_STR_EQ("dump", tree_dump(tree, STR("a = :v"), &arena), STR("(= a :v)"));
    assert_null(cache_get(cache, TREE_UPDATE, STR("a = :v")));
    assert_null(cache_get(cache, TREE_CONDITION, STR("a = :w")));
    arena_finish(&arena);
    expr_cache_destroy(cache);
    expr_cache_destroy(NULL);
}

/* Entries that were used since the last visit of the hand are kept; others are evicted. */
static void test_eviction(void **state)
{
    (void)state;
    struct expr_cache *cache = expr_cache_create(3);
    put(cache, "a = :v");
    put(cache, "b = :v");
    put(cache, "c = :v");
    assert_true(has(cache, "a = :v"));
    put(cache, "d = :v");
    assert_true(has(cache, "a = :v"));
    assert_false(has(cache, "b = :v"));
    assert_true(has(cache, "c = :v"));
    assert_true(has(cache, "d = :v"));
    put(cache, "e = :v");
    put(cache, "f = :v");
    put(cache, "g = :v");
    assert_true(has(cache, "g = :v"));
    expr_cache_destroy(cache);
}

static void test_one_entry(void **state)
{
    (void)state;
    struct expr_cache *cache = expr_cache_create(1);
    put(cache, "a = :v");
    assert_true(has(cache, "a = :v"));
    put(cache, "b = :v");
    assert_false(has(cache, "a = :v"));
    assert_true(has(cache, "b = :v"));
    expr_cache_destroy(cache);
}

/* Long texts are evicted before the cache has no free entry left. */
static void test_long_texts(void **state)
{
    (void)state;
    enum { COUNT = 200, LENGTH = 4000 };
    struct arena arena;
    arena_init(&arena);
    struct expr_cache *cache = expr_cache_create(2 * (size_t)COUNT);
    const char *texts[COUNT];
    size_t found = 0;
    for (int i = 0; i < COUNT; i++) {
        char *text = arena_bytes(&arena, LENGTH + 1);
        memset(text, 'x', LENGTH);
        memcpy(text, "a = :v", 6);
        text[6] = (char)('a' + i / 26);
        text[7] = (char)('a' + i % 26);
        text[LENGTH] = '\0';
        texts[i] = text;
        put(cache, texts[i]);
        assert_true(has(cache, texts[i]));
    }
    for (int i = 0; i < COUNT; i++) {
        found += has(cache, texts[i]);
    }
    assert_in_range(found, 1, (size_t)256 * 1024 / LENGTH);
    expr_cache_destroy(cache);
    arena_finish(&arena);
}

/* Binds many more texts than the cache has entries, each twice: parsed, then from the cache. Bound
 * expressions must not refer to evicted trees. */
static void test_bound_outlives_tree(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct expr_cache *cache = expr_cache_create(2);
    struct expr_scope scope = testing_scope(&arena, cache, NULL, "{:v: 7}");
    struct value item = testing_value(&arena, "{a3: 7, a4: {b: 7}}");
    const struct condition *conditions[20];
    for (int i = 0; i < 20; i++) {
        struct err err = ERR_INIT(&arena);
        struct str text = arena_format(&arena, "a%d%s = :v", i / 2, i < 8 ? "" : ".b");
        assert_true(expr_condition(&scope, text, "ConditionExpression", &conditions[i], &err));
    }
    for (int i = 0; i < 20; i++) {
        assert_int_equal(condition_holds(conditions[i], item), i / 2 == 3 || i / 2 == 4);
    }
    expr_cache_destroy(cache);
    arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_get),
        cmocka_unit_test(test_eviction),
        cmocka_unit_test(test_one_entry),
        cmocka_unit_test(test_long_texts),
        cmocka_unit_test(test_bound_outlives_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
