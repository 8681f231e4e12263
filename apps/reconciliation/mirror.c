/* Lists and totals of pending calls, from the replica of the index in memory. Called on worker
 * threads. */
#include "apps/reconciliation/mirror.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/reconciliation/mirror_internal.h"
#include "base/base.h"
#include "base/mem.h"

enum { ENTRIES_KEPT_MAX = 200 * 1000 }; /* about 60 MB; a larger index is read for each request */

/* --- entries --- */

static void destroy_entry(void *argument)
{
    struct entry *entry = argument;
    mem_free(entry->tenant_id);
    mem_free(entry->call_id);
    mem_free(entry->status);
    mem_free(entry->pk);
    mem_free(entry->sk);
    mem_free(entry->not_before);
    mem_free(entry);
}

static char *copy(const struct gramme_value *item, const char *name)
{
    const char *text = gramme_get_string(item, name);
    return text == NULL ? NULL : mem_strdup(text);
}

static struct str key_of(struct arena *arena, const struct gramme_value *item)
{
    const char *tenant_id = recon_tenant_id(item);
    const char *call_id = recon_call_id(item);
    return tenant_id == NULL || call_id == NULL ? STR_NULL
                                                : arena_format(arena, "%s#%s", tenant_id, call_id);
}

/* Makes the entry of an item of the table or the index; NULL: the call is not pending. */
static void *make_entry(const struct gramme_value *item)
{
    const char *sk = gramme_get_string(item, "GSI_Recon_SK");
    if (sk == NULL || gramme_get_string(item, "GSI_Recon_PK") == NULL) {
        return NULL;
    }
    struct entry *entry = mem_zalloc(sizeof(*entry));
    char when[WHEN_SIZE];
    snprintf(when, sizeof(when), "%.*s", (int)MIN(strcspn(sk, "#"), sizeof(when) - 1), sk);
    if (!when_parse(when, &entry->when)) {
        entry->when = 0;
    }
    entry->tenant_id = mem_strdup(recon_tenant_id(item));
    entry->call_id = mem_strdup(recon_call_id(item));
    entry->status = copy(item, "ProcessingStatus");
    entry->pk = copy(item, "GSI_Recon_PK");
    entry->sk = mem_strdup(sk);
    entry->not_before = copy(item, "NotBefore");
    entry->audio = gramme_get_bool(item, "AudioReceived", true);
    return entry;
}

static bool take_item(void *context, int partition, const struct gramme_value *item)
{
    (void)partition;
    replica_take(context, item);
    return true;
}

static bool read_index(struct gramme_db *db, struct replica_load *load, struct gramme_error **error)
{
    struct recon_search everything = {0};
    recon_check_projection(db);
    return recon_each_pending(db, &everything, take_item, load, error);
}

struct replica *mirror_create(void)
{
    return replica_create(&(struct replica_options){
        .key = key_of,
        .make = make_entry,
        .destroy = destroy_entry,
        .read = read_index,
        .entries_max = ENTRIES_KEPT_MAX,
    });
}

int entry_shard(const struct entry *entry)
{
    const char *number = entry->pk == NULL ? NULL : strrchr(entry->pk, '#');
    /* 0 for "STATUS#PENDING", the only shard, and for numbers below 0, which only other programs
     * write. */
    return number == NULL ? 0 : MAX(atoi(number + 1), 0);
}

bool entry_matches_any_age(const struct entry *entry, const struct mirror_filter *filter)
{
    bool is_failed = entry->status != NULL && strcmp(entry->status, "FAILED") == 0;
    if (filter->tenant != NULL && strcmp(filter->tenant, entry->tenant_id) != 0) {
        return false;
    }
    if (filter->has_shard && filter->shard != entry_shard(entry)) {
        return false;
    }
    if (filter->status != NULL && (strcmp(filter->status, "FAILED") == 0) != is_failed) {
        return false;
    }
    return filter->audio == NULL || (strcmp(filter->audio, "missing") == 0) == !entry->audio;
}

bool entry_matches(const struct entry *entry, const struct mirror_filter *filter)
{
    bool is_abandoned = entry->when <= filter->since;
    if (filter->age == MIRROR_CURRENT ? is_abandoned
                                      : filter->age == MIRROR_ABANDONED && !is_abandoned) {
        return false;
    }
    return entry_matches_any_age(entry, filter);
}

/* --- lists --- */

bool mirror_cursor_is_valid(const char *text)
{
    const char *hash = strchr(text, '#');
    const char *bar = strchr(text, '|');
    return hash != NULL && bar != NULL && hash < bar && bar[1] != '\0' && strlen(text) < 512;
}

/* Orders by age, tenant and id, so that the order is always the same. */
static int compare(const void *a, const void *b)
{
    const struct entry *left = *(const struct entry *const *)a;
    const struct entry *right = *(const struct entry *const *)b;
    int order = strcmp(left->sk, right->sk);
    return order != 0 ? order : strcmp(left->call_id, right->call_id);
}

static int compare_newest(const void *a, const void *b)
{
    return compare(b, a);
}

