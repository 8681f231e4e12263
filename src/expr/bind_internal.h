/* expr/bind_internal.h: a tree's operands with a request's names and values put in. */
#ifndef GRAMME_EXPR_BIND_INTERNAL_H
#define GRAMME_EXPR_BIND_INTERNAL_H

#include "expr/expr.h"
#include "expr/tree_internal.h"

#define PATH_STEPS_MAX 32

enum operand_kind {
    OPERAND_PATH,
    OPERAND_VALUE,
    OPERAND_SIZE,  /* of the first operand */
    OPERAND_TRUTH, /* of a condition: a BOOL */
    /* updates only */
    OPERAND_PLUS,
    OPERAND_MINUS,
    OPERAND_IF_NOT_EXISTS,
    OPERAND_LIST_APPEND,
};

struct operand {
    enum operand_kind kind;
    struct expr_path path;             /* OPERAND_PATH */
    struct value value;                /* OPERAND_VALUE */
    const struct operand *operands;    /* of the others: one of SIZE, else two */
    const struct condition *condition; /* OPERAND_TRUTH */
};

/* What is needed to bind one expression. */
struct binder {
    struct expr_scope *scope;
    const struct tree *tree;
    struct str text;
    const char *parameter; /* NULL: errors are bare */
    struct err *err;
};

/* Gets the tree of a text, from the cache if it is there: refuses empty and oversized texts, parses
 * and checks. The tree lives until the next use of the scope's cache. */
MUST_USE bool binder_init(struct binder *binder, struct expr_scope *scope, enum tree_kind kind,
                          struct str text, const char *parameter, struct err *err);
/* Refuses an expression of too many operators. The service looks at this last. */
MUST_USE bool binder_finish(const struct binder *binder);
MUST_USE bool bind_check_operators(const struct binder *binder, size_t operator_count);
/* Sets the error to "Invalid <parameter>: <text>", or to the text alone; returns false. */
bool binder_fail(const struct binder *binder, const char *format, ...) PRINTF_LIKE(2, 3);

/* Refuses a path of too many steps. */
MUST_USE bool bind_check_steps(const struct binder *binder, size_t step_count);
MUST_USE bool bind_path(const struct binder *binder, const struct node *node,
                        struct expr_path *out);
MUST_USE bool bind_value(const struct binder *binder, const struct node *node, struct value *out);
MUST_USE bool bind_operand(const struct binder *binder, const struct node *node,
                           struct operand *out);
/* The operands of a node, in an array in the scope's arena. */
MUST_USE bool bind_operands(const struct binder *binder, const struct node *node,
                            struct operand **out);

/* size(), list_append(), + and - of operands that are bound: checks their number and types. */
MUST_USE bool bind_combined(const struct binder *binder, const struct node *node,
                            const struct operand *operands, struct operand *out);

/* Refuses a call whose number of operands is not the function's. */
MUST_USE bool bind_check_count(const struct binder *binder, const struct node *node);
/* Refuses a path as first operand that is another operand too. */
MUST_USE bool bind_check_distinct(const struct binder *binder, const struct node *node,
                                  const struct operand *operands);
/* Refuses an operand known to be of a type that is not in `allowed`, a set of 1 << value_type. */
MUST_USE bool bind_check_types(const struct binder *binder, const struct node *node,
                               const struct operand *operands, unsigned allowed);
/* "Incorrect operand type ..., operand type: <type>"; returns false. */
bool bind_fail_type(const struct binder *binder, const struct node *node, const char *type);
/* The type that an operand has whatever the item; VALUE_NONE if that depends on the item. */
enum value_type operand_type(const struct operand *operand);

#define TYPES_ORDERED (1u << VALUE_S | 1u << VALUE_N | 1u << VALUE_B)

#endif
