/* expr/parse/parser_internal.h: the state of the parser, and rules that the grammars share. A rule
 * that fails sets p->err and returns NULL (or false). */
#ifndef GRAMME_EXPR_PARSE_PARSER_INTERNAL_H
#define GRAMME_EXPR_PARSE_PARSER_INTERNAL_H

#include "expr/parse/tree_internal.h"

struct parser {
    struct arena *arena;
    struct str text;
    const char *parameter;
    struct token previous; /* the previous one; TOKEN_END at the start */
    struct token token;
    struct tree *tree;
    struct err *err;
};

/* Advances to the next token if the current one is of this kind. Returns whether it was. */
bool parser_take(struct parser *p, enum token_kind kind);
/* As parser_take(); any other token is a syntax error. */
MUST_USE bool parser_expect(struct parser *p, enum token_kind kind);
/* Reports a syntax error at the current token. Returns NULL. */
void *parser_fail(struct parser *p);

/* Makes a node. */
struct node *parser_node(struct parser *p, enum node_kind kind);
/* Makes a node of an operator, and counts it. */
struct node *parser_operator(struct parser *p, enum node_kind kind);
/* Appends an operand to a node. */
void node_add_operand(struct node *node, struct node *operand);
/* Consumes the ")" that ends parentheses. NULL if `inner` is NULL, or if it is in parentheses
 * itself. */
struct node *parser_close(struct parser *p, struct node *inner);

/* path = name { "." name | "[" index } */
struct node *parse_path(struct parser *p);
/* operand = "(" operand ")" | VALUE_REF | call | path */
struct node *parse_operand(struct parser *p);
/* operands = operand { "," operand } ")" */
MUST_USE bool parse_operands(struct parser *p, struct node *node);

/* Parses a whole condition, to the end of the text. */
MUST_USE bool parse_condition(struct parser *p);
/* Parses a whole update. */
MUST_USE bool parse_update(struct parser *p);
/* Parses a whole projection. */
MUST_USE bool parse_projection(struct parser *p);

#endif
