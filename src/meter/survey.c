/* Samples the items of a table, for heat and findings. Runs on a slow thread of the HTTP server. */
#include "meter/survey_internal.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "engine/range.h"

enum {
    SURVEYS_MAX = 1000,
    SURVEYED_AT_ONCE = 200,
    FRESH_MS = 60 * 1000,
    ITEMS_PER_SEGMENT = 5000,
    ITEMS_PER_SAMPLE = 32 * 1000, /* at most, on average, in the segments of one sample */
    HOT_KEYS = 8,                 /* whose collections are measured */
    ENTRIES_PER_INDEX = 1000,
    PARTITIONS_ENTRIES_MIN = 1000, /* an index with fewer entries is not examined for its keys */
};

/* A read of one segment. */
struct surveying {
    struct items_read read;
    bool done;
    struct survey *survey;
    const struct table *table;
    const struct index *index; /* NULL: the table itself */
    struct survey_sort_keys sort_keys;
    struct survey_collection now; /* the collection that is being read */
    uint64_t now_hash;            /* of its whole key */
    char last_sort[1024];         /* of the item before, in the same collection */
    size_t last_sort_len;
    bool has_last;
};

/* Returns the place of a collection among those that are kept, or collection_count if it is not
 * there. A key that is cut is never found, because several collections may begin with it. */
static size_t find_collection(const struct survey *survey, const struct survey_collection *wanted)
{
    size_t at = 0;
    while (at < survey->collection_count &&
           (wanted->is_cut || survey->collections[at].is_cut ||
            !str_eq(str_make(survey->collections[at].key, survey->collections[at].key_len),
                    str_make(wanted->key, wanted->key_len)))) {
        at++;
    }
    return at;
}

static void keep_collection(struct survey *survey, const struct survey_collection *collection)
{
    size_t known = find_collection(survey, collection);
    if (collection->items == 0) {
        return;
    }
    if (known < survey->collection_count) {
        if (survey->collections[known].bytes >= collection->bytes) {
            return;
        }
        survey->collection_count--;
        memmove(&survey->collections[known], &survey->collections[known + 1],
                (survey->collection_count - known) * sizeof(*survey->collections));
    }
    size_t at = survey->collection_count;
    if (at == SURVEY_COLLECTIONS) {
        if (survey->collections[at - 1].bytes >= collection->bytes) {
            return;
        }
        at--;
    } else {
        survey->collection_count++;
    }
    while (at > 0 && survey->collections[at - 1].bytes < collection->bytes) {
        survey->collections[at] = survey->collections[at - 1];
        at--;
    }
    survey->collections[at] = *collection;
}

/* --- sort keys --- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c | 32) >= 'a' && (c | 32) <= 'z';
}

/* The number that begins at `at`; false: there is none, it has more digits than fit, or it is part
 * of something else, such as a hexadecimal number. */
static bool number_at(struct str text, size_t at, uint64_t *out)
{
    size_t end = at;
    *out = 0;
    for (; end < text.len && is_digit(text.data[end]); end++) {
        *out = *out * 10 + (uint64_t)(text.data[end] - '0');
    }
    return end > at && end - at <= 18 && (end == text.len || !is_letter(text.data[end]));
}

/* Whether two neighbours, in the order of their bytes, differ first in a number, and that of the
 * second is the smaller one: "TASK#10" and "TASK#9", "P#10#a" and "P#9#b". Digits behind a decimal
 * point are in the right order. */
static bool is_misplaced(struct str first, struct str second)
{
    size_t at = 0;
    size_t end = MIN(first.len, second.len);
    uint64_t left;
    uint64_t right;
    while (at < end && first.data[at] == second.data[at]) {
        at++;
    }
    while (at > 0 && is_digit(first.data[at - 1])) {
        at--; /* to the beginning of the number */
    }
    bool is_fraction = at > 1 && first.data[at - 1] == '.' && is_digit(first.data[at - 2]);
    return !is_fraction && number_at(first, at, &left) && number_at(second, at, &right) &&
           right < left;
}

