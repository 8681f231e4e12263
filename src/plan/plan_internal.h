/* plan/plan_internal.h: the branches of a WHERE clause. */
#ifndef GRAMME_PLAN_PLAN_INTERNAL_H
#define GRAMME_PLAN_PLAN_INTERNAL_H

#include "plan/plan.h"

/* The largest number of ranges that one statement may read. */
enum { BRANCHES_MAX = 50 };

/* An immutable list of tests; branches share tails of it. */
struct test_list {
    const struct where *test;
    struct value low; /* of a test of the sort key: IN becomes one test per value */
    struct value high;
    const struct test_list *next;
};

/* One of the alternatives, joined by OR, that a WHERE clause consists of. */
struct branch {
    struct value hash;              /* the partition key; VALUE_ABSENT: not given */
    bool is_contradiction;          /* two different partition keys */
    bool filters_sort_key;          /* has a test of the sort key that is not an interval */
    const struct test_list *sorts;  /* tests of the sort key that are intervals */
    const struct test_list *others; /* tests that only the filter applies */
    struct key_condition range;     /* set by branch_find_range() */
    bool has_whole_key;             /* the primary key is given by equality */
    struct value sort_value;        /* then: the sort key */
};

struct branches {
    struct branch *all;
    size_t count;
};

struct planner {
    const struct plan_request *request;
    const struct key_schema *keys; /* of the index or table */
    bool too_many;                 /* more than BRANCHES_MAX */
    struct err *err;
};

/* The only attribute of the partition key. */
static inline const struct key_attribute *planner_hash_key(const struct planner *p)
{
    return &p->keys->hash[0];
}

/* The only attribute of the sort key, or NULL. */
static inline const struct key_attribute *planner_sort_key(const struct planner *p)
{
    return p->keys->range_count == 0 ? NULL : &p->keys->range[0];
}

/* Whether `where` is a comparison of the attribute `key` (may be NULL) with values. */
MUST_USE bool where_compares(const struct where *where, const struct key_attribute *key);
/* Checks the type of a value that is compared with a key attribute. */
MUST_USE bool check_key_value(const struct key_attribute *key, struct value value, struct err *err);

/* Whether every branch of the clause gives the partition key a value. Otherwise everything has to
 * be read. */
MUST_USE bool branches_have_partition(const struct planner *p, const struct where *where);
/* Expands a WHERE clause into branches. If p->too_many is set afterwards, *out is unusable. */
MUST_USE bool branches_expand(struct planner *p, const struct where *where, struct branches *out);

/* Sets branch->range: intersects the intervals of all tests of the sort key. */
MUST_USE bool branch_find_range(const struct planner *p, struct branch *branch);
/* Sorts by partition key, then by the start of the interval. */
void branches_sort(struct branches *branches);
/* Writes the ranges of sorted branches to the plan. Intervals that overlap are an error; if a
 * branch filters the sort key they are joined instead. */
MUST_USE bool branches_list_ranges(const struct planner *p, const struct branches *branches,
                                   struct plan *out);

/* Checks ORDER BY. */
MUST_USE bool order_check(const struct planner *p, const struct branches *branches);
/* Puts the ranges into the order of ORDER BY and sets plan->backward. */
void order_apply(const struct planner *p, struct plan *plan);

/* Makes a primary key of the table, as an M value. `sort` is ignored if the table has no sort key.
 */
struct value make_primary_key(const struct plan_request *request, struct value hash,
                              struct value sort);

#endif
