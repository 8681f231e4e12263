/* expr/bound/path_tree_internal.h: a tree of document paths, so that one pass over an item serves
 * all of them. No path in it is a prefix of another. */
#ifndef GRAMME_EXPR_BOUND_PATH_TREE_INTERNAL_H
#define GRAMME_EXPR_BOUND_PATH_TREE_INTERNAL_H

#include "expr/expr.h"

/* A position in the item. Its children are all names, in byte order, or all indexes, ascending. */
struct path_node {
    struct expr_step step;
    struct path_node *children;
    struct path_node *next; /* the next child of the same parent */
    struct path_node *top;  /* the search tree of the children: its root */
    struct path_node *left; /* in the search tree of the parent's children */
    struct path_node *right;
    int level;                    /* likewise: leaves have 1 */
    const struct expr_path *path; /* the first path that was added here */
    size_t number;                /* at the end of a path: the number given to path_tree_add() */
};

/* Whether a path ends here. False for the root. */
static inline bool path_node_is_end(const struct path_node *node)
{
    return node->children == NULL;
}

enum path_clash { PATH_FITS, PATH_OVERLAPS, PATH_CONFLICTS };

/* Adds a path (borrowed) to the tree. If it clashes with one in the tree, *out_other is that one
 * and the tree is unusable. Overlapping: one is a prefix of the other or equal to it. Conflicting:
 * one uses as a list what the other uses as a map. */
enum path_clash path_tree_add(struct path_node *root, const struct expr_path *path, size_t number,
                              struct arena *arena, const struct expr_path **out_other);

/* Whether two paths are equal. */
bool path_eq(const struct expr_path *a, const struct expr_path *b);
/* Returns "[a, [2], b]", as messages show a path. */
struct str path_describe(const struct expr_path *path, struct arena *arena);

/* Adds the parts of the item that the tree names to an open map of the builder. Returns the number
 * of entries added. */
uint32_t path_tree_project(const struct path_node *root, struct value item,
                           struct builder *builder);

#endif
