/* Metrics in Prometheus' text format: sums by operation and table, not by pattern, so that the
 * number of series stays small. Runs on a slow thread of the HTTP server. */
#include "meter/insight_internal.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"

/* What one operation did on one table. */
struct series {
    struct str operation;
    struct str table;
    struct pattern_sums sums;
    double read_units;
    double write_units;
};

static int compare(const void *a, const void *b)
{
    const struct pattern *left = *(const struct pattern *const *)a;
    const struct pattern *right = *(const struct pattern *const *)b;
    int order = str_cmp(left->text.operation, right->text.operation);
    return order != 0 ? order : str_cmp(left->text.table, right->text.table);
}

static void add_pattern(struct series *series, const struct pattern *pattern)
{
    bool is_write = (pattern->text.flags & METER_WRITE) != 0;
    pattern_sums_add(&series->sums, &pattern->sums);
    *(is_write ? &series->write_units : &series->read_units) += pattern->sums.table_units;
    for (size_t i = 0; i < pattern->arms.count; i++) {
        series->read_units += pattern->arms.arms[i].read_units;
        series->write_units += pattern->arms.arms[i].write_units;
    }
}

/* Patterns by operation and table; returns how many there are. */
static size_t group(const struct meter *meter, struct series **out)
{
    size_t count = 0;
    const struct pattern **all = mem_alloc((meter->pattern_count + 1) * sizeof(*all));
    *out = mem_zalloc((meter->pattern_count + 1) * sizeof(**out));
    memcpy(all, meter->patterns, meter->pattern_count * sizeof(*all));
    qsort(all, meter->pattern_count, sizeof(*all), compare);
    for (size_t i = 0; i < meter->pattern_count; i++) {
        if (i == 0 || compare(&all[i - 1], &all[i]) != 0) {
            (*out)[count].operation = all[i]->text.operation;
            (*out)[count++].table = all[i]->text.table;
        }
        add_pattern(&(*out)[count - 1], all[i]);
    }
    mem_free(all);
    return count;
}

