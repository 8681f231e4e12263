/* Intervals of sort keys: finds those of the branches, sorts them, and joins those that overlap.
 * Called by select.c. */
#include <stdlib.h>

#include "codec/row_key.h"
#include "plan/plan_internal.h"

/* A place between two values, as the bytes of the first value behind it. STR_NULL: behind all. Key
 * attributes sort as their bytes do. */
static struct str cut_before(struct value value)
{
    return value_bytes(value);
}

static struct str cut_after(struct arena *arena, struct value value)
{
    struct str bytes = value_bytes(value);
    char *next = arena_bytes(arena, bytes.len + 1);
    memcpy(next, bytes.data, bytes.len);
    next[bytes.len] = '\0';
    return str_make(next, bytes.len + 1);
}

static struct str low_cut(struct arena *arena, const struct key_bound *bound)
{
    switch (bound->kind) {
    case BOUND_CLOSED:
        return cut_before(bound->value);
    case BOUND_OPEN:
        return cut_after(arena, bound->value);
    case BOUND_NONE:
    case BOUND_PREFIX:
        break;
    }
    return STR("");
}

static struct str high_cut(struct arena *arena, const struct key_bound *bound)
{
    switch (bound->kind) {
    case BOUND_CLOSED:
        return cut_after(arena, bound->value);
    case BOUND_OPEN:
        return cut_before(bound->value);
    case BOUND_PREFIX:
        return key_after_prefix(arena, value_bytes(bound->value));
    case BOUND_NONE:
        break;
    }
    return STR_NULL;
}

static int compare_cuts(struct str a, struct str b)
{
    if (str_is_null(a) || str_is_null(b)) {
        return str_is_null(a) - str_is_null(b);
    }
    return str_cmp(a, b);
}

static bool low_is_less(struct arena *arena, const struct key_condition *a,
                        const struct key_condition *b)
{
    return compare_cuts(low_cut(arena, &a->low), low_cut(arena, &b->low)) < 0;
}

static bool high_is_less(struct arena *arena, const struct key_condition *a,
                         const struct key_condition *b)
{
    return compare_cuts(high_cut(arena, &a->high), high_cut(arena, &b->high)) < 0;
}

/* Whether `a` starts before `b` ends. */
static bool starts_before_end(struct arena *arena, const struct key_condition *a,
                              const struct key_condition *b)
{
    return compare_cuts(low_cut(arena, &a->low), high_cut(arena, &b->high)) < 0;
}

static bool is_empty(struct arena *arena, const struct key_condition *range)
{
    return !starts_before_end(arena, range, range);
}

static bool overlap(struct arena *arena, const struct key_condition *a,
                    const struct key_condition *b)
{
    return value_eq(a->hash[0], b->hash[0]) && !is_empty(arena, a) && !is_empty(arena, b) &&
           starts_before_end(arena, a, b) && starts_before_end(arena, b, a);
}

/* The interval of one test of the sort key (NULL: of none) in the branch's partition. */
static bool range_of_test(const struct planner *p, const struct branch *branch,
                          const struct test_list *sort, struct key_condition *out)
{
    struct arena *arena = p->request->arena;
    struct key_test tests[2] = {
        {.attribute = planner_hash_key(p)->name, .op = KEY_EQ, .low = branch->hash}};
    if (sort != NULL) {
        tests[1] = (struct key_test){.attribute = planner_sort_key(p)->name,
                                     .op = sort->test->op,
                                     .low = sort->low,
                                     .high = sort->high};
    }
    if (!key_expression_resolve(key_expression_make(arena, tests, sort == NULL ? 1 : 2), p->keys,
                                out, p->err) ||
        !key_condition_check_sizes(out, p->keys->hash_count, p->err)) {
        return false;
    }
    if (out->range_equal_count > 0) { /* an equality is an interval of one value */
        out->low = (struct key_bound){BOUND_CLOSED, out->range_equal[0]};
        out->high = out->low;
        out->range_equal_count = 0;
    }
    return true;
}

bool branch_find_range(const struct planner *p, struct branch *branch)
{
    struct arena *arena = p->request->arena;
    if (!range_of_test(p, branch, NULL, &branch->range)) {
        return false;
    }
    branch->has_whole_key = planner_sort_key(p) == NULL;
    for (const struct test_list *sort = branch->sorts; sort != NULL; sort = sort->next) {
        struct key_condition range;
        if (!range_of_test(p, branch, sort, &range)) {
            return false;
        }
        if (low_is_less(arena, &branch->range, &range)) {
            branch->range.low = range.low;
        }
        if (high_is_less(arena, &range, &branch->range)) {
            branch->range.high = range.high;
        }
        if (sort->test->op == KEY_EQ) {
            branch->has_whole_key = true;
            branch->sort_value = sort->low;
        }
    }
    return true;
}

/* An open bound is behind a closed one of the same value. */
static int compare_lows(const struct key_bound *a, const struct key_bound *b)
{
    if (a->kind == BOUND_NONE || b->kind == BOUND_NONE) {
        return (b->kind == BOUND_NONE) - (a->kind == BOUND_NONE);
    }
    int order = value_cmp(a->value, b->value);
    return order != 0 ? order : (a->kind == BOUND_OPEN) - (b->kind == BOUND_OPEN);
}

static int compare_branches(const void *a, const void *b)
{
    const struct branch *left = a;
    const struct branch *right = b;
    int order = value_cmp(left->hash, right->hash);
    return order != 0 ? order : compare_lows(&left->range.low, &right->range.low);
}

void branches_sort(struct branches *branches)
{
    qsort(branches->all, branches->count, sizeof(branches->all[0]), compare_branches);
}

bool branches_list_ranges(const struct planner *p, const struct branches *branches,
                          struct plan *out)
{
    struct arena *arena = p->request->arena;
    bool may_join = false;
    for (size_t i = 0; i < branches->count; i++) {
        may_join = may_join || branches->all[i].filters_sort_key;
    }
    out->ranges = ARENA_ARRAY(arena, struct key_condition, branches->count);
    for (size_t i = 0; i < branches->count; i++) {
        const struct key_condition *range = &branches->all[i].range;
        struct key_condition *last =
            out->range_count == 0 ? NULL : &out->ranges[out->range_count - 1];
        if (last == NULL || !overlap(arena, last, range)) {
            out->ranges[out->range_count++] = *range;
        } else if (!may_join) {
            return err_set(p->err, ERR_VALIDATION,
                           "Overlapping conditions with range keys are not supported in where "
                           "clause");
        } else if (high_is_less(arena, last, range)) {
            last->high = range->high;
        }
    }
    return true;
}
