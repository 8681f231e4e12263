/* expr/bind/scope_internal.h: look-up of placeholders, which marks them as used. */
#ifndef GRAMME_EXPR_BIND_SCOPE_INTERNAL_H
#define GRAMME_EXPR_BIND_SCOPE_INTERNAL_H

#include "expr/expr.h"

/* Returns the attribute name that "#n" is replaced by, or STR_NULL. */
struct str scope_use_name(struct expr_scope *scope, struct str name);
/* Returns the value that ":v" is replaced by, or VALUE_ABSENT. */
struct value scope_use_value(struct expr_scope *scope, struct str name);

#endif
