/* The insight API: finds the page, reads its parameters; overview, series, tables. Runs on slow
 * threads of the HTTP server. */
#include "meter/insight_internal.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "meter/simulation_internal.h"

/* --- parameters --- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static struct str decode(struct arena *arena, struct str text)
{
    char *out = arena_bytes(arena, text.len + 1);
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        int high = i + 2 < text.len ? hex_digit(text.data[i + 1]) : -1;
        int low = i + 2 < text.len ? hex_digit(text.data[i + 2]) : -1;
        if (text.data[i] == '%' && high >= 0 && low >= 0) {
            out[len++] = (char)(high * 16 + low);
            i += 2;
        } else {
            out[len++] = text.data[i] == '+' ? ' ' : text.data[i];
        }
    }
    return str_make(out, len);
}

struct str insight_parameter(struct insight *insight, const char *name, size_t nth)
{
    struct str rest = insight->request->query;
    while (rest.len > 0) {
        const char *end = memchr(rest.data, '&', rest.len);
        struct str pair = str_make(rest.data, end == NULL ? rest.len : (size_t)(end - rest.data));
        rest = str_skip(rest, MIN(pair.len + 1, rest.len));
        const char *equals = memchr(pair.data, '=', pair.len);
        size_t len = equals == NULL ? pair.len : (size_t)(equals - pair.data);
        if (str_eq(str_make(pair.data, len), str_from_c(name)) && nth-- == 0) {
            return decode(insight->arena, str_skip(pair, MIN(len + 1, pair.len)));
        }
    }
    return STR_NULL;
}

void insight_refuse(struct insight *insight, const char *format, ...)
{
    if (str_is_null(insight->mistake)) {
        va_list args;
        va_start(args, format);
        insight->mistake = arena_vformat(insight->arena, format, args);
        va_end(args);
    }
}

double insight_number(struct insight *insight, const char *name, double otherwise, double min,
                      double max)
{
    struct str text = insight_parameter(insight, name, 0);
    if (str_is_null(text)) {
        return otherwise;
    }
    char *end;
    const char *start = arena_copy_c(insight->arena, text).data;
    double number = strtod(start, &end);
    if (text.len == 0 || *end != 0 || !isfinite(number) || number < min || number > max) {
        insight_refuse(insight, "%s must be a number from %g to %g", name, min, max);
        return otherwise;
    }
    return number;
}

size_t insight_limit(struct insight *insight, size_t otherwise)
{
    return (size_t)insight_number(insight, "limit", (double)otherwise, 1, LIMIT_MAX);
}

void insight_write_text(struct buf *out, struct str text)
{
    if (str_is_null(text)) {
        JSON_PUT(out, "null");
    } else {
        json_write_string(out, text);
    }
}

/* --- tables of the engine --- */

struct describing {
    struct table_describe describe;
    bool done;
};

static void describe_done(struct engine_call *call)
{
    CONTAINER_OF(call, struct describing, describe.call)->done = true;
}

bool insight_table(struct insight *insight, struct str name, const struct table **out,
                   struct table_sizes *sizes)
{
    if (insight->mailbox == NULL) {
        insight->mailbox = waiting_mailbox_create();
    }
    struct describing *describing = ARENA_NEW(insight->arena, struct describing);
    describing->describe.name = name;
    describing->describe.call = (struct engine_call){
        .engine = insight->meter->engine,
        .arena = insight->arena,
        .home = waiting_mailbox_box(insight->mailbox),
        .err = ERR_INIT(insight->arena),
        .done = describe_done,
    };
    engine_describe_table(&describing->describe);
    waiting_mailbox_run(insight->mailbox, &describing->done);
    *out = describing->describe.table;
    *sizes = describing->describe.sizes;
    if (describing->describe.call.err.code != ERR_NONE) {
        table_release(*out);
        *out = NULL;
    }
    return *out != NULL;
}

