/* Compiles and matches patterns with wildcards and variables. A pattern is compiled once into
 * parts; a match expands the variables and compares part by part, and backtracks to the latest `*`
 * when a part does not match: at most (length of pattern) x (length of text) steps. Called on any
 * thread; keeps no state. */
#include "auth/pattern.h"

enum part_kind {
    PART_LITERAL,
    PART_ANY_RUN, /* * */
    PART_ANY_ONE, /* ? */
    PART_VARIABLE,
};

struct pattern_part {
    enum part_kind kind;
    struct str text;        /* PART_LITERAL; PART_VARIABLE: the default, or STR_NULL */
    struct context_key key; /* PART_VARIABLE */
};

/* Compiling -------------------------------------------------------------------------------- */

struct compiler {
    struct pattern *pattern;
    struct err *err;
};

static void add_part(struct compiler *compiler, struct pattern_part part)
{
    struct pattern *pattern = compiler->pattern;
    struct pattern_part *last =
        pattern->part_count > 0 ? &pattern->parts[pattern->part_count - 1] : NULL;
    if (last != NULL && last->kind == PART_ANY_RUN && part.kind == PART_ANY_RUN) {
        return; /* `**` is `*` */
    }
    pattern->parts[pattern->part_count++] = part;
}

static size_t index_of(struct str text, char c)
{
    const char *at = text.len > 0 ? memchr(text.data, c, text.len) : NULL;
    return at != NULL ? (size_t)(at - text.data) : text.len;
}

/* default = "'" text "'" */
static bool parse_default(struct str text, struct str *out)
{
    text = str_trim(text, " ");
    if (text.len < 2 || text.data[0] != '\'' || text.data[text.len - 1] != '\'') {
        return false;
    }
    *out = str_make(text.data + 1, text.len - 2);
    return true;
}

/* variable = "${" ( "*" | "?" | "$" | key [ "," default ] ) "}"; `text` is the text between the
 * braces. */
static bool compile_variable(struct compiler *compiler, struct str text)
{
    if (text.len == 1 && strchr("*?$", text.data[0]) != NULL) {
        add_part(compiler, (struct pattern_part){.kind = PART_LITERAL, .text = text});
        return true;
    }
    size_t comma = index_of(text, ',');
    struct str name = str_trim(str_make(text.data, comma), " ");
    struct str fallback = STR_NULL;
    if (name.len == 0 ||
        (comma < text.len && !parse_default(str_skip(text, comma + 1), &fallback))) {
        return err_set(compiler->err, ERR_VALIDATION,
                       "the policy variable ${%.*s} is not well formed", STR_ARG(text));
    }
    struct context_key key = context_key_from_name(name);
    compiler->pattern->has_variables = true;
    add_part(compiler, (struct pattern_part){.kind = PART_VARIABLE, .text = fallback, .key = key});
    return true;
}

static bool starts_variable(struct str rest, unsigned syntax)
{
    return (syntax & PATTERN_VARIABLES) != 0 && str_starts_with(rest, STR("${"));
}

static bool is_wildcard(char c, unsigned syntax)
{
    return (syntax & PATTERN_WILDCARDS) != 0 && (c == '*' || c == '?');
}

static size_t literal_len(struct str rest, unsigned syntax)
{
    size_t len = 0;
    while (len < rest.len && !is_wildcard(rest.data[len], syntax) &&
           !starts_variable(str_skip(rest, len), syntax)) {
        len++;
    }
    return len;
}

/* Compiles the first part of *rest and advances *rest past it. */
static bool compile_part(struct compiler *compiler, struct str *rest, unsigned syntax)
{
    size_t len = literal_len(*rest, syntax);
    if (len > 0) {
        add_part(compiler,
                 (struct pattern_part){.kind = PART_LITERAL, .text = str_make(rest->data, len)});
    } else if (is_wildcard(rest->data[0], syntax)) {
        len = 1;
        enum part_kind kind = rest->data[0] == '*' ? PART_ANY_RUN : PART_ANY_ONE;
        add_part(compiler, (struct pattern_part){.kind = kind});
    } else {
        size_t close = index_of(*rest, '}');
        if (close == rest->len) {
            return err_set(compiler->err, ERR_VALIDATION,
                           "the policy variable in \"%.*s\" has no end", STR_ARG(*rest));
        }
        len = close + 1;
        if (!compile_variable(compiler, str_make(rest->data + 2, close - 2))) {
            return false;
        }
    }
    *rest = str_skip(*rest, len);
    return true;
}