/* "31.12.2025", "12/31/2025": two numbers of one or two digits, then a year. */
static bool is_reversed_date(struct str text)
{
    for (size_t i = 4; i + 5 <= text.len; i++) {
        const char *at = text.data + i;
        char separator = at[0];
        bool year = (separator == '/' || separator == '.' || separator == '-') &&
                    (at[1] == '1' || at[1] == '2') && (at[2] == '9' || at[2] == '0') &&
                    at[3] >= '0' && at[3] <= '9' && at[4] >= '0' && at[4] <= '9' &&
                    (i + 5 == text.len || at[5] < '0' || at[5] > '9');
        if (year && at[-1] >= '0' && at[-1] <= '9' &&
            (at[-2] == separator || at[-3] == separator) && at[-4] != '-') {
            return true;
        }
    }
    return false;
}

static void show(char out[SURVEY_EXAMPLE], struct str text)
{
    text = utf8_prefix(text, MIN(text.len, (size_t)SURVEY_EXAMPLE - 1));
    memcpy(out, text.data, text.len);
    out[text.len] = 0;
}

static void look_at_sort_key(struct surveying *surveying, struct str text)
{
    struct survey_sort_keys *keys = &surveying->sort_keys;
    struct str last = str_make(surveying->last_sort, surveying->last_sort_len);
    keys->texts++;
    if (is_reversed_date(text)) {
        if (keys->misplaced_dates++ == 0 && keys->misplaced_numbers == 0) {
            show(keys->example[0], text);
        }
    } else if (surveying->has_last && is_misplaced(last, text)) {
        if (keys->misplaced_numbers++ == 0) {
            show(keys->example[0], last);
            show(keys->example[1], text);
        }
    }
    surveying->last_sort_len = MIN(text.len, sizeof(surveying->last_sort));
    memcpy(surveying->last_sort, text.data, surveying->last_sort_len);
    surveying->has_last = true;
}

/* Keeps the counts of a table or index if its order is wrong. */
static void keep_order(struct survey *survey, const struct survey_sort_keys *keys)
{
    bool is_wrong = keys->misplaced_numbers > 0 || keys->misplaced_dates * 2 > keys->texts;
    if (is_wrong && survey->order_count < SURVEY_ORDERS) {
        survey->orders[survey->order_count++] = *keys;
    }
}

/* --- reading --- */

static void begin_collection(struct surveying *surveying, struct value key)
{
    struct survey_collection *now = &surveying->now;
    *now = (struct survey_collection){.is_exact = true, .sample = surveying->survey->number};
    now->key_len = (uint8_t)MIN(key.len, (size_t)HEAT_KEY_MAX);
    now->is_cut = key.len > HEAT_KEY_MAX;
    memcpy(now->key, key.data, now->key_len);
}

static const struct key_schema *schema_of(const struct surveying *surveying)
{
    return surveying->index != NULL ? &surveying->index->key : &surveying->table->key;
}

/* Whether the item is in the same collection as the one before; it is from now on. */
static bool is_same_collection(struct surveying *surveying, struct value item)
{
    const struct key_schema *schema = schema_of(surveying);
    uint64_t hash = 1;
    for (size_t i = 0; i < schema->hash_count; i++) {
        struct value key = value_map_get(item, schema->hash[i].name);
        hash = hash_64_seeded(str_make(key.data, key.len), hash);
    }
    bool is_same = hash == surveying->now_hash;
    surveying->now_hash = hash;
    surveying->has_last = surveying->has_last && is_same;
    return is_same;
}

static void look_at_order(struct surveying *surveying, struct value item)
{
    const struct key_schema *schema = schema_of(surveying);
    struct value sort =
        schema->range_count == 0 ? VALUE_ABSENT : value_map_get(item, schema->range[0].name);
    if (value_type(sort) == VALUE_S) {
        look_at_sort_key(surveying, value_bytes(sort));
    }
}

