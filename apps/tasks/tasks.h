/* apps/tasks/tasks.h: users, tasks and assignments in one table, as in the document "DynamoDB
 * Single-Table Design".
 *
 *     a task         PK TASK#id   SK METADATA         GSI2PK STATUS#status  GSI2SK CREATED_AT#time
 *     an assignment  PK TASK#id   SK ASSIGNMENT#user  GSI1PK USER#user      GSI1SK TASK#id
 *     a creation     PK USER#id   SK CREATED#time#task
 *     a user         PK USER#id   SK PROFILE          GSI2PK USERS          GSI2SK CREATED_AT#time
 *     a notification PK USER#id   SK NOTIFICATION#time#kind#task
 *     read up to     PK USER#id   SK NOTIFICATIONS_READ
 *     notified up to PK STREAM    SK NOTIFICATIONS
 *
 * Ids are as in identity.h. The document has no index for users: GSI2 lists those that this
 * program has created or changed.
 *
 * The actor of a change is a user of the table. Rules that span items are conditions of one
 * transaction, so that they also hold for concurrent changes. */
#ifndef GRAMME_APPS_TASKS_H
#define GRAMME_APPS_TASKS_H

#include "apps/common/app.h"

#define TASKS_TABLE "task-manager-sandbox-tasks"

extern const struct app_definition tasks_app;

enum tasks_result {
    TASKS_OK,
    TASKS_FAILED,           /* the database failed: *error */
    TASKS_NOT_ALLOWED,      /* the actor is unknown, deactivated, or lacks the permission */
    TASKS_NO_TASK,          /* there is no such task */
    TASKS_NO_USER,          /* there is no such user */
    TASKS_USER_DEACTIVATED, /* the user to be assigned is deactivated */
    TASKS_DUPLICATE,        /* the object exists already */
    TASKS_THE_SAME,         /* create: it was created before; *out is its present state */
    TASKS_NO_ASSIGNMENT,    /* the user is not assigned to the task */
    TASKS_STALE,            /* the task has changed since it was read */
    TASKS_TOO_LARGE,        /* the item would be larger than TASKS_ITEM_BYTES_MAX */
};

/* "No Large Items: All items < 4KB". */
enum { TASKS_ITEM_BYTES_MAX = 4096 };
/* Returns the largest size that a task's item can have after changes of its status, as the service
 * counts it: names and values, in UTF-8. */
size_t tasks_task_bytes(const struct gramme_value *item);

/* The user who makes a change: a user in the table, or an administrator by the claim of the
 * identity provider, who need not be in the table and is not checked there. */
struct tasks_actor {
    const char *id;
    bool is_admin;
};

/* Whether a text is OPEN, IN_PROGRESS, COMPLETED or CLOSED. */
bool tasks_status_is_valid(const char *text);
/* Whether a text is LOW, MEDIUM or HIGH. */
bool tasks_priority_is_valid(const char *text);

/* --- the seven access patterns: answers are the caller's; NULL: the database failed --- */

/* Pattern 1. gramme_answer_item(): the task, or NULL. */
struct gramme_answer *tasks_get_task(struct gramme_db *db, const char *task_id,
                                     struct gramme_error **error);
/* Pattern 2. gramme_answer_item(): the user, or NULL. */
struct gramme_answer *tasks_get_user_profile(struct gramme_db *db, const char *user_id,
                                             struct gramme_error **error);
/* Pattern 3. A page of assignments. */
struct gramme_answer *tasks_get_task_assignments(struct gramme_db *db, const char *task_id,
                                                 const struct page *page,
                                                 struct gramme_error **error);
/* Pattern 4. A page of a user's assignments; tasks_get_tasks() reads their tasks. */
struct gramme_answer *tasks_get_user_tasks(struct gramme_db *db, const char *user_id,
                                           const struct page *page, struct gramme_error **error);
/* Pattern 5. A page of tasks by creation time. */
struct gramme_answer *tasks_get_tasks_by_status(struct gramme_db *db, const char *status,
                                                bool newest_first, const struct page *page,
                                                struct gramme_error **error);
/* Pattern 6. gramme_answer_item(): the assignment, or NULL. */
struct gramme_answer *tasks_check_assignment(struct gramme_db *db, const char *task_id,
                                             const char *user_id, struct gramme_error **error);

struct tasks_assignment {
    const char *task_id;
    const char *user_id;
    const char *assigned_by;
};
/* Pattern 7. An admin assigns a task to an active user who does not have it yet. */
enum tasks_result tasks_assign_task(struct gramme_db *db, const struct tasks_assignment *assignment,
                                    const struct tasks_actor *actor, struct gramme_error **error);
/* An admin removes an assignment. */
enum tasks_result tasks_unassign_task(struct gramme_db *db, const char *task_id,
                                      const char *user_id, const struct tasks_actor *actor,
                                      struct gramme_error **error);

/* --- what else the document's workload does --- */

/* A page of a user's creations, the newest first; tasks_get_tasks() reads their tasks. */
struct gramme_answer *tasks_get_created_tasks(struct gramme_db *db, const char *user_id,
                                              const struct page *page, struct gramme_error **error);
/* Reads the tasks of a page of assignments or creations, at most 100, in any order. */
struct gramme_answer *tasks_get_tasks(struct gramme_db *db, const struct gramme_value *rows,
                                      struct gramme_error **error);
/* Returns whether an item of such a page is a creation. */
bool tasks_is_creation(const struct gramme_value *row);
/* Returns the task of an assignment or creation (`row`), from the tasks that tasks_get_tasks() has
 * read. NULL: another program has deleted it. If a task was created again with the same id, an
 * older creation does not refer to it. */
