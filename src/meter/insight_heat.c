/* GET heat of the insight API: the most used partition keys of a table or index. Runs on a slow
 * thread of the HTTP server. */
#include "meter/insight_internal.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "meter/survey_internal.h"
#include "wire/value_json.h"

enum { READ_LIMIT = 3000, WRITE_LIMIT = 1000, KEYS_DEFAULT = 20 };

/* {"S": "text"} of an encoded key, which may be cut: then what there is of it. */
void heat_write_key(struct buf *out, const char *key, size_t len, bool is_cut)
{
    struct value value = {(const uint8_t *)key, len};
    if (!is_cut) {
        value_json_write(out, value);
        return;
    }
    uint32_t ignored;
    const uint8_t *bytes = value_varint(value.data + 1, &ignored);
    struct str text = str_make(bytes, len - (size_t)(bytes - value.data));
    if (value_type(value) == VALUE_S) {
        JSON_PUT(out, "{\"S\":");
        json_write_string(out, utf8_prefix(text, MIN(text.len, (size_t)64)));
    } else {
        JSON_PUT(out, "{\"B\":");
        json_write_base64(out, text);
    }
    JSON_PUT(out, "}");
}

static void write_key(struct insight *insight, const struct heat_place *place,
                      const struct heat_counter *counter)
{
    struct buf *out = insight->out;
    double share = (double)counter->count / (double)place->count;
    JSON_PUT(out, "{\"key\":");
    heat_write_key(out, counter->key, counter->key_len, counter->is_cut);
    buf_format(out,
               ",\"accesses\":%llu,\"error\":%llu,\"readUnits\":%.10g,\"writeUnits\":%.10g,"
               "\"share\":%.6g,\"peakReadUnitsPerSecond\":%.6g,\"peakWriteUnitsPerSecond\":%.6g,"
               "\"overReadLimit\":%s,\"overWriteLimit\":%s%s}",
               (unsigned long long)counter->count + place->offset,
               (unsigned long long)place->offset, counter->read_units, counter->write_units, share,
               (double)counter->peak_read, (double)counter->peak_write,
               counter->peak_read > READ_LIMIT ? "true" : "false",
               counter->peak_write > WRITE_LIMIT ? "true" : "false",
               counter->is_cut ? ",\"cut\":true" : "");
}

static void write_ranges(struct buf *out, const struct heat_place *place)
{
    JSON_PUT(out, ",\"ranges\":[");
    for (int i = 0; i < HEAT_RANGES; i++) {
        buf_format(out, "%s{\"from\":%.6g,\"to\":%.6g,\"readUnits\":%.6g,\"writeUnits\":%.6g}",
                   i > 0 ? "," : "", (double)i / HEAT_RANGES, (double)(i + 1) / HEAT_RANGES,
                   (double)place->range_reads[i], (double)place->range_writes[i]);
    }
    buf_format(out, "],\"limits\":{\"readUnitsPerSecond\":%d,\"writeUnitsPerSecond\":%d}",
               READ_LIMIT, WRITE_LIMIT);
}

static void write_place(struct insight *insight, const struct heat_place *place, size_t limit,
                        struct str key_name)
{
    struct meter *meter = insight->meter;
    struct buf *out = insight->out;
    const struct heat_counter *top[LIMIT_MAX];
    size_t count = heat_top(place, limit, top);
    uint64_t error_max = heat_error_max(place) + meter->heat.lost;
    JSON_PUT(out, "{\"table\":");
    json_write_string(out, place->table);
    JSON_PUT(out, ",\"index\":");
    insight_write_text(out, place->index);
    JSON_PUT(out, ",\"keyName\":");
    insight_write_text(out, key_name);
    buf_format(out,
               ",\"since\":%lld,\"accesses\":%llu,\"readUnits\":%.10g,\"writeUnits\":%.10g,"
               "\"keysTracked\":%zu,\"errorMax\":%llu,\"keys\":[",
               (long long)heat_since_ms(place), (unsigned long long)place->count, place->read_units,
               place->write_units, place->counter_count, (unsigned long long)error_max);
    for (size_t i = 0; i < count; i++) {
        buf_add(out, i > 0 ? STR(",") : STR(""));
        write_key(insight, place, top[i]);
    }
    JSON_PUT(out, "]");
    write_ranges(out, place);
}

