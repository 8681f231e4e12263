/* bench/ops_internal.h: the requests of the operations. */
#ifndef GRAMME_BENCH_OPS_INTERNAL_H
#define GRAMME_BENCH_OPS_INTERNAL_H

#include "bench/workloads_internal.h"

/* Which items a request is about. */
enum op_items {
    ITEMS_NEW,         /* random, and not in the table */
    ITEMS_CONSECUTIVE, /* the drawn item and those after it */
    ITEMS_SPREAD,      /* the drawn item, and others spread over the table */
};

/* Returns which items the operation uses; `last`: of its last request. */
MUST_USE enum op_items op_items(enum op op, bool last);
/* Returns how many items one request reads or writes, at least, for the sizes of the table. */
MUST_USE int op_item_count(enum op op, const struct test_table *table);
/* Builds the request of an operation. */
void op_build(struct request *out, enum op op, const struct source *source);

#endif
