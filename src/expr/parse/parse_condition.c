/* The grammar of conditions, one function per rule:
 *
 *   condition  = or
 *   or         = and { "OR" and }
 *   and        = not { "AND" not }
 *   not        = "NOT" not | primary
 *   primary    = "(" or ")" | operand comparator operand | operand "BETWEEN" operand "AND" operand
 *              | operand "IN" "(" operands | call
 *
 * "(a) = :v" and "(a = :v)" start alike, so the contents of parentheses may turn out to be an
 * operand only: the rules that can follow "(" have the parameter `bare`, which allows that. */
#include "expr/parse/parser_internal.h"

static struct node *parse_or(struct parser *p, bool bare);

static bool is_condition(const struct node *node)
{
    return node->kind != NODE_PATH && node->kind != NODE_VALUE;
}

static struct node *binary(struct parser *p, enum node_kind kind, struct node *left,
                           struct node *right)
{
    if (right == NULL) {
        return NULL;
    }
    struct node *node = parser_operator(p, kind);
    node_add_operand(node, left);
    node_add_operand(node, right);
    return node;
}

/* "BETWEEN" operand "AND" operand; the first word is consumed */
static struct node *parse_between(struct parser *p, struct node *left)
{
    struct node *node = parser_operator(p, NODE_BETWEEN);
    node_add_operand(node, left);
    struct node *low = parse_operand(p);
    if (low == NULL || !parser_expect(p, TOKEN_AND)) {
        return NULL;
    }
    node_add_operand(node, low);
    struct node *high = parse_operand(p);
    if (high == NULL) {
        return NULL;
    }
    node_add_operand(node, high);
    return node;
}

/* "IN" "(" operands; the first word is consumed */
static struct node *parse_in(struct parser *p, struct node *left)
{
    struct node *node = parser_operator(p, NODE_IN);
    node_add_operand(node, left);
    return parser_expect(p, TOKEN_OPEN) && parse_operands(p, node) ? node : NULL;
}

/* Parses what makes a condition of an operand. */
static struct node *parse_comparison(struct parser *p, struct node *left, bool bare)
{
    enum token_kind kind = p->token.kind;
    if (kind >= TOKEN_EQ && kind <= TOKEN_GE) {
        parser_take(p, kind);
        return binary(p, NODE_EQ + (kind - TOKEN_EQ), left, parse_operand(p));
    }
    if (parser_take(p, TOKEN_BETWEEN)) {
        return parse_between(p, left);
    }
    if (parser_take(p, TOKEN_IN)) {
        return parse_in(p, left);
    }
    bool alone = is_condition(left) || (bare && kind == TOKEN_CLOSE);
    return alone ? left : parser_fail(p);
}

/* "(" or ")"; the first token is consumed */
static struct node *parse_group(struct parser *p, bool bare)
{
    struct node *inner = parser_close(p, parse_or(p, true));
    if (inner == NULL) {
        return NULL;
    }
    bool operand = !is_condition(inner) || inner->kind == NODE_CALL;
    return operand ? parse_comparison(p, inner, bare) : inner;
}

static struct node *parse_primary(struct parser *p, bool bare)
{
    if (parser_take(p, TOKEN_OPEN)) {
        return parse_group(p, bare);
    }
    struct node *left = parse_operand(p);
    return left == NULL ? NULL : parse_comparison(p, left, bare);
}

static struct node *parse_not(struct parser *p, bool bare)
{
    if (!parser_take(p, TOKEN_NOT)) {
        return parse_primary(p, bare);
    }
    struct node *operand = parse_not(p, false);
    if (operand == NULL) {
        return NULL;
    }
    struct node *node = parser_operator(p, NODE_NOT);
    node_add_operand(node, operand);
    return node;
}

static struct node *parse_and(struct parser *p, bool bare)
{
    struct node *left = parse_not(p, bare);
    while (left != NULL && parser_take(p, TOKEN_AND)) {
        left = binary(p, NODE_AND, left, parse_not(p, false));
    }
    return left;
}

static struct node *parse_or(struct parser *p, bool bare)
{
    struct node *left = parse_and(p, bare);
    while (left != NULL && parser_take(p, TOKEN_OR)) {
        left = binary(p, NODE_OR, left, parse_and(p, false));
    }
    return left;
}

bool parse_condition(struct parser *p)
{
    p->tree->condition = parse_or(p, false);
    return p->tree->condition != NULL;
}
