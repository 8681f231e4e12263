/* Patterns that are kept in a store, by one server or several; room for patterns. */
#include "meter/insight.h"

#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/hash.h"
#include "engine/engine_testing.h"
#include "engine/notes.h"
#include "meter/meter_internal.h"

static struct meter *start_meter(void)
{
    struct err err = ERR_INIT(&arena);
    struct meter_options options = {
        .thread_count = 1, .store = STR("memory:"), .keep = true, .shared = true};
    struct meter *meter = NULL;
    assert_true(meter_create(engine, &options, &meter, &err));
    return meter;
}

/* Records calls of one pattern of a table. */
static void record(struct meter *meter, const char *table_name, const char *operation, int calls,
                   enum err_code err)
{
    uint32_t space = (uint32_t)hash_64(str_from_c(table_name));
    struct table table = {.name = str_from_c(table_name), .space = space, .version = 1};
    struct meter_access access = {.operation = operation, .table = &table, .table_units = 0.5};
    for (int i = 0; i < calls; i++) {
        struct meter_call call = {.operation = str_from_c(operation),
                                  .body = STR("{}"),
                                  .start_ns = clock_monotonic_ns(),
                                  .err = err};
        meter_record(meter_thread(meter, 0), &call, &access);
    }
}

static struct str ask(struct meter *meter, const char *method, const char *path, const char *query)
{
    struct buf out = {0};
    struct insight_request request = {.method = str_from_c(method),
                                      .path = str_from_c(path),
                                      .query = query == NULL ? STR_NULL : str_from_c(query),
                                      .body = STR(""),
                                      .arena = &arena};
    assert_int_equal(insight_answer(meter, &request, &out), 200);
    struct str answer = arena_copy_c(&arena, buf_str(&out));
    buf_finish(&out);
    return answer;
}

/* The first number of that name in an answer; -1: there is none. */
static double number_of(struct str answer, const char *name)
{
    struct str quoted = arena_format(&arena, "\"%s\":", name);
    const char *at = memmem(answer.data, answer.len, quoted.data, quoted.len);
    return at == NULL ? -1 : strtod(at + quoted.len, NULL);
}

static double calls_of(struct meter *meter, const char *part)
{
    return number_of(ask(meter, "GET", "patterns", part), "calls");
}

static double total_calls(struct meter *meter)
{
    struct str overview = ask(meter, "GET", "overview", NULL);
    const char *totals = strstr(overview.data, "\"totals\"");
    assert_non_null(totals);
    return number_of(str_from_c(totals), "calls");
}

static void wait_a_little(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}

/* Starts a meter and waits until it has read what the store has. */
static struct meter *start_with(double calls, const char *part)
{
    struct meter *meter = start_meter();
    for (int i = 0; i < 5000 && calls_of(meter, part) != calls; i++) {
        wait_a_little();
    }
    assert_true(calls_of(meter, part) == calls);
    return meter;
}

static void erase_all_notes(void)
{
    struct meter *meter = start_meter();
    ask(meter, "POST", "reset", NULL);
    meter_destroy(meter);
}

/* Two servers count at the same time: the notes are the sums of both. */
static void test_servers_add_up(void **state)
{
    (void)state;
    erase_all_notes();
    struct meter *a = start_meter();
    struct meter *b = start_meter();
    record(a, "t", "GetItem", 3, ERR_NONE);
    record(b, "t", "GetItem", 4, ERR_NONE);
    record(b, "t", "PutItem", 2, ERR_VALIDATION);
    meter_destroy(a);
    meter_destroy(b); /* its write is refused at first */
    a = start_with(7, "q=GetItem");
    b = start_with(7, "q=GetItem");
    record(a, "t", "GetItem", 10, ERR_NONE);
    record(b, "t", "GetItem", 20, ERR_NONE);
    assert_true(calls_of(a, "q=GetItem") == 17 && calls_of(b, "q=GetItem") == 27);
    meter_destroy(b);
    meter_destroy(a);
    a = start_with(37, "q=GetItem");
    assert_true(calls_of(a, "q=PutItem") == 2);
    struct str overview = ask(a, "GET", "overview", NULL);
    const char *totals = strstr(overview.data, "\"totals\"");
    assert_non_null(totals);
    assert_true(total_calls(a) == 39);
    assert_true(number_of(str_from_c(totals), "errors") == 2);
    assert_true(number_of(str_from_c(totals), "readUnits") == 19.5);
    meter_destroy(a);
}

