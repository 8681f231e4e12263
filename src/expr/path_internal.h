/* expr/path_internal.h: many document paths as one tree, so that one walk over an item serves them
 * all. No path in it is part of another. */
#ifndef GRAMME_EXPR_PATH_INTERNAL_H
#define GRAMME_EXPR_PATH_INTERNAL_H

#include "expr/expr.h"

/* A place in the item. Its children are all names, in byte order, or all indexes, ascending. */
struct path_node {
    struct expr_step step;
    struct path_node *children;
    struct path_node *next;       /* the next child of the same parent */
    const struct expr_path *path; /* the first path that came by */
    size_t number;                /* at the end of a path: the one given to path_tree_add() */
};

/* A root has children only. */
static inline bool path_node_is_end(const struct path_node *node)
{
    return node->children == NULL;
}

enum path_clash { PATH_FITS, PATH_OVERLAPS, PATH_CONFLICTS };

/* Adds a path (borrowed) to the tree. If it clashes with one that is there, *out_other is that
 * one and the tree is unfit for use: overlapping is to be part of another or the same, conflicting
 * is to take for a list what another takes for a map. */
enum path_clash path_tree_add(struct path_node *root, const struct expr_path *path, size_t number,
                              struct arena *arena, const struct expr_path **out_other);

bool path_eq(const struct expr_path *a, const struct expr_path *b);
/* "[a, [2], b]", as the texts of errors have it. */
struct str path_describe(const struct expr_path *path, struct arena *arena);

/* Adds the parts of the item that the tree names to an open map of the builder; returns how many
 * entries it got. */
uint32_t path_tree_project(const struct path_node *root, struct value item,
                           struct builder *builder);

#endif
