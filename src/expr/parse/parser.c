/* Grammar rules that all expressions share, and the messages of syntax errors. The service names
 * the token that no rule accepts and shows it between its neighbours: token: "b", near: ":v b =".
 */
#include "expr/parse/parser_internal.h"

static void advance(struct parser *p)
{
    p->previous = p->token;
    p->token = lexer_next(p->text, (size_t)p->token.span.at + p->token.span.len);
}

bool parser_take(struct parser *p, enum token_kind kind)
{
    if (p->token.kind != kind) {
        return false;
    }
    advance(p);
    return true;
}

bool parser_expect(struct parser *p, enum token_kind kind)
{
    return parser_take(p, kind) || parser_fail(p) != NULL;
}

/* Returns the text from the previous token to the next one, or to the end of the text. */
static struct str near(const struct parser *p)
{
    size_t start = p->previous.kind == TOKEN_END ? 0 : p->previous.span.at;
    struct token after = lexer_next(p->text, (size_t)p->token.span.at + p->token.span.len);
    size_t end = (size_t)after.span.at + after.span.len;
    return str_make(p->text.data + start, end - start);
}

void *parser_fail(struct parser *p)
{
    struct str token = p->token.kind == TOKEN_END ? STR("<EOF>") : span_str(p->token.span, p->text);
    struct str context = near(p);
    err_set(p->err, ERR_VALIDATION, "Invalid %s: Syntax error; token: \"%.*s\", near: \"%.*s\"",
            p->parameter, STR_ARG(token), STR_ARG(context));
    return NULL;
}

struct node *parser_node(struct parser *p, enum node_kind kind)
{
    struct node *node = ARENA_NEW(p->arena, struct node);
    node->kind = kind;
    return node;
}

struct node *parser_operator(struct parser *p, enum node_kind kind)
{
    p->tree->operator_count++;
    return parser_node(p, kind);
}

void node_add_operand(struct node *node, struct node *operand)
{
    if (node->first == NULL) {
        node->first = operand;
    } else {
        node->last->next = operand;
    }
    node->last = operand;
    node->operand_count++;
}

struct node *parser_close(struct parser *p, struct node *inner)
{
    if (inner == NULL || !parser_expect(p, TOKEN_CLOSE)) {
        return NULL;
    }
    if (inner->parens) {
        err_set(p->err, ERR_VALIDATION, "Invalid %s: The expression has redundant parentheses;",
                p->parameter);
        return NULL;
    }
    inner->parens = true;
    return inner;
}

/* name = NAME | NAME_REF */
static struct step *parse_name(struct parser *p)
{
    enum step_kind kind = p->token.kind == TOKEN_NAME_REF ? STEP_REF : STEP_NAME;
    struct span span = p->token.span;
    if (!parser_take(p, TOKEN_NAME) && !parser_take(p, TOKEN_NAME_REF)) {
        return parser_fail(p);
    }
    struct step *step = ARENA_NEW(p->arena, struct step);
    *step = (struct step){.kind = kind, .span = span};
    return step;
}

/* index = NUMBER "]" */
static struct step *parse_index(struct parser *p)
{
    struct span span = p->token.span;
    if (!parser_expect(p, TOKEN_NUMBER) || !parser_expect(p, TOKEN_CLOSE_INDEX)) {
        return NULL;
    }
    struct step *step = ARENA_NEW(p->arena, struct step);
    *step = (struct step){.kind = STEP_INDEX, .span = span};
    return step;
}

/* Parses the rest of a path: { "." name | "[" index } */
static struct node *parse_steps(struct parser *p, struct step *first)
{
    struct node *node = parser_node(p, NODE_PATH);
    node->steps = first;
    struct step *last = first;
    for (;;) {
        node->step_count++;
        if (parser_take(p, TOKEN_DOT)) {
            last->next = parse_name(p);
        } else if (parser_take(p, TOKEN_OPEN_INDEX)) {
            last->next = parse_index(p);
        } else {
            return node;
        }
        last = last->next;
        if (last == NULL) {
            return NULL;
        }
    }
}

/* path = name { "." name | "[" index } */
struct node *parse_path(struct parser *p)
{
    struct step *first = parse_name(p);
    return first == NULL ? NULL : parse_steps(p, first);
}

bool parse_operands(struct parser *p, struct node *node)
{
    do {
        struct node *operand = parse_operand(p);
        if (operand == NULL) {
            return false;
        }
        node_add_operand(node, operand);
    } while (parser_take(p, TOKEN_COMMA));
    return parser_expect(p, TOKEN_CLOSE);
}

static enum function function_from_name(struct str name)
{
    for (int i = 0; i < FUNCTION_UNKNOWN; i++) {
        if (str_eq(name, str_from_c(function_rules[i].name))) {
            return (enum function)i;
        }
    }
    return FUNCTION_UNKNOWN;
}

/* call = NAME "(" operands; the name and "(" are consumed */
static struct node *parse_call(struct parser *p, struct span name)
{
    struct node *node = parser_operator(p, NODE_CALL);
    node->span = name;
    node->function = function_from_name(span_str(name, p->text));
    return parse_operands(p, node) ? node : NULL;
}

/* operand = "(" operand ")" | VALUE_REF | call | path */
struct node *parse_operand(struct parser *p)
{
    struct span span = p->token.span;
    if (parser_take(p, TOKEN_OPEN)) {
        return parser_close(p, parse_operand(p));
    }
    if (parser_take(p, TOKEN_VALUE_REF)) {
        struct node *node = parser_node(p, NODE_VALUE);
        node->span = span;
        return node;
    }
    if (!parser_take(p, TOKEN_NAME)) {
        return parse_path(p);
    }
    if (parser_take(p, TOKEN_OPEN)) {
        return parse_call(p, span);
    }
    struct step *first = ARENA_NEW(p->arena, struct step);
    *first = (struct step){.kind = STEP_NAME, .span = span};
    return parse_steps(p, first);
}

bool tree_parse(struct arena *arena, enum tree_kind kind, struct str text, const char *parameter,
                const struct tree **out, struct err *err)
{
    struct tree *tree = ARENA_NEW(arena, struct tree);
    tree->kind = kind;
    tree->repeated_section = -1;
    struct parser p = {
        .arena = arena, .text = text, .parameter = parameter, .tree = tree, .err = err};
    p.token = lexer_next(text, 0);
    bool done = kind == TREE_CONDITION ? parse_condition(&p)
                : kind == TREE_UPDATE  ? parse_update(&p)
                                       : parse_projection(&p);
    if (!done || !parser_expect(&p, TOKEN_END)) {
        return false;
    }
    *out = tree;
    return true;
}
