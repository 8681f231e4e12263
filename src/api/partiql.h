/* api/partiql.h: what ExecuteStatement, BatchExecuteStatement and ExecuteTransaction share: a
 * statement of a request, its table, its write, and its rows in the answer. */
#ifndef GRAMME_API_PARTIQL_H
#define GRAMME_API_PARTIQL_H

#include "api/api_internal.h"
#include "engine/range.h"
#include "plan/plan.h"

struct statement_request {
    struct str text;
    struct wire_list parameters; /* of struct wire_value */
    struct wire_bool consistent_read;
    struct wire_enum return_on_failure;
};

extern const struct shape shape_statement;
extern const struct shape shape_parameters;

/* A statement under way. */
struct partiql {
    const struct statement_request *request;
    struct statement statement;
    const struct table *table;
    const struct index *index; /* or NULL */
};

/* Reports faults of the parameters' values; the service does so before it parses the statement. */
MUST_USE bool partiql_check_parameters(struct api_call *call,
                                       const struct statement_request *request, struct err *err);
/* Parses the statement of a request. */
MUST_USE bool partiql_parse(struct api_call *call, const struct statement_request *request,
                            struct partiql *out, struct err *err);
/* Finds the table. False: *err. */
MUST_USE bool partiql_find_table(struct api_call *call, struct partiql *partiql, struct err *err);
/* Finds the index, if the statement names one. Fails for an index that PartiQL cannot read, and for
 * every index in a write. */
MUST_USE bool partiql_find_index(struct partiql *partiql, struct err *err);
/* What src/plan needs to know of the statement. */
struct plan_request partiql_plan_request(struct api_call *call, const struct partiql *partiql);

/* Whether it is a SELECT. */
static inline bool partiql_is_read(const struct partiql *partiql)
{
    return partiql->statement.kind == STATEMENT_SELECT;
}

/* The write of an INSERT, UPDATE, DELETE or EXISTS whose table is known. *err: what the statement
 * gets wrong. In a transaction, problems of keys are worded as TransactWriteItems does. */
MUST_USE bool partiql_write(struct api_call *call, const struct partiql *partiql, bool transaction,
                            struct item_write *out, struct err *err);
/* Describes a SELECT for the meter; `operation` is a literal. The WHERE clause is its filter. */
void partiql_describe_read(struct meter_access *access, const char *operation,
                           const struct partiql *partiql);
/* "ExecuteStatement Insert", and so on: the meter's name for a write. */
const char *partiql_write_name(const struct partiql *partiql);
/* INSERT's condition, if it failed, is a duplicate key. */
void partiql_name_failure(const struct partiql *partiql, struct item_write *write);
/* The row of RETURNING after the write has succeeded, or VALUE_ABSENT. */
struct value partiql_returned(const struct partiql *partiql, const struct item_write *write,
                              struct arena *arena);

/* Returns an item as the columns of a SELECT have it, in `arena` if it differs. */
struct value partiql_row(struct arena *arena, const struct statement *statement, struct value item);
/* Writes an item as the columns of a SELECT have it. */
void partiql_write_row(struct buf *out, struct arena *arena, const struct statement *statement,
                       struct value item);

/* --- NextToken: where a SELECT goes on --- */

struct read_position {
    uint32_t range;        /* of the plan */
    struct value last_key; /* the last one read; VALUE_ABSENT: none of that range yet */
};

/* Returns a NextToken: opaque text, valid for this statement with these parameters on this table
 * only. */
struct str partiql_token_write(const struct partiql *partiql, const struct read_position *position,
                               struct arena *arena);
/* Reads a NextToken. False: ERR_VALIDATION. */
MUST_USE bool partiql_token_read(const struct partiql *partiql, struct str text,
                                 struct read_position *out, struct arena *arena, struct err *err);

#endif
