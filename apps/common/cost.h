/* apps/common/cost.h: an application's access patterns, and what its workload costs in a month. */
#ifndef GRAMME_APPS_COST_H
#define GRAMME_APPS_COST_H

#include "gramme/gramme.h"

/* From the texts of patterns.json and workload.json, which the build has put into the program: the
 * answer of GET /NAME/api/patterns (see apps/API.md). The caller destroys it. */
struct gramme_value *cost_describe(const char *patterns, const char *workload);

#endif
