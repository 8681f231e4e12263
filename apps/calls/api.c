/* The REST API of the calls; openapi.json describes it. */
#include <time.h>

#include "apps/calls/calls.h"
#include "base/base.h"
#include "base/clock.h"

/* --- what comes in --- */

/* An id, else 400 has been answered. */
static const char *check_id(struct app_request *request, const char *name, const char *id)
{
    if (calls_id_is_valid(id)) {
        return id;
    }
    answer_problem(request, 400, "bad_parameter",
                   "%s must be 1 to %d letters, digits or . _ @ + : -", name, CALLS_ID_LEN_MAX);
    return NULL;
}

static const char *param_id(struct app_request *request, const char *name)
{
    return check_id(request, name, request_param(request, name));
}

static const char *body_id(struct app_request *request, const struct gramme_value *body,
                           const char *name)
{
    const char *text = request_text(request, body, name, CALLS_ID_LEN_MAX);
    return text == NULL ? NULL : check_id(request, name, text);
}

static bool body_time(struct app_request *request, const struct gramme_value *body, int64_t *out)
{
    if (!gramme_value_int(gramme_get(body, "scheduledFor"), out) || *out < 0 ||
        *out > CALLS_TIME_MS_MAX) {
        answer_problem(request, 400, "bad_parameter",
                       "scheduledFor must be milliseconds since 1970, 0 to %lld",
                       (long long)CALLS_TIME_MS_MAX);
        return false;
    }
    return true;
}

/* --- answers --- */

static void show_call(const struct call *call, struct gramme_value *out)
{
    gramme_set_string(out, "callId", call->call_id);
    gramme_set_string(out, "userId", call->user_id);
    gramme_set_string(out, "providerId", call->provider_id);
    gramme_set_string(out, "status", calls_status_name(call->status));
    gramme_set_int(out, "scheduledFor", call->scheduled_for_ms);
    gramme_set_int(out, "version", call->version);
}

static void show_item(const struct gramme_value *item, struct gramme_value *out)
{
    struct call call;
    calls_read(item, &call);
    show_call(&call, out);
}

static void answer_call(struct app_request *request, int status, const struct call *call)
{
    struct gramme_value *body = gramme_map_create();
    show_call(call, body);
    answer_version(request, call->version);
    answer_value(request, status, body);
    gramme_value_destroy(body);
}

/* What a function of calls.h returned, the call if it is OK. Ends the error. */
static void answer_result(struct app_request *request, enum calls_result result,
                          const struct call *call, struct gramme_error *error)
{
    switch (result) {
    case CALLS_OK:
    case CALLS_THE_SAME:
        answer_call(request, 200, call);
        break;
    case CALLS_ID_TAKEN:
        answer_problem(request, 409, "call_exists", "There is another call with this id");
        break;
    case CALLS_NOT_FOUND:
        answer_problem(request, 404, "not_found", "There is no such call");
        break;
    case CALLS_STALE:
        answer_problem(request, 412, "version_mismatch",
                       "The call has changed since you saw it: read it again");
        break;
    case CALLS_FAILED:
        answer_error(request, error);
        break;
    }
    gramme_error_destroy(error);
}

static void answer_calls(struct app_request *request, struct gramme_answer *answer,
                         struct gramme_error *error)
{
    if (answer == NULL) {
        answer_error(request, error);
        gramme_error_destroy(error);
        return;
    }
    answer_page(request, answer, show_item);
    gramme_answer_destroy(answer);
}

/* --- one call --- */

