/* Reads all partitions of the index in parallel, with a thread for each. Called by the poller, and
 * when the mirror is loaded; returns when all threads have ended. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "apps/reconciliation/reconciliation.h"
#include "base/base.h"
#include "base/mem.h"

struct recon_search recon_search_due(void)
{
    int64_t now = when_now();
    return (struct recon_search){
        .since = now - recon_settings.lookback_days * WHEN_DAY,
        .tenant = recon_settings.tenant,
        .due = now,
        .newest_first = strcmp(recon_settings.order, "newest") == 0,
    };
}

struct partition_reader {
    struct gramme_db *db;
    const struct recon_search *search;
    recon_visit *visit;
    void *context;
    int partition;
    pthread_t thread;
    struct gramme_error *error;
};

static void *read_partition(void *arg)
{
    struct partition_reader *reader = arg;
    struct gramme_request *query = recon_find_pending(reader->search, reader->partition);
    struct gramme_items *items = gramme_items_open(reader->db, query);
    const struct gramme_value *item;
    while ((item = gramme_items_next(items, &reader->error)) != NULL) {
        if (!reader->visit(reader->context, reader->partition, item)) {
            break;
        }
    }
    gramme_items_close(items);
    gramme_request_destroy(query);
    return NULL;
}

bool recon_each_pending(struct gramme_db *db, const struct recon_search *search, recon_visit *visit,
                        void *context, struct gramme_error **error)
{
    struct partition_reader readers[RECONCILIATION_PARTITIONS_MAX];
    int count = recon_partition_count();
    for (int i = 0; i < count; i++) {
        readers[i] = (struct partition_reader){
            .db = db, .search = search, .visit = visit, .context = context, .partition = i};
        if (pthread_create(&readers[i].thread, NULL, read_partition, &readers[i]) != 0) {
            abort(); /* no memory: as everywhere */
        }
    }
    gramme_error_destroy(*error);
    *error = NULL;
    for (int i = 0; i < count; i++) {
        pthread_join(readers[i].thread, NULL);
        if (*error == NULL) {
            *error = readers[i].error;
        } else {
            gramme_error_destroy(readers[i].error);
        }
    }
    return *error == NULL;
}

struct collecting {
    struct recon_list *list;
    size_t limit;
};

static bool collect(void *context, int partition, const struct gramme_value *item)
{
    struct collecting *collecting = context;
    struct gramme_value *items = collecting->list->items[partition];
    gramme_add_value(items, item);
    return gramme_value_count(items) < collecting->limit;
}

/* Orders by age, tenant and id, so that the order is always the same. */
static int compare_calls(const void *a, const void *b)
{
    const struct gramme_value *const *left = a;
    const struct gramme_value *const *right = b;
    int order =
        strcmp(gramme_get_string(*left, "GSI_Recon_SK"), gramme_get_string(*right, "GSI_Recon_SK"));
    return order != 0 ? order
                      : strcmp(gramme_get_string(*left, "SK"), gramme_get_string(*right, "SK"));
}

static int compare_newest(const void *a, const void *b)
{
    return compare_calls(b, a);
}

static void merge(struct recon_list *list, size_t limit, bool newest_first)
{
    size_t count = 0;
    for (int partition = 0; partition < recon_partition_count(); partition++) {
        count += gramme_value_count(list->items[partition]);
    }
    list->first = mem_zalloc((count + 1) * sizeof(const struct gramme_value *));
    for (int partition = 0; partition < recon_partition_count(); partition++) {
        for (size_t i = 0; i < gramme_value_count(list->items[partition]); i++) {
            list->first[list->count++] = gramme_value_at(list->items[partition], i);
        }
    }
    qsort(list->first, count, sizeof(const struct gramme_value *),
          newest_first ? compare_newest : compare_calls);
    list->count = MIN(count, limit);
}

bool recon_list_pending(struct gramme_db *db, const struct recon_search *search, size_t limit,
                        struct recon_list *out, struct gramme_error **error)
{
    *out = (struct recon_list){0};
    for (int partition = 0; partition < recon_partition_count(); partition++) {
        out->items[partition] = gramme_list_create();
    }
    struct collecting collecting = {.list = out, .limit = limit};
    if (!recon_each_pending(db, search, collect, &collecting, error)) {
        return false;
    }
    merge(out, limit, search->newest_first);
    return true;
}

void recon_list_finish(struct recon_list *list)
{
    for (int partition = 0; partition < RECONCILIATION_PARTITIONS_MAX; partition++) {
        gramme_value_destroy(list->items[partition]);
    }
    mem_free(list->first);
}
