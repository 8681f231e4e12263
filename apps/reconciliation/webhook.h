/* apps/reconciliation/webhook.h: posts JSON to a URL. */
#ifndef GRAMME_APPS_RECONCILIATION_WEBHOOK_H
#define GRAMME_APPS_RECONCILIATION_WEBHOOK_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/buf.h"

/* A URL and the connection to it; used by one thread at a time. */
struct webhook;

/* `secret`: for signing posts, see webhook_sign(); NULL: they are not signed. Copies both texts. */
struct webhook *webhook_create(const char *url, int64_t timeout_ms, const char *secret);
/* Accepts NULL. */
void webhook_destroy(struct webhook *webhook);
/* Posts JSON. Returns the status of the response; *out is its body, at most 64 KB. 0: there was no
 * response, or *stopping became true; *out says why. *out is valid until the next post. */
int webhook_post(struct webhook *webhook, const char *json, const atomic_bool *stopping,
                 struct str *out);

enum { WEBHOOK_SIGNATURE_SIZE = 128 };
/* Computes the value of X-Gramme-Signature: "t=SECONDS,v1=HEX". HEX is HMAC-SHA-256, with the
 * secret, of SECONDS, a dot and the body. */
void webhook_sign(const char *secret, int64_t now_s, const char *json,
                  char out[WEBHOOK_SIGNATURE_SIZE]);

#endif
