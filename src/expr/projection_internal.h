/* expr/projection_internal.h: a bound projection. */
#ifndef GRAMME_EXPR_PROJECTION_INTERNAL_H
#define GRAMME_EXPR_PROJECTION_INTERNAL_H

#include "expr/path_internal.h"

struct projection {
    struct expr_path *paths;
    size_t path_count;
    struct path_node root;
};

#endif
