/* The meter as a whole: several threads record while the API is asked; no call is lost. The test of
 * its locks under ThreadSanitizer. */
#include "meter/insight.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "engine/engine_testing.h"
#include "meter/meter_internal.h"
#include "meter/simulation_internal.h"

enum { THREADS = 4, CALLS = 20000, NAMES = 700 };

static struct meter *start_meter(bool keep)
{
    struct err err = ERR_INIT(&arena);
    struct meter_options options = {.thread_count = THREADS, .store = STR("memory:"), .keep = keep};
    struct meter *meter = NULL;
    assert_true(meter_create(engine, &options, &meter, &err));
    return meter;
}

struct job {
    struct meter *meter;
    int number;
};

static void *record_calls(void *context)
{
    const struct job *job = context;
    static const char names[NAMES]; /* each address is the name of another operation */
    struct table table = {.name = STR("t"), .space = 77, .version = 1};
    for (int i = 0; i < CALLS; i++) {
        uint8_t key[] = {VALUE_S, 2, (uint8_t)('a' + i % 20), (uint8_t)('a' + job->number)};
        struct meter_access access = {
            .operation = &names[i % NAMES],
            .table = &table,
            .partition = {key, sizeof(key)},
            .table_units = 0.5,
            .items_read = 1,
        };
        struct meter_call call = {.operation = STR("GetItem"),
                                  .body = STR("{}"),
                                  .start_ns = clock_monotonic_ns(),
                                  .err = i % 10 == 0 ? ERR_VALIDATION : ERR_NONE};
        meter_record(meter_thread(job->meter, job->number), &call, &access);
    }
    return NULL;
}

/* Asks for a page; the answer must have the status. */
static struct str ask(struct meter *meter, const char *method, const char *path, const char *query,
                      const char *body, int status)
{
    struct buf out = {0};
    struct insight_request request = {.method = str_from_c(method),
                                      .path = str_from_c(path),
                                      .query = query == NULL ? STR_NULL : str_from_c(query),
                                      .body = str_from_c(body),
                                      .arena = &arena};
    int got = insight_answer(meter, &request, &out);
    struct str answer = arena_copy(&arena, buf_str(&out));
    buf_finish(&out);
    if (got != status) {
        fail_msg("%s %s: status %d, expected %d: %.*s", method, path, got, status, STR_ARG(answer));
    }
    return answer;
}

static bool contains(struct str text, const char *part)
{
    return memmem(text.data, text.len, part, strlen(part)) != NULL;
}

static atomic_bool stopped;

static void *ask_pages(void *context)
{
    static const char *const pages[] = {"overview", "patterns", "heat", "series", "findings"};
    struct meter *meter = context;
    struct arena own;
    arena_init(&own);
    for (size_t i = 0; !atomic_load(&stopped); i++) {
        struct buf out = {0};
        struct insight_request request = {.method = STR("GET"),
                                          .path = str_from_c(pages[i % COUNT_OF(pages)]),
                                          .query = STR_NULL,
                                          .body = STR(""),
                                          .arena = &own};
        assert(insight_answer(meter, &request, &out) == 200);
        insight_write_metrics(meter, &out);
        buf_finish(&out);
        arena_reset(&own);
    }
    arena_finish(&own);
    return NULL;
}

