/* Data layer of tasks, writing half: one function per access pattern. Called by the handlers of the
 * REST API on worker threads. */
#include "apps/common/when.h"
#include "apps/common/write.h"
#include "apps/tasks/tasks.h"
#include "base/base.h"

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
    gramme_set_string(item, "GSI2PK", "USERS");
    gramme_set_format(item, "GSI2SK", "CREATED_AT#%s", now);
}

/* Returns the size of a value as the service counts it: lists and maps cost 3 bytes, and 1 more for
 * each element. */
static size_t value_bytes(const struct gramme_value *value)
{
    size_t size = 0;
    switch (gramme_value_type(value)) {
    case GRAMME_MAP:
    case GRAMME_LIST:
        size = 3;
        for (size_t i = 0; i < gramme_value_count(value); i++) {
            const struct gramme_value *each = gramme_value_at(value, i);
            const char *name = gramme_value_name(each);
            size += 1 + (name == NULL ? 0 : strlen(name)) + value_bytes(each);
        }
        return size;
    case GRAMME_STRING:
        return gramme_value_len(value);
    case GRAMME_NUMBER:
        return gramme_value_len(value) / 2 + 2;
    default:
        return 1;
    }
}

static size_t item_bytes(const struct gramme_value *item)
{
    size_t size = 0;
    for (size_t i = 0; i < gramme_value_count(item); i++) {
        const struct gramme_value *each = gramme_value_at(item, i);
        size += strlen(gramme_value_name(each)) + value_bytes(each);
    }
    return size;
}

size_t tasks_task_bytes(const struct gramme_value *item)
{
    char longest_id[IDENTITY_ID_LEN_MAX + 1] = {0};
    memset(longest_id, 'x', IDENTITY_ID_LEN_MAX);
    struct gramme_value *changed = gramme_value_copy(item);
    gramme_set_string(changed, "Status", "IN_PROGRESS"); /* the longest */
    gramme_set_string(changed, "GSI2PK", "STATUS#IN_PROGRESS");
    gramme_set_string(changed, "UpdatedBy", longest_id);
    size_t size = item_bytes(changed);
    gramme_value_destroy(changed);
    return size;
}

