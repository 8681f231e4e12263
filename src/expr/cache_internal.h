/* expr/cache_internal.h: checked trees by kind and text, at most so many. */
#ifndef GRAMME_EXPR_CACHE_INTERNAL_H
#define GRAMME_EXPR_CACHE_INTERNAL_H

#include "expr/expr.h"
#include "expr/tree_internal.h"

/* NULL if the cache has none. The tree lives until the next cache_put(). */
const struct tree *cache_get(struct expr_cache *cache, enum tree_kind kind, struct str text);

/* Takes over the arena and the tree in it, which the text does not have yet; another tree may have
 * to go. */
void cache_put(struct expr_cache *cache, enum tree_kind kind, struct str text, struct arena *arena,
               const struct tree *tree);

#endif
