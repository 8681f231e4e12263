/* apps/common/measured.h: what the database has measured of an application's access patterns, if it
 * is one that can tell (Gramme's GET /_gramme/api/patterns, see docs/internals/insight-api.md). */
#ifndef GRAMME_APPS_MEASURED_H
#define GRAMME_APPS_MEASURED_H

#include "base/arena.h"
#include "gramme/gramme.h"

/* Asks the database at `url` for the patterns of a table. A list, the caller's; NULL: it cannot
 * tell, or `url` is NULL. May block. */
struct gramme_value *measured_get(struct arena *arena, const char *url, const char *table);

/* Sums up what `measured` (a list of measured_get()) says of a declared pattern: out gets
 * "requests", "units" and "unitsEach". False: nothing, and `out` is untouched. Items of batches and
 * transactions count as a request each. */
bool measured_sum(const struct gramme_value *measured, const struct gramme_value *pattern,
                  struct gramme_value *out);
/* Whether the database cannot tell two declared patterns apart: same operation, index and key. */
bool measured_is_same(const struct gramme_value *a, const struct gramme_value *b);

#endif