void insight_all_tables(struct insight *insight, struct insight_tables *out)
{
    enum { ALL = 100000 };
    struct table_names names;
    engine_list_tables(insight->meter->engine, insight->arena, STR_NULL, ALL, &names);
    out->tables = ARENA_ARRAY(insight->arena, const struct table *, names.count);
    out->sizes = ARENA_ARRAY(insight->arena, struct table_sizes, names.count);
    out->count = 0;
    for (size_t i = 0; i < names.count; i++) {
        out->count += insight_table(insight, names.names[i], &out->tables[out->count],
                                    &out->sizes[out->count]);
    }
}

void insight_release_tables(struct insight_tables *tables)
{
    for (size_t i = 0; i < tables->count; i++) {
        table_release(tables->tables[i]);
    }
}

/* --- overview --- */

enum { OPERATIONS_MAX = 128 };

struct operation {
    struct str name;
    uint64_t calls;
    uint64_t errors;
};

/* Sums the calls of each operation. Returns how many operations there are. */
static size_t sum_operations(const struct meter *meter, struct operation operations[OPERATIONS_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < meter->pattern_count; i++) {
        const struct pattern *pattern = meter->patterns[i];
        size_t k = 0;
        while (k < count && !str_eq(operations[k].name, pattern->text.operation)) {
            k++;
        }
        if (k == count && count < OPERATIONS_MAX) {
            operations[count++] = (struct operation){.name = pattern->text.operation};
        }
        if (k < count) {
            operations[k].calls += pattern->sums.calls;
            operations[k].errors += pattern->sums.errors;
        }
    }
    return count;
}

static void write_operations(struct insight *insight)
{
    struct buf *out = insight->out;
    struct operation operations[OPERATIONS_MAX];
    size_t count = sum_operations(insight->meter, operations);
    JSON_PUT(out, ",\"operations\":[");
    for (size_t i = 0; i < count; i++) {
        buf_add(out, i > 0 ? STR(",{\"operation\":") : STR("{\"operation\":"));
        json_write_string(out, operations[i].name);
        buf_format(out, ",\"calls\":%llu,\"errors\":%llu}", (unsigned long long)operations[i].calls,
                   (unsigned long long)operations[i].errors);
    }
    JSON_PUT(out, "]");
}

/* The last 60 seconds and what there is of the current one. */
static struct moment last_minute(const struct meter *meter)
{
    struct moment sum = meter->second;
    int64_t first = MAX(meter->second_count - 60, 0);
    for (int64_t i = first; i < meter->second_count; i++) {
        const struct moment *second = &meter->seconds[i % SECONDS_KEPT];
        sum.calls += second->calls;
        sum.errors += second->errors;
        sum.read_units += second->read_units;
        sum.write_units += second->write_units;
        for (size_t k = 0; k < LATENCY_BUCKETS; k++) {
            sum.latencies[k] += second->latencies[k];
        }
    }
    return sum;
}

static void write_server(struct insight *insight)
{
    struct meter *meter = insight->meter;
    struct buf *out = insight->out;
    struct str store = meter->options.store;
    const char *colon = memchr(store.data, ':', store.len);
    store.len = colon == NULL ? store.len : (size_t)(colon - store.data);
    buf_format(out, "{\"server\":{\"version\":\"%s\",\"region\":", GRAMME_VERSION);
    json_write_string(out, engine_region(meter->engine));
    buf_format(out, ",\"startedAt\":%lld,\"now\":%lld,\"store\":", (long long)meter->started_ms,
               (long long)clock_wall_ms());
    json_write_string(out, store);
    buf_format(
        out,
        "},\"insight\":{\"enabled\":true,\"since\":%lld,\"observedMs\":%lld,\"patterns\":%zu,"
        "\"patternsMax\":%d,\"unshownPatterns\":%zu,\"foldedCalls\":%llu,"
        "\"uncountedKeys\":%llu,\"memoryBytes\":%zu,\"memoryBytesMax\":%d}",
        (long long)meter->since_ms, (long long)meter_observed_ms(meter),
        meter->pattern_count - meter->other_count, PATTERNS_MAX, meter->unshown_count,
        (unsigned long long)meter->folded_calls, (unsigned long long)meter->heat.lost,
        meter_bytes(meter), METER_BYTES_MAX);
}

