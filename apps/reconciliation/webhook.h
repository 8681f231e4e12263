/* apps/reconciliation/webhook.h: posting JSON to a URL. */
#ifndef GRAMME_APPS_RECONCILIATION_WEBHOOK_H
#define GRAMME_APPS_RECONCILIATION_WEBHOOK_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/buf.h"

/* Keeps its connection; one thread at a time. */
struct webhook;

/* `secret`: what posts are signed with, see webhook_sign(); NULL: they are not. Both are copied. */
struct webhook *webhook_create(const char *url, int64_t timeout_ms, const char *secret);
/* Accepts NULL. */
void webhook_destroy(struct webhook *webhook);
/* Returns the status of the answer, 0: there was none, or *stopping became true. *out is the
 * answer's body, at most 64 KB of it, until the next post; without an answer, why there is none. */
int webhook_post(struct webhook *webhook, const char *json, const atomic_bool *stopping,
                 struct str *out);

enum { WEBHOOK_SIGNATURE_SIZE = 128 };
/* The value of X-Gramme-Signature: "t=SECONDS,v1=HEX", HEX being HMAC-SHA-256 with the secret of
 * SECONDS, a dot and the body. */
void webhook_sign(const char *secret, int64_t now_s, const char *json,
                  char out[WEBHOOK_SIGNATURE_SIZE]);

#endif
