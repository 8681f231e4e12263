/* client/json_part_internal.h: which parts of a request or answer are attribute values and which
 * are plain JSON: for reading and writing. */
#ifndef GRAMME_CLIENT_JSON_PART_INTERNAL_H
#define GRAMME_CLIENT_JSON_PART_INTERNAL_H

#include "base/str.h"
#include "gramme/gramme.h"

enum json_part {
    PART_PLAIN,     /* JSON as it is */
    PART_WIRE,      /* part of a request or answer: the names of members have a meaning */
    PART_ITEM,      /* object: attributes by name; array: items */
    PART_VALUE,     /* object: one attribute value, {"S": "x"} */
    PART_VALUES,    /* array: attribute values */
    PART_TABLES,    /* object: by table name, each PART_WIRE; array: elements PART_WIRE */
    PART_RESPONSES, /* object: by table name, each PART_ITEM; array: elements PART_WIRE */
    PART_METRICS,   /* ItemCollectionMetrics: of one table, or by table name */
};

/* Returns the part that a whole text of that form is. */
enum json_part part_of_form(enum gramme_form form);
/* Returns the part of a member of an object. `is_list`: the member is an array. */
enum json_part part_of_member(enum json_part part, struct str name, bool is_list);
/* Returns the part of an element of an array. */
enum json_part part_of_element(enum json_part part);

#endif