static uint64_t insight_throttled(struct insight *insight)
{
    struct simulation *simulation = insight->meter->simulation;
    pthread_mutex_lock(&simulation->mutex);
    uint64_t throttled = simulation->throttled;
    pthread_mutex_unlock(&simulation->mutex);
    return throttled;
}

static uint64_t console_calls(const struct meter *meter)
{
    uint64_t sum = 0;
    for (int i = 0; i < meter->options.thread_count; i++) {
        sum += atomic_load_explicit(&meter->threads[i].console_calls, memory_order_relaxed);
    }
    return sum;
}

static void write_totals(struct insight *insight)
{
    struct meter *meter = insight->meter;
    const struct moment *totals = &meter->totals;
    buf_format(insight->out,
               ",\"totals\":{\"calls\":%llu,\"errors\":%llu,\"throttled\":%llu,"
               "\"readUnits\":%.15g,\"writeUnits\":%.15g,\"requestBytes\":%llu,"
               "\"answerBytes\":%llu,\"consoleCalls\":%llu}",
               (unsigned long long)totals->calls, (unsigned long long)totals->errors,
               (unsigned long long)insight_throttled(insight), totals->read_units,
               totals->write_units, (unsigned long long)meter->total_request_bytes,
               (unsigned long long)meter->total_answer_bytes,
               (unsigned long long)console_calls(meter));
}

static void write_last_minute(struct insight *insight)
{
    struct moment minute = last_minute(insight->meter);
    buf_format(insight->out,
               ",\"lastMinute\":{\"calls\":%llu,\"errors\":%llu,\"readUnits\":%.15g,"
               "\"writeUnits\":%.15g,\"latency\":{\"p50Us\":%llu,\"p99Us\":%llu}}",
               (unsigned long long)minute.calls, (unsigned long long)minute.errors,
               minute.read_units, minute.write_units,
               (unsigned long long)latency_quantile(minute.latencies, 0.5, 0),
               (unsigned long long)latency_quantile(minute.latencies, 0.99, 0));
}

static void overview(struct insight *insight)
{
    struct meter *meter = insight->meter;
    struct table_names names;
    size_t findings = insight_finding_count(insight);
    engine_list_tables(meter->engine, insight->arena, STR_NULL, 100000, &names);
    pthread_mutex_lock(&meter->mutex);
    meter_collect(meter);
    meter_tick(meter);
    write_server(insight);
    write_totals(insight);
    write_last_minute(insight);
    write_operations(insight);
    pthread_mutex_unlock(&meter->mutex);
    buf_format(insight->out, ",\"tableCount\":%zu,\"findingCount\":%zu}", names.count, findings);
}

/* --- series --- */

enum series_column {
    SERIES_CALLS,
    SERIES_ERRORS,
    SERIES_READ,
    SERIES_WRITE,
    SERIES_P50,
    SERIES_P99
};

static double column_of(const struct moment *moment, enum series_column column)
{
    switch (column) {
    case SERIES_CALLS:
        return (double)moment->calls;
    case SERIES_ERRORS:
        return (double)moment->errors;
    case SERIES_READ:
        return moment->read_units;
    case SERIES_WRITE:
        return moment->write_units;
    case SERIES_P50:
        return (double)latency_quantile(moment->latencies, 0.5, 0);
    default:
        return (double)latency_quantile(moment->latencies, 0.99, 0);
    }
}

/* The moments of a ring, oldest first. */
struct ring {
    const struct moment *moments;
    int64_t kept;
    int64_t count; /* so far */
    int64_t end_ms;
    int64_t step_ms;
};

