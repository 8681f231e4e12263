/* Who sends a request to the REST API, and what that user may do. Called by the handlers on worker
 * threads; reads the user's profile and, for a task, the assignment. */
#include <string.h>

#include "apps/tasks/api_internal.h"

struct tasks_actor api_actor(const struct app_request *request)
{
    const struct identity *who = request_identity(request);
    return (struct tasks_actor){.id = who->id, .is_admin = identity_has(who, ROLE_ADMIN)};
}

static bool is_admin_profile(const struct gramme_value *profile)
{
    const struct gramme_value *groups = gramme_get(profile, "Groups");
    for (size_t i = 0; i < gramme_value_count(groups); i++) {
        const char *group = gramme_value_string(gramme_value_at(groups, i));
        if (group != NULL && strcmp(group, "Admins") == 0) {
            return true;
        }
    }
    return false;
}

bool api_standing(struct app_request *request, struct api_standing *out)
{
    struct tasks_actor actor = api_actor(request);
    *out = (struct api_standing){0};
    struct gramme_error *error = NULL;
    out->profile = tasks_get_user_profile(request_db(request), actor.id, &error);
    if (out->profile == NULL) {
        answer_error(request, error);
        gramme_error_destroy(error);
        return false;
    }
    const struct gramme_value *profile = gramme_answer_item(out->profile);
    const char *status = gramme_get_string(profile, "UserStatus");
    bool is_active = status != NULL && strcmp(status, "ACTIVE") == 0;
    out->is_active = actor.is_admin || is_active;
    out->is_admin = actor.is_admin || (is_active && is_admin_profile(profile));
    return true;
}

static void answer_inactive(struct app_request *request)
{
    answer_problem(request, 403, "not_allowed",
                   "You have no active account here: ask an administrator");
}

bool api_require_active(struct app_request *request)
{
    if (identity_has(request_identity(request), ROLE_ADMIN)) {
        return true; /* no need to ask the table */
    }
    struct api_standing standing;
    if (!api_standing(request, &standing)) {
        return false;
    }
    gramme_answer_destroy(standing.profile);
    if (!standing.is_active) {
        answer_inactive(request);
    }
    return standing.is_active;
}

bool api_require_admin(struct app_request *request)
{
    if (identity_has(request_identity(request), ROLE_ADMIN)) {
        return true;
    }
    struct api_standing standing;
    if (!api_standing(request, &standing)) {
        return false;
    }
    gramme_answer_destroy(standing.profile);
    if (!standing.is_admin) {
        answer_not_allowed(request);
    }
    return standing.is_admin;
}

bool api_require_user(struct app_request *request, const char *user_id)
{
    return identity_is(request_identity(request), user_id) || api_require_admin(request);
}

bool api_has_text(const struct gramme_value *item, const char *name, const char *wanted)
{
    const char *text = gramme_get_string(item, name);
    return text != NULL && strcmp(text, wanted) == 0;
}

/* *out_is_involved: the signed-in user created the task, or it is assigned to this user. `task`:
 * its item; NULL: not read yet. False: the database failed. */
static bool find_involved(struct app_request *request, const char *task_id,
                          const struct gramme_value *task, bool *out_is_involved,
                          struct gramme_error **error)
{
    const char *user_id = request_identity(request)->id;
    struct gramme_answer *read = NULL;
    *out_is_involved = api_has_text(task, "CreatedBy", user_id);
    if (!*out_is_involved) {
        read = tasks_check_assignment(request_db(request), task_id, user_id, error);
        *out_is_involved = gramme_answer_item(read) != NULL;
    }
    if (!*out_is_involved && task == NULL && *error == NULL) {
        gramme_answer_destroy(read);
        read = tasks_get_task(request_db(request), task_id, error);
        *out_is_involved = api_has_text(gramme_answer_item(read), "CreatedBy", user_id);
    }
    gramme_answer_destroy(read);
    return *error == NULL;
}

bool api_require_task(struct app_request *request, const char *task_id,
                      const struct gramme_value *task)
{
    struct api_standing standing;
    if (identity_has(request_identity(request), ROLE_ADMIN)) {
        return true;
    }
    if (!api_standing(request, &standing)) {
        return false;
    }
    gramme_answer_destroy(standing.profile);
    struct gramme_error *error = NULL;
    bool is_allowed = standing.is_admin;
    if (!standing.is_active) {
        answer_inactive(request);
        return false;
    }
    if (!is_allowed && !find_involved(request, task_id, task, &is_allowed, &error)) {
        answer_error(request, error);
        gramme_error_destroy(error);
        return false;
    }
    if (!is_allowed) {
        answer_not_allowed(request);
    }
    return is_allowed;
}
