/* apps/tasks/tasks.h: users, tasks and who does them, in one table, as the document "DynamoDB
 * Single-Table Design" has it.
 *
 *     a task         PK TASK#id   SK METADATA         GSI2PK STATUS#status  GSI2SK CREATED_AT#time
 *     an assignment  PK TASK#id   SK ASSIGNMENT#user  GSI1PK USER#user      GSI1SK TASK#id
 *     a creation     PK USER#id   SK CREATED#time#task
 *     a user         PK USER#id   SK PROFILE          GSI2PK USERS          GSI2SK CREATED_AT#time
 *     a notification PK USER#id   SK NOTIFICATION#time#kind#task
 *     read up to     PK USER#id   SK NOTIFICATIONS_READ
 *     notified up to PK STREAM    SK NOTIFICATIONS
 *
 * Ids are as in identity.h. The document has no index for users: GSI2 lists those that were made or
 * changed here.
 *
 * Whoever acts is a user of the table. Rules that span items are conditions of one transaction, so
 * that they hold whatever others do at the same time. */
#ifndef GRAMME_APPS_TASKS_H
#define GRAMME_APPS_TASKS_H

#include "apps/common/app.h"

#define TASKS_TABLE "task-manager-sandbox-tasks"

extern const struct app_definition tasks_app;

enum tasks_result {
    TASKS_OK,
    TASKS_FAILED,           /* the database failed: *error */
    TASKS_NOT_ALLOWED,      /* who acts is unknown, deactivated, or may not do this */
    TASKS_NO_TASK,          /* there is no such task */
    TASKS_NO_USER,          /* there is no such user */
    TASKS_USER_DEACTIVATED, /* the user that it concerns */
    TASKS_DUPLICATE,        /* it is there already */
    TASKS_THE_SAME,         /* create: the same was made before; *out is it as it is now */
    TASKS_NO_ASSIGNMENT,    /* the user is not assigned to the task */
    TASKS_STALE,            /* the task is not any more as it was seen */
    TASKS_TOO_LARGE,        /* the item would be larger than TASKS_ITEM_BYTES_MAX */
};

/* "No Large Items: All items < 4KB". */
enum { TASKS_ITEM_BYTES_MAX = 4096 };
/* The greatest size that a task's item can have after changes of its status, as the service counts
 * it: names and values, in UTF-8. */
size_t tasks_task_bytes(const struct gramme_value *item);

/* Who acts: a user of the table; or an administrator by the claim of their identity provider, who
 * need not be in the table and of whom nothing is checked there. */
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
/* Pattern 4. A page of assignments; tasks_get_tasks() has what they assign. */
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
/* The reverse, by an admin. */
enum tasks_result tasks_unassign_task(struct gramme_db *db, const char *task_id,
                                      const char *user_id, const struct tasks_actor *actor,
                                      struct gramme_error **error);

/* --- what else the document's workload does --- */

/* A page of the creations of a user, the newest first; tasks_get_tasks() has the tasks. */
struct gramme_answer *tasks_get_created_tasks(struct gramme_db *db, const char *user_id,
                                              const struct page *page, struct gramme_error **error);
/* The tasks of a page of assignments or creations, at most 100, in no order. */
struct gramme_answer *tasks_get_tasks(struct gramme_db *db, const struct gramme_value *rows,
                                      struct gramme_error **error);
/* Returns whether a row of such a page is a creation. */
bool tasks_is_creation(const struct gramme_value *row);
/* The task among these that a row of the page names. NULL: another program has deleted it; also if
 * it was created again since, by whomever: the row does not name that one. */
const struct gramme_value *tasks_find_task(const struct gramme_value *tasks,
                                           const struct gramme_value *row);

struct tasks_task {
    const char
        *id; /* chosen by the client, so that it can send the request again; NULL: a new one */
    const char *title;
    const char *description; /* may be empty */
    const char *priority;
    const char *created_by; /* who acts */
};
/* An active user makes a task, OPEN; or TASKS_DUPLICATE. *out is it, the caller's, if TASKS_OK or
 * TASKS_THE_SAME. */
