/* Findings that one pattern shows: scans, filters, consistency, conditions, large items. On a
 * slow thread of the HTTP server; the mutex is held. */
#include "meter/findings_internal.h"

#include "base/clock.h"

enum {
    SCAN_ITEMS_MIN = 1000,   /* a smaller table may be scanned */
    DISCARD_ITEMS_MIN = 100, /* smallest number of items read before a filter is reported */
    CONSISTENT_CALLS_MIN = 100,
    CONDITION_CALLS_MIN = 20,
    LARGE_ITEM_BYTES = 300 * 1024,
    ITEM_BYTES_LIMIT = 400 * 1024,
};

#define TEXT(search, ...) arena_format((search)->insight->arena, __VA_ARGS__)

static const struct table *table_of(const struct search *search, struct str name, size_t *number)
{
    for (size_t i = 0; i < search->tables.count; i++) {
        if (str_eq(search->tables.tables[i]->name, name)) {
            *number = i;
            return search->tables.tables[i];
        }
    }
    return NULL;
}

/* "and had 1,000 12 minutes ago", if the table has grown. */
static struct str growth_of(struct search *search, const struct table_sums *sums, int64_t items)
{
    double minutes = (double)(clock_wall_ms() - sums->items_ms) / 60e3;
    bool is_long = minutes >= 120;
    return TEXT(search, "%lld items and had %lld %.0f %s ago", (long long)items,
                (long long)sums->items, is_long ? minutes / 60 : minutes + 0.5,
                is_long ? "hours" : "minutes");
}

static struct str scan_remedy(struct search *search, const struct pattern *pattern)
{
    if (str_is_null(pattern->text.filter)) {
        return STR("Query by a partition key instead; for exports use a stream, or an export.");
    }
    return TEXT(search,
                "Make a global index whose partition key is what the filter (%.*s) asks for, and "
                "Query it.",
                STR_ARG(pattern->text.filter));
}

/* Finds Scans of a large table: their cost grows with each new item. Critical if the table was seen
 * to grow, by a tenth at least. */
static void find_scan(struct search *search, const struct pattern *pattern, size_t table)
{
    const struct pattern_sums *sums = &pattern->sums;
    int64_t items = search->tables.sizes[table].item_count;
    if (!(pattern->text.flags & METER_SCAN) || items < SCAN_ITEMS_MIN || sums->calls == 0) {
        return;
    }
    int64_t before = pattern->table->items;
    bool grows = pattern->table->items_ms != 0 && items > before + before / 10;
    struct str has = grows ? growth_of(search, pattern->table, items)
                           : TEXT(search, "%lld items", (long long)items);
    finding_add(
        search,
        &(struct finding){
            .kind = FINDING_SCAN_GROWS,
            .severity = grows ? NULL : "warning",
            .title = grows ? NULL : "A Scan reads a large table",
            .table = pattern->text.table,
            .index = pattern->text.index,
            .pattern = pattern,
            .evidence = TEXT(search,
                             "%.*s was called %llu times and read %llu items (%.1f a call); the "
                             "table has %.*s. Each further item makes the Scan more expensive.",
                             STR_ARG(pattern->text.text), (unsigned long long)sums->calls,
                             (unsigned long long)sums->items_read,
                             (double)sums->items_read / (double)sums->calls, STR_ARG(has)),
            .remedy = scan_remedy(search, pattern),
            .numbers = TEXT(search,
                            "\"calls\":%llu,\"itemsRead\":%llu,\"tableItems\":%lld,"
                            "\"tableItemsBefore\":%lld",
                            (unsigned long long)sums->calls, (unsigned long long)sums->items_read,
                            (long long)items, (long long)(grows ? before : items)),
        });
}

static void find_discards(struct search *search, const struct pattern *pattern)
{
    const struct pattern_sums *sums = &pattern->sums;
    if (str_is_null(pattern->text.filter) || sums->items_read < DISCARD_ITEMS_MIN ||
        sums->items_returned * 2 > sums->items_read) {
        return;
    }
    double part = (double)sums->items_returned / (double)sums->items_read;
    double units = sums->table_units;
    for (size_t i = 0; i < pattern->arms.count; i++) {
        units += pattern->arms.arms[i].read_units;
    }
    finding_add(
        search,
        &(struct finding){
            .kind = FINDING_FILTER_DISCARDS,
            .table = pattern->text.table,
            .index = pattern->text.index,
            .pattern = pattern,
            .evidence = TEXT(search,
                             "%.*s read %llu items to return %llu (%.1f %%) in %llu calls; about "
                             "%.1f of its %.1f read units were for discarded items.",
                             STR_ARG(pattern->text.text), (unsigned long long)sums->items_read,
                             (unsigned long long)sums->items_returned, part * 100,
                             (unsigned long long)sums->calls, units * (1 - part), units),
            .remedy = TEXT(search,
                           "Put what the filter asks for (%.*s) into the sort key, or into the key "
                           "of an index, so that only matching items are read.",
                           STR_ARG(pattern->text.filter)),
            .numbers = TEXT(search, "\"itemsRead\":%llu,\"itemsReturned\":%llu,\"readUnits\":%.6g",
                            (unsigned long long)sums->items_read,
                            (unsigned long long)sums->items_returned, units),
        });
}

/* Finds strongly consistent reads of a table that is rarely written: they cost twice as much
 * without need. */
