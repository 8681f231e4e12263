/* The part of the REST API about users and their notifications. Handlers, called on worker threads,
 * where they wait for the database. */
#include <string.h>

#include "apps/common/when.h"
#include "apps/tasks/api_internal.h"

enum { EMAIL_LEN_MAX = 254 };

static bool is_email(const char *text)
{
    const char *at = strchr(text, '@');
    return at != NULL && at != text && at[1] != '\0' && strlen(text) <= EMAIL_LEN_MAX &&
           strpbrk(text, " \t\r\n") == NULL && strchr(at + 1, '@') == NULL;
}

static bool is_user_status(const char *text)
{
    return strcmp(text, "ACTIVE") == 0 || strcmp(text, "DEACTIVATED") == 0;
}

static bool is_role(const char *text)
{
    return strcmp(text, "admin") == 0 || strcmp(text, "member") == 0;
}

void api_show_user(const struct identity *who, const struct gramme_value *item,
                   struct gramme_value *out)
{
    (void)who;
    api_copy(item, "UserId", out, "userId");
    api_copy(item, "Email", out, "email");
    api_copy(item, "UserStatus", out, "status");
    api_copy(item, "Groups", out, "groups");
    api_copy(item, "CreatedAt", out, "createdAt");
}

void api_get_me(struct app_request *request)
{
    struct api_standing standing;
    if (!api_standing(request, &standing)) {
        return; /* answered */
    }
    struct gramme_value *body = gramme_map_create();
    gramme_set_string(body, "userId", request_identity(request)->id);
    gramme_set_bool(body, "isAdmin", standing.is_admin);
    gramme_set_bool(body, "isActive", standing.is_active);
    if (gramme_answer_item(standing.profile) != NULL) {
        api_show_user(NULL, gramme_answer_item(standing.profile), gramme_set_map(body, "profile"));
    } else {
        gramme_set_null(body, "profile");
    }
    answer_value(request, 200, body);
    gramme_value_destroy(body);
    gramme_answer_destroy(standing.profile);
}

void api_list_users(struct app_request *request)
{
    struct page page;
    if (!request_page(request, &page) || !api_require_admin(request)) {
        return; /* answered */
    }
    struct gramme_error *error = NULL;
    struct gramme_answer *answer = tasks_list_users(request_db(request), &page, &error);
    api_answer_page(request, answer, error, api_show_user);
}

void api_create_user(struct app_request *request)
{
    const struct gramme_value *body = request_body(request, FIELDS("userId", "email", "isAdmin"));
    struct tasks_actor actor = api_actor(request);
    char uuid[GRAMME_UUID_SIZE];
    gramme_uuid(uuid);
    if (body == NULL) {
        return; /* answered, also below */
    }
    struct tasks_user user = {.user_id = uuid};
    if (gramme_get(body, "userId") != NULL) {
        user.user_id =
            api_body_name(request, body, "userId", identity_id_is_valid, IDENTITY_ID_RULE);
    }
    if (user.user_id != NULL) {
        user.email = api_body_name(request, body, "email", is_email, "an e-mail address");
    }
    if (user.email == NULL) {
        return;
    }
    const struct gramme_value *admin = gramme_get(body, "isAdmin");
    if (admin != NULL && !gramme_value_bool(admin, &user.is_admin)) {
        answer_bad_field(request, "isAdmin", "isAdmin must be true or false");
        return;
    }
    struct gramme_error *error = NULL;
    struct gramme_value *item = NULL;
    enum tasks_result result = tasks_create_user(request_db(request), &user, &actor, &item, &error);
    if (result == TASKS_DUPLICATE) {
        answer_problem(request, 409, "duplicate", "There is a user %s already", user.user_id);
        gramme_error_destroy(error);
        return;
    }
    if (result != TASKS_OK) {
        api_answer_refused(request, result, user.user_id, error);
        return;
    }
    answer_header(request, "Location", "/tasks/api/users/%s",
                  request_encode(request, user.user_id));
    api_answer_item(request, 201, item, api_show_user);
    gramme_value_destroy(item);
}

void api_get_user_profile(struct app_request *request)
{
    const char *user_id = api_path_id(request, "userId");
    if (user_id != NULL && api_require_user(request, user_id)) {
        struct gramme_error *error = NULL;
        struct gramme_answer *answer = tasks_get_user_profile(request_db(request), user_id, &error);
        api_answer_found(request, answer, error, api_show_user, "user");
    }
}

/* Returns the user in the path, who is to be changed: not the signed-in user. NULL: an error has
 * been answered. */
static const char *find_changed(struct app_request *request)
{
    const char *user_id = api_path_id(request, "userId");
    if (user_id != NULL && strcmp(user_id, request_identity(request)->id) == 0) {
        answer_problem(request, 409, "last_admin",
                       "You cannot change your own account: ask another administrator");
        return NULL;
    }
    return user_id;
}

static void answer_changed(struct app_request *request, enum tasks_result result,
                           const char *user_id, struct gramme_error *error)
{
    if (result == TASKS_OK) {
        answer_nothing(request);
    } else {
        api_answer_refused(request, result, user_id, error);
    }
}

