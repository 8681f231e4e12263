/* wire/value_json.h: reads and writes attribute values as JSON ({"S": "text"}). */
#ifndef GRAMME_WIRE_VALUE_JSON_H
#define GRAMME_WIRE_VALUE_JSON_H

#include "base/buf.h"
#include "json/reader.h"
#include "model/builder.h"

#define VALUE_LEVELS_MAX 32

/* Faults of a value that is well-formed JSON. */
enum value_fault {
    FAULT_NONE,
    FAULT_EMPTY,       /* no type */
    FAULT_TWO_TYPES,   /* more than one */
    FAULT_NESTED,      /* too many levels */
    FAULT_EMPTY_NAME,  /* of an attribute */
    FAULT_LONG_NAME,   /* of an attribute: reported by validate.c */
    FAULT_NULL_FALSE,  /* {"NULL": false} */
    FAULT_EMPTY_SET,   /* a set without members */
    FAULT_NULL_MEMBER, /* a set with JSON's null */
    FAULT_DUPLICATES,  /* a set with equal members */
    FAULT_NUMBER,      /* not a number, or out of range */
};

/* The first fault of a value or item. It is reported when the operation checks the value, not while
 * reading, because other checks come first; and the messages of operations differ. */
struct value_problem {
    enum value_fault fault;
    enum value_type type; /* of the set */
    struct str text;      /* the number; the JSON of the set with equal members */
};

/* Which of the service's two layers checks an operation's values; some messages differ. As measured
 * in us-east-1 in October 2026: BatchWriteItem, Scan and the transactions are still in the older
 * layer. */
enum value_wording { WORDING_CURRENT, WORDING_OLDER };

/* Returns the message of a fault, in `arena`. */
struct str value_problem_text(const struct value_problem *problem, enum value_wording wording,
                              struct arena *arena);

/* The position of a JSON value: messages depend on it. */
enum wire_place {
    PLACE_MEMBER,  /* of a structure */
    PLACE_ELEMENT, /* of a list or map */
};

struct value_reader {
    struct json_reader *json;
    struct builder builder;
    struct value_problem problem;
    struct str complaint; /* message of the SerializationException; STR_NULL: none (yet) */
};

/* Reads one attribute value and appends it to the builder. False: a SerializationException, with
 * reader->complaint (STR_NULL: malformed JSON). A value with a problem is read to its end, but the
 * value that was built is unusable. */
MUST_USE bool value_json_read(struct value_reader *reader, int level, enum wire_place place);
/* Reads a JSON object of attribute values as an M value, as above. */
MUST_USE bool value_json_read_item(struct value_reader *reader, enum wire_place place);

/* Writes a value as {"S": "text"}. */
void value_json_write(struct buf *out, struct value value);
/* Writes an item, or any M value, as {"name": value, ...} without {"M": } around it. */
void value_json_write_item(struct buf *out, struct value item);

#endif
