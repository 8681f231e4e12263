/* expr/reserved_internal.h: words that need a "#name" to be used as attribute names. */
#ifndef GRAMME_EXPR_RESERVED_INTERNAL_H
#define GRAMME_EXPR_RESERVED_INTERNAL_H

#include "base/str.h"

/* Upper and lower case are alike. */
MUST_USE bool reserved_has(struct str word);

#endif
