/* Data layer of tasks, reading half: one function per access pattern. Called by the handlers of the
 * REST API on worker threads. */
#include "apps/tasks/tasks.h"

#include <string.h>

static bool is_one_of(const char *text, const char *const *names)
{
    while (*names != NULL && strcmp(*names, text) != 0) {
        names++;
    }
    return *names != NULL;
}

bool tasks_status_is_valid(const char *text)
{
    static const char *const names[] = {"OPEN", "IN_PROGRESS", "COMPLETED", "CLOSED", NULL};
    return is_one_of(text, names);
}

bool tasks_priority_is_valid(const char *text)
{
    static const char *const names[] = {"LOW", "MEDIUM", "HIGH", NULL};
    return is_one_of(text, names);
}

/* Reads one item. Strongly consistent, so that clients read their own writes. */
static struct gramme_answer *get(struct gramme_db *db, const char *pk_prefix, const char *id,
                                 const char *sk, struct gramme_error **error)
{
    struct gramme_request *request = gramme_request_create("GetItem", TASKS_TABLE);
    gramme_set_format(gramme_request_key(request), "PK", "%s%s", pk_prefix, id);
    gramme_set_string(gramme_request_key(request), "SK", sk);
    gramme_request_consistent(request);
    struct gramme_answer *answer = gramme_send(db, request, error);
    gramme_request_destroy(request);
    return answer;
}

static struct gramme_answer *send_query(struct gramme_db *db, struct gramme_request *query,
                                        const struct page *page, struct gramme_error **error)
{
    page_apply(page, query);
    struct gramme_answer *answer = gramme_send(db, query, error);
    gramme_request_destroy(query);
    return answer;
}

struct gramme_answer *tasks_get_task(struct gramme_db *db, const char *task_id,
                                     struct gramme_error **error)
{
    return get(db, "TASK#", task_id, "METADATA", error);
}

struct gramme_answer *tasks_get_user_profile(struct gramme_db *db, const char *user_id,
                                             struct gramme_error **error)
{
    return get(db, "USER#", user_id, "PROFILE", error);
}

struct gramme_answer *tasks_get_task_assignments(struct gramme_db *db, const char *task_id,
                                                 const struct page *page,
                                                 struct gramme_error **error)
{
    struct gramme_request *query = gramme_request_create("Query", TASKS_TABLE);
    gramme_request_key_condition(query, "PK = :taskId AND begins_with(SK, :assignment)");
    gramme_set_format(gramme_request_values(query), ":taskId", "TASK#%s", task_id);
    gramme_set_string(gramme_request_values(query), ":assignment", "ASSIGNMENT#");
    return send_query(db, query, page, error);
}

struct gramme_answer *tasks_get_user_tasks(struct gramme_db *db, const char *user_id,
                                           const struct page *page, struct gramme_error **error)
{
    struct gramme_request *query = gramme_request_create("Query", TASKS_TABLE);
    gramme_request_index(query, "GSI1");
    gramme_request_key_condition(query, "GSI1PK = :userId");
    gramme_set_format(gramme_request_values(query), ":userId", "USER#%s", user_id);
    return send_query(db, query, page, error);
}

struct gramme_answer *tasks_get_tasks_by_status(struct gramme_db *db, const char *status,
                                                bool newest_first, const struct page *page,
                                                struct gramme_error **error)
{
    struct gramme_request *query = gramme_request_create("Query", TASKS_TABLE);
    gramme_request_index(query, "GSI2");
    gramme_request_key_condition(query, "GSI2PK = :status");
    gramme_set_format(gramme_request_values(query), ":status", "STATUS#%s", status);
    if (newest_first) {
        gramme_request_descending(query);
    }
    return send_query(db, query, page, error);
}

struct gramme_answer *tasks_list_users(struct gramme_db *db, const struct page *page,
                                       struct gramme_error **error)
{
    struct gramme_request *query = gramme_request_create("Query", TASKS_TABLE);
    gramme_request_index(query, "GSI2");
    gramme_request_key_condition(query, "GSI2PK = :users");
    gramme_set_string(gramme_request_values(query), ":users", "USERS");
    gramme_request_descending(query);
    return send_query(db, query, page, error);
}

