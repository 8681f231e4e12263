/* The load generator from its arguments to its report: prepares the table, runs a workload or
 * measures a limit, reports. Runs on the main thread. */
#include "bench/bench.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench/report_internal.h"

enum { LOAD_CONNECTIONS = 16, RAW_FILE_BYTES_MAX = 64 << 20 };

static void print_help(void)
{
    printf(
        "Usage: gramme bench WORKLOAD [options]\n"
        "       gramme bench --limit NAME [options]\n\n"
        "Sends prepared requests to a DynamoDB endpoint and reports throughput, latency and CPU\n"
        "time. Creates and loads the table if it does not exist. Ends with status 1 if a request\n"
        "failed.\n\n"
        "Workloads:\n");
    workloads_print_help();
    printf("\nOptions:\n");
    options_print_help();
    printf("\nExamples:\n"
           "  gramme bench get --items 1000000\n"
           "  gramme bench put --connections 64 --seconds 10 --pid $(pidof gramme)\n"
           "  gramme bench ycsb-a --rate 5000 --json result.json\n"
           "  gramme bench raw --endpoint http://127.0.0.1:8080/file.json\n"
           "  gramme bench --limit rocksdb --batch 64 --directory ./data\n");
}

static bool is_interactive(void)
{
    return isatty(STDERR_FILENO) == 1;
}

static bool read_file(struct str path, struct buf *out, struct err *err)
{
    struct str name = arena_format(err->arena, "%.*s", STR_ARG(path));
    FILE *file = fopen(name.data, "rb");
    if (file == NULL) {
        return err_set(err, ERR_VALIDATION, "cannot read %.*s: %s", STR_ARG(path), strerror(errno));
    }
    size_t got;
    do {
        got = fread(buf_reserve(out, 65536), 1, 65536, file);
        buf_added(out, got);
    } while (got > 0 && out->len <= RAW_FILE_BYTES_MAX);
    bool good = !ferror(file) && out->len <= RAW_FILE_BYTES_MAX && out->len > 0;
    fclose(file);
    return good || err_set(err, ERR_VALIDATION, "%.*s is not a request", STR_ARG(path));
}

/* Makes the request of the workload `raw`: the contents of a file, or a plain GET. */
static bool make_raw(const struct bench_options *options, const struct target *target,
                     struct buf *out, struct err *err)
{
    if (!str_is_null(options->request)) {
        return read_file(options->request, out, err);
    }
    buf_format(out, "GET %.*s HTTP/1.1\r\nHost: %.*s\r\n\r\n", STR_ARG(target->path),
               STR_ARG(target->authority));
    return true;
}

/* Writes item 0, which marks the table as loaded. */
static bool load_first_item(const struct source *source, struct err *err)
{
    struct request request;
    struct random random;
    struct request_values values = {0};
    request_init(&request);
    request_add(&request, "{\"TableName\":\"%.*s\",\"Item\":", STR_ARG(source->table->name));
    request_add_item(&request, source->table, 0);
    request_add(&request, "}");
    random_init(&random);
    request_fill(&request, source->table, &values, source->text, &random);
    int status = 0;
    struct str answer;
    bool good = target_call(source->target, STR("PutItem"), buf_str(&request.bytes), err->arena,
                            &status, &answer, err);
    request_destroy(&request);
    if (good && status != 200) {
        return err_set(err, ERR_INTERNAL, "PutItem was refused: %.*s", STR_ARG(answer));
    }
    return good;
}

static bool load_table(const struct test_table *table, const struct target *target, struct err *err)
{
    struct source source;
    if (!source_init(&source, workload_find(STR("load")), table, target, err)) {
        return false;
    }
    struct run_plan plan = {
        .source = &source,
        .label = is_interactive() ? "loading" : NULL,
        .connection_count = LOAD_CONNECTIONS,
        .request_count = source_request_count(&source),
    };
    struct run_result result = {0};
    bool good = plan.request_count == 0 || run_work(&plan, &result, err);
    if (good && tally_total(&result.errors) > 0) {
        good = err_set(err, ERR_INTERNAL, "the table could not be loaded: %s",
                       result.errors.kinds[0].name);
    }
    good = good && load_first_item(&source, err);
    source_finish(&source);
    return good;
}

static bool prepare_table(const struct bench_options *options, const struct test_table *table,
                          const struct target *target, bool loads, struct err *err)
{
    if ((options->fresh || loads) && !test_table_delete(table, target, err)) {
        return false;
    }
    bool loaded;
    if (!test_table_create(table, target, err)) {
        return false;
    }
    if (loads) {
        return true;
    }
    return test_table_is_loaded(table, target, &loaded, err) &&
           (loaded || load_table(table, target, err));
}

