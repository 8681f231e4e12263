/* GET and POST simulation of the insight API: the settings of simulated faults. Runs on a slow
 * thread of the HTTP server. */
#include "base/mem.h"
#include "json/reader.h"
#include "meter/insight_internal.h"
#include "meter/simulation_internal.h"

static const char *const throttle_names[] = {"off", "provisioned", "onDemand"};

/* Numbers of the settings, by name. */
static const struct {
    const char *name;
    size_t offset;
    double max;
} numbers[] = {
    {"readUnits", offsetof(struct simulation_settings, read_units), 1e6},
    {"writeUnits", offsetof(struct simulation_settings, write_units), 1e6},
    {"burstSeconds", offsetof(struct simulation_settings, burst_seconds), 300},
    {"throttleRate", offsetof(struct simulation_settings, throttle_rate), 1},
    {"errorRate", offsetof(struct simulation_settings, error_rate), 1},
    {"conflictRate", offsetof(struct simulation_settings, conflict_rate), 1},
    {"staleReadRate", offsetof(struct simulation_settings, stale_read_rate), 1},
    {"indexLagMs", offsetof(struct simulation_settings, index_lag_ms), 60000},
    {"latencyMs", offsetof(struct simulation_settings, latency_ms), 60000},
    {"latencyJitterMs", offsetof(struct simulation_settings, latency_jitter_ms), 60000},
    {"latencyRate", offsetof(struct simulation_settings, latency_rate), 1},
    {"stepMs", offsetof(struct simulation_settings, step_ms), 60000},
};

/* Of stepMs, unless it is 0: the clock that it advances counts microseconds. */
#define STEP_MS_MIN 0.001

static double *number_of(struct simulation_settings *settings, size_t i)
{
    return (double *)((char *)settings + numbers[i].offset);
}

static struct simulation_settings default_settings(void)
{
    return (struct simulation_settings){.read_units = -1, .write_units = -1, .latency_rate = 1};
}

/* --- writing --- */

static void write_settings(struct buf *out, struct simulation_settings *settings)
{
    buf_format(out, "{\"throttle\":\"%s\",\"partitionLimits\":%s",
               throttle_names[settings->throttle], settings->partition_limits ? "true" : "false");
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        double number = *number_of(settings, i);
        if (number < 0) {
            buf_format(out, ",\"%s\":null", numbers[i].name);
        } else {
            buf_format(out, ",\"%s\":%.10g", numbers[i].name, number);
        }
    }
    JSON_PUT(out, "}");
}

static void write_state(struct buf *out, struct simulation *simulation)
{
    size_t at = 0;
    struct str name;
    void *settings;
    bool first = true;
    buf_format(out, "{\"seed\":%llu,\"tables\":{", (unsigned long long)simulation->seed);
    while (map_next(&simulation->settings, &at, &name, &settings)) {
        buf_add(out, first ? STR("") : STR(","));
        json_write_string(out, name);
        JSON_PUT(out, ":");
        write_settings(out, settings);
        first = false;
    }
    buf_format(out,
               "},\"counts\":{\"throttled\":%llu,\"errors\":%llu,\"conflicts\":%llu,"
               "\"staleReads\":%llu,\"delayed\":%llu}}",
               (unsigned long long)simulation->throttled, (unsigned long long)simulation->errors,
               (unsigned long long)simulation->conflicts,
               (unsigned long long)simulation->stale_reads,
               (unsigned long long)simulation->delayed_count);
}

/* --- reading --- */

enum { TABLES_PER_REQUEST = 256 };

/* A request that is understood, before any of it takes effect. */
struct wanted {
    bool has_seed;
    double seed;
    struct {
        struct str name;
        bool is_removed;
        struct simulation_settings settings;
    } tables[TABLES_PER_REQUEST];
    size_t count;
};

static bool read_throttle(struct json_reader *reader, struct simulation_settings *settings)
{
    struct json_string mode;
    if (!json_read_string(reader, &mode)) {
        return false;
    }
    for (size_t i = 0; i < COUNT_OF(throttle_names); i++) {
        if (str_eq(mode.text, str_from_c(throttle_names[i]))) {
            settings->throttle = (enum throttle_mode)i;
            return true;
        }
    }
    return false;
}