struct listed {
    const struct heat_place *place;
    double units;
};

static int compare(const void *a, const void *b)
{
    double left = ((const struct listed *)a)->units;
    double right = ((const struct listed *)b)->units;
    return left > right ? -1 : left < right;
}

/* Lists the places that were accessed, those with the most units first. The caller frees *out. */
static size_t list_places(const struct heat *heat, struct listed **out)
{
    struct listed *all = mem_alloc((heat->place_count + 1) * sizeof(*all));
    size_t count = 0;
    for (size_t i = 0; heat->slots != NULL && i < HEAT_PLACE_SLOTS; i++) {
        const struct heat_place *place = heat->slots[i];
        if (place != NULL && place->count > 0) {
            all[count++] = (struct listed){place, place->read_units + place->write_units};
        }
    }
    qsort(all, count, sizeof(*all), compare);
    *out = all;
    return count;
}

static void write_places(struct insight *insight, size_t limit)
{
    struct buf *out = insight->out;
    struct listed *all;
    size_t count = list_places(&insight->meter->heat, &all);
    buf_format(out, "{\"total\":%zu,\"places\":[", count);
    for (size_t i = 0; i < MIN(count, limit); i++) {
        const struct heat_counter *top;
        const struct heat_place *place = all[i].place;
        double share = heat_top(place, 1, &top) > 0 ? (double)top->count / (double)place->count : 0;
        buf_add(out, i > 0 ? STR(",{\"table\":") : STR("{\"table\":"));
        json_write_string(out, place->table);
        JSON_PUT(out, ",\"index\":");
        insight_write_text(out, place->index);
        buf_format(out, ",\"accesses\":%llu,\"units\":%.10g,\"hottestShare\":%.6g}",
                   (unsigned long long)place->count, all[i].units, share);
    }
    JSON_PUT(out, "]}");
    mem_free(all);
}

/* The name of the partition key of a table or index; STR_NULL: there is none any more. */
static struct str key_name_of(struct insight *insight, struct str table_name, struct str index_name)
{
    const struct table *table;
    struct table_sizes sizes;
    struct str name = STR_NULL;
    if (insight_table(insight, table_name, &table, &sizes)) {
        const struct index *index = index_name.len > 0 ? table_index(table, index_name) : NULL;
        if (index_name.len == 0 || index != NULL) {
            const struct key_schema *key = index != NULL ? &index->key : &table->key;
            name = arena_copy(insight->arena, key->hash[0].name);
        }
        table_release(table);
    }
    return name;
}

void insight_heat(struct insight *insight)
{
    struct meter *meter = insight->meter;
    struct str table = insight_parameter(insight, "table", 0);
    struct str index = insight_parameter(insight, "index", 0);
    size_t limit = insight_limit(insight, str_is_null(table) ? LIMIT_DEFAULT : KEYS_DEFAULT);
    struct survey survey = {0};
    struct str key_name = str_is_null(table) ? STR_NULL : key_name_of(insight, table, index);
    if (!str_is_null(table) && index.len == 0) {
        survey_table(insight, table, &survey); /* reads items: before the mutex is taken */
    }
    pthread_mutex_lock(&meter->mutex);
    meter_collect(meter);
    const struct heat_place *place = heat_find(&meter->heat, table, index);
    if (str_is_null(table)) {
        write_places(insight, limit);
    } else if (place == NULL && !survey.has_table) {
        insight->is_missing = true;
    } else {
        struct heat_place none = {.table = table, .index = index.len > 0 ? index : STR_NULL};
        write_place(insight, place != NULL ? place : &none, limit, key_name);
        survey_write_collections(insight->out, &survey);
        JSON_PUT(insight->out, "}");
    }
    pthread_mutex_unlock(&meter->mutex);
}
