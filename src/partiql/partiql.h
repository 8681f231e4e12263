/* partiql/partiql.h: statements of PartiQL as DynamoDB supports them: SELECT, INSERT, UPDATE,
 * DELETE and EXISTS. Text and parameters are translated to values and bound expressions
 * (expr/expr.h), without looking at the table; src/plan does that.
 *
 * A statement is allocated from the given arena and borrows the text and the parameters. */
#ifndef GRAMME_PARTIQL_PARTIQL_H
#define GRAMME_PARTIQL_PARTIQL_H

#include "expr/expr.h"

enum statement_kind {
    STATEMENT_SELECT,
    STATEMENT_INSERT,
    STATEMENT_UPDATE,
    STATEMENT_DELETE,
    STATEMENT_EXISTS, /* EXISTS(SELECT ...): a condition, for transactions */
};

/* A path in the list of a SELECT, and its name in the answer: the last name of the path, with the
 * indexes behind it. */
struct column {
    struct expr_path path;
    struct str name;
};

struct order_key {
    struct str attribute;
    bool descending;
};

/* A WHERE clause, or part of one. */
enum where_kind { WHERE_AND, WHERE_OR, WHERE_NOT, WHERE_TEST };

struct where {
    enum where_kind kind;
    const struct where *left; /* AND, OR, NOT */
    const struct where *right;
    const struct condition *condition; /* this clause as a condition */
    /* A comparison of a top-level attribute that could be a key condition: attribute op values.
     * KEY_EQ with `in` set is IN; KEY_BETWEEN has two values. STR_NULL: it is not one. */
    struct str attribute;
    enum key_operator op;
    bool in;
    const struct value *values;
    size_t value_count;
};

enum returning {
    RETURNING_NONE,
    RETURNING_ALL_OLD,
    RETURNING_ALL_NEW,
    RETURNING_MODIFIED_OLD,
    RETURNING_MODIFIED_NEW,
};

struct statement {
    enum statement_kind kind;
    struct str table;
    struct str index;             /* STR_NULL: none */
    const struct where *where;    /* or NULL */
    const struct column *columns; /* SELECT; NULL: all */
    size_t column_count;
    const struct column **by_path; /* the columns, for columns_apply() */
    const struct order_key *order; /* SELECT */
    size_t order_count;
    struct value item;           /* INSERT */
    const struct update *update; /* UPDATE */
    enum returning returning;
};

/* Parses and translates a statement. All failures are ERR_VALIDATION with the service's message. */
MUST_USE bool statement_parse(struct arena *arena, struct str text, const struct value *parameters,
                              size_t parameter_count, struct statement *out, struct err *err);

/* Adds an M value of the columns of a SELECT that an item has to the builder; it may be empty. */
void columns_apply(const struct statement *select, struct value item, struct builder *builder);

/* Returns `exists(attribute) AND condition`, for writes of existing items. `condition` may be NULL:
 * exists() alone. */
const struct condition *condition_if_exists(struct arena *arena, struct str attribute,
                                            const struct condition *condition);
/* Returns `not_exists(attribute) OR condition`. `condition` may be NULL: not_exists() alone. */
const struct condition *condition_unless_exists(struct arena *arena, struct str attribute,
                                                const struct condition *condition);

#endif
