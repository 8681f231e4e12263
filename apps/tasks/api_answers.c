/* What the handlers of the REST API share: checks of ids and names in requests, items as clients
 * see them, and answers. Called on worker threads. */
#include <string.h>

#include "apps/tasks/api_internal.h"

const char *api_path_id(struct app_request *request, const char *name)
{
    return request_param_id(request, name, identity_id_is_valid,
                            strcmp(name, "taskId") == 0 ? "task" : "user");
}

const char *api_body_name(struct app_request *request, const struct gramme_value *body,
                          const char *name, bool (*is_valid)(const char *text), const char *wanted)
{
    const struct gramme_value *value = gramme_get(body, name);
    const char *text = gramme_value_string(value);
    if (text == NULL || strlen(text) != gramme_value_len(value) || !is_valid(text)) {
        answer_bad_field(request, name, "%s must be %s", name, wanted);
        return NULL;
    }
    return text;
}

/* --- answers --- */

void api_copy(const struct gramme_value *item, const char *from, struct gramme_value *out,
              const char *to)
{
    gramme_set_value(out, to, gramme_get(item, from));
}

void api_show_task(const struct identity *who, const struct gramme_value *item,
                   struct gramme_value *out)
{
    (void)who;
    api_copy(item, "TaskId", out, "taskId");
    api_copy(item, "Title", out, "title");
    gramme_set_string(out, "description", "");
    if (gramme_get(item, "Description") != NULL) {
        api_copy(item, "Description", out, "description");
    }
    api_copy(item, "Priority", out, "priority");
    api_copy(item, "Status", out, "status");
    api_copy(item, "CreatedBy", out, "createdBy");
    api_copy(item, "CreatedAt", out, "createdAt");
    api_copy(item, "UpdatedAt", out, "updatedAt");
}

void api_show_assignment(const struct identity *who, const struct gramme_value *item,
                         struct gramme_value *out)
{
    (void)who;
    api_copy(item, "TaskId", out, "taskId");
    api_copy(item, "UserId", out, "userId");
    api_copy(item, "AssignedBy", out, "assignedBy");
    api_copy(item, "AssignedAt", out, "assignedAt");
}

void api_answer_item(struct app_request *request, int status, const struct gramme_value *item,
                     api_show *show)
{
    struct gramme_value *out = gramme_map_create();
    show(request_identity(request), item, out);
    answer_value(request, status, out);
    gramme_value_destroy(out);
}

void api_answer_found(struct app_request *request, struct gramme_answer *answer,
                      struct gramme_error *error, api_show *show, const char *what)
{
    if (answer == NULL) {
        answer_error(request, error);
    } else if (gramme_answer_item(answer) == NULL) {
        answer_problem(request, 404, "not_found", "There is no such %s", what);
    } else {
        api_answer_item(request, 200, gramme_answer_item(answer), show);
    }
    gramme_answer_destroy(answer);
    gramme_error_destroy(error);
}

void api_answer_page(struct app_request *request, struct gramme_answer *answer,
                     struct gramme_error *error, api_show *show)
{
    if (answer == NULL) {
        answer_error(request, error);
    } else {
        answer_page(request, answer, show);
    }
    gramme_answer_destroy(answer);
    gramme_error_destroy(error);
}

void api_answer_refused(struct app_request *request, enum tasks_result result, const char *user_id,
                        struct gramme_error *error)
{
    switch (result) {
    case TASKS_OK:
    case TASKS_THE_SAME: /* only of api_create_task() */
    case TASKS_FAILED:
    case TASKS_TOO_LARGE: /* see answer_too_large() in tasks_api.c */
        answer_error(request, error);
        break;
    case TASKS_NOT_ALLOWED:
        answer_not_allowed(request);
        break;
    case TASKS_NO_TASK:
        answer_problem(request, 404, "not_found", "There is no such task");
        break;
    case TASKS_NO_USER:
        answer_problem(request, 404, "not_found", "There is no user %s", user_id);
        break;
    case TASKS_USER_DEACTIVATED:
        answer_problem(request, 409, "user_deactivated", "%s is deactivated", user_id);
        break;
    case TASKS_DUPLICATE:
        answer_problem(request, 409, "duplicate", "%s is already assigned to this task", user_id);
        break;
    case TASKS_NO_ASSIGNMENT:
        answer_problem(request, 404, "not_found", "%s is not assigned to this task", user_id);
        break;
    case TASKS_STALE:
        answer_problem(request, 412, "version_mismatch",
                       "The task has changed since you saw it: read it again");
        break;
    }
    gramme_error_destroy(error);
}
