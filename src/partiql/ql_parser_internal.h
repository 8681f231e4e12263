/* partiql/ql_parser_internal.h: the state of the parser, and functions that the rules of
 * expressions and statements share. A rule that fails sets p->err and returns NULL (or false). */
#ifndef GRAMME_PARTIQL_QL_PARSER_INTERNAL_H
#define GRAMME_PARTIQL_QL_PARSER_INTERNAL_H

#include "partiql/ql_tree_internal.h"

struct ql_parser {
    struct arena *arena;
    struct str text;
    struct ql_token token; /* the current one */
    struct ql_tree *tree;
    int depth; /* of nested rules */
    struct err *err;
};

/* Sets the error. Returns NULL. */
void *ql_fail(struct ql_parser *p, const char *format, ...) PRINTF_LIKE(2, 3);
/* Advances to the next token. */
void ql_advance(struct ql_parser *p);
/* Returns the token after the current one. */
struct ql_token ql_peek(const struct ql_parser *p);
/* Advances if the current token is of this kind. Returns whether it was. */
bool ql_take(struct ql_parser *p, enum ql_token_kind kind);
/* Advances if the current token is this keyword. Returns whether it was. */
bool ql_take_word(struct ql_parser *p, enum ql_word word);
/* Whether the current token is this keyword. */
static inline bool ql_is_word(const struct ql_parser *p, enum ql_word word)
{
    return p->token.word == word;
}
/* As ql_take(), but other tokens are an error: "Expected <name>". */
MUST_USE bool ql_expect(struct ql_parser *p, enum ql_token_kind kind, const char *name);

/* Makes a node. */
struct ql_node *ql_node(struct ql_parser *p, enum ql_kind kind, struct ql_token token);
/* Appends a child to a node. */
void ql_add(struct ql_node *parent, struct ql_node *child);

/* Precedences for ql_parse_expression(): operators that bind less tightly end the expression. */
enum { QL_BINDS_ANY = -1, QL_BINDS_SOURCE = 6 };
/* Parses an expression of operators that bind at least as tightly as `binds`. */
struct ql_node *ql_parse_expression(struct ql_parser *p, int binds);
/* Parses a path of names and literal indexes only. */
struct ql_node *ql_parse_simple_path(struct ql_parser *p);

/* Parses SELECT, whose first word is the current token. */
struct ql_node *ql_parse_select(struct ql_parser *p);
/* Parses INSERT, as above. */
struct ql_node *ql_parse_insert(struct ql_parser *p);
/* Parses UPDATE, as above. */
struct ql_node *ql_parse_update(struct ql_parser *p);
/* Parses DELETE, as above. */
struct ql_node *ql_parse_delete(struct ql_parser *p);
/* Parses FROM source ... changes, as above. */
struct ql_node *ql_parse_from(struct ql_parser *p);

#endif
