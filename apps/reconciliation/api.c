/* The REST API of the reconciliation; openapi.json describes it. The router (apps/common/router.c)
 * calls the handlers on worker threads, where they wait for the database. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/common/files.h"
#include "apps/reconciliation/mirror.h"
#include "apps/reconciliation/poller.h"
#include "apps/reconciliation/recent.h"
#include "base/base.h"
#include "base/buf.h"
#include "base/mem.h"

enum { CALLS_MAX = 500, LIMIT_MAX = 1000, LIMIT_DEFAULT = 100, LOOKBACK_DAYS_MAX = 36500 };
enum { RECENT_CALLS_MAX = 50 }; /* that are read for what was delivered before the start */

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

/* When it was, from the table or from the key of the index. */
static bool read_when(const struct gramme_value *item, int64_t *out)
{
    const char *text = gramme_get_string(item, "CallDateTime");
    const char *key = gramme_get_string(item, "GSI_Recon_SK");
    char when[WHEN_SIZE];
    if (text == NULL && key != NULL) {
        snprintf(when, sizeof(when), "%.*s", (int)MIN(strcspn(key, "#"), sizeof(when) - 1), key);
        text = when;
    }
    return when_parse(text, out);
}

static void show_deliveries(const struct gramme_value *deliveries, struct gramme_value *out)
{
    for (size_t i = 0; i < gramme_value_count(deliveries); i++) {
        const struct gramme_value *delivery = gramme_value_at(deliveries, i);
        struct gramme_value *entry = gramme_add_map(out);
        gramme_set_value(entry, "at", gramme_get(delivery, "At"));
        gramme_set_value(entry, "attempt", gramme_get(delivery, "Attempt"));
        gramme_set_value(entry, "status", gramme_get(delivery, "Status"));
        gramme_set_value(entry, "error", gramme_get(delivery, "Error"));
    }
}

/* An item of the index. */
static void show_pending(const struct identity *who, const struct gramme_value *item,
                         struct gramme_value *out)
{
    static const char *const names[][2] = {
        {"AudioReceived", "audioReceived"},
        {"ProcessingStatus", "processingStatus"},
        {"NotBefore", "notBefore"},
    };
    (void)who;
    gramme_set_string(out, "tenantId", recon_tenant_id(item));
    gramme_set_string(out, "callId", recon_call_id(item));
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        gramme_set_value(out, names[i][1], gramme_get(item, names[i][0]));
    }
    const char *pk = gramme_get_string(item, "GSI_Recon_PK");
    const char *shard = pk == NULL ? NULL : strrchr(pk, '#');
    int64_t when;
    gramme_set_bool(out, "pending", pk != NULL);
    if (read_when(item, &when)) {
        char text[WHEN_SIZE];
        when_format_seconds(text, when);
        gramme_set_string(out, "callDateTime", text);
        gramme_set_bool(out, "abandoned",
                        pk != NULL && when <= when_now() - recon_settings.lookback_days * WHEN_DAY);
    }
    if (shard != NULL) { /* "STATUS#PENDING" is the only shard */
        gramme_set_int(out, "shard", shard[1] >= '0' && shard[1] <= '9' ? atoi(shard + 1) : 0);
    }
}

/* A call with all that is known of it. */
static void show_call(const struct identity *who, const struct gramme_value *item,
                      struct gramme_value *out)
{
    const struct gramme_value *resolved = gramme_get(item, "Resolved");
    show_pending(who, item, out);
    gramme_set_value(out, "attempts", gramme_get(item, "Attempts"));
    show_deliveries(gramme_get(item, "Deliveries"), gramme_set_list(out, "deliveries"));
    if (resolved != NULL) {
        struct gramme_value *map = gramme_set_map(out, "resolved");
        gramme_set_value(map, "at", gramme_get(resolved, "At"));
        gramme_set_value(map, "by", gramme_get(resolved, "By"));
    }
}

/* What the API and the stream's thread share. */
struct recon_state {
    struct replica *mirror;
    struct poller *poller; /* NULL: it does not run here */
    struct recent *recent;
    atomic_bool is_recent_read; /* `recent` has what was delivered before the start */
};

/* --- calls --- */

