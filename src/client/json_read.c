/* JSON into a tree of values, in any of the three forms. Called for responses, and by users of the
 * library, on any thread. */
#include "base/base64.h"
#include "base/mem.h"
#include "client/error_internal.h"
#include "client/json_part_internal.h"
#include "client/value_tree_internal.h"
#include "json/reader.h"
#include "model/number.h"

struct parser {
    struct tree *tree;
    struct arena scratch; /* strings with escapes, before they are copied */
    struct json_reader json;
    const char *problem; /* what is wrong with well-formed JSON */
};

static struct gramme_value *read_part(struct parser *parser, enum json_part part);

static struct gramme_value *fail(struct parser *parser, const char *problem)
{
    if (parser->problem == NULL) {
        parser->problem = problem;
    }
    return NULL;
}

static struct gramme_value *read_text(struct parser *parser, enum gramme_type type)
{
    struct json_string string;
    return json_read_string(&parser->json, &string)
               ? value_create_text(parser->tree, type, string.text)
               : NULL;
}

static struct gramme_value *read_bool(struct parser *parser)
{
    bool truth;
    if (!json_read_bool(&parser->json, &truth)) {
        return NULL;
    }
    struct gramme_value *value = value_create(parser->tree, GRAMME_BOOL);
    value->truth = truth;
    return value;
}

static struct gramme_value *read_object(struct parser *parser, enum json_part part)
{
    if (!json_enter_object(&parser->json)) {
        return NULL;
    }
    struct gramme_value *map = value_create(parser->tree, GRAMME_MAP);
    struct json_string name;
    while (json_next_member(&parser->json, &name)) {
        struct str copy = tree_copy_text(parser->tree, name.text);
        bool is_list = json_peek(&parser->json) == JSON_ARRAY;
        struct gramme_value *child = read_part(parser, part_of_member(part, copy, is_list));
        if (child == NULL) {
            return NULL;
        }
        child->name = copy;
        value_append(map, child);
    }
    return map;
}

static struct gramme_value *read_array(struct parser *parser, enum json_part part)
{
    if (!json_enter_array(&parser->json)) {
        return NULL;
    }
    struct gramme_value *list = value_create(parser->tree, GRAMME_LIST);
    while (json_next_element(&parser->json)) {
        struct gramme_value *child = read_part(parser, part_of_element(part));
        if (child == NULL) {
            return NULL;
        }
        value_append(list, child);
    }
    return list;
}

/* --- attribute values --- */

static struct gramme_value *read_number_text(struct parser *parser)
{
    struct gramme_value *value = read_text(parser, GRAMME_NUMBER);
    struct number number;
    if (value != NULL && number_parse(value->text, &number) != NUMBER_OK) {
        return fail(parser, "an attribute value of type N is not a number");
    }
    return value;
}

static struct gramme_value *read_base64(struct parser *parser)
{
    struct json_string string;
    if (!json_read_string(&parser->json, &string)) {
        return NULL;
    }
    char *bytes = arena_bytes(&parser->tree->arena, BASE64_DECODED_MAX(string.text.len) + 1);
    size_t len;
    if (!base64_decode(string.text, bytes, &len)) {
        return fail(parser, "an attribute value of type B is not base64");
    }
    bytes[len] = '\0';
    struct gramme_value *value = value_create(parser->tree, GRAMME_BINARY);
    value->text = str_make(bytes, len);
    return value;
}

static struct gramme_value *read_set(struct parser *parser, enum gramme_type type,
                                     struct gramme_value *(*read_element)(struct parser *))
{
    if (!json_enter_array(&parser->json)) {
        return NULL;
    }
    struct gramme_value *set = value_create(parser->tree, type);
    while (json_next_element(&parser->json)) {
        struct gramme_value *child = read_element(parser);
        if (child == NULL) {
            return NULL;
        }
        value_append(set, child);
    }
    return set;
}

static struct gramme_value *read_string_text(struct parser *parser)
{
    return read_text(parser, GRAMME_STRING);
}

static struct gramme_value *read_null(struct parser *parser)
{
    bool truth;
    return json_read_bool(&parser->json, &truth) ? value_create(parser->tree, GRAMME_NULL) : NULL;
}