enum tasks_result tasks_create_task(struct gramme_db *db, const struct tasks_task *task,
                                    const struct tasks_actor *actor, struct gramme_value **out,
                                    struct gramme_error **error);
/* An active user who is assigned to the task, or an admin, changes its status. */
enum tasks_result tasks_update_task_status(struct gramme_db *db, const char *task_id,
                                           const char *status, const struct tasks_actor *actor,
                                           struct gramme_error **error);
/* Its creator, someone assigned to it, or an admin changes what a task says. */
struct tasks_edit {
    const struct gramme_value *seen; /* the task's item as it was read */
    const char *title;
    const char *description; /* "": none */
    const char *priority;
};
/* *out: the task's item afterwards, the caller's, if TASKS_OK. */
enum tasks_result tasks_edit_task(struct gramme_db *db, const struct tasks_edit *edit,
                                  const struct tasks_actor *actor, struct gramme_value **out,
                                  struct gramme_error **error);

struct tasks_user {
    const char *user_id;
    const char *email;
    bool is_admin;
};
/* An admin makes a new user, ACTIVE; or TASKS_DUPLICATE. *out is it, the caller's, if TASKS_OK. */
enum tasks_result tasks_create_user(struct gramme_db *db, const struct tasks_user *user,
                                    const struct tasks_actor *actor, struct gramme_value **out,
                                    struct gramme_error **error);
/* An admin makes a user ACTIVE or DEACTIVATED. */
enum tasks_result tasks_set_user_status(struct gramme_db *db, const char *user_id, bool is_active,
                                        const struct tasks_actor *actor,
                                        struct gramme_error **error);
/* An admin makes a user an admin, or a member. */
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
/* The most unread ones that are counted. */
enum { TASKS_UNREAD_MAX = 100 };
/* Once: what is there already stays. */
bool tasks_put_notification(struct gramme_db *db, const struct tasks_notification *notification,
                            struct gramme_error **error);
/* A page of a user's notifications, the newest first. */
struct gramme_answer *tasks_get_notifications(struct gramme_db *db, const char *user_id,
                                              const struct page *page, struct gramme_error **error);
/* Counts those after a time, at most TASKS_UNREAD_MAX; NULL: all. False: the database failed. */
bool tasks_count_unread(struct gramme_db *db, const char *user_id, const char *after,
                        int64_t *out_count, struct gramme_error **error);
/* gramme_answer_item(): has UpTo; NULL: nothing was read yet. */
struct gramme_answer *tasks_get_read_marker(struct gramme_db *db, const char *user_id,
                                            struct gramme_error **error);
/* Remembers that a user has read everything up to a time. False: the database failed. */
bool tasks_set_read_marker(struct gramme_db *db, const char *user_id, const char *up_to,
                           struct gramme_error **error);
/* Notifies those whom a change of the table concerns; see struct app_follower. */
bool tasks_notify(struct gramme_db *db, const struct stream_change *change, bool *out_acted,
                  struct gramme_error **error);
/* Up to which change of the stream everybody has been notified; see struct app_follower. */
bool tasks_get_checkpoint(struct gramme_db *db, struct gramme_value **out,
                          struct gramme_error **error);
/* Stores that; see struct app_follower. */
bool tasks_put_checkpoint(struct gramme_db *db, const struct gramme_value *positions,
                          struct gramme_error **error);

/* Some users, tasks and assignments. */
bool tasks_load_samples(struct gramme_db *db, struct gramme_error **error);

/* Fills the item of a user, as tasks_create_user() writes it; for samples.c. */
void tasks_fill_user(struct gramme_value *item, const struct tasks_user *user, const char *now);
/* The same for a task. */
void tasks_fill_task(struct gramme_value *item, const struct tasks_task *task, const char *now);
/* The same for what lists the task under its creator. */
void tasks_fill_creation(struct gramme_value *item, const struct tasks_task *task, const char *now);
/* The same for an assignment. */
void tasks_fill_assignment(struct gramme_value *item, const struct tasks_assignment *assignment,
                           const char *now);

#endif
