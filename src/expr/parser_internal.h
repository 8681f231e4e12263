/* expr/parser_internal.h: what the grammars share: the current token, and the rules for paths and
 * operands. A rule that fails has set p->err and returns NULL (or false). */
#ifndef GRAMME_EXPR_PARSER_INTERNAL_H
#define GRAMME_EXPR_PARSER_INTERNAL_H

#include "expr/tree_internal.h"

struct parser {
    struct arena *arena;
    struct str text;
    const char *parameter;
    struct token previous; /* TOKEN_END while nothing was taken */
    struct token token;
    struct tree *tree;
    struct err *err;
};

/* Goes on to the next token if the current one is of this kind. */
bool parser_take(struct parser *p, enum token_kind kind);
/* The same, but anything else is a syntax error. */
MUST_USE bool parser_expect(struct parser *p, enum token_kind kind);
/* Says that the current token is not what the grammar wants. Returns NULL. */
void *parser_fail(struct parser *p);

struct node *parser_node(struct parser *p, enum node_kind kind);
/* Makes a node for an operator, and counts it. */
struct node *parser_operator(struct parser *p, enum node_kind kind);
void node_add_operand(struct node *node, struct node *operand);
/* Takes the ")" after what stands in parentheses; NULL if `inner` is, or if it is another pair. */
struct node *parser_close(struct parser *p, struct node *inner);

struct node *parse_path(struct parser *p);
struct node *parse_operand(struct parser *p);
/* operands = operand { "," operand } ")" */
MUST_USE bool parse_operands(struct parser *p, struct node *node);

/* The whole of a condition, up to the end of the text. */
MUST_USE bool parse_condition(struct parser *p);
MUST_USE bool parse_update(struct parser *p);
MUST_USE bool parse_projection(struct parser *p);

#endif
