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

/* Adds up the measurements (`measured`: a list of measured_get()) of a declared pattern: sets
 * "requests", "units" and "unitsEach" in `out`. False, with `out` unchanged: there were no such
 * requests. Each item of a batch or transaction counts as a request. */
bool measured_sum(const struct gramme_value *measured, const struct gramme_value *pattern,
                  struct gramme_value *out);
/* Returns whether the database counts two declared patterns together: they have the same operation,
 * index and key. */
bool measured_is_same(const struct gramme_value *a, const struct gramme_value *b);

#endif
