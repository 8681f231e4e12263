/* apps/common/cost.h: an application's access patterns, and the monthly cost of its workload. */
#ifndef GRAMME_APPS_COST_H
#define GRAMME_APPS_COST_H

#include "base/arena.h"
#include "gramme/gramme.h"

/* Returns the answer of GET /NAME/api/patterns (see apps/API.md), computed from the texts of
 * patterns.json and workload.json. `measured`: the result of measured_get(); NULL: the database has
 * no measurements. The caller destroys the result. */
struct gramme_value *cost_describe(const char *patterns, const char *workload,
                                   const struct gramme_value *measured);
/* Returns the table of the first pattern; from the arena. */
const char *cost_table(struct arena *arena, const char *patterns);

#endif
