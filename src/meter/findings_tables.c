/* Findings about a table, its indexes, its keys and its items. On a slow thread of the HTTP server;
 * the mutex is held. */
#include "meter/findings_internal.h"

enum {
    INDEX_WRITES_MIN = 100,
    NOT_SPARSE_ITEMS_MIN = 1000,
    HOT_ACCESSES_MIN = 1000,
    LARGE_ITEM_BYTES = 300 * 1024,
    READ_LIMIT = 3000,
    WRITE_LIMIT = 1000,
};

#define TEXT(search, ...) arena_format((search)->insight->arena, __VA_ARGS__)

static struct arm arm_of(const struct search *search, const struct table *table,
                         const struct index *index)
{
    const struct table_sums *sums = map_get(&search->insight->meter->tables, table->name);
    for (size_t i = 0; sums != NULL && i < sums->arms.count; i++) {
        if (str_eq(sums->arms.arms[i].name, index->name)) {
            return sums->arms.arms[i];
        }
    }
    return (struct arm){0};
}

static void find_never_read(struct search *search, const struct table *table,
                            const struct index *index)
{
    struct arm arm = arm_of(search, table, index);
    if (arm.reads > 0 || arm.write_units < INDEX_WRITES_MIN) {
        return;
    }
    finding_add(
        search,
        &(struct finding){
            .kind = FINDING_INDEX_NEVER_READ,
            .table = table->name,
            .index = index->name,
            .evidence = TEXT(search, "%.*s.%.*s consumed %.0f write units and was not read once.",
                             STR_ARG(table->name), STR_ARG(index->name), arm.write_units),
            .remedy = STR("Drop the index, unless something reads it that has not run "
                          "since counting began."),
            .numbers = TEXT(search, "\"writeUnits\":%.6g,\"reads\":0", arm.write_units),
        });
}

/* The attributes that the patterns of an index read. */
struct asked {
    const struct search *search;
    const struct index *index;
    uint64_t reads;
    bool all; /* some pattern takes whole entries */
};

static struct asked asked_of(const struct search *search, const struct table *table,
                             const struct index *index)
{
    const struct meter *meter = search->insight->meter;
    struct asked asked = {.search = search, .index = index};
    for (size_t i = 0; i < meter->pattern_count; i++) {
        const struct pattern *pattern = meter->patterns[i];
        bool reads =
            str_eq(pattern->text.table, table->name) && str_eq(pattern->text.index, index->name);
        if (reads && !pattern->is_other) {
            bool counts = (pattern->text.flags & METER_COUNT) != 0;
            asked.reads += pattern->sums.calls;
            asked.all = asked.all || (str_is_null(pattern->text.projection) && !counts);
        }
    }
    return asked;
}

/* Finds an index whose reads all name their attributes, so that it need not project the others. */
static void find_over_projected(struct search *search, const struct table *table,
                                const struct index *index)
{
    struct asked asked = asked_of(search, table, index);
    struct arm arm = arm_of(search, table, index);
    if (index->projection != PROJECTION_ALL || asked.all || asked.reads < 10) {
        return;
    }
    finding_add(search,
                &(struct finding){
                    .kind = FINDING_INDEX_OVER_PROJECTED,
                    .table = table->name,
                    .index = index->name,
                    .evidence = TEXT(search,
                                     "%.*s.%.*s projects ALL, but each of the %llu reads named the "
                                     "attributes it wanted; the index consumed %.0f write units.",
                                     STR_ARG(table->name), STR_ARG(index->name),
                                     (unsigned long long)asked.reads, arm.write_units),
                    .remedy = STR("Project KEYS_ONLY, or INCLUDE just what these reads return: "
                                  "smaller entries cost less to write, to store and to read, and "
                                  "writes to other attributes do not touch the index."),
                    .numbers = TEXT(search, "\"reads\":%llu,\"writeUnits\":%.6g",
                                    (unsigned long long)asked.reads, arm.write_units),
                });
}

/* Finds global indexes that could be sparse: their key is not a key of the table. */
static void find_not_sparse(struct search *search, size_t number, size_t which)
{
    const struct table *table = search->tables.tables[number];
    const struct index *index = &table->indexes[which];
    int64_t items = search->tables.sizes[number].item_count;
    int64_t entries = search->tables.sizes[number].index_item_counts[which];
    struct str key = index->key.hash[0].name;
    const struct heat_place *place =
        heat_find(&search->insight->meter->heat, table->name, index->name);
    const struct heat_counter *top;
    bool few_keys = place != NULL && place->counter_count > 0 && place->counter_count <= 8 &&
                    heat_top(place, 1, &top) > 0;
    if (index->kind != INDEX_GLOBAL || entries < NOT_SPARSE_ITEMS_MIN || entries < items ||
        key_schema_has(&table->key, key) || !few_keys) {
        return;
    }
    finding_add(search,
                &(struct finding){
                    .kind = FINDING_INDEX_NOT_SPARSE,
                    .table = table->name,
                    .index = index->name,
                    .evidence = TEXT(search,
                                     "%.*s.%.*s holds all %lld items of the table under %zu "
                                     "partition keys.",
                                     STR_ARG(table->name), STR_ARG(index->name), (long long)entries,
                                     place->counter_count),
                    .remedy = TEXT(search,
                                   "If only some items are asked for through it (the open ones, "
                                   "the failed ones), give %.*s to these alone and remove it from "
                                   "the others: the index then holds what is asked for.",
                                   STR_ARG(key)),
                    .numbers = TEXT(search, "\"entries\":%lld,\"items\":%lld,\"keys\":%zu",
                                    (long long)entries, (long long)items, place->counter_count),
                });
}

