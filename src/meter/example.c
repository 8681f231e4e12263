/* One request of a pattern with its values masked. On the thread of the call, when a pattern is
 * new to its block. */
#include "meter/block_internal.h"

#include "json/reader.h"
#include "json/writer.h"

enum { EXAMPLE_BYTES_MAX = 1024, BODY_BYTES_MAX = 16 * 1024 };

struct masker {
    struct json_reader reader;
    struct buf out;
    bool too_long;
};

static bool copy_value(struct masker *m, struct str name);

/* Whether a member's name is that of an attribute value's type. */
static bool is_type(struct str name)
{
    return value_type_from_name(name) != VALUE_NONE;
}

static bool copy_object(struct masker *m)
{
    struct json_string name;
    bool first = true;
    if (!json_enter_object(&m->reader)) {
        return false;
    }
    buf_add_char(&m->out, '{');
    while (json_next_member(&m->reader, &name)) {
        if (!first) {
            buf_add_char(&m->out, ',');
        }
        first = false;
        json_write_string(&m->out, name.text);
        buf_add_char(&m->out, ':');
        if (!copy_value(m, name.text)) {
            return false;
        }
    }
    buf_add_char(&m->out, '}');
    return m->reader.mistake == NULL;
}

static bool copy_array(struct masker *m, struct str name)
{
    bool first = true;
    if (!json_enter_array(&m->reader)) {
        return false;
    }
    buf_add_char(&m->out, '[');
    while (json_next_element(&m->reader)) {
        if (!first) {
            buf_add_char(&m->out, ',');
        }
        first = false;
        if (!copy_value(m, name)) {
            return false;
        }
    }
    buf_add_char(&m->out, ']');
    return m->reader.mistake == NULL;
}

/* The end of a comment that begins at `at`; `at` itself if there is none. */
static size_t comment_end(struct str text, size_t at)
{
    struct str rest = str_skip(text, at);
    bool is_line = str_starts_with(rest, STR("--"));
    if (!is_line && !str_starts_with(rest, STR("/*"))) {
        return at;
    }
    const char *end =
        is_line ? memchr(rest.data, '\n', rest.len) : memmem(rest.data + 2, rest.len - 2, "*/", 2);
    return end == NULL ? text.len : (size_t)(end - text.data) + (is_line ? 0 : 2);
}

/* A PartiQL statement: texts in single quotes and numbers are values. Comments are left out: a
 * quote in one is none. */
static void mask_statement(struct masker *m, struct str text)
{
    struct buf masked = {0};
    char quote = 0;
    for (size_t i = 0; i < text.len; i++) {
        size_t end = quote == 0 ? comment_end(text, i) : i;
        if (end > i) {
            i = end - 1;
            continue;
        }
        char c = text.data[i];
        bool word = i > 0 && (text.data[i - 1] == '_' || (text.data[i - 1] | 32) >= 'a');
        if (quote != 0) {
            if (c == quote) {
                quote = 0;
                buf_add_char(&masked, c);
            } else if (c != '\'' && quote == '"') {
                buf_add_char(&masked, c);
            }
        } else if (c == '\'' || c == '"') {
            quote = c;
            buf_add(&masked, c == '\'' ? STR("'***") : STR("\""));
        } else {
            buf_add_char(&masked, c >= '0' && c <= '9' && !word ? '0' : c);
        }
    }
    json_write_string(&m->out, buf_str(&masked));
    buf_finish(&masked);
}

static bool copy_string(struct masker *m, struct str name)
{
    struct json_string string;
    if (!json_read_string(&m->reader, &string)) {
        return false;
    }
    if (str_eq(name, STR("Statement"))) {
        mask_statement(m, string.text);
    } else if (str_eq(name, STR("N")) || str_eq(name, STR("NS"))) {
        JSON_PUT(&m->out, "\"0\"");
    } else if (is_type(name) || str_eq(name, STR("ClientRequestToken")) ||
               str_eq(name, STR("NextToken"))) {
        JSON_PUT(&m->out, "\"***\"");
    } else {
        json_write_string(&m->out, string.text);
    }
    return true;
}

static bool copy_value(struct masker *m, struct str name)
{
    struct str raw;
    if (m->out.len > EXAMPLE_BYTES_MAX) {
        return false;
    }
    switch (json_peek(&m->reader)) {
    case JSON_OBJECT:
        return copy_object(m);
    case JSON_ARRAY:
        return copy_array(m, name);
    case JSON_STRING:
        return copy_string(m, name);
    case JSON_BAD:
        return false;
    default:
        if (!json_read_raw(&m->reader, &raw)) {
            return false;
        }
        buf_add(&m->out, str_eq(name, STR("BOOL")) ? STR("true") : raw);
        return true;
    }
}

struct str pattern_example(struct arena *arena, struct str body)
{
    struct masker masker = {0};
    struct str example = STR_NULL;
    if (body.len == 0 || body.len > BODY_BYTES_MAX) {
        return STR_NULL;
    }
    struct arena scratch;
    arena_init(&scratch);
    json_reader_init(&masker.reader, &scratch, body);
    if (json_peek(&masker.reader) == JSON_OBJECT && copy_value(&masker, STR("")) &&
        masker.out.len <= EXAMPLE_BYTES_MAX) {
        example = arena_copy(arena, buf_str(&masker.out));
    }
    buf_finish(&masker.out);
    arena_finish(&scratch);
    return example;
}
