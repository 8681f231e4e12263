/* partiql/ql_tree_internal.h: what the text of a statement says, before anybody asks whether the
 * service can do it. The grammar is that of PartiQL: a statement is an expression like any other,
 * which is why some mistakes get texts that sound odd. */
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

/* What only statements have. */
struct ql_clauses {
    struct ql_node
        *source;  /* FROM, INTO, or behind UPDATE: a name or path, in FROM any expression */
    bool aliased; /* the source has another name; AT and BY count too */
    bool many_sources;
    struct ql_node *where;       /* or NULL */
    struct ql_node *order;       /* the first of the keys of ORDER BY, or NULL */
    struct ql_token unsupported; /* the first clause that the service does not know, or END */
    bool values;                 /* INSERT without the word VALUE */
    bool position;               /* INSERT ... AT */
    enum ql_returning_mode returning;
    bool returning_columns; /* something else than * */
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
    size_t operator_count; /* and functions: no branch of the tree has more nodes than these and its
                              literals' levels */
};

/* Parses `text` into a tree in `arena` that borrows it. Fails with "Statement wasn't well formed,
 * can't be processed: " and what is wrong. */
MUST_USE bool ql_parse(struct arena *arena, struct str text, struct ql_tree *out, struct err *err);

/* "1:8:5": line, column and length of a token in characters, as errors have it. */
struct str ql_position(const struct ql_tree *tree, struct ql_token token, struct arena *arena);
/* What kind of node it is, in the words of the service's errors. */
const char *ql_kind_name(enum ql_kind kind);
/* Writes the tree for tests: (select (* ) (from t) (where (= a 'x'))) */
struct str ql_dump(const struct ql_tree *tree, struct arena *arena);

#endif
