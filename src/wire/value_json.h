/* wire/value_json.h: attribute values as JSON ({"S": "text"}), read and written. */
#ifndef GRAMME_WIRE_VALUE_JSON_H
#define GRAMME_WIRE_VALUE_JSON_H

#include "base/buf.h"
#include "json/reader.h"
#include "model/builder.h"

#define VALUE_LEVELS_MAX 32

/* What is wrong with a value that is well-formed JSON: reported when the operation comes to it,
 * not while reading, because other checks may come first. */
struct value_problem {
    struct str message; /* STR_NULL: nothing is wrong */
    bool enveloped;     /* PutItem and UpdateItem put "1 validation error detected: " before it */
};

struct value_reader {
    struct json_reader *json;
    struct builder builder;
    struct value_problem problem; /* the first one */
    const char *complaint;        /* text of the SerializationException, NULL: none (yet) */
};

/* Reads one attribute value, or a JSON object of them as an M value, to the end of the builder.
 * False: a SerializationException, with reader->complaint (NULL: malformed JSON). A value with a
 * problem is read to its end, but what was built is unfit for use. */
MUST_USE bool value_json_read(struct value_reader *reader, int level);
MUST_USE bool value_json_read_item(struct value_reader *reader);

void value_json_write(struct buf *out, struct value value);
/* An item, or any M value, as {"name": value, ...} without the {"M": } around it. */
void value_json_write_item(struct buf *out, struct value item);

#endif
