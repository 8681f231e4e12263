/* Notifications about changes of a user's tasks. The thread that follows the table's stream writes
 * them (common/follower.h). The key of a notification is computed from the change, so that it
 * exists once, however many servers read the change and however often. */
#include <stdio.h>
#include <string.h>

#include "apps/common/when.h"
#include "apps/tasks/tasks.h"
#include "base/log.h"
#include "base/utf8.h"

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
    gramme_set_int(item, "ExpiresAt",
                   when_now() / WHEN_SECOND + TASKS_NOTIFICATION_DAYS * INT64_C(86400));
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

bool tasks_count_unread(struct gramme_db *db, const char *user_id, const char *after,
                        int64_t *out_count, struct gramme_error **error)
{
    struct gramme_request *query = gramme_request_create("Query", TASKS_TABLE);
    gramme_request_key_condition(query, "PK = :user AND SK BETWEEN :after AND :end");
    struct gramme_value *values = gramme_request_values(query);
    gramme_set_format(values, ":user", "USER#%s", user_id);
    /* Keys are "NOTIFICATION#time#..."; $ is the character after #. */
    gramme_set_format(values, ":after", after == NULL ? "NOTIFICATION#%s" : "NOTIFICATION#%s$",
                      after == NULL ? "" : after);
    gramme_set_string(values, ":end", "NOTIFICATION$");
    gramme_set_string(gramme_request_root(query), "Select", "COUNT");
    gramme_request_limit(query, TASKS_UNREAD_MAX);
    struct gramme_answer *answer = gramme_send(db, query, error);
    gramme_request_destroy(query);
    *out_count = gramme_get_int(gramme_answer_root(answer), "Count", 0);
    gramme_answer_destroy(answer);
    return answer != NULL;
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
    /* The marker only moves forward, also if two tabs write it. */
    gramme_request_condition(put, "attribute_not_exists(UpTo) OR UpTo < :upTo");
    gramme_set_string(gramme_request_values(put), ":upTo", up_to);
    bool ok = gramme_run(db, put, error) || gramme_error_is(*error, GRAMME_CONDITION_FAILED);
    gramme_request_destroy(put);
    return ok;
}

/* --- the checkpoint --- */

static void set_checkpoint_key(struct gramme_value *key)
{
    gramme_set_string(key, "PK", "STREAM");
    gramme_set_string(key, "SK", "NOTIFICATIONS");
}

bool tasks_get_checkpoint(struct gramme_db *db, struct gramme_value **out,
                          struct gramme_error **error)
{
    struct gramme_request *get = gramme_request_create("GetItem", TASKS_TABLE);
    set_checkpoint_key(gramme_request_key(get));
    gramme_request_consistent(get);
    struct gramme_answer *answer = gramme_send(db, get, error);
    gramme_request_destroy(get);
    const struct gramme_value *positions = gramme_get(gramme_answer_item(answer), "Positions");
    *out = positions == NULL ? NULL : gramme_value_copy(positions);
    gramme_answer_destroy(answer);
    return answer != NULL;
}

bool tasks_put_checkpoint(struct gramme_db *db, const struct gramme_value *positions,
                          struct gramme_error **error)
{
    struct gramme_request *put = gramme_request_create("PutItem", TASKS_TABLE);
    struct gramme_value *item = gramme_request_item(put);
    set_checkpoint_key(item);
    gramme_set_string(item, "EntityType", "CHECKPOINT");
    gramme_set_value(item, "Positions", positions);
    bool ok = gramme_run(db, put, error);
    gramme_request_destroy(put);
    return ok;
}

/* --- from the stream --- */

/* Returns whether the request may succeed later. If not, the change must be skipped, or no later
 * change would be handled. */
static bool may_pass(const struct gramme_error *error)
{
    return gramme_error_status(error) == 0 || gramme_error_retryable(error) ||
           gramme_error_is(error, GRAMME_NOT_FOUND) || gramme_error_is(error, GRAMME_ACCESS_DENIED);
}

/* Whether the user's account is deactivated. False: the database failed. */
static bool find_deactivated(struct gramme_db *db, const char *user_id, bool *out_is_deactivated,
                             struct gramme_error **error)
{
    struct gramme_answer *profile = tasks_get_user_profile(db, user_id, error);
    const char *status = gramme_get_string(gramme_answer_item(profile), "UserStatus");
    *out_is_deactivated = status != NULL && strcmp(status, "DEACTIVATED") == 0;
    gramme_answer_destroy(profile);
    return profile != NULL;
}

static bool put(struct gramme_db *db, const struct tasks_notification *notification,
                struct gramme_error **error)
{
    if (strcmp(notification->user_id, notification->by) == 0) {
        return true; /* the author needs no notification */
    }
    bool is_deactivated;
    if (find_deactivated(db, notification->user_id, &is_deactivated, error) &&
        (is_deactivated || tasks_put_notification(db, notification, error))) {
        return true;
    }
    if (may_pass(*error)) {
        return false;
    }
    log_write(LOG_ERROR, "tasks", "a notification about task %s cannot be written: %s: %s",
              notification->task_id, gramme_error_code(*error), gramme_error_message(*error));
    return true;
}

/* Returns the name of the author for a text; another program may have written a long one or none.
 */
static struct str short_name(const char *by)
{
    enum { BYTES_MAX = 80 };
    return utf8_prefix(str_from_c(by == NULL ? "Somebody" : by), BYTES_MAX);
}

