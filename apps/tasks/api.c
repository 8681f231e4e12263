/* The REST API of the tasks, without users (users_api.c); openapi.json describes it. The router
 * (apps/common/router.c) calls the handlers on worker threads, where they wait for the database. */
#include <string.h>

#include "apps/common/files.h"
#include "apps/tasks/api_internal.h"
#include "apps/tasks/counts.h"

enum { TITLE_LEN_MAX = 200, DESCRIPTION_LEN_MAX = 2000 };

static const char STATUS_RULE[] = "OPEN, IN_PROGRESS, COMPLETED or CLOSED";

/* --- who is asking --- */

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

static bool has_text(const struct gramme_value *item, const char *name, const char *wanted)
{
    const char *text = gramme_get_string(item, name);
    return text != NULL && strcmp(text, wanted) == 0;
}

/* Whether the task is theirs: they created it, or it is assigned to them. `task`: its item, NULL:
 * not read yet. False: the database failed. */
static bool find_part(struct app_request *request, const char *task_id,
                      const struct gramme_value *task, bool *out_is_theirs,
                      struct gramme_error **error)
{
    const char *user_id = request_identity(request)->id;
    struct gramme_answer *read = NULL;
    *out_is_theirs = has_text(task, "CreatedBy", user_id);
    if (!*out_is_theirs) {
        read = tasks_check_assignment(request_db(request), task_id, user_id, error);
        *out_is_theirs = gramme_answer_item(read) != NULL;
    }
    if (!*out_is_theirs && task == NULL && *error == NULL) {
        gramme_answer_destroy(read);
        read = tasks_get_task(request_db(request), task_id, error);
        *out_is_theirs = has_text(gramme_answer_item(read), "CreatedBy", user_id);
    }
    gramme_answer_destroy(read);
    return *error == NULL;
}

/* Whether they may see the task: admins any, active members their own. `task` as in find_part().
 * False: it has been answered, in the same way whether or not the task exists. */
static bool require_task(struct app_request *request, const char *task_id,
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
    bool is_theirs = standing.is_admin;
    if (!standing.is_active) {
        answer_inactive(request);
        return false;
    }
    if (!is_theirs && !find_part(request, task_id, task, &is_theirs, &error)) {
        answer_error(request, error);
        gramme_error_destroy(error);
        return false;
    }
    if (!is_theirs) {
        answer_not_allowed(request);
    }
    return is_theirs;
}

/* --- what comes in --- */

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

/* --- what goes out --- */

void api_copy(const struct gramme_value *item, const char *from, struct gramme_value *out,
              const char *to)
{
    gramme_set_value(out, to, gramme_get(item, from));
}

static void show_task(const struct identity *who, const struct gramme_value *item,
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

static void show_assignment(const struct identity *who, const struct gramme_value *item,
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
    case TASKS_THE_SAME: /* see create_task() */
    case TASKS_FAILED:
    case TASKS_TOO_LARGE: /* see answer_too_large() */
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

/* Takes the item that is too large. */
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

/* {"items": [an assignment with its "task", or a task that was created], "cursor"}. What another
 * program has deleted is left out. */
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
            show_task(NULL, task, out);
        } else if (task != NULL) {
            show_assignment(NULL, row, out);
            show_task(NULL, task, gramme_set_map(out, "task"));
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

/* The tasks that a page of a user's assignments or creations names. */
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

static void get_user_tasks(struct app_request *request)
{
    list_user_tasks(request, tasks_get_user_tasks);
}

static void get_created_tasks(struct app_request *request)
{
    list_user_tasks(request, tasks_get_created_tasks);
}

/* --- tasks --- */

/* What a task says, from a body; what is missing there is as it was in `old`, a task's item or
 * NULL. One of another program may lack it, too. False: 400 has been answered. */
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
        out->description = ""; /* to leave it out is fine */
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

/* The id that the body asks for. False: 400 has been answered. */
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

static void create_task(struct app_request *request)
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
    api_answer_item(request, result == TASKS_OK ? 201 : 200, item, show_task);
    gramme_value_destroy(item);
    gramme_error_destroy(error);
}

/* Changes a task's item, which was read, to what the body says; NULL: there is no such task. */
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
        api_answer_item(request, 200, item, show_task);
        gramme_value_destroy(item);
    } else if (result == TASKS_TOO_LARGE) {
        answer_too_large(request, item);
    } else {
        api_answer_refused(request, result, actor.id, error);
    }
}

