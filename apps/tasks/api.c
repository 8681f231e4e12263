#include "apps/tasks/tasks.h"

#include <string.h>

enum { TITLE_LEN_MAX = 200, DESCRIPTION_LEN_MAX = 2000, EMAIL_LEN_MAX = 254 };

/* --- what comes in --- */

/* Who acts. NULL: not said, and 401 has been answered. */
static const char *acting_user(struct app_request *request)
{
    const char *user_id = request_header(request, "x-user-id");
    if (user_id == NULL || !tasks_id_is_valid(user_id)) {
        answer_problem(request, 401, "user_required", "Say who you are with the header X-User-Id");
        return NULL;
    }
    return user_id;
}

/* A part of the path that is an id. NULL: it cannot be one, and 404 has been answered. */
static const char *path_id(struct app_request *request, const char *name)
{
    const char *id = request_param(request, name);
    if (!tasks_id_is_valid(id)) {
        answer_problem(request, 404, "not_found", "There is no such %s",
                       strcmp(name, "taskId") == 0 ? "task" : "user");
        return NULL;
    }
    return id;
}

/* A text of the body that passes a check. NULL: it does not, and 400 has been answered. */
static const char *body_name(struct app_request *request, const struct gramme_value *body,
                             const char *name, bool (*is_valid)(const char *text),
                             const char *wanted)
{
    const struct gramme_value *value = gramme_get(body, name);
    const char *text = gramme_value_string(value);
    if (text == NULL || strlen(text) != gramme_value_len(value) || !is_valid(text)) {
        answer_problem(request, 400, "bad_parameter", "%s must be %s", name, wanted);
        return NULL;
    }
    return text;
}

static const char ID_RULE[] = "1 to 64 letters, digits, dots, hyphens and underscores";
static const char STATUS_RULE[] = "OPEN, IN_PROGRESS, COMPLETED or CLOSED";

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

/* --- what goes out --- */

static void copy(const struct gramme_value *item, const char *from, struct gramme_value *out,
                 const char *to)
{
    gramme_set_value(out, to, gramme_get(item, from));
}

static void show_task(const struct gramme_value *item, struct gramme_value *out)
{
    copy(item, "TaskId", out, "taskId");
    copy(item, "Title", out, "title");
    gramme_set_string(out, "description", "");
    if (gramme_get(item, "Description") != NULL) {
        copy(item, "Description", out, "description");
    }
    copy(item, "Priority", out, "priority");
    copy(item, "Status", out, "status");
    copy(item, "CreatedBy", out, "createdBy");
    copy(item, "CreatedAt", out, "createdAt");
    copy(item, "UpdatedAt", out, "updatedAt");
}

static void show_user(const struct gramme_value *item, struct gramme_value *out)
{
    copy(item, "UserId", out, "userId");
    copy(item, "Email", out, "email");
    copy(item, "UserStatus", out, "status");
    copy(item, "Groups", out, "groups");
    copy(item, "CreatedAt", out, "createdAt");
}

static void show_assignment(const struct gramme_value *item, struct gramme_value *out)
{
    copy(item, "TaskId", out, "taskId");
    copy(item, "UserId", out, "userId");
    copy(item, "AssignedBy", out, "assignedBy");
    copy(item, "AssignedAt", out, "assignedAt");
}

typedef void show_item(const struct gramme_value *item, struct gramme_value *out);

static void answer_item(struct app_request *request, int status, const struct gramme_value *item,
                        show_item *show)
{
    struct gramme_value *out = gramme_map_create();
    show(item, out);
    answer_value(request, status, out);
    gramme_value_destroy(out);
}

/* Answers with the one item that was asked for; takes the answer and the error. */
static void answer_found(struct app_request *request, struct gramme_answer *answer,
                         struct gramme_error *error, show_item *show, const char *what)
{
    if (answer == NULL) {
        answer_error(request, error);
    } else if (gramme_answer_item(answer) == NULL) {
        answer_problem(request, 404, "not_found", "There is no such %s", what);
    } else {
        answer_item(request, 200, gramme_answer_item(answer), show);
    }
    gramme_answer_destroy(answer);
    gramme_error_destroy(error);
}

