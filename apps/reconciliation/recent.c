/* The newest deliveries, in a ring. The thread that reads the stream and the poller's threads add
 * them, worker threads list them. */
#include "apps/reconciliation/recent.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "apps/reconciliation/reconciliation.h"
#include "base/base.h"
#include "base/mem.h"

enum { KEPT = 200 };

struct recent {
    pthread_mutex_t mutex;
    struct gramme_value *ring[KEPT];
    size_t count; /* of all entries so far, also of overwritten ones */
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

/* Returns whether the delivery is in the ring: the stream and the poller both report it. */
static bool is_known(const struct recent *recent, const struct gramme_value *entry)
{
    for (size_t i = 0; i < MIN(recent->count, (size_t)KEPT); i++) {
        if (gramme_value_equal(recent->ring[i], entry)) {
            return true;
        }
    }
    return false;
}

void recent_add(struct recent *recent, const char *tenant_id, const char *call_id,
                const struct gramme_value *delivery)
{
    struct gramme_value *entry = gramme_map_create();
    gramme_set_string(entry, "tenantId", tenant_id);
    gramme_set_string(entry, "callId", call_id);
    gramme_set_value(entry, "at", gramme_get(delivery, "At"));
    gramme_set_value(entry, "attempt", gramme_get(delivery, "Attempt"));
    gramme_set_value(entry, "status", gramme_get(delivery, "Status"));
    gramme_set_value(entry, "error", gramme_get(delivery, "Error"));
    pthread_mutex_lock(&recent->mutex);
    if (is_known(recent, entry)) {
        gramme_value_destroy(entry);
    } else {
        size_t at = recent->count++ % KEPT;
        gramme_value_destroy(recent->ring[at]);
        recent->ring[at] = entry;
    }
    pthread_mutex_unlock(&recent->mutex);
}

static const struct gramme_value *last_delivery(const struct gramme_value *item)
{
    const struct gramme_value *list = gramme_get(item, "Deliveries");
    size_t count = gramme_value_count(list);
    return count == 0 ? NULL : gramme_value_at(list, count - 1);
}

static bool is_call(const struct gramme_value *item)
{
    return recon_tenant_id(item) != NULL && recon_call_id(item) != NULL;
}

void recent_apply(struct recent *recent, const struct gramme_value *old_item,
                  const struct gramme_value *new_item)
{
    const struct gramme_value *before = last_delivery(old_item);
    const struct gramme_value *now = last_delivery(new_item);
    if (now != NULL && is_call(new_item) && (before == NULL || !gramme_value_equal(before, now))) {
        recent_add(recent, recon_tenant_id(new_item), recon_call_id(new_item), now);
    }
}

void recent_add_all(struct recent *recent, const struct gramme_value *item)
{
    const struct gramme_value *list = gramme_get(item, "Deliveries");
    for (size_t i = 0; is_call(item) && i < gramme_value_count(list); i++) {
        recent_add(recent, recon_tenant_id(item), recon_call_id(item), gramme_value_at(list, i));
    }
}

/* --- the list --- */

struct shown {
    const struct gramme_value *entry;
    const char *at;
    size_t number; /* in the order of recent_add() */
};

/* Orders by time, then in the order in which they were added. */
static int compare_newest(const void *a, const void *b)
{
    const struct shown *left = a;
    const struct shown *right = b;
    int order = strcmp(right->at, left->at);
    return order != 0 ? order : (left->number < right->number) - (left->number > right->number);
}

void recent_show(struct recent *recent, bool only_failed, struct gramme_value *out)
{
    struct shown shown[KEPT];
    size_t count = 0;
    pthread_mutex_lock(&recent->mutex);
    for (size_t i = recent->count - MIN(recent->count, (size_t)KEPT); i < recent->count; i++) {
        const struct gramme_value *entry = recent->ring[i % KEPT];
        const char *at = gramme_get_string(entry, "at");
        if (!only_failed || gramme_get(entry, "error") != NULL) {
            shown[count++] = (struct shown){entry, at == NULL ? "" : at, i};
        }
    }
    qsort(shown, count, sizeof(shown[0]), compare_newest);
    for (size_t i = 0; i < count; i++) {
        gramme_add_value(out, shown[i].entry);
    }
    pthread_mutex_unlock(&recent->mutex);
}
