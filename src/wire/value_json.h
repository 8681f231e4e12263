/* wire/value_json.h: attribute values as JSON ({"S": "text"}), read and written. */
#ifndef GRAMME_WIRE_VALUE_JSON_H
#define GRAMME_WIRE_VALUE_JSON_H

#include "base/buf.h"
#include "json/reader.h"
#include "model/builder.h"

#define VALUE_LEVELS_MAX 32

/* What can be wrong with a value that is well-formed JSON. */
enum value_fault {
    FAULT_NONE,
    FAULT_EMPTY,       /* no type at all */
    FAULT_TWO_TYPES,   /* more than one */
    FAULT_NESTED,      /* too many levels */
    FAULT_EMPTY_NAME,  /* of an attribute */
    FAULT_LONG_NAME,   /* of an attribute: a matter of the model's constraints, see validate.c */
    FAULT_NULL_FALSE,  /* {"NULL": false} */
    FAULT_EMPTY_SET,   /* a set without members */
    FAULT_NULL_MEMBER, /* a set with JSON's null */
    FAULT_DUPLICATES,  /* a set with equal members */
    FAULT_NUMBER,      /* no number, or one out of bounds */
};

/* The first fault of a value, or of an item. It is reported when the operation comes to it, not
 * while reading, because other checks may come first; and not all operations word it alike. */
struct value_problem {
    enum value_fault fault;
    enum value_type type; /* of the set */
    struct str text;      /* the number; the JSON of the set with equal members */
};

/* Which of the service's two layers checks an operation's values; some texts differ. As measured
 * in us-east-1, October 2026: BatchWriteItem, Scan and the transactions are still in the older. */
enum value_wording { WORDING_CURRENT, WORDING_OLDER };

/* The text, in `arena`. There is a fault. */
struct str value_problem_text(const struct value_problem *problem, enum value_wording wording,
                              struct arena *arena);

/* Where a JSON value stands: the texts for what does not fit depend on it. */
enum wire_place {
    PLACE_MEMBER,  /* of a structure */
    PLACE_ELEMENT, /* of a list or map */
};

struct value_reader {
    struct json_reader *json;
    struct builder builder;
    struct value_problem problem;
    struct str complaint; /* text of the SerializationException, STR_NULL: none (yet) */
};

/* Reads one attribute value, or a JSON object of them as an M value, to the end of the builder.
 * False: a SerializationException, with reader->complaint (STR_NULL: malformed JSON). A value with
 * a problem is read to its end, but what was built is unfit for use. */
MUST_USE bool value_json_read(struct value_reader *reader, int level, enum wire_place place);
MUST_USE bool value_json_read_item(struct value_reader *reader, enum wire_place place);

void value_json_write(struct buf *out, struct value value);
/* An item, or any M value, as {"name": value, ...} without the {"M": } around it. */
void value_json_write_item(struct buf *out, struct value item);

#endif
