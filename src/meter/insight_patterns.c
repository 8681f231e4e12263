/* GET patterns and GET patterns/ID of the insight API. Runs on a slow thread of the HTTP server. */
#include "meter/insight_internal.h"

#include <stdlib.h>

#include "base/mem.h"

struct sorted {
    const struct pattern *pattern;
    double by;
};

static int compare(const void *a, const void *b)
{
    const struct sorted *left = a;
    const struct sorted *right = b;
    if (left->by != right->by) {
        return left->by > right->by ? -1 : 1;
    }
    return str_cmp(left->pattern->text.text, right->pattern->text.text);
}

static double units_of(const struct meter *meter, const struct pattern *pattern)
{
    (void)meter;
    double units = pattern->sums.table_units;
    for (size_t i = 0; i < pattern->arms.count; i++) {
        units += pattern->arms.arms[i].read_units + pattern->arms.arms[i].write_units;
    }
    return units;
}

static double calls_of(const struct meter *meter, const struct pattern *pattern)
{
    (void)meter;
    return (double)pattern->sums.calls;
}

static double errors_of(const struct meter *meter, const struct pattern *pattern)
{
    (void)meter;
    return (double)pattern->sums.errors;
}

static double p99_of(const struct meter *meter, const struct pattern *pattern)
{
    (void)meter;
    const struct pattern_sums *sums = &pattern->sums;
    return (double)latency_quantile(sums->latencies, 0.99, sums->latency_max_us);
}

static double last_of(const struct meter *meter, const struct pattern *pattern)
{
    (void)meter;
    return (double)pattern->sums.last_ms;
}

static double waste_of(const struct meter *meter, const struct pattern *pattern)
{
    (void)meter;
    return (double)pattern->sums.items_read - (double)pattern->sums.items_returned;
}

static double recent_units(const struct meter *meter, const struct pattern *pattern)
{
    return pattern_recent(meter, pattern).units;
}

static double recent_calls(const struct meter *meter, const struct pattern *pattern)
{
    return pattern_recent(meter, pattern).calls;
}

static double recent_errors(const struct meter *meter, const struct pattern *pattern)
{
    return pattern_recent(meter, pattern).errors;
}

static double recent_p99(const struct meter *meter, const struct pattern *pattern)
{
    struct pattern_minute recent = pattern_recent(meter, pattern);
    return (double)pattern_minute_quantile(&recent, 0.99, pattern->sums.latency_max_us);
}

/* What patterns are sorted by. */
typedef double order_key(const struct meter *meter, const struct pattern *pattern);

static const struct {
    const char *name;
    order_key *key;
    order_key *recent_key; /* with window=minute */
} orders[] = {
    {"units", units_of, recent_units},    {"calls", calls_of, recent_calls},
    {"errors", errors_of, recent_errors}, {"p99", p99_of, recent_p99},
    {"last", last_of, last_of},           {"waste", waste_of, waste_of},
};

/* What the parameters let through. */
struct wanted {
    struct str table;
    struct str index;
    struct str operation;
    struct str part;
    bool is_recent; /* called in the last minute */
};

static bool fits(const struct meter *meter, const struct wanted *wanted,
                 const struct pattern *pattern)
{
    const struct pattern_text *text = &pattern->text;
    return (!wanted->is_recent || pattern_recent(meter, pattern).calls > 0) &&
           (str_is_null(wanted->table) || str_eq(wanted->table, text->table)) &&
           (str_is_null(wanted->index) || str_eq(wanted->index, text->index)) &&
           (str_is_null(wanted->operation) || str_eq(wanted->operation, text->operation)) &&
           (str_is_null(wanted->part) || str_contains(text->text, wanted->part));
}

static void write_list(struct insight *insight, const struct wanted *wanted, order_key *key)
{
    struct meter *meter = insight->meter;
    size_t limit = insight_limit(insight, LIMIT_DEFAULT);
    size_t offset = (size_t)insight_number(insight, "offset", 0, 0, 1e6);
    struct sorted *sorted = mem_alloc((meter->pattern_count + 1) * sizeof(*sorted));
    size_t count = 0;
    for (size_t i = 0; i < meter->pattern_count; i++) {
        const struct pattern *pattern = meter->patterns[i];
        if (fits(meter, wanted, pattern)) {
            sorted[count++] = (struct sorted){pattern, key(meter, pattern)};
        }
    }
    qsort(sorted, count, sizeof(*sorted), compare);
    buf_format(insight->out, "{\"total\":%zu,\"patterns\":[", count);
    for (size_t i = offset; i < MIN(count, offset + limit); i++) {
        buf_add(insight->out, i > offset ? STR(",") : STR(""));
        pattern_write(insight->out, meter, sorted[i].pattern, PATTERN_LISTED);
    }
    JSON_PUT(insight->out, "]}");
    mem_free(sorted);
}

static void list(struct insight *insight)
{
    struct str sort = insight_parameter(insight, "sort", 0);
    struct str window = insight_parameter(insight, "window", 0);
    struct wanted wanted = {
        .is_recent = str_eq(window, STR("minute")),
        .table = insight_parameter(insight, "table", 0),
        .index = insight_parameter(insight, "index", 0),
        .operation = insight_parameter(insight, "operation", 0),
        .part = insight_parameter(insight, "q", 0),
    };
    if (!wanted.is_recent && !str_is_null(window)) {
        insight_refuse(insight, "window must be minute");
        return;
    }
    for (size_t i = 0; i < COUNT_OF(orders); i++) {
        if (str_is_null(sort) || str_eq(sort, str_from_c(orders[i].name))) {
            write_list(insight, &wanted, wanted.is_recent ? orders[i].recent_key : orders[i].key);
            return;
        }
    }
    insight_refuse(insight, "sort must be units, calls, errors, p99, last or waste");
}

void insight_patterns(struct insight *insight)
{
    struct meter *meter = insight->meter;
    pthread_mutex_lock(&meter->mutex);
    meter_collect(meter);
    meter_tick(meter);
    if (str_is_null(insight->rest)) {
        list(insight);
    } else {
        char *end;
        const char *start = arena_copy_c(insight->arena, insight->rest).data;
        uint64_t id = strtoull(start, &end, 16);
        const struct pattern *pattern = *end == 0 ? meter_pattern(meter, id) : NULL;
        insight->is_missing = pattern == NULL;
        if (pattern != NULL) {
            pattern_write(insight->out, meter, pattern, PATTERN_WHOLE);
        }
    }
    pthread_mutex_unlock(&meter->mutex);
}
