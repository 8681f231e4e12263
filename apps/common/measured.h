/* apps/common/measured.h: measurements of an application's access patterns, from a Gramme server
 * (GET /_gramme/api/patterns, see docs/internals/insight-api.md). */
#ifndef GRAMME_APPS_MEASURED_H
#define GRAMME_APPS_MEASURED_H

#include "gramme/gramme.h"

/* Requests the counted patterns of a table from the database. Returns a list that the caller
 * destroys; NULL: the database is not a Gramme server, refuses or cannot be reached (*error), or
 * `insight` is NULL. May block. */
struct gramme_value *measured_get(struct gramme_db *insight, const char *table,
                                  struct gramme_error **error);

/* Sums up what `measured` (a list of measured_get()) says of a declared pattern: out gets
 * "requests", "units" and "unitsEach". False, with `out` unchanged: there are no such requests.
 * Items of batches and transactions count as a request each. */
bool measured_sum(const struct gramme_value *measured, const struct gramme_value *pattern,
                  struct gramme_value *out);
/* Whether two declared patterns are counted together: they have the same operation, index and
 * key. */
bool measured_is_same(const struct gramme_value *a, const struct gramme_value *b);

#endif
