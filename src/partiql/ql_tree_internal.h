/* partiql/ql_tree_internal.h: a parsed statement, before any check of what DynamoDB supports. The
 * grammar is that of PartiQL, in which a statement is an expression; this explains some odd error
 * messages. */
#ifndef GRAMME_PARTIQL_QL_TREE_INTERNAL_H
#define GRAMME_PARTIQL_QL_TREE_INTERNAL_H

#include "err/err.h"
#include "partiql/ql_lexer_internal.h"

enum ql_kind {
    /* literals */
    QL_STRING,
    QL_NUMBER,
    QL_BOOL,
    QL_NULL,
    QL_MISSING,
    QL_LIST,
    QL_BAG,
    QL_STRUCT, /* children: name, value, name, value, ... */
    QL_PARAMETER,
    /* attributes */
    QL_NAME,
    QL_PATH, /* children: a QL_NAME, then steps */
    QL_STEP, /* .name: a QL_NAME; [index]: any expression; .* and [*]: a QL_STAR */
    QL_STAR,
    /* operators and functions */
    QL_CALL,
    QL_NOT,
    QL_PLUS_SIGN,
    QL_MINUS_SIGN,
    QL_AND,
    QL_OR,
    QL_EQ,
    QL_NE,
    QL_LT,
    QL_LE,
    QL_GT,
    QL_GE,
    QL_BETWEEN,
    QL_IN,
    QL_IS,
    QL_LIKE,
    QL_PLUS,
    QL_MINUS,
    QL_TIMES,
    QL_DIVIDE,
    QL_MODULO,
    QL_CONCAT,
    /* statements */
    QL_SELECT, /* children: columns */
    QL_INSERT, /* children: the value */
    QL_UPDATE, /* children: assignments and removals */
    QL_DELETE,
    QL_SET,    /* of UPDATE; children: path, value */
    QL_REMOVE, /* of UPDATE; children: path */
};

enum ql_returning_mode {
    QL_RETURNING_NONE,
    QL_RETURNING_ALL_OLD,
    QL_RETURNING_ALL_NEW,
    QL_RETURNING_MODIFIED_OLD,
    QL_RETURNING_MODIFIED_NEW,
};

/* Parts that only statements have. */
struct ql_clauses {
    struct ql_node *source; /* of FROM, INTO or UPDATE: a name or path; in FROM any expression */
    bool aliased;           /* the source has an alias, AT or BY */
    bool many_sources;
    struct ql_node *where;       /* or NULL */
    struct ql_node *order;       /* the first key of ORDER BY, or NULL */
    struct ql_token unsupported; /* the first clause that is not supported, or END */
    bool values;                 /* INSERT without the word VALUE */
    bool position;               /* INSERT ... AT */
    enum ql_returning_mode returning;
    bool returning_columns; /* not * */
    bool returning_many;
};

struct ql_node {
    enum ql_kind kind;
    bool negated;          /* NOT IN, NOT BETWEEN, IS NOT, NOT LIKE; a number with a minus; DESC */
    struct ql_token token; /* where errors point */
    struct ql_node *first; /* the children, in order */
    struct ql_node *last;
    struct ql_node *next; /* the next child of the same node, or key of the same ORDER BY */
    size_t child_count;
    size_t parameter; /* QL_PARAMETER: its number, from 0 */
    struct ql_clauses *clauses;
};

struct ql_tree {
    struct str text;
    struct ql_node *root;
    size_t parameter_count;
    /* Including functions: bounds the depth of the tree, together with the nesting of literals */
    size_t operator_count;
};

/* Parses `text` into a tree in `arena` that borrows it. Fails with "Statement wasn't well formed,
 * can't be processed: " and the reason. */
MUST_USE bool ql_parse(struct arena *arena, struct str text, struct ql_tree *out, struct err *err);

/* Returns "1:8:5": line, column and length of a token in characters, as messages show it. */
struct str ql_position(const struct ql_tree *tree, struct ql_token token, struct arena *arena);
/* Returns the kind of a node as messages name it. */
const char *ql_kind_name(enum ql_kind kind);
/* Returns the tree as text, for tests: (select (* ) (from t) (where (= a 'x'))) */
struct str ql_dump(const struct ql_tree *tree, struct arena *arena);

#endif
