/* Computes how many bytes UpdateItem's size limit charges for the actions of an update, besides the
 * new item without its key attributes and 3 bytes, and how expensive an update is. Called by
 * src/engine for each UpdateItem. Any thread. */
#include "expr/bound/update_internal.h"

enum { WRITE_COST = 19, CLEAR_COST = 2, INDEX_COST = 1, ARITHMETIC_COST = 50 };

static size_t action_overhead(const struct update_action *action)
{
    if (action->kind == ACTION_REMOVE || action->kind == ACTION_DELETE) {
        return CLEAR_COST;
    }
    size_t cost = WRITE_COST;
    if (action->kind == ACTION_SET) {
        enum operand_kind kind = action->value.kind;
        const struct expr_step *last = &action->path.steps[action->path.step_count - 1];
        cost += str_is_null(last->name) ? INDEX_COST : 0;
        cost += kind == OPERAND_PLUS || kind == OPERAND_MINUS ? ARITHMETIC_COST : 0;
    }
    return cost;
}

size_t update_overhead(const struct update *update)
{
    size_t cost = 0;
    for (size_t i = 0; i < update->action_count; i++) {
        cost += action_overhead(&update->actions[i]);
    }
    return cost;
}

enum { COPY_WEIGHT = 2 }; /* finding the targets, and writing the new item */

/* Paths of operands are looked up one by one; targets in one pass. */
size_t update_weight(const struct update *update)
{
    size_t weight = COPY_WEIGHT;
    for (size_t i = 0; i < update->action_count; i++) {
        const struct operand *value = &update->actions[i].value;
        bool is_pair = value->kind == OPERAND_PLUS || value->kind == OPERAND_MINUS ||
                       value->kind == OPERAND_LIST_APPEND || value->kind == OPERAND_IF_NOT_EXISTS;
        weight += is_pair ? 2 : 1;
        weight += update->actions[i].kind == ACTION_DELETE ? operand_value_weight(value) : 0;
    }
    return weight;
}
