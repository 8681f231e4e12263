/* Samples the items of a table, for heat and findings. Runs on a slow thread of the HTTP server. */
#include "meter/survey_internal.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "engine/range.h"

enum { SURVEYS_MAX = 256, FRESH_MS = 60 * 1000, ITEMS_PER_SEGMENT = 5000 };

/* A read of one segment. */
struct surveying {
    struct items_read read;
    bool done;
    struct survey *survey;
    const struct table *table;
    struct survey_collection now; /* the collection that is being read */
    uint8_t now_whole[2048 + 8];  /* its whole key */
    size_t now_len;
    char last_sort[1024]; /* of the item before, in the same collection */
    size_t last_sort_len;
    bool has_last;
};

static void keep_collection(struct survey *survey, const struct survey_collection *collection)
{
    size_t at = survey->collection_count;
    if (collection->items == 0) {
        return;
    }
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

/* The number that a text ends with, and where it begins; false: it ends with no digit, or with more
 * than fit. */
static bool trailing_number(struct str text, size_t *out_at, uint64_t *out)
{
    size_t at = text.len;
    while (at > 0 && text.data[at - 1] >= '0' && text.data[at - 1] <= '9') {
        at--;
    }
    if (at == text.len || text.len - at > 18) {
        return false;
    }
    *out = 0;
    for (size_t i = at; i < text.len; i++) {
        *out = *out * 10 + (uint64_t)(text.data[i] - '0');
    }
    *out_at = at;
    return true;
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
    struct survey_sort_keys *keys = &surveying->survey->sort_keys;
    struct str last = str_make(surveying->last_sort, surveying->last_sort_len);
    size_t at;
    size_t last_at;
    uint64_t number;
    uint64_t last_number;
    keys->texts++;
    if (is_reversed_date(text)) {
        if (keys->misplaced_dates++ == 0 && keys->misplaced_numbers == 0) {
            show(keys->example[0], text);
        }
        return;
    }
    bool comparable = surveying->has_last && trailing_number(text, &at, &number) &&
                      trailing_number(last, &last_at, &last_number) && at == last_at &&
                      memcmp(text.data, last.data, at) == 0;
    if (comparable && number < last_number) {
        if (keys->misplaced_numbers++ == 0) {
            show(keys->example[0], last);
            show(keys->example[1], text);
        }
    }
}

/* --- reading --- */

static void begin_collection(struct surveying *surveying, struct value key)
{
    struct survey_collection *now = &surveying->now;
    *now = (struct survey_collection){.is_exact = true};
    now->key_len = (uint8_t)MIN(key.len, (size_t)HEAT_KEY_MAX);
    now->is_cut = key.len > HEAT_KEY_MAX;
    memcpy(now->key, key.data, now->key_len);
    surveying->now_len = MIN(key.len, sizeof(surveying->now_whole));
    memcpy(surveying->now_whole, key.data, surveying->now_len);
    surveying->has_last = false;
}

static void look_at(struct items_read *read, struct value item)
{
    struct surveying *surveying = CONTAINER_OF(read, struct surveying, read);
    struct survey *survey = surveying->survey;
    const struct key_schema *schema = &surveying->table->key;
    struct value key = value_map_get(item, schema->hash[0].name);
    uint64_t size = item_size(item);
    struct value now = {surveying->now_whole, surveying->now_len};
    if (!value_eq(now, key)) {
        keep_collection(survey, &surveying->now);
        begin_collection(surveying, key);
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
    struct value sort =
        schema->range_count == 0 ? VALUE_ABSENT : value_map_get(item, schema->range[0].name);
    if (value_type(sort) == VALUE_S) {
        struct str text = value_bytes(sort);
        look_at_sort_key(surveying, text);
        surveying->last_sort_len = MIN(text.len, sizeof(surveying->last_sort));
        memcpy(surveying->last_sort, text.data, surveying->last_sort_len);
        surveying->has_last = true;
    }
}

static void read_done(struct engine_call *call)
{
    CONTAINER_OF(call, struct surveying, read.call)->done = true;
}

/* Reads the beginning of one segment; returns whether it was all of it. */
static bool read_segment(struct insight *insight, struct survey *survey, const struct table *table,
                         uint32_t segment, uint32_t total)
{
    struct surveying *surveying = mem_zalloc(sizeof(*surveying));
    struct arena arena;
    arena_init(&arena);
    struct key_range range = range_of_scan(table, NULL, segment, total, &arena);
    surveying->survey = survey;
    surveying->table = table;
    surveying->read = (struct items_read){
        .call = {.engine = insight->meter->engine,
                 .arena = &arena,
                 .home = waiting_mailbox_box(insight->mailbox),
                 .err = ERR_INIT(&arena),
                 .done = read_done},
        .table = table,
        .lo = range.lo,
        .hi = range.hi,
        .limit = ITEMS_PER_SEGMENT,
        .emit = look_at,
    };
    engine_read_items(&surveying->read);
    waiting_mailbox_run(insight->mailbox, &surveying->done);
    bool is_whole = value_is_absent(surveying->read.last_key);
    surveying->now.is_exact = surveying->now.is_exact && is_whole;
    keep_collection(survey, &surveying->now);
    arena_finish(&arena);
    mem_free(surveying);
    return is_whole;
}

/* A segment is a part of the hash space, so a collection is in one segment only. */
static void make_survey(struct insight *insight, const struct table *table, int64_t items,
                        struct survey *survey)
{
    uint32_t segments = items <= ITEMS_PER_SEGMENT ? 1 : SURVEY_SEGMENTS;
    *survey = (struct survey){.has_table = true, .is_whole = true, .at_ms = clock_wall_ms()};
    for (uint32_t i = 0; i < segments; i++) {
        survey->is_whole = read_segment(insight, survey, table, i, segments) && survey->is_whole;
    }
}

static void remember(struct meter *meter, struct str name, const struct survey *survey)
{
    pthread_mutex_lock(&meter->mutex);
    struct survey *kept = map_get(&meter->surveys, name);
    if (kept == NULL) {
        if (meter->surveys.count >= SURVEYS_MAX) {
            survey_forget(meter);
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
    if (!insight_table(insight, name, &table, &sizes)) {
        return;
    }
    pthread_mutex_lock(&meter->mutex);
    const struct survey *kept = map_get(&meter->surveys, name);
    bool is_fresh = kept != NULL && clock_wall_ms() - kept->at_ms < FRESH_MS &&
                    clock_wall_ms() >= kept->at_ms &&
                    (!kept->is_whole || kept->items == (uint64_t)sizes.item_count);
    if (is_fresh) {
        *out = *kept;
    }
    pthread_mutex_unlock(&meter->mutex);
    if (!is_fresh) {
        make_survey(insight, table, sizes.item_count, out);
        remember(meter, name, out);
    }
    table_release(table);
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
}
