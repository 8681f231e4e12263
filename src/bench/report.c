/* Prints results as text and JSON. Called by bench.c on the main thread when a run has ended. */
#include "bench/report_internal.h"

#include <errno.h>
#include <stdio.h>

#include "json/writer.h"

static double us(uint64_t ns)
{
    return (double)ns / 1000;
}

static double per_second(double count, double seconds)
{
    return seconds > 0 ? count / seconds : 0;
}

static double per_request_us(double seconds, const struct histogram *latency)
{
    return latency->count > 0 ? seconds * 1e6 / (double)latency->count : 0;
}

static void print_latency(const struct histogram *latency)
{
    printf("  latency          p50 %.0f us, p99 %.0f us, p99.9 %.0f us, max %.0f us\n",
           us(histogram_at(latency, 0.5)), us(histogram_at(latency, 0.99)),
           us(histogram_at(latency, 0.999)), us(latency->max_ns));
}

static void print_errors(const struct tally *errors)
{
    for (size_t i = 0; i < errors->kind_count; i++) {
        printf("  FAILED           %llu: %s\n", (unsigned long long)errors->kinds[i].count,
               errors->kinds[i].name);
    }
}

void report_run(const struct bench_options *options, const struct run_plan *plan,
                const struct run_result *result)
{
    const struct histogram *latency = &result->latency;
    double requests = (double)latency->count;
    printf("%.*s: %d connections, %d threads, %.2f s", STR_ARG(options->workload),
           plan->connection_count, result->thread_count, result->seconds);
    if (plan->rate > 0) {
        printf(", %.0f requests/s wanted", plan->rate);
    }
    printf("\n  requests         %llu, %.0f/s", (unsigned long long)latency->count,
           per_second(requests, result->seconds));
    double items = source_items_per_request(plan->source);
    if (items > 1) {
        printf(", %.0f items/s", per_second(requests * items, result->seconds));
    }
    printf("\n  answers          %.1f MB/s, %.0f bytes each\n",
           per_second((double)result->answer_bytes / 1e6, result->seconds),
           requests > 0 ? (double)result->answer_bytes / requests : 0);
    print_latency(latency);
    if (plan->server.count > 0) {
        printf("  server           %.1f us of CPU per request, %.1f MiB resident\n",
               per_request_us(result->server_cpu_seconds, latency),
               (double)result->server_bytes / (1 << 20));
    }
    printf("  generator        %.1f us of CPU per request\n",
           per_request_us(result->generator_cpu_seconds, latency));
    if (result->retry_count > 0 || result->reconnect_count > 0) {
        printf("  again            %llu requests, %llu connections\n",
               (unsigned long long)result->retry_count,
               (unsigned long long)result->reconnect_count);
    }
    print_errors(&result->errors);
}

void report_limit(const struct bench_options *options, const struct limit_result *result)
{
    printf("%.*s: %.2f s\n", STR_ARG(options->limit), result->seconds);
    printf("  %-16s %llu, %.0f/s\n", result->unit, (unsigned long long)result->count,
           per_second((double)result->count, result->seconds));
    print_latency(&result->latency);
    printf("  CPU              %.1f us for each of the %s\n",
           result->count > 0 ? result->cpu_seconds * 1e6 / (double)result->count : 0, result->unit);
}

/* JSON -------------------------------------------------------------------------------------- */

static void add_latency(struct buf *out, const struct histogram *latency)
{
    buf_format(out,
               "\"latency_us\":{\"p50\":%.2f,\"p90\":%.2f,\"p99\":%.2f,\"p99.9\":%.2f,"
               "\"max\":%.2f,\"mean\":%.2f}",
               us(histogram_at(latency, 0.5)), us(histogram_at(latency, 0.9)),
               us(histogram_at(latency, 0.99)), us(histogram_at(latency, 0.999)),
               us(latency->max_ns), histogram_mean(latency) / 1000);
}