static void write_series(struct buf *out, const struct ring *ring)
{
    static const char *const names[] = {"calls",      "errors", "readUnits",
                                        "writeUnits", "p50Us",  "p99Us"};
    int64_t shown = MIN(ring->count, ring->kept);
    int64_t from_ms = ring->end_ms - shown * ring->step_ms;
    buf_format(out, "{\"step\":%lld,\"from\":%lld,\"to\":%lld,\"at\":[",
               (long long)(ring->step_ms / 1000), (long long)from_ms, (long long)ring->end_ms);
    for (int64_t i = 0; i < shown; i++) {
        int64_t at_ms = from_ms + i * ring->step_ms;
        buf_format(out, "%s%lld", i > 0 ? "," : "", (long long)at_ms);
    }
    JSON_PUT(out, "]");
    for (int column = SERIES_CALLS; column <= SERIES_P99; column++) {
        buf_format(out, ",\"%s\":[", names[column]);
        for (int64_t i = ring->count - shown; i < ring->count; i++) {
            buf_format(out, "%s%.10g", i > ring->count - shown ? "," : "",
                       column_of(&ring->moments[i % ring->kept], (enum series_column)column));
        }
        JSON_PUT(out, "]");
    }
    JSON_PUT(out, "}");
}

/* The last hour of a table, as moments. */
static struct moment *table_moments(struct insight *insight, struct str name)
{
    struct moment *moments = ARENA_ARRAY(insight->arena, struct moment, TABLE_MINUTES_KEPT);
    const struct table_sums *table = map_get(&insight->meter->tables, name);
    for (size_t i = 0; table != NULL && i < TABLE_MINUTES_KEPT; i++) {
        moments[i].calls = (uint64_t)table->minutes[i].calls;
        moments[i].errors = (uint64_t)table->minutes[i].errors;
        moments[i].read_units = (double)table->minutes[i].read_units;
        moments[i].write_units = (double)table->minutes[i].write_units;
    }
    return moments;
}

static void series(struct insight *insight)
{
    struct meter *meter = insight->meter;
    struct str step = insight_parameter(insight, "step", 0);
    struct str table = insight_parameter(insight, "table", 0);
    bool minutes = str_eq(step, STR("minute"));
    if (!minutes && !str_is_null(step) && !str_eq(step, STR("second"))) {
        insight_refuse(insight, "step must be second or minute");
        return;
    }
    if (!str_is_null(table) && !minutes) {
        insight_refuse(insight, "table needs step=minute");
        return;
    }
    pthread_mutex_lock(&meter->mutex);
    meter_collect(meter);
    meter_tick(meter);
    struct ring ring = {meter->seconds, SECONDS_KEPT, meter->second_count, meter->second_ms, 1000};
    if (minutes) {
        ring = (struct ring){meter->minutes, MINUTES_KEPT, meter->minute_count, meter->minute_ms,
                             60000};
    }
    if (!str_is_null(table)) {
        ring.moments = table_moments(insight, table);
        ring.kept = TABLE_MINUTES_KEPT;
    }
    write_series(insight->out, &ring);
    pthread_mutex_unlock(&meter->mutex);
}

/* --- tables --- */

static void write_index(struct buf *out, const struct index *index, const struct table_sums *sums,
                        int64_t items, int64_t bytes)
{
    static const char *const projections[] = {
        [PROJECTION_ALL] = "ALL",
        [PROJECTION_KEYS_ONLY] = "KEYS_ONLY",
        [PROJECTION_INCLUDE] = "INCLUDE",
    };
    struct arm none = {0};
    const struct arm *arm = &none;
    for (size_t i = 0; sums != NULL && i < sums->arms.count; i++) {
        arm = str_eq(sums->arms.arms[i].name, index->name) ? &sums->arms.arms[i] : arm;
    }
    JSON_PUT(out, "{\"index\":");
    json_write_string(out, index->name);
    buf_format(out,
               ",\"kind\":\"%s\",\"projection\":\"%s\",\"items\":%lld,\"bytes\":%lld,"
               "\"readUnits\":%.15g,\"writeUnits\":%.15g,\"reads\":%llu}",
               index->kind == INDEX_GLOBAL ? "GLOBAL" : "LOCAL", projections[index->projection],
               (long long)items, (long long)bytes, arm->read_units, arm->write_units,
               (unsigned long long)arm->reads);
}