static void ingest_call(struct app_request *request)
{
    struct recon_call call = {0};
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
        /* No key: some databases return the keys of an item that did not exist before. */
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
    struct recon_call calls[CALLS_MAX] = {0};
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

static void answer_call(struct app_request *request, const struct gramme_value *item)
{
    struct gramme_value *out = gramme_map_create();
    show_call(request_identity(request), item, out);
    answer_value(request, 200, out);
    gramme_value_destroy(out);
}

/* The call that the path names: the answer is the caller's. NULL: it has been answered. */
static struct gramme_answer *find_call(struct app_request *request)
{
    struct recon_call call = {0};
    if (!request_require(request, ROLE_OPERATOR) || !read_path(request, &call)) {
        return NULL; /* answered */
    }
    struct gramme_error *error = NULL;
    struct gramme_answer *answer =
        recon_get_call(request_db(request), call.tenant_id, call.call_id, &error);
    if (answer == NULL) {
        answer_error(request, error);
    } else if (gramme_answer_item(answer) == NULL) {
        answer_problem(request, 404, "not_found", "There is no such call");
        gramme_answer_destroy(answer);
        answer = NULL;
    }
    gramme_error_destroy(error);
    return answer;
}

static void get_call(struct app_request *request)
{
    struct gramme_answer *answer = find_call(request);
    if (answer != NULL) {
        answer_call(request, gramme_answer_item(answer));
    }
    gramme_answer_destroy(answer);
}

/* Answers with the call as it is after a change; takes the answer and the error. */
static void answer_changed(struct app_request *request, struct gramme_answer *changed,
                           struct gramme_error *error)
{
    if (changed != NULL) {
        answer_call(request, gramme_answer_attributes(changed));
    } else if (gramme_error_is(error, GRAMME_CONDITION_FAILED)) {
        answer_problem(request, 409, "changed", "The call has changed meanwhile: look again");
    } else {
        answer_error(request, error);
    }
    gramme_answer_destroy(changed);
    gramme_error_destroy(error);
}

static void resolve_call(struct app_request *request)
{
    if (request_body(request, FIELDS(NULL)) == NULL) {
        return; /* answered */
    }
    struct gramme_answer *found = find_call(request);
    const struct gramme_value *item = gramme_answer_item(found);
    if (found != NULL && gramme_get(item, "GSI_Recon_PK") == NULL) {
        answer_problem(request, 409, "not_pending", "This call is fine already");
    } else if (found != NULL) {
        struct gramme_error *error = NULL;
        struct gramme_answer *changed =
            recon_resolve_call(request_db(request), item, request_identity(request)->id, &error);
        answer_changed(request, changed, error);
    }
    gramme_answer_destroy(found);
}

static void reopen_call(struct app_request *request)
{
    if (request_body(request, FIELDS(NULL)) == NULL) {
        return; /* answered */
    }
    struct gramme_answer *found = find_call(request);
    const struct gramme_value *item = gramme_answer_item(found);
    if (found != NULL && gramme_get(item, "Resolved") == NULL) {
        answer_problem(request, 409, "not_resolved",
                       "Nobody has said that this call is fine, or it has changed since");
    } else if (found != NULL) {
        struct gramme_error *error = NULL;
        struct gramme_answer *changed = recon_reopen_call(request_db(request), item, &error);
        answer_changed(request, changed, error);
    }
    gramme_answer_destroy(found);
}

/* --- what is pending --- */

/* One of some words from the query; NULL: not given. False: it is another word, and 400 has been
 * answered. */
static bool read_word(struct app_request *request, const char *name, const char *const *words,
                      const char **out)
{
    *out = request_query(request, name);
    if (*out == NULL) {
        return true;
    }
    for (const char *const *word = words; *word != NULL; word++) {
        if (strcmp(*word, *out) == 0) {
            return true;
        }
    }
    answer_bad_field(request, name, "%s must be %s or %s", name, words[0], words[1]);
    return false;
}

/* From the query: tenant, shard, status, audio, age, lookbackDays. False: it has been answered. */
static bool read_filter(struct app_request *request, struct mirror_filter *out)
{
    int64_t days;
    int64_t shard;
    const char *age;
    if (!request_require(request, ROLE_OPERATOR)) {
        return false;
    }
    *out = (struct mirror_filter){.tenant = request_query(request, "tenant"), .now = when_now()};
    if (out->tenant != NULL && !recon_id_is_valid(out->tenant)) {
        answer_bad(request, "tenant", ID_RULE);
        return false;
    }
    if (!read_word(request, "status", FIELDS("PENDING", "FAILED"), &out->status) ||
        !read_word(request, "audio", FIELDS("missing", "received"), &out->audio) ||
        !read_word(request, "age", FIELDS("current", "abandoned", "all"), &age) ||
        !request_query_int(request, "shard", 0, recon_settings.shards - 1, -1, &shard) ||
        !request_query_int(request, "lookbackDays", 1, LOOKBACK_DAYS_MAX,
                           recon_settings.lookback_days, &days)) {
        return false;
    }
    out->age = age == NULL || age[0] == 'c'    ? MIRROR_CURRENT
               : strcmp(age, "abandoned") == 0 ? MIRROR_ABANDONED
                                               : MIRROR_ALL;
    out->since = out->now - days * WHEN_DAY;
    out->has_shard = shard >= 0;
    out->shard = (int)shard;
    return true;
}

/* Answers a page, by age. */
static void answer_pending(struct app_request *request, const struct mirror_filter *filter,
                           const struct mirror_page *page)
{
    const struct recon_state *state = request_state(request);
    struct mirror_result result;
    struct gramme_error *error = NULL;
    bool is_fresh = request_sync(request);
    if (!mirror_list(state->mirror, request_db(request), is_fresh, filter, page, &result, &error)) {
        answer_error(request, error);
        gramme_error_destroy(error);
        return;
    }
    const struct gramme_value *found = gramme_get(result.items, "items");
    struct gramme_value *body = gramme_map_create();
    struct gramme_value *items = gramme_set_list(body, "items");
    for (size_t i = 0; i < gramme_value_count(found); i++) {
        show_pending(request_identity(request), gramme_value_at(found, i), gramme_add_map(items));
    }
    gramme_set_int(body, "total", (int64_t)result.total);
    if (result.cursor != NULL) {
        gramme_set_string(body, "cursor", result.cursor);
    }
    answer_value(request, 200, body);
    gramme_value_destroy(body);
    gramme_value_destroy(result.items);
}

static void list_pending(struct app_request *request)
{
    struct mirror_filter filter;
    struct mirror_page page = {.after = request_query(request, "cursor")};
    const char *order;
    int64_t limit;
    if (!read_filter(request, &filter) ||
        !read_word(request, "order", FIELDS("oldest", "newest"), &order)) {
        return; /* answered */
    }
    if (page.after != NULL && !mirror_cursor_is_valid(page.after)) {
        answer_problem(request, 400, "bad_cursor", "The cursor is none of this list");
    } else if (request_query_int(request, "limit", 1, LIMIT_MAX, LIMIT_DEFAULT, &limit)) {
        page.limit = (size_t)limit;
        page.newest_first = order != NULL && strcmp(order, "newest") == 0;
        answer_pending(request, &filter, &page);
    }
}

static void summarize(struct app_request *request)
{
    const struct recon_state *state = request_state(request);
    struct mirror_filter filter;
    if (!read_filter(request, &filter)) {
        return; /* answered */
    }
    struct gramme_error *error = NULL;
    struct gramme_value *body = gramme_map_create();
    bool is_fresh = request_sync(request);
    if (mirror_summarize(state->mirror, request_db(request), is_fresh, &filter, body, &error)) {
        answer_value(request, 200, body);
    } else {
        answer_error(request, error);
    }
    gramme_value_destroy(body);
    gramme_error_destroy(error);
}

/* Reads, once, what was delivered before the start: of the calls that are still pending, those that
 * were tried. False: the database failed. */
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

static void list_deliveries(struct app_request *request)
{
    const struct recon_state *state = request_state(request);
    const char *failed;
    if (!request_require(request, ROLE_OPERATOR) ||
        !read_word(request, "failed", FIELDS("true", "false"), &failed)) {
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

/* JSON, or Prometheus text format if Accept prefers text/plain. */
static void get_metrics(struct app_request *request)
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

/* --- the application --- */

#define FILTER_PARAMETERS "tenant&shard&status&audio&age&lookbackDays"
static const struct app_route routes[] = {
    {"POST", "/calls", ingest_calls},
    {"PUT", "/calls/{tenantId}/{callId}", ingest_call},
    {"GET", "/calls/{tenantId}/{callId}", get_call},
    {"POST", "/calls/{tenantId}/{callId}/resolve", resolve_call},
    {"POST", "/calls/{tenantId}/{callId}/reopen", reopen_call},
    {"GET", "/pending?" FILTER_PARAMETERS "&order&limit&cursor", list_pending},
    {"GET", "/summary?" FILTER_PARAMETERS, summarize},
    {"GET", "/deliveries?failed", list_deliveries},
    {"GET", "/metrics?format", get_metrics},
};

static void *start(struct gramme_db *db, struct gramme_error **error)
{
    (void)error; /* it cannot fail: what the database says is seen in the passes */
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
    .show = show_call,
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
