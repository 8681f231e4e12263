/* Findings about a table, its indexes, its keys and its items. On a slow thread of the HTTP server;
 * the mutex is held. */
#include "meter/findings_internal.h"

#include "base/hash.h"

enum {
    INDEX_WRITES_MIN = 100,
    READS_MIN = 10, /* of an index, before its projection is judged */
    NOT_SPARSE_ITEMS_MIN = 1000,
    FEW_KEYS = 8,
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
    uint64_t reads;
    bool all;        /* some pattern takes whole entries */
    uint64_t *names; /* hash_64() of the words in projections and filters */
    size_t name_count;
};

enum { ASKED_NAMES_MAX = 1024 };

/* Adds the words of a text, names of attributes among them; names in quotes as well. */
static void add_words(struct asked *asked, struct str text)
{
    size_t start = 0;
    for (size_t i = 0; i <= text.len; i++) {
        char c = i < text.len ? text.data[i] : ' ';
        bool is_word = (c >= '0' && c <= '9') || (c | 32) >= 'a' || c == '_' || c == '-';
        if (c == '"') { /* up to the next one */
            const char *end = memchr(text.data + i + 1, '"', text.len - i - 1);
            start = i + 1;
            i = end == NULL ? text.len : (size_t)(end - text.data);
        } else if (is_word && !strchr("[]{}|~`^@", c)) {
            continue;
        }
        if (i > start && asked->name_count < ASKED_NAMES_MAX) {
            asked->names[asked->name_count++] = hash_64(str_make(text.data + start, i - start));
        }
        start = i + 1;
    }
}

static bool is_asked(const struct asked *asked, uint64_t name)
{
    bool found = false;
    for (size_t i = 0; i < asked->name_count; i++) {
        found = found || asked->names[i] == name;
    }
    return found;
}

static struct asked asked_of(const struct search *search, const struct table *table,
                             const struct index *index)
{
    enum { TEXT_BYTES_MAX = 1024 }; /* a longer one is cut, and not all names are known */
    const struct meter *meter = search->insight->meter;
    struct asked asked = {
        .names = ARENA_ARRAY(search->insight->arena, uint64_t, ASKED_NAMES_MAX),
    };
    for (size_t i = 0; i < meter->pattern_count; i++) {
        const struct pattern *pattern = meter->patterns[i];
        const struct pattern_text *text = &pattern->text;
        if (!str_eq(text->table, table->name) || !str_eq(text->index, index->name) ||
            pattern->is_other) {
            continue;
        }
        bool counts = (text->flags & METER_COUNT) != 0;
        asked.reads += pattern->sums.calls;
        asked.all = asked.all || (str_is_null(text->projection) && !counts) ||
                    text->projection.len > TEXT_BYTES_MAX || text->filter.len > TEXT_BYTES_MAX;
        add_words(&asked, text->projection);
        add_words(&asked, text->filter);
    }
    asked.all = asked.all || asked.name_count == ASKED_NAMES_MAX;
    return asked;
}

static bool is_key_hash(const struct table *table, const struct index *index, uint64_t name)
{
    const struct key_schema *schemas[] = {&table->key, &index->key};
    bool found = false;
    for (size_t i = 0; i < COUNT_OF(schemas); i++) {
        for (size_t k = 0; k < schemas[i]->hash_count; k++) {
            found = found || hash_64(schemas[i]->hash[k].name) == name;
        }
        for (size_t k = 0; k < schemas[i]->range_count; k++) {
            found = found || hash_64(schemas[i]->range[k].name) == name;
        }
    }
    return found;
}

/* "ALL, but 3 attributes are in no read", "a, b, which no read names"; STR_NULL: all are read. */
static struct str unread_of(struct search *search, size_t number, const struct index *index,
                            const struct asked *asked)
{
    const struct table *table = search->tables.tables[number];
    const struct survey *survey = search->surveys[number];
    struct buf names = {0};
    size_t count = 0;
    for (size_t i = 0; index->projection == PROJECTION_INCLUDE && i < index->non_key_count; i++) {
        struct str name = index->non_key_names[i];
        if (!is_asked(asked, hash_64(name))) {
            buf_format(&names, "%s%.*s", count > 0 ? ", " : "", STR_ARG(name));
            count++;
        }
    }
    for (size_t i = 0; index->projection == PROJECTION_ALL && i < survey->attribute_count; i++) {
        count += !is_asked(asked, survey->attributes[i]) &&
                 !is_key_hash(table, index, survey->attributes[i]);
    }
    struct str text = count == 0 ? STR_NULL
                      : index->projection == PROJECTION_ALL
                          ? TEXT(search,
                                 "ALL, but none of the %llu reads names %zu of its "
                                 "attributes",
                                 (unsigned long long)asked->reads, count)
                          : TEXT(search, "%.*s, which none of the %llu reads names",
                                 STR_ARG(buf_str(&names)), (unsigned long long)asked->reads);
    buf_finish(&names);
    return text;
}

