/* expr/parse/reserved_internal.h: words that cannot be used as attribute names in expressions
 * without a
 * "#name". */
#ifndef GRAMME_EXPR_PARSE_RESERVED_INTERNAL_H
#define GRAMME_EXPR_PARSE_RESERVED_INTERNAL_H

#include "base/str.h"

/* Whether the word is reserved, in upper or lower case. */
MUST_USE bool reserved_has(struct str word);

#endif
