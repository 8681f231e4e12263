/* The REST API of the tasks, as openapi.json describes it: its routes, live updates, and the
 * definition of the application. The router (apps/common/router.c) calls the handlers on worker
 * threads. */
#include <string.h>

#include "apps/common/files.h"
#include "apps/tasks/api_internal.h"
#include "apps/tasks/counts.h"

static const struct app_route routes[] = {
    {"GET", "/me", api_get_me},
    {"GET", "/users?limit&cursor", api_list_users},
    {"POST", "/users", api_create_user},
    {"GET", "/users/{userId}", api_get_user_profile},
    {"PUT", "/users/{userId}/status", api_set_user_status},
    {"PUT", "/users/{userId}/role", api_set_user_role},
    {"GET", "/users/{userId}/tasks?limit&cursor", api_get_user_tasks},
    {"GET", "/users/{userId}/created?limit&cursor", api_get_created_tasks},
    {"GET", "/users/{userId}/notifications?limit&cursor", api_get_notifications},
    {"PUT", "/users/{userId}/notifications/read", api_read_notifications},
    {"POST", "/tasks", api_create_task},
    {"GET", "/tasks?status&order&limit&cursor", api_get_tasks_by_status},
    {"GET", "/tasks/counts", api_count_tasks},
    {"GET", "/tasks/{taskId}", api_get_task},
    {"PUT", "/tasks/{taskId}", api_edit_task},
    {"PUT", "/tasks/{taskId}/status", api_update_task_status},
    {"POST", "/tasks/{taskId}/assignments", api_assign_task},
    {"GET", "/tasks/{taskId}/assignments?limit&cursor", api_get_task_assignments},
    {"GET", "/tasks/{taskId}/assignments/{userId}", api_check_assignment},
    {"DELETE", "/tasks/{taskId}/assignments/{userId}", api_unassign_task},
};

/* --- live updates --- */

/* The entities whose changes are sent to pages: entity in the table, type for pages. */
static const struct {
    const char *entity;
    const char *type;
    api_show *show;
} live_entities[] = {
    {"TASK", "task", api_show_task},
    {"ASSIGNMENT", "assignment", api_show_assignment},
    {"USER", "user", api_show_user},
    {"NOTIFICATION", "notification", api_show_notification},
};
enum { ENTITY_NONE = -1 };

static int find_live_entity(const struct gramme_value *item)
{
    const char *entity = gramme_get_string(item, "EntityType");
    for (size_t i = 0; entity != NULL && i < sizeof(live_entities) / sizeof(live_entities[0]);
         i++) {
        if (strcmp(live_entities[i].entity, entity) == 0) {
            return (int)i;
        }
    }
    return ENTITY_NONE;
}

static const char *live_type(const struct gramme_value *item)
{
    int index = find_live_entity(item);
    return index == ENTITY_NONE ? NULL : live_entities[index].type;
}

/* Only active users get live updates. Admins by their profile get the role of admins. */
static bool live_may_listen(struct app_request *request, struct identity *who)
{
    struct api_standing standing;
    if (!api_standing(request, &standing)) {
        return false;
    }
    gramme_answer_destroy(standing.profile);
    if (!standing.is_active) {
        answer_not_allowed(request);
    }
    who->roles |= standing.is_admin ? ROLE_ADMIN : 0;
    return standing.is_active;
}

/* Admins see all items except the notifications of others. Members see their own account,
 * notifications and assignments, and the tasks that they created or were the last to change. A
 * task's item does not say to whom the task is assigned; changes by others reach assigned users as
 * notifications. */
static bool live_may_see(const struct identity *who, const struct gramme_value *item)
{
    const char *type = live_type(item);
    bool is_own = api_has_text(item, "UserId", who->id);
    if (type == NULL || is_own || strcmp(type, "notification") == 0) {
        return type != NULL && is_own;
    }
    if (identity_has(who, ROLE_ADMIN)) {
        return true;
    }
    return strcmp(type, "task") == 0 &&
           (api_has_text(item, "CreatedBy", who->id) || api_has_text(item, "UpdatedBy", who->id));
}

static bool entry_differs(const struct gramme_value *a, const struct gramme_value *b,
                          const char *name)
{
    const struct gramme_value *left = gramme_get(a, name);
    const struct gramme_value *right = gramme_get(b, name);
    return left == NULL || right == NULL ? left != right : !gramme_value_equal(left, right);
}

/* The user's own account changed: its status or its groups. */
static bool live_must_rejoin(const struct identity *who, const struct gramme_value *old_item,
                             const struct gramme_value *new_item)
{
    const struct gramme_value *item = new_item != NULL ? new_item : old_item;
    const char *type = live_type(item);
    const char *user_id = gramme_get_string(item, "UserId");
    return type != NULL && strcmp(type, "user") == 0 && user_id != NULL &&
           strcmp(user_id, who->id) == 0 &&
           (entry_differs(old_item, new_item, "UserStatus") ||
            entry_differs(old_item, new_item, "Groups"));
}

static void live_show(const struct identity *who, const struct gramme_value *item,
                      struct gramme_value *out)
{
    live_entities[find_live_entity(item)].show(who, item, out);
}

static void live_apply(void *state, const struct gramme_value *old_item,
                       const struct gramme_value *new_item)
{
    replica_apply(state, old_item, new_item);
}

static void live_restart(void *state)
{
    replica_forget(state);
}

static const struct app_live live = {
    .table = TASKS_TABLE,
    .may_listen = live_may_listen,
    .type = live_type,
    .may_see = live_may_see,
    .hides_versions = true,
    .must_rejoin = live_must_rejoin,
    .show = live_show,
    .apply = live_apply,
    .restart = live_restart,
};

/* Writes notifications. */
static const struct app_follower follower = {
    .table = TASKS_TABLE,
    .act = tasks_notify,
    .load = tasks_get_checkpoint,
    .save = tasks_put_checkpoint,
};

static void *start(struct gramme_db *db, struct gramme_error **error)
{
    (void)db;
    (void)error;
    return counts_create();
}

static void stop(void *state)
{
    replica_destroy(state);
}

const struct app_definition tasks_app = {
    .name = "tasks",
    .files = &tasks_files,
    .expiry = "ExpiresAt",
    .routes = routes,
    .route_count = sizeof(routes) / sizeof(routes[0]),
    .live = &live,
    .follower = &follower,
    .load_samples = tasks_load_samples,
    .start = start,
    .stop = stop,
};
