/* expr/bound/projection_internal.h: a bound projection. */
#ifndef GRAMME_EXPR_BOUND_PROJECTION_INTERNAL_H
#define GRAMME_EXPR_BOUND_PROJECTION_INTERNAL_H

#include "expr/bound/path_tree_internal.h"

struct projection {
    struct expr_path *paths;
    size_t path_count;
    struct path_node root;
};

#endif
