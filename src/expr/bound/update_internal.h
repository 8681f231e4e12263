/* expr/bound/update_internal.h: a bound update. */
#ifndef GRAMME_EXPR_BOUND_UPDATE_INTERNAL_H
#define GRAMME_EXPR_BOUND_UPDATE_INTERNAL_H

#include "expr/bound/operand_internal.h"
#include "expr/bound/path_tree_internal.h"
#include "expr/parse/tree_internal.h"

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

#endif
