/* The part of the REST API about tasks. Handlers, called on worker threads, where they wait for the
 * database. */
#include <string.h>

#include "apps/tasks/api_internal.h"
#include "apps/tasks/counts.h"

enum { TITLE_LEN_MAX = 200, DESCRIPTION_LEN_MAX = 2000 };

static const char STATUS_RULE[] = "OPEN, IN_PROGRESS, COMPLETED or CLOSED";

/* Answers that the item is too large; destroys it. */
static void answer_too_large(struct app_request *request, struct gramme_value *item)
{
    struct gramme_value *details = gramme_map_create();
    gramme_set_int(details, "bytes", (int64_t)tasks_task_bytes(item));
    gramme_set_int(details, "bytesMax", TASKS_ITEM_BYTES_MAX - 1);
    answer_problem_details(request, 422, "too_large", details,
                           "Title and description are too long together: shorten them");
    gramme_value_destroy(details);
    gramme_value_destroy(item);
}

/* Reads title, description and priority from a body. Those that the body lacks are taken from
 * `old`, a task's item or NULL; an item that another program wrote may lack them, too. False: 400
 * has been answered. */
static bool read_texts(struct app_request *request, const struct gramme_value *body,
                       const struct gramme_value *old, struct tasks_task *out)
{
    const char *text = gramme_get_string(old, "Description");
    const struct gramme_value *given = gramme_get(body, "description");
    out->description = text == NULL ? "" : text;
    out->title = gramme_get_string(old, "Title");
    out->priority = gramme_get_string(old, "Priority");
    if (out->title == NULL || gramme_get(body, "title") != NULL) {
        out->title = request_text(request, body, "title", TITLE_LEN_MAX);
        if (out->title == NULL) {
            return false;
        }
    }
    if (given != NULL && gramme_value_string(given) != NULL && gramme_value_len(given) == 0) {
        out->description = ""; /* allowed here, refused by request_text() */
    } else if (given != NULL) {
        out->description = request_text(request, body, "description", DESCRIPTION_LEN_MAX);
        if (out->description == NULL) {
            return false;
        }
    }
    if (out->priority == NULL || gramme_get(body, "priority") != NULL) {
        out->priority = api_body_name(request, body, "priority", tasks_priority_is_valid,
                                      "LOW, MEDIUM or HIGH");
    }
    return out->priority != NULL;
}

/* Reads the optional id of a new task. False: 400 has been answered. */
static bool read_task_id(struct app_request *request, const struct gramme_value *body,
                         struct tasks_task *out)
{
    *out = (struct tasks_task){0};
    if (gramme_get(body, "taskId") == NULL) {
        return true;
    }
    out->id = api_body_name(request, body, "taskId", identity_id_is_valid, IDENTITY_ID_RULE);
    if (out->id != NULL &&
        strcmp(out->id, "counts") == 0) { /* GET /tasks/counts is another route */
        answer_bad_field(request, "taskId", "taskId must not be counts");
        return false;
    }
    return out->id != NULL;
}

void api_create_task(struct app_request *request)
{
    struct tasks_actor actor = api_actor(request);
    struct tasks_task task;
    const struct gramme_value *body =
        request_body(request, FIELDS("taskId", "title", "description", "priority"));
    if (body == NULL || !read_task_id(request, body, &task) ||
        !read_texts(request, body, NULL, &task)) {
        return; /* answered */
    }
    task.created_by = actor.id;
    struct gramme_error *error = NULL;
    struct gramme_value *item = NULL;
    enum tasks_result result = tasks_create_task(request_db(request), &task, &actor, &item, &error);
    if (result == TASKS_TOO_LARGE) {
        answer_too_large(request, item);
        return;
    }
    if (result == TASKS_DUPLICATE) {
        answer_problem(request, 409, "task_exists", "There is another task with this id");
        gramme_error_destroy(error);
        return;
    }
    if (result != TASKS_OK && result != TASKS_THE_SAME) {
        api_answer_refused(request, result, actor.id, error);
        return;
    }
    answer_header(request, "Location", "/tasks/api/tasks/%s",
                  request_encode(request, gramme_get_string(item, "TaskId")));
    api_answer_item(request, result == TASKS_OK ? 201 : 200, item, api_show_task);
    gramme_value_destroy(item);
    gramme_error_destroy(error);
}

/* Changes a task as the body says. `seen`: the task's item as it was read; NULL: there is no such
 * task. */
