/* expr/bound/key_expression_internal.h: a key condition before the table is known. */
#ifndef GRAMME_EXPR_BOUND_KEY_EXPRESSION_INTERNAL_H
#define GRAMME_EXPR_BOUND_KEY_EXPRESSION_INTERNAL_H

#include "expr/bound/condition_internal.h"

struct key_expression {
    struct key_test *tests;
    size_t test_count;
    struct str problem; /* why it is not a key condition; STR_NULL: it is one */
};

#endif