static void find_consistency(struct search *search, const struct pattern *pattern)
{
    const struct pattern_sums *sums = &pattern->sums;
    const struct table_sums *table = pattern->table;
    if (!(pattern->text.flags & METER_CONSISTENT) || sums->calls < CONSISTENT_CALLS_MIN) {
        return;
    }
    double reads_per_write = table->read_units / MAX(table->write_units, 1);
    if (reads_per_write < 10) {
        return;
    }
    finding_add(
        search,
        &(struct finding){
            .kind = FINDING_NEEDLESS_CONSISTENCY,
            .table = pattern->text.table,
            .index = pattern->text.index,
            .pattern = pattern,
            .evidence = TEXT(search,
                             "%.*s was called %llu times for %.1f read units; the table has "
                             "%.0f read units for each write unit, so what is read has "
                             "rarely just changed.",
                             STR_ARG(pattern->text.text), (unsigned long long)sums->calls,
                             sums->table_units, reads_per_write),
            .remedy = TEXT(search,
                           "Leave ConsistentRead out where the caller did not just write "
                           "the item: that saves %.1f read units.",
                           sums->table_units / 2),
            .numbers = TEXT(search, "\"calls\":%llu,\"readUnits\":%.6g",
                            (unsigned long long)sums->calls, sums->table_units),
        });
}

/* A cancelled transaction consumes nothing here. */
static bool charges_failures(const struct pattern *pattern)
{
    struct str operation = pattern->text.operation;
    return pattern->sums.table_units > 0 && !str_starts_with(operation, STR("Transact")) &&
           !str_starts_with(operation, STR("ExecuteTransaction"));
}

static void find_conditions(struct search *search, const struct pattern *pattern)
{
    const struct pattern_sums *sums = &pattern->sums;
    uint64_t failed = 0;
    for (size_t i = 0; i < ERROR_KINDS; i++) {
        uint32_t code = sums->error_kinds[i].code;
        if (code == ERR_CONDITIONAL_CHECK_FAILED || code == ERR_DUPLICATE_ITEM) {
            failed += sums->error_kinds[i].count;
        }
    }
    if (failed == 0 || sums->calls < CONDITION_CALLS_MIN || failed * 5 < sums->calls) {
        return;
    }
    finding_add(
        search,
        &(struct finding){
            .kind = FINDING_CONDITIONS_FAIL,
            .table = pattern->text.table,
            .pattern = pattern,
            .evidence =
                TEXT(search, "%.*s failed %llu of %llu times (%.0f %%)%s.",
                     STR_ARG(pattern->text.text), (unsigned long long)failed,
                     (unsigned long long)sums->calls, 100.0 * (double)failed / (double)sums->calls,
                     charges_failures(pattern) ? "; each failure is charged as a write" : ""),
            .remedy = STR("If two writers race for one item, let them write different items or add "
                          "to counters; if the condition asks whether there is an item, read first "
                          "when that is the usual case."),
            .numbers = TEXT(search, "\"calls\":%llu,\"failed\":%llu",
                            (unsigned long long)sums->calls, (unsigned long long)failed),
        });
}

static void find_large_items(struct search *search, const struct pattern *pattern)
{
    uint64_t bytes = pattern->sums.item_bytes_max;
    if (bytes < LARGE_ITEM_BYTES || !(pattern->text.flags & METER_WRITE)) {
        return;
    }
    finding_add(
        search,
        &(struct finding){
            .kind = FINDING_LARGE_ITEMS,
            .table = pattern->text.table,
            .pattern = pattern,
            .evidence = TEXT(search,
                             "%.*s wrote an item of %llu bytes, %.0f %% of the limit of "
                             "409,600; such a write costs %.0f units.",
                             STR_ARG(pattern->text.text), (unsigned long long)bytes,
                             100.0 * (double)bytes / ITEM_BYTES_LIMIT, capacity_write_units(bytes)),
            .remedy = STR(FINDING_SPLIT_ITEM),
            .numbers = TEXT(search, "\"itemBytesMax\":%llu", (unsigned long long)bytes),
        });
}

static void find_large_collection(struct search *search, const struct pattern *pattern)
{
    double gigabytes = (double)pattern->sums.collection_bytes_max / (1 << 30);
    if (gigabytes < 7) {
        return;
    }
    finding_add(search,
                &(struct finding){
                    .kind = FINDING_LARGE_COLLECTION,
                    .table = pattern->text.table,
                    .pattern = pattern,
                    .evidence = TEXT(search,
                                     "%.*s wrote to an item collection of %.1f GB. A table with "
                                     "local indexes refuses writes to a collection of 10 GB.",
                                     STR_ARG(pattern->text.text), gigabytes),
                    .remedy = STR("Add a suffix to the partition key (such as the month) and query "
                                  "each part, or replace the local index by a global one."),
                    .numbers = TEXT(search, "\"collectionBytes\":%llu",
                                    (unsigned long long)pattern->sums.collection_bytes_max),
                });
}

void findings_of_patterns(struct search *search)
{
    const struct meter *meter = search->insight->meter;
    for (size_t i = 0; i < meter->pattern_count; i++) {
        const struct pattern *pattern = meter->patterns[i];
        size_t number;
        if (table_of(search, pattern->text.table, &number) == NULL) {
            continue;
        }
        find_scan(search, pattern, number);
        find_discards(search, pattern);
        find_consistency(search, pattern);
        find_conditions(search, pattern);
        find_large_items(search, pattern);
        find_large_collection(search, pattern);
    }
}