/* Returns an upper bound of the number of parts in `text`. */
static size_t parts_max(struct str text)
{
    size_t count = 1;
    for (size_t i = 0; i < text.len; i++) {
        count += strchr("*?$", text.data[i]) != NULL ? 2 : 0; /* the part and a literal after it */
    }
    return count;
}

bool pattern_compile(struct arena *arena, struct str text, unsigned syntax, struct pattern *out,
                     struct err *err)
{
    *out = (struct pattern){0};
    if (literal_len(text, syntax) == text.len) {
        out->literal = text.data != NULL ? text : STR("");
        return true;
    }
    out->parts = ARENA_ARRAY(arena, struct pattern_part, parts_max(text));
    struct compiler compiler = {.pattern = out, .err = err};
    while (text.len > 0) {
        if (!compile_part(&compiler, &text, syntax)) {
            return false;
        }
    }
    return true;
}

void pattern_add_keys(const struct pattern *pattern, uint64_t *set)
{
    for (size_t i = 0; i < pattern->part_count; i++) {
        if (pattern->parts[i].kind == PART_VARIABLE) {
            *set |= CONTEXT_BIT(pattern->parts[i].key.id);
        }
    }
}

/* Matching --------------------------------------------------------------------------------- */

/* Returns the parts with each variable replaced by a literal, in input->arena; NULL if a variable
 * has no value. */
static const struct pattern_part *expand(const struct pattern *pattern,
                                         const struct pattern_input *input)
{
    struct pattern_part *parts =
        ARENA_ARRAY(input->arena, struct pattern_part, pattern->part_count);
    for (size_t i = 0; i < pattern->part_count; i++) {
        parts[i] = pattern->parts[i];
        if (parts[i].kind != PART_VARIABLE) {
            continue;
        }
        struct context_values found = context_find(input->context, parts[i].key);
        if (found.is_present && found.count > 0 && !context_key_is_multivalued(parts[i].key.id)) {
            parts[i].text = found.values[0];
        } else if (str_is_null(parts[i].text)) {
            return NULL;
        }
        parts[i].kind = PART_LITERAL;
    }
    return parts;
}

/* Returns the length in bytes of the first UTF-8 character of `text`. */
static size_t character_len(struct str text)
{
    size_t len = 1;
    while (len < text.len && ((unsigned char)text.data[len] & 0xC0) == 0x80) {
        len++;
    }
    return len;
}

/* Returns whether `text` starts with the part; *out_len is the length of the match. */
static bool part_matches_start(const struct pattern_part *part, struct str text, bool nocase,
                               size_t *out_len)
{
    if (part->kind == PART_ANY_ONE) {
        *out_len = text.len > 0 ? character_len(text) : 0;
        return text.len > 0;
    }
    *out_len = part->text.len;
    if (part->text.len > text.len) {
        return false;
    }
    struct str head = str_make(text.data, part->text.len);
    return nocase ? str_eq_nocase(head, part->text) : str_eq(head, part->text);
}

static bool parts_match(const struct pattern_part *parts, size_t count, struct str text,
                        bool nocase)
{
    size_t at = 0;
    size_t run = count; /* index of the latest `*`; count: none yet */
    struct str run_text = text;
    while (at < count || text.len > 0) {
        size_t len;
        if (at < count && parts[at].kind == PART_ANY_RUN) {
            run = at++;
            run_text = text;
        } else if (at < count && part_matches_start(&parts[at], text, nocase, &len)) {
            text = str_skip(text, len);
            at++;
        } else if (run < count && run_text.len > 0) {
            run_text = str_skip(run_text, 1); /* the `*` matches one more byte */
            text = run_text;
            at = run + 1;
        } else {
            return false;
        }
    }
    return true;
}

static bool matches(const struct pattern *pattern, struct str text,
                    const struct pattern_input *input, bool nocase)
{
    if (pattern->part_count == 0) {
        return nocase ? str_eq_nocase(pattern->literal, text) : str_eq(pattern->literal, text);
    }
    const struct pattern_part *parts =
        pattern->has_variables ? expand(pattern, input) : pattern->parts;
    return parts != NULL && parts_match(parts, pattern->part_count, text, nocase);
}

bool pattern_matches(const struct pattern *pattern, struct str text,
                     const struct pattern_input *input)
{
    return matches(pattern, text, input, false);
}

bool pattern_matches_nocase(const struct pattern *pattern, struct str text,
                            const struct pattern_input *input)
{
    return matches(pattern, text, input, true);
}

/* Returns whether the pattern matches every text that starts with `prefix`: it matches `prefix`,
 * and its `*` at the end matches whatever follows. */
