/* plan/plan.h: decides how a table or index is read, from the description of the table alone.
 *
 *   get    the whole primary key is given by equality: one item
 *   query  the partition key is given by equality or IN: intervals of sort keys, one after the
 *          other
 *   scan   anything else: the whole table or index
 *
 * An interval may contain more items than were asked for: the caller applies the filter to each.
 * Plans are made for PartiQL statements (plan_select()); a Query request is a plan of one interval
 * (plan_of_condition()). plan_explain() shows either as text.
 *
 * Everything is allocated from the arena of the request and borrows from what it was made of. */
#ifndef GRAMME_PLAN_PLAN_H
#define GRAMME_PLAN_PLAN_H

#include "base/buf.h"
#include "partiql/partiql.h"

enum plan_kind { PLAN_GET, PLAN_QUERY, PLAN_SCAN };

struct plan {
    enum plan_kind kind;
    const struct table *table;
    const struct index *index;    /* or NULL */
    struct value key;             /* PLAN_GET: the primary key, an M value */
    struct key_condition *ranges; /* PLAN_QUERY: to be read in this order; at least one */
    size_t range_count;
    bool backward; /* reads each range from its end */
    bool fetch;    /* reads whole items from the table for entries of a local index */
    const struct condition *filter; /* to be applied to each item; NULL: none */
};

/* The input of the planner. */
struct plan_request {
    struct arena *arena;
    const struct table *table;
    const struct index *index;    /* or NULL */
    const struct where *where;    /* or NULL */
    const struct column *columns; /* NULL: all attributes */
    size_t column_count;
    const struct order_key *order;
    size_t order_count;
};

/* Plans a SELECT and checks its keys, columns and ORDER BY against the table. */
MUST_USE bool plan_select(const struct plan_request *request, struct plan *out, struct err *err);

/* The plan of a Query: one interval. `condition` and `filter` are borrowed. */
struct plan plan_of_condition(const struct table *table, const struct index *index,
                              struct key_condition *condition, const struct condition *filter);

/* Returns the value of the partition key if the plan reads one partition; else VALUE_ABSENT. */
struct value plan_partition(const struct plan *plan);

/* Returns the primary key as an M value if the WHERE clause names one item by its primary key and
 * says nothing else, as batches and transactions require; VALUE_ABSENT otherwise. */
struct value plan_select_key(const struct plan_request *request);

/* The purpose of plan_write_key(), on which its errors depend. */
struct plan_write {
    bool in_transaction; /* every mistake is reported as a key that does not match the schema */
    bool is_exists;      /* EXISTS: of several equalities of one attribute the first counts */
};

/* Finds the primary key, as an M value, of the item that an UPDATE, DELETE or EXISTS is about.
 * *out_has_more: the WHERE clause says more than the key. */
MUST_USE bool plan_write_key(const struct plan_request *request, struct plan_write write,
                             struct value *out, bool *out_has_more, struct err *err);

/* Appends a plan as text, one fact per line:
 *
 *   query Music.ByYear
 *     range: Year = 1965, Song >= "A", Song < "M"
 *     order: descending
 *     filter: Genre, Price
 *     fetch: whole items from the table
 *
 * Written for people: programs should not parse it. */
void plan_explain(struct buf *out, const struct plan *plan);

/* --- projections of indexes; also used by Query and Scan --- */

/* Attributes that are asked for and that an index does not project. */
struct unprojected {
    struct arena *arena;
    const struct table *table;
    const struct index *index;
    struct str names; /* "a, b"; cut when it gets long; empty: all are projected */
};

/* Starts an empty list. */
struct unprojected unprojected_init(struct arena *arena, const struct table *table,
                                    const struct index *index);
/* Adds the attribute of a path if the index does not project it: a visitor for the functions of
 * expr.h; `context` is a struct unprojected. */
void unprojected_visit(void *context, const struct expr_path *path);

#endif
