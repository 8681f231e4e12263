/* What UpdateItem's size limit charges for the actions of an update. Two published measurements of
 * the service exist. The first charges a flat sum for each action on top of the new item without
 * its key and 3 bytes. The second, finer one charges for what the request says and leaves the
 * stored item out; where an update writes all but the key of an item, the two agree.
 * AttributeUpdates are not charged at all. */
#include "expr/update_internal.h"

enum { BASE_COST = 3, WRITE_COST = 19 };

/* --- the first: update_overhead() --- */

enum { CLEAR_COST = 2, INDEX_COST = 1, ARITHMETIC_COST = 50 };

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
    if (update->legacy) {
        return 0;
    }
    size_t cost = 0;
    for (size_t i = 0; i < update->action_count; i++) {
        cost += action_overhead(&update->actions[i]);
    }
    return cost;
}

/* --- the second: update_charge() --- */

/* An element is a name's bytes or an index's digits. */
static size_t element_cost(const struct expr_step *step)
{
    if (!str_is_null(step->name)) {
        return step->name.len;
    }
    size_t digits = 1;
    for (uint32_t rest = step->index; rest >= 10; rest /= 10) {
        digits++;
    }
    return digits;
}

static size_t path_cost(const struct expr_path *path, size_t for_first, size_t for_each)
{
    size_t cost = for_first;
    for (size_t i = 0; i < path->step_count; i++) {
        cost += (i == 0 ? 0 : for_each) + element_cost(&path->steps[i]);
    }
    return cost;
}

static size_t operand_cost(const struct operand *operand)
{
    static const size_t costs[] = {
        [OPERAND_PLUS] = 34,
        [OPERAND_MINUS] = 37,
        [OPERAND_IF_NOT_EXISTS] = 39,
        [OPERAND_LIST_APPEND] = 37,
    };
    if (operand->kind == OPERAND_PATH) {
        return path_cost(&operand->path, 15, 14);
    }
    if (operand->kind == OPERAND_VALUE) {
        return value_size(operand->value);
    }
    return costs[operand->kind] + operand_cost(&operand->operands[0]) +
           operand_cost(&operand->operands[1]);
}

size_t update_charge(const struct update *update)
{
    if (update->legacy) {
        return 0;
    }
    size_t cost = BASE_COST;
    for (size_t i = 0; i < update->action_count; i++) {
        const struct update_action *action = &update->actions[i];
        bool writes = action->kind == ACTION_SET || action->kind == ACTION_ADD;
        cost += path_cost(&action->path, writes ? WRITE_COST : 1, 4);
        cost += writes ? operand_cost(&action->value) : 0;
    }
    return cost;
}
