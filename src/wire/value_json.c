/* The texts of SerializationException name Java's types, because the service is written in it. */
#include "wire/value_json.h"

#include "base/base64.h"
#include "json/writer.h"

static bool complain(struct value_reader *reader, const char *complaint)
{
    if (reader->complaint == NULL && reader->json->mistake == NULL) {
        reader->complaint = complaint;
    }
    return false;
}

static void find_problem(struct value_reader *reader, bool enveloped, struct str message)
{
    if (str_is_null(reader->problem.message)) {
        reader->problem = (struct value_problem){.message = message, .enveloped = enveloped};
    }
}

/* Reads a string where one is needed; else says what was found instead. */
static bool read_text(struct value_reader *reader, struct json_string *out, bool blob)
{
    bool truth;
    switch (json_peek(reader->json)) {
    case JSON_STRING:
        return json_read_string(reader->json, out);
    case JSON_NUMBER:
        return complain(reader, blob ? "NUMBER_VALUE cannot be converted to ByteBuffer"
                                     : "NUMBER_VALUE cannot be converted to String");
    case JSON_BOOL:
        if (!json_read_bool(reader->json, &truth)) {
            return false;
        }
        if (blob) {
            return complain(reader, truth ? "TRUE_VALUE cannot be converted to ByteBuffer"
                                          : "FALSE_VALUE cannot be converted to ByteBuffer");
        }
        return complain(reader, truth ? "TRUE_VALUE cannot be converted to String"
                                      : "FALSE_VALUE cannot be converted to String");
    case JSON_ARRAY:
        return complain(reader, blob ? "Unrecognized collection type class java.nio.ByteBuffer"
                                     : "Unrecognized collection type class java.lang.String");
    case JSON_OBJECT:
        return complain(reader, "Start of structure or map found where not expected");
    case JSON_NULL:
    case JSON_BAD:
        break;
    }
    return false;
}

static bool read_string(struct value_reader *reader)
{
    struct json_string text;
    if (!read_text(reader, &text, false)) {
        return false;
    }
    builder_add_text(&reader->builder, text.text, text.plain);
    return true;
}

static bool read_number(struct value_reader *reader)
{
    struct json_string text;
    if (!read_text(reader, &text, false)) {
        return false;
    }
    struct number number;
    enum number_status status = number_parse(text.text, &number);
    if (status == NUMBER_OK) {
        builder_add_number(&reader->builder, number_str(&number));
        return true;
    }
    if (status != NUMBER_BAD_TEXT) {
        find_problem(reader, false, str_from_c(number_status_text(status)));
    } else if (text.text.len == 0) {
        find_problem(reader, false, STR("The parameter cannot be converted to a numeric value"));
    } else {
        find_problem(reader, false,
                     arena_format(reader->json->arena,
                                  "The parameter cannot be converted to a numeric value: %.*s",
                                  STR_ARG(text.text)));
    }
    builder_add_null(&reader->builder);
    return true;
}

static bool complain_of_base64(struct value_reader *reader, struct str text)
{
    struct arena *arena = reader->json->arena;
    if (text.len % 4 != 0) {
        return complain(reader,
                        arena_format(arena,
                                     "Base64 encoded length is expected a multiple of 4 bytes but "
                                     "found: %zu",
                                     text.len)
                            .data);
    }
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '+' || c == '/';
        bool padding = c == '=' && (i + 1 == text.len || text.data[i + 1] == '=');
        if (!letter && !padding) {
            return complain(reader, arena_format(arena, "Invalid Base64 character: '%c'", c).data);
        }
    }
    return complain(reader, "Invalid last non-pad Base64 character dectected");
}

static bool read_binary(struct value_reader *reader)
{
    struct json_string text;
    if (!read_text(reader, &text, true)) {
        return false;
    }
    size_t size = BASE64_DECODED_MAX(text.text.len);
    char *bytes = arena_bytes(reader->json->arena, size);
    size_t len;
    if (!base64_decode(text.text, bytes, &len)) {
        return complain_of_base64(reader, text.text);
    }
    builder_add_binary(&reader->builder, str_make(bytes, len));
    arena_trim(reader->json->arena, bytes, size, 0);
    return true;
}

