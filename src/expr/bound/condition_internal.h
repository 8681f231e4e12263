/* expr/bound/condition_internal.h: a bound condition. */
#ifndef GRAMME_EXPR_BOUND_CONDITION_INTERNAL_H
#define GRAMME_EXPR_BOUND_CONDITION_INTERNAL_H

#include "expr/bound/operand_internal.h"

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

#endif