void api_set_user_status(struct app_request *request)
{
    const struct gramme_value *body = request_body(request, FIELDS("status"));
    const char *status =
        body ? api_body_name(request, body, "status", is_user_status, "ACTIVE or DEACTIVATED")
             : NULL;
    struct tasks_actor actor = api_actor(request);
    const char *user_id = status ? find_changed(request) : NULL;
    if (user_id != NULL) {
        struct gramme_error *error = NULL;
        enum tasks_result result = tasks_set_user_status(
            request_db(request), user_id, strcmp(status, "ACTIVE") == 0, &actor, &error);
        answer_changed(request, result, user_id, error);
    }
}

void api_set_user_role(struct app_request *request)
{
    const struct gramme_value *body = request_body(request, FIELDS("role"));
    const char *role =
        body ? api_body_name(request, body, "role", is_role, "admin or member") : NULL;
    struct tasks_actor actor = api_actor(request);
    const char *user_id = role ? find_changed(request) : NULL;
    if (user_id != NULL) {
        struct gramme_error *error = NULL;
        enum tasks_result result = tasks_set_user_role(request_db(request), user_id,
                                                       strcmp(role, "admin") == 0, &actor, &error);
        answer_changed(request, result, user_id, error);
    }
}

/* --- notifications --- */

void api_show_notification(const struct identity *who, const struct gramme_value *item,
                           struct gramme_value *out)
{
    (void)who;
    api_copy(item, "SK", out, "id");
    api_copy(item, "At", out, "at");
    api_copy(item, "Kind", out, "kind");
    api_copy(item, "TaskId", out, "taskId");
    api_copy(item, "Title", out, "title");
    api_copy(item, "Text", out, "text");
    api_copy(item, "By", out, "by");
    gramme_set_bool(out, "read", false);
}

/* Adds a page of notifications to `items`: those up to `read_up_to` have been read. Returns the
 * number of unread ones. */
static int64_t show_notifications(const struct gramme_answer *answer, const char *read_up_to,
                                  struct gramme_value *items)
{
    const struct gramme_value *found = gramme_answer_items(answer);
    int64_t unread = 0;
    for (size_t i = 0; i < gramme_value_count(found); i++) {
        const struct gramme_value *item = gramme_value_at(found, i);
        const char *at = gramme_get_string(item, "At");
        bool is_read = read_up_to != NULL && at != NULL && strcmp(at, read_up_to) <= 0;
        struct gramme_value *out = gramme_add_map(items);
        api_show_notification(NULL, item, out);
        gramme_set_bool(out, "read", is_read);
        unread += is_read ? 0 : 1;
    }
    return unread;
}

/* Answers {"items", "unread", "cursor"}. If all of a page are unread, later pages may have more. */
static void answer_notifications(struct app_request *request, const char *user_id,
                                 const struct gramme_answer *answer, const char *read_up_to)
{
    struct gramme_value *body = gramme_map_create();
    struct gramme_value *items = gramme_set_list(body, "items");
    char *cursor = gramme_answer_cursor(answer);
    struct gramme_error *error = NULL;
    int64_t unread = show_notifications(answer, read_up_to, items);
    bool may_be_more = (cursor != NULL && unread == (int64_t)gramme_value_count(items)) ||
                       request_query(request, "cursor") != NULL;
    if (may_be_more &&
        !tasks_count_unread(request_db(request), user_id, read_up_to, &unread, &error)) {
        answer_error(request, error);
    } else {
        gramme_set_int(body, "unread", unread);
        if (cursor != NULL) {
            gramme_set_string(body, "cursor", cursor);
        }
        answer_value(request, 200, body);
    }
    gramme_free(cursor);
    gramme_error_destroy(error);
    gramme_value_destroy(body);
}

/* Returns the user in the path, who must be the signed-in user. NULL: an error has been answered.
 */
static const char *own_id(struct app_request *request)
{
    const char *user_id = api_path_id(request, "userId");
    if (user_id == NULL || strcmp(request_identity(request)->id, user_id) == 0) {
        return user_id;
    }
    answer_not_allowed(request); /* also to admins: notifications are only for their user */
    return NULL;
}

void api_get_notifications(struct app_request *request)
{
    struct page page;
    const char *user_id = own_id(request);
    if (user_id == NULL || !request_page(request, &page)) {
        return; /* answered */
    }
    struct gramme_error *error = NULL;
    struct gramme_answer *marker = tasks_get_read_marker(request_db(request), user_id, &error);
    struct gramme_answer *answer =
        marker == NULL ? NULL
                       : tasks_get_notifications(request_db(request), user_id, &page, &error);
    if (answer == NULL) {
        answer_error(request, error);
    } else {
        answer_notifications(request, user_id, answer,
                             gramme_get_string(gramme_answer_item(marker), "UpTo"));
    }
    gramme_answer_destroy(marker);
    gramme_answer_destroy(answer);
    gramme_error_destroy(error);
}

static bool is_time(const char *text)
{
    int64_t when;
    return when_parse(text, &when);
}

void api_read_notifications(struct app_request *request)
{
    const struct gramme_value *body = request_body(request, FIELDS("upTo"));
    const char *up_to = body ? api_body_name(request, body, "upTo", is_time,
                                             "a time like 2026-02-09T12:20:25.343883Z")
                             : NULL;
    const char *user_id = up_to ? own_id(request) : NULL;
    if (user_id == NULL) {
        return; /* answered */
    }
    struct gramme_error *error = NULL;
    if (tasks_set_read_marker(request_db(request), user_id, up_to, &error)) {
        answer_nothing(request);
    } else {
        answer_error(request, error);
    }
    gramme_error_destroy(error);
}
