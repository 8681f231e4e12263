/* Reads and writes attribute values as JSON. Reading builds values directly, without an
 * intermediate tree. Called for every request and answer with items. */
#include "wire/value_json.h"

#include "base/base64.h"
#include "json/writer.h"
#include "model/limits.h"
#include "wire/serialization_internal.h"

static bool complain(struct value_reader *reader, struct str complaint)
{
    if (str_is_null(reader->complaint) && reader->json->mistake == NULL) {
        reader->complaint = complaint;
    }
    return false;
}

static void find_problem(struct value_reader *reader, struct value_problem problem)
{
    if (reader->problem.fault == FAULT_NONE) {
        reader->problem = problem;
    }
}

static void find_fault(struct value_reader *reader, enum value_fault fault)
{
    find_problem(reader, (struct value_problem){.fault = fault});
}

/* Reads a string; if another kind of value follows, sets the message. */
static bool read_text(struct value_reader *reader, struct json_string *out)
{
    if (json_peek(reader->json) == JSON_STRING) {
        return json_read_string(reader->json, out);
    }
    return complain(reader, serialization_scalar(reader->json, "String"));
}

static bool read_string(struct value_reader *reader)
{
    struct json_string text;
    if (!read_text(reader, &text)) {
        return false;
    }
    builder_add_text(&reader->builder, text.text, text.plain);
    return true;
}

static bool read_number(struct value_reader *reader)
{
    struct json_string text;
    if (!read_text(reader, &text)) {
        return false;
    }
    struct number number;
    enum number_status status = number_parse(text.text, &number);
    if (status == NUMBER_OK) {
        builder_add_number(&reader->builder, number_str(&number));
        return true;
    }
    find_problem(reader, (struct value_problem){.fault = FAULT_NUMBER, .text = text.text});
    builder_add_null(&reader->builder);
    return true;
}

static bool is_base64(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '/';
}

static struct str first_character(struct str text)
{
    size_t len = 1;
    while (len < text.len && ((unsigned char)text.data[len] & 0xC0) == 0x80) {
        len++;
    }
    return str_make(text.data, len);
}

/* Whether the last character before the padding has bits that must be zero. The length is a
 * multiple of 4. */
static bool has_bad_end(struct str text)
{
    size_t padding = text.data[text.len - 1] != '=' ? 0 : text.data[text.len - 2] != '=' ? 1 : 2;
    char last = text.data[text.len - 1 - padding];
    char group[] = {'A', padding == 2 ? last : 'A', padding == 2 ? '=' : last, '='};
    char bytes[BASE64_DECODED_MAX(sizeof(group))];
    size_t len;
    return padding > 0 && is_base64(last) &&
           !base64_decode(str_make(group, sizeof(group)), bytes, &len);
}

static bool complain_of_base64(struct value_reader *reader, struct str text)
{
    struct arena *arena = reader->json->arena;
    if (text.len % 4 != 0) {
        return complain(reader, arena_format(arena,
                                             "Base64 encoded length is expected a multiple of 4 "
                                             "bytes but found: %zu",
                                             text.len));
    }
    for (size_t i = 0; i < text.len && !has_bad_end(text); i++) {
        struct str rest = str_skip(text, i);
        bool padding = rest.data[0] == '=' && (rest.len == 1 || rest.data[1] == '=');
        if (!is_base64(rest.data[0]) && !padding) {
            struct str first = first_character(rest);
            return complain(
                reader, arena_format(arena, "Invalid Base64 character: '%.*s'", STR_ARG(first)));
        }
    }
    return complain(reader, STR("Invalid last non-pad Base64 character dectected"));
}

static bool complain_of_blob(struct value_reader *reader)
{
    switch (json_peek(reader->json)) {
    case JSON_ARRAY:
        return complain(reader, STR("Unrecognized collection type class java.nio.ByteBuffer"));
    case JSON_OBJECT:
        return complain(reader, STR(START_OF_STRUCTURE));
    case JSON_BAD:
        return false;
    default:
        return complain(reader, STR("only base-64-encoded strings are convertible to bytes"));
    }
}

