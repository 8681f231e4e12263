/* wire/serialization_internal.h: the texts of SerializationException for JSON of another kind than
 * the one that is wanted. They name Java's types, because the service is written in it.
 *
 * Each looks at the value that comes next, which is of a wrong kind, and returns the text in the
 * reader's arena; STR_NULL: no value stands there at all, the JSON is malformed. */
#ifndef GRAMME_WIRE_SERIALIZATION_INTERNAL_H
#define GRAMME_WIRE_SERIALIZATION_INTERNAL_H

#include "wire/value_json.h"

#define AWS "com.amazonaws.dynamodb.v20120810."

/* `wanted` is "String", "Boolean", "Integer" or "Long". */
struct str serialization_scalar(struct json_reader *json, const char *wanted);
struct str serialization_list(struct json_reader *json, enum wire_place place);
/* `java` is the whole type of the map. */
struct str serialization_map(struct json_reader *json, const char *java, enum wire_place place);
/* `java` is the name of the structure without its package. */
struct str serialization_struct(struct json_reader *json, const char *java, enum wire_place place);

#endif
