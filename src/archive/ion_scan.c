/* Finds the end of Ion structs in text that may be incomplete, without parsing values. Called by
 * read_ion.c. */
#include "archive/ion_text.h"

/* The text from `at` on, and whether more may follow. */
struct scanner {
    struct str text;
    size_t at;
    bool is_all;
};

static bool has(const struct scanner *scanner, const char *word)
{
    return str_starts_with(str_skip(scanner->text, scanner->at), str_from_c(word));
}

/* Whether the next `count` characters are known. */
static bool knows(const struct scanner *scanner, size_t count)
{
    return scanner->is_all || scanner->text.len - scanner->at >= count;
}

/* Moves behind the next `end`; a backslash escapes one character if `escapes`. */
static enum ion_scan skip_behind(struct scanner *scanner, const char *end, bool escapes)
{
    while (scanner->at < scanner->text.len) {
        if (has(scanner, end)) {
            scanner->at += strlen(end);
            return ION_SCAN_FOUND;
        }
        bool is_escape = escapes && scanner->text.data[scanner->at] == '\\';
        scanner->at += is_escape ? 2 : 1;
    }
    return scanner->is_all ? ION_SCAN_BAD : ION_SCAN_MORE;
}

/* A comment: `at` is at its slash. The end of the text ends a comment of one line. */
static enum ion_scan skip_comment(struct scanner *scanner)
{
    if (!knows(scanner, 2)) {
        return ION_SCAN_MORE;
    }
    if (has(scanner, "/*")) {
        scanner->at += 2;
        return skip_behind(scanner, "*/", false);
    }
    if (!has(scanner, "//")) {
        return ION_SCAN_BAD;
    }
    enum ion_scan result = skip_behind(scanner, "\n", false);
    return result == ION_SCAN_BAD ? ION_SCAN_FOUND : result;
}

static enum ion_scan skip_quoted(struct scanner *scanner)
{
    if (!knows(scanner, 3)) {
        return ION_SCAN_MORE;
    }
    const char *end = has(scanner, "'''") ? "'''" : has(scanner, "'") ? "'" : "\"";
    scanner->at += strlen(end);
    return skip_behind(scanner, end, true);
}

/* A blob or clob: `at` is at its first brace. */
static enum ion_scan skip_lob(struct scanner *scanner)
{
    scanner->at += 2;
    while (scanner->at < scanner->text.len) {
        char c = scanner->text.data[scanner->at];
        if (!knows(scanner, 2)) {
            return ION_SCAN_MORE;
        }
        if (has(scanner, "}}")) {
            scanner->at += 2;
            return ION_SCAN_FOUND;
        }
        if (c == '"' || c == '\'') {
            enum ion_scan result = skip_quoted(scanner);
            if (result != ION_SCAN_FOUND) {
                return result;
            }
        } else {
            scanner->at++;
        }
    }
    return scanner->is_all ? ION_SCAN_BAD : ION_SCAN_MORE;
}

/* Moves behind one token; *depth counts the brackets that are open. */
static enum ion_scan skip_token(struct scanner *scanner, size_t *depth)
{
    char c = scanner->text.data[scanner->at];
    switch (c) {
    case '"':
    case '\'':
        return skip_quoted(scanner);
    case '/':
        return skip_comment(scanner);
    case '{':
        if (!knows(scanner, 2)) {
            return ION_SCAN_MORE;
        }
        if (has(scanner, "{{")) {
            return skip_lob(scanner);
        }
        (*depth)++;
        break;
    case '[':
    case '(':
        (*depth)++;
        break;
    case '}':
    case ']':
    case ')':
        (*depth)--;
        break;
    default:
        break;
    }
    scanner->at++;
    return ION_SCAN_FOUND;
}

enum ion_scan ion_scan_struct(struct str text, bool is_all, size_t *out_len)
{
    struct scanner scanner = {.text = text, .is_all = is_all};
    size_t depth = 0;
    while (scanner.at < text.len) {
        enum ion_scan result = skip_token(&scanner, &depth);
        if (result != ION_SCAN_FOUND) {
            return result;
        }
        if (depth == 0) {
            *out_len = scanner.at;
            return ION_SCAN_FOUND;
        }
    }
    return is_all ? ION_SCAN_BAD : ION_SCAN_MORE;
}

enum ion_scan ion_scan_blanks(struct str text, bool is_all, size_t *out_len)
{
    struct scanner scanner = {.text = text, .is_all = is_all};
    while (scanner.at < text.len) {
        char c = text.data[scanner.at];
        if (c == ' ' || (c >= '\t' && c <= '\r')) {
            scanner.at++;
            continue;
        }
        if (c != '/') {
            break;
        }
        size_t start = scanner.at;
        enum ion_scan result = skip_comment(&scanner);
        if (result != ION_SCAN_FOUND) {
            *out_len = start;
            return result;
        }
    }
    *out_len = scanner.at;
    return ION_SCAN_FOUND;
}
