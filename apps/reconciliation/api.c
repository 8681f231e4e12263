#include <string.h>

#include "apps/reconciliation/poller.h"
#include "apps/reconciliation/summary.h"
#include "base/base.h"
#include "base/buf.h"

enum { CALLS_MAX = 500, LIMIT_MAX = 1000, LIMIT_DEFAULT = 100, LOOKBACK_DAYS_MAX = 36500 };

/* --- what comes in --- */

static void answer_bad(struct app_request *request, const char *name, const char *rule)
{
    answer_bad_field(request, name, "%s must be %s", name, rule);
}

static const char ID_RULE[] = "1 to 128 letters, digits, dots, colons, hyphens and underscores";

/* A text without NUL; NULL: it is none. */
static const char *text_of(const struct gramme_value *map, const char *name)
{
    const struct gramme_value *value = gramme_get(map, name);
    const char *text = gramme_value_string(value);
    return text != NULL && strlen(text) == gramme_value_len(value) ? text : NULL;
}

/* The state of a call from a body. False: 400 has been answered. */
static bool read_state(struct app_request *request, const struct gramme_value *map,
                       struct recon_call *call)
{
    if (!when_parse(text_of(map, "callDateTime"), &call->when)) {
        answer_bad(request, "callDateTime", "a time like 2023-10-27T08:00:00Z");
        return false;
    }
    if (!gramme_value_bool(gramme_get(map, "audioReceived"), &call->audio_received)) {
        answer_bad(request, "audioReceived", "true or false");
        return false;
    }
    call->processing_status = text_of(map, "processingStatus");
    if (call->processing_status == NULL || !recon_status_is_valid(call->processing_status)) {
        answer_bad(request, "processingStatus", "SUCCESS, FAILED or PENDING");
        return false;
    }
    return true;
}

/* Both ids from the path. False: 404 has been answered. */
static bool read_path(struct app_request *request, struct recon_call *call)
{
    call->tenant_id = request_param(request, "tenantId");
    call->call_id = request_param(request, "callId");
    if (!recon_id_is_valid(call->tenant_id) || !recon_id_is_valid(call->call_id)) {
        answer_problem(request, 404, "not_found", "There is no such call");
        return false;
    }
    return true;
}

static bool read_ids(struct app_request *request, const struct gramme_value *map,
                     struct recon_call *call)
{
    call->tenant_id = text_of(map, "tenantId");
    call->call_id = text_of(map, "callId");
    bool has_tenant = call->tenant_id != NULL && recon_id_is_valid(call->tenant_id);
    if (!has_tenant || call->call_id == NULL || !recon_id_is_valid(call->call_id)) {
        answer_bad(request, has_tenant ? "callId" : "tenantId", ID_RULE);
        return false;
    }
    return true;
}

/* --- what goes out --- */

static void show_call(const struct identity *who, const struct gramme_value *item,
                      struct gramme_value *out)
{
    (void)who;
    static const char *const names[][2] = {
        {"TenantId", "tenantId"},
        {"CallId", "callId"},
        {"CallDateTime", "callDateTime"},
        {"AudioReceived", "audioReceived"},
        {"ProcessingStatus", "processingStatus"},
        {"Attempts", "attempts"},
        {"NotBefore", "notBefore"},
    };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        gramme_set_value(out, names[i][1], gramme_get(item, names[i][0]));
    }
    gramme_set_bool(out, "pending", gramme_get(item, "GSI_Recon_PK") != NULL);
}

/* An item of the index: the time of the call is in its key, and so is its shard. */
static void show_pending(const struct identity *who, const struct gramme_value *item,
                         struct gramme_value *out)
{
    show_call(who, item, out);
    const char *key = gramme_get_string(item, "GSI_Recon_SK");
    gramme_set_text(out, "callDateTime", key, strcspn(key, "#"));
    const char *shard = strrchr(gramme_get_string(item, "GSI_Recon_PK"), '#');
    gramme_set_number(out, "shard", strcmp(shard, "#PENDING") == 0 ? "0" : shard + 1);
}

/* --- calls --- */

static void ingest_call(struct app_request *request)
{
    struct recon_call call;
    const struct gramme_value *body = NULL;
    if (!request_require(request, ROLE_OPERATOR) || !read_path(request, &call) ||
        (body = request_body(
             request, FIELDS("callDateTime", "audioReceived", "processingStatus"))) == NULL ||
        !read_state(request, body, &call)) {
        return; /* answered */
    }
    struct gramme_error *error = NULL;
    struct gramme_answer *answer = recon_ingest_call(request_db(request), &call, NULL, &error);
    if (answer == NULL) {
        answer_error(request, error);
    } else {
        struct gramme_value *out = gramme_map_create();
        gramme_set_bool(out, "pending", recon_is_bad(call.audio_received, call.processing_status));
        bool is_new = gramme_get(gramme_answer_attributes(answer), "CallId") == NULL;
        answer_value(request, is_new ? 201 : 200, out);
        gramme_value_destroy(out);
    }
    gramme_answer_destroy(answer);
    gramme_error_destroy(error);
}

