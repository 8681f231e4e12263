/* The patterns that write. */
#include "apps/common/when.h"
#include "apps/common/write.h"
#include "apps/tasks/tasks.h"

#include <string.h>

/* --- items --- */

void tasks_fill_user(struct gramme_value *item, const struct tasks_user *user, const char *now)
{
    gramme_set_format(item, "PK", "USER#%s", user->user_id);
    gramme_set_string(item, "SK", "PROFILE");
    gramme_set_string(item, "EntityType", "USER");
    gramme_set_string(item, "UserId", user->user_id);
    gramme_set_string(item, "Email", user->email);
    gramme_set_string(item, "UserStatus", "ACTIVE");
    gramme_add_string(gramme_set_list(item, "Groups"), user->is_admin ? "Admins" : "Members");
    gramme_set_string(item, "CreatedAt", now);
}

void tasks_fill_task(struct gramme_value *item, const char *task_id, const struct tasks_task *task,
                     const char *now)
{
    gramme_set_format(item, "PK", "TASK#%s", task_id);
    gramme_set_string(item, "SK", "METADATA");
    gramme_set_string(item, "EntityType", "TASK");
    gramme_set_string(item, "TaskId", task_id);
    gramme_set_string(item, "Title", task->title);
    if (task->description[0] != '\0') { /* old implementations of the service know no empty text */
        gramme_set_string(item, "Description", task->description);
    }
    gramme_set_string(item, "Priority", task->priority);
    gramme_set_string(item, "Status", "OPEN");
    gramme_set_string(item, "CreatedBy", task->created_by);
    gramme_set_string(item, "CreatedAt", now);
    gramme_set_string(item, "UpdatedAt", now);
    gramme_set_string(item, "GSI2PK", "STATUS#OPEN");
    gramme_set_format(item, "GSI2SK", "CREATED_AT#%s", now);
}

void tasks_fill_assignment(struct gramme_value *item, const struct tasks_assignment *assignment,
                           const char *now)
{
    gramme_set_format(item, "PK", "TASK#%s", assignment->task_id);
    gramme_set_format(item, "SK", "ASSIGNMENT#%s", assignment->user_id);
    gramme_set_string(item, "EntityType", "ASSIGNMENT");
    gramme_set_string(item, "TaskId", assignment->task_id);
    gramme_set_string(item, "UserId", assignment->user_id);
    gramme_set_string(item, "AssignedBy", assignment->assigned_by);
    gramme_set_string(item, "AssignedAt", now);
    gramme_set_format(item, "GSI1PK", "USER#%s", assignment->user_id);
    gramme_set_format(item, "GSI1SK", "TASK#%s", assignment->task_id);
}

/* --- parts of transactions --- */

/* The user must be there and ACTIVE, and an admin if so wanted. */
static void check_user(struct gramme_request *transaction, const char *user_id, bool is_admin)
{
    struct gramme_request *check = gramme_transact_check(transaction, TASKS_TABLE);
    gramme_set_format(gramme_request_key(check), "PK", "USER#%s", user_id);
    gramme_set_string(gramme_request_key(check), "SK", "PROFILE");
    gramme_request_condition(check, is_admin ? "UserStatus = :active AND contains(Groups, :admins)"
                                             : "UserStatus = :active");
    gramme_set_string(gramme_request_values(check), ":active", "ACTIVE");
    if (is_admin) {
        gramme_set_string(gramme_request_values(check), ":admins", "Admins");
    }
    gramme_request_return_on_failure(check);
}

static void check_exists(struct gramme_request *transaction, const char *task_id, const char *sk,
                         const char *sk_suffix)
{
    struct gramme_request *check = gramme_transact_check(transaction, TASKS_TABLE);
    gramme_set_format(gramme_request_key(check), "PK", "TASK#%s", task_id);
    gramme_set_format(gramme_request_key(check), "SK", "%s%s", sk, sk_suffix);
    gramme_request_condition(check, "attribute_exists(PK)");
}

/* Sends a transaction and destroys it. */
static bool run(struct gramme_db *db, struct gramme_request *transaction,
                struct gramme_error **error)
{
    bool ok = write_run(db, transaction, error);
    gramme_request_destroy(transaction);
    return ok;
}

static bool failed(const struct gramme_error *error, size_t part)
{
    return gramme_error_reason_is(error, part, GRAMME_REASON_CONDITION_FAILED);
}

/* --- tasks --- */

enum tasks_result tasks_create_task(struct gramme_db *db, const struct tasks_task *task,
                                    struct gramme_value **out, struct gramme_error **error)
{
    enum { PUT, ACTOR };
    char id[GRAMME_UUID_SIZE];
    char now[WHEN_SIZE];
    gramme_uuid(id);
    when_format(now, when_now());
    struct gramme_request *transaction = gramme_request_create("TransactWriteItems", NULL);
    struct gramme_request *put = gramme_transact_put(transaction, TASKS_TABLE);
    tasks_fill_task(gramme_request_item(put), id, task, now);
    check_user(transaction, task->created_by, false);
    struct gramme_value *item = gramme_value_copy(gramme_request_item(put));
    if (run(db, transaction, error)) {
        *out = item;
        return TASKS_OK;
    }
    gramme_value_destroy(item);
    return failed(*error, ACTOR) ? TASKS_NOT_ALLOWED : TASKS_FAILED;
}

static void put_assignment(struct gramme_request *transaction,
                           const struct tasks_assignment *assignment)
{
    char now[WHEN_SIZE];
    when_format(now, when_now());
    struct gramme_request *put = gramme_transact_put(transaction, TASKS_TABLE);
    tasks_fill_assignment(gramme_request_item(put), assignment, now);
    gramme_request_condition(put, "attribute_not_exists(PK) AND attribute_not_exists(SK)");
}