static bool read_boolean(struct value_reader *reader, bool *out)
{
    switch (json_peek(reader->json)) {
    case JSON_BOOL:
        return json_read_bool(reader->json, out);
    case JSON_NUMBER:
        return complain(reader, "NUMBER_VALUE cannot be converted to Boolean");
    case JSON_STRING:
        return complain(reader, "Unexpected token received from parser");
    case JSON_ARRAY:
        return complain(reader, "Unrecognized collection type class java.lang.Boolean");
    case JSON_OBJECT:
        return complain(reader, "Start of structure or map found where not expected");
    case JSON_NULL:
    case JSON_BAD:
        break;
    }
    return false;
}

static bool read_bool_or_null(struct value_reader *reader, enum value_type type)
{
    bool truth;
    if (!read_boolean(reader, &truth)) {
        return false;
    }
    if (type == VALUE_BOOL) {
        builder_add_bool(&reader->builder, truth);
        return true;
    }
    if (!truth) {
        find_problem(reader, true,
                     STR("One or more parameter values were invalid: Null attribute value types "
                         "must have the value of true"));
    }
    builder_add_null(&reader->builder);
    return true;
}

static bool enter_list(struct value_reader *reader)
{
    switch (json_peek(reader->json)) {
    case JSON_ARRAY:
        return json_enter_array(reader->json);
    case JSON_OBJECT:
        return complain(reader, "Start of structure or map found where not expected");
    case JSON_BAD:
        return false;
    default:
        return complain(reader, "Unexpected field type");
    }
}

static void find_empty_set(struct value_reader *reader, enum value_type type)
{
    static const char *const texts[] = {
        [VALUE_SS] = "One or more parameter values were invalid: An string set  may not be empty",
        [VALUE_NS] = "One or more parameter values were invalid: An number set  may not be empty",
        [VALUE_BS] = "One or more parameter values were invalid: Binary sets should not be empty",
    };
    find_problem(reader, true, str_from_c(texts[type]));
}

/* Prints the elements as they were sent: [b, a, a]. `source` is the JSON array's text. */
static void find_duplicates(struct value_reader *reader, enum value_type type, struct str source)
{
    if (type == VALUE_NS) {
        find_problem(reader, true, STR("Input collection contains duplicates"));
        return;
    }
    struct arena *arena = reader->json->arena;
    struct json_reader again;
    json_reader_init(&again, arena, source);
    struct str list = STR("");
    struct json_string element;
    bool more = json_enter_array(&again);
    while (more && json_next_element(&again) && json_read_string(&again, &element)) {
        list = arena_format(arena, "%.*s%s%.*s", STR_ARG(list), list.len > 0 ? ", " : "",
                            STR_ARG(element.text));
    }
    find_problem(reader, true,
                 arena_format(arena,
                              "One or more parameter values were invalid: Input collection "
                              "[%.*s]%s contains duplicates.",
                              STR_ARG(list), type == VALUE_BS ? "of type BS" : ""));
}

static bool read_set_element(struct value_reader *reader, enum value_type type)
{
    if (json_peek(reader->json) == JSON_NULL) {
        static const char *const kinds[] = {
            [VALUE_SS] = "string set  may not have a null string",
            [VALUE_NS] = "number set  may not have a null string",
            [VALUE_BS] = "binary set  may not have a null binary",
        };
        find_problem(reader, true,
                     arena_format(reader->json->arena,
                                  "One or more parameter values were invalid: An %s as a member",
                                  kinds[type]));
        builder_add_string(&reader->builder, STR(""));
        return json_read_null(reader->json);
    }
    switch (type) {
    case VALUE_SS:
        return read_string(reader);
    case VALUE_NS:
        return read_number(reader);
    default:
        return read_binary(reader);
    }
}

