/* Names of nodes for messages, and dumps of trees for tests. */
#include "expr/parse/tree_internal.h"

#include "base/buf.h"

#define IN_CONDITION TREE_CONDITION
#define IN_UPDATE    TREE_UPDATE
#define OPERAND      true
#define ALONE        false
#define FUNCTION(name_, operands_, where_, role_)                                                  \
    {.name = #name_, .operand_count = (operands_), .where = (where_), .operand = (role_)},
const struct function_rule function_rules[FUNCTION_UNKNOWN] = {
#include "expr/parse/functions.def"
};
#undef FUNCTION
#undef ALONE
#undef OPERAND
#undef IN_UPDATE
#undef IN_CONDITION

const char *node_name(const struct node *node)
{
    static const char *const names[] = {
        [NODE_EQ] = "=",    [NODE_NE] = "<>",   [NODE_LT] = "<",    [NODE_LE] = "<=",
        [NODE_GT] = ">",    [NODE_GE] = ">=",   [NODE_IN] = "IN",   [NODE_BETWEEN] = "BETWEEN",
        [NODE_OR] = "OR",   [NODE_AND] = "AND", [NODE_NOT] = "NOT", [NODE_PLUS] = "+",
        [NODE_MINUS] = "-",
    };
    if (node->kind == NODE_CALL) {
        return function_rules[node->function].name;
    }
    return names[node->kind];
}

const char *action_name(enum action_kind kind)
{
    static const char *const names[] = {
        [ACTION_SET] = "SET",
        [ACTION_REMOVE] = "REMOVE",
        [ACTION_ADD] = "ADD",
        [ACTION_DELETE] = "DELETE",
    };
    return names[kind];
}

/* --- dump --- */

static void dump_path(struct buf *buf, const struct node *node, struct str text)
{
    for (const struct step *step = node->steps; step != NULL; step = step->next) {
        if (step->kind == STEP_INDEX) {
            buf_format(buf, "[%.*s]", STR_ARG(span_str(step->span, text)));
        } else {
            buf_format(buf, "%s%.*s", step == node->steps ? "" : ".",
                       STR_ARG(span_str(step->span, text)));
        }
    }
}

static void dump_word(struct buf *buf, const char *word)
{
    for (; *word != '\0'; word++) {
        buf_add_char(buf, *word >= 'A' && *word <= 'Z' ? (char)(*word - 'A' + 'a') : *word);
    }
}

static void dump_node(struct buf *buf, const struct node *node, struct str text)
{
    if (node->kind == NODE_PATH) {
        dump_path(buf, node, text);
        return;
    }
    if (node->kind == NODE_VALUE) {
        buf_add(buf, span_str(node->span, text));
        return;
    }
    buf_add_char(buf, '(');
    if (node->kind == NODE_CALL) {
        buf_add(buf, span_str(node->span, text));
    } else {
        dump_word(buf, node_name(node));
    }
    for (const struct node *operand = node->first; operand != NULL; operand = operand->next) {
        buf_add_char(buf, ' ');
        dump_node(buf, operand, text);
    }
    buf_add_char(buf, ')');
}

/* Writes "(set a :v)"; only the path in a projection. */
static void dump_action(struct buf *buf, const struct tree_action *action, struct str text)
{
    if (action->kind == ACTION_PROJECT) {
        dump_node(buf, action->path, text);
        return;
    }
    buf_add_char(buf, '(');
    dump_word(buf, action_name(action->kind));
    buf_add_char(buf, ' ');
    dump_node(buf, action->path, text);
    if (action->value != NULL) {
        buf_add_char(buf, ' ');
        dump_node(buf, action->value, text);
    }
    buf_add_char(buf, ')');
}

struct str tree_dump(const struct tree *tree, struct str text, struct arena *arena)
{
    struct buf buf = {0};
    if (tree->condition != NULL) {
        dump_node(&buf, tree->condition, text);
    }
    for (const struct tree_action *action = tree->actions; action != NULL; action = action->next) {
        if (action != tree->actions) {
            buf_add_char(&buf, ' ');
        }
        dump_action(&buf, action, text);
    }
    struct str copy = arena_copy(arena, buf_str(&buf));
    buf_finish(&buf);
    return copy;
}