/* A reset of one server reaches the others; what they counted after it stays. */
static void test_reset_reaches_all(void **state)
{
    (void)state;
    erase_all_notes();
    struct meter *a = start_meter();
    struct meter *b = start_meter();
    record(a, "t", "GetItem", 3, ERR_NONE);
    record(b, "t", "GetItem", 4, ERR_NONE);
    meter_destroy(a);
    a = start_with(3, "q=GetItem");
    wait_a_little(); /* the clock of resets has milliseconds */
    ask(a, "POST", "reset", NULL);
    record(a, "t", "PutItem", 1, ERR_NONE);
    meter_destroy(a);
    meter_destroy(b); /* does not write its 4 calls */
    a = start_with(1, "q=PutItem");
    assert_true(calls_of(a, "q=GetItem") == -1);
    meter_destroy(a);
}

/* Makes it as if the meter had run for an hour. */
static void run_an_hour(struct meter *meter)
{
    bool is_loaded = false;
    while (!is_loaded) {
        wait_a_little();
        pthread_mutex_lock(&meter->mutex);
        is_loaded = meter->kept_observed != 0;
        if (is_loaded) {
            meter->observing_ms -= 3600 * 1000;
            meter->observed_at_ms -= 3600 * 1000;
        }
        pthread_mutex_unlock(&meter->mutex);
    }
}

static void test_observed_time(void **state)
{
    (void)state;
    erase_all_notes();
    struct meter *a = start_meter();
    run_an_hour(a);
    record(a, "t", "GetItem", 1, ERR_NONE);
    meter_destroy(a);
    a = start_with(1, "q=GetItem");
    pthread_mutex_lock(&a->mutex);
    a->since_ms -= 48 * 3600 * 1000;            /* counting began two days ago, */
    int64_t observed_ms = meter_observed_ms(a); /* but the server did not run in between */
    pthread_mutex_unlock(&a->mutex);
    assert_true(observed_ms >= 3600 * 1000 && observed_ms < 3660 * 1000);
    meter_destroy(a);
}

/* Two servers that run at the same time observe the same time. */
static void test_observed_by_two(void **state)
{
    (void)state;
    erase_all_notes();
    struct meter *a = start_meter();
    struct meter *b = start_meter();
    struct meter *both[] = {a, b};
    for (size_t i = 0; i < COUNT_OF(both); i++) {
        record(both[i], "t", "GetItem", 1, ERR_NONE);
        run_an_hour(both[i]);
    }
    meter_destroy(a);
    meter_destroy(b);
    a = start_with(2, "q=GetItem");
    double observed_ms = number_of(ask(a, "GET", "overview", NULL), "observedMs");
    assert_true(observed_ms >= 3600 * 1000 && observed_ms < 3660 * 1000);
    meter_destroy(a);
}

/* Ten thousand patterns with long texts stay within the limit of memory; all calls are counted. */
static void test_long_texts_are_bounded(void **state)
{
    (void)state;
    enum { PATTERNS = 12000, TABLES = 3000, INDEXES = 25 };
    erase_all_notes();
    struct meter *meter = start_meter();
    char text[1024];
    struct str long_text = {text, sizeof(text)};
    memset(text, 'x', sizeof(text));
    pthread_mutex_lock(&meter->mutex);
    for (int i = 0; i < PATTERNS; i++) {
        struct str names[INDEXES];
        struct arena_mark mark = arena_mark(&arena);
        for (int k = 0; k < INDEXES; k++) {
            names[k] = arena_format(&arena, "%.*s-%d", 250, text, k);
        }
        struct pattern_text pattern = {
            .id = hash_64(arena_format(&arena, "pattern %d", i)),
            .text = long_text,
            .operation = STR("UpdateItem"),
            .table = arena_format(&arena, "%.*s-%d", 240, text, i % TABLES),
            .key = long_text,
            .update = long_text,
            .condition = long_text,
            .example = long_text,
            .flags = METER_WRITE,
            .index_count = INDEXES,
        };
        struct pattern *found = meter_pattern_for(meter, &pattern);
        for (int k = 0; k < INDEXES; k++) {
            (void)meter_pattern_arm(meter, found, names[k]);
        }
        found->sums.calls++;
        arena_rewind(&arena, mark);
    }
    uint64_t calls = 0;
    for (size_t i = 0; i < meter->pattern_count; i++) {
        calls += meter->patterns[i]->sums.calls;
    }
    assert_int_equal(calls, PATTERNS);
    assert_true(meter->other_count > 0 && meter->other_count <= OTHERS_MAX + 2);
    assert_true(meter->bytes < SUMS_BYTES_MAX + (1 << 20));
    assert_true(meter_bytes(meter) < METER_BYTES_MAX);
    pthread_mutex_unlock(&meter->mutex);
    meter_destroy(meter);
}

