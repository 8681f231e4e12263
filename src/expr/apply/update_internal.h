/* expr/apply/update_internal.h: a bound update. */
#ifndef GRAMME_EXPR_APPLY_UPDATE_INTERNAL_H
#define GRAMME_EXPR_APPLY_UPDATE_INTERNAL_H

#include "expr/bind/bind_internal.h"
#include "expr/apply/path_tree_internal.h"

struct update_action {
    enum action_kind kind;
    struct expr_path path;
    struct operand value; /* SET: any operand; ADD and DELETE: a value; REMOVE: none */
};

struct update {
    struct update_action *actions; /* in the order given */
    size_t action_count;
    struct path_node root; /* the paths as a tree; ends are numbered by action */
    bool legacy;           /* AttributeUpdates */
    bool creates;          /* creates an item if there is none: not if it only removes */
};

/* Whether the actions create an item if there is none: actions that only remove (REMOVE, DELETE) do
 * not; no actions at all do. */
MUST_USE bool update_creates(const struct update *update);

/* Adds the path of an action to the tree; fails if it clashes with another. */
MUST_USE bool bind_update_path(const struct binder *binder, struct update *update, size_t number);

#endif
