/* The newest deliveries, in a ring. The stream's thread adds, worker threads look. */
#include "apps/reconciliation/recent.h"

#include <pthread.h>

#include "base/mem.h"

enum { KEPT = 200 };

struct recent {
    pthread_mutex_t mutex;
    struct gramme_value *ring[KEPT];
    size_t count; /* of all that were ever added */
};

struct recent *recent_create(void)
{
    struct recent *recent = mem_zalloc(sizeof(*recent));
    pthread_mutex_init(&recent->mutex, NULL);
    return recent;
}

void recent_destroy(struct recent *recent)
{
    if (recent != NULL) {
        for (size_t i = 0; i < KEPT; i++) {
            gramme_value_destroy(recent->ring[i]);
        }
        pthread_mutex_destroy(&recent->mutex);
        mem_free(recent);
    }
}

static const struct gramme_value *last_delivery(const struct gramme_value *item)
{
    const struct gramme_value *list = gramme_get(item, "Deliveries");
    size_t count = gramme_value_count(list);
    return count == 0 ? NULL : gramme_value_at(list, count - 1);
}

void recent_apply(struct recent *recent, const struct gramme_value *old_item,
                  const struct gramme_value *new_item)
{
    const struct gramme_value *before = last_delivery(old_item);
    const struct gramme_value *now = last_delivery(new_item);
    if (now == NULL || (before != NULL && gramme_value_equal(before, now))) {
        return;
    }
    struct gramme_value *entry = gramme_map_create();
    gramme_set_value(entry, "tenantId", gramme_get(new_item, "TenantId"));
    gramme_set_value(entry, "callId", gramme_get(new_item, "CallId"));
    gramme_set_value(entry, "at", gramme_get(now, "At"));
    gramme_set_value(entry, "attempt", gramme_get(now, "Attempt"));
    gramme_set_value(entry, "status", gramme_get(now, "Status"));
    gramme_set_value(entry, "error", gramme_get(now, "Error"));
    pthread_mutex_lock(&recent->mutex);
    size_t at = recent->count++ % KEPT;
    gramme_value_destroy(recent->ring[at]);
    recent->ring[at] = entry;
    pthread_mutex_unlock(&recent->mutex);
}

void recent_show(struct recent *recent, bool only_failed, struct gramme_value *out)
{
    pthread_mutex_lock(&recent->mutex);
    for (size_t i = 0; i < KEPT && i < recent->count; i++) {
        const struct gramme_value *entry = recent->ring[(recent->count - 1 - i) % KEPT];
        if (!only_failed || gramme_get(entry, "error") != NULL) {
            gramme_add_value(out, entry);
        }
    }
    pthread_mutex_unlock(&recent->mutex);
}
