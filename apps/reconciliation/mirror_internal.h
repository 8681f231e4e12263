/* What mirror.c and summary.c share. */
#ifndef GRAMME_APPS_RECONCILIATION_MIRROR_INTERNAL_H
#define GRAMME_APPS_RECONCILIATION_MIRROR_INTERNAL_H

#include "apps/reconciliation/mirror.h"

/* One pending call. */
struct entry {
    char *tenant_id;
    char *call_id;
    char *status;
    char *pk;         /* of the index */
    char *sk;         /* "time#tenant" */
    char *not_before; /* NULL: none */
    int64_t when;
    bool audio;
};

/* Returns whether a filter accepts an entry. */
bool entry_matches(const struct entry *entry, const struct mirror_filter *filter);
/* The same, without looking at its age. */
bool entry_matches_any_age(const struct entry *entry, const struct mirror_filter *filter);
/* Returns the number of its shard. */
int entry_shard(const struct entry *entry);

/* summary.c: adds the members of GET /summary to a map. `entries`: "tenant#call" -> struct entry.
 */
void summary_show(const struct map *entries, const struct mirror_filter *filter,
                  struct gramme_value *out);

#endif