/* Returns whether an entry comes after the cursor, "sk|call". */
static bool is_behind(const struct entry *entry, const char *cursor, bool newest_first)
{
    char sk[512];
    const char *bar = strchr(cursor, '|');
    snprintf(sk, sizeof(sk), "%.*s", (int)(bar - cursor), cursor);
    int order = strcmp(entry->sk, sk);
    order = order != 0 ? order : strcmp(entry->call_id, bar + 1);
    return newest_first ? order < 0 : order > 0;
}

struct listing {
    const struct mirror_filter *filter;
    const struct mirror_page *page;
    struct mirror_result *out;
};

static void add_item(struct gramme_value *list, const struct entry *entry)
{
    struct gramme_value *item = gramme_add_map(list);
    gramme_set_format(item, "PK", "TENANT#%s", entry->tenant_id);
    gramme_set_format(item, "SK", "CALL#%s", entry->call_id);
    gramme_set_string(item, "GSI_Recon_PK", entry->pk);
    gramme_set_string(item, "GSI_Recon_SK", entry->sk);
    gramme_set_bool(item, "AudioReceived", entry->audio);
    if (entry->status != NULL) {
        gramme_set_string(item, "ProcessingStatus", entry->status);
    }
    if (entry->not_before != NULL) {
        gramme_set_string(item, "NotBefore", entry->not_before);
    }
}

static void look_list(const struct map *entries, void *context)
{
    const struct listing *listing = context;
    const struct mirror_page *page = listing->page;
    struct mirror_result *out = listing->out;
    const struct entry **found = mem_zalloc((entries->count + 1) * sizeof(*found));
    size_t count = 0;
    size_t at = 0;
    struct str key;
    void *value;
    while (map_next(entries, &at, &key, &value)) {
        if (entry_matches(value, listing->filter)) {
            out->total++;
            if (page->after == NULL || is_behind(value, page->after, page->newest_first)) {
                found[count++] = value;
            }
        }
    }
    qsort(found, count, sizeof(*found), page->newest_first ? compare_newest : compare);
    out->items = gramme_map_create(); /* also owns the cursor */
    struct gramme_value *list = gramme_set_list(out->items, "items");
    for (size_t i = 0; i < MIN(count, page->limit); i++) {
        add_item(list, found[i]);
    }
    if (count > page->limit) {
        const struct entry *last = found[page->limit - 1];
        gramme_set_format(out->items, "cursor", "%s|%s", last->sk, last->call_id);
        out->cursor = gramme_get_string(out->items, "cursor");
    }
    mem_free(found);
}

bool mirror_list(struct replica *mirror, struct gramme_db *db, bool is_fresh,
                 const struct mirror_filter *filter, const struct mirror_page *page,
                 struct mirror_result *out, struct gramme_error **error)
{
    *out = (struct mirror_result){0};
    struct listing listing = {.filter = filter, .page = page, .out = out};
    return replica_look(mirror, db, is_fresh, look_list, &listing, error);
}

/* Orders by NotBefore, the latest first. */
static int compare_not_before(const void *a, const void *b)
{
    const struct entry *left = *(const struct entry *const *)a;
    const struct entry *right = *(const struct entry *const *)b;
    int order = strcmp(right->not_before, left->not_before);
    return order != 0 ? order : compare(a, b);
}

static void look_tried(const struct map *entries, void *context)
{
    const struct listing *listing = context;
    struct mirror_result *out = listing->out;
    const struct entry **found = mem_zalloc((entries->count + 1) * sizeof(*found));
    size_t at = 0;
    struct str key;
    void *value;
    while (map_next(entries, &at, &key, &value)) {
        if (((const struct entry *)value)->not_before != NULL) {
            found[out->total++] = value;
        }
    }
    qsort(found, out->total, sizeof(*found), compare_not_before);
    out->items = gramme_map_create();
    struct gramme_value *list = gramme_set_list(out->items, "items");
    for (size_t i = 0; i < MIN(out->total, listing->page->limit); i++) {
        add_item(list, found[i]);
    }
    mem_free(found);
}

bool mirror_list_tried(struct replica *mirror, struct gramme_db *db, bool is_fresh, size_t limit,
                       struct mirror_result *out, struct gramme_error **error)
{
    *out = (struct mirror_result){0};
    struct mirror_page page = {.limit = limit};
    struct listing listing = {.page = &page, .out = out};
    return replica_look(mirror, db, is_fresh, look_tried, &listing, error);
}

struct summarizing {
    const struct mirror_filter *filter;
    struct gramme_value *out;
};

static void look_summary(const struct map *entries, void *context)
{
    const struct summarizing *summarizing = context;
    summary_show(entries, summarizing->filter, summarizing->out);
}

bool mirror_summarize(struct replica *mirror, struct gramme_db *db, bool is_fresh,
                      const struct mirror_filter *filter, struct gramme_value *out,
                      struct gramme_error **error)
{
    struct summarizing summarizing = {.filter = filter, .out = out};
    return replica_look(mirror, db, is_fresh, look_summary, &summarizing, error);
}
