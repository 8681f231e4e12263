/* expr/build.h: makes bound conditions and updates from parts, for a language with a grammar of its
 * own (PartiQL). They get the same checks as those made from expressions, and the same messages
 * without "Invalid ConditionExpression: " in front. Everything is allocated from the builder's
 * arena and borrows paths and values. */
#ifndef GRAMME_EXPR_BUILD_H
#define GRAMME_EXPR_BUILD_H

#include "expr/expr.h"

struct expr_builder {
    struct expr_scope scope; /* only its arena is set */
    struct err *err;
};

/* Starts a builder in the caller's memory. Failures are reported in `err`. */
void expr_builder_init(struct expr_builder *builder, struct arena *arena, struct err *err);
/* Fails if there are too many operators. Call it before building, which recurses. */
MUST_USE bool build_check_operators(struct expr_builder *builder, size_t operator_count);

/* Fails if a path has too many steps; build_path() checks this, too. */
MUST_USE bool build_check_path(struct expr_builder *builder, const struct expr_path *path);

/* A part of a condition or update. The functions that make one return NULL on failure, with err
 * set. */
struct operand;
/* Makes an operand of a path. */
const struct operand *build_path(struct expr_builder *builder, const struct expr_path *path);
/* Makes an operand of a value. */
const struct operand *build_value(struct expr_builder *builder, struct value value);
/* Makes an operand of a condition: a BOOL. */
const struct operand *build_truth(struct expr_builder *builder, const struct condition *condition);

enum build_function { BUILD_SIZE, BUILD_LIST_APPEND, BUILD_PLUS, BUILD_MINUS };
/* Makes an operand of a function of operands. */
const struct operand *build_operand(struct expr_builder *builder, enum build_function function,
                                    const struct operand *const *operands, size_t count);

/* BUILD_DIFFERS is false for an absent attribute, unlike "<>" in an expression. */
enum build_test {
    BUILD_EQ,
    BUILD_DIFFERS,
    BUILD_LT,
    BUILD_LE,
    BUILD_GT,
    BUILD_GE,
    BUILD_BETWEEN,
    BUILD_IN,
    BUILD_EXISTS,
    BUILD_NOT_EXISTS,
    BUILD_TYPE,
    BUILD_BEGINS_WITH,
    BUILD_CONTAINS,
};
/* Makes a condition that compares operands. NULL on failure, with err set. */
const struct condition *build_test(struct expr_builder *builder, enum build_test test,
                                   const struct operand *const *operands, size_t count);
/* Makes a condition that tests the type of an operand. Never fails. */
const struct condition *build_is_type(struct expr_builder *builder, const struct operand *operand,
                                      enum value_type type);
/* Joins two conditions by AND. */
const struct condition *build_and(struct expr_builder *builder, const struct condition *left,
                                  const struct condition *right);
/* Joins two conditions by OR. */
const struct condition *build_or(struct expr_builder *builder, const struct condition *left,
                                 const struct condition *right);
/* Negates a condition. */
const struct condition *build_not(struct expr_builder *builder, const struct condition *condition);

enum build_action { BUILD_SET, BUILD_REMOVE, BUILD_ADD, BUILD_DELETE };

struct build_change {
    enum build_action action;
    struct expr_path path;
    const struct operand *value; /* NULL for REMOVE; a set for ADD and DELETE */
};

/* Makes an update of changes. Fails if paths overlap. */
MUST_USE bool build_update(struct expr_builder *builder, const struct build_change *changes,
                           size_t count, const struct update **out);

#endif