/* Remembers the names of attributes. */
static void look_at_attributes(struct survey *survey, struct value item)
{
    struct value_iter iter = value_iter(item);
    struct value_name name;
    struct value value;
    while (survey->attribute_count < SURVEY_ATTRIBUTES && value_next_entry(&iter, &name, &value)) {
        uint64_t hash = hash_64(name.text);
        size_t i = 0;
        while (i < survey->attribute_count && survey->attributes[i] != hash) {
            i++;
        }
        if (i == survey->attribute_count) {
            survey->attributes[survey->attribute_count++] = hash;
        }
    }
}

static void look_at(struct items_read *read, struct value item)
{
    enum { ATTRIBUTES_OF = 1000 }; /* items */
    struct surveying *surveying = CONTAINER_OF(read, struct surveying, read);
    struct survey *survey = surveying->survey;
    uint64_t size = item_size(item);
    if (survey->items < ATTRIBUTES_OF) {
        look_at_attributes(survey, item);
    }
    if (!is_same_collection(surveying, item)) {
        keep_collection(survey, &surveying->now);
        begin_collection(surveying, value_map_get(item, surveying->table->key.hash[0].name));
    }
    surveying->now.items++;
    surveying->now.bytes += size;
    survey->items++;
    if (size > survey->item_bytes_max) {
        survey->item_bytes_max = size;
        survey->largest_key_len = surveying->now.key_len;
        survey->largest_key_cut = surveying->now.is_cut;
        memcpy(survey->largest_key, surveying->now.key, surveying->now.key_len);
    }
    look_at_order(surveying, item);
}

static void look_at_entry(struct items_read *read, struct value entry)
{
    struct surveying *surveying = CONTAINER_OF(read, struct surveying, read);
    surveying->now.items++;
    (void)is_same_collection(surveying, entry);
    look_at_order(surveying, entry);
}

static void read_done(struct engine_call *call)
{
    CONTAINER_OF(call, struct surveying, read.call)->done = true;
}

/* What is read of a table or index. */
struct segment {
    const struct index *index;
    uint32_t number;
    uint32_t total;
    uint32_t limit;
    bool backward;
    void (*emit)(struct items_read *read, struct value item);
};

/* Reads the beginning of a range, or its end if backward; returns whether it was all of it. */
static bool read_range(struct insight *insight, struct surveying *surveying,
                       const struct segment *segment, struct key_range range, struct arena *arena)
{
    surveying->index = segment->index;
    surveying->done = false;
    surveying->read = (struct items_read){
        .call = {.engine = insight->meter->engine,
                 .arena = arena,
                 .home = waiting_mailbox_box(insight->mailbox),
                 .err = ERR_INIT(arena),
                 .done = read_done},
        .table = surveying->table,
        .index = segment->index,
        .lo = range.lo,
        .hi = range.hi,
        .limit = segment->limit,
        .backward = segment->backward,
        .emit = segment->emit,
    };
    engine_read_items(&surveying->read);
    waiting_mailbox_run(insight->mailbox, &surveying->done);
    return surveying->read.call.err.code == ERR_NONE && value_is_absent(surveying->read.last_key);
}

static bool read_segment(struct insight *insight, struct surveying *surveying,
                         const struct segment *segment)
{
    struct arena arena;
    arena_init(&arena);
    struct key_range range =
        range_of_scan(surveying->table, segment->index, segment->number, segment->total, &arena);
    bool is_whole = read_range(insight, surveying, segment, range, &arena);
    arena_finish(&arena);
    return is_whole;
}

/* A segment is a part of the hash space, so a collection is in one segment only. `rounds`: how many
 * samples it takes to read all segments. */
