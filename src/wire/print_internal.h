/* wire/print_internal.h: parts of a request as error texts quote them, in the manner of Java's
 * toString(): [KeySchemaElement(attributeName=pk, keyType=HASH)], {a=b}, null. */
#ifndef GRAMME_WIRE_PRINT_INTERNAL_H
#define GRAMME_WIRE_PRINT_INTERNAL_H

#include "base/buf.h"
#include "wire/shape.h"

/* Adds what is kept for a shape. Long ones are cut. */
void print_kept(struct buf *out, const struct shape *shape, const void *kept);
/* Adds a member's name with a small first letter. */
void print_member_name(struct buf *out, const char *name);

#endif