/* Answers with a page; takes the answer and the error. */
static void answer_found_page(struct app_request *request, struct gramme_answer *answer,
                              struct gramme_error *error, show_item *show)
{
    if (answer == NULL) {
        answer_error(request, error);
    } else {
        answer_page(request, answer, show);
    }
    gramme_answer_destroy(answer);
    gramme_error_destroy(error);
}

/* Answers what did not go well; takes the error. */
static void answer_refused(struct app_request *request, enum tasks_result result,
                           struct gramme_error *error)
{
    switch (result) {
    case TASKS_OK:
    case TASKS_FAILED:
        answer_error(request, error);
        break;
    case TASKS_NOT_ALLOWED:
        answer_problem(request, 403, "not_allowed", "You may not do this");
        break;
    case TASKS_NO_TASK:
        answer_problem(request, 404, "not_found", "There is no such task");
        break;
    case TASKS_NO_USER:
        answer_problem(request, 404, "not_found", "There is no such user");
        break;
    case TASKS_USER_DEACTIVATED:
        answer_problem(request, 409, "user_deactivated", "The user is deactivated");
        break;
    case TASKS_DUPLICATE:
        answer_problem(request, 409, "duplicate", "It is there already");
        break;
    }
    gramme_error_destroy(error);
}

/* --- users --- */

static void create_user(struct app_request *request)
{
    const struct gramme_value *body = request_body(request);
    char uuid[GRAMME_UUID_SIZE];
    gramme_uuid(uuid);
    if (body == NULL) {
        return; /* answered, also below */
    }
    struct tasks_user user = {.user_id = uuid};
    if (gramme_get(body, "userId") != NULL) {
        user.user_id = body_name(request, body, "userId", tasks_id_is_valid, ID_RULE);
    }
    if (user.user_id != NULL) {
        user.email = body_name(request, body, "email", is_email, "an e-mail address");
    }
    if (user.email == NULL) {
        return;
    }
    const struct gramme_value *admin = gramme_get(body, "isAdmin");
    if (admin != NULL && !gramme_value_bool(admin, &user.is_admin)) {
        answer_problem(request, 400, "bad_parameter", "isAdmin must be true or false");
        return;
    }
    struct gramme_error *error = NULL;
    struct gramme_value *item = NULL;
    enum tasks_result result = tasks_create_user(request_db(request), &user, &item, &error);
    if (result != TASKS_OK) {
        answer_refused(request, result, error);
        return;
    }
    answer_header(request, "Location", "/tasks/api/users/%s", user.user_id);
    answer_item(request, 201, item, show_user);
    gramme_value_destroy(item);
}

static void get_user_profile(struct app_request *request)
{
    const char *user_id = path_id(request, "userId");
    if (user_id != NULL) {
        struct gramme_error *error = NULL;
        struct gramme_answer *answer = tasks_get_user_profile(request_db(request), user_id, &error);
        answer_found(request, answer, error, show_user, "user");
    }
}

static void set_user_status(struct app_request *request)
{
    const char *user_id = path_id(request, "userId");
    const struct gramme_value *body = user_id ? request_body(request) : NULL;
    const char *status =
        body ? body_name(request, body, "status", is_user_status, "ACTIVE or DEACTIVATED") : NULL;
    if (status == NULL) {
        return; /* answered */
    }
    struct gramme_error *error = NULL;
    enum tasks_result result =
        tasks_set_user_status(request_db(request), user_id, strcmp(status, "ACTIVE") == 0, &error);
    if (result == TASKS_OK) {
        answer_nothing(request);
    } else {
        answer_refused(request, result, error);
    }
}

static const struct gramme_value *find_task(const struct gramme_value *tasks,
                                            const struct gramme_value *task_id)
{
    for (size_t i = 0; i < gramme_value_count(tasks); i++) {
        const struct gramme_value *task = gramme_value_at(tasks, i);
        if (gramme_value_equal(gramme_get(task, "TaskId"), task_id)) {
            return task;
        }
    }
    return NULL;
}