static bool read_binary(struct value_reader *reader)
{
    struct json_string text;
    if (json_peek(reader->json) != JSON_STRING) {
        return complain_of_blob(reader);
    }
    if (!json_read_string(reader->json, &text)) {
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

static bool read_bool_or_null(struct value_reader *reader, enum value_type type)
{
    bool truth;
    if (json_peek(reader->json) != JSON_BOOL) {
        return complain(reader, serialization_scalar(reader->json, "Boolean"));
    }
    if (!json_read_bool(reader->json, &truth)) {
        return false;
    }
    if (type == VALUE_BOOL) {
        builder_add_bool(&reader->builder, truth);
        return true;
    }
    if (!truth) {
        find_fault(reader, FAULT_NULL_FALSE);
    }
    builder_add_null(&reader->builder);
    return true;
}

static bool enter_list(struct value_reader *reader)
{
    if (json_peek(reader->json) == JSON_ARRAY) {
        return json_enter_array(reader->json);
    }
    return complain(reader, serialization_list(reader->json, PLACE_MEMBER));
}

static bool read_set_element(struct value_reader *reader, enum value_type type)
{
    if (json_peek(reader->json) == JSON_NULL) {
        find_problem(reader, (struct value_problem){.fault = FAULT_NULL_MEMBER, .type = type});
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
    bool clean = reader->problem.fault == FAULT_NONE;
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
    struct value_problem problem = {
        .fault = count == 0 ? FAULT_EMPTY_SET : FAULT_DUPLICATES,
        .type = type,
        .text = str_make(start, (size_t)(reader->json->at - start)),
    };
    bool members_fit = clean && reader->problem.fault == FAULT_NONE;
    if (count == 0 || !members_fit || !builder_close_set(&reader->builder, open, count)) {
        find_problem(reader, problem);
        reader->builder.len = open; /* unusable */
        builder_add_null(&reader->builder);
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
        if (!value_json_read(reader, level + 1, PLACE_ELEMENT)) {
            return false;
        }
        count++;
    }
    builder_close_list(&reader->builder, open, count);
    return reader->json->mistake == NULL;
}

/* Checks a name. Names of an item itself are checked before its values, and lengths of all names
 * before everything else. */
static void find_bad_name(struct value_reader *reader, struct str name, int level)
{
    enum value_fault fault = name.len == 0 ? FAULT_EMPTY_NAME : FAULT_LONG_NAME;
    if (reader->problem.fault != FAULT_LONG_NAME && (level == 0 || fault == FAULT_LONG_NAME)) {
        reader->problem = (struct value_problem){.fault = fault};
    } else {
        find_fault(reader, fault);
    }
}

/* `level` 0 is an item; `place` is the position of the map, for messages. */
static bool read_map(struct value_reader *reader, int level, enum wire_place place)
{
    if (json_peek(reader->json) != JSON_OBJECT) {
        return complain(reader,
                        serialization_map(reader->json,
                                          "java.util.Map<java.lang.String, " AWS "AttributeValue>",
                                          place));
    }
    if (!json_enter_object(reader->json)) {
        return false;
    }
    size_t open = builder_open(&reader->builder, VALUE_M);
    uint32_t count = 0;
    struct json_string name;
    while (json_next_member(reader->json, &name)) {
        if (UNLIKELY(name.text.len == 0 || name.text.len > ATTRIBUTE_NAME_BYTES_MAX)) {
            find_bad_name(reader, name.text, level);
        }
        builder_add_name(&reader->builder, name.text, name.plain);
        if (!value_json_read(reader, level + 1, PLACE_ELEMENT)) {
            return false;
        }
        count++;
    }
    if (reader->json->mistake != NULL) {
        return false;
    }
    if (level > VALUE_LEVELS_MAX) {
        /* Unusable, and reported as FAULT_NESTED or an earlier fault: not sorted, because every
         * level would move the bytes of all inner ones. */
        builder_close_list(&reader->builder, open, count);
    } else {
        builder_close_map(&reader->builder, open, count);
    }
    return true;
}

/* Reads the value after {"S": and the like. */
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
        return read_map(reader, level, PLACE_MEMBER);
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

bool value_json_read(struct value_reader *reader, int level, enum wire_place place)
{
    if (json_peek(reader->json) == JSON_NULL) {
        find_fault(reader, FAULT_EMPTY);
        builder_add_null(&reader->builder);
        return json_read_null(reader->json);
    }
    if (json_peek(reader->json) != JSON_OBJECT) {
        return complain(reader, serialization_struct(reader->json, "AttributeValue", place));
    }
    if (!json_enter_object(reader->json)) {
        return false;
    }
    if (level > VALUE_LEVELS_MAX) {
        find_fault(reader, FAULT_NESTED);
    }
    size_t start = reader->builder.len;
    unsigned types = 0;
    struct json_string name;
    while (json_next_member(reader->json, &name)) {
        enum value_type type = value_type_from_name(name.text);
        if (type == VALUE_NONE || json_peek(reader->json) == JSON_NULL) {
            if (!json_skip(reader->json)) {
                return false;
            }
            continue;
        }
        reader->builder.len = start; /* replaces the previous one; a second type is refused below */
        if (!read_typed(reader, type, level)) {
            return false;
        }
        types |= 1u << type;
    }
    if (reader->json->mistake != NULL) {
        return false;
    }
    if (types == 0) {
        find_fault(reader, FAULT_EMPTY);
        builder_add_null(&reader->builder);
    } else if ((types & (types - 1)) != 0) {
        find_fault(reader, FAULT_TWO_TYPES);
    }
    return true;
}

bool value_json_read_item(struct value_reader *reader, enum wire_place place)
{
    return read_map(reader, 0, place);
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

/* Most attributes are strings without escapes: writes them in one piece. */
static void write_plain_text(struct buf *out, struct str name, struct str text)
{
    static const char middle[] = "\":{\"S\":\"";
    enum { MIDDLE = sizeof(middle) - 1, END = 3 };
    char *at = buf_reserve(out, 1 + name.len + MIDDLE + text.len + END);
    *at = '"';
    memcpy(at + 1, name.data, name.len);
    at += 1 + name.len;
    memcpy(at, middle, MIDDLE);
    memcpy(at + MIDDLE, text.data, text.len);
    at += MIDDLE + text.len;
    memcpy(at, "\"},", END);
    buf_added(out, 1 + name.len + MIDDLE + text.len + END);
}

static void write_attribute(struct buf *out, struct value_name name, struct value value)
{
    if (LIKELY(name.plain)) {
        json_write_plain_string(out, name.text);
    } else {
        json_write_string(out, name.text);
    }
    buf_add_char(out, ':');
    value_json_write(out, value);
    buf_add_char(out, ',');
}

void value_json_write_item(struct buf *out, struct value item)
{
    struct value_iter iter = value_iter(item);
    struct value_name name;
    struct value value;
    buf_add_char(out, '{');
    size_t start = out->len;
    while (value_next_entry(&iter, &name, &value)) {
        if (name.plain && value_type(value) == VALUE_S && value_flag(value)) {
            write_plain_text(out, name.text, value_bytes(value));
        } else {
            write_attribute(out, name, value);
        }
    }
    out->len -= out->len > start; /* the last comma */
    buf_add_char(out, '}');
}
