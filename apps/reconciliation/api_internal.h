/* What the files of the REST API share. "Answered": an error has been answered, so the handler must
 * return. */
#ifndef GRAMME_APPS_RECONCILIATION_API_INTERNAL_H
#define GRAMME_APPS_RECONCILIATION_API_INTERNAL_H

#include <stdatomic.h>

#include "apps/reconciliation/mirror.h"
#include "apps/reconciliation/poller.h"
#include "apps/reconciliation/recent.h"

/* The state of the application, shared by the handlers and the thread that reads the stream. */
struct recon_state {
    struct replica *mirror;
    struct poller *poller; /* NULL: it does not run here */
    struct recent *recent;
    atomic_bool is_recent_read; /* `recent` has the deliveries before the start */
};

/* The rule for ids of tenants and calls, for messages. */
#define RECON_ID_RULE "1 to 128 letters, digits, dots, colons, hyphens and underscores"

/* --- calls_api.c --- */

/* POST /calls */
void recon_api_ingest_calls(struct app_request *request);
/* PUT /calls/{tenantId}/{callId} */
void recon_api_ingest_call(struct app_request *request);
/* GET /calls/{tenantId}/{callId} */
void recon_api_get_call(struct app_request *request);
/* POST /calls/{tenantId}/{callId}/resolve */
void recon_api_resolve_call(struct app_request *request);
/* POST /calls/{tenantId}/{callId}/reopen */
void recon_api_reopen_call(struct app_request *request);
/* Fills `out` with a call as the REST API shows it: recon_show_pending(), its attempts and
 * deliveries, and who resolved it. */
void recon_show_call(const struct identity *who, const struct gramme_value *item,
                     struct gramme_value *out);

/* --- pending_api.c --- */

/* GET /pending */
void recon_api_list_pending(struct app_request *request);
/* GET /summary */
void recon_api_summarize(struct app_request *request);
/* Fills `out` with a call as lists show it. `item`: of the index or of the table. */
void recon_show_pending(const struct identity *who, const struct gramme_value *item,
                        struct gramme_value *out);
/* Reads a parameter of the query that must be one of `words`, which end with NULL. *out NULL: it is
 * not given. False: it is another word, 400 has been answered. */
bool recon_query_word(struct app_request *request, const char *name, const char *const *words,
                      const char **out);

/* --- deliveries_api.c --- */

/* GET /deliveries */
void recon_api_list_deliveries(struct app_request *request);
/* GET /metrics: JSON, or Prometheus' text format if the query or Accept asks for it. */
void recon_api_get_metrics(struct app_request *request);

#endif
