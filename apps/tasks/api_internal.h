/* What the two files of the REST API share. */
#ifndef GRAMME_APPS_TASKS_API_INTERNAL_H
#define GRAMME_APPS_TASKS_API_INTERNAL_H

#include "apps/tasks/tasks.h"

/* Who acts, as the data layer wants it. */
struct tasks_actor api_actor(const struct app_request *request);
/* What the table says of who is asking. */
struct api_standing {
    bool is_active; /* an active user, or an administrator by claim */
    bool is_admin;
    struct gramme_answer *profile; /* the caller destroys it; NULL: not read */
};
/* False: the database failed, and it has been answered. */
bool api_standing(struct app_request *request, struct api_standing *out);
/* Whether they are an active user. False: it has been answered. */
bool api_require_active(struct app_request *request);
/* Whether they are an admin. False: it has been answered. */
bool api_require_admin(struct app_request *request);
/* Whether they are this user, or an admin. False: it has been answered. */
bool api_require_user(struct app_request *request, const char *user_id);

/* A part of the path that is an id. NULL: it cannot be one, and 404 has been answered. */
const char *api_path_id(struct app_request *request, const char *name);
/* A text of the body that passes a check. NULL: it does not, and 400 has been answered. */
const char *api_body_name(struct app_request *request, const struct gramme_value *body,
                          const char *name, bool (*is_valid)(const char *text), const char *wanted);

/* Fills `out` with an item as the REST API shows it to somebody. */
typedef void api_show(const struct identity *who, const struct gramme_value *item,
                      struct gramme_value *out);
/* An api_show of a user. */
void api_show_user(const struct identity *who, const struct gramme_value *item,
                   struct gramme_value *out);
/* Sets out[to] to item[from], if the item has it. */
void api_copy(const struct gramme_value *item, const char *from, struct gramme_value *out,
              const char *to);
/* Answers with an item. */
void api_answer_item(struct app_request *request, int status, const struct gramme_value *item,
                     api_show *show);
/* Answers with the one item that was asked for; takes the answer and the error. */
void api_answer_found(struct app_request *request, struct gramme_answer *answer,
                      struct gramme_error *error, api_show *show, const char *what);
/* Answers with a page; takes the answer and the error. */
void api_answer_page(struct app_request *request, struct gramme_answer *answer,
                     struct gramme_error *error, api_show *show);
/* Answers what did not go well; takes the error. `user_id`: whom it concerns, for the message. */
void api_answer_refused(struct app_request *request, enum tasks_result result, const char *user_id,
                        struct gramme_error *error);

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
/* An api_show of a notification. */
void api_show_notification(const struct identity *who, const struct gramme_value *item,
                           struct gramme_value *out);

#endif
