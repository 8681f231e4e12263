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

static double units_of(const struct pattern *pattern)
{
    double units = pattern->sums.table_units;
    for (size_t i = 0; i < pattern->arms.count; i++) {
        units += pattern->arms.arms[i].read_units + pattern->arms.arms[i].write_units;
    }
    return units;
}

static double by_calls(const struct pattern *pattern)
{
    return (double)pattern->sums.calls;
}

static double by_errors(const struct pattern *pattern)
{
    return (double)pattern->sums.errors;
}

static double by_p99(const struct pattern *pattern)
{
    const struct pattern_sums *sums = &pattern->sums;
    return (double)latency_quantile(sums->latencies, 0.99, sums->latency_max_us);
}

static double by_last(const struct pattern *pattern)
{
    return (double)pattern->sums.last_ms;
}

static double by_waste(const struct pattern *pattern)
{
    return (double)pattern->sums.items_read - (double)pattern->sums.items_returned;
}

static const struct {
    const char *name;
    double (*key)(const struct pattern *pattern);
} orders[] = {{"units", units_of}, {"calls", by_calls}, {"errors", by_errors},
              {"p99", by_p99},     {"last", by_last},   {"waste", by_waste}};

/* What the parameters let through. */
struct wanted {
    struct str table;
    struct str index;
    struct str operation;
    struct str part;
};

static bool fits(const struct wanted *wanted, const struct pattern_text *text)
{
    return (str_is_null(wanted->table) || str_eq(wanted->table, text->table)) &&
           (str_is_null(wanted->index) || str_eq(wanted->index, text->index)) &&
           (str_is_null(wanted->operation) || str_eq(wanted->operation, text->operation)) &&
           (str_is_null(wanted->part) || str_contains(text->text, wanted->part));
}

static void write_list(struct insight *insight, const struct wanted *wanted,
                       double (*key)(const struct pattern *pattern))
{
    struct meter *meter = insight->meter;
    size_t limit = insight_limit(insight, LIMIT_DEFAULT);
    size_t offset = (size_t)insight_number(insight, "offset", 0, 0, 1e6);
    struct sorted *sorted = mem_alloc((meter->pattern_count + 1) * sizeof(*sorted));
    size_t count = 0;
    for (size_t i = 0; i < meter->pattern_count; i++) {
        if (fits(wanted, &meter->patterns[i]->text)) {
            sorted[count++] = (struct sorted){meter->patterns[i], key(meter->patterns[i])};
        }
    }
    qsort(sorted, count, sizeof(*sorted), compare);
    buf_format(insight->out, "{\"total\":%zu,\"patterns\":[", count);
    for (size_t i = offset; i < MIN(count, offset + limit); i++) {
        buf_add(insight->out, i > offset ? STR(",") : STR(""));
        pattern_write(insight->out, sorted[i].pattern, false);
    }
    JSON_PUT(insight->out, "]}");
    mem_free(sorted);
}

static void list(struct insight *insight)
{
    struct str sort = insight_parameter(insight, "sort", 0);
    struct wanted wanted = {
        .table = insight_parameter(insight, "table", 0),
        .index = insight_parameter(insight, "index", 0),
        .operation = insight_parameter(insight, "operation", 0),
        .part = insight_parameter(insight, "q", 0),
    };
    for (size_t i = 0; i < COUNT_OF(orders); i++) {
        if (str_is_null(sort) || str_eq(sort, str_from_c(orders[i].name))) {
            write_list(insight, &wanted, orders[i].key);
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
    if (str_is_null(insight->rest)) {
        list(insight);
    } else {
        char *end;
        const char *start = arena_copy_c(insight->arena, insight->rest).data;
        uint64_t id = strtoull(start, &end, 16);
        const struct pattern *pattern = *end == 0 ? meter_pattern(meter, id) : NULL;
        insight->is_missing = pattern == NULL;
        if (pattern != NULL) {
            pattern_write(insight->out, pattern, true);
        }
    }
    pthread_mutex_unlock(&meter->mutex);
}
