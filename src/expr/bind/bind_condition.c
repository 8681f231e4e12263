/* Binds conditions. Operands are bound first, left to right; then the node itself is checked:
 * number of operands, distinct operands, types. Called for condition, filter and key expressions,
 * and by build.c. Any thread. */
#include "expr/bind/bind_internal.h"

#include "base/base64.h"
#include "err/messages.h"

enum { IN_OPERANDS_MAX = 100 };

static struct condition *new_condition(const struct binder *b, enum condition_kind kind)
{
    struct condition *condition = ARENA_NEW(b->scope->arena, struct condition);
    condition->kind = kind;
    return condition;
}

/* Returns "AttributeValue: {S:x}", as messages about BETWEEN show values. */
static struct str describe_value(struct value value, struct arena *arena)
{
    enum value_type type = value_type(value);
    struct str bytes = value_bytes(value);
    char number[NUMBER_TEXT_MAX];
    if (type == VALUE_N) {
        bytes = str_make(number, number_format(bytes, number));
    } else if (type == VALUE_B) {
        char *text = arena_bytes(arena, BASE64_ENCODED_LEN(bytes.len));
        base64_encode(bytes, text);
        bytes = str_make(text, BASE64_ENCODED_LEN(bytes.len));
    }
    return arena_format(arena, MESSAGE_VALUE, value_type_name(type), STR_ARG(bytes));
}

/* Checks that the bounds of BETWEEN, if both are known, have one type and are in order. */
static bool check_bounds(const struct binder *b, const struct operand *operands)
{
    if (operands[1].kind != OPERAND_VALUE || operands[2].kind != OPERAND_VALUE) {
        return true;
    }
    struct value low = operands[1].value;
    struct value high = operands[2].value;
    bool same = value_type(low) == value_type(high);
    if (same && value_cmp(low, high) <= 0) {
        return true;
    }
    struct str low_text = describe_value(low, b->scope->arena);
    struct str high_text = describe_value(high, b->scope->arena);
    return binder_fail(b,
                       "The BETWEEN operator requires %s; lower bound operand: %.*s, upper bound "
                       "operand: %.*s",
                       same ? "upper bound to be greater than or equal to lower bound"
                            : "same data type for lower and upper bounds",
                       STR_ARG(low_text), STR_ARG(high_text));
}

static bool check_comparison(const struct binder *b, const struct node *node,
                             const struct operand *operands)
{
    bool ordered = node->kind != NODE_EQ && node->kind != NODE_NE && node->kind != NODE_IN;
    if ((ordered && !bind_check_types(b, node, operands, TYPES_ORDERED)) ||
        !bind_check_distinct(b, node, operands)) {
        return false;
    }
    if (node->kind == NODE_IN && node->operand_count - 1 > IN_OPERANDS_MAX) {
        return binder_fail(
            b,
            "The IN operator is provided with too many operands; number of operands: "
            "%zu",
            node->operand_count - 1);
    }
    return node->kind != NODE_BETWEEN || check_bounds(b, operands);
}

static struct condition *make_comparison(const struct binder *b, const struct node *node,
                                         const struct operand *operands)
{
    if (!check_comparison(b, node, operands)) {
        return NULL;
    }
    struct condition *condition =
        new_condition(b, (enum condition_kind)(CONDITION_EQ + (node->kind - NODE_EQ)));
    condition->operands = operands;
    condition->operand_count = node->operand_count;
    return condition;
}

/* The second operand of attribute_type is the name of a type, and must be a known value. The
 * service lists the types in the order of its hash table, which differs from place to place. */
static bool check_type_name(const struct binder *b, const struct node *node,
                            const struct operand *name, enum value_type *out)
{
    if (name->kind == OPERAND_PATH) {
        return bind_fail_type(b, node, "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}");
    }
    if (operand_type(name) != VALUE_S) {
        return bind_fail_type(b, node, value_type_name(operand_type(name)));
    }
    *out = value_type_from_name(value_bytes(name->value));
    if (*out == VALUE_NONE) {
        return binder_fail(b,
                           "Invalid attribute type name found; type: %.*s, valid types: "
                           "{B,NULL,SS,BOOL,L,BS,N,NS,S,M}",
                           STR_ARG(value_bytes(name->value)));
    }
    return true;
}

static bool check_call(const struct binder *b, const struct node *node,
                       const struct operand *operands, struct condition *condition)
{
    switch (node->function) {
    case FUNCTION_attribute_exists:
    case FUNCTION_attribute_not_exists:
        if (operands[0].kind != OPERAND_PATH) {
            return binder_fail(b,
                               "Operator or function requires a document path; operator or "
                               "function: %s",
                               node_name(node));
        }
        return true;
    case FUNCTION_attribute_type:
        return check_type_name(b, node, &operands[1], &condition->type);
    case FUNCTION_begins_with:
        return bind_check_types(b, node, operands, 1u << VALUE_S | 1u << VALUE_B);
    default:
        return true;
    }
}

static struct condition *make_call(const struct binder *b, const struct node *node,
                                   const struct operand *operands)
{
    static const enum condition_kind kinds[] = {
        [FUNCTION_attribute_exists] = CONDITION_EXISTS,
        [FUNCTION_attribute_not_exists] = CONDITION_NOT_EXISTS,
        [FUNCTION_attribute_type] = CONDITION_TYPE,
        [FUNCTION_begins_with] = CONDITION_BEGINS_WITH,
        [FUNCTION_contains] = CONDITION_CONTAINS,
    };
    struct condition *condition = new_condition(b, kinds[node->function]);
    if (!bind_check_count(b, node) || !bind_check_distinct(b, node, operands) ||
        !check_call(b, node, operands, condition)) {
        return NULL;
    }
    condition->operands = operands;
    condition->operand_count = node->operand_count;
    return condition;
}

struct condition *bind_test(const struct binder *binder, const struct node *node,
                            const struct operand *operands)
{
    return node->kind == NODE_CALL ? make_call(binder, node, operands)
                                   : make_comparison(binder, node, operands);
}

bool bind_condition(const struct binder *binder, const struct node *node,
                    const struct condition **out)
{
    if (node->kind != NODE_AND && node->kind != NODE_OR && node->kind != NODE_NOT) {
        struct operand *operands;
        *out = bind_operands(binder, node, &operands) ? bind_test(binder, node, operands) : NULL;
        return *out != NULL;
    }
    struct condition *condition =
        new_condition(binder, (enum condition_kind)(CONDITION_EQ + (node->kind - NODE_EQ)));
    *out = condition;
    return bind_condition(binder, node->first, &condition->left) &&
           (node->kind == NODE_NOT || bind_condition(binder, node->first->next, &condition->right));
}

bool expr_condition(struct expr_scope *scope, struct str text, const char *parameter,
                    const struct condition **out, struct err *err)
{
    struct binder binder;
    const struct condition *condition;
    if (!binder_init(&binder, scope, TREE_CONDITION, text, parameter, err) ||
        !bind_condition(&binder, binder.tree->condition, &condition) || !binder_finish(&binder)) {
        return false;
    }
    *out = condition;
    return true;
}
