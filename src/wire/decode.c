#include "wire/shape.h"

/* One request while it is read. */
struct decoder {
    struct arena *arena;
    struct json_reader json;
    const char *complaint;
};

static bool decode(struct decoder *d, const struct shape *shape, void *out);

size_t shape_kept_size(const struct shape *shape)
{
    switch (shape->kind) {
    case SHAPE_STRING:
        return sizeof(struct str);
    case SHAPE_ENUM:
        return sizeof(struct wire_enum);
    case SHAPE_BOOL:
        return sizeof(struct wire_bool);
    case SHAPE_INTEGER:
    case SHAPE_LONG:
        return sizeof(struct wire_int);
    case SHAPE_STRUCT:
        return sizeof(void *);
    case SHAPE_LIST:
        return sizeof(struct wire_list);
    case SHAPE_MAP:
        return sizeof(struct wire_map);
    case SHAPE_VALUE:
        return sizeof(struct wire_value);
    case SHAPE_ITEM:
        return sizeof(struct wire_item);
    }
    return 0;
}

static bool complain(struct decoder *d, const char *complaint)
{
    if (d->complaint == NULL && d->json.mistake == NULL) {
        d->complaint = complaint;
    }
    return false;
}

/* A scalar of another kind than the one that is wanted, e.g. "String". */
static bool complain_of_scalar(struct decoder *d, const char *wanted)
{
    bool truth = false;
    const char *found = "STRING_VALUE";
    switch (json_peek(&d->json)) {
    case JSON_ARRAY:
        return complain(
            d,
            arena_format(d->arena, "Unrecognized collection type class java.lang.%s", wanted).data);
    case JSON_OBJECT:
        return complain(d, "Start of structure or map found where not expected");
    case JSON_NUMBER:
        found = "NUMBER_VALUE";
        break;
    case JSON_BOOL:
        if (!json_read_bool(&d->json, &truth)) {
            return false;
        }
        found = truth ? "TRUE_VALUE" : "FALSE_VALUE";
        break;
    case JSON_STRING:
    case JSON_NULL:
        break;
    case JSON_BAD:
        return false;
    }
    return complain(d, arena_format(d->arena, "%s cannot be converted to %s", found, wanted).data);
}

static bool decode_text(struct decoder *d, struct str *out)
{
    struct json_string text;
    if (json_peek(&d->json) != JSON_STRING) {
        return complain_of_scalar(d, "String");
    }
    if (!json_read_string(&d->json, &text)) {
        return false;
    }
    *out = text.text;
    return true;
}

static bool decode_enum(struct decoder *d, const struct shape *shape, struct wire_enum *out)
{
    if (!decode_text(d, &out->text)) {
        return false;
    }
    out->value = -1;
    for (int i = 0; shape->values[i] != NULL; i++) {
        if (str_eq(out->text, str_from_c(shape->values[i]))) {
            out->value = i;
        }
    }
    return true;
}

static bool decode_bool(struct decoder *d, struct wire_bool *out)
{
    out->given = true;
    switch (json_peek(&d->json)) {
    case JSON_BOOL:
        return json_read_bool(&d->json, &out->value);
    case JSON_STRING:
        return complain(d, "Unexpected token received from parser");
    default:
        return complain_of_scalar(d, "Boolean");
    }
}

/* JSON's number as the service takes it for an integer: the fraction is cut off, and what does not
 * fit becomes the largest that does. */
static int64_t whole_part(struct str text, int64_t largest)
{
    struct number number;
    enum number_status status = number_parse(text, &number);
    int64_t sign = text.data[0] == '-' ? -1 : 1;
    if (status == NUMBER_UNDERFLOW) {
        return 0;
    }
    if (status == NUMBER_OVERFLOW) {
        return sign * largest;
    }
    char digits[NUMBER_TEXT_MAX];
    struct str whole = text;
    if (status == NUMBER_OK) {
        whole = str_make(digits, number_format(number_str(&number), digits));
    }
    size_t len = 0;
    while (len < whole.len && whole.data[len] != '.' && whole.data[len] != 'e' &&
           whole.data[len] != 'E') {
        len++;
    }
    int64_t value;
    if (!str_to_int64(str_make(whole.data, len), &value)) {
        return sign * largest;
    }
    return MAX(-largest, MIN(value, largest));
}

static bool decode_int(struct decoder *d, const struct shape *shape, struct wire_int *out)
{
    bool is_long = shape->kind == SHAPE_LONG;
    struct str text;
    if (json_peek(&d->json) != JSON_NUMBER) {
        return complain_of_scalar(d, is_long ? "Long" : "Integer");
    }
    if (!json_read_number(&d->json, &text)) {
        return false;
    }
    out->given = true;
    out->value = whole_part(text, is_long ? INT64_MAX : INT32_MAX);
    return true;
}

/* Elements gather in doubling arrays of the arena. */
static void *grow(struct decoder *d, void *array, size_t count, size_t size)
{
    if (count != 0 && (count & (count - 1)) != 0) {
        return array;
    }
    char *bigger = arena_zalloc(d->arena, MAX(count * 2, (size_t)1) * size);
    if (count > 0) {
        memcpy(bigger, array, count * size);
    }
    return bigger;
}