static bool run_and_report(const struct bench_options *options, struct source *source,
                           bool *out_clean, struct err *err)
{
    uint64_t load_count = source_request_count(source);
    struct str label = arena_format(err->arena, "%.*s", STR_ARG(options->workload));
    struct run_plan plan = {
        .source = source,
        .label = is_interactive() ? label.data : NULL,
        .connection_count = (int)options->connections,
        .thread_count = (int)options->threads,
        .seconds = options->seconds,
        .request_count = load_count > 0 ? load_count : (uint64_t)options->requests,
        .rate = options->rate,
    };
    plan.warmup_seconds = plan.request_count > 0 ? 0 : options->warmup;
    if (source->workload->mix[1] == OP_SCAN) {
        plan.connection_count = (int)options->segments;
    }
    source->in_flight_max = (uint64_t)plan.connection_count;
    struct run_result result;
    if (!process_list_read(&plan.server, options->pid, err) || !run_work(&plan, &result, err)) {
        return false;
    }
    if (!str_eq(options->json, STR("-"))) {
        report_run(options, &plan, &result);
    }
    *out_clean = tally_total(&result.errors) == 0 && result.latency.count > 0;
    return str_is_null(options->json) ||
           report_run_json(options->json, options, &plan, &result, err);
}

static enum target_auth auth_of(const struct bench_options *options)
{
    if (str_eq(options->auth, STR("sign"))) {
        return TARGET_AUTH_SIGN;
    }
    return str_eq(options->auth, STR("none")) ? TARGET_AUTH_NONE : TARGET_AUTH_DUMMY;
}

static bool bench_workload(const struct bench_options *options, const struct workload *workload,
                           bool *out_clean, struct err *err)
{
    struct target target;
    struct test_table table;
    struct source source = {0};
    struct buf raw = {0};
    bool is_raw = workload->mix[1] == OP_RAW;
    bool loads = workload->mix[1] == OP_LOAD;
    test_table_init(&table, options, err->arena);
    if (loads && table.item_count < 2) {
        return err_set(err, ERR_VALIDATION, "load needs --items 2 or more");
    }
    bool good =
        target_init(&target, options->endpoint, auth_of(options), err) &&
        source_init(&source, workload, &table, &target, err) &&
        (!is_raw || make_raw(options, &target, &raw, err)) &&
        (is_raw || options->no_setup || prepare_table(options, &table, &target, loads, err));
    source.raw = buf_str(&raw);
    source.segment_count = (int)options->segments;
    good = good && run_and_report(options, &source, out_clean, err) &&
           (!loads || load_first_item(&source, err));
    source_finish(&source);
    target_finish(&target);
    buf_finish(&raw);
    return good;
}

static bool bench_limit(const struct bench_options *options, struct err *err)
{
    struct limit_result result;
    if (!limit_measure(options, &result, err)) {
        return false;
    }
    if (!str_eq(options->json, STR("-"))) {
        report_limit(options, &result);
    }
    return str_is_null(options->json) || report_limit_json(options->json, options, &result, err);
}

static void raise_file_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* Returns the exit status; 2 for mistakes in the arguments. */
static int run(int argc, char **argv, struct err *err)
{
    struct bench_options options;
    if (!options_read(argc, argv, &options, err)) {
        return 2;
    }
    bool clean = true;
    if (!str_is_null(options.limit)) {
        return bench_limit(&options, err) ? 0 : 1;
    }
    const struct workload *workload = workload_find(options.workload);
    if (workload == NULL) {
        err_set(err, ERR_VALIDATION, "there is no workload '%.*s'", STR_ARG(options.workload));
        return 2;
    }
    return bench_workload(&options, workload, &clean, err) && clean ? 0 : 1;
}

int bench(int argc, char **argv)
{
    if (argc == 0 || strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0) {
        print_help();
        return argc == 0 ? 2 : 0;
    }
    signal(SIGPIPE, SIG_IGN);
    raise_file_limit();
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    int status = run(argc, argv, &err);
    if (err.code != ERR_NONE) {
        fprintf(stderr, "gramme bench: %.*s%s\n", STR_ARG(err.message),
                err.code == ERR_VALIDATION ? "; see gramme bench --help" : "");
        status = err.code == ERR_VALIDATION ? 2 : 1;
    }
    arena_finish(&arena);
    return status;
}
