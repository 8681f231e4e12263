/* The meter as a whole: several threads record while the API is asked; no call is lost. The test of
 * its locks under ThreadSanitizer. */
#include "meter/insight.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/testing.h"
#include "meter/meter_internal.h"
#include "meter/simulation_internal.h"

enum { THREADS = 4, CALLS = 20000, NAMES = 700 };

static struct arena arena;
static struct store *store;
static struct engine *engine;

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
    for (int run = 0; run < 3; run++) {
        size_t same = 0;
        simulation->seed = run < 2 ? 7 : 8;
        simulation_restart(simulation);
        for (size_t i = 0; i < COUNT_OF(first); i++) {
            double drawn = simulation_draw(simulation);
            assert_true(drawn >= 0 && drawn < 1);
            same += run > 0 && first[i] == drawn;
            first[i] = run == 0 ? drawn : first[i];
        }
        assert_int_equal(same, run == 1 ? COUNT_OF(first) : 0);
    }
    assert_false(simulation_happens(simulation, 0));
    assert_true(simulation_happens(simulation, 1));
    simulation_destroy(simulation);
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
    struct str before = ask(meter, "GET", "patterns", "q=GetItem", "", 200);
    meter_destroy(meter);
    meter = start_meter(true);
    /* The collector's thread reads them; it is waited for by asking. */
    struct str after = STR("");
    for (int i = 0; i < 20000 && !str_eq(before, after); i++) {
        after = ask(meter, "GET", "patterns", "q=GetItem", "", 200);
    }
    CHECK_STR_EQ("patterns", after, before);
    assert_true(contains(after, "\"calls\":3"));
    meter_destroy(meter);
}

static int open_engine(void **state)
{
    (void)state;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    struct store_options store_options = {.cache_bytes = 1 << 20, .worker_count = 1};
    struct engine_options options = {.region = STR("r"), .account = STR("0")};
    return store_open(STR("memory:"), &store_options, &store, &err) &&
                   engine_open(store, &options, &engine, &err)
               ? 0
               : -1;
}

static int close_engine(void **state)
{
    (void)state;
    engine_close(engine);
    store_close(store);
    arena_finish(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_call_is_lost),
        cmocka_unit_test(test_bad_requests),
        cmocka_unit_test(test_chance_follows_the_seed),
        cmocka_unit_test(test_patterns_are_kept),
    };
    return cmocka_run_group_tests(tests, open_engine, close_engine);
}