static void create(struct app_request *request)
{
    struct call call = {0};
    char fresh_id[GRAMME_UUID_SIZE];
    gramme_uuid(fresh_id);
    const struct gramme_value *body = request_body(request);
    if (body == NULL) {
        return;
    }
    const char *call_id =
        gramme_get(body, "callId") == NULL ? fresh_id : body_id(request, body, "callId");
    const char *user_id = call_id == NULL ? NULL : body_id(request, body, "userId");
    const char *provider_id = user_id == NULL ? NULL : body_id(request, body, "providerId");
    if (provider_id == NULL || !body_time(request, body, &call.scheduled_for_ms)) {
        return;
    }
    strcpy(call.call_id, call_id);
    strcpy(call.user_id, user_id);
    strcpy(call.provider_id, provider_id);
    struct gramme_error *error = NULL;
    struct call created;
    enum calls_result result = calls_create(request_db(request), &call, &created, &error);
    if (result == CALLS_NOT_FOUND) {
        /* It is there, but has moved, and the index does not show where to yet. */
        answer_header(request, "Retry-After", "1");
        answer_problem(request, 503, "unavailable", "The call is being moved: ask again");
        return;
    }
    if (result != CALLS_OK) {
        answer_result(request, result, &created, error);
        return;
    }
    answer_header(request, "Location", "/calls/api/calls/%s", created.call_id);
    answer_call(request, 201, &created);
}

static void lookup(struct app_request *request)
{
    const char *call_id = param_id(request, "callId");
    if (call_id == NULL) {
        return;
    }
    struct call call;
    struct gramme_error *error = NULL;
    enum calls_result result = calls_lookup(request_db(request), call_id, &call, &error);
    answer_result(request, result, &call, error);
}

/* The index that finds a call may be behind the table: waits a little for the version that the
 * client says it saw. */
static enum calls_result lookup_version(struct gramme_db *db, const char *call_id, int64_t version,
                                        struct call *out, struct gramme_error **error)
{
    enum { ATTEMPTS_MAX = 6, DELAY_MS_FIRST = 10 };
    for (int attempt = 0;; attempt++) {
        enum calls_result result = calls_lookup(db, call_id, out, error);
        if (result != CALLS_OK || out->version >= version || attempt + 1 == ATTEMPTS_MAX) {
            return result;
        }
        nanosleep(&(struct timespec){.tv_nsec = (DELAY_MS_FIRST << attempt) * 1000000L}, NULL);
    }
}

/* The call that the path names, in the version that If-Match names; else something has been
 * answered. */
static bool find_seen(struct app_request *request, struct call *out)
{
    int64_t version;
    const char *call_id = param_id(request, "callId");
    if (call_id == NULL || !request_version(request, &version)) {
        return false;
    }
    struct gramme_error *error = NULL;
    enum calls_result result = lookup_version(request_db(request), call_id, version, out, &error);
    if (result == CALLS_OK && out->version == version) {
        return true;
    }
    answer_result(request, result == CALLS_OK ? CALLS_STALE : result, out, error);
    return false;
}

static void change_status(struct app_request *request)
{
    const struct gramme_value *body = request_body(request);
    enum call_status status;
    struct call call;
    const char *text = gramme_get_string(body, "status");
    if (body == NULL) {
        return;
    }
    if (text == NULL || !calls_status_parse(text, &status)) {
        answer_problem(request, 400, "bad_parameter", "status must be SCHEDULED or COMPLETED");
        return;
    }
    if (!find_seen(request, &call)) {
        return;
    }
    struct gramme_error *error = NULL;
    enum calls_result result = CALLS_OK;
    if (call.status != status) {
        result = calls_change_status(request_db(request), &call, status, &call, &error);
    }
    answer_result(request, result, &call, error);
}

static void reschedule(struct app_request *request)
{
    const struct gramme_value *body = request_body(request);
    int64_t time_ms;
    struct call call;
    if (body == NULL || !body_time(request, body, &time_ms) || !find_seen(request, &call)) {
        return;
    }
    struct gramme_error *error = NULL;
    enum calls_result result = CALLS_OK;
    if (call.scheduled_for_ms != time_ms) {
        result = calls_reschedule(request_db(request), &call, time_ms, &call, &error);
    }
    answer_result(request, result, &call, error);
}

