/* apps/reconciliation/recent.h: the newest deliveries that this process has seen in the stream. */
#ifndef GRAMME_APPS_RECONCILIATION_RECENT_H
#define GRAMME_APPS_RECONCILIATION_RECENT_H

#include "gramme/gramme.h"

struct recent;

/* Makes an empty list. */
struct recent *recent_create(void);
/* Accepts NULL. */
void recent_destroy(struct recent *recent);
/* A change of the table; NULL: there is no such item. */
void recent_apply(struct recent *recent, const struct gramme_value *old_item,
                  const struct gramme_value *new_item);
/* Adds maps to a list, the newest first: {"tenantId", "callId", "at", "attempt", "status",
 * "error"}. */
void recent_show(struct recent *recent, bool only_failed, struct gramme_value *out);

#endif
