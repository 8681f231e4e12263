/* api/partiql_plan.h: which items a PartiQL statement is about, and how a SELECT reads them.
 *
 *   the whole primary key by equality         the item (GetItem)
 *   the partition key by equality or IN       ranges of sort keys, one after the other (Query)
 *   anything else                             the whole table or index (Scan)
 *
 * A range may hold more than what is asked for: the WHERE clause is applied to each item. */
#ifndef GRAMME_API_PARTIQL_PLAN_H
#define GRAMME_API_PARTIQL_PLAN_H

#include "api/api_internal.h"
#include "engine/range.h"
#include "partiql/partiql.h"

struct read_plan {
    bool get; /* one item, by `key` */
    struct item_key key;
    struct key_range *ranges; /* to be read in this order; there is always one */
    size_t range_count;
    bool whole;        /* reads everything: no partition key is given */
    struct value hash; /* the partition key, if there is one range; for the meter */
    bool backward;     /* inside each range */
    bool fetch;        /* a local index must read whole items from the table */
};

/* What a statement is run on. */
struct plan_source {
    struct engine *engine;
    struct arena *arena;
    const struct statement *statement;
    const struct table *table;
    const struct index *index; /* or NULL */
};

/* Plans a SELECT: checks its keys, its columns and its ORDER BY against the table. */
MUST_USE bool plan_select(const struct plan_source *source, struct read_plan *out, struct err *err);

/* The key of a SELECT that names one item by its primary key and nothing else, as batches and
 * transactions need it, as an M value. VALUE_ABSENT: it is another one. */
struct value plan_select_key(const struct plan_source *source);

/* The key of the item that an UPDATE, DELETE or EXISTS is about, as an M value. In a transaction
 * all that can be wrong is told as a key that does not match; EXISTS takes the first of several
 * equalities, and `*out_more` says whether there is more than the key. */
MUST_USE bool plan_write_key(const struct plan_source *source, bool transaction, struct value *out,
                             bool *out_more, struct err *err);

#endif
