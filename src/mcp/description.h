/* mcp/description.h: finds things in the description of a table, as DescribeTable returns it. Also
 * used by src/shell. Any thread. */
#ifndef GRAMME_MCP_DESCRIPTION_H
#define GRAMME_MCP_DESCRIPTION_H

#include "gramme/gramme.h"

/* Returns the description of a global or local index; NULL: the table has none of that name.
 * Borrows from `table`. */
const struct gramme_value *description_find_index(const struct gramme_value *table,
                                                  const char *name);
/* Returns the type of a key attribute: "S", "N" or "B"; "S" if the table does not define it.
 * Borrows from `table`. */
const char *description_attribute_type(const struct gramme_value *table, const char *name);

#endif