enum tasks_result tasks_assign_task(struct gramme_db *db, const struct tasks_assignment *assignment,
                                    struct gramme_error **error)
{
    enum { PUT, TASK, ACTOR, USER };
    struct gramme_request *transaction = gramme_request_create("TransactWriteItems", NULL);
    put_assignment(transaction, assignment);
    check_exists(transaction, assignment->task_id, "METADATA", "");
    check_user(transaction, assignment->assigned_by, true);
    /* A transaction may name an item once; an admin who takes a task has been checked. */
    if (strcmp(assignment->assigned_by, assignment->user_id) != 0) {
        check_user(transaction, assignment->user_id, false);
    }
    if (run(db, transaction, error)) {
        return TASKS_OK;
    }
    if (failed(*error, ACTOR)) {
        return TASKS_NOT_ALLOWED;
    }
    if (failed(*error, TASK)) {
        return TASKS_NO_TASK;
    }
    if (failed(*error, USER)) {
        return gramme_error_reason_item(*error, USER) == NULL ? TASKS_NO_USER
                                                              : TASKS_USER_DEACTIVATED;
    }
    return failed(*error, PUT) ? TASKS_DUPLICATE : TASKS_FAILED;
}

static struct gramme_request *status_update(const char *task_id, const char *status)
{
    char now[WHEN_SIZE];
    when_format(now, when_now());
    struct gramme_request *transaction = gramme_request_create("TransactWriteItems", NULL);
    struct gramme_request *update = gramme_transact_update(transaction, TASKS_TABLE);
    gramme_set_format(gramme_request_key(update), "PK", "TASK#%s", task_id);
    gramme_set_string(gramme_request_key(update), "SK", "METADATA");
    gramme_request_update(update, "SET #status = :status, UpdatedAt = :now, GSI2PK = :gsi2pk");
    gramme_request_condition(update, "attribute_exists(PK)");
    gramme_request_name(update, "#status", "Status");
    gramme_set_string(gramme_request_values(update), ":status", status);
    gramme_set_string(gramme_request_values(update), ":now", now);
    gramme_set_format(gramme_request_values(update), ":gsi2pk", "STATUS#%s", status);
    return transaction;
}

enum tasks_result tasks_update_task_status(struct gramme_db *db, const char *task_id,
                                           const char *status, const char *user_id,
                                           struct gramme_error **error)
{
    enum { UPDATE, ACTOR, ASSIGNMENT };
    /* A condition cannot say "assigned or an admin", as these are two items. Most changes are made
     * by those who are assigned, so that is tried first. */
    struct gramme_request *as_assigned = status_update(task_id, status);
    check_user(as_assigned, user_id, false);
    check_exists(as_assigned, task_id, "ASSIGNMENT#", user_id);
    if (run(db, as_assigned, error)) {
        return TASKS_OK;
    }
    if (failed(*error, ASSIGNMENT) && !failed(*error, UPDATE) && !failed(*error, ACTOR)) {
        struct gramme_request *as_admin = status_update(task_id, status);
        check_user(as_admin, user_id, true);
        if (run(db, as_admin, error)) {
            return TASKS_OK;
        }
    }
    if (failed(*error, ACTOR)) {
        return TASKS_NOT_ALLOWED;
    }
    return failed(*error, UPDATE) ? TASKS_NO_TASK : TASKS_FAILED;
}

/* --- users --- */

enum tasks_result tasks_create_user(struct gramme_db *db, const struct tasks_user *user,
                                    struct gramme_value **out, struct gramme_error **error)
{
    char now[WHEN_SIZE];
    when_format(now, when_now());
    struct gramme_request *put = gramme_request_create("PutItem", TASKS_TABLE);
    tasks_fill_user(gramme_request_item(put), user, now);
    /* The second is this very request, sent again after its answer got lost. */
    gramme_request_condition(put,
                             "attribute_not_exists(PK) OR (CreatedAt = :now AND Email = :email)");
    gramme_set_string(gramme_request_values(put), ":now", now);
    gramme_set_string(gramme_request_values(put), ":email", user->email);
    bool ok = gramme_run(db, put, error);
    if (ok) {
        *out = gramme_value_copy(gramme_request_item(put));
    }
    gramme_request_destroy(put);
    if (ok) {
        return TASKS_OK;
    }
    return gramme_error_is(*error, GRAMME_CONDITION_FAILED) ? TASKS_DUPLICATE : TASKS_FAILED;
}

enum tasks_result tasks_set_user_status(struct gramme_db *db, const char *user_id, bool is_active,
                                        struct gramme_error **error)
{
    struct gramme_request *update = gramme_request_create("UpdateItem", TASKS_TABLE);
    gramme_set_format(gramme_request_key(update), "PK", "USER#%s", user_id);
    gramme_set_string(gramme_request_key(update), "SK", "PROFILE");
    gramme_request_update(update, "SET UserStatus = :status");
    gramme_request_condition(update, "attribute_exists(PK)");
    gramme_set_string(gramme_request_values(update), ":status",
                      is_active ? "ACTIVE" : "DEACTIVATED");
    bool ok = write_run(db, update, error);
    gramme_request_destroy(update);
    if (ok) {
        return TASKS_OK;
    }
    return gramme_error_is(*error, GRAMME_CONDITION_FAILED) ? TASKS_NO_USER : TASKS_FAILED;
}