static void begin(struct buf *out, const char *name, const char *type, const char *help)
{
    buf_format(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* name{operation="...",table="..."; names of tables and operations need no escapes. */
static void begin_line(struct buf *out, const char *name, const struct series *series)
{
    buf_format(out, "%s{operation=\"%.*s\",table=\"%.*s\"", name, STR_ARG(series->operation),
               STR_ARG(series->table));
}

/* Several codes can have one name, and a series may be there only once. */
static void write_errors(struct buf *out, const struct series *series)
{
    const struct error_count *kinds = series->sums.error_kinds;
    for (size_t i = 0; i < ERROR_KINDS && kinds[i].count > 0; i++) {
        const char *name = err_wire_name((enum err_code)kinds[i].code);
        uint64_t sum = 0;
        bool is_written = false;
        for (size_t k = 0; k < ERROR_KINDS && kinds[k].count > 0; k++) {
            bool is_same = strcmp(name, err_wire_name((enum err_code)kinds[k].code)) == 0;
            sum += is_same ? kinds[k].count : 0;
            is_written = is_written || (is_same && k < i);
        }
        if (!is_written) {
            begin_line(out, "gramme_errors_total", series);
            buf_format(out, ",error=\"%s\"} %llu\n", name, (unsigned long long)sum);
        }
    }
}

static void write_counts(struct buf *out, const struct series *all, size_t count)
{
    begin(out, "gramme_requests_total", "counter",
          "Calls, or items of batches and transactions, by operation and table");
    for (size_t i = 0; i < count; i++) {
        begin_line(out, "gramme_requests_total", &all[i]);
        buf_format(out, "} %llu\n", (unsigned long long)all[i].sums.calls);
    }
    begin(out, "gramme_errors_total", "counter", "Calls that were refused, by error");
    for (size_t i = 0; i < count; i++) {
        write_errors(out, &all[i]);
    }
}

static void write_units(struct buf *out, const struct series *all, size_t count)
{
    begin(out, "gramme_consumed_read_units_total", "counter",
          "Read capacity units as the service charges them, indexes included");
    for (size_t i = 0; i < count; i++) {
        begin_line(out, "gramme_consumed_read_units_total", &all[i]);
        buf_format(out, "} %.15g\n", all[i].read_units);
    }
    begin(out, "gramme_consumed_write_units_total", "counter",
          "Write capacity units as the service charges them, indexes included");
    for (size_t i = 0; i < count; i++) {
        begin_line(out, "gramme_consumed_write_units_total", &all[i]);
        buf_format(out, "} %.15g\n", all[i].write_units);
    }
    begin(out, "gramme_items_read_total", "counter", "Items read, before filters");
    for (size_t i = 0; i < count; i++) {
        begin_line(out, "gramme_items_read_total", &all[i]);
        buf_format(out, "} %llu\n", (unsigned long long)all[i].sums.items_read);
    }
    begin(out, "gramme_items_returned_total", "counter", "Items returned, after filters");
    for (size_t i = 0; i < count; i++) {
        begin_line(out, "gramme_items_returned_total", &all[i]);
        buf_format(out, "} %llu\n", (unsigned long long)all[i].sums.items_returned);
    }
}

/* One histogram for each operation; every fourth bucket, which is a power of four. */
/* Every fourth bucket, the sum and the count of an operation. */
static void write_histogram(struct buf *out, struct str operation, const struct pattern_sums *sums)
{
    uint64_t below = 0;
    for (unsigned k = 0; k < LATENCY_BUCKETS; k++) {
        below += sums->latencies[k];
        if (k % 4 == 0) {
            buf_format(out, "gramme_request_seconds_bucket{operation=\"%.*s\",le=\"%g\"} %llu\n",
                       STR_ARG(operation), (double)latency_bucket_end(k) / 1e6,
                       (unsigned long long)below);
        }
    }
    buf_format(out,
               "gramme_request_seconds_bucket{operation=\"%.*s\",le=\"+Inf\"} %llu\n"
               "gramme_request_seconds_sum{operation=\"%.*s\"} %.6f\n"
               "gramme_request_seconds_count{operation=\"%.*s\"} %llu\n",
               STR_ARG(operation), (unsigned long long)below, STR_ARG(operation),
               (double)sums->latency_us / 1e6, STR_ARG(operation), (unsigned long long)below);
}

static void write_latencies(struct buf *out, const struct series *all, size_t count)
{
    begin(out, "gramme_request_seconds", "histogram",
          "Time from the start of an operation to its answer");
    for (size_t i = 0; i < count;) {
        struct series sum = {.operation = all[i].operation};
        for (; i < count && str_eq(all[i].operation, sum.operation); i++) {
            pattern_sums_add(&sum.sums, &all[i].sums);
        }
        write_histogram(out, sum.operation, &sum.sums);
    }
}

static void write_insight(struct buf *out, const struct meter *meter)
{
    begin(out, "gramme_insight_patterns", "gauge", "Access patterns that are kept");
    buf_format(out, "gramme_insight_patterns %zu\n", meter->pattern_count);
    begin(out, "gramme_insight_folded_calls_total", "counter",
          "Calls counted in the pattern other, because there were too many patterns");
    buf_format(out, "gramme_insight_folded_calls_total %llu\n",
               (unsigned long long)meter->folded_calls);
    begin(out, "gramme_insight_uncounted_keys_total", "counter",
          "Accesses whose partition key was not looked at");
    buf_format(out, "gramme_insight_uncounted_keys_total %llu\n",
               (unsigned long long)meter->heat.lost);
    begin(out, "gramme_insight_memory_bytes", "gauge", "Memory of patterns and heat");
    buf_format(out, "gramme_insight_memory_bytes %zu\n", meter_bytes(meter));
    begin(out, "gramme_start_time_seconds", "gauge", "When the server was started");
    buf_format(out, "gramme_start_time_seconds %.3f\n", (double)meter->started_ms / 1000);
    begin(out, "gramme_info", "gauge", "Version of the server");
    buf_format(out, "gramme_info{version=\"%s\"} 1\n", GRAMME_VERSION);
}

void insight_write_metrics(struct meter *meter, struct buf *out)
{
    struct series *all;
    pthread_mutex_lock(&meter->mutex);
    meter_collect(meter);
    meter_tick(meter);
    size_t count = group(meter, &all);
    write_insight(out, meter);
    write_counts(out, all, count);
    write_units(out, all, count);
    write_latencies(out, all, count);
    pthread_mutex_unlock(&meter->mutex);
    mem_free(all);
}
