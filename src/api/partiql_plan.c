/* A WHERE clause is spread into branches, joined by OR, of which each pins one value of the
 * partition key; each becomes a range to read. If one way to meet the clause leaves the partition
 * key open, there is no such spread, and everything is read. */
#include "api/partiql_plan.h"

#include <stdlib.h>

#include "err/messages.h"
#include "expr/legacy.h"

enum { READS_MAX = 50 };

/* Lists that branches share; what is in them does not change. */
struct test_list {
    const struct where *test;
    struct value low; /* of a sort key's test; IN is spread into its values */
    struct value high;
    const struct test_list *next;
};

struct branch {
    struct value hash;              /* VALUE_ABSENT: open */
    bool conflict;                  /* two values at once */
    bool sort_filter;               /* asks of the sort key what is no range of it */
    const struct test_list *sorts;  /* tests of the sort key that are ranges */
    const struct test_list *others; /* what is left to the filter */
    struct key_range range;
    bool whole_key; /* with the sort key by equality, if there is one */
    struct value sort_value;
};

struct branches {
    struct branch *all;
    size_t count;
};

struct planner {
    const struct plan_source *source;
    const struct key_schema *keys;
    bool too_many;
    struct err *err;
};

static const struct key_attribute *hash_key(const struct planner *p)
{
    return &p->keys->hash[0];
}

static const struct key_attribute *sort_key(const struct planner *p)
{
    return p->keys->range_count == 0 ? NULL : &p->keys->range[0];
}

static bool names(const struct where *test, const struct key_attribute *key)
{
    return test->kind == WHERE_TEST && key != NULL && str_eq(test->attribute, key->name);
}

static bool is_hash_test(const struct planner *p, const struct where *w)
{
    return names(w, hash_key(p)) && w->op == KEY_EQ;
}

static bool is_sort_test(const struct planner *p, const struct where *w)
{
    return names(w, sort_key(p)) && w->op != KEY_NONE;
}

