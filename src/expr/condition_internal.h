/* expr/condition_internal.h: a bound condition. */
#ifndef GRAMME_EXPR_CONDITION_INTERNAL_H
#define GRAMME_EXPR_CONDITION_INTERNAL_H

#include "expr/bind_internal.h"

/* The comparators stand in the order of their nodes. */
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

MUST_USE bool bind_condition(const struct binder *binder, const struct node *node,
                             const struct condition **out);

/* A comparison or call of operands that are bound; checks their number and types. NULL: the error
 * is set. Of the node only kind, function and operand_count are looked at. */
struct condition *bind_test(const struct binder *binder, const struct node *node,
                            const struct operand *operands);

/* "AttributeValue: {S:x}", as the texts about BETWEEN have it. */
struct str value_describe(struct value value, struct arena *arena);

#endif