static void survey_items(struct insight *insight, struct surveying *surveying, uint32_t rounds)
{
    struct survey *survey = surveying->survey;
    uint32_t segments = survey->items_total <= ITEMS_PER_SEGMENT ? 1 : SURVEY_SEGMENTS;
    surveying->sort_keys.index = -1;
    survey->is_whole = rounds == 1;
    for (uint32_t i = 0; i < segments; i++) {
        struct segment segment = {.number = i * rounds + survey->number % rounds,
                                  .total = segments * rounds,
                                  .limit = ITEMS_PER_SEGMENT,
                                  .emit = look_at};
        surveying->now_hash = 0;
        surveying->now = (struct survey_collection){0};
        bool is_whole = read_segment(insight, surveying, &segment);
        surveying->now.is_exact = surveying->now.is_exact && is_whole;
        keep_collection(survey, &surveying->now);
        survey->is_whole = survey->is_whole && is_whole;
    }
    keep_order(survey, &surveying->sort_keys);
}

static void measure(struct items_read *read, struct value item)
{
    struct surveying *surveying = CONTAINER_OF(read, struct surveying, read);
    surveying->now.items++;
    surveying->now.bytes += item_size(item);
}

/* Copies the partition keys that were written most, of all that have a counter. A key that is cut
 * is not known. */
static size_t hot_keys(struct meter *meter, const struct table *table,
                       struct survey_collection out[HOT_KEYS])
{
    const struct heat_counter *top[HEAT_COUNTERS_MAX];
    size_t count = 0;
    pthread_mutex_lock(&meter->mutex);
    const struct heat_place *place = heat_find(&meter->heat, table->name, STR_NULL);
    size_t top_count =
        place == NULL || place->space != table->space ? 0 : heat_top(place, HEAT_COUNTERS_MAX, top);
    for (size_t n = 0; n < HOT_KEYS; n++) {
        size_t best = top_count;
        for (size_t i = 0; i < top_count; i++) {
            bool is_better = top[i] != NULL && !top[i]->is_cut && top[i]->write_units > 0 &&
                             (best == top_count || top[i]->write_units > top[best]->write_units);
            best = is_better ? i : best;
        }
        if (best < top_count) {
            out[count] = (struct survey_collection){.key_len = top[best]->key_len};
            memcpy(out[count++].key, top[best]->key, top[best]->key_len);
            top[best] = NULL;
        }
    }
    pthread_mutex_unlock(&meter->mutex);
    return count;
}

static void survey_hot_keys(struct insight *insight, struct surveying *surveying)
{
    struct survey_collection keys[HOT_KEYS];
    size_t count = hot_keys(insight->meter, surveying->table, keys);
    for (size_t i = 0; i < count; i++) {
        struct arena arena;
        arena_init(&arena);
        struct value key = {(const uint8_t *)keys[i].key, keys[i].key_len};
        struct key_condition condition = {.hash = {key}};
        struct key_range range =
            range_of_query(insight->meter->engine, surveying->table, NULL, &condition, &arena);
        struct segment segment = {.limit = ITEMS_PER_SEGMENT, .emit = measure};
        begin_collection(surveying, key);
        surveying->now.is_exact = read_range(insight, surveying, &segment, range, &arena);
        keep_collection(surveying->survey, &surveying->now);
        arena_finish(&arena);
    }
}

/* Takes over the collections of earlier samples whose segments have not been read since. */
static void keep_earlier(struct survey *survey, const struct survey *before, uint32_t rounds)
{
    for (size_t i = 0; i < before->collection_count; i++) {
        const struct survey_collection *collection = &before->collections[i];
        if (survey->number - collection->sample < rounds &&
            find_collection(survey, collection) == survey->collection_count) {
            keep_collection(survey, collection);
        }
    }
}

static void survey_order_of_index(struct insight *insight, struct surveying *surveying, int place)
{
    struct segment segment = {.index = &surveying->table->indexes[place],
                              .total = 1,
                              .limit = ENTRIES_PER_INDEX,
                              .emit = look_at_entry};
    surveying->sort_keys = (struct survey_sort_keys){.index = place};
    surveying->now_hash = 0;
    (void)read_segment(insight, surveying, &segment);
    keep_order(surveying->survey, &surveying->sort_keys);
}

