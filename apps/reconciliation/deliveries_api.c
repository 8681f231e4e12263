/* The part of the REST API about deliveries: the newest ones, and the metrics of the server's
 * poller. Handlers, called on worker threads, where they wait for the database. */
#include <string.h>

#include "apps/reconciliation/api_internal.h"
#include "base/buf.h"

enum { RECENT_CALLS_MAX = 50 }; /* whose earlier deliveries are read after a start */

/* Reads, once, the deliveries before the server's start: of pending calls that have been tried.
 * False: the database failed. */
static bool read_recent(struct app_request *request, struct gramme_error **error)
{
    struct recon_state *state = request_state(request);
    struct gramme_db *db = request_db(request);
    struct mirror_result tried;
    bool is_fresh = request_sync(request);
    if (atomic_load(&state->is_recent_read)) {
        return true;
    }
    if (!mirror_list_tried(state->mirror, db, is_fresh, RECENT_CALLS_MAX, &tried, error)) {
        return false;
    }
    const struct gramme_value *items = gramme_get(tried.items, "items");
    bool ok = true;
    for (size_t i = 0; ok && i < gramme_value_count(items); i++) {
        const struct gramme_value *item = gramme_value_at(items, i);
        struct gramme_answer *call =
            recon_get_call(db, recon_tenant_id(item), recon_call_id(item), error);
        recent_add_all(state->recent, gramme_answer_item(call));
        ok = call != NULL;
        gramme_answer_destroy(call);
    }
    gramme_value_destroy(tried.items);
    atomic_store(&state->is_recent_read, ok);
    return ok;
}

void recon_api_list_deliveries(struct app_request *request)
{
    const struct recon_state *state = request_state(request);
    const char *failed;
    if (!request_require(request, ROLE_OPERATOR) ||
        !recon_query_word(request, "failed", FIELDS("true", "false"), &failed)) {
        return; /* answered */
    }
    struct gramme_error *error = NULL;
    if (!read_recent(request, &error)) {
        answer_error(request, error);
        gramme_error_destroy(error);
        return;
    }
    struct gramme_value *body = gramme_map_create();
    recent_show(state->recent, failed != NULL && strcmp(failed, "true") == 0,
                gramme_set_list(body, "items"));
    answer_value(request, 200, body);
    gramme_value_destroy(body);
}

/* --- metrics --- */

static const struct poller_counters no_counters; /* all 0: the poller does not run here */

static void add_metric(struct buf *out, const char *name, const char *what, const char *type,
                       int64_t value)
{
    buf_format(out, "# HELP gramme_reconciliation_%s %s.\n# TYPE gramme_reconciliation_%s %s\n",
               name, what, name, type);
    buf_format(out, "gramme_reconciliation_%s %lld\n", name, (long long)value);
}

/* Answers in Prometheus' text format. */
static void answer_metrics_text(struct app_request *request, const struct poller_counters *counters)
{
    struct buf out = {0};
#define COUNTER(name_, what_)                                                                      \
    add_metric(&out, #name_ "_total", "Number of " what_, "counter", atomic_load(&counters->name_));
    POLLER_COUNTERS(COUNTER)
#undef COUNTER
    add_metric(&out, "last_pass_timestamp_seconds", "When the newest pass ended", "gauge",
               atomic_load(&counters->last_pass) / WHEN_SECOND);
    add_metric(&out, "oldest_due_timestamp_seconds",
               "When the oldest call was that was due in the newest pass, 0 if none", "gauge",
               atomic_load(&counters->oldest_due) / WHEN_SECOND);
    buf_add_char(&out, '\0');
    answer_text(request, "text/plain; version=0.0.4; charset=utf-8", out.data);
    buf_finish(&out);
}

static void set_when(struct gramme_value *map, const char *name, int64_t when)
{
    if (when != 0) {
        char text[WHEN_SIZE];
        when_format(text, when);
        gramme_set_string(map, name, text);
    }
}

static void answer_metrics_json(struct app_request *request, const struct poller_counters *counters)
{
    struct gramme_value *map = gramme_map_create();
    gramme_set_bool(map, "polling", counters != &no_counters);
#define COUNTER(name_, what_) gramme_set_int(map, #name_, atomic_load(&counters->name_));
    POLLER_COUNTERS(COUNTER)
#undef COUNTER
    set_when(map, "last_pass", atomic_load(&counters->last_pass));
    set_when(map, "oldest_due", atomic_load(&counters->oldest_due));
    answer_value(request, 200, map);
    gramme_value_destroy(map);
}

void recon_api_get_metrics(struct app_request *request)
{
    if (!request_require(request, ROLE_OPERATOR)) {
        return; /* answered */
    }
    const struct poller *poller = ((const struct recon_state *)request_state(request))->poller;
    const struct poller_counters *counters =
        poller == NULL ? &no_counters : poller_counters(poller);
    const char *format = request_query(request, "format");
    const char *accept = request_header(request, "accept");
    if (format != NULL ? strcmp(format, "prometheus") == 0
                       : accept != NULL && strstr(accept, "text/plain") != NULL) {
        answer_metrics_text(request, counters);
    } else {
        answer_metrics_json(request, counters);
    }
}