struct gramme_answer *tasks_check_assignment(struct gramme_db *db, const char *task_id,
                                             const char *user_id, struct gramme_error **error)
{
    struct gramme_value *sk = gramme_map_create();
    gramme_set_format(sk, "SK", "ASSIGNMENT#%s", user_id);
    struct gramme_answer *answer = get(db, "TASK#", task_id, gramme_get_string(sk, "SK"), error);
    gramme_value_destroy(sk);
    return answer;
}

struct gramme_answer *tasks_get_created_tasks(struct gramme_db *db, const char *user_id,
                                              const struct page *page, struct gramme_error **error)
{
    struct gramme_request *query = gramme_request_create("Query", TASKS_TABLE);
    gramme_request_key_condition(query, "PK = :user AND begins_with(SK, :created)");
    gramme_set_format(gramme_request_values(query), ":user", "USER#%s", user_id);
    gramme_set_string(gramme_request_values(query), ":created", "CREATED#");
    gramme_request_descending(query);
    return send_query(db, query, page, error);
}

bool tasks_is_creation(const struct gramme_value *row)
{
    const char *type = gramme_get_string(row, "EntityType");
    return type != NULL && strcmp(type, "CREATION") == 0;
}

/* Sets PK in `key` to that of the task of an assignment or a creation. */
static void set_task_key(struct gramme_value *key, const struct gramme_value *row)
{
    const char *task_id = tasks_is_creation(row) ? gramme_get_string(row, "TaskId") : NULL;
    if (task_id != NULL) {
        gramme_set_format(key, "PK", "TASK#%s", task_id);
    } else { /* an assignment has the PK of its task; one of another program may lack TaskId */
        gramme_set_value(key, "PK", gramme_get(row, "PK"));
    }
}

struct gramme_answer *tasks_get_tasks(struct gramme_db *db, const struct gramme_value *rows,
                                      struct gramme_error **error)
{
    struct gramme_request *batch = gramme_request_create("BatchGetItem", NULL);
    struct gramme_value *taken = gramme_map_create(); /* the keys in the batch, as names */
    for (size_t i = 0; i < gramme_value_count(rows); i++) {
        struct gramme_value *wanted = gramme_map_create();
        set_task_key(wanted, gramme_value_at(rows, i));
        const char *pk = gramme_get_string(wanted, "PK");
        if (gramme_get(taken, pk) == NULL) { /* a batch must not name a key twice */
            gramme_set_bool(taken, pk, true);
            struct gramme_value *key = gramme_batch_get(batch, TASKS_TABLE);
            gramme_set_string(key, "PK", pk);
            gramme_set_string(key, "SK", "METADATA");
        }
        gramme_value_destroy(wanted);
    }
    gramme_value_destroy(taken);
    struct gramme_answer *answer = gramme_batch_read(db, batch, error);
    gramme_request_destroy(batch);
    return answer;
}

/* Returns whether two attributes have the same value. */
static bool has_same(const struct gramme_value *a, const char *a_name, const struct gramme_value *b,
                     const char *b_name)
{
    const struct gramme_value *left = gramme_get(a, a_name);
    const struct gramme_value *right = gramme_get(b, b_name);
    return left != NULL && right != NULL && gramme_value_equal(left, right);
}

const struct gramme_value *tasks_find_task(const struct gramme_value *tasks,
                                           const struct gramme_value *row)
{
    const struct gramme_value *found = NULL;
    struct gramme_value *key = gramme_map_create();
    set_task_key(key, row);
    for (size_t i = 0; found == NULL && i < gramme_value_count(tasks); i++) {
        const struct gramme_value *task = gramme_value_at(tasks, i);
        found = has_same(task, "PK", key, "PK") ? task : NULL;
    }
    gramme_value_destroy(key);
    if (tasks_is_creation(row) && !(has_same(found, "CreatedBy", row, "UserId") &&
                                    has_same(found, "CreatedAt", row, "CreatedAt"))) {
        return NULL;
    }
    return found;
}
