/* Messages of SerializationException. Called by decode.c and value_json.c on the thread of the
 * request, only when the request is refused. */
#include "wire/serialization_internal.h"

/* If a list or map is an element, the service reports its own generic types. */
#define PARAMETERIZED                                                                              \
    "class sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl cannot be cast to class "  \
    "java.lang.Class (sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl and "           \
    "java.lang.Class are in module java.base of loader 'bootstrap')"

/* Returns the service's name of a number, a BOOL or a string; NULL if it is malformed. */
static const char *token_name(struct json_reader *json)
{
    bool truth;
    struct str number;
    switch (json_peek(json)) {
    case JSON_BOOL:
        return !json_read_bool(json, &truth) ? NULL : truth ? "TRUE_VALUE" : "FALSE_VALUE";
    case JSON_NUMBER:
        if (!json_read_number(json, &number)) {
            return NULL;
        }
        return str_contains(number, STR(".")) || str_contains(number, STR("e")) ||
                       str_contains(number, STR("E"))
                   ? "DECIMAL_VALUE"
                   : "NUMBER_VALUE";
    default:
        return "STRING_VALUE";
    }
}

struct str serialization_scalar(struct json_reader *json, const char *wanted)
{
    enum json_kind kind = json_peek(json);
    if (kind == JSON_BAD) {
        return STR_NULL;
    }
    if (kind == JSON_OBJECT) {
        return STR(START_OF_STRUCTURE);
    }
    if (kind == JSON_ARRAY) {
        return arena_format(json->arena, "Unrecognized collection type class java.lang.%s", wanted);
    }
    if (kind == JSON_STRING && strcmp(wanted, "Boolean") == 0) {
        return STR("Unexpected token received from parser");
    }
    const char *found = token_name(json);
    return found == NULL ? STR_NULL
                         : arena_format(json->arena, "%s cannot be converted to %s", found, wanted);
}

struct str serialization_list(struct json_reader *json, enum wire_place place)
{
    switch (json_peek(json)) {
    case JSON_BAD:
        return STR_NULL;
    case JSON_OBJECT:
        return STR(START_OF_STRUCTURE);
    default:
        return place == PLACE_MEMBER ? STR("Unexpected field type") : STR(PARAMETERIZED);
    }
}

struct str serialization_map(struct json_reader *json, const char *java, enum wire_place place)
{
    switch (json_peek(json)) {
    case JSON_BAD:
        return STR_NULL;
    case JSON_ARRAY:
        return arena_format(json->arena, "Unrecognized collection type %s", java);
    default:
        return place == PLACE_MEMBER ? STR("Unexpected field type") : STR(PARAMETERIZED);
    }
}

struct str serialization_struct(struct json_reader *json, const char *java, enum wire_place place)
{
    switch (json_peek(json)) {
    case JSON_BAD:
        return STR_NULL;
    case JSON_ARRAY:
        return arena_format(json->arena, "Unrecognized collection type class " AWS "%s", java);
    default:
        return place == PLACE_MEMBER ? STR("Unexpected field type")
                                     : STR("Unexpected value type in payload");
    }
}
