/* wire/serialization_internal.h: messages of SerializationException for JSON of the wrong kind.
 * They name Java types, because the service is written in Java. Each function looks at the next
 * value, which is of a wrong kind, and returns the message in the reader's arena; STR_NULL: there
 * is no value, the JSON is malformed. */
#ifndef GRAMME_WIRE_SERIALIZATION_INTERNAL_H
#define GRAMME_WIRE_SERIALIZATION_INTERNAL_H

#include "wire/value_json.h"

#define AWS                "com.amazonaws.dynamodb.v20120810."
#define START_OF_STRUCTURE "Start of structure or map found where not expected"

/* For a value where a scalar is expected: `wanted` is "String", "Boolean", "Integer" or "Long". */
struct str serialization_scalar(struct json_reader *json, const char *wanted);
/* For a value where a list is expected. */
struct str serialization_list(struct json_reader *json, enum wire_place place);
/* For a value where a map is expected: `java` is the whole Java type of the map. */
struct str serialization_map(struct json_reader *json, const char *java, enum wire_place place);
/* For a value where a structure is expected: `java` is its name without package. */
struct str serialization_struct(struct json_reader *json, const char *java, enum wire_place place);

#endif
