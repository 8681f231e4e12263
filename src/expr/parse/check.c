/* Checks a parsed expression as far as that is possible without the request: functions, reserved
 * words, indexes, repeated sections. Called by bind.c before a tree is cached. */
#include "expr/parse/reserved_internal.h"
#include "expr/parse/tree_internal.h"

/* Indexes are 32-bit signed numbers. */
#define INDEX_DIGITS_MAX 10

struct checker {
    enum tree_kind kind;
    struct str text;
    const char *parameter;
    struct err *err;
};

static bool fail(const struct checker *c, const char *what, struct str name)
{
    return err_set(c->err, ERR_VALIDATION, "Invalid %s: %s%.*s", c->parameter, what, STR_ARG(name));
}

static bool index_fits(struct str digits)
{
    int64_t index;
    return digits.len <= INDEX_DIGITS_MAX && str_to_int64(digits, &index) && index <= INT32_MAX;
}

static bool check_path(const struct checker *c, const struct node *node)
{
    for (const struct step *step = node->steps; step != NULL; step = step->next) {
        struct str text = span_str(step->span, c->text);
        if (step->kind == STEP_NAME && reserved_has(text)) {
            return fail(c, "Attribute name is a reserved keyword; reserved keyword: ", text);
        }
        if (step->kind == STEP_INDEX && !index_fits(text)) {
            return err_set(c->err, ERR_VALIDATION,
                           "Invalid %s: List index is not within the allowable range; index: "
                           "[%.*s]",
                           c->parameter, STR_ARG(text));
        }
    }
    return true;
}

static bool check_operands(const struct checker *c, const struct node *node);

/* `operand`: the call is where a value must be, not a condition. */
static bool check_call(const struct checker *c, const struct node *node, bool operand)
{
    struct str name = span_str(node->span, c->text);
    if (node->function == FUNCTION_UNKNOWN) {
        return fail(c, "Invalid function name; function: ", name);
    }
    const struct function_rule *rule = &function_rules[node->function];
    if (rule->where != c->kind) {
        return fail(c,
                    c->kind == TREE_UPDATE
                        ? "The function is not allowed in an update expression; function: "
                        : "The function is not allowed in a condition expression; function: ",
                    name);
    }
    bool alone_fits = c->kind == TREE_UPDATE || !rule->operand;
    if (operand ? !rule->operand : !alone_fits) {
        return fail(
            c,
            "The function is not allowed to be used this way in an expression; function: ", name);
    }
    return check_operands(c, node);
}

static bool check_operand(const struct checker *c, const struct node *node)
{
    switch (node->kind) {
    case NODE_PATH:
        return check_path(c, node);
    case NODE_CALL:
        return check_call(c, node, true);
    default:
        return true;
    }
}

static bool check_operands(const struct checker *c, const struct node *node)
{
    for (const struct node *operand = node->first; operand != NULL; operand = operand->next) {
        if (!check_operand(c, operand)) {
            return false;
        }
    }
    return true;
}

static bool check_condition(const struct checker *c, const struct node *node)
{
    switch (node->kind) {
    case NODE_AND:
    case NODE_OR:
        return check_condition(c, node->first) && check_condition(c, node->first->next);
    case NODE_NOT:
        return check_condition(c, node->first);
    case NODE_CALL:
        return check_call(c, node, false);
    default:
        return check_operands(c, node);
    }
}

static bool check_set_value(const struct checker *c, const struct node *value)
{
    switch (value->kind) {
    case NODE_CALL:
        return check_call(c, value, false);
    case NODE_PLUS:
    case NODE_MINUS:
        return check_operands(c, value);
    default:
        return check_operand(c, value);
    }
}

static bool check_actions(const struct checker *c, const struct tree *tree)
{
    for (const struct tree_action *action = tree->actions; action != NULL; action = action->next) {
        if (!check_path(c, action->path) ||
            (action->value != NULL && !check_set_value(c, action->value))) {
            return false;
        }
    }
    return true;
}

bool tree_check(const struct tree *tree, struct str text, const char *parameter, struct err *err)
{
    struct checker c = {.kind = tree->kind, .text = text, .parameter = parameter, .err = err};
    if (tree->condition != NULL && !check_condition(&c, tree->condition)) {
        return false;
    }
    if (!check_actions(&c, tree)) {
        return false;
    }
    if (tree->repeated_section >= 0) {
        return err_set(err, ERR_VALIDATION,
                       "Invalid %s: The \"%s\" section can only be used once in an update "
                       "expression;",
                       parameter, action_name((enum action_kind)tree->repeated_section));
    }
    return true;
}
