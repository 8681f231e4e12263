/* Notifications: what happened to the tasks of a user, written by whoever reads the table's stream.
 * Their keys are made of what happened, so that several servers write each of them once. */
#include <stdio.h>
#include <string.h>

#include "apps/common/when.h"
#include "apps/tasks/tasks.h"
#include "base/log.h"

bool tasks_put_notification(struct gramme_db *db, const struct tasks_notification *notification,
                            struct gramme_error **error)
{
    struct gramme_request *put = gramme_request_create("PutItem", TASKS_TABLE);
    struct gramme_value *item = gramme_request_item(put);
    gramme_set_format(item, "PK", "USER#%s", notification->user_id);
    gramme_set_format(item, "SK", "NOTIFICATION#%s#%s#%s", notification->at, notification->kind,
                      notification->task_id);
    gramme_set_string(item, "EntityType", "NOTIFICATION");
    gramme_set_string(item, "UserId", notification->user_id);
    gramme_set_string(item, "At", notification->at);
    gramme_set_string(item, "Kind", notification->kind);
    gramme_set_string(item, "TaskId", notification->task_id);
    gramme_set_string(item, "Title", notification->title);
    gramme_set_string(item, "Text", notification->text);
    gramme_set_string(item, "By", notification->by);
    gramme_request_condition(put, "attribute_not_exists(PK)");
    bool ok = gramme_run(db, put, error) || gramme_error_is(*error, GRAMME_CONDITION_FAILED);
    gramme_request_destroy(put);
    return ok;
}

struct gramme_answer *tasks_get_notifications(struct gramme_db *db, const char *user_id,
                                              const struct page *page, struct gramme_error **error)
{
    struct gramme_request *query = gramme_request_create("Query", TASKS_TABLE);
    gramme_request_key_condition(query, "PK = :user AND begins_with(SK, :notification)");
    gramme_set_format(gramme_request_values(query), ":user", "USER#%s", user_id);
    gramme_set_string(gramme_request_values(query), ":notification", "NOTIFICATION#");
    gramme_request_descending(query);
    page_apply(page, query);
    struct gramme_answer *answer = gramme_send(db, query, error);
    gramme_request_destroy(query);
    return answer;
}

static void set_marker_key(struct gramme_value *key, const char *user_id)
{
    gramme_set_format(key, "PK", "USER#%s", user_id);
    gramme_set_string(key, "SK", "NOTIFICATIONS_READ");
}

struct gramme_answer *tasks_get_read_marker(struct gramme_db *db, const char *user_id,
                                            struct gramme_error **error)
{
    struct gramme_request *get = gramme_request_create("GetItem", TASKS_TABLE);
    set_marker_key(gramme_request_key(get), user_id);
    gramme_request_consistent(get);
    struct gramme_answer *answer = gramme_send(db, get, error);
    gramme_request_destroy(get);
    return answer;
}

bool tasks_set_read_marker(struct gramme_db *db, const char *user_id, const char *up_to,
                           struct gramme_error **error)
{
    struct gramme_request *put = gramme_request_create("PutItem", TASKS_TABLE);
    struct gramme_value *item = gramme_request_item(put);
    set_marker_key(item, user_id);
    gramme_set_string(item, "EntityType", "NOTIFICATIONS_READ");
    gramme_set_string(item, "UserId", user_id);
    gramme_set_string(item, "UpTo", up_to);
    /* What was read stays read, whichever of two tabs is first. */
    gramme_request_condition(put, "attribute_not_exists(UpTo) OR UpTo < :upTo");
    gramme_set_string(gramme_request_values(put), ":upTo", up_to);
    bool ok = gramme_run(db, put, error) || gramme_error_is(*error, GRAMME_CONDITION_FAILED);
    gramme_request_destroy(put);
    return ok;
}

/* --- from the stream --- */

static void put(struct gramme_db *db, const struct tasks_notification *notification)
{
    struct gramme_error *error = NULL;
    if (strcmp(notification->user_id, notification->by) == 0) {
        return; /* who did it knows */
    }
    if (!tasks_put_notification(db, notification, &error)) {
        log_write(LOG_WARN, "tasks", "a notification of %s is lost: %s: %s", notification->user_id,
                  gramme_error_code(error), gramme_error_message(error));
    }
    gramme_error_destroy(error);
}

