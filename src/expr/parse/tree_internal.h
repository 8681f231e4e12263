/* expr/parse/tree_internal.h: a parsed expression, without the names and values of a request. A
 * tree depends on the text alone, so it can be cached and used for many requests. */
#ifndef GRAMME_EXPR_PARSE_TREE_INTERNAL_H
#define GRAMME_EXPR_PARSE_TREE_INTERNAL_H

#include "err/err.h"
#include "expr/parse/lexer_internal.h"

#define OPERATORS_MAX 300

/* The grammars. Filters and key conditions are conditions for the parser. */
enum tree_kind { TREE_CONDITION, TREE_PROJECTION, TREE_UPDATE };

#define FUNCTION(name_, operands_, where_, role_) FUNCTION_##name_,
enum function {
#include "expr/parse/functions.def"
    FUNCTION_UNKNOWN
};
#undef FUNCTION

struct function_rule {
    const char *name;
    size_t operand_count;
    enum tree_kind where;
    bool operand; /* may be an operand */
};

extern const struct function_rule function_rules[FUNCTION_UNKNOWN];

enum node_kind {
    NODE_PATH,
    NODE_VALUE,
    NODE_CALL,
    NODE_EQ,
    NODE_NE,
    NODE_LT,
    NODE_LE,
    NODE_GT,
    NODE_GE,
    NODE_BETWEEN,
    NODE_IN,
    NODE_AND,
    NODE_OR,
    NODE_NOT,
    NODE_PLUS,
    NODE_MINUS,
};

enum step_kind { STEP_NAME, STEP_REF, STEP_INDEX };

/* One element of a document path. */
struct step {
    enum step_kind kind;
    struct span span; /* "a", "#a" or the digits of the index */
    struct step *next;
};

struct node {
    enum node_kind kind;
    enum function function; /* NODE_CALL */
    bool parens;            /* is in parentheses */
    struct span span;       /* NODE_VALUE: ":v"; NODE_CALL: the function's name */
    struct step *steps;     /* NODE_PATH */
    size_t step_count;
    struct node *first; /* the operands, in order */
    struct node *last;
    struct node *next; /* the next operand of the same node */
    size_t operand_count;
};

enum action_kind { ACTION_SET, ACTION_REMOVE, ACTION_ADD, ACTION_DELETE, ACTION_PROJECT };

/* One action of an update, or one path of a projection. */
struct tree_action {
    enum action_kind kind;
    struct node *path;
    struct node *value; /* NULL if the kind has none */
    struct tree_action *next;
};

struct tree {
    enum tree_kind kind;
    struct node *condition;
    struct tree_action *actions; /* in order of the text */
    size_t action_count;
    /* Number of comparators, AND, OR, NOT, BETWEEN, IN, + and -, functions */
    size_t operator_count;
    int repeated_section; /* the action_kind whose keyword occurs twice, or -1 */
};

/* Parses `text`, of at most EXPRESSION_BYTES_MAX bytes, into a tree in `arena`. Fails with "Invalid
 * <parameter>: Syntax error; ...", or if parentheses are redundant. */
MUST_USE bool tree_parse(struct arena *arena, enum tree_kind kind, struct str text,
                         const char *parameter, const struct tree **out, struct err *err);

/* Does the checks that need the text alone, in the service's order: unknown and misplaced
 * functions, reserved words, indexes that are too large, repeated sections. */
MUST_USE bool tree_check(const struct tree *tree, struct str text, const char *parameter,
                         struct err *err);

/* Returns the operator or function as messages name it: "=", "BETWEEN", "size". */
const char *node_name(const struct node *node);
/* Returns the keyword of an action as messages name it. */
const char *action_name(enum action_kind kind);

/* Returns the tree as text, for tests: "(and (not (= a :v)) (= b :w))". */
struct str tree_dump(const struct tree *tree, struct str text, struct arena *arena);

#endif
