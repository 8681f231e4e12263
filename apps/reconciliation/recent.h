/* apps/reconciliation/recent.h: the newest deliveries that this process knows of: from the stream,
 * from the poller in this process, and, of calls that are still pending, from before its start. */
#ifndef GRAMME_APPS_RECONCILIATION_RECENT_H
#define GRAMME_APPS_RECONCILIATION_RECENT_H

#include "gramme/gramme.h"

struct recent;

/* Creates an empty list. */
struct recent *recent_create(void);
/* Accepts NULL. */
void recent_destroy(struct recent *recent);
/* Adds an entry of a call's Deliveries, unless it is known already. */
void recent_add(struct recent *recent, const char *tenant_id, const char *call_id,
                const struct gramme_value *delivery);
/* Applies a change of the table: adds the newest entry of Deliveries, if it is new. NULL: there is
 * no such item. */
void recent_apply(struct recent *recent, const struct gramme_value *old_item,
                  const struct gramme_value *new_item);
/* Adds all Deliveries of an item of the table. */
void recent_add_all(struct recent *recent, const struct gramme_value *item);
/* Adds maps to a list, the newest first: {"tenantId", "callId", "at", "attempt", "status",
 * "error"}. */
void recent_show(struct recent *recent, bool only_failed, struct gramme_value *out);

#endif
