/* The part of the REST API about calls: writing, reading, resolving and reopening them. Handlers,
 * called on worker threads, where they wait for the database. */
#include <string.h>

#include "apps/reconciliation/api_internal.h"

enum { CALLS_MAX = 500 }; /* in one request */

static void answer_bad(struct app_request *request, const char *name, const char *rule)
{
    answer_bad_field(request, name, "%s must be %s", name, rule);
}

/* Returns a text without NUL; NULL: it is missing or is not such a text. */
static const char *text_of(const struct gramme_value *map, const char *name)
{
    const struct gramme_value *value = gramme_get(map, name);
    const char *text = gramme_value_string(value);
    return text != NULL && strlen(text) == gramme_value_len(value) ? text : NULL;
}

/* Reads the state of a call from a body. False: 400 has been answered. */
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

/* Reads both ids from the path. False: 404 has been answered. */
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

/* Reads both ids from a call in a list. False: 400 has been answered. */
static bool read_ids(struct app_request *request, const struct gramme_value *map,
                     struct recon_call *call)
{
    call->tenant_id = text_of(map, "tenantId");
    call->call_id = text_of(map, "callId");
    bool has_tenant = call->tenant_id != NULL && recon_id_is_valid(call->tenant_id);
    if (!has_tenant || call->call_id == NULL || !recon_id_is_valid(call->call_id)) {
        answer_bad(request, has_tenant ? "callId" : "tenantId", RECON_ID_RULE);
        return false;
    }
    return true;
}

/* --- answers --- */

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

void recon_show_call(const struct identity *who, const struct gramme_value *item,
                     struct gramme_value *out)
{
    const struct gramme_value *resolved = gramme_get(item, "Resolved");
    recon_show_pending(who, item, out);
    gramme_set_value(out, "attempts", gramme_get(item, "Attempts"));
    show_deliveries(gramme_get(item, "Deliveries"), gramme_set_list(out, "deliveries"));
    if (resolved != NULL) {
        struct gramme_value *map = gramme_set_map(out, "resolved");
        gramme_set_value(map, "at", gramme_get(resolved, "At"));
        gramme_set_value(map, "by", gramme_get(resolved, "By"));
    }
}

/* --- handlers --- */

void recon_api_ingest_call(struct app_request *request)
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
        /* Looks at an attribute that is no key: some databases return the keys of a new item. */
        bool is_new = gramme_get(gramme_answer_attributes(answer), "CallId") == NULL;
        answer_value(request, is_new ? 201 : 200, out);
        gramme_value_destroy(out);
    }
    gramme_answer_destroy(answer);
    gramme_error_destroy(error);
}

/* Writes checked calls one by one: BatchWriteItem would replace the items and so end leases. */
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

void recon_api_ingest_calls(struct app_request *request)
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
        answer_error(request, error); /* the client may send all calls again */
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
    recon_show_call(request_identity(request), item, out);
    answer_value(request, 200, out);
    gramme_value_destroy(out);
}

/* Reads the call in the path; the caller destroys the answer. NULL: an error has been answered. */
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

void recon_api_get_call(struct app_request *request)
{
    struct gramme_answer *answer = find_call(request);
    if (answer != NULL) {
        answer_call(request, gramme_answer_item(answer));
    }
    gramme_answer_destroy(answer);
}

/* Answers with the changed call; destroys `changed` and the error. */
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

void recon_api_resolve_call(struct app_request *request)
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

void recon_api_reopen_call(struct app_request *request)
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