/* {"items": [an assignment with its "task"], "cursor"} */
static void answer_user_tasks(struct app_request *request, const struct gramme_answer *assignments,
                              const struct gramme_value *tasks)
{
    struct gramme_value *body = gramme_map_create();
    struct gramme_value *items = gramme_set_list(body, "items");
    const struct gramme_value *found = gramme_answer_items(assignments);
    for (size_t i = 0; i < gramme_value_count(found); i++) {
        const struct gramme_value *assignment = gramme_value_at(found, i);
        const struct gramme_value *task = find_task(tasks, gramme_get(assignment, "TaskId"));
        struct gramme_value *out = gramme_add_map(items);
        show_assignment(assignment, out);
        show_task(task, gramme_set_map(out, "task"));
    }
    char *cursor = gramme_answer_cursor(assignments);
    if (cursor != NULL) {
        gramme_set_string(body, "cursor", cursor);
        gramme_free(cursor);
    }
    answer_value(request, 200, body);
    gramme_value_destroy(body);
}

static void get_user_tasks(struct app_request *request)
{
    struct page page;
    const char *user_id = path_id(request, "userId");
    if (user_id == NULL || !request_page(request, &page)) {
        return; /* answered */
    }
    struct gramme_db *db = request_db(request);
    struct gramme_error *error = NULL;
    struct gramme_answer *tasks = NULL;
    struct gramme_answer *assignments = tasks_get_user_tasks(db, user_id, &page, &error);
    const struct gramme_value *found = gramme_answer_items(assignments);
    if (gramme_value_count(found) > 0) {
        tasks = tasks_get_tasks(db, found, &error);
    }
    if (error != NULL) {
        answer_error(request, error);
    } else {
        answer_user_tasks(request, assignments, gramme_answer_table_items(tasks, TASKS_TABLE));
    }
    gramme_answer_destroy(assignments);
    gramme_answer_destroy(tasks);
    gramme_error_destroy(error);
}

/* --- tasks --- */

static void create_task(struct app_request *request)
{
    const char *user_id = acting_user(request);
    const struct gramme_value *body = user_id ? request_body(request) : NULL;
    if (body == NULL) {
        return; /* answered, also below */
    }
    struct tasks_task task = {.created_by = user_id, .description = ""};
    task.title = request_text(request, body, "title", TITLE_LEN_MAX);
    if (task.title != NULL && gramme_get(body, "description") != NULL) {
        task.description = request_text(request, body, "description", DESCRIPTION_LEN_MAX);
    }
    if (task.title == NULL || task.description == NULL) {
        return;
    }
    task.priority =
        body_name(request, body, "priority", tasks_priority_is_valid, "LOW, MEDIUM or HIGH");
    if (task.priority == NULL) {
        return;
    }
    struct gramme_error *error = NULL;
    struct gramme_value *item = NULL;
    enum tasks_result result = tasks_create_task(request_db(request), &task, &item, &error);
    if (result != TASKS_OK) {
        answer_refused(request, result, error);
        return;
    }
    answer_header(request, "Location", "/tasks/api/tasks/%s", gramme_get_string(item, "TaskId"));
    answer_item(request, 201, item, show_task);
    gramme_value_destroy(item);
}

static void get_task(struct app_request *request)
{
    const char *task_id = path_id(request, "taskId");
    if (task_id != NULL) {
        struct gramme_error *error = NULL;
        struct gramme_answer *answer = tasks_get_task(request_db(request), task_id, &error);
        answer_found(request, answer, error, show_task, "task");
    }
}

/* From the query: `order`, newest (if not said) or oldest. False: 400 has been answered. */
static bool read_order(struct app_request *request, bool *out_newest_first)
{
    const char *order = request_query(request, "order");
    *out_newest_first = order == NULL || strcmp(order, "newest") == 0;
    if (!*out_newest_first && strcmp(order, "oldest") != 0) {
        answer_problem(request, 400, "bad_parameter", "order must be newest or oldest");
        return false;
    }
    return true;
}