/* Counts partition keys: the first and the last entry of each segment have one or two. Two keys are
 * always counted as two; of three in one segment one is missed. */
static void survey_partitions(struct insight *insight, struct surveying *surveying, int place)
{
    uint8_t count = 0;
    for (uint32_t i = 0; i < SURVEY_PARTITIONS; i++) {
        struct segment segment = {.index = &surveying->table->indexes[place],
                                  .number = i,
                                  .total = SURVEY_PARTITIONS,
                                  .limit = 1,
                                  .emit = look_at_entry};
        surveying->now.items = 0;
        (void)read_segment(insight, surveying, &segment);
        if (surveying->now.items > 0) {
            uint64_t first = surveying->now_hash;
            segment.backward = true;
            (void)read_segment(insight, surveying, &segment);
            count = (uint8_t)(count + (surveying->now_hash == first ? 1 : 2));
        }
    }
    surveying->survey->index_partitions[place] = count;
}

static void survey_indexes(struct insight *insight, struct surveying *surveying,
                           const struct table *table, const struct table_sizes *sizes)
{
    for (size_t i = 0; i < table->index_count; i++) {
        const struct index *index = &table->indexes[i];
        if (index->key.range_count > 0 && index->status == STATUS_ACTIVE) {
            survey_order_of_index(insight, surveying, (int)i);
        }
        if (index->kind == INDEX_GLOBAL && sizes->index_item_counts[i] >= PARTITIONS_ENTRIES_MIN &&
            sizes->index_item_counts[i] >= sizes->item_count) {
            survey_partitions(insight, surveying, (int)i);
        }
    }
}

/* `before`: the sample before this one, zeroed if there is none of this table. */
static void make_survey(struct insight *insight, const struct table *table,
                        const struct table_sizes *sizes, const struct survey *before,
                        struct survey *survey)
{
    struct surveying *surveying = mem_zalloc(sizeof(*surveying));
    *survey = (struct survey){
        .has_table = true,
        .number = before->has_table ? before->number + 1 : 0,
        .at_ms = clock_wall_ms(),
        .version = table->version,
        .space = table->space,
        .items_total = (uint64_t)sizes->item_count,
    };
    surveying->survey = survey;
    surveying->table = table;
    uint32_t rounds = (uint32_t)MIN(survey->items_total / ITEMS_PER_SAMPLE + 1, UINT32_MAX / 16);
    survey_items(insight, surveying, rounds);
    if (!survey->is_whole) {
        survey_hot_keys(insight, surveying);
    }
    keep_earlier(survey, before, rounds);
    survey_indexes(insight, surveying, table, sizes);
    mem_free(surveying);
}

static bool is_of(const struct survey *survey, const struct table *table)
{
    return survey->version == table->version && survey->space == table->space;
}

/* Forgets the oldest sample. The mutex is held. */
static void forget_oldest(struct meter *meter)
{
    size_t at = 0;
    struct str name;
    struct str oldest = STR_NULL;
    void *value;
    int64_t oldest_ms = 0;
    while (map_next(&meter->surveys, &at, &name, &value)) {
        const struct survey *survey = value;
        if (str_is_null(oldest) || survey->at_ms < oldest_ms) {
            oldest = name;
            oldest_ms = survey->at_ms;
        }
    }
    mem_free(map_remove(&meter->surveys, oldest));
    meter->survey_bytes -= sizeof(struct survey);
}

static void remember(struct meter *meter, struct str name, const struct survey *survey)
{
    pthread_mutex_lock(&meter->mutex);
    struct survey *kept = map_get(&meter->surveys, name);
    if (kept == NULL) {
        if (meter->surveys.count >= SURVEYS_MAX) {
            forget_oldest(meter);
        }
        kept = mem_alloc(sizeof(*kept));
        map_put(&meter->surveys, name, kept);
        meter->survey_bytes += sizeof(*kept);
    }
    *kept = *survey;
    pthread_mutex_unlock(&meter->mutex);
}

