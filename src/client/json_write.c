/* A tree of values as JSON, in any of the three forms. Called for requests, and by users of the
 * library, on any thread. */
#include <stdlib.h>

#include "client/json_part_internal.h"
#include "client/value_tree_internal.h"
#include "json/reader.h"
#include "json/writer.h"

struct writer {
    struct buf *out;
    int depth;
    const char *problem; /* NULL: none */
};

static void write_part(struct writer *writer, const struct gramme_value *value,
                       enum json_part part);

static void write_object(struct writer *writer, const struct gramme_value *map, enum json_part part)
{
    buf_add_char(writer->out, '{');
    for (size_t i = 0; i < map->count; i++) {
        const struct gramme_value *child = map->children[i];
        if (i > 0) {
            buf_add_char(writer->out, ',');
        }
        json_write_string(writer->out, child->name);
        buf_add_char(writer->out, ':');
        write_part(writer, child, part_of_member(part, child->name, child->type == GRAMME_LIST));
    }
    buf_add_char(writer->out, '}');
}

static void write_array(struct writer *writer, const struct gramme_value *list, enum json_part part)
{
    buf_add_char(writer->out, '[');
    for (size_t i = 0; i < list->count; i++) {
        if (i > 0) {
            buf_add_char(writer->out, ',');
        }
        write_part(writer, list->children[i], part_of_element(part));
    }
    buf_add_char(writer->out, ']');
}

/* Elements of a typed set: numbers are strings there. */
static void write_set(struct writer *writer, const struct gramme_value *set)
{
    buf_add_char(writer->out, '[');
    for (size_t i = 0; i < set->count; i++) {
        if (i > 0) {
            buf_add_char(writer->out, ',');
        }
        if (set->type == GRAMME_BINARY_SET) {
            json_write_base64(writer->out, set->children[i]->text);
        } else {
            json_write_string(writer->out, set->children[i]->text);
        }
    }
    buf_add_char(writer->out, ']');
}

static void write_typed(struct writer *writer, const struct gramme_value *value)
{
    static const char *const names[] = {
        [GRAMME_STRING] = "S",      [GRAMME_NUMBER] = "N",      [GRAMME_BINARY] = "B",
        [GRAMME_STRING_SET] = "SS", [GRAMME_NUMBER_SET] = "NS", [GRAMME_BINARY_SET] = "BS",
        [GRAMME_MAP] = "M",         [GRAMME_LIST] = "L",        [GRAMME_NULL] = "NULL",
        [GRAMME_BOOL] = "BOOL",
    };
    buf_add_char(writer->out, '{');
    json_write_plain_string(writer->out, str_from_c(names[value->type]));
    buf_add_char(writer->out, ':');
    switch (value->type) {
    case GRAMME_STRING:
    case GRAMME_NUMBER:
        json_write_string(writer->out, value->text);
        break;
    case GRAMME_BINARY:
        json_write_base64(writer->out, value->text);
        break;
    case GRAMME_STRING_SET:
    case GRAMME_NUMBER_SET:
    case GRAMME_BINARY_SET:
        write_set(writer, value);
        break;
    case GRAMME_MAP:
        write_object(writer, value, PART_ITEM);
        break;
    case GRAMME_LIST:
        write_array(writer, value, PART_VALUES);
        break;
    case GRAMME_NULL:
    case GRAMME_BOOL:
    case GRAMME_NONE:
        json_write_bool(writer->out, value->type == GRAMME_NULL || value->truth);
        break;
    }
    buf_add_char(writer->out, '}');
}

static void write_plain(struct writer *writer, const struct gramme_value *value,
                        enum json_part part)
{
    switch (value->type) {
    case GRAMME_STRING:
        json_write_string(writer->out, value->text);
        break;
    case GRAMME_NUMBER:
        buf_add(writer->out, value->text);
        break;
    case GRAMME_BINARY:
        json_write_base64(writer->out, value->text);
        break;
    case GRAMME_MAP:
        write_object(writer, value, part);
        break;
    case GRAMME_LIST:
    case GRAMME_STRING_SET:
    case GRAMME_NUMBER_SET:
    case GRAMME_BINARY_SET:
        write_array(writer, value, part);
        break;
    case GRAMME_BOOL:
        json_write_bool(writer->out, value->truth);
        break;
    case GRAMME_NULL:
    case GRAMME_NONE:
        JSON_PUT(writer->out, "null");
        break;
    }
}

/* Writes at most as many levels as the reader accepts, so that the stack does not overflow. */
static void write_part(struct writer *writer, const struct gramme_value *value, enum json_part part)
{
    if (writer->depth == JSON_DEPTH_MAX) {
        writer->problem = "a value has too many levels";
        return;
    }
    writer->depth++;
    if (part == PART_VALUE) {
        write_typed(writer, value);
    } else {
        write_plain(writer, value, part);
    }
    writer->depth--;
}

void value_write(struct buf *out, const struct gramme_value *value, enum gramme_form form,
                 const char **problem)
{
    struct writer writer = {.out = out};
    if (value->tree->problem != NULL) {
        *problem = value->tree->problem;
    } else if (form != GRAMME_PLAIN && value->type != GRAMME_MAP) {
        *problem = "not a map";
    } else {
        write_part(&writer, value, part_of_form(form));
        *problem = writer.problem;
    }
}

char *gramme_value_to_json(const struct gramme_value *value, enum gramme_form form, size_t *len)
{
    struct buf out = {0};
    const char *problem = "NULL";
    if (value != NULL) {
        value_write(&out, value, form, &problem);
    }
    if (problem != NULL) {
        buf_finish(&out);
        return NULL;
    }
    if (len != NULL) {
        *len = out.len;
    }
    buf_add_char(&out, '\0');
    return out.data; /* gramme_free() is buf_finish()'s free */
}
