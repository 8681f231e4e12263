/* expr/build.h: bound forms made from parts, by a language with a grammar of its own (PartiQL).
 * They meet the same checks as those made from expressions, and fail with the same texts, without
 * "Invalid ConditionExpression: " before them. What is made lives in the builder's arena and
 * borrows paths and values. */
#ifndef GRAMME_EXPR_BUILD_H
#define GRAMME_EXPR_BUILD_H

#include "expr/expr.h"

struct expr_builder {
    struct expr_scope scope; /* just its arena */
    struct err *err;
};

void expr_builder_init(struct expr_builder *builder, struct arena *arena, struct err *err);
/* Refuses what has too many operators; to be asked before it is built, which recurses. */
MUST_USE bool build_check_operators(struct expr_builder *builder, size_t operator_count);

/* Refuses a path of too many steps; build_path() does so too. */
MUST_USE bool build_check_path(struct expr_builder *builder, const struct expr_path *path);

/* What conditions compare and updates write. Each function returns NULL if it refuses: err is
 * then set. */
struct operand;
const struct operand *build_path(struct expr_builder *builder, const struct expr_path *path);
const struct operand *build_value(struct expr_builder *builder, struct value value);
/* A condition as a BOOL. */
const struct operand *build_truth(struct expr_builder *builder, const struct condition *condition);

enum build_function { BUILD_SIZE, BUILD_LIST_APPEND, BUILD_PLUS, BUILD_MINUS };
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
const struct condition *build_test(struct expr_builder *builder, enum build_test test,
                                   const struct operand *const *operands, size_t count);
/* Whether the operand is of that type; no check. */
const struct condition *build_is_type(struct expr_builder *builder, const struct operand *operand,
                                      enum value_type type);
const struct condition *build_and(struct expr_builder *builder, const struct condition *left,
                                  const struct condition *right);
const struct condition *build_or(struct expr_builder *builder, const struct condition *left,
                                 const struct condition *right);
const struct condition *build_not(struct expr_builder *builder, const struct condition *condition);

enum build_action { BUILD_SET, BUILD_REMOVE, BUILD_ADD, BUILD_DELETE };

struct build_change {
    enum build_action action;
    struct expr_path path;
    const struct operand *value; /* NULL for REMOVE; a set for ADD and DELETE */
};

/* Refuses paths that overlap. */
MUST_USE bool build_update(struct expr_builder *builder, const struct build_change *changes,
                           size_t count, const struct update **out);

#endif