/* Finds an index whose reads all name their attributes, so that it need not project the others. */
static void find_over_projected(struct search *search, size_t number, const struct index *index)
{
    const struct table *table = search->tables.tables[number];
    struct arm arm = arm_of(search, table, index);
    if (index->projection == PROJECTION_KEYS_ONLY || arm.reads < READS_MIN) {
        return;
    }
    struct asked asked = asked_of(search, table, index);
    struct str unread =
        asked.all || asked.reads < READS_MIN ? STR_NULL : unread_of(search, number, index, &asked);
    if (str_is_null(unread)) {
        return;
    }
    finding_add(search,
                &(struct finding){
                    .kind = FINDING_INDEX_OVER_PROJECTED,
                    .table = table->name,
                    .index = index->name,
                    .evidence = TEXT(search,
                                     "%.*s.%.*s projects %.*s; the index consumed %.0f write "
                                     "units.",
                                     STR_ARG(table->name), STR_ARG(index->name), STR_ARG(unread),
                                     arm.write_units),
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
    size_t keys = search->surveys[number]->index_partitions[which];
    bool few_keys = keys > 0 && keys <= FEW_KEYS;
    if (index->kind != INDEX_GLOBAL || entries < NOT_SPARSE_ITEMS_MIN || entries < items ||
        key_schema_has(&table->key, key) || !few_keys) {
        return;
    }
    finding_add(
        search,
        &(struct finding){
            .kind = FINDING_INDEX_NOT_SPARSE,
            .table = table->name,
            .index = index->name,
            .evidence = TEXT(search,
                             "%.*s.%.*s holds all %lld items of the table under about "
                             "%zu partition keys.",
                             STR_ARG(table->name), STR_ARG(index->name), (long long)entries, keys),
            .remedy = TEXT(search,
                           "If only some items are asked for through it (the open ones, "
                           "the failed ones), give %.*s to these alone and remove it from "
                           "the others: the index then holds what is asked for.",
                           STR_ARG(key)),
            .numbers = TEXT(search, "\"entries\":%lld,\"items\":%lld,\"keys\":%zu",
                            (long long)entries, (long long)items, keys),
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
                            const struct survey_sort_keys *keys)
{
    bool numbers = keys->misplaced_numbers > 0;
    struct str index = keys->index < 0 ? STR_NULL : table->indexes[keys->index].name;
    struct str place = keys->index < 0
                           ? table->name
                           : TEXT(search, "%.*s.%.*s", STR_ARG(table->name), STR_ARG(index));
    struct str evidence =
        numbers ? TEXT(search,
                       "In %.*s the sort key \"%s\" comes before \"%s\": texts are ordered by "
                       "their bytes, not by the numbers in them.",
                       STR_ARG(place), keys->example[0], keys->example[1])
                : TEXT(search,
                       "Sort keys of %.*s hold dates such as \"%s\", which do not begin with the "
                       "year: their order is not that of time.",
                       STR_ARG(place), keys->example[0]);
    finding_add(search,
                &(struct finding){
                    .kind = FINDING_SORT_KEY_ORDER,
                    .table = table->name,
                    .index = index,
                    .evidence = evidence,
                    .remedy = numbers
                                  ? STR("Pad numbers with zeros to one length, or make the sort "
                                        "key a number.")
                                  : STR("Write times as ISO 8601 in UTC "
                                        "(2026-11-15T08:00:00Z), or as a number."),
                    .numbers = TEXT(search, "\"misplacedNumbers\":%u,\"misplacedDates\":%u",
                                    keys->misplaced_numbers, keys->misplaced_dates),
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
            .remedy = STR(FINDING_SPLIT_ITEM),
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
        find_over_projected(search, number, &table->indexes[i]);
        find_not_sparse(search, number, i);
    }
    for (size_t i = 0; i < search->surveys[number]->order_count; i++) {
        find_sort_order(search, table, &search->surveys[number]->orders[i]);
    }
    find_stored_large_item(search, table, search->surveys[number]);
}
