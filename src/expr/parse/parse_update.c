/* The grammar of updates and projections, one function per rule:
 *
 *   update     = section { section }
 *   section    = "SET" set { "," set } | "REMOVE" path { "," path }
 *              | "ADD" change { "," change } | "DELETE" change { "," change }
 *   set        = path "=" value
 *   value      = "(" value ")" | operand [ ( "+" | "-" ) operand ]
 *   change     = path VALUE_REF
 *   projection = path { "," path } */
#include "expr/parse/parser_internal.h"

/* A list in the order of the text; `last` is where the next entry is appended. */
struct list {
    struct tree_action **last;
    unsigned sections; /* a bit per kind that was seen */
};

static bool is_arithmetic(const struct node *node)
{
    return node->kind == NODE_PLUS || node->kind == NODE_MINUS;
}

static struct node *parse_set_value(struct parser *p);

/* Parses the left side of + or -, or the whole value: "(" can start either. */
static struct node *parse_left(struct parser *p)
{
    return parser_take(p, TOKEN_OPEN) ? parser_close(p, parse_set_value(p)) : parse_operand(p);
}

static struct node *parse_set_value(struct parser *p)
{
    struct node *left = parse_left(p);
    bool plus = p->token.kind == TOKEN_PLUS;
    if (left == NULL || is_arithmetic(left) || (!plus && p->token.kind != TOKEN_MINUS)) {
        return left;
    }
    parser_take(p, p->token.kind);
    struct node *node = parser_operator(p, plus ? NODE_PLUS : NODE_MINUS);
    struct node *right = parse_operand(p);
    if (right == NULL) {
        return NULL;
    }
    node_add_operand(node, left);
    node_add_operand(node, right);
    return node;
}

/* Parses the value of a change: a placeholder. */
static struct node *parse_value_ref(struct parser *p)
{
    struct span span = p->token.span;
    if (!parser_expect(p, TOKEN_VALUE_REF)) {
        return NULL;
    }
    struct node *node = parser_node(p, NODE_VALUE);
    node->span = span;
    return node;
}

static bool parse_action_value(struct parser *p, struct tree_action *action)
{
    switch (action->kind) {
    case ACTION_SET:
        action->value = parser_expect(p, TOKEN_EQ) ? parse_set_value(p) : NULL;
        return action->value != NULL;
    case ACTION_ADD:
    case ACTION_DELETE:
        action->value = parse_value_ref(p);
        return action->value != NULL;
    case ACTION_REMOVE:
    case ACTION_PROJECT:
        break;
    }
    return true;
}

/* action { "," action } */
static bool parse_actions(struct parser *p, struct list *list, enum action_kind kind)
{
    do {
        struct tree_action *action = ARENA_NEW(p->arena, struct tree_action);
        action->kind = kind;
        action->path = parse_path(p);
        if (action->path == NULL || !parse_action_value(p, action)) {
            return false;
        }
        *list->last = action;
        list->last = &action->next;
        p->tree->action_count++;
    } while (parser_take(p, TOKEN_COMMA));
    return true;
}

static bool take_section(struct parser *p, enum action_kind *out)
{
    static const enum token_kind words[] = {
        [ACTION_SET] = TOKEN_SET,
        [ACTION_REMOVE] = TOKEN_REMOVE,
        [ACTION_ADD] = TOKEN_ADD,
        [ACTION_DELETE] = TOKEN_DELETE,
    };
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (parser_take(p, words[i])) {
            *out = (enum action_kind)i;
            return true;
        }
    }
    return false;
}

static void note_section(struct parser *p, struct list *list, enum action_kind kind)
{
    if ((list->sections & 1u << kind) != 0 && p->tree->repeated_section < 0) {
        p->tree->repeated_section = kind;
    }
    list->sections |= 1u << kind;
}

bool parse_update(struct parser *p)
{
    struct list list = {.last = &p->tree->actions};
    enum action_kind kind;
    if (!take_section(p, &kind)) {
        return parser_fail(p) != NULL;
    }
    do {
        note_section(p, &list, kind);
        if (!parse_actions(p, &list, kind)) {
            return false;
        }
    } while (take_section(p, &kind));
    return true;
}

bool parse_projection(struct parser *p)
{
    struct list list = {.last = &p->tree->actions};
    return parse_actions(p, &list, ACTION_PROJECT);
}