static bool read_set(struct value_reader *reader, enum value_type type)
{
    const char *start = reader->json->at;
    if (!enter_list(reader)) {
        return false;
    }
    struct str problem_before = reader->problem.message;
    size_t open = builder_open(&reader->builder, type);
    uint32_t count = 0;
    while (json_next_element(reader->json)) {
        if (!read_set_element(reader, type)) {
            return false;
        }
        count++;
    }
    if (reader->json->mistake != NULL) {
        return false;
    }
    if (count == 0) {
        find_empty_set(reader, type);
    }
    if (reader->problem.message.data != problem_before.data) { /* unfit: do not look closer */
        reader->builder.len = open;
        builder_add_null(&reader->builder);
    } else if (!builder_close_set(&reader->builder, open, count)) {
        find_duplicates(reader, type, str_make(start, (size_t)(reader->json->at - start)));
    }
    return true;
}

static bool read_list(struct value_reader *reader, int level)
{
    if (!enter_list(reader)) {
        return false;
    }
    size_t open = builder_open(&reader->builder, VALUE_L);
    uint32_t count = 0;
    while (json_next_element(reader->json)) {
        if (!value_json_read(reader, level + 1)) {
            return false;
        }
        count++;
    }
    builder_close_list(&reader->builder, open, count);
    return reader->json->mistake == NULL;
}

static bool read_map(struct value_reader *reader, int level)
{
    switch (json_peek(reader->json)) {
    case JSON_OBJECT:
        break;
    case JSON_ARRAY:
        return complain(reader, "Unrecognized collection type java.util.Map<java.lang.String, "
                                "com.amazonaws.dynamodb.v20120810.AttributeValue>");
    case JSON_BAD:
        return false;
    default:
        return complain(reader, "Unexpected field type");
    }
    if (!json_enter_object(reader->json)) {
        return false;
    }
    size_t open = builder_open(&reader->builder, VALUE_M);
    uint32_t count = 0;
    struct json_string name;
    while (json_next_member(reader->json, &name)) {
        builder_add_name(&reader->builder, name.text, name.plain);
        if (!value_json_read(reader, level + 1)) {
            return false;
        }
        count++;
    }
    if (reader->json->mistake != NULL) {
        return false;
    }
    builder_close_map(&reader->builder, open, count);
    return true;
}

/* What stands behind {"S": and its like. */
static bool read_typed(struct value_reader *reader, enum value_type type, int level)
{
    switch (type) {
    case VALUE_S:
        return read_string(reader);
    case VALUE_N:
        return read_number(reader);
    case VALUE_B:
        return read_binary(reader);
    case VALUE_SS:
    case VALUE_NS:
    case VALUE_BS:
        return read_set(reader, type);
    case VALUE_M:
        return read_map(reader, level);
    case VALUE_L:
        return read_list(reader, level);
    case VALUE_NULL:
    case VALUE_BOOL:
        return read_bool_or_null(reader, type);
    case VALUE_NONE:
    case VALUE_TYPE_COUNT:
        break;
    }
    return false;
}

static bool enter_value(struct value_reader *reader)
{
    switch (json_peek(reader->json)) {
    case JSON_OBJECT:
        return json_enter_object(reader->json);
    case JSON_ARRAY:
        return complain(reader, "Unrecognized collection type class "
                                "com.amazonaws.dynamodb.v20120810.AttributeValue");
    case JSON_BAD:
        return false;
    default:
        return complain(reader, "Unexpected value type in payload");
    }
}

static const char empty_text[] =
    "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes";

bool value_json_read(struct value_reader *reader, int level)
{
    if (json_peek(reader->json) == JSON_NULL) {
        find_problem(reader, false, STR(empty_text));
        builder_add_null(&reader->builder);
        return json_read_null(reader->json);
    }
    if (!enter_value(reader)) {
        return false;
    }
    if (level > VALUE_LEVELS_MAX) {
        find_problem(reader, false,
                     STR("Nesting Levels have exceeded supported limits: Attributes in the item "
                         "have nested levels beyond supported limit"));
    }
    size_t start = reader->builder.len;
    int type_count = 0;
    struct json_string name;
    while (json_next_member(reader->json, &name)) {
        enum value_type type = value_type_from_name(name.text);
        if (type == VALUE_NONE || json_peek(reader->json) == JSON_NULL) {
            if (!json_skip(reader->json)) {
                return false;
            }
            continue;
        }
        reader->builder.len = start; /* a second type replaces the first; it is refused below */
        if (!read_typed(reader, type, level)) {
            return false;
        }
        type_count++;
    }
    if (reader->json->mistake != NULL) {
        return false;
    }
    if (type_count == 0) {
        find_problem(reader, false, STR(empty_text));
        builder_add_null(&reader->builder);
    } else if (type_count > 1) {
        find_problem(reader, false,
                     STR("Supplied AttributeValue has more than one datatypes set, must contain "
                         "exactly one of the supported datatypes"));
    }
    return true;
}

