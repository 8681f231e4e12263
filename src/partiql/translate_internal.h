/* partiql/translate_internal.h: translation of a parsed statement to values and bound expressions.
 * Parts of PartiQL that DynamoDB does not support are refused here. A function that fails sets
 * t->err. */
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

/* Sets the error. Returns false. */
bool ql_refuse(const struct ql_translator *t, const char *format, ...) PRINTF_LIKE(2, 3);
/* The same with the position of a token: " at 1:8:5". */
bool ql_refuse_at(const struct ql_translator *t, struct ql_token token, const char *format, ...)
    PRINTF_LIKE(3, 4);

/* Whether the node is a literal or a parameter. */
bool ql_is_value(const struct ql_node *node);
/* Translates a literal or parameter. */
MUST_USE bool ql_value(struct ql_translator *t, const struct ql_node *node, struct value *out);
/* Translates the struct of an INSERT to an item. */
MUST_USE bool ql_item(struct ql_translator *t, const struct ql_node *node, struct value *out);

/* Translates a name or path; fails for other nodes. */
MUST_USE bool ql_path(struct ql_translator *t, const struct ql_node *node, struct expr_path *out);

/* Fills in out->by_path. */
void ql_sort_columns(struct ql_translator *t, struct statement *out);

/* Whether the node calls the function; `name` is in lower case, the node's name is compared without
 * case. */
bool ql_is_call(const struct ql_node *node, const char *name);

/* Translates a condition; NULL on failure. */
const struct where *ql_where(struct ql_translator *t, const struct ql_node *node);
/* Translates SET and REMOVE. */
MUST_USE bool ql_changes(struct ql_translator *t, const struct ql_node *update,
                         const struct update **out);

#endif
