/* expr/scope_internal.h: a placeholder's meaning; asking for it marks it as used. */
#ifndef GRAMME_EXPR_SCOPE_INTERNAL_H
#define GRAMME_EXPR_SCOPE_INTERNAL_H

#include "expr/expr.h"

/* The attribute name that "#n" stands for, or STR_NULL. */
struct str scope_use_name(struct expr_scope *scope, struct str name);
/* The value that ":v" stands for, or VALUE_ABSENT. */
struct value scope_use_value(struct expr_scope *scope, struct str name);

#endif
