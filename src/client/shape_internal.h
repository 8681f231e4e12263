/* client/shape_internal.h: which parts of a request or answer are attribute values and which are
 * plain JSON. Reading and writing walk the same way, so this is in one place. */
#ifndef GRAMME_CLIENT_SHAPE_INTERNAL_H
#define GRAMME_CLIENT_SHAPE_INTERNAL_H

#include "base/str.h"
#include "gramme/gramme.h"

enum shape {
    SHAPE_PLAIN,     /* JSON as it is */
    SHAPE_WIRE,      /* part of a request or answer: the names of members have a meaning */
    SHAPE_ITEM,      /* object: attributes by name; array: items */
    SHAPE_VALUE,     /* object: one attribute value, {"S": "x"} */
    SHAPE_VALUES,    /* array: attribute values */
    SHAPE_TABLES,    /* object: by table name, each SHAPE_WIRE; array: elements SHAPE_WIRE */
    SHAPE_RESPONSES, /* object: by table name, each SHAPE_ITEM; array: elements SHAPE_WIRE */
    SHAPE_METRICS,   /* ItemCollectionMetrics: of one table, or by table name */
};

enum shape shape_of_form(enum gramme_form form);
/* The shape of a member of an object of a shape. `is_list`: the member is an array. */
enum shape shape_of_member(enum shape shape, struct str name, bool is_list);
/* The shape of an element of an array of a shape. */
enum shape shape_of_element(enum shape shape);

#endif
