/* partiql/partiql.h: statements of PartiQL as the service knows them: SELECT, INSERT, UPDATE,
 * DELETE and EXISTS. Text and parameters become a statement of values and bound expressions
 * (expr/expr.h). What it means for a table (keys, index, plan) is asked elsewhere.
 *
 * A statement lives in the arena it is made in and borrows the text and the parameters. */
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

/* A path in the list of a SELECT, and what it is called in the answer: its last name, with the
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
    const struct condition *condition; /* the whole of it */
    /* A test of a top-level attribute that a key condition could be: attribute op values. KEY_EQ
     * with `in` set is IN; KEY_BETWEEN has two values. STR_NULL: it is none. */
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
    const struct order_key *order; /* SELECT */
    size_t order_count;
    struct value item;           /* INSERT */
    const struct update *update; /* UPDATE */
    enum returning returning;
};

/* All failures are ERR_VALIDATION with the service's text. */
MUST_USE bool statement_parse(struct arena *arena, struct str text, const struct value *parameters,
                              size_t parameter_count, struct statement *out, struct err *err);

/* The columns of an item, as an M value added to the builder; may be empty. */
void columns_apply(const struct column *columns, size_t count, struct value item,
                   struct builder *builder);

/* Conditions on a key attribute's presence, for writes: exists(attribute) AND condition, and
 * not_exists(attribute) OR condition. `condition` may be NULL: exists() or not_exists() alone. */
const struct condition *condition_if_exists(struct arena *arena, struct str attribute,
                                            const struct condition *condition);
const struct condition *condition_unless_exists(struct arena *arena, struct str attribute,
                                                const struct condition *condition);

#endif