/* Notifies a user who was assigned to a task or, `is_gone`, unassigned. */
static bool notify_assignment(struct gramme_db *db, const struct gramme_value *assignment,
                              bool is_gone, int64_t when_s, struct gramme_error **error)
{
    const char *task_id = gramme_get_string(assignment, "TaskId");
    const char *user_id = gramme_get_string(assignment, "UserId");
    const char *assigned_at = gramme_get_string(assignment, "AssignedAt");
    const char *by = gramme_get_string(assignment, "AssignedBy");
    if (task_id == NULL || user_id == NULL || assigned_at == NULL || by == NULL) {
        return true;
    }
    struct gramme_answer *task = tasks_get_task(db, task_id, error);
    if (task == NULL) {
        return false;
    }
    const char *title = gramme_get_string(gramme_answer_item(task), "Title");
    char at[WHEN_SIZE];
    char text[160];
    when_format(at, when_s * WHEN_SECOND);
    if (is_gone) {
        snprintf(text, sizeof(text), "You are not assigned any more");
    } else {
        snprintf(text, sizeof(text), "%.*s assigned you", STR_ARG(short_name(by)));
    }
    bool ok = put(db,
                  &(struct tasks_notification){
                      .user_id = user_id,
                      .at = is_gone ? at : assigned_at,
                      .kind = is_gone ? "unassigned" : "assigned",
                      .task_id = task_id,
                      .title = title == NULL ? "" : title,
                      .text = text,
                      .by = is_gone ? "" : by, /* a deletion does not name its author */
                  },
                  error);
    gramme_answer_destroy(task);
    return ok;
}

static bool differs(const struct gramme_value *old_task, const struct gramme_value *new_task,
                    const char *name)
{
    const struct gramme_value *a = gramme_get(old_task, name);
    const struct gramme_value *b = gramme_get(new_task, name);
    return (a == NULL) != (b == NULL) || (a != NULL && !gramme_value_equal(a, b));
}

/* Returns whether the assignment was made after the change; clocks may differ by a minute. Such
 * assignments are found when changes are read late: their users are not notified. */
static bool is_later(const struct gramme_value *assignment, const char *changed_at)
{
    int64_t assigned;
    int64_t changed;
    return when_parse(gramme_get_string(assignment, "AssignedAt"), &assigned) &&
           when_parse(changed_at, &changed) && assigned > changed + 60 * WHEN_SECOND;
}

/* Notifies a page of assigned users. */
static bool notify_page(struct gramme_db *db, const struct gramme_value *assignments,
                        struct tasks_notification *notification, struct gramme_error **error)
{
    for (size_t i = 0; i < gramme_value_count(assignments); i++) {
        const struct gramme_value *assignment = gramme_value_at(assignments, i);
        notification->user_id = gramme_get_string(assignment, "UserId");
        if (notification->user_id != NULL && !is_later(assignment, notification->at) &&
            !put(db, notification, error)) {
            return false;
        }
    }
    return true;
}

/* Notifies all who are assigned to the task. */
static bool notify_assigned(struct gramme_db *db, struct tasks_notification *notification,
                            struct gramme_error **error)
{
    char *cursor = NULL;
    bool ok;
    do {
        struct page page = {.limit = 100, .cursor = cursor};
        struct gramme_answer *answer =
            tasks_get_task_assignments(db, notification->task_id, &page, error);
        ok = answer != NULL && notify_page(db, gramme_answer_items(answer), notification, error);
        gramme_free(cursor);
        cursor = ok ? gramme_answer_cursor(answer) : NULL;
        gramme_answer_destroy(answer);
    } while (cursor != NULL);
    return ok;
}

static bool notify_task(struct gramme_db *db, const struct gramme_value *old_task,
                        const struct gramme_value *new_task, struct gramme_error **error)
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
        return true;
    }
    char text[160];
    if (is_moved) {
        snprintf(text, sizeof(text), "%.*s changed the status to %.*s", STR_ARG(short_name(by)),
                 STR_ARG(utf8_prefix(str_from_c(status), 40)));
    } else {
        snprintf(text, sizeof(text), "%.*s edited it", STR_ARG(short_name(by)));
    }
    return notify_assigned(db,
                           &(struct tasks_notification){
                               .at = at,
                               .kind = is_moved ? "status" : "edited",
                               .task_id = task_id,
                               .title = title,
                               .text = text,
                               .by = by == NULL ? "" : by,
                           },
                           error);
}

static bool notify(struct gramme_db *db, const struct stream_change *change, bool *out_acted,
                   struct gramme_error **error)
{
    const struct gramme_value *old_item = change->old_item;
    const struct gramme_value *new_item = change->new_item;
    const struct gramme_value *item = new_item != NULL ? new_item : old_item;
    const char *type = gramme_get_string(item, "EntityType");
    *out_acted = true;
    if (type != NULL && strcmp(type, "ASSIGNMENT") == 0 && (old_item == NULL || new_item == NULL)) {
        return notify_assignment(db, item, new_item == NULL, change->when_s, error);
    }
    if (type != NULL && strcmp(type, "TASK") == 0 && old_item != NULL && new_item != NULL) {
        return notify_task(db, old_item, new_item, error);
    }
    *out_acted = false;
    return true;
}

bool tasks_notify(struct gramme_db *db, const struct stream_change *change, bool *out_acted,
                  struct gramme_error **error)
{
    if (notify(db, change, out_acted, error)) {
        return true;
    }
    if (may_pass(*error)) {
        return false;
    }
    log_write(LOG_ERROR, "tasks",
              "a change was skipped, its notification cannot be created: %s: %s",
              gramme_error_code(*error), gramme_error_message(*error));
    return true; /* otherwise all later changes would wait for it */
}
