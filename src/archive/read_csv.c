/* Reads CSV (RFC 4180): rows of fields, with names of columns from the first row or from the
 * request. A column that is a key attribute has the type of its definition, every other one is a
 * string; empty fields are left out. Called by record.c. */
#include "archive/record_internal.h"
#include "base/base64.h"
#include "base/utf8.h"
#include "err/messages.h"
#include "model/builder.h"
#include "model/limits.h"
#include "wire/value_json.h"

enum { COLUMNS_MAX = 4096 };

/* One row: fields as slices of the window, or of the arena if they had doubled quotes. */
struct row_fields {
    struct str *fields;
    size_t count;
};

static char delimiter_of(const struct record_reader *reader)
{
    return reader->options->delimiter == 0 ? ',' : reader->options->delimiter;
}

/* --- the extent of a row --- */

/* Finds the end of the row, behind its line feed; line feeds inside quotes are part of it. False:
 * there is no end in `text`. *quoted is kept from call to call, like *searched. */
static bool find_end(struct str text, size_t *searched, bool *quoted)
{
    for (size_t i = *searched; i < text.len; i++) {
        char c = text.data[i];
        if (c == '"') {
            *quoted = !*quoted;
        } else if (c == '\n' && !*quoted) {
            *searched = i + 1;
            return true;
        }
    }
    *searched = text.len;
    return false;
}

static bool find_row(struct window *window, size_t *out_len, bool *out_quoted, struct err *err)
{
    size_t searched = 0;
    *out_quoted = false;
    while (!find_end(window_text(window), &searched, out_quoted) && !window->is_end) {
        if (!window_fill(window, err)) {
            return false;
        }
    }
    *out_len = searched;
    return true;
}

static struct str without_line_end(struct str row)
{
    if (row.len > 0 && row.data[row.len - 1] == '\n') {
        row.len--;
    }
    if (row.len > 0 && row.data[row.len - 1] == '\r') {
        row.len--;
    }
    return row;
}

/* --- fields --- */

/* Copies the text of a field in quotes, `len` bytes without the second one of each two quotes. */
static struct str without_doubles(struct arena *arena, struct str text, size_t len)
{
    char *copy = arena_bytes(arena, len);
    size_t count = 0;
    for (size_t i = 0; i < text.len; i++) {
        copy[count++] = text.data[i];
        i += text.data[i] == '"';
    }
    assert(count == len);
    return str_make(copy, len);
}

/* Takes a field in quotes off the front of *rest, which starts with the quote. False: no closing
 * quote, or something behind it. */
static bool take_quoted(struct str *rest, char delimiter, struct arena *arena, struct str *out)
{
    size_t doubles = 0;
    size_t at = 1;
    for (; at < rest->len; at++) {
        bool is_quote = rest->data[at] == '"';
        bool is_double = is_quote && at + 1 < rest->len && rest->data[at + 1] == '"';
        if (is_quote && !is_double) {
            break;
        }
        doubles += is_double;
        at += is_double;
    }
    if (at >= rest->len || (at + 1 < rest->len && rest->data[at + 1] != delimiter)) {
        return false;
    }
    struct str text = str_make(rest->data + 1, at - 1);
    *out = doubles == 0 ? text : without_doubles(arena, text, text.len - doubles);
    *rest = str_skip(*rest, at + 1);
    return true;
}

/* False: a quote inside a field that does not start with one. */
static bool take_plain(struct str *rest, char delimiter, struct str *out)
{
    const char *end = rest->len == 0 ? NULL : memchr(rest->data, delimiter, rest->len);
    size_t len = end == NULL ? rest->len : (size_t)(end - rest->data);
    *out = str_make(rest->data, len);
    *rest = str_skip(*rest, len);
    return len == 0 || memchr(out->data, '"', len) == NULL;
}

/* Splits a row into at most `max` fields, and one more if there are too many. */
static bool split_row(struct str row, char delimiter, size_t max, struct arena *arena,
                      struct row_fields *out)
{
    size_t room = MIN(max, row.len) + 1; /* a row of n bytes has at most n + 1 fields */
    *out = (struct row_fields){.fields = ARENA_ARRAY(arena, struct str, room)};
    struct str rest = row;
    for (;;) {
        struct str *field = &out->fields[out->count++];
        bool ok = rest.len > 0 && rest.data[0] == '"' ? take_quoted(&rest, delimiter, arena, field)
                                                      : take_plain(&rest, delimiter, field);
        if (!ok) {
            return false;
        }
        if (rest.len == 0 || out->count > max) {
            return true;
        }
        rest = str_skip(rest, 1);
    }
}

/* --- rows --- */

/* Reads the next row that is not empty; RECORD_ITEM: it is in *out_fields, and *out_len is its
 * length in the window. */