static bool read_setting(struct json_reader *reader, struct str name,
                         struct simulation_settings *settings)
{
    if (str_eq(name, STR("throttle"))) {
        return read_throttle(reader, settings);
    }
    if (str_eq(name, STR("partitionLimits"))) {
        return json_read_bool(reader, &settings->partition_limits);
    }
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        if (str_eq(name, str_from_c(numbers[i].name))) {
            if (json_peek(reader) == JSON_NULL && i < 2) {
                *number_of(settings, i) = -1;
                return json_read_null(reader);
            }
            return json_read_amount(reader, numbers[i].max, number_of(settings, i)) &&
                   (settings->step_ms == 0 || settings->step_ms >= STEP_MS_MIN);
        }
    }
    return false;
}

/* Reads an object of settings; those that it does not have stay as they are. */
static bool read_settings(struct insight *insight, struct json_reader *reader, struct str table,
                          struct simulation_settings *settings)
{
    struct json_string member;
    if (!json_enter_object(reader)) {
        return false;
    }
    while (json_next_member(reader, &member)) {
        if (!read_setting(reader, member.text, settings)) {
            insight_refuse(insight, "%.*s of table %.*s is unknown, or its value is not possible",
                           STR_ARG(member.text), STR_ARG(table));
            return false;
        }
    }
    return reader->mistake == NULL;
}

static bool read_table(struct insight *insight, struct json_reader *reader, struct wanted *wanted,
                       struct str name)
{
    const struct simulation *simulation = insight->meter->simulation;
    if (wanted->count == TABLES_PER_REQUEST) {
        insight_refuse(insight, "at most %d tables at once", TABLES_PER_REQUEST);
        return false;
    }
    size_t number = wanted->count++;
    const struct simulation_settings *now = map_get(&simulation->settings, name);
    wanted->tables[number].name = name;
    wanted->tables[number].settings = now != NULL ? *now : default_settings();
    if (json_peek(reader) == JSON_NULL) {
        wanted->tables[number].is_removed = true;
        return json_read_null(reader);
    }
    return read_settings(insight, reader, name, &wanted->tables[number].settings);
}

static bool read_tables(struct insight *insight, struct json_reader *reader, struct wanted *wanted)
{
    struct json_string name;
    if (!json_enter_object(reader)) {
        return false;
    }
    while (json_next_member(reader, &name)) {
        if (!read_table(insight, reader, wanted, name.text)) {
            return false;
        }
    }
    return reader->mistake == NULL;
}

static bool read_request(struct insight *insight, struct wanted *wanted)
{
    struct json_reader reader;
    struct json_string name;
    json_reader_init(&reader, insight->arena, insight->request->body);
    bool good = json_enter_object(&reader);
    while (good && json_next_member(&reader, &name)) {
        if (str_eq(name.text, STR("seed"))) {
            wanted->has_seed = good = json_read_amount(&reader, 9e15, &wanted->seed);
        } else if (str_eq(name.text, STR("tables"))) {
            good = read_tables(insight, &reader, wanted);
        } else if (str_eq(name.text, STR("counts"))) {
            good = json_skip(&reader); /* as GET gives it */
        } else {
            good = false;
        }
    }
    return good && json_at_end(&reader);
}

static void apply(struct simulation *simulation, const struct wanted *wanted)
{
    for (size_t i = 0; i < wanted->count; i++) {
        struct str name = wanted->tables[i].name;
        if (wanted->tables[i].is_removed) {
            mem_free(map_remove(&simulation->settings, name));
            continue;
        }
        struct simulation_settings *settings = mem_alloc(sizeof(*settings));
        *settings = wanted->tables[i].settings;
        mem_free(map_put(&simulation->settings, name, settings));
    }
    if (wanted->has_seed) {
        simulation->seed = (uint64_t)wanted->seed;
    }
    simulation_restart(simulation);
}

void insight_simulation(struct insight *insight)
{
    struct simulation *simulation = insight->meter->simulation;
    bool is_post = str_eq(insight->request->method, STR("POST"));
    pthread_mutex_lock(&simulation->mutex);
    if (is_post) {
        struct wanted *wanted = ARENA_NEW(insight->arena, struct wanted);
        if (read_request(insight, wanted)) {
            apply(simulation, wanted);
        } else {
            insight_refuse(insight,
                           "the body must be {\"seed\": 1, \"tables\": {\"NAME\": {...}}}");
        }
    }
    write_state(insight->out, simulation);
    pthread_mutex_unlock(&simulation->mutex);
}
