/* Totals of pending calls, by age, tenant and shard, over the entries of the mirror. Called by
 * mirror.c on a worker thread, while the entries are locked. */
#include <stdlib.h>
#include <string.h>

#include "apps/reconciliation/mirror_internal.h"
#include "base/base.h"
#include "base/map.h"
#include "base/mem.h"

enum { TENANTS_SHOWN = 20, TENANTS_CHOSEN_FROM = 200 };

static const struct {
    const char *name;
    int64_t below; /* 0: no limit */
} ages[] = {
    {"15 min", WHEN_SECOND * 60 * 15},
    {"1 h", WHEN_SECOND * 3600},
    {"6 h", WHEN_SECOND * 3600 * 6},
    {"1 day", WHEN_DAY},
    {"3 days", 3 * WHEN_DAY},
    {"7 days", 7 * WHEN_DAY},
    {"older", 0},
};

struct tenant {
    int64_t count;
    const char *id; /* of an entry */
};

struct numbers {
    int64_t pending;
    int64_t audio_missing;
    int64_t failed;
    int64_t ages[COUNT_OF(ages)];
    int64_t shards[RECONCILIATION_SHARDS_MAX];
    int64_t oldest; /* 0: none */
    int64_t abandoned;
    int64_t abandoned_oldest;
    struct map tenants; /* tenants of matching calls */
    struct map choices; /* all tenants */
};

static void count_tenant(struct map *tenants, const char *tenant_id)
{
    struct tenant *tenant = map_get(tenants, str_from_c(tenant_id));
    if (tenant == NULL) {
        tenant = mem_zalloc(sizeof(*tenant));
        tenant->id = tenant_id;
        map_put(tenants, str_from_c(tenant_id), tenant);
    }
    tenant->count++;
}

static void free_tenants(struct map *tenants)
{
    size_t at = 0;
    struct str id;
    void *tenant;
    while (map_next(tenants, &at, &id, &tenant)) {
        mem_free(tenant);
    }
    map_finish(tenants);
}

static void note_oldest(int64_t *oldest, int64_t when)
{
    if (*oldest == 0 || when < *oldest) {
        *oldest = when;
    }
}

static void count_entry(struct numbers *numbers, const struct entry *entry,
                        const struct mirror_filter *filter)
{
    count_tenant(&numbers->choices, entry->tenant_id);
    if (entry->when <= filter->since && entry_matches_any_age(entry, filter)) {
        numbers->abandoned++;
        note_oldest(&numbers->abandoned_oldest, entry->when);
    }
    if (!entry_matches(entry, filter)) {
        return;
    }
    size_t age = 0;
    while (ages[age].below != 0 && filter->now - entry->when >= ages[age].below) {
        age++;
    }
    numbers->pending++;
    numbers->ages[age]++;
    numbers->audio_missing += entry->audio ? 0 : 1;
    numbers->failed += entry->status != NULL && strcmp(entry->status, "FAILED") == 0 ? 1 : 0;
    numbers->shards[MIN(entry_shard(entry), RECONCILIATION_SHARDS_MAX - 1)]++;
    note_oldest(&numbers->oldest, entry->when);
    count_tenant(&numbers->tenants, entry->tenant_id);
}

static int compare_tenants(const void *a, const void *b)
{
    const struct tenant *left = *(const struct tenant *const *)a;
    const struct tenant *right = *(const struct tenant *const *)b;
    if (left->count != right->count) {
        return left->count > right->count ? -1 : 1;
    }
    return strcmp(left->id, right->id);
}

static void show_tenants(const struct map *tenants, size_t count_max, struct gramme_value *out)
{
    size_t count = 0;
    const struct tenant **sorted = mem_zalloc((tenants->count + 1) * sizeof(*sorted));
    size_t at = 0;
    struct str id;
    void *tenant;
    while (map_next(tenants, &at, &id, &tenant)) {
        sorted[count++] = tenant;
    }
    qsort(sorted, count, sizeof(*sorted), compare_tenants);
    for (size_t i = 0; i < MIN(count, count_max); i++) {
        struct gramme_value *entry = gramme_add_map(out);
        gramme_set_string(entry, "tenantId", sorted[i]->id);
        gramme_set_int(entry, "count", sorted[i]->count);
    }
    mem_free(sorted);
}

static void set_when(struct gramme_value *map, const char *name, int64_t when)
{
    if (when != 0) {
        char text[WHEN_SIZE];
        when_format_seconds(text, when);
        gramme_set_string(map, name, text);
    }
}

/* Adds the ids of the tenants, those with the most calls first. */
static void show_choices(const struct map *tenants, struct gramme_value *out)
{
    struct gramme_value *all = gramme_list_create();
    show_tenants(tenants, TENANTS_CHOSEN_FROM, all);
    for (size_t i = 0; i < gramme_value_count(all); i++) {
        gramme_add_string(out, gramme_get_string(gramme_value_at(all, i), "tenantId"));
    }
    gramme_value_destroy(all);
}

static void show_counts(const struct numbers *numbers, struct gramme_value *out)
{
    gramme_set_int(out, "pending", numbers->pending);
    gramme_set_int(out, "audioMissing", numbers->audio_missing);
    set_when(out, "oldest", numbers->oldest);
    struct gramme_value *by_status = gramme_set_map(out, "byStatus");
    gramme_set_int(by_status, "PENDING", numbers->pending - numbers->failed);
    gramme_set_int(by_status, "FAILED", numbers->failed);
    struct gramme_value *abandoned = gramme_set_map(out, "abandoned");
    gramme_set_int(abandoned, "count", numbers->abandoned);
    set_when(abandoned, "oldest", numbers->abandoned_oldest);
    struct gramme_value *list = gramme_set_list(out, "ages");
    for (size_t i = 0; i < COUNT_OF(ages); i++) {
        struct gramme_value *entry = gramme_add_map(list);
        gramme_set_string(entry, "below", ages[i].name);
        gramme_set_int(entry, "count", numbers->ages[i]);
    }
    list = gramme_set_list(out, "shards");
    for (int shard = 0; shard < recon_settings.shards; shard++) {
        struct gramme_value *entry = gramme_add_map(list);
        gramme_set_int(entry, "shard", shard);
        gramme_set_int(entry, "count", numbers->shards[shard]);
    }
    show_tenants(&numbers->tenants, TENANTS_SHOWN, gramme_set_list(out, "tenants"));
    show_choices(&numbers->choices, gramme_set_list(gramme_set_map(out, "choices"), "tenants"));
}

void summary_show(const struct map *entries, const struct mirror_filter *filter,
                  struct gramme_value *out)
{
    struct numbers *numbers = mem_zalloc(sizeof(*numbers));
    map_init(&numbers->tenants);
    map_init(&numbers->choices);
    size_t at = 0;
    struct str key;
    void *entry;
    while (map_next(entries, &at, &key, &entry)) {
        count_entry(numbers, entry, filter);
    }
    show_counts(numbers, out);
    free_tenants(&numbers->tenants);
    free_tenants(&numbers->choices);
    mem_free(numbers);
}
