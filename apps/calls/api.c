/* The REST API of the calls; openapi.json describes it. The router (apps/common/router.c) calls the
 * handlers on worker threads, where they wait for the database. */
#include <time.h>

#include "apps/calls/calls.h"
#include "apps/common/files.h"
#include "base/base.h"
#include "base/clock.h"

/* --- requests --- */

/* Returns `id` if it is valid. NULL: 400 has been answered. */
static const char *check_id(struct app_request *request, const char *name, const char *id)
{
    if (identity_id_is_valid(id)) {
        return id;
    }
    answer_bad_field(request, name, "%s must be %s", name, IDENTITY_ID_RULE);
    return NULL;
}

static const char *param_id(struct app_request *request, const char *name)
{
    return check_id(request, name, request_param(request, name));
}

static const char *body_id(struct app_request *request, const struct gramme_value *body,
                           const char *name)
{
    const char *text = request_text(request, body, name, IDENTITY_ID_LEN_MAX);
    return text == NULL ? NULL : check_id(request, name, text);
}

static bool body_time(struct app_request *request, const struct gramme_value *body, int64_t *out)
{
    if (!gramme_value_int(gramme_get(body, "scheduledFor"), out) || *out < 0 ||
        *out > CALLS_TIME_MS_MAX) {
        answer_bad_field(request, "scheduledFor",
                         "scheduledFor must be milliseconds since 1970, 0 to %lld",
                         (long long)CALLS_TIME_MS_MAX);
        return false;
    }
    return true;
}

/* --- permissions --- */

/* Whether the signed-in user is the user or the provider of the call. */
static bool is_party(const struct identity *who, const struct call *call)
{
    return identity_is(who, call->user_id) ||
           ((who->roles & ROLE_PROVIDER) != 0 && strcmp(who->id, call->provider_id) == 0);
}

/* Returns whether the signed-in user is a party of the call or an admin. False: 403 has been
 * answered. */
static bool require_party(struct app_request *request, const struct call *call)
{
    if (is_party(request_identity(request), call)) {
        return true;
    }
    answer_not_allowed(request);
    return false;
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
    if (call->status == CALL_CANCELED) {
        gramme_set_string(out, "cancelReason", call->cancel_reason);
        gramme_set_string(out, "canceledBy", call->canceled_by);
    }
}

static void show_item(const struct identity *who, const struct gramme_value *item,
                      struct gramme_value *out)
{
    (void)who;
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

/* Answers with the call if `result` is a success, else with an error. Destroys `error`. */
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
    const struct gramme_value *body =
        request_body(request, FIELDS("callId", "userId", "providerId", "scheduledFor"));
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
    if (!require_party(request, &call)) {
        return;
    }
    struct gramme_error *error = NULL;
    struct call created;
    enum calls_result result = calls_create(request_db(request), &call, &created, &error);
    if (result == CALLS_NOT_FOUND) {
        /* The call was moved, and the index does not have its new key yet. */
        answer_header(request, "Retry-After", "1");
        answer_problem(request, 503, "unavailable", "The call is being moved: ask again");
        gramme_error_destroy(error);
        return;
    }
    if (result == CALLS_THE_SAME && !require_party(request, &created)) {
        gramme_error_destroy(error);
        return; /* it was moved to another user */
    }
    if (result != CALLS_OK) {
        answer_result(request, result, &created, error);
        return;
    }
    answer_header(request, "Location", "/calls/api/calls/%s",
                  request_encode(request, created.call_id));
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
    if (result != CALLS_OK || require_party(request, &call)) {
        answer_result(request, result, &call, error);
    }
}

/* Looks a call up. The index may lag behind the table: waits a short time for the version that the
 * client has seen. */
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

/* Reads the call in the path, if it has the version in If-Match and the signed-in user may change
 * it. False: an error has been answered. */
static bool find_seen(struct app_request *request, struct call *out)
{
    int64_t version;
    const char *call_id = param_id(request, "callId");
    if (call_id == NULL || !request_version(request, &version)) {
        return false;
    }
    struct gramme_error *error = NULL;
    enum calls_result result = lookup_version(request_db(request), call_id, version, out, &error);
    if (result == CALLS_OK && !require_party(request, out)) {
        return false;
    }
    if (result == CALLS_OK && out->is_foreign) {
        answer_problem(request, 422, "foreign_call",
                       "Another program wrote this call, for a user whose id is too long here");
        return false;
    }
    if (result == CALLS_OK && out->version == version) {
        return true;
    }
    answer_result(request, result == CALLS_OK ? CALLS_STALE : result, out, error);
    return false;
}

/* Reads the status from the body, and the reason if it is CANCELED. False: 400 has been answered.
 */
