/* Plans reads: a SELECT statement, or the key condition of a Query. Called by src/api; any thread.
 */
#include "err/messages.h"
#include "plan/plan_internal.h"

/* --- projections of indexes --- */

enum { UNPROJECTED_BYTES_MAX = 4096 };

struct unprojected unprojected_init(struct arena *arena, const struct table *table,
                                    const struct index *index)
{
    return (struct unprojected){arena, table, index, STR("")};
}

void unprojected_visit(void *context, const struct expr_path *path)
{
    struct unprojected *list = context;
    struct str name = path->steps[0].name;
    if (list->names.len <= UNPROJECTED_BYTES_MAX &&
        !index_projects(list->table, list->index, name)) {
        list->names = arena_format(list->arena, "%.*s%s%.*s", STR_ARG(list->names),
                                   list->names.len > 0 ? ", " : "", STR_ARG(name));
    }
}

/* Columns that a local index does not project are fetched from the table; for a global index they
 * are an error. */
static bool check_columns(const struct plan_request *request, struct plan *plan, struct err *err)
{
    struct unprojected missing = unprojected_init(request->arena, request->table, request->index);
    for (size_t i = 0; i < request->column_count; i++) {
        unprojected_visit(&missing, &request->columns[i].path);
    }
    if (missing.names.len == 0) {
        return true;
    }
    plan->fetch = true;
    return request->index->kind == INDEX_LOCAL ||
           err_set(err, ERR_VALIDATION, MESSAGE_INDEX_LACKS_ATTRIBUTES,
                   STR_ARG(request->index->name), STR_ARG(missing.names));
}

/* If the partition key is given, filters may use only attributes that the index projects. The
 * service accepts the statement if one branch does, and else reports the last branch. */
static bool check_filters(const struct planner *p, const struct branches *branches)
{
    const struct plan_request *request = p->request;
    struct unprojected missing = unprojected_init(request->arena, request->table, request->index);
    for (size_t i = 0; i < branches->count; i++) {
        missing.names = STR("");
        for (const struct test_list *t = branches->all[i].others; t != NULL; t = t->next) {
            condition_visit_paths(t->test->condition, unprojected_visit, &missing);
        }
        if (missing.names.len == 0) {
            return true;
        }
    }
    return branches->count == 0 ||
           err_set(p->err, ERR_VALIDATION, MESSAGE_INDEX_LACKS_FILTER_ATTRIBUTES,
                   STR_ARG(request->index->name), STR_ARG(missing.names));
}

/* --- branches --- */

static bool any_contradiction(const struct branches *branches)
{
    for (size_t i = 0; i < branches->count; i++) {
        if (branches->all[i].is_contradiction) {
            return true;
        }
    }
    return false;
}

/* Finds the branches of the WHERE clause with their ranges, sorted; none: read everything. */
static bool find_branches(struct planner *p, struct branches *out)
{
    const struct where *where = p->request->where;
    if (where == NULL || !branches_have_partition(p, where)) {
        return true;
    }
    if (!branches_expand(p, where, out)) {
        return false;
    }
    if (p->too_many) {
        return err_set(p->err, ERR_VALIDATION,
                       "Too many decomposed read operations for a given query.");
    }
    if (any_contradiction(out)) {
        *out = (struct branches){0};
        return true;
    }
    for (size_t i = 0; i < out->count; i++) {
        if (!branch_find_range(p, &out->all[i])) {
            return false;
        }
    }
    branches_sort(out);
    return true;
}

bool plan_select(const struct plan_request *request, struct plan *out, struct err *err)
{
    struct planner p = {
        .request = request,
        .keys = request->index == NULL ? &request->table->key : &request->index->key,
        .err = err,
    };
    struct branches branches = {0};
    *out = (struct plan){
        .kind = PLAN_SCAN,
        .table = request->table,
        .index = request->index,
        .filter = request->where == NULL ? NULL : request->where->condition,
    };
    if (!find_branches(&p, &branches) || !order_check(&p, &branches)) {
        return false;
    }
    if (request->index != NULL &&
        (!check_columns(request, out, err) || !check_filters(&p, &branches))) {
        return false;
    }
    if (branches.count == 0) {
        return true;
    }
    out->kind = PLAN_QUERY;
    if (!branches_list_ranges(&p, &branches, out)) {
        return false;
    }
    order_apply(&p, out);
    const struct branch *first = &branches.all[0];
    if (request->index == NULL && branches.count == 1 && first->has_whole_key) {
        out->kind = PLAN_GET;
        out->key = make_primary_key(request, first->hash, first->sort_value);
    }
    return true;
}

struct plan plan_of_condition(const struct table *table, const struct index *index,
                              struct key_condition *condition, const struct condition *filter)
{
    return (struct plan){
        .kind = PLAN_QUERY,
        .table = table,
        .index = index,
        .ranges = condition,
        .range_count = 1,
        .filter = filter,
    };
}

struct value plan_partition(const struct plan *plan)
{
    if (plan->kind == PLAN_GET) {
        return value_map_get(plan->key, plan->table->key.hash[0].name);
    }
    return plan->kind == PLAN_QUERY && plan->range_count == 1 ? plan->ranges[0].hash[0]
                                                              : VALUE_ABSENT;
}