static void reassign(struct app_request *request)
{
    const struct gramme_value *body = request_body(request);
    const char *user_id = body == NULL ? NULL : body_id(request, body, "userId");
    struct call call;
    if (user_id == NULL || !find_seen(request, &call)) {
        return;
    }
    struct gramme_error *error = NULL;
    enum calls_result result = CALLS_OK;
    if (strcmp(call.user_id, user_id) != 0) {
        result = calls_reassign(request_db(request), &call, user_id, &call, &error);
    }
    answer_result(request, result, &call, error);
}

static void change_provider(struct app_request *request)
{
    const struct gramme_value *body = request_body(request);
    const char *provider_id = body == NULL ? NULL : body_id(request, body, "providerId");
    struct call call;
    if (provider_id == NULL || !find_seen(request, &call)) {
        return;
    }
    struct gramme_error *error = NULL;
    enum calls_result result = CALLS_OK;
    if (strcmp(call.provider_id, provider_id) != 0) {
        result = calls_change_provider(request_db(request), &call, provider_id, &call, &error);
    }
    answer_result(request, result, &call, error);
}

/* --- lists --- */

typedef struct gramme_answer *list_function(struct gramme_db *db, const char *id,
                                            const struct page *page, struct gramme_error **error);

static void answer_list(struct app_request *request, const char *param, list_function *list)
{
    const char *id = param_id(request, param);
    struct page page;
    if (id == NULL || !request_page(request, &page)) {
        return;
    }
    struct gramme_error *error = NULL;
    struct gramme_answer *answer = list(request_db(request), id, &page, &error);
    answer_calls(request, answer, error);
}

static void list_of_user(struct app_request *request)
{
    answer_list(request, "userId", calls_of_user);
}

static void list_upcoming(struct app_request *request)
{
    answer_list(request, "userId", calls_upcoming);
}

static void list_completed(struct app_request *request)
{
    answer_list(request, "userId", calls_completed);
}

static void list_of_provider(struct app_request *request)
{
    answer_list(request, "providerId", calls_of_provider);
}

static void get_next(struct app_request *request)
{
    const char *user_id = param_id(request, "userId");
    if (user_id == NULL) {
        return;
    }
    struct call call;
    struct gramme_error *error = NULL;
    enum calls_result result =
        calls_next_scheduled(request_db(request), user_id, clock_wall_ms(), &call, &error);
    answer_result(request, result, &call, error);
}

static void get_last(struct app_request *request)
{
    const char *user_id = param_id(request, "userId");
    if (user_id == NULL) {
        return;
    }
    struct call call;
    struct gramme_error *error = NULL;
    enum calls_result result = calls_last_completed(request_db(request), user_id, &call, &error);
    answer_result(request, result, &call, error);
}

static const struct app_route routes[] = {
    {"POST", "/calls", create},
    {"GET", "/calls/{callId}", lookup},
    {"PUT", "/calls/{callId}/status", change_status},
    {"PUT", "/calls/{callId}/schedule", reschedule},
    {"PUT", "/calls/{callId}/user", reassign},
    {"PUT", "/calls/{callId}/provider", change_provider},
    {"GET", "/users/{userId}/calls", list_of_user},
    {"GET", "/users/{userId}/calls/upcoming", list_upcoming},
    {"GET", "/users/{userId}/calls/completed", list_completed},
    {"GET", "/users/{userId}/calls/next", get_next},
    {"GET", "/users/{userId}/calls/last", get_last},
    {"GET", "/providers/{providerId}/calls", list_of_provider},
};

extern const char calls_schema[]; /* made of schema.json by the build */
static const char *const schemas[] = {calls_schema, NULL};

const struct app_definition calls_app = {
    .name = "calls",
    .schemas = schemas,
    .routes = routes,
    .route_count = COUNT_OF(routes),
    .load_samples = calls_load_samples,
};
