/* The requests that every application has: live updates, and the access patterns with their cost.
 * Called by the router on worker threads. */
#include "apps/common/cost.h"
#include "apps/common/measured.h"
#include "apps/common/request_internal.h"

static void get_live(struct app_request *request)
{
    const struct app_live *live = request->app->definition->live;
    if (live->may_listen != NULL && !live->may_listen(request, &request->identity)) {
        return; /* answered */
    }
    request->is_stream = true; /* the event loop opens it, see reply() in server.c */
    answer_empty(request, 200);
}

/* Whether a Gramme server could not be asked. DynamoDB Local answers requests that it does not know
 * with InternalFailure, which Gramme has not. */
static bool is_outage(const struct gramme_error *error)
{
    return error != NULL && !gramme_error_is(error, "InternalFailure") &&
           (gramme_error_status(error) == 0 || gramme_error_retryable(error));
}

static void get_patterns(struct app_request *request)
{
    const struct app_files *files = request->app->definition->files;
    struct arena *arena = request->exchange->arena;
    struct gramme_error *error = NULL;
    struct gramme_value *measured =
        measured_get(request->app->insight, cost_table(arena, files->patterns), &error);
    if (is_outage(
            error)) { /* an answer without measurements would remove those that the page shows */
        answer_error(request, error);
        gramme_error_destroy(error);
        return;
    }
    gramme_error_destroy(error);
    struct gramme_value *body = cost_describe(files->patterns, files->workload, measured);
    answer_value(request, 200, body);
    gramme_value_destroy(measured);
    gramme_value_destroy(body);
}

const struct app_route common_routes[] = {
    {"GET", "/live", get_live},
    {"GET", "/patterns", get_patterns},
};
const size_t common_route_count = COUNT_OF(common_routes);