static struct str key_text(struct search *search, const struct heat_counter *counter)
{
    struct buf text = {0};
    heat_write_key(&text, counter->key, counter->key_len, counter->is_cut);
    struct str kept = arena_copy(search->insight->arena, buf_str(&text));
    buf_finish(&text);
    return kept;
}

static void find_hot_key(struct search *search, const struct table *table,
                         const struct index *index)
{
    struct str index_name = index == NULL ? STR_NULL : index->name;
    const struct heat_place *place =
        heat_find(&search->insight->meter->heat, table->name, index_name);
    const struct heat_counter *top;
    if (place == NULL || heat_top(place, 1, &top) == 0) {
        return;
    }
    double share = (double)top->count / (double)place->count;
    bool is_over = top->peak_read > READ_LIMIT || top->peak_write > WRITE_LIMIT;
    bool is_large = place->count >= HOT_ACCESSES_MIN && share > 0.5 && place->counter_count > 1;
    if (!is_over && !is_large) {
        return;
    }
    struct str key = key_text(search, top);
    finding_add(
        search,
        &(struct finding){
            .kind = FINDING_HOT_KEY,
            .table = table->name,
            .index = index_name,
            .evidence =
                TEXT(search,
                     "The key %.*s got %llu of %llu accesses (%.0f %%), at most %.0f read "
                     "and %.0f write units in a second. A partition of the service takes "
                     "3,000 and 1,000.",
                     STR_ARG(key), (unsigned long long)top->count, (unsigned long long)place->count,
                     share * 100, (double)top->peak_read, (double)top->peak_write),
            .remedy =
                STR("Spread writes over several keys (a suffix 0..n) and read them all, cache "
                    "what is read often, or choose a key with more values."),
            .numbers = TEXT(search,
                            "\"accesses\":%llu,\"share\":%.4f,\"peakReadUnitsPerSecond\":%.6g,"
                            "\"peakWriteUnitsPerSecond\":%.6g",
                            (unsigned long long)top->count, share, (double)top->peak_read,
                            (double)top->peak_write),
        });
}

static void find_sort_order(struct search *search, const struct table *table,
                            const struct survey *survey)
{
    const struct survey_sort_keys *keys = &survey->sort_keys;
    bool numbers = keys->misplaced_numbers > 0;
    if (!numbers && keys->misplaced_dates * 2 <= keys->texts) {
        return;
    }
    struct str evidence =
        numbers ? TEXT(search,
                       "In %.*s the sort key \"%s\" comes before \"%s\": texts are ordered by "
                       "their bytes, not by the number at their end.",
                       STR_ARG(table->name), keys->example[0], keys->example[1])
                : TEXT(search,
                       "Sort keys of %.*s hold dates such as \"%s\", which do not begin with the "
                       "year: their order is not that of time.",
                       STR_ARG(table->name), keys->example[0]);
    finding_add(search,
                &(struct finding){
                    .kind = FINDING_SORT_KEY_ORDER,
                    .table = table->name,
                    .evidence = evidence,
                    .remedy = numbers
                                  ? STR("Pad numbers with zeros to one length, or make the sort "
                                        "key a number.")
                                  : STR("Write times as ISO 8601 in UTC "
                                        "(2026-11-15T08:00:00Z), or as a number."),
                    .numbers = TEXT(search, "\"misplacedNumbers\":%llu,\"misplacedDates\":%llu",
                                    (unsigned long long)keys->misplaced_numbers,
                                    (unsigned long long)keys->misplaced_dates),
                });
}

static void find_stored_large_item(struct search *search, const struct table *table,
                                   const struct survey *survey)
{
    for (size_t i = 0; i < search->count; i++) { /* a write has been reported already */
        if (search->findings[i].kind == FINDING_LARGE_ITEMS &&
            str_eq(search->findings[i].table, table->name)) {
            return;
        }
    }
    if (survey->item_bytes_max < LARGE_ITEM_BYTES) {
        return;
    }
    finding_add(
        search,
        &(struct finding){
            .kind = FINDING_LARGE_ITEMS,
            .table = table->name,
            .evidence = TEXT(search, "%.*s has an item of %llu bytes; the limit is 409,600.",
                             STR_ARG(table->name), (unsigned long long)survey->item_bytes_max),
            .remedy = STR("Split the item: what grows (lists, texts) into items of its own "
                          "in the same item collection, large binaries to object storage."),
            .numbers =
                TEXT(search, "\"itemBytesMax\":%llu", (unsigned long long)survey->item_bytes_max),
        });
}

void findings_of_table(struct search *search, size_t number)
{
    const struct table *table = search->tables.tables[number];
    find_hot_key(search, table, NULL);
    for (size_t i = 0; i < table->index_count; i++) {
        find_hot_key(search, table, &table->indexes[i]);
        find_never_read(search, table, &table->indexes[i]);
        find_over_projected(search, table, &table->indexes[i]);
        find_not_sparse(search, number, i);
    }
    find_sort_order(search, table, &search->surveys[number]);
    find_stored_large_item(search, table, &search->surveys[number]);
}
