/* Prints parts of a request for messages, as Java's toString() does. Called by validate.c on the
 * thread of the request, only when the request is refused. */
#include "wire/print_internal.h"

#include "base/utf8.h"
#include "err/messages.h"

/* A printed text is cut at about this length. */
enum { PRINTED_MAX = 32 * 1024 };

static bool is_full(const struct buf *out)
{
    return out->len >= PRINTED_MAX;
}

static void print_text(struct buf *out, struct str text)
{
    buf_add(out, str_is_null(text) ? STR("null") : utf8_prefix(text, PRINTED_MAX));
}

/* Prints the name of an entry of a map. */
static void print_name(struct buf *out, struct str name, bool first)
{
    buf_add(out, first ? STR("") : STR(", "));
    print_text(out, name);
    buf_add_char(out, '=');
}

void print_member_name(struct buf *out, const char *name)
{
    char first = name[0] >= 'A' && name[0] <= 'Z' ? (char)(name[0] - 'A' + 'a') : name[0];
    buf_add_char(out, first);
    buf_add(out, str_from_c(name + 1));
}

/* --- attribute values --- */

static void print_value(struct buf *out, struct value value);

static void print_entries(struct buf *out, struct value map)
{
    struct value_iter iter = value_iter(map);
    struct value_name name;
    struct value value;
    buf_add_char(out, '{');
    for (bool first = true; !is_full(out) && value_next_entry(&iter, &name, &value);
         first = false) {
        print_name(out, name.text, first);
        print_value(out, value);
    }
    buf_add_char(out, '}');
}

/* Prints a member of a set, or an S, N or B: only its text. */
static void print_scalar(struct buf *out, struct value value)
{
    char digits[NUMBER_TEXT_MAX];
    struct str bytes = value_bytes(value);
    switch (value_type(value)) {
    case VALUE_N:
        buf_add(out, str_make(digits, number_format(bytes, digits)));
        break;
    case VALUE_B:
        buf_format(out, MESSAGE_BINARY, bytes.len, bytes.len);
        break;
    default:
        print_text(out, bytes);
    }
}

static void print_elements(struct buf *out, struct value container)
{
    struct value_iter iter = value_iter(container);
    struct value element;
    bool scalars = value_is_set(value_type(container));
    buf_add_char(out, '[');
    for (bool first = true; !is_full(out) && value_next(&iter, &element); first = false) {
        buf_add(out, first ? STR("") : STR(", "));
        if (scalars) {
            print_scalar(out, element);
        } else {
            print_value(out, element);
        }
    }
    buf_add_char(out, ']');
}

static void print_content(struct buf *out, struct value value)
{
    switch (value_type(value)) {
    case VALUE_M:
        print_entries(out, value);
        break;
    case VALUE_L:
    case VALUE_SS:
    case VALUE_NS:
    case VALUE_BS:
        print_elements(out, value);
        break;
    case VALUE_NULL:
        buf_add(out, STR("true"));
        break;
    case VALUE_BOOL:
        buf_add(out, value_flag(value) ? STR("true") : STR("false"));
        break;
    default:
        print_scalar(out, value);
    }
}

/* Prints AttributeValue(s=text, n=null, ...): all types, including internal ones of the service. */
static void print_value(struct buf *out, struct value value)
{
    static const struct {
        const char *name;
        enum value_type type;
    } types[] = {
        {"s", VALUE_S},
        {"n", VALUE_N},
        {"b", VALUE_B},
        {"iNT", VALUE_NONE},
        {"dECIMAL", VALUE_NONE},
        {"dOUBLE", VALUE_NONE},
        {"sS", VALUE_SS},
        {"nS", VALUE_NS},
        {"bS", VALUE_BS},
        {"iNTSET", VALUE_NONE},
        {"dECIMALSET", VALUE_NONE},
        {"dOUBLESET", VALUE_NONE},
        {"m", VALUE_M},
        {"l", VALUE_L},
        {"nULL", VALUE_NULL},
        {"bOOL", VALUE_BOOL},
    };
    buf_add(out, STR("AttributeValue("));
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        buf_format(out, "%s%s=", i > 0 ? ", " : "", types[i].name);
        if (types[i].type != VALUE_NONE && types[i].type == value_type(value)) {
            print_content(out, value);
        } else {
            buf_add(out, STR("null"));
        }
    }
    buf_add_char(out, ')');
}

/* --- parts of requests --- */

static void print_list(struct buf *out, const struct shape *shape, const struct wire_list *list)
{
    size_t size = shape_kept_size(shape->element);
    buf_add_char(out, '[');
    for (size_t i = 0; i < list->count && !is_full(out); i++) {
        buf_add(out, i > 0 ? STR(", ") : STR(""));
        print_kept(out, shape->element, (const char *)list->elements + i * size);
    }
    buf_add_char(out, ']');
}

static void print_map(struct buf *out, const struct shape *shape, const struct wire_map *map)
{
    size_t size = shape_kept_size(shape->element);
    if (shape->echo_json) {
        print_text(out, map->source);
        return;
    }
    buf_add_char(out, '{');
    for (size_t i = 0; i < map->count && !is_full(out); i++) {
        print_name(out, map->names[i], i == 0);
        print_kept(out, shape->element, (const char *)map->values + i * size);
    }
    buf_add_char(out, '}');
}

static void print_struct(struct buf *out, const struct shape *shape, const char *decoded)
{
    buf_format(out, "%s(", shape->java);
    for (const struct field *field = shape->fields; field->name != NULL; field++) {
        buf_add(out, field == shape->fields ? STR("") : STR(", "));
        print_member_name(out, field->name);
        buf_add_char(out, '=');
        print_kept(out, field->shape, decoded + field->offset);
    }
    buf_format(out, "%s)", shape->tail == NULL ? "" : shape->tail);
}

void print_kept(struct buf *out, const struct shape *shape, const void *kept)
{
    if (shape_is_absent(shape, kept)) {
        buf_add(out, STR("null"));
        return;
    }
    switch (shape->kind) {
    case SHAPE_STRING:
    case SHAPE_ANY:
        print_text(out, *(const struct str *)kept);
        break;
    case SHAPE_ENUM:
        print_text(out, ((const struct wire_enum *)kept)->text);
        break;
    case SHAPE_BOOL:
        print_text(out, ((const struct wire_bool *)kept)->value ? STR("true") : STR("false"));
        break;
    case SHAPE_INTEGER:
    case SHAPE_LONG:
    case SHAPE_TIMESTAMP:
        buf_add_int64(out, ((const struct wire_int *)kept)->value);
        break;
    case SHAPE_LIST:
        print_list(out, shape, kept);
        break;
    case SHAPE_MAP:
        print_map(out, shape, kept);
        break;
    case SHAPE_STRUCT:
        print_struct(out, shape, *(const char *const *)kept);
        break;
    case SHAPE_VALUE:
        print_value(out, ((const struct wire_value *)kept)->value);
        break;
    case SHAPE_ITEM:
        print_entries(out, ((const struct wire_item *)kept)->value);
        break;
    }
}