/* Writes calls that have been checked, each by itself: a batch write would undo leases. */
static bool ingest_all(struct gramme_db *db, const struct recon_call *calls, size_t count,
                       struct gramme_error **error)
{
    for (size_t i = 0; i < count; i++) {
        struct gramme_answer *answer = recon_ingest_call(db, &calls[i], NULL, error);
        gramme_answer_destroy(answer);
        if (answer == NULL) {
            return false;
        }
    }
    return true;
}

static void ingest_calls(struct app_request *request)
{
    const struct gramme_value *body = request_body(request, FIELDS("calls"));
    const struct gramme_value *list = gramme_get(body, "calls");
    size_t count = gramme_value_count(list);
    if (body == NULL || !request_require(request, ROLE_OPERATOR)) {
        return; /* answered, also below */
    }
    if (gramme_value_type(list) != GRAMME_LIST || count < 1 || count > CALLS_MAX) {
        answer_problem(request, 400, "bad_parameter", "calls must be a list of 1 to %d calls",
                       CALLS_MAX);
        return;
    }
    struct recon_call calls[CALLS_MAX];
    size_t pending = 0;
    for (size_t i = 0; i < count; i++) {
        const struct gramme_value *map = gramme_value_at(list, i);
        if (!request_fields(request, map,
                            FIELDS("tenantId", "callId", "callDateTime", "audioReceived",
                                   "processingStatus")) ||
            !read_ids(request, map, &calls[i]) || !read_state(request, map, &calls[i])) {
            return;
        }
        pending += recon_is_bad(calls[i].audio_received, calls[i].processing_status) ? 1 : 0;
    }
    struct gramme_error *error = NULL;
    if (!ingest_all(request_db(request), calls, count, &error)) {
        answer_error(request, error); /* to be sent again as a whole: that does no harm */
        gramme_error_destroy(error);
        return;
    }
    struct gramme_value *out = gramme_map_create();
    gramme_set_int(out, "written", (int64_t)count);
    gramme_set_int(out, "pending", (int64_t)pending);
    answer_value(request, 200, out);
    gramme_value_destroy(out);
}

static void get_call(struct app_request *request)
{
    struct recon_call call;
    if (!request_require(request, ROLE_OPERATOR) || !read_path(request, &call)) {
        return; /* answered */
    }
    struct gramme_error *error = NULL;
    struct gramme_answer *answer =
        recon_get_call(request_db(request), call.tenant_id, call.call_id, &error);
    const struct gramme_value *item = gramme_answer_item(answer);
    if (answer == NULL) {
        answer_error(request, error);
    } else if (item == NULL) {
        answer_problem(request, 404, "not_found", "There is no such call");
    } else {
        struct gramme_value *out = gramme_map_create();
        show_call(request_identity(request), item, out);
        answer_value(request, 200, out);
        gramme_value_destroy(out);
    }
    gramme_answer_destroy(answer);
    gramme_error_destroy(error);
}

/* --- what is pending --- */

/* From the query: tenant, lookbackDays. False: 400 has been answered. */
static bool read_search(struct app_request *request, struct recon_search *out)
{
    int64_t days;
    if (!request_require(request, ROLE_OPERATOR)) {
        return false;
    }
    *out = (struct recon_search){.tenant = request_query(request, "tenant")};
    if (out->tenant != NULL && !recon_id_is_valid(out->tenant)) {
        answer_bad(request, "tenant", ID_RULE);
        return false;
    }
    if (!request_query_int(request, "lookbackDays", 1, LOOKBACK_DAYS_MAX,
                           recon_settings.lookback_days, &days)) {
        return false;
    }
    out->since = when_now() - days * WHEN_DAY;
    return true;
}

/* The oldest of all shards. */
static void list_oldest(struct app_request *request, const struct recon_search *search,
                        int64_t limit)
{
    struct recon_list list;
    struct gramme_error *error = NULL;
    if (recon_list_pending(request_db(request), search, (size_t)limit, &list, &error)) {
        struct gramme_value *body = gramme_map_create();
        struct gramme_value *items = gramme_set_list(body, "items");
        for (size_t i = 0; i < list.count; i++) {
            show_pending(request_identity(request), list.oldest[i], gramme_add_map(items));
        }
        answer_value(request, 200, body);
        gramme_value_destroy(body);
    } else {
        answer_error(request, error);
    }
    recon_list_finish(&list);
    gramme_error_destroy(error);
}