static void apply_edit(struct app_request *request, const struct gramme_value *body,
                       const struct gramme_value *seen)
{
    struct tasks_actor actor = api_actor(request);
    struct tasks_task task;
    const char *version = gramme_get_string(body, "seen");
    const char *updated_at = gramme_get_string(seen, "UpdatedAt");
    if (seen == NULL) {
        api_answer_refused(request, TASKS_NO_TASK, "", NULL);
        return;
    }
    if (version == NULL) {
        answer_problem(request, 428, "version_required",
                       "Send the updatedAt of the task that you saw as seen");
        return;
    }
    if (!read_texts(request, body, seen, &task)) {
        return; /* answered */
    }
    if (updated_at == NULL || strcmp(version, updated_at) != 0) {
        api_answer_refused(request, TASKS_STALE, "", NULL);
        return;
    }
    struct tasks_edit edit = {.seen = seen,
                              .title = task.title,
                              .description = task.description,
                              .priority = task.priority};
    struct gramme_error *error = NULL;
    struct gramme_value *item = NULL;
    enum tasks_result result = tasks_edit_task(request_db(request), &edit, &actor, &item, &error);
    if (result == TASKS_OK) {
        api_answer_item(request, 200, item, api_show_task);
        gramme_value_destroy(item);
    } else if (result == TASKS_TOO_LARGE) {
        answer_too_large(request, item);
    } else {
        api_answer_refused(request, result, actor.id, error);
    }
}

void api_edit_task(struct app_request *request)
{
    const char *task_id = api_path_id(request, "taskId");
    const struct gramme_value *body =
        task_id ? request_body(request, FIELDS("title", "description", "priority", "seen")) : NULL;
    if (body == NULL) {
        return; /* answered */
    }
    struct gramme_error *error = NULL;
    struct gramme_answer *answer = tasks_get_task(request_db(request), task_id, &error);
    if (answer == NULL) {
        answer_error(request, error);
        gramme_error_destroy(error);
    } else if (api_require_task(request, task_id, gramme_answer_item(answer))) {
        apply_edit(request, body, gramme_answer_item(answer));
    }
    gramme_answer_destroy(answer);
}

void api_get_task(struct app_request *request)
{
    const char *task_id = api_path_id(request, "taskId");
    if (task_id == NULL) {
        return; /* answered */
    }
    struct gramme_error *error = NULL;
    struct gramme_answer *answer = tasks_get_task(request_db(request), task_id, &error);
    if (answer != NULL && !api_require_task(request, task_id, gramme_answer_item(answer))) {
        gramme_answer_destroy(answer);
        return; /* answered */
    }
    api_answer_found(request, answer, error, api_show_task, "task");
}

void api_count_tasks(struct app_request *request)
{
    if (!api_require_admin(request)) {
        return; /* answered */
    }
    struct gramme_value *body = gramme_map_create();
    struct gramme_error *error = NULL;
    bool is_fresh = request_sync(request);
    if (counts_show(request_state(request), request_db(request), is_fresh, body, &error)) {
        answer_value(request, 200, body);
    } else {
        answer_error(request, error);
    }
    gramme_error_destroy(error);
    gramme_value_destroy(body);
}

/* Reads `order` from the query: newest, the default, or oldest. False: 400 has been answered. */
static bool read_order(struct app_request *request, bool *out_newest_first)
{
    const char *order = request_query(request, "order");
    *out_newest_first = order == NULL || strcmp(order, "newest") == 0;
    if (!*out_newest_first && strcmp(order, "oldest") != 0) {
        answer_bad_field(request, "order", "order must be newest or oldest");
        return false;
    }
    return true;
}

void api_get_tasks_by_status(struct app_request *request)
{
    const char *status = request_query(request, "status");
    if (status == NULL || !tasks_status_is_valid(status)) {
        answer_bad_field(request, "status", "status must be %s", STATUS_RULE);
        return;
    }
    struct page page;
    bool newest_first;
    if (!read_order(request, &newest_first) || !request_page(request, &page) ||
        !api_require_admin(request)) {
        return; /* answered */
    }
    struct gramme_error *error = NULL;
    struct gramme_answer *answer =
        tasks_get_tasks_by_status(request_db(request), status, newest_first, &page, &error);
    api_answer_page(request, answer, error, api_show_task);
}

void api_update_task_status(struct app_request *request)
{
    struct tasks_actor actor = api_actor(request);
    const char *task_id = api_path_id(request, "taskId");
    const struct gramme_value *body = task_id ? request_body(request, FIELDS("status")) : NULL;
    const char *status =
        body ? api_body_name(request, body, "status", tasks_status_is_valid, STATUS_RULE) : NULL;
    if (status == NULL) {
        return; /* answered */
    }
    struct gramme_error *error = NULL;
    enum tasks_result result =
        tasks_update_task_status(request_db(request), task_id, status, &actor, &error);
    if (result == TASKS_OK) {
        answer_nothing(request);
    } else {
        api_answer_refused(request, result, actor.id, error);
    }
}