void tasks_fill_task(struct gramme_value *item, const struct tasks_task *task, const char *now)
{
    gramme_set_format(item, "PK", "TASK#%s", task->id);
    gramme_set_string(item, "SK", "METADATA");
    gramme_set_string(item, "EntityType", "TASK");
    gramme_set_string(item, "TaskId", task->id);
    gramme_set_string(item, "Title", task->title);
    if (task->description[0] != '\0') { /* old implementations of DynamoDB refuse empty texts */
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

void tasks_fill_creation(struct gramme_value *item, const struct tasks_task *task, const char *now)
{
    gramme_set_format(item, "PK", "USER#%s", task->created_by);
    gramme_set_format(item, "SK", "CREATED#%s#%s", now, task->id);
    gramme_set_string(item, "EntityType", "CREATION");
    gramme_set_string(item, "UserId", task->created_by);
    gramme_set_string(item, "TaskId", task->id);
    gramme_set_string(item, "CreatedAt", now);
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

/* Adds the condition that the user exists and is ACTIVE and, with `is_admin`, an admin. */
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

/* Adds the condition that the actor is active and, with `must_be_admin`, an admin. Returns false if
 * it adds nothing: administrators by claim are not checked in the table. */
static bool check_actor(struct gramme_request *transaction, const struct tasks_actor *actor,
                        bool must_be_admin)
{
    if (!actor->is_admin) {
        check_user(transaction, actor->id, must_be_admin);
    }
    return !actor->is_admin;
}

/* --- tasks --- */

static bool same_text(const struct gramme_value *a, const struct gramme_value *b, const char *name)
{
    const char *left = gramme_get_string(a, name);
    const char *right = gramme_get_string(b, name);
    return left == NULL || right == NULL ? left == right : strcmp(left, right) == 0;
}

/* A task with this id exists. TASKS_THE_SAME: the same request was sent before, its answer was
 * lost; TASKS_DUPLICATE: it is another task. Destroys `made`. */
static enum tasks_result find_same(const struct gramme_value *there, struct gramme_value *made,
                                   struct gramme_value **out)
{
    static const char *const names[] = {"CreatedBy", "Title", "Description", "Priority"};
    bool is_same = there != NULL;
    for (size_t i = 0; is_same && i < COUNT_OF(names); i++) {
        is_same = same_text(there, made, names[i]);
    }
    gramme_value_destroy(made);
    *out = is_same ? gramme_value_copy(there) : NULL;
    return is_same ? TASKS_THE_SAME : TASKS_DUPLICATE;
}

enum tasks_result tasks_create_task(struct gramme_db *db, const struct tasks_task *task,
                                    const struct tasks_actor *actor, struct gramme_value **out,
                                    struct gramme_error **error)
{
    enum { PUT, CREATION, ACTOR };
    char id[GRAMME_UUID_SIZE];
    char now[WHEN_SIZE];
    gramme_uuid(id);
    when_format(now, when_now());
    struct gramme_request *transaction = gramme_request_create("TransactWriteItems", NULL);
    struct gramme_request *put = gramme_transact_put(transaction, TASKS_TABLE);
    struct tasks_task named = *task;
    named.id = task->id != NULL ? task->id : id;
    tasks_fill_task(gramme_request_item(put), &named, now);
    gramme_request_condition(put, "attribute_not_exists(PK)");
    gramme_request_return_on_failure(put);
    struct gramme_value *item = gramme_value_copy(gramme_request_item(put));
    if (tasks_task_bytes(item) >= TASKS_ITEM_BYTES_MAX) {
        gramme_request_destroy(transaction);
        *out = item; /* the caller answers with its size */
        return TASKS_TOO_LARGE;
    }
    struct gramme_request *creation = gramme_transact_put(transaction, TASKS_TABLE);
    tasks_fill_creation(gramme_request_item(creation), &named, now);
    check_actor(transaction, actor, false);
    if (run(db, transaction, error)) {
        *out = item;
        return TASKS_OK;
    }
    if (failed(*error, PUT) && !failed(*error, ACTOR)) {
        return find_same(gramme_error_reason_item(*error, PUT), item, out);
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
                                    const struct tasks_actor *actor, struct gramme_error **error)
{
    enum { PUT, TASK, THIRD, NONE = 99 };
    struct gramme_request *transaction = gramme_request_create("TransactWriteItems", NULL);
    put_assignment(transaction, assignment);
    check_exists(transaction, assignment->task_id, "METADATA", "");
    size_t next = THIRD;
    size_t actor_part = check_actor(transaction, actor, true) ? next++ : NONE;
    /* A transaction may name an item only once. An admin who assigns a task to themselves is
     * checked as the actor. */
    bool is_checked = actor_part != NONE && strcmp(actor->id, assignment->user_id) == 0;
    size_t user_part = is_checked ? NONE : next;
    if (!is_checked) {
        check_user(transaction, assignment->user_id, false);
    }
    if (run(db, transaction, error)) {
        return TASKS_OK;
    }
    if (failed(*error, actor_part)) {
        return TASKS_NOT_ALLOWED;
    }
    if (failed(*error, TASK)) {
        return TASKS_NO_TASK;
    }
    if (failed(*error, user_part)) {
        return gramme_error_reason_item(*error, user_part) == NULL ? TASKS_NO_USER
                                                                   : TASKS_USER_DEACTIVATED;
    }
    return failed(*error, PUT) ? TASKS_DUPLICATE : TASKS_FAILED;
}

enum tasks_result tasks_unassign_task(struct gramme_db *db, const char *task_id,
                                      const char *user_id, const struct tasks_actor *actor,
                                      struct gramme_error **error)
{
    enum { DELETE, ACTOR };
    struct gramme_request *transaction = gramme_request_create("TransactWriteItems", NULL);
    struct gramme_request *gone = gramme_transact_delete(transaction, TASKS_TABLE);
    gramme_set_format(gramme_request_key(gone), "PK", "TASK#%s", task_id);
    gramme_set_format(gramme_request_key(gone), "SK", "ASSIGNMENT#%s", user_id);
    gramme_request_condition(gone, "attribute_exists(PK)");
    check_actor(transaction, actor, true);
    if (run(db, transaction, error)) {
        return TASKS_OK;
    }
    if (failed(*error, ACTOR)) {
        return TASKS_NOT_ALLOWED;
    }
    return failed(*error, DELETE) ? TASKS_NO_ASSIGNMENT : TASKS_FAILED;
}

/* Makes a transaction whose first part is an update of the task. */
static struct gramme_request *begin_update(const char *task_id, const struct tasks_actor *actor,
                                           struct gramme_request **out_update)
{
    char now[WHEN_SIZE];
    when_format(now, when_now());
    struct gramme_request *transaction = gramme_request_create("TransactWriteItems", NULL);
    struct gramme_request *update = gramme_transact_update(transaction, TASKS_TABLE);
    gramme_set_format(gramme_request_key(update), "PK", "TASK#%s", task_id);
    gramme_set_string(gramme_request_key(update), "SK", "METADATA");
    gramme_set_string(gramme_request_values(update), ":now", now);
    gramme_set_string(gramme_request_values(update), ":by", actor->id);
    *out_update = update;
    return transaction;
}

static struct gramme_request *status_update(const char *task_id, const char *status,
                                            const struct tasks_actor *actor)
{
    struct gramme_request *update;
    struct gramme_request *transaction = begin_update(task_id, actor, &update);
    gramme_request_update(update, "SET #status = :status, UpdatedAt = :now, UpdatedBy = :by, "
                                  "GSI2PK = :gsi2pk");
    gramme_request_condition(update, "attribute_exists(PK)");
    gramme_request_name(update, "#status", "Status");
    gramme_set_string(gramme_request_values(update), ":status", status);
    gramme_set_format(gramme_request_values(update), ":gsi2pk", "STATUS#%s", status);
    return transaction;
}

enum { UPDATE, ACTOR, ASSIGNMENT }; /* parts of a transaction that changes a task */

enum tasks_result tasks_update_task_status(struct gramme_db *db, const char *task_id,
                                           const char *status, const struct tasks_actor *actor,
                                           struct gramme_error **error)
{
    /* A condition cannot say "assigned or an admin", because these are two items. Most changes are
     * made by assigned users, so this is tried first. */
    struct gramme_request *first = status_update(task_id, status, actor);
    if (check_actor(first, actor, false)) {
        check_exists(first, task_id, "ASSIGNMENT#", actor->id);
    }
    if (run(db, first, error)) {
        return TASKS_OK;
    }
    if (failed(*error, ASSIGNMENT) && !failed(*error, ACTOR)) { /* also if there is no such task */
        struct gramme_request *as_admin = status_update(task_id, status, actor);
        check_actor(as_admin, actor, true);
        if (run(db, as_admin, error)) {
            return TASKS_OK;
        }
    }
    if (failed(*error, ACTOR)) {
        return TASKS_NOT_ALLOWED;
    }
    return failed(*error, UPDATE) ? TASKS_NO_TASK : TASKS_FAILED;
}

/* Makes the transaction of an edit; *out is the item after it. */
static struct gramme_request *edit_update(const struct tasks_edit *edit,
                                          const struct tasks_actor *actor,
                                          struct gramme_value **out)
{
    struct gramme_request *update;
    struct gramme_request *transaction =
        begin_update(gramme_get_string(edit->seen, "TaskId"), actor, &update);
    bool has_text = edit->description[0] != '\0';
    gramme_request_update(update, has_text ? "SET Title = :title, Description = :text, Priority = "
                                             ":priority, UpdatedAt = :now, UpdatedBy = :by"
                                           : "SET Title = :title, Priority = :priority, UpdatedAt "
                                             "= :now, UpdatedBy = :by REMOVE Description");
    gramme_request_condition(update, "UpdatedAt = :seen");
    struct gramme_value *values = gramme_request_values(update);
    gramme_set_string(values, ":title", edit->title);
    gramme_set_string(values, ":priority", edit->priority);
    gramme_set_value(values, ":seen", gramme_get(edit->seen, "UpdatedAt"));
    struct gramme_value *item = gramme_value_copy(edit->seen);
    if (has_text) {
        gramme_set_string(values, ":text", edit->description);
        gramme_set_string(item, "Description", edit->description);
    } else {
        gramme_remove(item, "Description");
    }
    gramme_set_string(item, "Title", edit->title);
    gramme_set_string(item, "Priority", edit->priority);
    gramme_set_value(item, "UpdatedAt", gramme_get(values, ":now"));
    gramme_set_string(item, "UpdatedBy", actor->id);
    *out = item;
    return transaction;
}

/* Sends an edit; `as_admin`: on the condition that the actor is an admin. *out is the item after
 * it, NULL if it fails. */
static bool try_edit(struct gramme_db *db, const struct tasks_edit *edit,
                     const struct tasks_actor *actor, bool as_admin, struct gramme_value **out,
                     struct gramme_error **error)
{
    const char *creator = gramme_get_string(edit->seen, "CreatedBy");
    bool is_creator = creator != NULL && strcmp(creator, actor->id) == 0;
    struct gramme_request *transaction = edit_update(edit, actor, out);
    if (check_actor(transaction, actor, as_admin) && !as_admin && !is_creator) {
        check_exists(transaction, gramme_get_string(edit->seen, "TaskId"), "ASSIGNMENT#",
                     actor->id);
    }
    if (run(db, transaction, error)) {
        return true;
    }
    gramme_value_destroy(*out);
    *out = NULL;
    return false;
}

enum tasks_result tasks_edit_task(struct gramme_db *db, const struct tasks_edit *edit,
                                  const struct tasks_actor *actor, struct gramme_value **out,
                                  struct gramme_error **error)
{
    struct gramme_value *item;
    gramme_request_destroy(edit_update(edit, actor, &item));
    if (tasks_task_bytes(item) >= TASKS_ITEM_BYTES_MAX) {
        *out = item; /* the caller answers with its size */
        return TASKS_TOO_LARGE;
    }
    gramme_value_destroy(item);
    if (try_edit(db, edit, actor, false, out, error)) {
        return TASKS_OK;
    }
    if (failed(*error, ASSIGNMENT) && !failed(*error, UPDATE) && !failed(*error, ACTOR) &&
        try_edit(db, edit, actor, true, out, error)) {
        return TASKS_OK;
    }
    if (failed(*error, ACTOR)) {
        return TASKS_NOT_ALLOWED;
    }
    return failed(*error, UPDATE) ? TASKS_STALE : TASKS_FAILED;
}

/* --- users --- */

/* Returns the result of a transaction whose first part changes a user and whose second part checks
 * the actor. */
static enum tasks_result user_result(bool ok, const struct gramme_error *error,
                                     enum tasks_result if_failed)
{
    if (ok) {
        return TASKS_OK;
    }
    if (failed(error, 1)) {
        return TASKS_NOT_ALLOWED;
    }
    return failed(error, 0) ? if_failed : TASKS_FAILED;
}

enum tasks_result tasks_create_user(struct gramme_db *db, const struct tasks_user *user,
                                    const struct tasks_actor *actor, struct gramme_value **out,
                                    struct gramme_error **error)
{
    char now[WHEN_SIZE];
    when_format(now, when_now());
    struct gramme_request *transaction = gramme_request_create("TransactWriteItems", NULL);
    struct gramme_request *put = gramme_transact_put(transaction, TASKS_TABLE);
    tasks_fill_user(gramme_request_item(put), user, now);
    gramme_request_condition(put, "attribute_not_exists(PK)");
    struct gramme_value *item = gramme_value_copy(gramme_request_item(put));
    check_actor(transaction, actor, true);
    bool ok = run(db, transaction, error);
    if (ok) {
        *out = item;
    } else {
        gramme_value_destroy(item);
    }
    return user_result(ok, *error, TASKS_DUPLICATE);
}

/* Sets a value to the key of the user in the list of users, which has the time of creation; the
 * present time if another program wrote the user without one. False: the database failed. */
static bool set_created(struct gramme_db *db, const char *user_id, struct gramme_value *values,
                        const char *name, struct gramme_error **error)
{
    struct gramme_answer *profile = tasks_get_user_profile(db, user_id, error);
    const char *created = gramme_get_string(gramme_answer_item(profile), "CreatedAt");
    char now[WHEN_SIZE];
    when_format(now, when_now());
    gramme_set_format(values, name, "CREATED_AT#%s", created == NULL ? now : created);
    gramme_answer_destroy(profile);
    return profile != NULL;
}

/* Changes an attribute of a user, by an admin. If another program wrote the user, this also adds
 * the user to the list of users. */
static enum tasks_result change_user(struct gramme_db *db, const char *user_id,
                                     const char *attribute, const struct gramme_value *value,
                                     const struct tasks_actor *actor, struct gramme_error **error)
{
    struct gramme_request *transaction = gramme_request_create("TransactWriteItems", NULL);
    struct gramme_request *update = gramme_transact_update(transaction, TASKS_TABLE);
    gramme_set_format(gramme_request_key(update), "PK", "USER#%s", user_id);
    gramme_set_string(gramme_request_key(update), "SK", "PROFILE");
    gramme_request_update(update, "SET #attribute = :value, GSI2PK = :users, GSI2SK = "
                                  "if_not_exists(GSI2SK, :created)");
    gramme_request_name(update, "#attribute", attribute);
    gramme_request_condition(update, "attribute_exists(PK)");
    gramme_set_value(gramme_request_values(update), ":value", value);
    gramme_set_string(gramme_request_values(update), ":users", "USERS");
    check_actor(transaction, actor, true);
    if (!set_created(db, user_id, gramme_request_values(update), ":created", error)) {
        gramme_request_destroy(transaction);
        return TASKS_FAILED;
    }
    bool ok = run(db, transaction, error);
    return user_result(ok, *error, TASKS_NO_USER);
}

enum tasks_result tasks_set_user_status(struct gramme_db *db, const char *user_id, bool is_active,
                                        const struct tasks_actor *actor,
                                        struct gramme_error **error)
{
    struct gramme_value *map = gramme_map_create();
    gramme_set_string(map, "status", is_active ? "ACTIVE" : "DEACTIVATED");
    enum tasks_result result =
        change_user(db, user_id, "UserStatus", gramme_get(map, "status"), actor, error);
    gramme_value_destroy(map);
    return result;
}

enum tasks_result tasks_set_user_role(struct gramme_db *db, const char *user_id, bool is_admin,
                                      const struct tasks_actor *actor, struct gramme_error **error)
{
    struct gramme_value *groups = gramme_list_create();
    gramme_add_string(groups, is_admin ? "Admins" : "Members");
    enum tasks_result result = change_user(db, user_id, "Groups", groups, actor, error);
    gramme_value_destroy(groups);
    return result;
}
