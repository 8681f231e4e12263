/* expr/parse/cache_internal.h: look-up of parsed and checked expressions by kind and text. */
#ifndef GRAMME_EXPR_PARSE_CACHE_INTERNAL_H
#define GRAMME_EXPR_PARSE_CACHE_INTERNAL_H

#include "expr/expr.h"
#include "expr/parse/tree_internal.h"

/* Returns the tree of a text, or NULL. It is valid until the next cache_put(). */
const struct tree *cache_get(struct expr_cache *cache, enum tree_kind kind, struct str text);

/* Adds a tree; the text must not be in the cache. Takes ownership of the arena and the tree in it.
 * May evict another tree. */
void cache_put(struct expr_cache *cache, enum tree_kind kind, struct str text, struct arena *arena,
               const struct tree *tree);

#endif
