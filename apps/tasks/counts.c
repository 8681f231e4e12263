/* Counts tasks by status and priority, from a replica in memory. Called on worker threads. */
#include "apps/tasks/counts.h"

#include <string.h>

#include "base/base.h"

static const char *const statuses[] = {"OPEN", "IN_PROGRESS", "COMPLETED", "CLOSED"};
static const char *const priorities[] = {"LOW", "MEDIUM", "HIGH"};

/* The entry of a task: the cell in which it is counted. Entries point to these constants, nothing
 * is allocated. */
static struct cell {
    size_t status;
    size_t priority;
} cells[COUNT_OF(statuses)][COUNT_OF(priorities)] = {
    {{0, 0}, {0, 1}, {0, 2}},
    {{1, 0}, {1, 1}, {1, 2}},
    {{2, 0}, {2, 1}, {2, 2}},
    {{3, 0}, {3, 1}, {3, 2}},
};

enum { TASKS_KEPT_MAX = 500 * 1000 }; /* about 60 MB */

struct numbers {
    int64_t each[COUNT_OF(statuses)][COUNT_OF(priorities)];
};

static int find(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; name != NULL && i < count; i++) {
        if (strcmp(names[i], name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

/* --- the replica --- */

static struct str key_of(struct arena *arena, const struct gramme_value *item)
{
    const char *type = gramme_get_string(item, "EntityType");
    const char *task_id = gramme_get_string(item, "TaskId");
    bool is_task = type != NULL && strcmp(type, "TASK") == 0 && task_id != NULL;
    return is_task ? arena_format(arena, "%s", task_id) : STR_NULL;
}

static void *make_entry(const struct gramme_value *item)
{
    int status = find(statuses, COUNT_OF(statuses), gramme_get_string(item, "Status"));
    int priority = find(priorities, COUNT_OF(priorities), gramme_get_string(item, "Priority"));
    return status < 0 || priority < 0 ? NULL : &cells[status][priority];
}

static void destroy_entry(void *entry)
{
    (void)entry; /* one of `cells` */
}

/* Reads the tasks of a status, page by page. */
static bool read_status(struct gramme_db *db, const char *status, struct replica_load *load,
                        struct gramme_error **error)
{
    char *cursor = NULL;
    do {
        struct page page = {.limit = 100, .cursor = cursor};
        struct gramme_answer *answer = tasks_get_tasks_by_status(db, status, false, &page, error);
        gramme_free(cursor);
        if (answer == NULL) {
            return false;
        }
        const struct gramme_value *items = gramme_answer_items(answer);
        for (size_t i = 0; i < gramme_value_count(items); i++) {
            replica_take(load, gramme_value_at(items, i));
        }
        cursor = gramme_answer_cursor(answer);
        gramme_answer_destroy(answer);
    } while (cursor != NULL);
    return true;
}

static bool read_all(struct gramme_db *db, struct replica_load *load, struct gramme_error **error)
{
    for (size_t i = 0; i < COUNT_OF(statuses); i++) {
        if (!read_status(db, statuses[i], load, error)) {
            return false;
        }
    }
    return true;
}

struct replica *counts_create(void)
{
    return replica_create(&(struct replica_options){
        .key = key_of,
        .make = make_entry,
        .destroy = destroy_entry,
        .read = read_all,
        .entries_max = TASKS_KEPT_MAX,
    });
}

/* --- the numbers --- */

static void count(const struct map *entries, void *context)
{
    struct numbers *numbers = context;
    size_t at = 0;
    struct str task_id;
    void *entry;
    while (map_next(entries, &at, &task_id, &entry)) {
        const struct cell *cell = entry;
        numbers->each[cell->status][cell->priority]++;
    }
}

bool counts_show(struct replica *counts, struct gramme_db *db, bool is_fresh,
                 struct gramme_value *out, struct gramme_error **error)
{
    struct numbers numbers = {0};
    if (!replica_look(counts, db, is_fresh, count, &numbers, error)) {
        return false;
    }
    struct gramme_value *by_status = gramme_set_map(out, "byStatus");
    struct gramme_value *by_priority = gramme_set_map(out, "byPriority");
    struct gramme_value *by_both = gramme_set_map(out, "byStatusAndPriority");
    for (size_t i = 0; i < COUNT_OF(statuses); i++) {
        struct gramme_value *inner = gramme_set_map(by_both, statuses[i]);
        int64_t sum = 0;
        for (size_t k = 0; k < COUNT_OF(priorities); k++) {
            gramme_set_int(inner, priorities[k], numbers.each[i][k]);
            sum += numbers.each[i][k];
        }
        gramme_set_int(by_status, statuses[i], sum);
    }
    for (size_t k = 0; k < COUNT_OF(priorities); k++) {
        int64_t sum = 0;
        for (size_t i = 0; i < COUNT_OF(statuses); i++) {
            sum += numbers.each[i][k];
        }
        gramme_set_int(by_priority, priorities[k], sum);
    }
    return true;
}
