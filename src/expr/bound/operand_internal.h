/* expr/bound/operand_internal.h: a bound operand of a condition or an update. */
#ifndef GRAMME_EXPR_BOUND_OPERAND_INTERNAL_H
#define GRAMME_EXPR_BOUND_OPERAND_INTERNAL_H

#include "expr/expr.h"

/* The types that <, <=, > and >= compare. */
#define TYPES_ORDERED (1u << VALUE_S | 1u << VALUE_N | 1u << VALUE_B)

enum operand_kind {
    OPERAND_PATH,
    OPERAND_VALUE,
    OPERAND_SIZE,  /* size of the first operand */
    OPERAND_TRUTH, /* a condition as a BOOL */
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
    const struct operand *operands;    /* other kinds: one for SIZE, else two */
    const struct condition *condition; /* OPERAND_TRUTH */
};

/* Returns the weight of a value of the request: it may be much larger than the item, and is read
 * again for each item. 256 bytes take as long as a pass over a small item. */
static inline size_t operand_value_weight(const struct operand *operand)
{
    return operand->kind == OPERAND_VALUE ? operand->value.len / 256 : 0;
}

#endif
