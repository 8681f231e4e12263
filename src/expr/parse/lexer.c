/* Splits the text of an expression into tokens. Called by the parser. */
#include "expr/parse/lexer_internal.h"

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return is_letter(c) || is_digit(c) || c == '_';
}

static size_t word_end(struct str text, size_t at)
{
    while (at < text.len && is_word(text.data[at])) {
        at++;
    }
    return at;
}

static const struct {
    const char *word;
    enum token_kind kind;
} keywords[] = {
    {"add", TOKEN_ADD},       {"and", TOKEN_AND},       {"between", TOKEN_BETWEEN},
    {"delete", TOKEN_DELETE}, {"in", TOKEN_IN},         {"not", TOKEN_NOT},
    {"or", TOKEN_OR},         {"remove", TOKEN_REMOVE}, {"set", TOKEN_SET},
};

static enum token_kind word_kind(struct str word)
{
    for (size_t i = 0; i < COUNT_OF(keywords); i++) {
        if (str_eq_nocase(word, str_from_c(keywords[i].word))) {
            return keywords[i].kind;
        }
    }
    return TOKEN_NAME;
}

/* Returns the end of the quoted literal at `at`, or of its first quote if it is not closed. */
static size_t quoted_end(struct str text, size_t at)
{
    char quote = text.data[at];
    for (size_t i = at + 1; i < text.len; i++) {
        if (text.data[i] == '\\') {
            i++;
        } else if (text.data[i] == quote) {
            return i + 1;
        }
    }
    return at + 1;
}

static size_t utf8_end(struct str text, size_t at)
{
    do {
        at++;
    } while (at < text.len && (text.data[at] & 0xC0) == 0x80);
    return at;
}

static struct token make(enum token_kind kind, size_t at, size_t end)
{
    return (struct token){.kind = kind, .span = {.at = (uint16_t)at, .len = (uint16_t)(end - at)}};
}

static struct token number_at(struct str text, size_t at)
{
    size_t end = at + 1;
    while (text.data[at] != '0' && end < text.len && is_digit(text.data[end])) {
        end++;
    }
    return make(TOKEN_NUMBER, at, end);
}

static struct token placeholder_at(struct str text, size_t at)
{
    size_t end = word_end(text, at + 1);
    enum token_kind kind = text.data[at] == '#' ? TOKEN_NAME_REF : TOKEN_VALUE_REF;
    return make(end == at + 1 ? TOKEN_OTHER : kind, at, end);
}

static struct token less_at(struct str text, size_t at)
{
    char next = at + 1 < text.len ? text.data[at + 1] : '\0';
    if (next == '=' || next == '>') {
        return make(next == '=' ? TOKEN_LE : TOKEN_NE, at, at + 2);
    }
    return make(TOKEN_LT, at, at + 1);
}

static struct token greater_at(struct str text, size_t at)
{
    bool equal = at + 1 < text.len && text.data[at + 1] == '=';
    return make(equal ? TOKEN_GE : TOKEN_GT, at, at + 1 + equal);
}

static struct token sign_at(struct str text, size_t at)
{
    static const char signs[] = "=+-.,()[]";
    static const enum token_kind kinds[] = {
        TOKEN_EQ,   TOKEN_PLUS,  TOKEN_MINUS,      TOKEN_DOT,         TOKEN_COMMA,
        TOKEN_OPEN, TOKEN_CLOSE, TOKEN_OPEN_INDEX, TOKEN_CLOSE_INDEX,
    };
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (text.data[at] == signs[i]) {
            return make(kinds[i], at, at + 1);
        }
    }
    return make(TOKEN_OTHER, at, utf8_end(text, at));
}

struct token lexer_next(struct str text, size_t at)
{
    assert(text.len <= EXPRESSION_BYTES_MAX);
    while (at < text.len && memchr(" \t\r\n", text.data[at], 4) != NULL) {
        at++;
    }
    if (at == text.len) {
        return make(TOKEN_END, at, at);
    }
    char c = text.data[at];
    if (is_letter(c)) {
        size_t end = word_end(text, at);
        return make(word_kind(str_make(text.data + at, end - at)), at, end);
    }
    if (is_digit(c)) {
        return number_at(text, at);
    }
    switch (c) {
    case '#':
    case ':':
        return placeholder_at(text, at);
    case '<':
        return less_at(text, at);
    case '>':
        return greater_at(text, at);
    case '\'':
    case '"':
        return make(TOKEN_OTHER, at, quoted_end(text, at));
    default:
        return sign_at(text, at);
    }
}

bool lexer_is_placeholder(struct str text, char first)
{
    return text.len > 1 && text.data[0] == first && word_end(text, 1) == text.len;
}
