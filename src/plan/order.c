/* Checks ORDER BY against the key of the table or index, and finds the direction of the read.
 * Called by select.c, on the thread of the request. */
#include "plan/plan_internal.h"

bool order_check(const struct planner *p, const struct branches *branches)
{
    const struct plan_request *request = p->request;
    bool by_hash = false;
    for (size_t i = 0; i < request->order_count; i++) {
        struct str name = request->order[i].attribute;
        if (!key_schema_has(p->keys, name)) {
            return err_set(p->err, ERR_VALIDATION,
                           "Attribute %.*s in ORDER BY clause must be part of the primary key",
                           STR_ARG(name));
        }
        by_hash = by_hash || str_eq(name, planner_hash_key(p)->name);
    }
    if (request->order_count == 0) {
        return true;
    }
    if (branches->count == 0) {
        return err_set(p->err, ERR_VALIDATION,
                       "Must have at least one non-optional hash key condition in WHERE clause "
                       "when using ORDER BY clause.");
    }
    bool has_many = !value_eq(branches->all[0].hash, branches->all[branches->count - 1].hash);
    return !has_many || by_hash ||
           err_set(p->err, ERR_VALIDATION,
                   "Must have hash key in ORDER BY clause when more than one hash key condition "
                   "specified in WHERE clause.");
}

static void reverse(struct key_condition *ranges, size_t count)
{
    for (size_t i = 0; i < count / 2; i++) {
        struct key_condition other = ranges[count - 1 - i];
        ranges[count - 1 - i] = ranges[i];
        ranges[i] = other;
    }
}

static void reverse_each_partition(struct plan *plan)
{
    for (size_t start = 0; start < plan->range_count;) {
        size_t end = start + 1;
        while (end < plan->range_count &&
               value_eq(plan->ranges[end].hash[0], plan->ranges[start].hash[0])) {
            end++;
        }
        reverse(plan->ranges + start, end - start);
        start = end;
    }
}

/* Partitions are read in ascending order by default. Inside a partition, a sort key that ORDER BY
 * does not name is read in descending order (measured on the service). */
void order_apply(const struct planner *p, struct plan *plan)
{
    const struct plan_request *request = p->request;
    bool partitions_backward = false;
    plan->backward = request->order_count > 0;
    for (size_t i = 0; i < request->order_count; i++) {
        if (str_eq(request->order[i].attribute, planner_hash_key(p)->name)) {
            partitions_backward = request->order[i].descending;
        } else {
            plan->backward = request->order[i].descending;
        }
    }
    /* The ranges are sorted by partition and start. */
    if (partitions_backward) {
        reverse(plan->ranges, plan->range_count);
    }
    if (partitions_backward != plan->backward) {
        reverse_each_partition(plan);
    }
}