/* None of these tables exists: the longest unused ones are removed when there is little room. */
static void test_deleted_tables_make_room(void **state)
{
    (void)state;
    enum { TABLES = 4800 };
    erase_all_notes();
    struct meter *meter = start_meter();
    for (int i = 0; i < TABLES; i++) {
        struct arena_mark mark = arena_mark(&arena);
        record(meter, arena_format(&arena, "table-%d", i).data, "GetItem", 2, ERR_NONE);
        arena_rewind(&arena, mark);
    }
    struct str overview = STR("");
    for (int i = 0; i < 5000 && number_of(overview, "foldedCalls") <= 0; i++) {
        overview = ask(meter, "GET", "overview", NULL);
        wait_a_little();
    }
    double folded = number_of(overview, "foldedCalls");
    double left = number_of(overview, "patterns");
    assert_true(folded > 0 && left < TABLES * 4 / 5);
    assert_true(left * 2 + folded == TABLES * 2);
    assert_true(calls_of(meter, "q=other reads") == folded);
    assert_true(calls_of(meter, "table=table-4799") == 2);
    assert_true(calls_of(meter, "table=table-0") == -1);
    record(meter, "new", "GetItem", 1, ERR_NONE);
    assert_true(calls_of(meter, "table=new") == 1);
    meter_destroy(meter);
    meter = start_with(folded, "q=other reads");
    while (total_calls(meter) != TABLES * 2 + 1) { /* until all are loaded */
        wait_a_little();
    }
    assert_true(number_of(ask(meter, "GET", "overview", NULL), "foldedCalls") == folded);
    meter_destroy(meter);
}

/* Codes with the same name are one member; those beyond the listed kinds are "other". */
static void test_kinds_of_errors_as_json(void **state)
{
    (void)state;
    static const enum err_code codes[] = {
        ERR_THROTTLING, ERR_OVERLOADED,    ERR_VALIDATION,      ERR_CONDITIONAL_CHECK_FAILED,
        ERR_INTERNAL,   ERR_ACCESS_DENIED, ERR_OVER_THROUGHPUT, ERR_TRANSACTION_CONFLICT,
    };
    erase_all_notes();
    struct meter *meter = start_meter();
    for (size_t i = 0; i < COUNT_OF(codes); i++) {
        record(meter, "t", "PutItem", 2, codes[i]);
    }
    for (int run = 0; run < 2; run++) {
        struct str answer = ask(meter, "GET", "patterns", "q=PutItem");
        const char *kinds = strstr(answer.data, "\"errorKinds\"");
        assert_non_null(kinds);
        assert_true(number_of(str_from_c(kinds), "ThrottlingException") == 4);
        assert_true(number_of(str_from_c(kinds), "ValidationException") == 2);
        assert_true(number_of(str_from_c(kinds), "other") == 6);
        meter_destroy(meter);
        meter = start_with(16, "q=PutItem");
    }
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
        cmocka_unit_test(test_servers_add_up),
        cmocka_unit_test(test_reset_reaches_all),
        cmocka_unit_test(test_observed_time),
        cmocka_unit_test(test_observed_by_two),
        cmocka_unit_test(test_long_texts_are_bounded),
        cmocka_unit_test(test_deleted_tables_make_room),
        cmocka_unit_test(test_kinds_of_errors_as_json),
    };
    return cmocka_run_group_tests(tests, open_engine, close_test_engine);
}
