/* api/statements/partiql.h: functions that ExecuteStatement, BatchExecuteStatement and
 * ExecuteTransaction share: parse a statement, find its table, convert it to a write, and write
 * rows to the answer. All run on the thread of the call. A function that returns false has set
 * *err. */
#ifndef GRAMME_API_STATEMENTS_PARTIQL_H
#define GRAMME_API_STATEMENTS_PARTIQL_H

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

/* A statement that is being processed. */
struct partiql {
    const struct statement_request *request;
    struct statement statement;
    const struct table *table;
    const struct index *index; /* or NULL */
};

/* Checks the values of the parameters; the service reports their errors before it parses the
 * statement. */
MUST_USE bool partiql_check_parameters(struct api_call *call,
                                       const struct statement_request *request, struct err *err);
/* Parses the statement of a request into out->statement. *out borrows `request` and call->arena. */
MUST_USE bool partiql_parse(struct api_call *call, const struct statement_request *request,
                            struct partiql *out, struct err *err);
/* Returns whether the caller may run a parsed statement; must be called before its table is looked
 * up. `enclosing` is the transaction that contains the statement, or NULL. */
MUST_USE bool partiql_authorize(struct api_call *call, const struct partiql *partiql,
                                const char *enclosing, struct err *err);
/* Looks up the table and sets partiql->table. */
MUST_USE bool partiql_find_table(struct api_call *call, struct partiql *partiql, struct err *err);
/* Looks up the index, if the statement names one, and sets partiql->index. Fails for an index that
 * PartiQL cannot read, and for any index in a write. */
MUST_USE bool partiql_find_index(struct partiql *partiql, struct err *err);
/* Returns the input of the planner (src/plan) for a statement whose table and index are known. */
struct plan_request partiql_plan_request(struct api_call *call, const struct partiql *partiql);

/* Sets *out to the primary key of a SELECT, which must read one item by it. `operation` is named in
 * the error; another error of the statement takes precedence. */
MUST_USE bool partiql_select_key(struct api_call *call, const struct partiql *partiql,
                                 const char *operation, struct value *out, struct err *err);

/* Returns whether the statement is a SELECT. */
static inline bool partiql_is_read(const struct partiql *partiql)
{
    return partiql->statement.kind == STATEMENT_SELECT;
}

/* Converts an INSERT, UPDATE, DELETE or EXISTS whose table is known to a write in *out.
 * `transaction`: errors about keys are worded as by TransactWriteItems. */
MUST_USE bool partiql_write(struct api_call *call, const struct partiql *partiql, bool transaction,
                            struct item_write *out, struct err *err);
/* Fills in *access with a SELECT, for the meter; the WHERE clause is recorded as its filter.
 * `operation` is a string literal. */
void partiql_describe_read(struct meter_access *access, const char *operation,
                           const struct partiql *partiql);
/* Returns the meter's name of an ExecuteStatement: "ExecuteStatement Insert" and so on. */
const char *partiql_meter_name(const struct partiql *partiql);
/* Changes the error of an INSERT whose condition failed to DuplicateItem. */
void partiql_name_failure(const struct partiql *partiql, struct item_write *write);
/* Returns the row of RETURNING after the write has succeeded, or VALUE_ABSENT. */
struct value partiql_returned(const struct partiql *partiql, const struct item_write *write,
                              struct arena *arena);

/* Returns the columns of a SELECT from an item: the item itself, or a map in `arena`. */
struct value partiql_row(struct arena *arena, const struct statement *statement, struct value item);
/* Writes the columns of a SELECT from an item to `out`. `arena` is scratch memory. */
void partiql_write_row(struct buf *out, struct arena *arena, const struct statement *statement,
                       struct value item);

/* --- NextToken: where the next page of a SELECT starts --- */

struct read_position {
    uint32_t range; /* index of the plan's range */
    struct value
        last_key; /* key of the last row read; VALUE_ABSENT: nothing of that range was read */
};

/* Returns a NextToken in `arena`: opaque text, valid only for this statement with these parameters
 * on this table. */
struct str partiql_token_write(const struct partiql *partiql, const struct read_position *position,
                               struct arena *arena);
/* Parses a NextToken. Returns false with ERR_VALIDATION if it is not one of this statement. */
MUST_USE bool partiql_token_read(const struct partiql *partiql, struct str text,
                                 struct read_position *out, struct arena *arena, struct err *err);

#endif