static struct table_moment recent(const struct meter *meter, const struct table_sums *sums)
{
    struct table_moment moment = {0};
    if (sums != NULL) {
        moment = sums->now;
        if (meter->minute_count > 0) { /* what is missing of the current minute */
            const struct table_moment *last =
                &sums->minutes[(meter->minute_count - 1) % TABLE_MINUTES_KEPT];
            float part = 1 - (float)(meter->second_count % 60) / 60;
            moment.calls += last->calls * part;
            moment.errors += last->errors * part;
            moment.read_units += last->read_units * part;
            moment.write_units += last->write_units * part;
        }
    }
    return moment;
}

static void write_table(struct insight *insight, const struct table *table,
                        const struct table_sizes *sizes)
{
    struct buf *out = insight->out;
    const struct table_sums *sums = map_get(&insight->meter->tables, table->name);
    struct table_moment minute = recent(insight->meter, sums);
    JSON_PUT(out, "{\"table\":");
    json_write_string(out, table->name);
    buf_format(out, ",\"billing\":\"%s\",\"class\":\"%s\",\"items\":%lld,\"bytes\":%lld",
               table->billing == BILLING_PROVISIONED ? "PROVISIONED" : "PAY_PER_REQUEST",
               table->class == TABLE_CLASS_STANDARD ? "STANDARD" : "STANDARD_INFREQUENT_ACCESS",
               (long long)sizes->item_count, (long long)sizes->bytes);
    buf_format(out,
               ",\"calls\":%llu,\"errors\":%llu,\"readUnits\":%.15g,\"writeUnits\":%.15g,"
               "\"lastMinute\":{\"calls\":%.6g,\"errors\":%.6g,\"readUnits\":%.6g,"
               "\"writeUnits\":%.6g},\"indexes\":[",
               (unsigned long long)(sums == NULL ? 0 : sums->calls),
               (unsigned long long)(sums == NULL ? 0 : sums->errors),
               sums == NULL ? 0 : sums->read_units, sums == NULL ? 0 : sums->write_units,
               (double)minute.calls, (double)minute.errors, (double)minute.read_units,
               (double)minute.write_units);
    for (size_t i = 0; i < table->index_count; i++) {
        buf_add(out, i > 0 ? STR(",") : STR(""));
        write_index(out, &table->indexes[i], sums, sizes->index_item_counts[i],
                    sizes->index_bytes[i]);
    }
    JSON_PUT(out, "]}");
}

struct loaded {
    struct str name;
    float load;
};

static int compare_load(const void *a, const void *b)
{
    float left = ((const struct loaded *)a)->load;
    float right = ((const struct loaded *)b)->load;
    return left > right ? -1 : left < right;
}

/* Names of all tables, those with the most units in the last minute first. */
static void sort_by_load(struct insight *insight, struct table_names *names)
{
    struct meter *meter = insight->meter;
    struct loaded *all = ARENA_ARRAY(insight->arena, struct loaded, names->count + 1);
    pthread_mutex_lock(&meter->mutex);
    meter_collect(meter);
    meter_tick(meter);
    for (size_t i = 0; i < names->count; i++) {
        struct table_moment moment = recent(meter, map_get(&meter->tables, names->names[i]));
        all[i] = (struct loaded){names->names[i], moment.read_units + moment.write_units};
    }
    pthread_mutex_unlock(&meter->mutex);
    qsort(all, names->count, sizeof(*all), compare_load);
    for (size_t i = 0; i < names->count; i++) {
        names->names[i] = all[i].name;
    }
}

