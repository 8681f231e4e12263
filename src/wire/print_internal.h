/* wire/print_internal.h: prints parts of a request for messages, as Java's toString() does:
 * [KeySchemaElement(attributeName=pk, keyType=HASH)], {a=b}, null. */
#ifndef GRAMME_WIRE_PRINT_INTERNAL_H
#define GRAMME_WIRE_PRINT_INTERNAL_H

#include "base/buf.h"
#include "wire/shape.h"

/* Prints a decoded value of a shape. Long ones are cut. */
void print_kept(struct buf *out, const struct shape *shape, const void *kept);
/* Prints the name of a member with its first letter in lower case. */
void print_member_name(struct buf *out, const char *name);

#endif