static void add_errors(struct buf *out, const struct tally *errors)
{
    JSON_PUT(out, ",\"errors\":{");
    for (size_t i = 0; i < errors->kind_count; i++) {
        if (i > 0) {
            buf_add_char(out, ',');
        }
        json_write_string(out, str_from_c(errors->kinds[i].name));
        buf_format(out, ":%llu", (unsigned long long)errors->kinds[i].count);
    }
    JSON_PUT(out, "}");
}

static bool write_file(struct str path, const struct buf *text, struct err *err)
{
    if (str_eq(path, STR("-"))) {
        printf("%.*s\n", STR_ARG(buf_str(text)));
        return true;
    }
    struct str name = arena_format(err->arena, "%.*s", STR_ARG(path));
    FILE *file = fopen(name.data, "w");
    bool good = file != NULL && fprintf(file, "%.*s\n", STR_ARG(buf_str(text))) > 0;
    if (file != NULL && fclose(file) != 0) {
        good = false;
    }
    return good ||
           err_set(err, ERR_INTERNAL, "cannot write %.*s: %s", STR_ARG(path), strerror(errno));
}

static void add_run(struct buf *out, const struct bench_options *options,
                    const struct run_plan *plan, const struct run_result *result)
{
    const struct histogram *latency = &result->latency;
    double requests = (double)latency->count;
    JSON_PUT(out, "{\"work\":");
    json_write_string(out, options->workload);
    JSON_PUT(out, ",\"endpoint\":");
    json_write_string(out, options->endpoint);
    buf_format(out,
               ",\"connections\":%d,\"threads\":%d,\"items\":%llu,\"item_bytes\":%zu,\"gsi\":%d,"
               "\"seconds\":%.4f,\"requests\":%llu,\"requests_per_second\":%.2f,"
               "\"items_per_request\":%.2f,\"answer_bytes\":%llu,\"megabytes_per_second\":%.3f,",
               plan->connection_count, result->thread_count,
               (unsigned long long)plan->source->table->item_count, plan->source->table->item_bytes,
               plan->source->table->gsi_count, result->seconds, (unsigned long long)latency->count,
               per_second(requests, result->seconds), source_items_per_request(plan->source),
               (unsigned long long)result->answer_bytes,
               per_second((double)result->answer_bytes / 1e6, result->seconds));
    add_latency(out, latency);
    if (plan->server.count > 0) {
        buf_format(out, ",\"server_cpu_us\":%.3f,\"server_bytes\":%llu",
                   per_request_us(result->server_cpu_seconds, latency),
                   (unsigned long long)result->server_bytes);
    }
    buf_format(out, ",\"generator_cpu_us\":%.3f,\"retries\":%llu,\"reconnects\":%llu",
               per_request_us(result->generator_cpu_seconds, latency),
               (unsigned long long)result->retry_count,
               (unsigned long long)result->reconnect_count);
    add_errors(out, &result->errors);
    JSON_PUT(out, "}");
}

bool report_run_json(struct str path, const struct bench_options *options,
                     const struct run_plan *plan, const struct run_result *result, struct err *err)
{
    struct buf out = {0};
    add_run(&out, options, plan, result);
    bool good = write_file(path, &out, err);
    buf_finish(&out);
    return good;
}

bool report_limit_json(struct str path, const struct bench_options *options,
                       const struct limit_result *result, struct err *err)
{
    struct buf out = {0};
    JSON_PUT(&out, "{\"limit\":");
    json_write_string(&out, options->limit);
    buf_format(&out, ",\"unit\":\"%s\",\"seconds\":%.4f,\"count\":%llu,\"per_second\":%.2f,",
               result->unit, result->seconds, (unsigned long long)result->count,
               per_second((double)result->count, result->seconds));
    buf_format(&out, "\"cpu_us\":%.3f,",
               result->count > 0 ? result->cpu_seconds * 1e6 / (double)result->count : 0);
    add_latency(&out, &result->latency);
    JSON_PUT(&out, "}");
    bool good = write_file(path, &out, err);
    buf_finish(&out);
    return good;
}
