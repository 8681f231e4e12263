/* partiql/ql_parser_internal.h: what the rules for expressions and for statements share. A rule
 * that fails has set p->err and returns NULL (or false). */
#ifndef GRAMME_PARTIQL_QL_PARSER_INTERNAL_H
#define GRAMME_PARTIQL_QL_PARSER_INTERNAL_H

#include "partiql/ql_tree_internal.h"

struct ql_parser {
    struct arena *arena;
    struct str text;
    struct ql_token token; /* the current one */
    struct ql_tree *tree;
    int depth; /* of rules inside each other */
    struct err *err;
};

/* Says what is wrong. Returns NULL. */
void *ql_fail(struct ql_parser *p, const char *format, ...) PRINTF_LIKE(2, 3);
void ql_advance(struct ql_parser *p);
/* The token after the current one. */
struct ql_token ql_peek(const struct ql_parser *p);
/* Go on if the current token is of this kind, or this word. */
bool ql_take(struct ql_parser *p, enum ql_token_kind kind);
bool ql_take_word(struct ql_parser *p, enum ql_word word);
static inline bool ql_is_word(const struct ql_parser *p, enum ql_word word)
{
    return p->token.word == word;
}
/* The same, but anything else fails: "Expected <name>". */
MUST_USE bool ql_expect(struct ql_parser *p, enum ql_token_kind kind, const char *name);

struct ql_node *ql_node(struct ql_parser *p, enum ql_kind kind, struct ql_token token);
void ql_add(struct ql_node *parent, struct ql_node *child);

/* Operators that bind less tightly than this stay outside. */
enum { QL_BINDS_ANY = -1, QL_BINDS_SOURCE = 6 };
struct ql_node *ql_parse_expression(struct ql_parser *p, int binds);
/* Names and literal indexes only. */
struct ql_node *ql_parse_simple_path(struct ql_parser *p);

/* Statements; their first word is the current token. */
struct ql_node *ql_parse_select(struct ql_parser *p);
struct ql_node *ql_parse_insert(struct ql_parser *p);
struct ql_node *ql_parse_update(struct ql_parser *p);
struct ql_node *ql_parse_delete(struct ql_parser *p);
struct ql_node *ql_parse_from(struct ql_parser *p);

#endif
