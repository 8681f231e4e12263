/* The REST API of the reconciliation, as openapi.json describes it: its routes, live updates, and
 * the definition of the application. The router (apps/common/router.c) calls the handlers on worker
 * threads. */
#include "apps/common/files.h"
#include "apps/reconciliation/api_internal.h"
#include "base/base.h"
#include "base/mem.h"

#define FILTER_PARAMETERS "tenant&shard&status&audio&age&lookbackDays"
static const struct app_route routes[] = {
    {"POST", "/calls", recon_api_ingest_calls},
    {"PUT", "/calls/{tenantId}/{callId}", recon_api_ingest_call},
    {"GET", "/calls/{tenantId}/{callId}", recon_api_get_call},
    {"POST", "/calls/{tenantId}/{callId}/resolve", recon_api_resolve_call},
    {"POST", "/calls/{tenantId}/{callId}/reopen", recon_api_reopen_call},
    {"GET", "/pending?" FILTER_PARAMETERS "&order&limit&cursor", recon_api_list_pending},
    {"GET", "/summary?" FILTER_PARAMETERS, recon_api_summarize},
    {"GET", "/deliveries?failed", recon_api_list_deliveries},
    {"GET", "/metrics?format", recon_api_get_metrics},
};

static void *start(struct gramme_db *db, struct gramme_error **error)
{
    (void)error; /* cannot fail: the poller handles errors of the database in its passes */
    struct recon_state *state = mem_zalloc(sizeof(*state));
    state->mirror = mirror_create();
    state->recent = recent_create();
    if (recon_settings.webhook != NULL) {
        state->poller = poller_create(db, state->recent);
        poller_start(state->poller);
    }
    return state;
}

static void stop(void *argument)
{
    struct recon_state *state = argument;
    if (state != NULL) {
        poller_destroy(state->poller);
        replica_destroy(state->mirror);
        recent_destroy(state->recent);
        mem_free(state);
    }
}

/* --- live updates --- */

static const char *live_type(const struct gramme_value *item)
{
    return recon_tenant_id(item) != NULL && recon_call_id(item) != NULL ? "call" : NULL;
}

static bool live_may_see(const struct identity *who, const struct gramme_value *item)
{
    (void)item;
    return identity_has(who, ROLE_OPERATOR);
}

static void live_apply(void *argument, const struct gramme_value *old_item,
                       const struct gramme_value *new_item)
{
    struct recon_state *state = argument;
    replica_apply(state->mirror, old_item, new_item);
    recent_apply(state->recent, old_item, new_item);
}

static void live_restart(void *argument)
{
    replica_forget(((struct recon_state *)argument)->mirror);
}

static const struct app_live live = {
    .table = RECONCILIATION_TABLE,
    .is_always_read = true,
    .apply = live_apply,
    .restart = live_restart,
    .type = live_type,
    .may_see = live_may_see,
    .show = recon_show_call,
};

const struct app_definition reconciliation_app = {
    .name = "reconciliation",
    .files = &reconciliation_files,
    .routes = routes,
    .route_count = COUNT_OF(routes),
    .live = &live,
    .load_samples = recon_load_samples,
    .start = start,
    .stop = stop,
};