bool value_json_read_item(struct value_reader *reader)
{
    return read_map(reader, 0);
}

static void write_text(struct buf *out, struct value value)
{
    if (LIKELY(value_flag(value))) {
        json_write_plain_string(out, value_bytes(value));
    } else {
        json_write_string(out, value_bytes(value));
    }
}

static void write_number(struct buf *out, struct value value)
{
    char *at = buf_reserve(out, NUMBER_TEXT_MAX + 2);
    at[0] = '"';
    size_t len = number_format(value_bytes(value), at + 1);
    at[len + 1] = '"';
    buf_added(out, len + 2);
}

static void write_set(struct buf *out, struct value set, enum value_type type)
{
    struct value_iter iter = value_iter(set);
    struct value element;
    char separator = '[';
    while (value_next(&iter, &element)) {
        buf_add_char(out, separator);
        separator = ',';
        if (type == VALUE_SS) {
            write_text(out, element);
        } else if (type == VALUE_NS) {
            write_number(out, element);
        } else {
            json_write_base64(out, value_bytes(element));
        }
    }
    buf_add_char(out, ']');
}

static void write_list(struct buf *out, struct value list)
{
    struct value_iter iter = value_iter(list);
    struct value element;
    buf_add_char(out, '[');
    for (bool first = true; value_next(&iter, &element); first = false) {
        if (!first) {
            buf_add_char(out, ',');
        }
        value_json_write(out, element);
    }
    buf_add_char(out, ']');
}

void value_json_write(struct buf *out, struct value value)
{
    enum value_type type = value_type(value);
    switch (type) {
    case VALUE_S:
        JSON_PUT(out, "{\"S\":");
        write_text(out, value);
        break;
    case VALUE_N:
        JSON_PUT(out, "{\"N\":");
        write_number(out, value);
        break;
    case VALUE_B:
        JSON_PUT(out, "{\"B\":");
        json_write_base64(out, value_bytes(value));
        break;
    case VALUE_SS:
    case VALUE_NS:
    case VALUE_BS:
        JSON_PUT(out, "{\"");
        buf_add(out, str_from_c(value_type_name(type)));
        JSON_PUT(out, "\":");
        write_set(out, value, type);
        break;
    case VALUE_M:
        JSON_PUT(out, "{\"M\":");
        value_json_write_item(out, value);
        break;
    case VALUE_L:
        JSON_PUT(out, "{\"L\":");
        write_list(out, value);
        break;
    case VALUE_NULL:
        JSON_PUT(out, "{\"NULL\":true");
        break;
    case VALUE_BOOL:
        JSON_PUT(out, "{\"BOOL\":");
        json_write_bool(out, value_flag(value));
        break;
    case VALUE_NONE:
    case VALUE_TYPE_COUNT:
        assert(false);
    }
    buf_add_char(out, '}');
}

void value_json_write_item(struct buf *out, struct value item)
{
    struct value_iter iter = value_iter(item);
    struct value_name name;
    struct value value;
    buf_add_char(out, '{');
    for (bool first = true; value_next_entry(&iter, &name, &value); first = false) {
        if (!first) {
            buf_add_char(out, ',');
        }
        if (LIKELY(name.plain)) {
            json_write_plain_string(out, name.text);
        } else {
            json_write_string(out, name.text);
        }
        buf_add_char(out, ':');
        value_json_write(out, value);
    }
    buf_add_char(out, '}');
}
