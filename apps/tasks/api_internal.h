/* What the files of the REST API share. "Answered": an error has been answered, so the handler must
 * return. */
#ifndef GRAMME_APPS_TASKS_API_INTERNAL_H
#define GRAMME_APPS_TASKS_API_INTERNAL_H

#include "apps/tasks/tasks.h"

/* --- api_access.c: who sends the request, and what that user may do --- */

/* Returns the signed-in user as the data layer takes it. */
struct tasks_actor api_actor(const struct app_request *request);
/* What the signed-in user may do, by the claims of the identity provider and the profile in the
 * table. */
struct api_standing {
    bool is_active; /* an active user, or an administrator by claim */
    bool is_admin;
    struct gramme_answer *profile; /* the caller destroys it */
};
/* Reads the user's profile. False: the database failed, answered. */
bool api_standing(struct app_request *request, struct api_standing *out);
/* Returns whether the signed-in user is active. False: answered. */
bool api_require_active(struct app_request *request);
/* Returns whether the signed-in user is an admin. False: answered. */
bool api_require_admin(struct app_request *request);
/* Returns whether the signed-in user has this id or is an admin. False: answered. */
bool api_require_user(struct app_request *request, const char *user_id);
/* Returns whether the signed-in user may see a task: admins see all tasks, active members those
 * that they created or that are assigned to them. `task`: its item; NULL: not read yet. False:
 * answered, in the same way whether or not the task exists. */
bool api_require_task(struct app_request *request, const char *task_id,
                      const struct gramme_value *task);
/* Returns whether an attribute of the item is this text. */
bool api_has_text(const struct gramme_value *item, const char *name, const char *wanted);

/* --- api_answers.c: parts of requests and answers --- */

/* Returns a part of the path that is an id. NULL: it is not a valid id, 404 has been answered. */
const char *api_path_id(struct app_request *request, const char *name);
/* Returns a text of the body that passes `is_valid`. NULL: it is missing or not valid, 400 has been
 * answered: "NAME must be WANTED". */
const char *api_body_name(struct app_request *request, const struct gramme_value *body,
                          const char *name, bool (*is_valid)(const char *text), const char *wanted);

/* Fills `out` with an item as the REST API shows it to a user. */
typedef void api_show(const struct identity *who, const struct gramme_value *item,
                      struct gramme_value *out);
/* An api_show of a task. */
void api_show_task(const struct identity *who, const struct gramme_value *item,
                   struct gramme_value *out);
/* An api_show of an assignment. */
void api_show_assignment(const struct identity *who, const struct gramme_value *item,
                         struct gramme_value *out);
/* Sets out[to] to item[from], if the item has it. */
void api_copy(const struct gramme_value *item, const char *from, struct gramme_value *out,
              const char *to);
/* Answers with an item. */
void api_answer_item(struct app_request *request, int status, const struct gramme_value *item,
                     api_show *show);
/* Answers with the item of `answer`; 404 "There is no such WHAT" if it has none; if `answer` is
 * NULL, with the error. Destroys both. */
void api_answer_found(struct app_request *request, struct gramme_answer *answer,
                      struct gramme_error *error, api_show *show, const char *what);
/* Answers with a page of items; if `answer` is NULL, with the error. Destroys both. */
void api_answer_page(struct app_request *request, struct gramme_answer *answer,
                     struct gramme_error *error, api_show *show);
/* Answers a result other than TASKS_OK; destroys the error. `user_id`: the user whom the message
 * names. */
void api_answer_refused(struct app_request *request, enum tasks_result result, const char *user_id,
                        struct gramme_error *error);

/* --- tasks_api.c: handlers --- */

/* POST /tasks */
void api_create_task(struct app_request *request);
/* GET /tasks */
void api_get_tasks_by_status(struct app_request *request);
/* GET /tasks/counts */
void api_count_tasks(struct app_request *request);
/* GET /tasks/{taskId} */
void api_get_task(struct app_request *request);
/* PUT /tasks/{taskId} */
void api_edit_task(struct app_request *request);
/* PUT /tasks/{taskId}/status */
void api_update_task_status(struct app_request *request);

/* --- assignments_api.c: handlers --- */

/* POST /tasks/{taskId}/assignments */
void api_assign_task(struct app_request *request);
/* GET /tasks/{taskId}/assignments */
void api_get_task_assignments(struct app_request *request);
/* GET /tasks/{taskId}/assignments/{userId} */
void api_check_assignment(struct app_request *request);
/* DELETE /tasks/{taskId}/assignments/{userId} */
void api_unassign_task(struct app_request *request);
/* GET /users/{userId}/tasks */
void api_get_user_tasks(struct app_request *request);
/* GET /users/{userId}/created */
void api_get_created_tasks(struct app_request *request);

/* --- users_api.c: handlers --- */

/* GET /me */
void api_get_me(struct app_request *request);
/* GET /users */
void api_list_users(struct app_request *request);
/* POST /users */
void api_create_user(struct app_request *request);
/* GET /users/{userId} */
void api_get_user_profile(struct app_request *request);
/* PUT /users/{userId}/status */
void api_set_user_status(struct app_request *request);
/* PUT /users/{userId}/role */
void api_set_user_role(struct app_request *request);
/* GET /users/{userId}/notifications */
void api_get_notifications(struct app_request *request);
/* PUT /users/{userId}/notifications/read */
void api_read_notifications(struct app_request *request);
/* An api_show of a user. */
void api_show_user(const struct identity *who, const struct gramme_value *item,
                   struct gramme_value *out);
/* An api_show of a notification. */
void api_show_notification(const struct identity *who, const struct gramme_value *item,
                           struct gramme_value *out);

#endif
