/* apps/reconciliation/summary.h: how much is pending, by age, tenant and shard. */
#ifndef GRAMME_APPS_RECONCILIATION_SUMMARY_H
#define GRAMME_APPS_RECONCILIATION_SUMMARY_H

#include "apps/reconciliation/reconciliation.h"

/* {"pending", "audioMissing", "oldest", "ages": [{"below", "count"}], "shards": [{"shard",
 * "count"}], "tenants": [{"tenantId", "count"}], the most first, at most 20}; the caller destroys
 * it. Reads all of the index within the look-back. NULL: the database failed. */
struct gramme_value *recon_summarize(struct gramme_db *db, const struct recon_search *search,
                                     struct gramme_error **error);

#endif