static enum record_result next_row(struct record_reader *reader, struct arena *arena,
                                   struct row_fields *out_fields, size_t *out_len,
                                   struct record *out, struct err *err)
{
    struct window *window = &reader->window;
    for (;;) {
        bool is_quoted;
        if (!find_row(window, out_len, &is_quoted, err)) {
            return record_end_failed(out, err);
        }
        if (*out_len == 0) {
            return RECORD_END;
        }
        struct str row = without_line_end(str_make(window_text(window).data, *out_len));
        if (row.len == 0) {
            window_take(window, *out_len);
            continue;
        }
        size_t max = reader->headers == NULL ? (size_t)COLUMNS_MAX : reader->header_count;
        if (is_quoted || !split_row(row, delimiter_of(reader), max, arena, out_fields)) {
            record_bad(arena, out,
                       MESSAGE_BAD_RECORD "a quote is not closed, or stands inside a field");
            return RECORD_BROKEN;
        }
        return RECORD_ITEM;
    }
}

enum record_result read_csv_header(struct record_reader *reader, struct arena *arena,
                                   struct record *out, struct err *err)
{
    struct row_fields row;
    size_t len;
    (void)arena;
    enum record_result result = next_row(reader, &reader->arena, &row, &len, out, err);
    if (result != RECORD_ITEM) {
        return result;
    }
    struct str *names = ARENA_ARRAY(&reader->arena, struct str, row.count);
    for (size_t i = 0; i < row.count; i++) {
        names[i] = arena_copy(&reader->arena, row.fields[i]);
        if (!utf8_is_valid(names[i]) || names[i].len > ATTRIBUTE_NAME_BYTES_MAX ||
            row.count > COLUMNS_MAX) {
            out->error = STR("Unable to parse the header of the object");
            return RECORD_BROKEN;
        }
    }
    reader->headers = names;
    reader->header_count = row.count;
    window_take(&reader->window, len);
    return RECORD_ITEM;
}

/* --- values --- */

static bool add_number(struct builder *builder, struct str text, struct arena *arena,
                       struct record *out)
{
    struct number number;
    enum number_status status = number_parse(text, &number);
    if (status == NUMBER_OK) {
        builder_add_number(builder, number_str(&number));
        return true;
    }
    struct value_problem problem = {.fault = FAULT_NUMBER, .type = VALUE_N, .text = text};
    out->error = arena_copy(arena, value_problem_text(&problem, WORDING_OLDER, arena));
    return false;
}

static bool add_binary(struct builder *builder, struct str text, struct arena *arena,
                       struct record *out)
{
    char *bytes = arena_bytes(arena, BASE64_DECODED_MAX(text.len) + 1);
    size_t len;
    if (!base64_decode(text, bytes, &len)) {
        record_bad(arena, out, "The value of a binary key attribute is not base64");
        return false;
    }
    builder_add_binary(builder, str_make(bytes, len));
    return true;
}

static bool add_field(struct record_reader *reader, struct builder *builder, size_t column,
                      struct str text, struct arena *arena, struct record *out)
{
    const struct table *table = reader->options->table;
    struct str name = reader->headers[column];
    enum value_type type = table == NULL ? VALUE_S : table_definition(table, name);
    builder_add_key(builder, name);
    if (!utf8_is_valid(text)) {
        record_bad(arena, out, "The record is not valid UTF-8");
        return false;
    }
    if (type == VALUE_N) {
        return add_number(builder, text, arena, out);
    }
    if (type == VALUE_B) {
        return add_binary(builder, text, arena, out);
    }
    builder_add_string(builder, text);
    return true;
}

static enum record_result make_item(struct record_reader *reader, const struct row_fields *row,
                                    struct arena *arena, struct record *out)
{
    struct builder builder;
    uint32_t count = 0;
    if (row->count > reader->header_count) {
        return record_bad(arena, out, "The record has more fields than the header, which has %zu",
                          reader->header_count);
    }
    builder_init(&builder, arena, 0);
    size_t open = builder_open(&builder, VALUE_M);
    for (size_t i = 0; i < row->count; i++) {
        if (row->fields[i].len == 0 || reader->headers[i].len == 0) {
            continue;
        }
        if (!add_field(reader, &builder, i, row->fields[i], arena, out)) {
            return RECORD_BAD;
        }
        count++;
    }
    builder_close_map(&builder, open, count);
    out->item = builder_finish(&builder);
    return RECORD_ITEM;
}

enum record_result read_csv_record(struct record_reader *reader, struct arena *arena,
                                   struct record *out, struct err *err)
{
    struct row_fields row;
    size_t len;
    enum record_result result = next_row(reader, arena, &row, &len, out, err);
    if (result != RECORD_ITEM) {
        return result;
    }
    result = make_item(reader, &row, arena, out);
    window_take(&reader->window, len);
    return result;
}
