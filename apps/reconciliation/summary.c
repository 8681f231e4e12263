#include "apps/reconciliation/summary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/map.h"
#include "base/mem.h"

enum { TENANTS_SHOWN = 20 };

static const struct {
    const char *name;
    int64_t below; /* 0: without end */
} ages[] = {
    {"15 min", WHEN_SECOND * 60 * 15},
    {"1 h", WHEN_SECOND * 3600},
    {"6 h", WHEN_SECOND * 3600 * 6},
    {"1 day", WHEN_DAY},
    {"3 days", 3 * WHEN_DAY},
    {"7 days", 7 * WHEN_DAY},
    {"older", 0},
};

/* Of one shard: each is filled by a thread of its own. */
struct counts {
    int64_t pending;
    int64_t audio_missing;
    int64_t ages[COUNT_OF(ages)];
    int64_t oldest; /* 0: none */
    struct map tenants;
};

struct tenant {
    int64_t count;
    char id[RECONCILIATION_ID_LEN_MAX + 1];
};

struct summary {
    int64_t now;
    struct counts shards[RECONCILIATION_SHARDS_MAX];
};

static void count_tenant(struct map *tenants, const char *tenant_id, int64_t count)
{
    struct tenant *tenant = map_get(tenants, str_from_c(tenant_id));
    if (tenant == NULL) {
        tenant = mem_zalloc(sizeof(*tenant));
        snprintf(tenant->id, sizeof(tenant->id), "%s", tenant_id);
        map_put(tenants, str_from_c(tenant->id), tenant);
    }
    tenant->count += count;
}

static void count_age(struct counts *counts, int64_t now, int64_t when)
{
    size_t age = 0;
    while (ages[age].below != 0 && now - when >= ages[age].below) {
        age++;
    }
    counts->ages[age]++;
    if (counts->oldest == 0 || when < counts->oldest) {
        counts->oldest = when;
    }
}

static bool count_call(void *context, int shard, const struct gramme_value *item)
{
    struct summary *summary = context;
    struct counts *counts = &summary->shards[shard];
    const char *key = gramme_get_string(item, "GSI_Recon_SK");
    char when_text[WHEN_SIZE];
    int64_t when;
    snprintf(when_text, sizeof(when_text), "%.*s", (int)strcspn(key, "#"), key);
    if (when_parse(when_text, &when)) {
        count_age(counts, summary->now, when);
    }
    counts->pending++;
    counts->audio_missing += gramme_get_bool(item, "AudioReceived", true) ? 0 : 1;
    count_tenant(&counts->tenants, gramme_get_string(item, "TenantId"), 1);
    return true;
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

static void add_counts(struct counts *sum, const struct counts *counts)
{
    sum->pending += counts->pending;
    sum->audio_missing += counts->audio_missing;
    for (size_t i = 0; i < COUNT_OF(ages); i++) {
        sum->ages[i] += counts->ages[i];
    }
    if (counts->oldest != 0 && (sum->oldest == 0 || counts->oldest < sum->oldest)) {
        sum->oldest = counts->oldest;
    }
    size_t at = 0;
    struct str id;
    void *tenant;
    while (map_next(&counts->tenants, &at, &id, &tenant)) {
        count_tenant(&sum->tenants, ((struct tenant *)tenant)->id,
                     ((struct tenant *)tenant)->count);
    }
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

static void show_tenants(const struct map *tenants, struct gramme_value *out)
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
    for (size_t i = 0; i < MIN(count, (size_t)TENANTS_SHOWN); i++) {
        struct gramme_value *entry = gramme_add_map(out);
        gramme_set_string(entry, "tenantId", sorted[i]->id);
        gramme_set_int(entry, "count", sorted[i]->count);
    }
    mem_free(sorted);
}

static struct gramme_value *show(const struct summary *summary, const struct counts *sum)
{
    struct gramme_value *out = gramme_map_create();
    gramme_set_int(out, "pending", sum->pending);
    gramme_set_int(out, "audioMissing", sum->audio_missing);
    if (sum->oldest != 0) {
        char text[WHEN_SIZE];
        when_format_seconds(text, sum->oldest);
        gramme_set_string(out, "oldest", text);
    }
    struct gramme_value *list = gramme_set_list(out, "ages");
    for (size_t i = 0; i < COUNT_OF(ages); i++) {
        struct gramme_value *entry = gramme_add_map(list);
        gramme_set_string(entry, "below", ages[i].name);
        gramme_set_int(entry, "count", sum->ages[i]);
    }
    list = gramme_set_list(out, "shards");
    for (int shard = 0; shard < recon_settings.shards; shard++) {
        struct gramme_value *entry = gramme_add_map(list);
        gramme_set_int(entry, "shard", shard);
        gramme_set_int(entry, "count", summary->shards[shard].pending);
    }
    show_tenants(&sum->tenants, gramme_set_list(out, "tenants"));
    return out;
}

struct gramme_value *recon_summarize(struct gramme_db *db, const struct recon_search *search,
                                     struct gramme_error **error)
{
    struct summary *summary = mem_zalloc(sizeof(*summary));
    summary->now = when_now();
    for (int shard = 0; shard < recon_settings.shards; shard++) {
        map_init(&summary->shards[shard].tenants);
    }
    struct gramme_value *out = NULL;
    bool ok = recon_each_pending(db, search, count_call, summary, error);
    struct counts sum = {0};
    map_init(&sum.tenants);
    for (int shard = 0; shard < recon_settings.shards; shard++) {
        add_counts(&sum, &summary->shards[shard]);
        free_tenants(&summary->shards[shard].tenants);
    }
    if (ok) {
        out = show(summary, &sum);
    }
    free_tenants(&sum.tenants);
    mem_free(summary);
    return out;
}
