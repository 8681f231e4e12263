/* Unit tests of trees of paths: how much work it is to add a path. Messages and results are tested
 * by apply/projection_test.c and apply/update_test.c. */
#include "expr/bound/path_tree_internal.h"

#include "base/testing.h"

/* As many names of two characters as an expression of 4 KB may have. */
enum { NAMES = 1360, LOG_OF_NAMES = 11 };

enum order { ASCENDING, DESCENDING, FROM_BOTH_ENDS, MIXED, ORDERS };

/* Returns which name comes at place `i`. */
static size_t name_at(enum order order, size_t i)
{
    switch (order) {
    case ASCENDING:
        return i;
    case DESCENDING:
        return NAMES - 1 - i;
    case FROM_BOTH_ENDS:
        return i % 2 == 0 ? i / 2 : NAMES - 1 - i / 2;
    default:
        return i * 481 % NAMES; /* 481 and 1360 have no common divisor */
    }
}

static const struct expr_path *make_path(struct arena *arena, size_t number)
{
    struct expr_path *path = ARENA_NEW(arena, struct expr_path);
    struct expr_step *step = ARENA_NEW(arena, struct expr_step);
    step->name = arena_format(arena, "%04zu", number);
    *path = (struct expr_path){.steps = step, .step_count = 1};
    return path;
}

/* Returns how many names a search compares at most. */
static int depth_of(const struct path_node *top)
{
    if (top == NULL) {
        return 0;
    }
    int left = depth_of(top->left);
    int right = depth_of(top->right);
    return 1 + MAX(left, right);
}

static void adding_names_in_any_order_is_cheap(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    for (enum order order = ASCENDING; order < ORDERS; order++) {
        struct path_node root = {0};
        const struct expr_path *other;
        for (size_t i = 0; i < NAMES; i++) {
            const struct expr_path *path = make_path(&arena, name_at(order, i));
            assert_int_equal(path_tree_add(&root, path, name_at(order, i), &arena, &other),
                             PATH_FITS);
        }
        assert_true(depth_of(root.top) <= 2 * LOG_OF_NAMES);
        size_t count = 0;
        for (const struct path_node *child = root.children; child != NULL; child = child->next) {
            assert_int_equal(child->number, count);
            count++;
        }
        assert_int_equal(count, NAMES);
        const struct expr_path *again = make_path(&arena, 700);
        assert_int_equal(path_tree_add(&root, again, NAMES, &arena, &other), PATH_OVERLAPS);
        CHECK_STR_EQ("path", path_describe(other, &arena), STR("[0700]"));
    }
    arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(adding_names_in_any_order_is_cheap)};
    return cmocka_run_group_tests_name("path_tree", tests, NULL, NULL);
}
