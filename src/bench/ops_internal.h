/* bench/ops_internal.h: how the request of each operation looks. */
#ifndef GRAMME_BENCH_OPS_INTERNAL_H
#define GRAMME_BENCH_OPS_INTERNAL_H

#include "bench/works_internal.h"

/* Which items a request is about. */
enum op_items {
    ITEMS_NEW,     /* random, and not in the table */
    ITEMS_IN_TURN, /* the draw's and those behind it */
    ITEMS_APART,   /* the draw's, and others spread over the table */
};

MUST_USE enum op_items op_items(enum op op, bool last);
/* How many items one request reads or writes, at least for the shape's sizes. */
MUST_USE int op_item_count(enum op op, const struct shape *shape);
void op_build(struct request *out, enum op op, const struct source *source);

#endif