/* A page of one shard. */
static void list_shard(struct app_request *request, const struct recon_search *search, int shard)
{
    struct page page;
    struct gramme_error *error = NULL;
    if (!request_page(request, &page)) {
        return; /* answered */
    }
    struct gramme_request *query = recon_find_pending(search, shard);
    page_apply(&page, query);
    struct gramme_answer *answer = gramme_send(request_db(request), query, &error);
    if (answer == NULL) {
        answer_error(request, error);
    } else {
        answer_page(request, answer, show_pending);
    }
    gramme_request_destroy(query);
    gramme_answer_destroy(answer);
    gramme_error_destroy(error);
}

static void list_pending(struct app_request *request)
{
    struct recon_search search;
    int64_t shard;
    int64_t limit;
    if (!read_search(request, &search) ||
        !request_query_int(request, "shard", 0, recon_settings.shards - 1, -1, &shard)) {
        return; /* answered */
    }
    if (shard >= 0) {
        list_shard(request, &search, (int)shard);
    } else if (request_query(request, "cursor") != NULL) {
        answer_problem(request, 400, "bad_cursor", "Only the list of one shard has pages");
    } else if (request_query_int(request, "limit", 1, LIMIT_MAX, LIMIT_DEFAULT, &limit)) {
        list_oldest(request, &search, limit);
    }
}

static void summarize(struct app_request *request)
{
    struct recon_search search;
    if (!read_search(request, &search)) {
        return; /* answered */
    }
    struct gramme_error *error = NULL;
    struct gramme_value *summary = recon_summarize(request_db(request), &search, &error);
    if (summary == NULL) {
        answer_error(request, error);
    } else {
        answer_value(request, 200, summary);
    }
    gramme_value_destroy(summary);
    gramme_error_destroy(error);
}

/* --- metrics --- */

static const struct poller_counters no_counters;

static void add_metric(struct buf *out, const char *name, const char *what, const char *type,
                       int64_t value)
{
    buf_format(out, "# HELP gramme_reconciliation_%s %s.\n# TYPE gramme_reconciliation_%s %s\n",
               name, what, name, type);
    buf_format(out, "gramme_reconciliation_%s %lld\n", name, (long long)value);
}

/* Prometheus' text. */
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

/* JSON, or what Prometheus reads if the client would rather have text. */
static void get_metrics(struct app_request *request)
{
    if (!request_require(request, ROLE_OPERATOR)) {
        return; /* answered */
    }
    const struct poller *poller = request_state(request);
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

/* --- the application --- */

static const struct app_route routes[] = {
    {"POST", "/calls", ingest_calls},
    {"PUT", "/calls/{tenantId}/{callId}", ingest_call},
    {"GET", "/calls/{tenantId}/{callId}", get_call},
    {"GET", "/pending", list_pending},
    {"GET", "/summary", summarize},
    {"GET", "/metrics", get_metrics},
};

static void *start(struct gramme_db *db, struct gramme_error **error)
{
    (void)error; /* it cannot fail: what the database says is seen in the passes */
    if (recon_settings.webhook == NULL) {
        return NULL;
    }
    struct poller *poller = poller_create(db);
    poller_start(poller);
    return poller;
}

static void stop(void *state)
{
    poller_destroy(state);
}

/* --- live updates --- */

static const char *live_type(const struct gramme_value *item)
{
    return gramme_get(item, "CallId") != NULL ? "call" : NULL;
}

static bool live_may_see(const struct identity *who, const struct gramme_value *item)
{
    (void)item;
    return identity_has(who, ROLE_OPERATOR);
}

static const struct app_live live = {
    .table = RECONCILIATION_TABLE,
    .type = live_type,
    .may_see = live_may_see,
    .show = show_call,
};

/* Made of the JSON files by the build. */
extern const char reconciliation_schema[];
extern const char reconciliation_patterns[];
extern const char reconciliation_workload[];
static const char *const schemas[] = {reconciliation_schema, NULL};

const struct app_definition reconciliation_app = {
    .name = "reconciliation",
    .schemas = schemas,
    .routes = routes,
    .route_count = COUNT_OF(routes),
    .live = &live,
    .patterns = reconciliation_patterns,
    .workload = reconciliation_workload,
    .load_samples = recon_load_samples,
    .start = start,
    .stop = stop,
};
