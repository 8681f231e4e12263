/* Evaluates conditions against items. Allocates nothing: values are compared where they are, and
 * the number that size() makes is on the stack. Called by the engine on the committer thread for
 * conditions of writes, on any thread for filters. */
#include "expr/bound/condition_internal.h"

#include "base/utf8.h"

/* Room for a number computed during evaluation. */
struct scratch {
    uint8_t bytes[VALUE_NUMBER_MAX];
};

/* Computes size(): strings in UTF-16 code units, as Java counts; binaries in bytes; containers in
 * elements. */
static struct value size_of(struct value value, struct scratch *scratch)
{
    size_t size;
    switch (value_type(value)) {
    case VALUE_S:
        size = utf8_utf16_len(value_bytes(value));
        break;
    case VALUE_B:
        size = value_bytes(value).len;
        break;
    case VALUE_SS:
    case VALUE_NS:
    case VALUE_BS:
    case VALUE_M:
    case VALUE_L:
        size = value_count(value);
        break;
    default:
        return VALUE_ABSENT;
    }
    struct number number;
    number_from_int64((int64_t)size, &number);
    return value_from_number(&number, scratch->bytes);
}

static struct value truth_of(const struct condition *condition, struct value item)
{
    static const uint8_t truths[] = {VALUE_BOOL, VALUE_BOOL | VALUE_FLAG};
    return (struct value){&truths[condition_holds(condition, item)], 1};
}

static struct value operand_get(const struct operand *operand, struct value item,
                                struct scratch *scratch)
{
    switch (operand->kind) {
    case OPERAND_PATH:
        return expr_path_get(&operand->path, item);
    case OPERAND_SIZE:
        return size_of(operand_get(operand->operands, item, scratch), scratch);
    case OPERAND_TRUTH:
        return truth_of(operand->condition, item);
    default:
        return operand->value;
    }
}

/* Whether the two values have an order. */
static bool are_ordered(struct value a, struct value b)
{
    return value_type(a) == value_type(b) && (TYPES_ORDERED & 1u << value_type(a)) != 0;
}

static bool compare(enum condition_kind kind, struct value a, struct value b)
{
    if (value_is_absent(a) || value_is_absent(b)) {
        return kind == CONDITION_NE;
    }
    if (kind == CONDITION_EQ || kind == CONDITION_NE || kind == CONDITION_DIFFERS) {
        return value_eq(a, b) == (kind == CONDITION_EQ);
    }
    if (!are_ordered(a, b)) {
        return false;
    }
    int order = value_cmp(a, b);
    switch (kind) {
    case CONDITION_LT:
        return order < 0;
    case CONDITION_LE:
        return order <= 0;
    case CONDITION_GT:
        return order > 0;
    default:
        return order >= 0;
    }
}

/* Whether `part` is a substring of a string, a sub-sequence of a binary, or a member of a set or
 * list. */
static bool contains(struct value whole, struct value part)
{
    enum value_type type = value_type(whole);
    if (value_is_absent(part)) {
        return false;
    }
    switch (type) {
    case VALUE_S:
    case VALUE_B:
        return value_type(part) == type && str_contains(value_bytes(whole), value_bytes(part));
    case VALUE_SS:
    case VALUE_NS:
    case VALUE_BS:
    case VALUE_L:
        return value_has_element(whole, part);
    default:
        return false;
    }
}

static bool begins_with(struct value whole, struct value prefix)
{
    enum value_type type = value_type(whole);
    return (type == VALUE_S || type == VALUE_B) && value_type(prefix) == type &&
           str_starts_with(value_bytes(whole), value_bytes(prefix));
}

static bool is_between(const struct condition *c, struct value item)
{
    struct scratch value_room;
    struct scratch bound_room;
    struct value value = operand_get(&c->operands[0], item, &value_room);
    struct value low = operand_get(&c->operands[1], item, &bound_room);
    if (!compare(CONDITION_GE, value, low)) {
        return false;
    }
    struct value high = operand_get(&c->operands[2], item, &bound_room);
    return compare(CONDITION_LE, value, high);
}

