/* partiql/translate_internal.h: from the tree of a statement to values and bound expressions. What
 * PartiQL allows and the service does not is refused here. A function that fails has set t->err. */
#ifndef GRAMME_PARTIQL_TRANSLATE_INTERNAL_H
#define GRAMME_PARTIQL_TRANSLATE_INTERNAL_H

#include "expr/build.h"
#include "partiql/partiql.h"
#include "partiql/ql_tree_internal.h"

struct ql_translator {
    struct arena *arena;
    const struct ql_tree *tree;
    const struct value *parameters; /* as many as the tree has */
    struct expr_builder builder;
    struct err *err;
};

/* Set the error, and return false. The second one says where: " at 1:8:5". */
bool ql_refuse(const struct ql_translator *t, const char *format, ...) PRINTF_LIKE(2, 3);
bool ql_refuse_at(const struct ql_translator *t, struct ql_token token, const char *format, ...)
    PRINTF_LIKE(3, 4);

/* Literals and parameters. */
bool ql_is_value(const struct ql_node *node);
MUST_USE bool ql_value(struct ql_translator *t, const struct ql_node *node, struct value *out);
/* The struct of an INSERT as an item. */
MUST_USE bool ql_item(struct ql_translator *t, const struct ql_node *node, struct value *out);

/* Names and paths; others are refused. */
MUST_USE bool ql_path(struct ql_translator *t, const struct ql_node *node, struct expr_path *out);

/* Lower-case names of functions are compared; a quoted name is one too. */
bool ql_is_call(const struct ql_node *node, const char *name);

/* A condition; NULL on failure. */
const struct where *ql_where(struct ql_translator *t, const struct ql_node *node);
MUST_USE bool ql_changes(struct ql_translator *t, const struct ql_node *update,
                         const struct update **out);

#endif
