/* expr/apply/condition_internal.h: a bound condition. */
#ifndef GRAMME_EXPR_APPLY_CONDITION_INTERNAL_H
#define GRAMME_EXPR_APPLY_CONDITION_INTERNAL_H

#include "expr/bind/bind_internal.h"

/* The comparators have the same order as their node kinds. */
enum condition_kind {
    CONDITION_EQ,
    CONDITION_NE,
    CONDITION_LT,
    CONDITION_LE,
    CONDITION_GT,
    CONDITION_GE,
    CONDITION_BETWEEN,
    CONDITION_IN,
    CONDITION_AND,
    CONDITION_OR,
    CONDITION_NOT,
    CONDITION_EXISTS,
    CONDITION_NOT_EXISTS,
    CONDITION_TYPE,
    CONDITION_BEGINS_WITH,
    CONDITION_CONTAINS,
    CONDITION_NOT_CONTAINS, /* legacy: false for an absent attribute */
    CONDITION_DIFFERS,      /* PartiQL's <>: false for an absent attribute */
};

struct condition {
    enum condition_kind kind;
    const struct condition *left; /* AND, OR, NOT */
    const struct condition *right;
    const struct operand *operands; /* all others */
    size_t operand_count;
    enum value_type type; /* TYPE */
};

/* Binds a condition. */
MUST_USE bool bind_condition(const struct binder *binder, const struct node *node,
                             const struct condition **out);

/* Makes a comparison or call of bound operands, and checks their number and types. NULL on failure,
 * with the error set. Uses only kind, function and operand_count of the node. */
struct condition *bind_test(const struct binder *binder, const struct node *node,
                            const struct operand *operands);

/* Returns "AttributeValue: {S:x}", as messages about BETWEEN show values. */
struct str value_describe(struct value value, struct arena *arena);

#endif
