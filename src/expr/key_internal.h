/* expr/key_internal.h: what a Query asks of the keys, before the table is known. */
#ifndef GRAMME_EXPR_KEY_INTERNAL_H
#define GRAMME_EXPR_KEY_INTERNAL_H

#include "expr/condition_internal.h"

/* One attribute and what it is compared with. */
struct key_term {
    struct str name;
    enum key_operator op; /* KEY_NONE: one that no key can have (legacy) */
    struct value low;
    struct value high; /* KEY_BETWEEN */
};

struct key_expression {
    struct key_term *terms;
    size_t term_count;
    struct str problem; /* why it is no key condition; STR_NULL: it is one */
};

#endif
