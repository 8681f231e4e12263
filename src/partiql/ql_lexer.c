/* Splits the text of a statement into tokens. Called by the parser, token by token, on the thread
 * of the request. */
#include "partiql/ql_lexer_internal.h"

#define PLAIN  0
#define CALLED QL_ROLE_CALLED
#define TYPE   QL_ROLE_TYPE
#define KEYWORD(word_, role_)                                                                      \
    [QL_WORD_##word_] = {.text = #word_, .len = sizeof(#word_) - 1, .roles = (role_)},
static const struct {
    const char *text;
    size_t len;
    unsigned roles;
} words[QL_WORD_COUNT] = {
#include "partiql/keywords.def"
};
#undef KEYWORD
#undef TYPE
#undef CALLED
#undef PLAIN

unsigned ql_word_roles(enum ql_word word)
{
    return words[word].roles;
}

const char *ql_word_text(enum ql_word word)
{
    return words[word].text;
}

static enum ql_word find_word(struct str text)
{
    for (int i = QL_WORD_NONE + 1; i < QL_WORD_COUNT; i++) {
        if (words[i].len == text.len && str_eq_nocase(text, str_make(words[i].text, text.len))) {
            return (enum ql_word)i;
        }
    }
    return QL_WORD_NONE;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

static bool is_name(char c)
{
    return is_name_start(c) || is_digit(c);
}

static char char_at(struct str text, size_t at)
{
    return at < text.len ? text.data[at] : '\0';
}

/* Returns the position after white space and comments. SIZE_MAX: a comment is not closed. */
static size_t skip_space(struct str text, size_t at)
{
    while (at < text.len) {
        char c = text.data[at];
        if (memchr(" \t\r\n\v\f", c, 6) != NULL) {
            at++;
        } else if (c == '-' && char_at(text, at + 1) == '-') {
            const char *end = memchr(text.data + at, '\n', text.len - at);
            at = end == NULL ? text.len : (size_t)(end - text.data);
        } else if (c == '/' && char_at(text, at + 1) == '*') {
            const char *end = memmem(text.data + at + 2, text.len - at - 2, "*/", 2);
            if (end == NULL) {
                return SIZE_MAX;
            }
            at = (size_t)(end - text.data) + 2;
        } else {
            break;
        }
    }
    return at;
}

static struct ql_token make(enum ql_token_kind kind, struct str text, size_t at, size_t end)
{
    return (struct ql_token){.kind = kind, .text = str_make(text.data + at, end - at)};
}

static struct ql_token word_at(struct str text, size_t at)
{
    size_t end = at;
    while (end < text.len && is_name(text.data[end])) {
        end++;
    }
    struct ql_token token = make(QL_TOKEN_NAME, text, at, end);
    token.word = find_word(token.text);
    if (token.word != QL_WORD_NONE) {
        token.kind = QL_TOKEN_WORD;
    }
    return token;
}

/* Reads a quoted text; quotes inside are doubled. */
static struct ql_token quoted_at(struct str text, size_t at)
{
    char quote = text.data[at];
    for (size_t i = at + 1; i < text.len; i++) {
        if (text.data[i] != quote) {
            continue;
        }
        if (char_at(text, i + 1) != quote) {
            return make(quote == '"' ? QL_TOKEN_NAME : QL_TOKEN_STRING, text, at, i + 1);
        }
        i++;
    }
    return make(QL_TOKEN_BAD, text, at, text.len);
}

static size_t skip_digits(struct str text, size_t at)
{
    while (at < text.len && is_digit(text.data[at])) {
        at++;
    }
    return at;
}

/* Like Java's BigDecimal, the service keeps exponent and scale in 32 bits. */
static bool scale_fits(struct str exponent, size_t fraction_digits)
{
    int64_t value;
    struct str digits = char_at(exponent, 0) == '+' ? str_skip(exponent, 1) : exponent;
    if (!str_to_int64(digits, &value) || value > INT32_MAX || value < INT32_MIN) {
        return false;
    }
    int64_t scale = (int64_t)fraction_digits - value;
    return scale <= INT32_MAX && scale >= INT32_MIN;
}

/* number = (digits ["." [digits]] | "." digits) [("e" | "E") ["+" | "-"] digits] */
static struct ql_token number_at(struct str text, size_t at)
{
    size_t end = skip_digits(text, at);
    size_t fraction = 0;
    if (char_at(text, end) == '.') {
        size_t dot = end;
        end = skip_digits(text, end + 1);
        fraction = end - dot - 1;
    }
    bool fits = true;
    if (char_at(text, end) == 'e' || char_at(text, end) == 'E') {
        size_t start = end + 1;
        char sign = char_at(text, start);
        size_t digits = start + (sign == '+' || sign == '-');
        end = skip_digits(text, digits);
        fits = end > digits && scale_fits(str_make(text.data + start, end - start), fraction);
    }
    fits = fits && !is_name(char_at(text, end));
    return make(fits ? QL_TOKEN_NUMBER : QL_TOKEN_BAD, text, at, end);
}

static const struct {
    char text[3];
    enum ql_token_kind kind;
} signs[] = {
    /* longer ones first */
    {"<>", QL_TOKEN_NE},      {"!=", QL_TOKEN_NE},       {"<=", QL_TOKEN_LE},
    {">=", QL_TOKEN_GE},      {"<<", QL_TOKEN_OPEN_BAG}, {">>", QL_TOKEN_CLOSE_BAG},
    {"||", QL_TOKEN_CONCAT},  {"=", QL_TOKEN_EQ},        {"<", QL_TOKEN_LT},
    {">", QL_TOKEN_GT},       {"+", QL_TOKEN_PLUS},      {"-", QL_TOKEN_MINUS},
    {"*", QL_TOKEN_STAR},     {"/", QL_TOKEN_SLASH},     {"%", QL_TOKEN_PERCENT},
    {"@", QL_TOKEN_AT},       {".", QL_TOKEN_DOT},       {",", QL_TOKEN_COMMA},
    {":", QL_TOKEN_COLON},    {";", QL_TOKEN_SEMICOLON}, {"(", QL_TOKEN_OPEN},
    {")", QL_TOKEN_CLOSE},    {"[", QL_TOKEN_OPEN_LIST}, {"]", QL_TOKEN_CLOSE_LIST},
    {"{", QL_TOKEN_OPEN_MAP}, {"}", QL_TOKEN_CLOSE_MAP}, {"?", QL_TOKEN_PARAMETER},
};

static struct ql_token sign_at(struct str text, size_t at)
{
    struct str rest = str_skip(text, at);
    for (size_t i = 0; i < COUNT_OF(signs); i++) {
        struct str sign = str_from_c(signs[i].text);
        if (str_starts_with(rest, sign)) {
            return make(signs[i].kind, text, at, at + sign.len);
        }
    }
    return make(QL_TOKEN_BAD, text, at, at + 1);
}

struct ql_token ql_token_at(struct str text, size_t at)
{
    at = skip_space(text, at);
    if (at == SIZE_MAX) {
        return make(QL_TOKEN_BAD, text, text.len, text.len);
    }
    if (at >= text.len) {
        return make(QL_TOKEN_END, text, text.len, text.len);
    }
    char c = text.data[at];
    if (is_name_start(c)) {
        return word_at(text, at);
    }
    if (is_digit(c) || (c == '.' && is_digit(char_at(text, at + 1)))) {
        return number_at(text, at);
    }
    if (c == '\'' || c == '"') {
        return quoted_at(text, at);
    }
    return sign_at(text, at);
}

struct str ql_token_content(struct ql_token token, struct arena *arena)
{
    char quote = token.text.data[0];
    if (quote != '\'' && quote != '"') {
        return token.text;
    }
    struct str inside = str_make(token.text.data + 1, token.text.len - 2);
    if (memchr(inside.data, quote, inside.len) == NULL) {
        return inside;
    }
    char *copy = arena_bytes(arena, inside.len);
    size_t len = 0;
    for (size_t i = 0; i < inside.len; i++) {
        copy[len++] = inside.data[i];
        i += inside.data[i] == quote; /* the second of two quotes */
    }
    return str_make(copy, len);
}