const struct gramme_value *tasks_find_task(const struct gramme_value *tasks,
                                           const struct gramme_value *row);

struct tasks_task {
    const char *id; /* chosen by the client, so that it can repeat the request; NULL: a new id */
    const char *title;
    const char *description; /* may be empty */
    const char *priority;
    const char *created_by; /* the actor */
};
/* An active user creates a task with the status OPEN. TASKS_OK, TASKS_THE_SAME: *out is its item;
 * TASKS_TOO_LARGE: *out is the item that is too large. The caller destroys it. */
enum tasks_result tasks_create_task(struct gramme_db *db, const struct tasks_task *task,
                                    const struct tasks_actor *actor, struct gramme_value **out,
                                    struct gramme_error **error);
/* An active user who is assigned to the task, or an admin, changes its status. */
enum tasks_result tasks_update_task_status(struct gramme_db *db, const char *task_id,
                                           const char *status, const struct tasks_actor *actor,
                                           struct gramme_error **error);
/* A change of title, description and priority, by the creator of the task, an assigned user or an
 * admin. */
struct tasks_edit {
    const struct gramme_value *seen; /* the task's item as it was read */
    const char *title;
    const char *description; /* "": none */
    const char *priority;
};
/* TASKS_OK: *out is the task's item after the change; TASKS_TOO_LARGE: the item that is too large.
 * The caller destroys it. */
enum tasks_result tasks_edit_task(struct gramme_db *db, const struct tasks_edit *edit,
                                  const struct tasks_actor *actor, struct gramme_value **out,
                                  struct gramme_error **error);

struct tasks_user {
    const char *user_id;
    const char *email;
    bool is_admin;
};
/* An admin creates a user, who is ACTIVE. TASKS_OK: *out is the user's item, which the caller
 * destroys. */
enum tasks_result tasks_create_user(struct gramme_db *db, const struct tasks_user *user,
                                    const struct tasks_actor *actor, struct gramme_value **out,
                                    struct gramme_error **error);
/* An admin activates or deactivates a user. */
enum tasks_result tasks_set_user_status(struct gramme_db *db, const char *user_id, bool is_active,
                                        const struct tasks_actor *actor,
                                        struct gramme_error **error);
/* An admin sets the role of a user: admin or member. */
enum tasks_result tasks_set_user_role(struct gramme_db *db, const char *user_id, bool is_admin,
                                      const struct tasks_actor *actor, struct gramme_error **error);
/* A page of users, the newest first. */
struct gramme_answer *tasks_list_users(struct gramme_db *db, const struct page *page,
                                       struct gramme_error **error);

/* --- notifications (notifications.c) --- */

struct tasks_notification {
    const char *user_id;
    const char *at;
    const char *kind; /* "assigned", "unassigned", "status" or "edited" */
    const char *task_id;
    const char *title; /* of the task */
    const char *text;  /* for people */
    const char *by;
};
/* How long notifications are kept: the table's time to live is their ExpiresAt. */
enum { TASKS_NOTIFICATION_DAYS = 90 };
/* More unread notifications are not counted. */
enum { TASKS_UNREAD_MAX = 100 };
/* Writes a notification, unless it exists. False: the database failed. */
bool tasks_put_notification(struct gramme_db *db, const struct tasks_notification *notification,
                            struct gramme_error **error);
/* A page of a user's notifications, the newest first. */
struct gramme_answer *tasks_get_notifications(struct gramme_db *db, const char *user_id,
                                              const struct page *page, struct gramme_error **error);
/* Counts a user's notifications after a time, at most TASKS_UNREAD_MAX; NULL: all. False: the
 * database failed. */
bool tasks_count_unread(struct gramme_db *db, const char *user_id, const char *after,
                        int64_t *out_count, struct gramme_error **error);
/* Reads the marker of the user. gramme_answer_item(): its item, with UpTo; NULL: the user has read
 * nothing yet. */
struct gramme_answer *tasks_get_read_marker(struct gramme_db *db, const char *user_id,
                                            struct gramme_error **error);
/* Stores that a user has read all notifications up to a time. False: the database failed. */
bool tasks_set_read_marker(struct gramme_db *db, const char *user_id, const char *up_to,
                           struct gramme_error **error);
/* Notifies the users whom a change of the table concerns: act() of struct app_follower. */
bool tasks_notify(struct gramme_db *db, const struct stream_change *change, bool *out_acted,
                  struct gramme_error **error);
/* Reads the position in the stream up to which users have been notified: load() of struct
 * app_follower. */
bool tasks_get_checkpoint(struct gramme_db *db, struct gramme_value **out,
                          struct gramme_error **error);
/* Stores this position: save() of struct app_follower. */
bool tasks_put_checkpoint(struct gramme_db *db, const struct gramme_value *positions,
                          struct gramme_error **error);

/* Writes sample users, tasks and assignments. False: the database failed. */
bool tasks_load_samples(struct gramme_db *db, struct gramme_error **error);

/* Fills the item of a user, as tasks_create_user() writes it; for samples.c. */
void tasks_fill_user(struct gramme_value *item, const struct tasks_user *user, const char *now);
/* Fills the item of a task. */
void tasks_fill_task(struct gramme_value *item, const struct tasks_task *task, const char *now);
/* Fills the item of a creation, which lists the task under its creator. */
void tasks_fill_creation(struct gramme_value *item, const struct tasks_task *task, const char *now);
/* Fills the item of an assignment. */
void tasks_fill_assignment(struct gramme_value *item, const struct tasks_assignment *assignment,
                           const char *now);

#endif