static void test_no_call_is_lost(void **state)
{
    (void)state;
    struct meter *meter = start_meter(false);
    pthread_t threads[THREADS];
    pthread_t asker;
    struct job jobs[THREADS];
    atomic_store(&stopped, false);
    assert_int_equal(pthread_create(&asker, NULL, ask_pages, meter), 0);
    for (int i = 0; i < THREADS; i++) {
        jobs[i] = (struct job){.meter = meter, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, record_calls, &jobs[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    atomic_store(&stopped, true);
    pthread_join(asker, NULL);
    struct str overview = ask(meter, "GET", "overview", NULL, "", 200);
    assert_true(contains(overview, "\"totals\":{\"calls\":80000,\"errors\":8000,"));
    assert_true(contains(overview, "\"readUnits\":40000"));
    /* Each access of a key is counted, or said to be uncounted. */
    const struct heat_place *place = heat_find(&meter->heat, STR("t"), STR_NULL);
    assert_non_null(place);
    assert_int_equal(place->count + meter->heat.lost, THREADS * CALLS);
    assert_true(meter_bytes(meter) < METER_BYTES_MAX);
    meter_destroy(meter);
    meter_destroy(NULL);
}

static void test_bad_requests(void **state)
{
    (void)state;
    struct meter *meter = start_meter(false);
    ask(meter, "GET", "nowhere", NULL, "", 404);
    ask(meter, "GET", "patterns", "limit=0", "", 400);
    ask(meter, "GET", "patterns", "limit=1001", "", 400);
    ask(meter, "GET", "patterns", "sort=luck", "", 400);
    ask(meter, "GET", "patterns/zz", NULL, "", 404);
    ask(meter, "GET", "cost", "traffic=-1", "", 400);
    ask(meter, "GET", "series", "step=year", "", 400);
    ask(meter, "POST", "simulation", NULL, "[", 400);
    ask(meter, "POST", "simulation", NULL, "{\"tables\":{\"t\":{\"errorRate\":2}}}", 400);
    assert_false(simulation_is_on(meter_thread(meter, 0)));
    ask(meter, "POST", "simulation", NULL, "{\"tables\":{\"t\":{\"errorRate\":0.5}}}", 200);
    assert_true(simulation_is_on(meter_thread(meter, 0)));
    ask(meter, "POST", "simulation", NULL, "{\"tables\":{\"t\":null}}", 200);
    assert_false(simulation_is_on(meter_thread(meter, 0)));
    meter_destroy(meter);
}

/* The same seed gives the same decisions; another one gives others. */
static void test_chance_follows_the_seed(void **state)
{
    (void)state;
    struct simulation *simulation = simulation_create();
    double first[50];
    map_put(&simulation->settings, STR("*"), mem_zalloc(sizeof(struct simulation_settings)));
    for (int run = 0; run < 3; run++) {
        size_t same = 0;
        simulation->seed = run < 2 ? 7 : 8;
        simulation_restart(simulation);
        for (size_t i = 0; i < COUNT_OF(first); i++) {
            if (run == 1 && i % 3 == 0) { /* another table has a sequence of its own */
                (void)simulation_draw(simulation_table(simulation, STR("other")));
            }
            double drawn = simulation_draw(simulation_table(simulation, STR("t")));
            assert_true(drawn >= 0 && drawn < 1);
            same += run > 0 && first[i] == drawn;
            first[i] = run == 0 ? drawn : first[i];
        }
        assert_int_equal(same, run == 1 ? COUNT_OF(first) : 0);
    }
    struct simulated_table *table = simulation_table(simulation, STR("t"));
    assert_false(simulation_happens(table, 0));
    assert_true(simulation_happens(table, 1));
    simulation_destroy(simulation);
}

/* A kind of limit: settings of the simulation and of a table, and the error. */
struct limit_row {
    const char *kind; /* the end of the reason */
    const char *settings;
    enum billing_mode billing;
    struct unit_pair on_demand;
    struct unit_pair warm;
    enum err_code code;
    const char *text; /* the start of the message; a provisioned index has another */
};

/* Uses up a limit and checks the refusal; reads and writes of table and index have one each. */
static void check_limit(struct meter *meter, const struct limit_row *row, bool is_index,
                        bool is_write)
{
    struct throughput units = {.read_units = 10, .write_units = 10};
    struct index index = {.name = STR("i"),
                          .kind = INDEX_GLOBAL,
                          .throughput = units,
                          .on_demand = row->on_demand,
                          .warm = row->warm};
    struct table table = {.name = STR("t"),
                          .indexes = &index,
                          .index_count = 1,
                          .billing = row->billing,
                          .throughput = units,
                          .on_demand = row->on_demand,
                          .warm = row->warm};
    struct capacity used = {.indexes = {is_index ? 1e9 : 0}};
    struct meter_access access = {.flags = is_write ? METER_WRITE : 0,
                                  .table = &table,
                                  .index = is_index && !is_write ? &index : NULL,
                                  .table_units = is_index ? 0 : 1e9,
                                  .arms = &used};
    struct throttling why;
    struct err err = ERR_INIT(&arena);
    ask(meter, "POST", "simulation", NULL, row->settings, 200);
    assert_true(simulation_admit(meter_thread(meter, 0), &access, &arena, &why, &err));
    simulation_charge(meter->simulation, &access);
    assert_false(simulation_admit(meter_thread(meter, 0), &access, &arena, &why, &err));
    const char *text = is_index && err.code == ERR_OVER_THROUGHPUT
                           ? "The level of configured provisioned throughput for one or more global"
                           : row->text;
    CHECK_STR_EQ(row->kind, why.reason,
                 arena_format(&arena, "%s%s%sExceeded", is_index ? "Index" : "Table",
                              is_write ? "Write" : "Read", row->kind));
    CHECK_STR_EQ(
        row->kind, why.resource,
        arena_format(&arena, "arn:aws:dynamodb:r:0:table/t%s", is_index ? "/index/i" : ""));
    assert_int_equal(err.code, row->code);
    assert_true(str_starts_with(err.message, str_from_c(text)));
}

/* All 16 reasons of the service. */
static void test_reasons_of_throttling(void **state)
{
    (void)state;
    const struct limit_row rows[] = {
        {.kind = "ProvisionedThroughput",
         .settings = "{\"tables\":{\"t\":{\"throttle\":\"provisioned\"}}}",
         .billing = BILLING_PROVISIONED,
         .code = ERR_OVER_THROUGHPUT,
         .text = "The level of configured provisioned throughput for the table was exceeded."},
        {.kind = "MaxOnDemandThroughput",
         .settings = "{\"tables\":{\"t\":{\"throttle\":\"onDemand\"}}}",
         .billing = BILLING_PAY_PER_REQUEST,
         .on_demand = {5, 5},
         .code = ERR_THROTTLING,
         .text = "Throughput exceeds the maximum OnDemandThroughput configured"},
        {.kind = "AccountLimit",
         .settings = "{\"tables\":{\"t\":{\"throttle\":\"onDemand\"}}}",
         .billing = BILLING_PAY_PER_REQUEST,
         .warm = {50000, 50000},
         .code = ERR_THROTTLING,
         .text = "Throughput exceeds the current capacity of your table or index."},
        {.kind = "KeyRangeThroughput",
         .settings = "{\"tables\":{\"t\":{\"throttle\":\"onDemand\"}}}",
         .billing = BILLING_PAY_PER_REQUEST,
         .code = ERR_THROTTLING,
         .text = "Throughput exceeds the current capacity of your table or index."},
    };
    struct meter *meter = start_meter(false);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        for (int which = 0; which < 4; which++) {
            check_limit(meter, &rows[i], (which & 1) != 0, (which & 2) != 0);
        }
    }
    meter_destroy(meter);
}

/* An answer without the last minute. */
static struct str sums_of(struct str answer)
{
    const char *end = memmem(answer.data, answer.len, "\"lastMinute\"", 12);
    return end == NULL ? answer : str_make(answer.data, (size_t)(end - answer.data));
}

/* Patterns are there again after a restart, with their sums. */
static void test_patterns_are_kept(void **state)
{
    (void)state;
    struct meter *meter = start_meter(true);
    struct table table = {.name = STR("t"), .space = 78, .version = 1};
    struct meter_access access = {.operation = "GetItem", .table = &table, .table_units = 1};
    struct meter_call call = {.operation = STR("GetItem"), .body = STR("{\"TableName\":\"t\"}")};
    for (int i = 0; i < 3; i++) {
        call.start_ns = clock_monotonic_ns();
        meter_record(meter_thread(meter, 0), &call, &access);
    }
    struct str before = sums_of(ask(meter, "GET", "patterns", "q=GetItem", "", 200));
    meter_destroy(meter);
    meter = start_meter(true);
    /* The collector's thread reads them; it is waited for by asking. */
    struct str after = STR("");
    int64_t until_us = clock_monotonic_us() + (int64_t)60 * 1000 * 1000;
    while (!str_eq(before, after) && clock_monotonic_us() < until_us) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        after = sums_of(ask(meter, "GET", "patterns", "q=GetItem", "", 200));
    }
    CHECK_STR_EQ("patterns", after, before);
    assert_true(contains(after, "\"calls\":3"));
    meter_destroy(meter);
}

static int open_engine(void **state)
{
    (void)state;
    return open_test_engine(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_call_is_lost),
        cmocka_unit_test(test_bad_requests),
        cmocka_unit_test(test_chance_follows_the_seed),
        cmocka_unit_test(test_reasons_of_throttling),
        cmocka_unit_test(test_patterns_are_kept),
    };
    return cmocka_run_group_tests(tests, open_engine, close_test_engine);
}