static void get_tasks_by_status(struct app_request *request)
{
    const char *status = request_query(request, "status");
    if (status == NULL || !tasks_status_is_valid(status)) {
        answer_problem(request, 400, "bad_parameter", "status must be %s", STATUS_RULE);
        return;
    }
    struct page page;
    bool newest_first;
    if (!read_order(request, &newest_first) || !request_page(request, &page)) {
        return; /* answered */
    }
    struct gramme_error *error = NULL;
    struct gramme_answer *answer =
        tasks_get_tasks_by_status(request_db(request), status, newest_first, &page, &error);
    answer_found_page(request, answer, error, show_task);
}

static void update_task_status(struct app_request *request)
{
    const char *user_id = acting_user(request);
    const char *task_id = user_id ? path_id(request, "taskId") : NULL;
    const struct gramme_value *body = task_id ? request_body(request) : NULL;
    const char *status =
        body ? body_name(request, body, "status", tasks_status_is_valid, STATUS_RULE) : NULL;
    if (status == NULL) {
        return; /* answered */
    }
    struct gramme_error *error = NULL;
    enum tasks_result result =
        tasks_update_task_status(request_db(request), task_id, status, user_id, &error);
    if (result == TASKS_OK) {
        answer_nothing(request);
    } else {
        answer_refused(request, result, error);
    }
}

/* --- assignments --- */

static void assign_task(struct app_request *request)
{
    const char *admin_id = acting_user(request);
    const char *task_id = admin_id ? path_id(request, "taskId") : NULL;
    const struct gramme_value *body = task_id ? request_body(request) : NULL;
    const char *user_id =
        body ? body_name(request, body, "userId", tasks_id_is_valid, ID_RULE) : NULL;
    if (user_id == NULL) {
        return; /* answered */
    }
    struct gramme_error *error = NULL;
    struct tasks_assignment assignment = {
        .task_id = task_id, .user_id = user_id, .assigned_by = admin_id};
    enum tasks_result result = tasks_assign_task(request_db(request), &assignment, &error);
    if (result != TASKS_OK) {
        answer_refused(request, result, error);
        return;
    }
    struct gramme_value *item = gramme_map_create();
    gramme_set_string(item, "taskId", task_id);
    gramme_set_string(item, "userId", user_id);
    gramme_set_string(item, "assignedBy", admin_id);
    answer_header(request, "Location", "/tasks/api/tasks/%s/assignments/%s", task_id, user_id);
    answer_value(request, 201, item);
    gramme_value_destroy(item);
}

static void get_task_assignments(struct app_request *request)
{
    struct page page;
    const char *task_id = path_id(request, "taskId");
    if (task_id != NULL && request_page(request, &page)) {
        struct gramme_error *error = NULL;
        struct gramme_answer *answer =
            tasks_get_task_assignments(request_db(request), task_id, &page, &error);
        answer_found_page(request, answer, error, show_assignment);
    }
}

static void check_assignment(struct app_request *request)
{
    const char *task_id = path_id(request, "taskId");
    const char *user_id = task_id ? path_id(request, "userId") : NULL;
    if (user_id != NULL) {
        struct gramme_error *error = NULL;
        struct gramme_answer *answer =
            tasks_check_assignment(request_db(request), task_id, user_id, &error);
        answer_found(request, answer, error, show_assignment, "assignment");
    }
}

static const struct app_route routes[] = {
    {"POST", "/users", create_user},
    {"GET", "/users/{userId}", get_user_profile},
    {"PUT", "/users/{userId}/status", set_user_status},
    {"GET", "/users/{userId}/tasks", get_user_tasks},
    {"POST", "/tasks", create_task},
    {"GET", "/tasks", get_tasks_by_status},
    {"GET", "/tasks/{taskId}", get_task},
    {"PUT", "/tasks/{taskId}/status", update_task_status},
    {"POST", "/tasks/{taskId}/assignments", assign_task},
    {"GET", "/tasks/{taskId}/assignments", get_task_assignments},
    {"GET", "/tasks/{taskId}/assignments/{userId}", check_assignment},
};

extern const char tasks_schema[];
static const char *const schemas[] = {tasks_schema, NULL};

const struct app_definition tasks_app = {
    .name = "tasks",
    .schemas = schemas,
    .routes = routes,
    .route_count = sizeof(routes) / sizeof(routes[0]),
    .load_samples = tasks_load_samples,
};