void survey_forget(struct meter *meter)
{
    size_t at = 0;
    struct str name;
    void *survey;
    while (map_next(&meter->surveys, &at, &name, &survey)) {
        mem_free(survey);
    }
    map_finish(&meter->surveys);
    map_init(&meter->surveys);
    meter->survey_bytes = 0;
}

void survey_table(struct insight *insight, struct str name, struct survey *out)
{
    struct meter *meter = insight->meter;
    const struct table *table;
    struct table_sizes sizes;
    struct survey before = {0};
    if (!insight_table(insight, name, &table, &sizes)) {
        return;
    }
    pthread_mutex_lock(&meter->mutex);
    const struct survey *kept = map_get(&meter->surveys, name);
    bool is_fresh = kept != NULL && clock_wall_ms() - kept->at_ms < FRESH_MS &&
                    clock_wall_ms() >= kept->at_ms && is_of(kept, table) &&
                    (!kept->is_whole || kept->items == (uint64_t)sizes.item_count);
    if (is_fresh) {
        *out = *kept;
    } else if (kept != NULL && kept->space == table->space) {
        before = *kept;
    }
    pthread_mutex_unlock(&meter->mutex);
    if (!is_fresh) {
        make_survey(insight, table, &sizes, &before, out);
        remember(meter, name, out);
    }
    table_release(table);
}

struct due {
    size_t number; /* of the table */
    int64_t at_ms; /* of its sample; 0: it has none */
};

static int compare_due(const void *a, const void *b)
{
    const struct due *left = a;
    const struct due *right = b;
    if (left->at_ms != right->at_ms) {
        return left->at_ms < right->at_ms ? -1 : 1;
    }
    return left->number < right->number ? -1 : left->number > right->number;
}

const struct survey *survey_kept(const struct meter *meter, const struct table *table)
{
    static const struct survey none;
    const struct survey *kept = map_get(&meter->surveys, table->name);
    return kept != NULL && is_of(kept, table) ? kept : &none;
}

void survey_tables(struct insight *insight, const struct insight_tables *tables)
{
    struct meter *meter = insight->meter;
    struct due *due = ARENA_ARRAY(insight->arena, struct due, tables->count + 1);
    pthread_mutex_lock(&meter->mutex);
    for (size_t i = 0; i < tables->count; i++) {
        due[i] = (struct due){i, survey_kept(meter, tables->tables[i])->at_ms};
    }
    pthread_mutex_unlock(&meter->mutex);
    qsort(due, tables->count, sizeof(*due), compare_due);
    for (size_t i = 0; i < MIN(tables->count, (size_t)SURVEYED_AT_ONCE); i++) {
        struct survey survey;
        survey_table(insight, tables->tables[due[i].number]->name, &survey);
    }
}

void survey_write_collections(struct buf *out, const struct survey *survey)
{
    JSON_PUT(out, ",\"collections\":[");
    for (size_t i = 0; i < survey->collection_count; i++) {
        const struct survey_collection *collection = &survey->collections[i];
        buf_add(out, i > 0 ? STR(",{\"key\":") : STR("{\"key\":"));
        heat_write_key(out, collection->key, collection->key_len, collection->is_cut);
        buf_format(out, ",\"items\":%llu,\"bytes\":%llu,\"exact\":%s}",
                   (unsigned long long)collection->items, (unsigned long long)collection->bytes,
                   collection->is_exact ? "true" : "false");
    }
    if (survey->at_ms == 0) {
        JSON_PUT(out, "],\"collectionsAt\":null");
    } else {
        buf_format(out, "],\"collectionsAt\":%lld", (long long)survey->at_ms);
    }
    buf_format(out, ",\"itemsExamined\":%llu,\"itemsTotal\":%llu",
               (unsigned long long)survey->items, (unsigned long long)survey->items_total);
}
