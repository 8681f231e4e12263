/* The part of the REST API about assignments, and about the tasks of a user: those that are
 * assigned to the user, and those that the user created. Handlers, called on worker threads, where
 * they wait for the database. */
#include <string.h>

#include "apps/tasks/api_internal.h"

void api_assign_task(struct app_request *request)
{
    struct tasks_actor actor = api_actor(request);
    const char *task_id = api_path_id(request, "taskId");
    const struct gramme_value *body = task_id ? request_body(request, FIELDS("userId")) : NULL;
    const char *user_id =
        body ? api_body_name(request, body, "userId", identity_id_is_valid, IDENTITY_ID_RULE)
             : NULL;
    if (user_id == NULL) {
        return; /* answered */
    }
    struct gramme_error *error = NULL;
    struct tasks_assignment assignment = {
        .task_id = task_id, .user_id = user_id, .assigned_by = actor.id};
    enum tasks_result result = tasks_assign_task(request_db(request), &assignment, &actor, &error);
    if (result != TASKS_OK) {
        api_answer_refused(request, result, user_id, error);
        return;
    }
    struct gramme_value *item = gramme_map_create();
    gramme_set_string(item, "taskId", task_id);
    gramme_set_string(item, "userId", user_id);
    gramme_set_string(item, "assignedBy", actor.id);
    answer_header(request, "Location", "/tasks/api/tasks/%s/assignments/%s",
                  request_encode(request, task_id), request_encode(request, user_id));
    answer_value(request, 201, item);
    gramme_value_destroy(item);
}

void api_unassign_task(struct app_request *request)
{
    struct tasks_actor actor = api_actor(request);
    const char *task_id = api_path_id(request, "taskId");
    const char *user_id = task_id ? api_path_id(request, "userId") : NULL;
    if (user_id == NULL) {
        return; /* answered */
    }
    struct gramme_error *error = NULL;
    enum tasks_result result =
        tasks_unassign_task(request_db(request), task_id, user_id, &actor, &error);
    if (result == TASKS_OK) {
        answer_nothing(request);
    } else {
        api_answer_refused(request, result, user_id, error);
    }
}

void api_get_task_assignments(struct app_request *request)
{
    struct page page;
    const char *task_id = api_path_id(request, "taskId");
    if (task_id != NULL && request_page(request, &page) &&
        api_require_task(request, task_id, NULL)) {
        struct gramme_error *error = NULL;
        struct gramme_answer *answer =
            tasks_get_task_assignments(request_db(request), task_id, &page, &error);
        api_answer_page(request, answer, error, api_show_assignment);
    }
}

void api_check_assignment(struct app_request *request)
{
    const char *task_id = api_path_id(request, "taskId");
    const char *user_id = task_id ? api_path_id(request, "userId") : NULL;
    bool is_own = user_id != NULL && strcmp(request_identity(request)->id, user_id) == 0;
    if (user_id != NULL &&
        (is_own ? api_require_active(request) : api_require_task(request, task_id, NULL))) {
        struct gramme_error *error = NULL;
        struct gramme_answer *answer =
            tasks_check_assignment(request_db(request), task_id, user_id, &error);
        api_answer_found(request, answer, error, api_show_assignment, "assignment");
    }
}

/* --- the tasks of a user --- */

/* Answers {"items": [an assignment with its "task", or a task that the user created], "cursor"}.
 * `rows`: a page of assignments or creations. Tasks that another program has deleted are left out.
 */
static void answer_user_tasks(struct app_request *request, const struct gramme_answer *rows,
                              const struct gramme_value *tasks)
{
    struct gramme_value *body = gramme_map_create();
    struct gramme_value *items = gramme_set_list(body, "items");
    const struct gramme_value *found = gramme_answer_items(rows);
    for (size_t i = 0; i < gramme_value_count(found); i++) {
        const struct gramme_value *row = gramme_value_at(found, i);
        const struct gramme_value *task = tasks_find_task(tasks, row);
        struct gramme_value *out = task == NULL ? NULL : gramme_add_map(items);
        if (task != NULL && tasks_is_creation(row)) {
            api_show_task(NULL, task, out);
        } else if (task != NULL) {
            api_show_assignment(NULL, row, out);
            api_show_task(NULL, task, gramme_set_map(out, "task"));
        }
    }
    char *cursor = gramme_answer_cursor(rows);
    if (cursor != NULL) {
        gramme_set_string(body, "cursor", cursor);
        gramme_free(cursor);
    }
    answer_value(request, 200, body);
    gramme_value_destroy(body);
}

/* Answers with a page of the user's tasks: `list` reads the assignments or creations that name
 * them.
 */
static void list_user_tasks(struct app_request *request,
                            struct gramme_answer *(*list)(struct gramme_db *db, const char *user_id,
                                                          const struct page *page,
                                                          struct gramme_error **error))
{
    struct page page;
    const char *user_id = api_path_id(request, "userId");
    if (user_id == NULL || !request_page(request, &page) || !api_require_user(request, user_id)) {
        return; /* answered */
    }
    struct gramme_db *db = request_db(request);
    struct gramme_error *error = NULL;
    struct gramme_answer *tasks = NULL;
    struct gramme_answer *rows = list(db, user_id, &page, &error);
    const struct gramme_value *found = gramme_answer_items(rows);
    if (gramme_value_count(found) > 0) {
        tasks = tasks_get_tasks(db, found, &error);
    }
    if (error != NULL) {
        answer_error(request, error);
    } else {
        answer_user_tasks(request, rows, gramme_answer_table_items(tasks, TASKS_TABLE));
    }
    gramme_answer_destroy(rows);
    gramme_answer_destroy(tasks);
    gramme_error_destroy(error);
}

void api_get_user_tasks(struct app_request *request)
{
    list_user_tasks(request, tasks_get_user_tasks);
}

void api_get_created_tasks(struct app_request *request)
{
    list_user_tasks(request, tasks_get_created_tasks);
}
