/* Finds the ends of statements and commands, and the words of commands. Called by the loop that
 * reads lines and by the commands. */
#include "shell/split_internal.h"

#include <ctype.h>

static char at(struct str text, size_t i)
{
    return i < text.len ? text.data[i] : '\0';
}

/* Returns the position after the quoted text that starts at `i`; text.len + 1: it does not end. */
static size_t skip_quoted(struct str text, size_t i)
{
    char quote = text.data[i++];
    while (i < text.len) {
        if (text.data[i] != quote) {
            i++;
        } else if (at(text, i + 1) == quote) {
            i += 2;
        } else {
            return i + 1;
        }
    }
    return text.len + 1;
}

/* Returns the position after a comment at `i`; `i` if there is none; text.len + 1: not closed. */
static size_t skip_comment(struct str text, size_t i)
{
    if (at(text, i) == '-' && at(text, i + 1) == '-') {
        while (i < text.len && text.data[i] != '\n') {
            i++;
        }
    } else if (at(text, i) == '/' && at(text, i + 1) == '*') {
        const char *end = memmem(text.data + i + 2, text.len - i - 2, "*/", 2);
        i = end == NULL ? text.len + 1 : (size_t)(end - text.data) + 2;
    }
    return i;
}

/* Returns the position after white space, comments and `also`; text.len + 1: a comment is not
 * closed. */
static size_t skip_blank(struct str text, char also)
{
    size_t i = 0;
    for (;;) {
        size_t start = i;
        while (i < text.len && (isspace((unsigned char)text.data[i]) || text.data[i] == also)) {
            i++;
        }
        i = skip_comment(text, i);
        if (i == start || i >= text.len) {
            return i;
        }
    }
}

static struct str trim_end(struct str text)
{
    while (text.len > 0 && isspace((unsigned char)text.data[text.len - 1])) {
        text.len--;
    }
    return text;
}

static size_t find_semicolon(struct str text)
{
    size_t i = 0;
    while (i < text.len && text.data[i] != ';') {
        size_t after = skip_comment(text, i);
        if (after != i) {
            i = after;
        } else if (text.data[i] == '\'' || text.data[i] == '"') {
            i = skip_quoted(text, i);
        } else {
            i++;
        }
    }
    return i; /* text.len or more: there is none */
}

/* Returns the position after the JSON text at `i`, whose strings use backslashes; text.len + 1: it
 * is not complete. */
static size_t skip_json(struct str text, size_t i)
{
    int depth = 0;
    bool in_string = false;
    for (; i < text.len; i++) {
        char c = text.data[i];
        if (in_string) {
            i += c == '\\';
            in_string = c != '"';
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if ((c == '}' || c == ']') && --depth == 0) {
            return i + 1;
        }
    }
    return text.len + 1;
}

/* Returns the end of a command's line; text.len + 1: a JSON argument continues. */
static size_t find_command_end(struct str text)
{
    bool is_word_start = false;
    size_t i = 0;
    while (i < text.len && text.data[i] != '\n') {
        char c = text.data[i];
        if (is_word_start && (c == '{' || c == '[')) {
            i = skip_json(text, i);
            is_word_start = false;
        } else if (is_word_start && (c == '\'' || c == '"')) {
            size_t end = skip_quoted(text, i);
            const char *newline = memchr(text.data + i, '\n', text.len - i);
            size_t line_end = newline == NULL ? text.len : (size_t)(newline - text.data);
            i = end > text.len ? line_end : end; /* an open quote is reported by split_words() */
            is_word_start = false;
        } else {
            is_word_start = isspace((unsigned char)c);
            i++;
        }
    }
    return i;
}

enum split_result split_next(struct str *text, struct str *out)
{
    size_t blank = skip_blank(*text, ';');
    if (blank > text->len) {
        return SPLIT_MORE; /* a comment that is not closed */
    }
    *text = str_skip(*text, blank);
    if (text->len == 0) {
        return SPLIT_NOTHING;
    }
    bool is_command = text->data[0] == '\\';
    size_t end = is_command ? find_command_end(*text) : find_semicolon(*text);
    if (end > text->len || (!is_command && end == text->len)) {
        return SPLIT_MORE;
    }
    *out = trim_end(str_make(text->data, end));
    *text = str_skip(*text, MIN(end + 1, text->len));
    return SPLIT_ONE;
}

struct str split_verb(struct str text)
{
    size_t start = MIN(skip_blank(text, '('), text.len);
    size_t end = start;
    while (end < text.len && isalpha((unsigned char)text.data[end])) {
        end++;
    }
    return str_make(text.data + start, end - start);
}

/* --- words --- */

static struct str unquote(struct arena *arena, struct str raw)
{
    char quote = raw.data[0];
    char *bytes = arena_bytes(arena, raw.len + 1);
    size_t len = 0;
    for (size_t i = 1; i + 1 < raw.len; i++) {
        bytes[len++] = raw.data[i];
        i += raw.data[i] == quote; /* the second of two */
    }
    bytes[len] = '\0';
    return str_make(bytes, len);
}

static size_t skip_plain(struct str text, size_t i)
{
    while (i < text.len && !isspace((unsigned char)text.data[i])) {
        i = text.data[i] == '"' ? skip_quoted(text, i) : i + 1; /* "table"."index" */
    }
    return i;
}

const char *split_words(struct arena *arena, struct str text, struct words *out)
{
    out->count = 0;
    for (size_t i = 0;;) {
        while (i < text.len && isspace((unsigned char)text.data[i])) {
            i++;
        }
        if (i >= text.len) {
            return NULL;
        }
        if (out->count == WORDS_MAX) {
            return "too many words";
        }
        char c = text.data[i];
        bool is_json = c == '{' || c == '[';
        bool is_quoted = c == '\'' || c == '"';
        size_t end = is_json     ? skip_json(text, i)
                     : is_quoted ? skip_quoted(text, i)
                                 : skip_plain(text, i);
        if (end > text.len) {
            return is_json ? "a bracket is not closed" : "a quote is not closed";
        }
        if (is_quoted && end < text.len && !isspace((unsigned char)text.data[end])) {
            end = skip_plain(text, end); /* "table"."index" */
            is_quoted = false;
            if (end > text.len) {
                return "a quote is not closed";
            }
        }
        struct str raw = str_make(text.data + i, end - i);
        out->raw[out->count] = raw;
        out->text[out->count++] = is_quoted ? unquote(arena, raw) : arena_copy_c(arena, raw);
        i = end;
    }
}