static struct gramme_value *read_string_set(struct parser *parser)
{
    return read_set(parser, GRAMME_STRING_SET, read_string_text);
}

static struct gramme_value *read_number_set(struct parser *parser)
{
    return read_set(parser, GRAMME_NUMBER_SET, read_number_text);
}

static struct gramme_value *read_binary_set(struct parser *parser)
{
    return read_set(parser, GRAMME_BINARY_SET, read_base64);
}

static struct gramme_value *read_map(struct parser *parser)
{
    return read_object(parser, PART_ITEM);
}

static struct gramme_value *read_list(struct parser *parser)
{
    return read_array(parser, PART_VALUES);
}

static const struct typed_reader {
    const char *name;
    struct gramme_value *(*read)(struct parser *parser);
} typed_readers[] = {
    {"S", read_string_text}, {"N", read_number_text}, {"B", read_base64}, {"SS", read_string_set},
    {"NS", read_number_set}, {"BS", read_binary_set}, {"M", read_map},    {"L", read_list},
    {"NULL", read_null},     {"BOOL", read_bool},
};

static struct gramme_value *read_typed_content(struct parser *parser, struct str type)
{
    for (size_t i = 0; i < COUNT_OF(typed_readers); i++) {
        if (str_eq(type, str_from_c(typed_readers[i].name))) {
            return typed_readers[i].read(parser);
        }
    }
    return fail(parser, "an attribute value has an unknown type");
}

/* {"S": "x"} */
static struct gramme_value *read_typed(struct parser *parser)
{
    struct json_string type;
    if (json_peek(&parser->json) != JSON_OBJECT) {
        return fail(parser, "an attribute value is not an object");
    }
    if (!json_enter_object(&parser->json)) {
        return NULL;
    }
    if (!json_next_member(&parser->json, &type)) {
        return fail(parser, "an attribute value has no type");
    }
    struct gramme_value *value = read_typed_content(parser, type.text);
    if (value != NULL && json_next_member(&parser->json, &type)) {
        return fail(parser, "an attribute value has two types");
    }
    return value;
}

/* NULL: parser->problem or the reader's mistake says why. */
static struct gramme_value *read_part(struct parser *parser, enum json_part part)
{
    struct str number;
    if (part == PART_VALUE) {
        return read_typed(parser);
    }
    switch (json_peek(&parser->json)) {
    case JSON_OBJECT:
        return read_object(parser, part);
    case JSON_ARRAY:
        return read_array(parser, part);
    case JSON_STRING:
        return read_text(parser, GRAMME_STRING);
    case JSON_NUMBER:
        return json_read_number(&parser->json, &number)
                   ? value_create_text(parser->tree, GRAMME_NUMBER, number)
                   : NULL;
    case JSON_BOOL:
        return read_bool(parser);
    case JSON_NULL:
        return json_read_null(&parser->json) ? value_create(parser->tree, GRAMME_NULL) : NULL;
    case JSON_BAD:
        break;
    }
    return fail(parser, "not JSON");
}

bool value_read(struct tree *tree, struct str json, enum gramme_form form, const char **problem)
{
    struct parser parser = {.tree = tree};
    arena_init(&parser.scratch);
    json_reader_init(&parser.json, &parser.scratch, json);
    struct gramme_value *root = read_part(&parser, part_of_form(form));
    bool good = root != NULL && json_at_end(&parser.json);
    if (good && form != GRAMME_PLAIN && root->type != GRAMME_MAP) {
        parser.problem = "not a JSON object";
        good = false;
    }
    if (good) {
        tree->root = root;
    } else if (parser.json.mistake != NULL) {
        *problem = parser.json.mistake;
    } else {
        *problem = parser.problem != NULL ? parser.problem : "more text behind the JSON";
    }
    arena_finish(&parser.scratch);
    return good;
}

struct gramme_value *gramme_value_from_json(const char *json, size_t len, enum gramme_form form,
                                            struct gramme_error **error)
{
    error_clear(error);
    struct tree *tree = tree_create(GRAMME_MAP);
    const char *problem = "NULL";
    if (json == NULL || !value_read(tree, str_make(json, len), form, &problem)) {
        tree_destroy(tree);
        error_set(error, GRAMME_BAD_JSON, "%s", problem);
        return NULL;
    }
    return tree->root;
}