static void edit_task(struct app_request *request)
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
    } else if (require_task(request, task_id, gramme_answer_item(answer))) {
        apply_edit(request, body, gramme_answer_item(answer));
    }
    gramme_answer_destroy(answer);
}

static void get_task(struct app_request *request)
{
    const char *task_id = api_path_id(request, "taskId");
    if (task_id == NULL) {
        return; /* answered */
    }
    struct gramme_error *error = NULL;
    struct gramme_answer *answer = tasks_get_task(request_db(request), task_id, &error);
    if (answer != NULL && !require_task(request, task_id, gramme_answer_item(answer))) {
        gramme_answer_destroy(answer);
        return; /* answered */
    }
    api_answer_found(request, answer, error, show_task, "task");
}

static void count_tasks(struct app_request *request)
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

/* From the query: `order`, newest (if not said) or oldest. False: 400 has been answered. */
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

static void get_tasks_by_status(struct app_request *request)
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
    api_answer_page(request, answer, error, show_task);
}

static void update_task_status(struct app_request *request)
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

/* --- assignments --- */

static void assign_task(struct app_request *request)
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

static void unassign_task(struct app_request *request)
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

static void get_task_assignments(struct app_request *request)
{
    struct page page;
    const char *task_id = api_path_id(request, "taskId");
    if (task_id != NULL && request_page(request, &page) && require_task(request, task_id, NULL)) {
        struct gramme_error *error = NULL;
        struct gramme_answer *answer =
            tasks_get_task_assignments(request_db(request), task_id, &page, &error);
        api_answer_page(request, answer, error, show_assignment);
    }
}

static void check_assignment(struct app_request *request)
{
    const char *task_id = api_path_id(request, "taskId");
    const char *user_id = task_id ? api_path_id(request, "userId") : NULL;
    bool is_own = user_id != NULL && strcmp(request_identity(request)->id, user_id) == 0;
    if (user_id != NULL &&
        (is_own ? api_require_active(request) : require_task(request, task_id, NULL))) {
        struct gramme_error *error = NULL;
        struct gramme_answer *answer =
            tasks_check_assignment(request_db(request), task_id, user_id, &error);
        api_answer_found(request, answer, error, show_assignment, "assignment");
    }
}

static const struct app_route routes[] = {
    {"GET", "/me", api_get_me},
    {"GET", "/users?limit&cursor", api_list_users},
    {"POST", "/users", api_create_user},
    {"GET", "/users/{userId}", api_get_user_profile},
    {"PUT", "/users/{userId}/status", api_set_user_status},
    {"PUT", "/users/{userId}/role", api_set_user_role},
    {"GET", "/users/{userId}/tasks?limit&cursor", get_user_tasks},
    {"GET", "/users/{userId}/created?limit&cursor", get_created_tasks},
    {"GET", "/users/{userId}/notifications?limit&cursor", api_get_notifications},
    {"PUT", "/users/{userId}/notifications/read", api_read_notifications},
    {"POST", "/tasks", create_task},
    {"GET", "/tasks?status&order&limit&cursor", get_tasks_by_status},
    {"GET", "/tasks/counts", count_tasks},
    {"GET", "/tasks/{taskId}", get_task},
    {"PUT", "/tasks/{taskId}", edit_task},
    {"PUT", "/tasks/{taskId}/status", update_task_status},
    {"POST", "/tasks/{taskId}/assignments", assign_task},
    {"GET", "/tasks/{taskId}/assignments?limit&cursor", get_task_assignments},
    {"GET", "/tasks/{taskId}/assignments/{userId}", check_assignment},
    {"DELETE", "/tasks/{taskId}/assignments/{userId}", unassign_task},
};

/* --- live updates --- */

/* The entities that pages get as live updates: their type, and the function that writes them. */
static const struct {
    const char *entity;
    const char *type;
    api_show *show;
} live_entities[] = {
    {"TASK", "task", show_task},
    {"ASSIGNMENT", "assignment", show_assignment},
    {"USER", "user", api_show_user},
    {"NOTIFICATION", "notification", api_show_notification},
};
enum { ENTITY_NONE = -1 };