/* Whether every way to meet the clause gives the partition key a value. */
static bool pins_partition(const struct planner *p, const struct where *w)
{
    switch (w->kind) {
    case WHERE_AND:
        return pins_partition(p, w->left) || pins_partition(p, w->right);
    case WHERE_OR:
        return pins_partition(p, w->left) && pins_partition(p, w->right);
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

/* --- checks of one test --- */

static bool check_key_value(const struct key_attribute *key, struct value value, struct err *err)
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

static bool check_key_test(const struct key_attribute *key, const struct where *test,
                           struct err *err)
{
    for (size_t i = 0; i < test->value_count; i++) {
        if (!check_key_value(key, test->values[i], err)) {
            return false;
        }
    }
    return true;
}

/* --- spreading --- */

static const struct test_list *prepend(const struct planner *p, struct test_list entry,
                                       const struct test_list *rest)
{
    struct test_list *list = ARENA_NEW(p->source->arena, struct test_list);
    *list = entry;
    list->next = rest;
    return list;
}

static const struct test_list *join(const struct planner *p, const struct test_list *a,
                                    const struct test_list *b)
{
    for (; a != NULL; a = a->next) {
        b = prepend(p, *a, b);
    }
    return b;
}

static bool spread(struct planner *p, const struct where *w, struct branches *out);

/* Where a path of a filter leads to the sort key. */
struct sort_search {
    struct str name;
    bool found;
};

static void visit_sort_key(void *context, const struct expr_path *path)
{
    struct sort_search *search = context;
    search->found = search->found || str_eq(path->steps[0].name, search->name);
}

static bool spread_other(const struct planner *p, const struct where *w, struct branches *out)
{
    struct sort_search search = {0};
    if (sort_key(p) != NULL) {
        search.name = sort_key(p)->name;
        condition_visit_paths(w->condition, visit_sort_key, &search);
    }
    out->all = ARENA_NEW(p->source->arena, struct branch);
    out->count = 1;
    out->all->sort_filter = search.found;
    out->all->others = prepend(p, (struct test_list){.test = w}, NULL);
    return true;
}

/* One branch for each value of an IN. */
static bool spread_test(struct planner *p, const struct where *w, struct branches *out)
{
    bool hash = is_hash_test(p, w);
    if (!check_key_test(hash ? hash_key(p) : sort_key(p), w, p->err)) {
        return false;
    }
    out->count = w->in ? w->value_count : 1;
    p->too_many = p->too_many || out->count > READS_MAX;
    out->all = ARENA_ARRAY(p->source->arena, struct branch, out->count);
    for (size_t i = 0; i < out->count; i++) {
        if (hash) {
            out->all[i].hash = w->values[i];
        } else {
            struct test_list entry = {.test = w, .low = w->values[i]};
            entry.high = w->op == KEY_BETWEEN ? w->values[1] : VALUE_ABSENT;
            out->all[i].sorts = prepend(p, entry, NULL);
        }
    }
    return true;
}

static struct branch meet(const struct planner *p, const struct branch *a, const struct branch *b)
{
    bool both = !value_is_absent(a->hash) && !value_is_absent(b->hash);
    return (struct branch){
        .hash = value_is_absent(a->hash) ? b->hash : a->hash,
        .conflict = a->conflict || b->conflict || (both && !value_eq(a->hash, b->hash)),
        .sort_filter = a->sort_filter || b->sort_filter,
        .sorts = join(p, a->sorts, b->sorts),
        .others = join(p, a->others, b->others),
    };
}

static bool spread_and(struct planner *p, const struct where *w, struct branches *out)
{
    struct branches left = {0};
    struct branches right = {0};
    if (!spread(p, w->left, &left) || !spread(p, w->right, &right)) {
        return false;
    }
    if (p->too_many || left.count * right.count > READS_MAX) {
        p->too_many = true;
        return true;
    }
    out->all = ARENA_ARRAY(p->source->arena, struct branch, left.count * right.count);
    for (size_t i = 0; i < left.count; i++) {
        for (size_t k = 0; k < right.count; k++) {
            out->all[out->count++] = meet(p, &left.all[i], &right.all[k]);
        }
    }
    return true;
}

static bool spread_or(struct planner *p, const struct where *w, struct branches *out)
{
    struct branches left = {0};
    struct branches right = {0};
    if (!spread(p, w->left, &left) || !spread(p, w->right, &right)) {
        return false;
    }
    if (p->too_many || left.count + right.count > READS_MAX) {
        p->too_many = true;
        return true;
    }
    out->count = left.count + right.count;
    out->all = ARENA_ARRAY(p->source->arena, struct branch, out->count);
    memcpy(out->all, left.all, left.count * sizeof(left.all[0]));
    memcpy(out->all + left.count, right.all, right.count * sizeof(right.all[0]));
    return true;
}

/* After too_many what comes out is of no use; all key tests are looked at nevertheless. */
static bool spread(struct planner *p, const struct where *w, struct branches *out)
{
    if (w->kind == WHERE_AND) {
        return spread_and(p, w, out);
    }
    if (w->kind == WHERE_OR && mentions_key(p, w)) {
        return spread_or(p, w, out);
    }
    bool test = w->kind == WHERE_TEST && (is_hash_test(p, w) || is_sort_test(p, w));
    return test ? spread_test(p, w, out) : spread_other(p, w, out);
}

/* --- ranges --- */

static struct legacy_condition key_condition(struct str attribute, enum key_operator op,
                                             const struct value *values)
{
    static const enum legacy_operator operators[] = {
        [KEY_EQ] = LEGACY_EQ,
        [KEY_LT] = LEGACY_LT,
        [KEY_LE] = LEGACY_LE,
        [KEY_GT] = LEGACY_GT,
        [KEY_GE] = LEGACY_GE,
        [KEY_BETWEEN] = LEGACY_BETWEEN,
        [KEY_BEGINS_WITH] = LEGACY_BEGINS_WITH,
    };
    return (struct legacy_condition){.attribute = attribute,
                                     .has_op = true,
                                     .op = operators[op],
                                     .values = values,
                                     .value_count = op == KEY_BETWEEN ? 2 : 1,
                                     .has_values = true};
}

/* The range of one test of the sort key (NULL: none) in the branch's partition. */
static bool range_of_test(const struct planner *p, const struct branch *branch,
                          const struct test_list *sort, struct key_range *out)
{
    const struct plan_source *source = p->source;
    struct value *bounds = ARENA_ARRAY(source->arena, struct value, 2);
    struct legacy_condition conditions[2] = {
        key_condition(hash_key(p)->name, KEY_EQ, &branch->hash)};
    if (sort != NULL) {
        bounds[0] = sort->low;
        bounds[1] = sort->high;
        conditions[1] = key_condition(sort_key(p)->name, sort->test->op, bounds);
    }
    const struct key_expression *expression;
    struct key_condition condition;
    if (!legacy_key_conditions(source->arena, conditions, sort == NULL ? 1 : 2, &expression,
                               p->err) ||
        !key_expression_resolve(expression, p->keys, &condition, p->err) ||
        !range_check_condition(&condition, p->keys->hash_count, p->err)) {
        return false;
    }
    *out = range_of_query(source->engine, source->table, source->index, &condition, source->arena);
    return true;
}

static bool find_range(const struct planner *p, struct branch *branch)
{
    if (!range_of_test(p, branch, NULL, &branch->range)) {
        return false;
    }
    branch->whole_key = sort_key(p) == NULL;
    for (const struct test_list *sort = branch->sorts; sort != NULL; sort = sort->next) {
        struct key_range range;
        if (!range_of_test(p, branch, sort, &range)) {
            return false;
        }
        if (str_cmp(range.lo, branch->range.lo) > 0) {
            branch->range.lo = range.lo;
        }
        if (str_cmp(range.hi, branch->range.hi) < 0) {
            branch->range.hi = range.hi;
        }
        if (sort->test->op == KEY_EQ) {
            branch->whole_key = true;
            branch->sort_value = sort->low;
        }
    }
    return true;
}

static bool any_conflict(const struct branches *branches)
{
    for (size_t i = 0; i < branches->count; i++) {
        if (branches->all[i].conflict) {
            return true;
        }
    }
    return false;
}

/* By partition key, then by the start of the range. */
static int compare_branches(const void *a, const void *b)
{
    const struct branch *left = a;
    const struct branch *right = b;
    int order = value_cmp(left->hash, right->hash);
    return order != 0 ? order : str_cmp(left->range.lo, right->range.lo);
}

static bool is_empty(const struct key_range *range)
{
    return str_cmp(range->lo, range->hi) >= 0;
}

/* The ranges in order. Those that overlap are refused, unless a filter on the sort key is why one
 * is wide: then they are read as one. */
static bool list_ranges(const struct planner *p, const struct branches *branches,
                        struct read_plan *out)
{
    bool filtered = false;
    for (size_t i = 0; i < branches->count; i++) {
        filtered = filtered || branches->all[i].sort_filter;
    }
    out->ranges = ARENA_ARRAY(p->source->arena, struct key_range, branches->count);
    for (size_t i = 0; i < branches->count; i++) {
        const struct key_range *range = &branches->all[i].range;
        struct key_range *last = out->range_count == 0 ? NULL : &out->ranges[out->range_count - 1];
        bool overlaps = last != NULL && !is_empty(range) && !is_empty(last) &&
                        str_cmp(range->lo, last->hi) < 0 && str_cmp(last->lo, range->hi) < 0;
        if (!overlaps) {
            out->ranges[out->range_count++] = *range;
        } else if (filtered) {
            last->hi = str_cmp(last->hi, range->hi) < 0 ? range->hi : last->hi;
        } else {
            return err_set(p->err, ERR_VALIDATION,
                           "Overlapping conditions with range keys are not supported in where "
                           "clause");
        }
    }
    return true;
}

/* --- ORDER BY --- */

static bool check_order(const struct planner *p, const struct branches *branches)
{
    const struct statement *statement = p->source->statement;
    bool by_hash = false;
    for (size_t i = 0; i < statement->order_count; i++) {
        struct str name = statement->order[i].attribute;
        if (!key_schema_has(p->keys, name)) {
            return err_set(p->err, ERR_VALIDATION,
                           "Attribute %.*s in ORDER BY clause must be part of the primary key",
                           STR_ARG(name));
        }
        by_hash = by_hash || str_eq(name, hash_key(p)->name);
    }
    if (statement->order_count == 0) {
        return true;
    }
    if (branches->count == 0) {
        return err_set(p->err, ERR_VALIDATION,
                       "Must have at least one non-optional hash key condition in WHERE clause "
                       "when using ORDER BY clause.");
    }
    bool many = !value_eq(branches->all[0].hash, branches->all[branches->count - 1].hash);
    return !many || by_hash ||
           err_set(p->err, ERR_VALIDATION,
                   "Must have hash key in ORDER BY clause when more than one hash key condition "
                   "specified in WHERE clause.");
}

/* Partitions come in order unless told otherwise; inside them, a sort key that ORDER BY does not
 * name comes backwards (as measured on the service). */
static void apply_order(const struct planner *p, struct read_plan *plan)
{
    const struct statement *statement = p->source->statement;
    bool partitions_backward = false;
    plan->backward = statement->order_count > 0;
    for (size_t i = 0; i < statement->order_count; i++) {
        if (str_eq(statement->order[i].attribute, hash_key(p)->name)) {
            partitions_backward = statement->order[i].descending;
        } else {
            plan->backward = statement->order[i].descending;
        }
    }
    /* Ranges are sorted by partition and start: turn round the whole, or each partition's part. */
    size_t count = plan->range_count;
    bool reverse_all = partitions_backward;
    for (size_t i = 0; reverse_all && i < count / 2; i++) {
        struct key_range other = plan->ranges[count - 1 - i];
        plan->ranges[count - 1 - i] = plan->ranges[i];
        plan->ranges[i] = other;
    }
    if (reverse_all == plan->backward) {
        return;
    }
    for (size_t start = 0; start < count;) {
        size_t end = start + 1;
        while (end < count && str_eq(str_make(plan->ranges[end].lo.data, STORE_PREFIX_LEN),
                                     str_make(plan->ranges[start].lo.data, STORE_PREFIX_LEN))) {
            end++;
        }
        for (size_t i = 0; i < (end - start) / 2; i++) {
            struct key_range other = plan->ranges[end - 1 - i];
            plan->ranges[end - 1 - i] = plan->ranges[start + i];
            plan->ranges[start + i] = other;
        }
        start = end;
    }
}

/* --- what an index holds --- */

struct unprojected {
    const struct plan_source *source;
    struct str names;
};

static void add_unprojected(struct unprojected *found, struct str name)
{
    const struct plan_source *source = found->source;
    if (!index_projects(source->table, source->index, name)) {
        found->names = arena_format(source->arena, "%.*s%s%.*s", STR_ARG(found->names),
                                    found->names.len > 0 ? ", " : "", STR_ARG(name));
    }
}

static void visit_filter(void *context, const struct expr_path *path)
{
    add_unprojected(context, path->steps[0].name);
}

/* Columns that a local index lacks are fetched from the table; a global one cannot. */
static bool check_columns(const struct plan_source *source, struct read_plan *plan, struct err *err)
{
    const struct statement *statement = source->statement;
    struct unprojected found = {.source = source, .names = STR("")};
    for (size_t i = 0; i < statement->column_count; i++) {
        add_unprojected(&found, statement->columns[i].path.steps[0].name);
    }
    if (found.names.len == 0) {
        return true;
    }
    plan->fetch = true;
    return source->index->kind == INDEX_LOCAL ||
           err_set(err, ERR_VALIDATION, MESSAGE_INDEX_LACKS_ATTRIBUTES,
                   STR_ARG(source->index->name), STR_ARG(found.names));
}

/* When the read is keyed, filters may use only what the index holds. The service looks at the
 * branches in order and tells of the last one, if none of them can be read. */
static bool check_filters(const struct planner *p, const struct branches *branches)
{
    const struct plan_source *source = p->source;
    struct unprojected found = {.source = source, .names = STR("")};
    for (size_t i = 0; i < branches->count; i++) {
        found.names = STR("");
        for (const struct test_list *t = branches->all[i].others; t != NULL; t = t->next) {
            condition_visit_paths(t->test->condition, visit_filter, &found);
        }
        if (found.names.len == 0) {
            return true;
        }
    }
    return branches->count == 0 ||
           err_set(p->err, ERR_VALIDATION, MESSAGE_INDEX_LACKS_FILTER_ATTRIBUTES,
                   STR_ARG(source->index->name), STR_ARG(found.names));
}

/* --- SELECT --- */

/* The branches of the WHERE clause, in order; none if everything must be read. */
static bool find_branches(struct planner *p, struct branches *out)
{
    const struct where *where = p->source->statement->where;
    if (where == NULL || !pins_partition(p, where)) {
        return true;
    }
    if (!spread(p, where, out)) {
        return false;
    }
    if (p->too_many) {
        return err_set(p->err, ERR_VALIDATION,
                       "Too many decomposed read operations for a given query.");
    }
    if (any_conflict(out)) {
        *out = (struct branches){0};
        return true;
    }
    for (size_t i = 0; i < out->count; i++) {
        if (!find_range(p, &out->all[i])) {
            return false;
        }
    }
    qsort(out->all, out->count, sizeof(out->all[0]), compare_branches);
    return true;
}

static struct value make_key(const struct plan_source *source, struct value hash, struct value sort)
{
    const struct key_schema *keys = &source->table->key;
    struct builder builder;
    builder_init(&builder, source->arena, hash.len + sort.len + 64);
    size_t open = builder_open(&builder, VALUE_M);
    builder_add_key(&builder, keys->hash[0].name);
    builder_add_value(&builder, hash);
    if (keys->range_count > 0) {
        builder_add_key(&builder, keys->range[0].name);
        builder_add_value(&builder, sort);
    }
    builder_close_map(&builder, open, (uint32_t)(1 + keys->range_count));
    return builder_finish(&builder);
}

static bool plan_get(const struct planner *p, const struct branch *branch, struct read_plan *out)
{
    const struct plan_source *source = p->source;
    out->get = true;
    return item_key_from_key(source->engine, source->table,
                             make_key(source, branch->hash, branch->sort_value), source->arena,
                             &out->key, p->err);
}

static void plan_scan(const struct plan_source *source, struct read_plan *out)
{
    out->ranges = ARENA_NEW(source->arena, struct key_range);
    out->ranges[0] = range_of_scan(source->table, source->index, 0, 1, source->arena);
    out->range_count = 1;
    out->whole = true;
}

bool plan_select(const struct plan_source *source, struct read_plan *out, struct err *err)
{
    struct planner p = {
        .source = source,
        .keys = source->index == NULL ? &source->table->key : &source->index->key,
        .err = err,
    };
    struct branches branches = {0};
    *out = (struct read_plan){0};
    if (!find_branches(&p, &branches) || !check_order(&p, &branches)) {
        return false;
    }
    if (source->index != NULL &&
        (!check_columns(source, out, err) || !check_filters(&p, &branches))) {
        return false;
    }
    if (branches.count == 0) {
        plan_scan(source, out);
        return true;
    }
    if (!list_ranges(&p, &branches, out)) {
        return false;
    }
    apply_order(&p, out);
    bool one = source->index == NULL && branches.count == 1 && branches.all[0].whole_key;
    return !one || plan_get(&p, &branches.all[0], out);
}

/* --- single items --- */

/* What equalities joined by AND say of the table's key. */
struct key_search {
    const struct plan_source *source;
    bool allow_in; /* an IN of one value is an equality */
    struct value hash;
    struct value sort;
    struct str conflict; /* an attribute with two values; STR_NULL: none */
    bool more;           /* there is something else */
};

static void note_key(struct key_search *search, struct value *slot, const struct where *w)
{
    if (value_is_absent(*slot)) {
        *slot = w->values[0];
    } else if (!value_eq(*slot, w->values[0])) {
        search->conflict = w->attribute;
        search->more = true;
    }
}

static void search_key(struct key_search *search, const struct where *w)
{
    const struct key_schema *keys = &search->source->table->key;
    if (w->kind == WHERE_AND) {
        search_key(search, w->left);
        search_key(search, w->right);
        return;
    }
    bool equality = w->kind == WHERE_TEST && w->op == KEY_EQ &&
                    (!w->in || (search->allow_in && w->value_count == 1));
    if (equality && names(w, &keys->hash[0])) {
        note_key(search, &search->hash, w);
    } else if (equality && keys->range_count > 0 && names(w, &keys->range[0])) {
        note_key(search, &search->sort, w);
    } else {
        search->more = true;
    }
}

static bool is_complete(const struct key_search *search)
{
    return !value_is_absent(search->hash) &&
           (search->source->table->key.range_count == 0 || !value_is_absent(search->sort));
}

struct value plan_select_key(const struct plan_source *source)
{
    struct key_search search = {.source = source, .allow_in = true};
    if (source->statement->where == NULL || source->index != NULL) {
        return VALUE_ABSENT;
    }
    search_key(&search, source->statement->where);
    return search.more || !is_complete(&search) ? VALUE_ABSENT
                                                : make_key(source, search.hash, search.sort);
}

static bool check_write_key(const struct key_search *search, struct err *err)
{
    const struct key_schema *keys = &search->source->table->key;
    if (!is_complete(search)) {
        return err_set(err, ERR_VALIDATION,
                       "Where clause does not contain a mandatory equality on all key attributes");
    }
    if (!str_is_null(search->conflict) && search->source->statement->kind != STATEMENT_EXISTS) {
        return err_set(err, ERR_VALIDATION,
                       "Multiple conditions on same key %.*s. Only single item "
                       "Update/Insert/Delete are supported",
                       STR_ARG(search->conflict));
    }
    return check_key_value(&keys->hash[0], search->hash, err) &&
           (keys->range_count == 0 || check_key_value(&keys->range[0], search->sort, err));
}

bool plan_write_key(const struct plan_source *source, bool transaction, struct value *out,
                    bool *out_more, struct err *err)
{
    struct key_search search = {.source = source};
    struct err problem = ERR_INIT(source->arena);
    if (source->statement->where != NULL) {
        search_key(&search, source->statement->where);
    }
    if (!check_write_key(&search, &problem)) {
        return err_set_str(err, ERR_VALIDATION,
                           transaction ? STR(MESSAGE_KEY_MISMATCH) : problem.message);
    }
    *out = make_key(source, search.hash, search.sort);
    *out_more = search.more;
    return true;
}