/* Writes at most `limit` tables; one that was deleted meanwhile is left out. */
static void write_tables(struct insight *insight, const struct table_names *names, size_t limit)
{
    struct meter *meter = insight->meter;
    bool first = true;
    for (size_t i = 0; i < MIN(names->count, limit); i++) {
        const struct table *table;
        struct table_sizes sizes;
        if (!insight_table(insight, names->names[i], &table, &sizes)) {
            continue;
        }
        pthread_mutex_lock(&meter->mutex);
        if (first) {
            meter_collect(meter);
            meter_tick(meter);
        }
        buf_add(insight->out, first ? STR("") : STR(","));
        write_table(insight, table, &sizes);
        pthread_mutex_unlock(&meter->mutex);
        table_release(table);
        first = false;
    }
}

static void tables(struct insight *insight)
{
    struct engine *engine = insight->meter->engine;
    struct table_names all;
    struct table_names names;
    size_t limit = insight_limit(insight, LIMIT_DEFAULT);
    struct str after = insight_parameter(insight, "after", 0);
    struct str sort = insight_parameter(insight, "sort", 0);
    bool by_load = str_eq(sort, STR("load"));
    if (!by_load && !str_is_null(sort) && !str_eq(sort, STR("name"))) {
        insight_refuse(insight, "sort must be name or load");
        return;
    }
    engine_list_tables(engine, insight->arena, STR_NULL, 100000, &all);
    names = all;
    if (by_load) {
        sort_by_load(insight, &names);
    } else if (!str_is_null(after)) {
        engine_list_tables(engine, insight->arena, after, limit, &names);
    }
    buf_format(insight->out, "{\"total\":%zu,\"tables\":[", all.count);
    write_tables(insight, &names, limit);
    JSON_PUT(insight->out, "]}");
}

/* --- the whole --- */

static void reset(struct insight *insight)
{
    struct meter *meter = insight->meter;
    pthread_mutex_lock(&meter->mutex);
    meter_collect(meter);
    meter_restart(meter, clock_wall_ms());
    meter->is_reset = true;
    pthread_mutex_unlock(&meter->mutex);
    JSON_PUT(insight->out, "{}");
}

void insight_prices(struct insight *insight)
{
    prices_write(insight->out, &insight->meter->prices);
}

static const struct {
    const char *name;
    void (*get)(struct insight *insight);
    void (*post)(struct insight *insight);
    bool takes_rest; /* name/REST is a page too */
} pages[] = {
    {"overview", overview, NULL, false},
    {"series", series, NULL, false},
    {"tables", tables, NULL, false},
    {"patterns", insight_patterns, NULL, true},
    {"reset", NULL, reset, false},
    {"heat", insight_heat, NULL, false},
    {"cost", insight_cost, NULL, false},
    {"prices", insight_prices, NULL, false},
    {"findings", insight_findings, NULL, false},
    {"simulation", insight_simulation, insight_simulation, false},
};

static void run_page(struct insight *insight)
{
    const struct insight_request *request = insight->request;
    const char *slash = memchr(request->path.data, '/', request->path.len);
    size_t len = slash == NULL ? request->path.len : (size_t)(slash - request->path.data);
    struct str name = str_make(request->path.data, len);
    insight->rest = slash == NULL ? STR_NULL : str_skip(request->path, len + 1);
    for (size_t i = 0; i < COUNT_OF(pages); i++) {
        bool is_post = str_eq(request->method, STR("POST"));
        void (*run)(struct insight * insight) = is_post ? pages[i].post : pages[i].get;
        if (str_eq(name, str_from_c(pages[i].name)) && run != NULL &&
            (slash == NULL || pages[i].takes_rest)) {
            run(insight);
            return;
        }
    }
    insight->is_missing = true;
}

int insight_answer(struct meter *meter, const struct insight_request *request, struct buf *out)
{
    size_t start = out->len;
    struct insight insight = {
        .meter = meter, .request = request, .arena = request->arena, .out = out};
    run_page(&insight);
    waiting_mailbox_destroy(insight.mailbox);
    if (!insight.is_missing && str_is_null(insight.mistake)) {
        return 200;
    }
    out->len = start;
    JSON_PUT(out, "{\"error\":");
    json_write_string(out, insight.is_missing ? STR("not found") : insight.mistake);
    JSON_PUT(out, "}");
    return insight.is_missing ? 404 : 400;
}
