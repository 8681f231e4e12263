/* Fuzzes the JSON reader. Input: JSON text. Properties: json_skip() accepts the same texts as
 * reading value by value; a value that is written and read again is the same. */
#include "json/reader.h"

#include <stdlib.h>

#include "base/buf.h"
#include "json/writer.h"

static void require(bool truth)
{
    if (!truth) {
        abort();
    }
}

static void copy_value(struct json_reader *reader, struct buf *out);

static void copy_array(struct json_reader *reader, struct buf *out)
{
    buf_add_char(out, '[');
    bool first = true;
    for (bool more = json_enter_array(reader); more && json_next_element(reader); first = false) {
        buf_add(out, first ? STR("") : STR(","));
        copy_value(reader, out);
    }
    buf_add_char(out, ']');
}

static void copy_object(struct json_reader *reader, struct buf *out)
{
    struct json_string name;
    buf_add_char(out, '{');
    bool first = true;
    for (bool more = json_enter_object(reader); more && json_next_member(reader, &name);
         first = false) {
        buf_add(out, first ? STR("") : STR(","));
        json_write_string(out, name.text);
        buf_add_char(out, ':');
        copy_value(reader, out);
    }
    buf_add_char(out, '}');
}

static void copy_string(struct json_reader *reader, struct buf *out)
{
    struct json_string string;
    if (!json_read_string(reader, &string)) {
        return;
    }
    size_t start = out->len;
    json_write_string(out, string.text);
    require(!string.plain || out->len - start == string.text.len + 2);
}

/* Reads any value and writes it without white space. */
static void copy_value(struct json_reader *reader, struct buf *out)
{
    struct str number;
    bool truth;
    switch (json_peek(reader)) {
    case JSON_NULL:
        buf_add(out, json_read_null(reader) ? STR("null") : STR(""));
        break;
    case JSON_BOOL:
        if (json_read_bool(reader, &truth)) {
            json_write_bool(out, truth);
        }
        break;
    case JSON_NUMBER:
        if (json_read_number(reader, &number)) {
            buf_add(out, number);
        }
        break;
    case JSON_STRING:
        copy_string(reader, out);
        break;
    case JSON_ARRAY:
        copy_array(reader, out);
        break;
    case JSON_OBJECT:
        copy_object(reader, out);
        break;
    case JSON_BAD:
        require(!json_skip(reader));
        break;
    }
}

/* Returns whether the text was accepted, and writes the values that were read to *out. */
static bool copy_text(struct str text, struct buf *out)
{
    struct arena arena;
    arena_init(&arena);
    struct json_reader reader;
    json_reader_init(&reader, &arena, text);
    copy_value(&reader, out);
    bool accepted = json_at_end(&reader);
    arena_finish(&arena);
    return accepted;
}

static bool skip_text(struct str text)
{
    struct arena arena;
    arena_init(&arena);
    struct json_reader reader;
    json_reader_init(&reader, &arena, text);
    bool accepted = json_skip(&reader) && json_at_end(&reader);
    arena_finish(&arena);
    return accepted;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = str_make(data, size);
    struct buf once = {0};
    struct buf twice = {0};
    bool accepted = copy_text(text, &once);
    require(accepted == skip_text(text));
    if (accepted) {
        require(copy_text(buf_str(&once), &twice));
        require(str_eq(buf_str(&once), buf_str(&twice)));
    }
    buf_finish(&once);
    buf_finish(&twice);
    return 0;
}
