/* Reading the shards of the index, all at once. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "apps/reconciliation/reconciliation.h"
#include "base/base.h"
#include "base/mem.h"

struct shard_reader {
    struct gramme_db *db;
    const struct recon_search *search;
    recon_visit *visit;
    void *context;
    int shard;
    pthread_t thread;
    struct gramme_error *error;
};

static void *read_shard(void *arg)
{
    struct shard_reader *reader = arg;
    struct gramme_request *query = recon_find_pending(reader->search, reader->shard);
    struct gramme_items *items = gramme_items_open(reader->db, query);
    const struct gramme_value *item;
    while ((item = gramme_items_next(items, &reader->error)) != NULL) {
        if (!reader->visit(reader->context, reader->shard, item)) {
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
    struct shard_reader readers[RECONCILIATION_SHARDS_MAX];
    int count = (int)recon_settings.shards;
    for (int i = 0; i < count; i++) {
        readers[i] = (struct shard_reader){
            .db = db, .search = search, .visit = visit, .context = context, .shard = i};
        if (pthread_create(&readers[i].thread, NULL, read_shard, &readers[i]) != 0) {
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

static bool collect(void *context, int shard, const struct gramme_value *item)
{
    struct collecting *collecting = context;
    struct gramme_value *items = collecting->list->items[shard];
    gramme_add_value(items, item);
    return gramme_value_count(items) < collecting->limit;
}

/* By age; of the same age and tenant by id, so that the order is always the same. */
static int compare_calls(const void *a, const void *b)
{
    const struct gramme_value *const *left = a;
    const struct gramme_value *const *right = b;
    int order =
        strcmp(gramme_get_string(*left, "GSI_Recon_SK"), gramme_get_string(*right, "GSI_Recon_SK"));
    return order != 0 ? order
                      : strcmp(gramme_get_string(*left, "SK"), gramme_get_string(*right, "SK"));
}

static void merge(struct recon_list *list, size_t limit)
{
    size_t count = 0;
    for (int shard = 0; shard < recon_settings.shards; shard++) {
        count += gramme_value_count(list->items[shard]);
    }
    list->oldest = mem_zalloc((count + 1) * sizeof(const struct gramme_value *));
    for (int shard = 0; shard < recon_settings.shards; shard++) {
        for (size_t i = 0; i < gramme_value_count(list->items[shard]); i++) {
            list->oldest[list->count++] = gramme_value_at(list->items[shard], i);
        }
    }
    qsort(list->oldest, count, sizeof(const struct gramme_value *), compare_calls);
    list->count = MIN(count, limit);
}

bool recon_list_pending(struct gramme_db *db, const struct recon_search *search, size_t limit,
                        struct recon_list *out, struct gramme_error **error)
{
    *out = (struct recon_list){0};
    for (int shard = 0; shard < recon_settings.shards; shard++) {
        out->items[shard] = gramme_list_create();
    }
    struct collecting collecting = {.list = out, .limit = limit};
    if (!recon_each_pending(db, search, collect, &collecting, error)) {
        return false;
    }
    merge(out, limit);
    return true;
}

void recon_list_finish(struct recon_list *list)
{
    for (int shard = 0; shard < RECONCILIATION_SHARDS_MAX; shard++) {
        gramme_value_destroy(list->items[shard]);
    }
    mem_free(list->oldest);
}