/* Somebody was assigned or unassigned. */
static void notify_assignment(struct gramme_db *db, const struct gramme_value *assignment,
                              bool is_gone, int64_t when_s)
{
    const char *task_id = gramme_get_string(assignment, "TaskId");
    const char *user_id = gramme_get_string(assignment, "UserId");
    const char *assigned_at = gramme_get_string(assignment, "AssignedAt");
    const char *by = gramme_get_string(assignment, "AssignedBy");
    if (task_id == NULL || user_id == NULL || assigned_at == NULL || by == NULL) {
        return;
    }
    struct gramme_error *error = NULL;
    struct gramme_answer *task = tasks_get_task(db, task_id, &error);
    const char *title = gramme_get_string(gramme_answer_item(task), "Title");
    char at[WHEN_SIZE];
    char text[160];
    when_format(at, when_s * WHEN_SECOND);
    if (is_gone) {
        snprintf(text, sizeof(text), "You are not assigned any more");
    } else {
        snprintf(text, sizeof(text), "%s assigned you", by);
    }
    put(db, &(struct tasks_notification){
                .user_id = user_id,
                .at = is_gone ? at : assigned_at,
                .kind = is_gone ? "unassigned" : "assigned",
                .task_id = task_id,
                .title = title == NULL ? "" : title,
                .text = text,
                .by = is_gone ? "" : by, /* a deletion does not say who it was */
            });
    gramme_answer_destroy(task);
    gramme_error_destroy(error);
}

static bool differs(const struct gramme_value *old_task, const struct gramme_value *new_task,
                    const char *name)
{
    const struct gramme_value *a = gramme_get(old_task, name);
    const struct gramme_value *b = gramme_get(new_task, name);
    return (a == NULL) != (b == NULL) || (a != NULL && !gramme_value_equal(a, b));
}

/* Tells all who are assigned to the task. */
static void notify_assigned(struct gramme_db *db, struct tasks_notification *notification)
{
    char *cursor = NULL;
    do {
        struct gramme_error *error = NULL;
        struct page page = {.limit = 100, .cursor = cursor};
        struct gramme_answer *answer =
            tasks_get_task_assignments(db, notification->task_id, &page, &error);
        gramme_free(cursor);
        cursor = NULL;
        if (answer == NULL) {
            log_write(LOG_WARN, "tasks", "notifications are lost: %s", gramme_error_message(error));
        } else {
            const struct gramme_value *items = gramme_answer_items(answer);
            for (size_t i = 0; i < gramme_value_count(items); i++) {
                notification->user_id = gramme_get_string(gramme_value_at(items, i), "UserId");
                put(db, notification);
            }
            cursor = gramme_answer_cursor(answer);
        }
        gramme_answer_destroy(answer);
        gramme_error_destroy(error);
    } while (cursor != NULL);
}

static void notify_task(struct gramme_db *db, const struct gramme_value *old_task,
                        const struct gramme_value *new_task)
{
    const char *by = gramme_get_string(new_task, "UpdatedBy");
    const char *at = gramme_get_string(new_task, "UpdatedAt");
    const char *status = gramme_get_string(new_task, "Status");
    const char *task_id = gramme_get_string(new_task, "TaskId");
    const char *title = gramme_get_string(new_task, "Title");
    bool is_moved = differs(old_task, new_task, "Status");
    if (at == NULL || status == NULL || task_id == NULL || title == NULL ||
        !(is_moved || differs(old_task, new_task, "Title") ||
          differs(old_task, new_task, "Description") || differs(old_task, new_task, "Priority"))) {
        return;
    }
    char text[160];
    if (is_moved) {
        snprintf(text, sizeof(text), "%s changed the status to %s", by == NULL ? "Somebody" : by,
                 status);
    } else {
        snprintf(text, sizeof(text), "%s edited it", by == NULL ? "Somebody" : by);
    }
    notify_assigned(db, &(struct tasks_notification){
                            .at = at,
                            .kind = is_moved ? "status" : "edited",
                            .task_id = task_id,
                            .title = title,
                            .text = text,
                            .by = by == NULL ? "" : by,
                        });
}

void tasks_notify(struct gramme_db *db, const struct gramme_value *old_item,
                  const struct gramme_value *new_item, int64_t when_s)
{
    const struct gramme_value *item = new_item != NULL ? new_item : old_item;
    const char *type = gramme_get_string(item, "EntityType");
    if (type == NULL) {
        return;
    }
    if (strcmp(type, "ASSIGNMENT") == 0 && (old_item == NULL || new_item == NULL)) {
        notify_assignment(db, item, new_item == NULL, when_s);
    } else if (strcmp(type, "TASK") == 0 && old_item != NULL && new_item != NULL) {
        notify_task(db, old_item, new_item);
    }
}
