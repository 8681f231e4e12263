/* Writes a decoded request, or a part of it, as JSON again: the members that were given, in the
 * order of the shape's fields. Called by operations whose answers repeat parts of requests. */
#include "json/writer.h"
#include "wire/shape.h"

static void write_kept(struct buf *out, const struct shape *shape, const void *kept);

static void write_list(struct buf *out, const struct shape *shape, const struct wire_list *list)
{
    buf_add_char(out, '[');
    for (size_t i = 0; i < list->count; i++) {
        buf_add(out, i > 0 ? STR(",") : STR(""));
        write_kept(out, shape->element,
                   (const char *)list->elements + i * shape_kept_size(shape->element));
    }
    buf_add_char(out, ']');
}

static void write_map(struct buf *out, const struct shape *shape, const struct wire_map *map)
{
    buf_add_char(out, '{');
    for (size_t i = 0; i < map->count; i++) {
        buf_add(out, i > 0 ? STR(",") : STR(""));
        json_write_string(out, map->names[i]);
        buf_add_char(out, ':');
        write_kept(out, shape->element,
                   (const char *)map->values + i * shape_kept_size(shape->element));
    }
    buf_add_char(out, '}');
}

static void write_kept(struct buf *out, const struct shape *shape, const void *kept)
{
    switch (shape->kind) {
    case SHAPE_STRING:
        json_write_string(out, *(const struct str *)kept);
        break;
    case SHAPE_ENUM:
        json_write_string(out, ((const struct wire_enum *)kept)->text);
        break;
    case SHAPE_BOOL:
        json_write_bool(out, ((const struct wire_bool *)kept)->value);
        break;
    case SHAPE_INTEGER:
    case SHAPE_LONG:
        buf_add_int64(out, ((const struct wire_int *)kept)->value);
        break;
    case SHAPE_TIMESTAMP:
        json_write_double(out, (double)((const struct wire_int *)kept)->value / 1000);
        break;
    case SHAPE_STRUCT:
        wire_write_struct(out, shape, *(const void *const *)kept);
        break;
    case SHAPE_LIST:
        write_list(out, shape, kept);
        break;
    case SHAPE_MAP:
        write_map(out, shape, kept);
        break;
    case SHAPE_VALUE:
        value_json_write(out, ((const struct wire_value *)kept)->value);
        break;
    case SHAPE_ITEM:
        value_json_write_item(out, ((const struct wire_item *)kept)->value);
        break;
    case SHAPE_ANY:
        buf_add(out, *(const struct str *)kept);
        break;
    }
}

void wire_write_struct(struct buf *out, const struct shape *shape, const void *decoded)
{
    bool is_first = true;
    buf_add_char(out, '{');
    for (const struct field *field = shape->fields; field->name != NULL; field++) {
        const void *kept = (const char *)decoded + field->offset;
        if (shape_is_absent(field->shape, kept)) {
            continue;
        }
        buf_add(out, is_first ? STR("") : STR(","));
        is_first = false;
        json_write_string(out, str_from_c(field->name));
        buf_add_char(out, ':');
        write_kept(out, field->shape, kept);
    }
    buf_add_char(out, '}');
}
