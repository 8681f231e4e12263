/* Expands a WHERE clause into branches joined by OR (disjunctive normal form, as far as keys are
 * concerned). Called by select.c. */
#include "plan/plan_internal.h"

bool where_compares(const struct where *where, const struct key_attribute *key)
{
    return where->kind == WHERE_TEST && key != NULL && str_eq(where->attribute, key->name);
}

static bool is_hash_test(const struct planner *p, const struct where *w)
{
    return where_compares(w, planner_hash_key(p)) && w->op == KEY_EQ;
}

static bool is_sort_test(const struct planner *p, const struct where *w)
{
    return where_compares(w, planner_sort_key(p)) && w->op != KEY_NONE;
}

bool branches_have_partition(const struct planner *p, const struct where *w)
{
    switch (w->kind) {
    case WHERE_AND:
        return branches_have_partition(p, w->left) || branches_have_partition(p, w->right);
    case WHERE_OR:
        return branches_have_partition(p, w->left) && branches_have_partition(p, w->right);
    case WHERE_NOT:
        return false;
    case WHERE_TEST:
        break;
    }
    return is_hash_test(p, w);
}

static bool mentions_key(const struct planner *p, const struct where *w)
{
    switch (w->kind) {
    case WHERE_AND:
    case WHERE_OR:
        return mentions_key(p, w->left) || mentions_key(p, w->right);
    case WHERE_NOT:
        return false;
    case WHERE_TEST:
        break;
    }
    return is_hash_test(p, w) || is_sort_test(p, w);
}

bool check_key_value(const struct key_attribute *key, struct value value, struct err *err)
{
    enum value_type type = value_type(value);
    if (type != VALUE_S && type != VALUE_N && type != VALUE_B) {
        return err_set(err, ERR_VALIDATION,
                       "Key value must be of type S, N, or B. Key name: %.*s, Key type: %s",
                       STR_ARG(key->name), value_type_name(type));
    }
    return type == key->type ||
           err_set(err, ERR_VALIDATION,
                   "Key attribute's data type should match its data type in table's schema: Key "
                   "%.*s",
                   STR_ARG(key->name));
}

static const struct test_list *prepend(const struct planner *p, struct test_list entry,
                                       const struct test_list *rest)
{
    struct test_list *list = ARENA_NEW(p->request->arena, struct test_list);
    *list = entry;
    list->next = rest;
    return list;
}

static const struct test_list *concatenate(const struct planner *p, const struct test_list *a,
                                           const struct test_list *b)
{
    for (; a != NULL; a = a->next) {
        b = prepend(p, *a, b);
    }
    return b;
}

struct attribute_search {
    struct str name;
    bool found;
};

static void visit_attribute(void *context, const struct expr_path *path)
{
    struct attribute_search *search = context;
    search->found = search->found || str_eq(path->steps[0].name, search->name);
}

/* A test that only the filter applies: one branch. */
static void expand_other(const struct planner *p, const struct where *w, struct branches *out)
{
    struct attribute_search search = {0};
    if (planner_sort_key(p) != NULL) {
        search.name = planner_sort_key(p)->name;
        condition_visit_paths(w->condition, visit_attribute, &search);
    }
    out->all = ARENA_NEW(p->request->arena, struct branch);
    out->count = 1;
    out->all->filters_sort_key = search.found;
    out->all->others = prepend(p, (struct test_list){.test = w}, NULL);
}

/* A test of a key: one branch, or one for each value of an IN. */
static bool expand_key_test(struct planner *p, const struct where *w, struct branches *out)
{
    bool is_hash = is_hash_test(p, w);
    const struct key_attribute *key = is_hash ? planner_hash_key(p) : planner_sort_key(p);
    for (size_t i = 0; i < w->value_count; i++) {
        if (!check_key_value(key, w->values[i], p->err)) {
            return false;
        }
    }
    out->count = w->in ? w->value_count : 1;
    p->too_many = p->too_many || out->count > BRANCHES_MAX;
    out->all = ARENA_ARRAY(p->request->arena, struct branch, out->count);
    for (size_t i = 0; i < out->count; i++) {
        if (is_hash) {
            out->all[i].hash = w->values[i];
        } else {
            struct test_list entry = {.test = w, .low = w->values[i]};
            entry.high = w->op == KEY_BETWEEN ? w->values[1] : VALUE_ABSENT;
            out->all[i].sorts = prepend(p, entry, NULL);
        }
    }
    return true;
}

static struct branch conjunction(const struct planner *p, const struct branch *a,
                                 const struct branch *b)
{
    bool both = !value_is_absent(a->hash) && !value_is_absent(b->hash);
    return (struct branch){
        .hash = value_is_absent(a->hash) ? b->hash : a->hash,
        .is_contradiction =
            a->is_contradiction || b->is_contradiction || (both && !value_eq(a->hash, b->hash)),
        .filters_sort_key = a->filters_sort_key || b->filters_sort_key,
        .sorts = concatenate(p, a->sorts, b->sorts),
        .others = concatenate(p, a->others, b->others),
    };
}

/* (a OR b) AND (c OR d) is a AND c OR a AND d OR b AND c OR b AND d. */
static void expand_and(struct planner *p, const struct branches *left, const struct branches *right,
                       struct branches *out)
{
    out->all = ARENA_ARRAY(p->request->arena, struct branch, left->count * right->count);
    for (size_t i = 0; i < left->count; i++) {
        for (size_t k = 0; k < right->count; k++) {
            out->all[out->count++] = conjunction(p, &left->all[i], &right->all[k]);
        }
    }
}

static void expand_or(struct planner *p, const struct branches *left, const struct branches *right,
                      struct branches *out)
{
    out->count = left->count + right->count;
    out->all = ARENA_ARRAY(p->request->arena, struct branch, out->count);
    memcpy(out->all, left->all, left->count * sizeof(left->all[0]));
    memcpy(out->all + left->count, right->all, right->count * sizeof(right->all[0]));
}

/* After too_many the branches are not used, but the values of all key tests are still checked. */
static bool expand_both(struct planner *p, const struct where *w, struct branches *out)
{
    struct branches left = {0};
    struct branches right = {0};
    if (!branches_expand(p, w->left, &left) || !branches_expand(p, w->right, &right)) {
        return false;
    }
    bool is_and = w->kind == WHERE_AND;
    size_t count = is_and ? left.count * right.count : left.count + right.count;
    p->too_many = p->too_many || count > BRANCHES_MAX;
    if (!p->too_many) {
        (is_and ? expand_and : expand_or)(p, &left, &right, out);
    }
    return true;
}

bool branches_expand(struct planner *p, const struct where *w, struct branches *out)
{
    if (w->kind == WHERE_AND || (w->kind == WHERE_OR && mentions_key(p, w))) {
        return expand_both(p, w, out);
    }
    if (is_hash_test(p, w) || is_sort_test(p, w)) {
        return expand_key_test(p, w, out);
    }
    expand_other(p, w, out);
    return true;
}
