/* apps/reconciliation/webhook.h: posting JSON to a URL. */
#ifndef GRAMME_APPS_RECONCILIATION_WEBHOOK_H
#define GRAMME_APPS_RECONCILIATION_WEBHOOK_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/buf.h"

/* Keeps its connection; one thread at a time. */
struct webhook;

struct webhook *webhook_create(const char *url, int64_t timeout_ms);
void webhook_destroy(struct webhook *webhook);
/* Returns the status of the answer, 0: there was none, or *stopping became true. *out is the
 * answer's body, at most 64 KB of it, until the next post. */
int webhook_post(struct webhook *webhook, const char *json, const atomic_bool *stopping,
                 struct str *out);

#endif