static bool decode_list(struct decoder *d, const struct shape *shape, struct wire_list *out)
{
    switch (json_peek(&d->json)) {
    case JSON_ARRAY:
        break;
    case JSON_OBJECT:
        return complain(d, "Start of structure or map found where not expected");
    case JSON_BAD:
        return false;
    default:
        return complain(d, "Unexpected field type");
    }
    if (!json_enter_array(&d->json)) {
        return false;
    }
    size_t size = shape_kept_size(shape->element);
    *out = (struct wire_list){.given = true};
    while (json_next_element(&d->json)) {
        out->elements = grow(d, out->elements, out->count, size);
        if (!decode(d, shape->element, (char *)out->elements + out->count * size)) {
            return false;
        }
        out->count++;
    }
    return d->json.mistake == NULL;
}

static bool enter_object(struct decoder *d, const struct shape *shape)
{
    switch (json_peek(&d->json)) {
    case JSON_OBJECT:
        return json_enter_object(&d->json);
    case JSON_ARRAY:
        return complain(
            d,
            arena_format(d->arena, "Unrecognized collection type %s%s",
                         shape->kind == SHAPE_MAP ? "" : "class com.amazonaws.dynamodb.v20120810.",
                         shape->java)
                .data);
    case JSON_BAD:
        return false;
    default:
        return complain(d, "Unexpected field type");
    }
}

/* Where the value of a name goes: over an earlier one of the same name, or to the end. */
static size_t map_slot(const struct wire_map *map, struct str name)
{
    for (size_t i = 0; i < map->count; i++) {
        if (str_eq(map->names[i], name)) {
            return i;
        }
    }
    return map->count;
}

static bool decode_map(struct decoder *d, const struct shape *shape, struct wire_map *out)
{
    if (!enter_object(d, shape)) {
        return false;
    }
    size_t size = shape_kept_size(shape->element);
    *out = (struct wire_map){.given = true};
    struct json_string name;
    while (json_next_member(&d->json, &name)) {
        /* Long maps are refused later; looking for doubles in them would take too long. */
        size_t slot = out->count < 1024 ? map_slot(out, name.text) : out->count;
        if (slot == out->count) {
            out->names = grow(d, out->names, out->count, sizeof(*out->names));
            out->values = grow(d, out->values, out->count, size);
            out->count++;
        }
        out->names[slot] = name.text;
        char *value = (char *)out->values + slot * size;
        memset(value, 0, size);
        if (!decode(d, shape->element, value)) {
            return false;
        }
    }
    return d->json.mistake == NULL;
}

static const struct field *find_field(const struct shape *shape, struct str name)
{
    for (const struct field *field = shape->fields; field->name != NULL; field++) {
        if (strlen(field->name) == name.len && memcmp(field->name, name.data, name.len) == 0) {
            return field;
        }
    }
    return NULL;
}

static bool decode_members(struct decoder *d, const struct shape *shape, char *out)
{
    struct json_string name;
    while (json_next_member(&d->json, &name)) {
        const struct field *field = find_field(shape, name.text);
        bool good =
            field == NULL ? json_skip(&d->json) : decode(d, field->shape, out + field->offset);
        if (!good) {
            return false;
        }
    }
    return d->json.mistake == NULL;
}

static bool decode_struct(struct decoder *d, const struct shape *shape, void **out)
{
    *out = arena_zalloc(d->arena, shape->size);
    return enter_object(d, shape) && decode_members(d, shape, *out);
}

/* The flat form is hardly ever longer than the JSON that is left. */
static void start_value(struct decoder *d, struct value_reader *reader)
{
    *reader = (struct value_reader){.json = &d->json};
    builder_init(&reader->builder, d->arena, (size_t)(d->json.end - d->json.at) * 9 / 8 + 16);
}

static bool decode_value(struct decoder *d, struct wire_value *out)
{
    struct value_reader reader;
    start_value(d, &reader);
    if (!value_json_read(&reader, 1)) {
        return complain(d, reader.complaint);
    }
    *out = (struct wire_value){.value = builder_finish(&reader.builder), .problem = reader.problem};
    return true;
}

static bool decode_item(struct decoder *d, struct wire_item *out)
{
    struct value_reader reader;
    start_value(d, &reader);
    if (!value_json_read_item(&reader)) {
        return complain(d, reader.complaint);
    }
    *out = (struct wire_item){
        .given = true, .value = builder_finish(&reader.builder), .problem = reader.problem};
    return true;
}

static bool decode(struct decoder *d, const struct shape *shape, void *out)
{
    if (json_peek(&d->json) == JSON_NULL && shape->kind != SHAPE_VALUE) {
        return json_read_null(&d->json);
    }
    switch (shape->kind) {
    case SHAPE_STRING:
        return decode_text(d, out);
    case SHAPE_ENUM:
        return decode_enum(d, shape, out);
    case SHAPE_BOOL:
        return decode_bool(d, out);
    case SHAPE_INTEGER:
    case SHAPE_LONG:
        return decode_int(d, shape, out);
    case SHAPE_STRUCT:
        return decode_struct(d, shape, out);
    case SHAPE_LIST:
        return decode_list(d, shape, out);
    case SHAPE_MAP:
        return decode_map(d, shape, out);
    case SHAPE_VALUE:
        return decode_value(d, out);
    case SHAPE_ITEM:
        return decode_item(d, out);
    }
    return false;
}

bool wire_decode(struct arena *arena, const struct shape *shape, struct str body, void *out,
                 struct err *err)
{
    struct decoder d = {.arena = arena};
    json_reader_init(&d.json, arena, body);
    memset(out, 0, shape->size);
    if (json_peek(&d.json) == JSON_OBJECT && json_enter_object(&d.json) &&
        decode_members(&d, shape, out) && json_at_end(&d.json)) {
        return true;
    }
    return err_set(err, ERR_SERIALIZATION, "%s", d.complaint == NULL ? "" : d.complaint);
}
