/* expr/bind/bind_internal.h: binding: operands of a parsed expression with the names and values of
 * a request. */
#ifndef GRAMME_EXPR_BIND_BIND_INTERNAL_H
#define GRAMME_EXPR_BIND_BIND_INTERNAL_H

#include "expr/bound/condition_internal.h"
#include "expr/bound/update_internal.h"

#define PATH_STEPS_MAX 32

/* The state of binding one expression. */
struct binder {
    struct expr_scope *scope;
    const struct tree *tree;
    struct str text;
    const char *parameter; /* for messages; NULL: they have no "Invalid ...:" in front */
    struct err *err;
};

/* Gets the tree of a text, from the cache or by parsing and checking it. Fails for empty and
 * oversized texts. The tree is valid until the next use of the scope's cache. */
MUST_USE bool binder_init(struct binder *binder, struct expr_scope *scope, enum tree_kind kind,
                          struct str text, const char *parameter, struct err *err);
/* Fails if the expression has too many operators. Must be called last, as the service checks this
 * last. */
MUST_USE bool binder_finish(const struct binder *binder);
/* Fails if there are more operators than an expression may have. */
MUST_USE bool bind_check_operators(const struct binder *binder, size_t operator_count);
/* Sets the error to "Invalid <parameter>: <text>", or to the text alone. Returns false. */
bool binder_fail(const struct binder *binder, const char *format, ...) PRINTF_LIKE(2, 3);

/* Fails if a path has too many steps. */
MUST_USE bool bind_check_steps(const struct binder *binder, size_t step_count);
/* Binds a path: replaces "#n" by names. */
MUST_USE bool bind_path(const struct binder *binder, const struct node *node,
                        struct expr_path *out);
/* Binds a value: looks up ":v". */
MUST_USE bool bind_value(const struct binder *binder, const struct node *node, struct value *out);
/* Binds one operand of any kind. */
MUST_USE bool bind_operand(const struct binder *binder, const struct node *node,
                           struct operand *out);
/* Binds all operands of a node, into an array in the scope's arena. */
MUST_USE bool bind_operands(const struct binder *binder, const struct node *node,
                            struct operand **out);

/* Makes an operand of bound operands: size(), list_append(), + or -. Checks their number and types.
 */
MUST_USE bool bind_combined(const struct binder *binder, const struct node *node,
                            const struct operand *operands, struct operand *out);

/* Fails if a function is called with a wrong number of operands. */
MUST_USE bool bind_check_count(const struct binder *binder, const struct node *node);
/* Fails if the first operand is a path that is also another operand. */
MUST_USE bool bind_check_distinct(const struct binder *binder, const struct node *node,
                                  const struct operand *operands);
/* Fails if an operand is known to have a type that is not in `allowed`, a set of 1 << value_type.
 */
MUST_USE bool bind_check_types(const struct binder *binder, const struct node *node,
                               const struct operand *operands, unsigned allowed);
/* Sets the error "Incorrect operand type ..., operand type: <type>". Returns false. */
bool bind_fail_type(const struct binder *binder, const struct node *node, const char *type);
/* Returns the type that an operand has for every item; VALUE_NONE if it depends on the item. */
enum value_type operand_type(const struct operand *operand);

/* Binds a condition. */
MUST_USE bool bind_condition(const struct binder *binder, const struct node *node,
                             const struct condition **out);
/* Makes a comparison or call of bound operands, and checks their number and types. NULL on failure,
 * with the error set. Uses only kind, function and operand_count of the node. */
struct condition *bind_test(const struct binder *binder, const struct node *node,
                            const struct operand *operands);

/* Whether the actions create an item if there is none: actions that only remove (REMOVE, DELETE) do
 * not; no actions at all do. */
MUST_USE bool update_creates(const struct update *update);
/* Adds the path of an action to the tree; fails if it clashes with another. */
MUST_USE bool bind_update_path(const struct binder *binder, struct update *update, size_t number);

#endif
