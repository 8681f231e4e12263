/* expr/parse/lexer_internal.h: tokens of expressions. All kinds of expressions share one lexer:
 * "set" is a keyword in a condition, too. */
#ifndef GRAMME_EXPR_PARSE_LEXER_INTERNAL_H
#define GRAMME_EXPR_PARSE_LEXER_INTERNAL_H

#include "base/str.h"

#define EXPRESSION_BYTES_MAX 4096

/* A part of the text by its position, so that a cached tree fits every copy of its text. */
struct span {
    uint16_t at;
    uint16_t len;
};

enum token_kind {
    TOKEN_END,
    TOKEN_NAME,      /* a1_b */
    TOKEN_NAME_REF,  /* #n */
    TOKEN_VALUE_REF, /* :v */
    TOKEN_NUMBER,    /* 0, 17; "01" is two of them */
    TOKEN_EQ,
    TOKEN_NE,
    TOKEN_LT,
    TOKEN_LE,
    TOKEN_GT,
    TOKEN_GE,
    TOKEN_PLUS,
    TOKEN_MINUS,
    TOKEN_DOT,
    TOKEN_COMMA,
    TOKEN_OPEN,
    TOKEN_CLOSE,
    TOKEN_OPEN_INDEX,
    TOKEN_CLOSE_INDEX,
    TOKEN_ADD,
    TOKEN_AND,
    TOKEN_BETWEEN,
    TOKEN_DELETE,
    TOKEN_IN,
    TOKEN_NOT,
    TOKEN_OR,
    TOKEN_REMOVE,
    TOKEN_SET,
    TOKEN_OTHER, /* invalid: a quoted literal, or one character */
};

struct token {
    enum token_kind kind;
    struct span span;
};

/* Returns the text of a span. */
static inline struct str span_str(struct span span, struct str text)
{
    return str_make(text.data + span.at, span.len);
}

/* Returns the first token at or after `at`; TOKEN_END at the end of the text. */
struct token lexer_next(struct str text, size_t at);

/* Whether a placeholder is well-formed: `first` ('#' or ':') and one or more of A-Z a-z 0-9 _. */
MUST_USE bool lexer_is_placeholder(struct str text, char first);

#endif
