/* Counts of tasks; the stream's thread changes them, worker threads read them. */
#include "apps/tasks/counts.h"

#include <pthread.h>
#include <string.h>

#include "base/base.h"
#include "base/mem.h"

static const char *const statuses[] = {"OPEN", "IN_PROGRESS", "COMPLETED", "CLOSED"};
static const char *const priorities[] = {"LOW", "MEDIUM", "HIGH"};

struct numbers {
    int64_t each[COUNT_OF(statuses)][COUNT_OF(priorities)];
};

struct counts {
    pthread_mutex_t mutex;
    struct numbers numbers;
    bool is_known;
    uint64_t change_count; /* tells whether something changed while all tasks were read */
};

struct counts *counts_create(void)
{
    struct counts *counts = mem_zalloc(sizeof(*counts));
    pthread_mutex_init(&counts->mutex, NULL);
    return counts;
}

void counts_destroy(struct counts *counts)
{
    if (counts != NULL) {
        pthread_mutex_destroy(&counts->mutex);
        mem_free(counts);
    }
}

static int find(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; name != NULL && i < count; i++) {
        if (strcmp(names[i], name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static void add(struct numbers *numbers, const struct gramme_value *item, int by)
{
    const char *type = gramme_get_string(item, "EntityType");
    int status = find(statuses, COUNT_OF(statuses), gramme_get_string(item, "Status"));
    int priority = find(priorities, COUNT_OF(priorities), gramme_get_string(item, "Priority"));
    if (type != NULL && strcmp(type, "TASK") == 0 && status >= 0 && priority >= 0) {
        numbers->each[status][priority] += by;
    }
}

void counts_apply(struct counts *counts, const struct gramme_value *old_item,
                  const struct gramme_value *new_item)
{
    pthread_mutex_lock(&counts->mutex);
    add(&counts->numbers, old_item, -1);
    add(&counts->numbers, new_item, 1);
    counts->change_count++;
    pthread_mutex_unlock(&counts->mutex);
}

void counts_forget(struct counts *counts)
{
    pthread_mutex_lock(&counts->mutex);
    counts->is_known = false;
    counts->change_count++;
    pthread_mutex_unlock(&counts->mutex);
}

/* Reads all tasks, page by page. */
static bool read_all(struct gramme_db *db, struct numbers *out, struct gramme_error **error)
{
    *out = (struct numbers){0};
    for (size_t i = 0; i < COUNT_OF(statuses); i++) {
        char *cursor = NULL;
        do {
            struct page page = {.limit = 100, .cursor = cursor};
            struct gramme_answer *answer =
                tasks_get_tasks_by_status(db, statuses[i], false, &page, error);
            gramme_free(cursor);
            if (answer == NULL) {
                return false;
            }
            const struct gramme_value *items = gramme_answer_items(answer);
            for (size_t k = 0; k < gramme_value_count(items); k++) {
                add(out, gramme_value_at(items, k), 1);
            }
            cursor = gramme_answer_cursor(answer);
            gramme_answer_destroy(answer);
        } while (cursor != NULL);
    }
    return true;
}

static bool get(struct counts *counts, struct gramme_db *db, bool is_fresh, struct numbers *out,
                struct gramme_error **error)
{
    pthread_mutex_lock(&counts->mutex);
    uint64_t before = counts->change_count;
    bool is_known = counts->is_known && is_fresh;
    *out = counts->numbers;
    pthread_mutex_unlock(&counts->mutex);
    if (is_known) {
        return true;
    }
    if (!read_all(db, out, error)) {
        return false;
    }
    pthread_mutex_lock(&counts->mutex);
    if (is_fresh && counts->change_count == before) {
        counts->numbers = *out;
        counts->is_known = true;
    }
    pthread_mutex_unlock(&counts->mutex);
    return true;
}

bool counts_show(struct counts *counts, struct gramme_db *db, bool is_fresh,
                 struct gramme_value *out, struct gramme_error **error)
{
    struct numbers numbers;
    if (!get(counts, db, is_fresh, &numbers, error)) {
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