static bool covers(const struct pattern *pattern, struct str prefix,
                   const struct pattern_input *input)
{
    return pattern->part_count > 0 &&
           pattern->parts[pattern->part_count - 1].kind == PART_ANY_RUN &&
           pattern_matches(pattern, prefix, input);
}

/* Returns whether the parts match any text that starts with `prefix`. The first `*` matches the
 * rest of it. */
static bool parts_overlap(const struct pattern_part *parts, size_t count, struct str prefix)
{
    for (size_t i = 0; i < count && prefix.len > 0; i++) {
        size_t len;
        if (parts[i].kind == PART_ANY_RUN ||
            (parts[i].kind == PART_LITERAL && str_starts_with(parts[i].text, prefix))) {
            return true;
        }
        if (!part_matches_start(&parts[i], prefix, false, &len)) {
            return false;
        }
        prefix = str_skip(prefix, len);
    }
    return prefix.len == 0;
}

static bool overlaps(const struct pattern *pattern, struct str prefix,
                     const struct pattern_input *input)
{
    if (pattern->part_count == 0) {
        return str_starts_with(pattern->literal, prefix);
    }
    const struct pattern_part *parts =
        pattern->has_variables ? expand(pattern, input) : pattern->parts;
    return parts != NULL && parts_overlap(parts, pattern->part_count, prefix);
}

/* ARNs ------------------------------------------------------------------------------------- */

/* Returns the length of the first part of `text`: it ends at the first colon outside of a
 * variable. */
static size_t arn_part_len(struct str text)
{
    bool in_variable = false;
    for (size_t i = 0; i < text.len; i++) {
        in_variable =
            in_variable ? text.data[i] != '}' : str_starts_with(str_skip(text, i), STR("${"));
        if (!in_variable && text.data[i] == ':') {
            return i;
        }
    }
    return text.len;
}

bool arn_pattern_compile(struct arena *arena, struct str text, int variables_from,
                         struct arn_pattern *out, struct err *err)
{
    *out = (struct arn_pattern){0};
    if (str_eq(text, STR("*"))) {
        return true;
    }
    struct str rest = text;
    bool more = true;
    while (more) {
        int part = out->part_count;
        size_t len = part == ARN_PARTS - 1 ? rest.len : arn_part_len(rest);
        unsigned syntax = PATTERN_WILDCARDS | (part >= variables_from ? PATTERN_VARIABLES : 0);
        if (!pattern_compile(arena, str_make(rest.data, len), syntax, &out->parts[part], err)) {
            return false;
        }
        out->part_count++;
        more = len < rest.len;
        rest = str_skip(rest, more ? len + 1 : len);
    }
    bool is_short = out->part_count < ARN_PARTS;
    if (!str_starts_with(text, STR("arn:")) || (is_short && text.data[text.len - 1] != '*')) {
        return err_set(err, ERR_VALIDATION, "\"%.*s\" is not an ARN and not *", STR_ARG(text));
    }
    return true;
}

/* Compares the last part of a pattern with the rest of an ARN. */
typedef bool last_part_matches(const struct pattern *pattern, struct str text,
                               const struct pattern_input *input);

static bool arn_matches(const struct arn_pattern *pattern, struct str arn,
                        const struct pattern_input *input, last_part_matches *match_last)
{
    int last = pattern->part_count - 1;
    for (int i = 0; i < last; i++) {
        size_t len = index_of(arn, ':');
        if (len == arn.len ||
            !pattern_matches(&pattern->parts[i], str_make(arn.data, len), input)) {
            return false;
        }
        arn = str_skip(arn, len + 1);
    }
    return last < 0 || match_last(&pattern->parts[last], arn, input);
}

bool arn_pattern_matches(const struct arn_pattern *pattern, struct str arn,
                         const struct pattern_input *input)
{
    return arn_matches(pattern, arn, input, pattern_matches);
}

bool arn_pattern_covers(const struct arn_pattern *pattern, struct str prefix,
                        const struct pattern_input *input)
{
    return arn_matches(pattern, prefix, input, covers);
}

bool arn_pattern_overlaps(const struct arn_pattern *pattern, struct str prefix,
                          const struct pattern_input *input)
{
    return arn_matches(pattern, prefix, input, overlaps);
}

void arn_pattern_add_keys(const struct arn_pattern *pattern, uint64_t *set)
{
    for (int i = 0; i < pattern->part_count; i++) {
        pattern_add_keys(&pattern->parts[i], set);
    }
}