static bool read_status(struct app_request *request, struct call *out)
{
    *out = (struct call){0};
    const struct gramme_value *body = request_body(request, FIELDS("status", "reason"));
    const char *text = gramme_get_string(body, "status");
    if (body == NULL) {
        return false;
    }
    if (text == NULL || !calls_status_parse(text, &out->status)) {
        answer_bad_field(request, "status", "status must be SCHEDULED, COMPLETED or CANCELED");
        return false;
    }
    if (out->status != CALL_CANCELED) {
        if (gramme_get(body, "reason") != NULL) {
            answer_bad_field(request, "reason", "Only a call that is canceled has a reason");
            return false;
        }
        return true;
    }
    const char *reason = request_text(request, body, "reason", CALLS_REASON_LEN_MAX);
    if (reason == NULL) {
        return false;
    }
    strcpy(out->cancel_reason, reason);
    strcpy(out->canceled_by, request_identity(request)->id);
    return true;
}

static void change_status(struct app_request *request)
{
    struct call wanted;
    struct call call;
    if (!read_status(request, &wanted) || !find_seen(request, &call)) {
        return;
    }
    struct gramme_error *error = NULL;
    enum calls_result result = CALLS_OK;
    if (call.status != wanted.status || wanted.status == CALL_CANCELED) {
        result = calls_change_status(request_db(request), &call, &wanted, &call, &error);
    }
    answer_result(request, result, &call, error);
}

static void reschedule(struct app_request *request)
{
    const struct gramme_value *body = request_body(request, FIELDS("scheduledFor"));
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
    const struct gramme_value *body = request_body(request, FIELDS("userId"));
    const char *user_id = body == NULL ? NULL : body_id(request, body, "userId");
    struct call call;
    if (user_id == NULL || !request_require(request, ROLE_ADMIN) || !find_seen(request, &call)) {
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
    const struct gramme_value *body = request_body(request, FIELDS("providerId"));
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

/* Returns the user in the path, if this is the signed-in user or an admin is signed in. NULL: an
 * error has been answered. */
static const char *param_user(struct app_request *request)
{
    const char *user_id = param_id(request, "userId");
    return user_id != NULL && request_require_user(request, user_id, 0) ? user_id : NULL;
}

static void answer_list(struct app_request *request, list_function *list)
{
    const char *id = param_user(request);
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
    answer_list(request, calls_of_user);
}

static void list_upcoming(struct app_request *request)
{
    const char *after = request_query(request, "after");
    if (after == NULL) {
        answer_list(request, calls_upcoming);
        return;
    }
    const char *id = param_user(request);
    struct page page;
    int64_t after_ms;
    if (id == NULL || !request_page(request, &page) ||
        !request_query_int(request, "after", 0, CALLS_TIME_MS_MAX, 0, &after_ms)) {
        return;
    }
    struct gramme_error *error = NULL;
    struct gramme_answer *answer =
        calls_upcoming_after(request_db(request), id, after_ms, &page, &error);
    answer_calls(request, answer, error);
}

static void list_completed(struct app_request *request)
{
    answer_list(request, calls_completed);
}

static void list_of_provider(struct app_request *request)
{
    const char *id = param_id(request, "providerId");
    const struct identity *who = request_identity(request);
    struct page page;
    if (id == NULL || !request_page(request, &page)) {
        return;
    }
    if (!identity_is(who, id) || !identity_has(who, ROLE_PROVIDER)) {
        answer_not_allowed(request);
        return;
    }
    const char *text = request_query(request, "status");
    enum call_status status;
    if (text != NULL && !calls_status_parse(text, &status)) {
        answer_bad_field(request, "status", "status must be SCHEDULED, COMPLETED or CANCELED");
        return;
    }
    struct gramme_error *error = NULL;
    struct gramme_answer *answer =
        calls_of_provider(request_db(request), id, text == NULL ? NULL : &status, &page, &error);
    answer_calls(request, answer, error);
}

static void list_canceled(struct app_request *request)
{
    answer_list(request, calls_canceled);
}

static void get_next(struct app_request *request)
{
    const char *user_id = param_user(request);
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
    const char *user_id = param_user(request);
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
    {"GET", "/users/{userId}/calls?limit&cursor", list_of_user},
    {"GET", "/users/{userId}/calls/upcoming?after&limit&cursor", list_upcoming},
    {"GET", "/users/{userId}/calls/completed?limit&cursor", list_completed},
    {"GET", "/users/{userId}/calls/canceled?limit&cursor", list_canceled},
    {"GET", "/users/{userId}/calls/next", get_next},
    {"GET", "/users/{userId}/calls/last", get_last},
    {"GET", "/providers/{providerId}/calls?status&limit&cursor", list_of_provider},
};

/* --- live updates --- */

/* Skips id-reservation items. */
static const char *live_type(const struct gramme_value *item)
{
    return gramme_get(item, "callId") != NULL ? "call" : NULL;
}

static bool live_may_see(const struct identity *who, const struct gramme_value *item)
{
    struct call call;
    calls_read(item, &call);
    return is_party(who, &call);
}

static const struct app_live live = {
    .table = "Calls",
    .type = live_type,
    .may_see = live_may_see,
    .show = show_item,
};

const struct app_definition calls_app = {
    .name = "calls",
    .files = &calls_files,
    .routes = routes,
    .route_count = COUNT_OF(routes),
    .live = &live,
    .load_samples = calls_load_samples,
};