static int find_live_entity(const struct gramme_value *item)
{
    const char *entity = gramme_get_string(item, "EntityType");
    for (size_t i = 0; entity != NULL && i < sizeof(live_entities) / sizeof(live_entities[0]);
         i++) {
        if (strcmp(live_entities[i].entity, entity) == 0) {
            return (int)i;
        }
    }
    return ENTITY_NONE;
}

static const char *live_type(const struct gramme_value *item)
{
    int index = find_live_entity(item);
    return index == ENTITY_NONE ? NULL : live_entities[index].type;
}

/* Active users only, and admins of the table are admins. */
static bool live_may_listen(struct app_request *request, struct identity *who)
{
    struct api_standing standing;
    if (!api_standing(request, &standing)) {
        return false;
    }
    gramme_answer_destroy(standing.profile);
    if (!standing.is_active) {
        answer_not_allowed(request);
    }
    who->roles |= standing.is_admin ? ROLE_ADMIN : 0;
    return standing.is_active;
}

/* Admins see everything but the notifications of others. Members see their own account,
 * notifications and assignments, and the tasks that they created or were the last to change: those
 * that are assigned to them cannot be told from others by the item, but all changes of others to
 * them come as notifications, too. */
static bool live_may_see(const struct identity *who, const struct gramme_value *item)
{
    const char *type = live_type(item);
    bool is_own = has_text(item, "UserId", who->id);
    if (type == NULL || is_own || strcmp(type, "notification") == 0) {
        return type != NULL && is_own;
    }
    if (identity_has(who, ROLE_ADMIN)) {
        return true;
    }
    return strcmp(type, "task") == 0 &&
           (has_text(item, "CreatedBy", who->id) || has_text(item, "UpdatedBy", who->id));
}

static bool entry_differs(const struct gramme_value *a, const struct gramme_value *b,
                          const char *name)
{
    const struct gramme_value *left = gramme_get(a, name);
    const struct gramme_value *right = gramme_get(b, name);
    return left == NULL || right == NULL ? left != right : !gramme_value_equal(left, right);
}

/* Their own account: activated or deactivated, or of another group. */
static bool live_must_rejoin(const struct identity *who, const struct gramme_value *old_item,
                             const struct gramme_value *new_item)
{
    const struct gramme_value *item = new_item != NULL ? new_item : old_item;
    const char *type = live_type(item);
    const char *user_id = gramme_get_string(item, "UserId");
    return type != NULL && strcmp(type, "user") == 0 && user_id != NULL &&
           strcmp(user_id, who->id) == 0 &&
           (entry_differs(old_item, new_item, "UserStatus") ||
            entry_differs(old_item, new_item, "Groups"));
}

static void live_show(const struct identity *who, const struct gramme_value *item,
                      struct gramme_value *out)
{
    live_entities[find_live_entity(item)].show(who, item, out);
}

static void live_apply(void *state, const struct gramme_value *old_item,
                       const struct gramme_value *new_item)
{
    replica_apply(state, old_item, new_item);
}

static void live_restart(void *state)
{
    replica_forget(state);
}

static const struct app_live live = {
    .table = TASKS_TABLE,
    .may_listen = live_may_listen,
    .type = live_type,
    .may_see = live_may_see,
    .hides_versions = true,
    .must_rejoin = live_must_rejoin,
    .show = live_show,
    .apply = live_apply,
    .restart = live_restart,
};

/* Notifications. */
static const struct app_follower follower = {
    .table = TASKS_TABLE,
    .act = tasks_notify,
    .load = tasks_get_checkpoint,
    .save = tasks_put_checkpoint,
};

static void *start(struct gramme_db *db, struct gramme_error **error)
{
    (void)db;
    (void)error;
    return counts_create();
}

static void stop(void *state)
{
    replica_destroy(state);
}

const struct app_definition tasks_app = {
    .name = "tasks",
    .files = &tasks_files,
    .expiry = "ExpiresAt",
    .routes = routes,
    .route_count = sizeof(routes) / sizeof(routes[0]),
    .live = &live,
    .follower = &follower,
    .load_samples = tasks_load_samples,
    .start = start,
    .stop = stop,
};
