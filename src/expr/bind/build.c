/* Makes bound conditions and updates from parts. Called by src/partiql while it translates a
 * statement. */
#include "expr/build.h"

#include "expr/bind/bind_internal.h"

void expr_builder_init(struct expr_builder *builder, struct arena *arena, struct err *err)
{
    *builder = (struct expr_builder){.scope = {.arena = arena}, .err = err};
}

static struct binder binder_of(struct expr_builder *builder)
{
    return (struct binder){.scope = &builder->scope, .err = builder->err};
}

bool build_check_operators(struct expr_builder *builder, size_t operator_count)
{
    struct binder binder = binder_of(builder);
    return bind_check_operators(&binder, operator_count);
}

/* --- operands --- */

static struct operand *new_operand(struct expr_builder *builder, enum operand_kind kind)
{
    struct operand *operand = ARENA_NEW(builder->scope.arena, struct operand);
    operand->kind = kind;
    return operand;
}

bool build_check_path(struct expr_builder *builder, const struct expr_path *path)
{
    struct binder binder = binder_of(builder);
    return bind_check_steps(&binder, path->step_count);
}

const struct operand *build_path(struct expr_builder *builder, const struct expr_path *path)
{
    if (!build_check_path(builder, path)) {
        return NULL;
    }
    struct operand *operand = new_operand(builder, OPERAND_PATH);
    operand->path = *path;
    return operand;
}

const struct operand *build_value(struct expr_builder *builder, struct value value)
{
    struct operand *operand = new_operand(builder, OPERAND_VALUE);
    operand->value = value;
    return operand;
}

const struct operand *build_truth(struct expr_builder *builder, const struct condition *condition)
{
    struct operand *operand = new_operand(builder, OPERAND_TRUTH);
    operand->condition = condition;
    return operand;
}

/* Copies operands into an array, as bound conditions have them. */
static struct operand *join(struct expr_builder *builder, const struct operand *const *operands,
                            size_t count)
{
    struct operand *joined = ARENA_ARRAY(builder->scope.arena, struct operand, count);
    for (size_t i = 0; i < count; i++) {
        joined[i] = *operands[i];
    }
    return joined;
}

const struct operand *build_operand(struct expr_builder *builder, enum build_function function,
                                    const struct operand *const *operands, size_t count)
{
    static const struct node nodes[] = {
        [BUILD_SIZE] = {.kind = NODE_CALL, .function = FUNCTION_size},
        [BUILD_LIST_APPEND] = {.kind = NODE_CALL, .function = FUNCTION_list_append},
        [BUILD_PLUS] = {.kind = NODE_PLUS},
        [BUILD_MINUS] = {.kind = NODE_MINUS},
    };
    struct binder binder = binder_of(builder);
    struct node node = nodes[function];
    node.operand_count = count;
    struct operand *operand = ARENA_NEW(builder->scope.arena, struct operand);
    return bind_combined(&binder, &node, join(builder, operands, count), operand) ? operand : NULL;
}

/* --- conditions --- */

const struct condition *build_test(struct expr_builder *builder, enum build_test test,
                                   const struct operand *const *operands, size_t count)
{
    static const struct node nodes[] = {
        [BUILD_EQ] = {.kind = NODE_EQ},
        [BUILD_DIFFERS] = {.kind = NODE_NE},
        [BUILD_LT] = {.kind = NODE_LT},
        [BUILD_LE] = {.kind = NODE_LE},
        [BUILD_GT] = {.kind = NODE_GT},
        [BUILD_GE] = {.kind = NODE_GE},
        [BUILD_BETWEEN] = {.kind = NODE_BETWEEN},
        [BUILD_IN] = {.kind = NODE_IN},
        [BUILD_EXISTS] = {.kind = NODE_CALL, .function = FUNCTION_attribute_exists},
        [BUILD_NOT_EXISTS] = {.kind = NODE_CALL, .function = FUNCTION_attribute_not_exists},
        [BUILD_TYPE] = {.kind = NODE_CALL, .function = FUNCTION_attribute_type},
        [BUILD_BEGINS_WITH] = {.kind = NODE_CALL, .function = FUNCTION_begins_with},
        [BUILD_CONTAINS] = {.kind = NODE_CALL, .function = FUNCTION_contains},
    };
    struct binder binder = binder_of(builder);
    struct node node = nodes[test];
    node.operand_count = count;
    struct condition *condition = bind_test(&binder, &node, join(builder, operands, count));
    if (condition != NULL && test == BUILD_DIFFERS) {
        condition->kind = CONDITION_DIFFERS;
    }
    return condition;
}

const struct condition *build_is_type(struct expr_builder *builder, const struct operand *operand,
                                      enum value_type type)
{
    struct condition *condition = ARENA_NEW(builder->scope.arena, struct condition);
    *condition = (struct condition){
        .kind = CONDITION_TYPE, .operands = operand, .operand_count = 1, .type = type};
    return condition;
}

static const struct condition *combine(struct expr_builder *builder, enum condition_kind kind,
                                       const struct condition *left, const struct condition *right)
{
    struct condition *condition = ARENA_NEW(builder->scope.arena, struct condition);
    *condition = (struct condition){.kind = kind, .left = left, .right = right};
    return condition;
}

const struct condition *build_and(struct expr_builder *builder, const struct condition *left,
                                  const struct condition *right)
{
    return combine(builder, CONDITION_AND, left, right);
}

const struct condition *build_or(struct expr_builder *builder, const struct condition *left,
                                 const struct condition *right)
{
    return combine(builder, CONDITION_OR, left, right);
}

const struct condition *build_not(struct expr_builder *builder, const struct condition *condition)
{
    return combine(builder, CONDITION_NOT, condition, NULL);
}

/* --- updates --- */

bool build_update(struct expr_builder *builder, const struct build_change *changes, size_t count,
                  const struct update **out)
{
    static const enum action_kind kinds[] = {
        [BUILD_SET] = ACTION_SET,
        [BUILD_REMOVE] = ACTION_REMOVE,
        [BUILD_ADD] = ACTION_ADD,
        [BUILD_DELETE] = ACTION_DELETE,
    };
    struct binder binder = binder_of(builder);
    struct update *update = ARENA_NEW(builder->scope.arena, struct update);
    update->action_count = count;
    update->actions = ARENA_ARRAY(builder->scope.arena, struct update_action, count);
    for (size_t i = count; i-- > 0;) {
        struct update_action *action = &update->actions[i];
        action->kind = kinds[changes[i].action];
        action->path = changes[i].path;
        if (changes[i].value != NULL) {
            action->value = *changes[i].value;
        }
        if (!bind_check_steps(&binder, action->path.step_count) ||
            !bind_update_path(&binder, update, i)) {
            return false;
        }
    }
    update->creates = update_creates(update);
    *out = update;
    return true;
}