static bool is_in(const struct condition *c, struct value item)
{
    struct scratch value_room;
    struct scratch other_room;
    struct value value = operand_get(&c->operands[0], item, &value_room);
    for (size_t i = 1; i < c->operand_count; i++) {
        if (compare(CONDITION_EQ, value, operand_get(&c->operands[i], item, &other_room))) {
            return true;
        }
    }
    return false;
}

static bool two_operands_hold(const struct condition *c, struct value item)
{
    struct scratch room[2];
    struct value a = operand_get(&c->operands[0], item, &room[0]);
    struct value b = operand_get(&c->operands[1], item, &room[1]);
    switch (c->kind) {
    case CONDITION_BEGINS_WITH:
        return begins_with(a, b);
    case CONDITION_CONTAINS:
        return contains(a, b);
    case CONDITION_NOT_CONTAINS:
        return !value_is_absent(a) && !contains(a, b);
    default:
        return compare(c->kind, a, b);
    }
}

static bool is_of_type(const struct condition *c, struct value item)
{
    struct scratch room;
    return value_type(operand_get(&c->operands[0], item, &room)) == c->type;
}

bool condition_holds(const struct condition *condition, struct value item)
{
    const struct condition *c = condition;
    switch (c->kind) {
    case CONDITION_AND:
        return condition_holds(c->left, item) && condition_holds(c->right, item);
    case CONDITION_OR:
        return condition_holds(c->left, item) || condition_holds(c->right, item);
    case CONDITION_NOT:
        return !condition_holds(c->left, item);
    case CONDITION_EXISTS:
        return !value_is_absent(expr_path_get(&c->operands[0].path, item));
    case CONDITION_NOT_EXISTS:
        return value_is_absent(expr_path_get(&c->operands[0].path, item));
    case CONDITION_BETWEEN:
        return is_between(c, item);
    case CONDITION_IN:
        return is_in(c, item);
    case CONDITION_TYPE:
        return is_of_type(c, item);
    default:
        return two_operands_hold(c, item);
    }
}

/* Searching a byte takes this many times as long as skipping it. */
enum { SEARCH_WEIGHT = 8 };

static size_t operand_weight(const struct operand *operand)
{
    size_t weight = 1;
    for (; operand->kind == OPERAND_SIZE; operand = operand->operands) {
        weight += 1 + operand_value_weight(operand->operands);
    }
    return operand->kind == OPERAND_TRUTH ? weight + condition_weight(operand->condition) : weight;
}

size_t condition_weight(const struct condition *condition)
{
    bool searches =
        condition->kind == CONDITION_CONTAINS || condition->kind == CONDITION_NOT_CONTAINS;
    bool of_constant = condition->operand_count > 0 && condition->operands[0].kind == OPERAND_VALUE;
    size_t weight = searches ? SEARCH_WEIGHT * (1 + operand_value_weight(condition->operands)) : 0;
    if (condition->left != NULL) {
        weight += condition_weight(condition->left);
    }
    if (condition->right != NULL) {
        weight += condition_weight(condition->right);
    }
    for (size_t i = 0; i < condition->operand_count; i++) {
        weight += operand_weight(&condition->operands[i]);
        weight += of_constant ? operand_value_weight(&condition->operands[i]) : 0;
    }
    return weight;
}

void condition_visit_paths(const struct condition *condition,
                           void (*visit)(void *context, const struct expr_path *path),
                           void *context)
{
    if (condition->left != NULL) {
        condition_visit_paths(condition->left, visit, context);
    }
    if (condition->right != NULL) {
        condition_visit_paths(condition->right, visit, context);
    }
    for (size_t i = 0; i < condition->operand_count; i++) {
        const struct operand *operand = &condition->operands[i];
        while (operand->kind == OPERAND_SIZE) {
            operand = operand->operands;
        }
        if (operand->kind == OPERAND_PATH) {
            visit(context, &operand->path);
        } else if (operand->kind == OPERAND_TRUTH) {
            condition_visit_paths(operand->condition, visit, context);
        }
    }
}
