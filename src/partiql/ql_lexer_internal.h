/* partiql/ql_lexer_internal.h: tokens of statements. Comments count as white space: from "--" to
 * the end of the line, and between slash-star and star-slash. */
#ifndef GRAMME_PARTIQL_QL_LEXER_INTERNAL_H
#define GRAMME_PARTIQL_QL_LEXER_INTERNAL_H

#include "base/arena.h"

/* Keywords: QL_WORD_select, ... */
#define KEYWORD(word_, role_) QL_WORD_##word_,
enum ql_word {
    QL_WORD_NONE,
#include "partiql/keywords.def"
    QL_WORD_COUNT
};
#undef KEYWORD

enum ql_token_kind {
    QL_TOKEN_END,
    QL_TOKEN_BAD,       /* malformed: the whole text is refused */
    QL_TOKEN_NAME,      /* a1_b, "any text" */
    QL_TOKEN_WORD,      /* of keywords.def */
    QL_TOKEN_STRING,    /* 'text' */
    QL_TOKEN_NUMBER,    /* 12, 1.5, .5e-3 */
    QL_TOKEN_PARAMETER, /* ? */
    QL_TOKEN_EQ,
    QL_TOKEN_NE, /* <> and != */
    QL_TOKEN_LT,
    QL_TOKEN_LE,
    QL_TOKEN_GT,
    QL_TOKEN_GE,
    QL_TOKEN_PLUS,
    QL_TOKEN_MINUS,
    QL_TOKEN_STAR,
    QL_TOKEN_SLASH,
    QL_TOKEN_PERCENT,
    QL_TOKEN_CONCAT, /* || */
    QL_TOKEN_AT,     /* @ */
    QL_TOKEN_DOT,
    QL_TOKEN_COMMA,
    QL_TOKEN_COLON,
    QL_TOKEN_SEMICOLON,
    QL_TOKEN_OPEN,
    QL_TOKEN_CLOSE,
    QL_TOKEN_OPEN_LIST,
    QL_TOKEN_CLOSE_LIST,
    QL_TOKEN_OPEN_MAP,
    QL_TOKEN_CLOSE_MAP,
    QL_TOKEN_OPEN_BAG, /* << */
    QL_TOKEN_CLOSE_BAG,
};

struct ql_token {
    enum ql_token_kind kind;
    enum ql_word word; /* QL_TOKEN_WORD */
    struct str text;   /* as written, with quotes */
};

/* Returns the first token at or after `at`; QL_TOKEN_END, empty, at the end of the text. */
struct ql_token ql_token_at(struct str text, size_t at);

/* Returns the contents of a STRING or NAME: without quotes, doubled quotes inside made single. */
struct str ql_token_content(struct ql_token token, struct arena *arena);

enum ql_role { QL_ROLE_CALLED = 1, QL_ROLE_TYPE = 2 };
/* Returns the roles of a keyword, a bit set. */
unsigned ql_word_roles(enum ql_word word);
/* Returns a keyword in upper case. */
const char *ql_word_text(enum ql_word word);

#endif
