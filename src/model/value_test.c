/* Unit tests of values: encoding, sizes, order, validation. */
#include "model/value.h"

#include "base/testing.h"
#include "model/builder.h"

static struct str hex(struct arena *arena, struct value value)
{
    static const char digits[] = "0123456789abcdef";
    char *text = arena_bytes(arena, value.len * 2);
    for (size_t i = 0; i < value.len; i++) {
        text[i * 2] = digits[value.data[i] >> 4];
        text[i * 2 + 1] = digits[value.data[i] & 15];
    }
    return str_make(text, value.len * 2);
}

static void add_string(struct builder *b)
{
    builder_add_string(b, STR("hi"));
}

static void add_number(struct builder *b)
{
    builder_add_int64(b, 12);
}

static void add_list(struct builder *b)
{
    size_t open = builder_open(b, VALUE_L);
    builder_add_bool(b, true);
    builder_close_list(b, open, 1);
}

static void add_map(struct builder *b)
{
    size_t open = builder_open(b, VALUE_M);
    builder_add_key(b, STR("a"));
    builder_add_null(b);
    builder_close_map(b, open, 1);
}

/* Is sorted by name; of two "b" the last one is kept. */
static void add_unsorted_map(struct builder *b)
{
    size_t open = builder_open(b, VALUE_M);
    builder_add_key(b, STR("b"));
    builder_add_string(b, STR("first"));
    builder_add_key(b, STR("a"));
    builder_add_binary(b, STR("\xff"));
    builder_add_key(b, STR("b"));
    builder_add_string(b, STR("\""));
    builder_close_map(b, open, 3);
}

static void add_set(struct builder *b)
{
    size_t open = builder_open(b, VALUE_NS);
    builder_add_int64(b, 10);
    builder_add_int64(b, -1);
    builder_add_int64(b, 9);
    assert_true(builder_close_set(b, open, 3));
}

static const struct {
    const char *name;
    void (*add)(struct builder *builder);
    const char *hex;
    size_t size; /* by the service's rules */
    int depth;
} vectors[] = {
    {"string", add_string, "11026869", 2, 1},
    {"number", add_number, "020303830d", 2, 1},
    {"list", add_list, "0805000000010000001a", 5, 2},
    {"map", add_map,
     "0707000000010000000361"
     "09",
     6, 2},
    {"unsorted map", add_unsorted_map,
     "070e00000002000000"
     "0361"
     "0301ff"
     "0362"
     "010122",
     9, 2},
};

static void test_vectors(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        struct builder builder;
        builder_init(&builder, &arena, 8);
        vectors[i].add(&builder);
        struct value value = builder_finish(&builder);
        CHECK_STR_EQ(vectors[i].name, hex(&arena, value), str_from_c(vectors[i].hex));
        assert_true(value_is_valid(str_make(value.data, value.len)));
        assert_int_equal(value_size(value), vectors[i].size);
        assert_int_equal(value_depth(value), vectors[i].depth);
        for (size_t cut = 0; cut < value.len; cut++) {
            assert_false(value_is_valid(str_make(value.data, cut)));
        }
    }
    arena_finish(&arena);
}

static void test_sets(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct builder builder;
    builder_init(&builder, &arena, 8);
    add_set(&builder);
    struct value set = builder_finish(&builder);
    static const int64_t expected[] = {-1, 9, 10};
    struct value_iter iter = value_iter(set);
    struct value element;
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        int64_t number;
        assert_true(value_next(&iter, &element));
        assert_true(number_to_int64(value_bytes(element), &number) && number == expected[i]);
        assert_true(value_has_element(set, element));
    }
    assert_false(value_next(&iter, &element));
    assert_int_equal(value_size(set), 3 + 2 + 2);

    builder_init(&builder, &arena, 8);
    size_t open = builder_open(&builder, VALUE_SS);
    builder_add_string(&builder, STR("x"));
    builder_add_string(&builder, STR("y"));
    builder_add_string(&builder, STR("x"));
    assert_false(builder_close_set(&builder, open, 3));
    arena_finish(&arena);
}

static void test_big_map(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct builder builder;
    builder_init(&builder, &arena, 8);
    size_t open = builder_open(&builder, VALUE_M);
    for (int i = 0; i < 500; i++) {
        builder_add_key(&builder, arena_format(&arena, "name%03d", (i * 7) % 500));
        builder_add_int64(&builder, (i * 7) % 500);
    }
    builder_close_map(&builder, open, 500);
    struct value map = builder_finish(&builder);
    assert_true(value_is_valid(str_make(map.data, map.len)));
    for (int i = 0; i < 500; i++) {
        int64_t number;
        struct value value = value_map_get(map, arena_format(&arena, "name%03d", i));
        assert_true(number_to_int64(value_bytes(value), &number) && number == i);
    }
    assert_true(value_is_absent(value_map_get(map, STR("name"))));
    arena_finish(&arena);
}

/* Sorting a container keeps no memory: maps nest, and each contains the bytes of all inner ones. */
static void test_sorting_frees(void **state)
{
    (void)state;
    struct budget budget;
    budget_init(&budget, NULL, SIZE_MAX);
    struct arena arena;
    arena_init(&arena);
    arena_set_budget(&arena, &budget);
    struct builder builder;
    builder_init(&builder, &arena, 256 * 1024);
    size_t open = builder_open(&builder, VALUE_M);
    for (int i = 99; i >= 0; i--) {
        char name[] = {(char)('a' + i / 10), (char)('a' + i % 10)};
        char text[1024];
        memset(text, 'x', sizeof(text));
        builder_add_key(&builder, str_make(name, sizeof(name)));
        builder_add_string(&builder, str_make(text, sizeof(text)));
    }
    size_t used = budget_used(&budget);
    builder_close_map(&builder, open, 100);
    assert_int_equal(budget_used(&budget), used);
    struct value map = builder_finish(&builder);
    assert_true(value_is_valid(str_make(map.data, map.len)));
    arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_sets),
        cmocka_unit_test(test_big_map),
        cmocka_unit_test(test_sorting_frees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
