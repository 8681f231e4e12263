/* api/describe.h: a table's description as JSON, as five operations answer it. */
#ifndef GRAMME_API_DESCRIBE_H
#define GRAMME_API_DESCRIBE_H

#include "api/api_internal.h"

/* Writes a TableDescription with the given TableStatus. */
void describe_table(struct api_call *call, const struct table *table,
                    const struct table_sizes *sizes, enum resource_status status);

#endif
