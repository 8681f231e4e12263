/* Findings from made-up counters: item collections of gigabytes, which no test writes. */
#include "meter/findings_internal.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/testing.h"

enum { FINDINGS = 10 };

static const struct table calendar = {.name = STR("calendar"), .space = 7, .version = 1};

/* Records a PutItem into an item collection that then has this size. */
static void record_write(struct meter *meter, int64_t collection_bytes)
{
    struct meter_access access = {
        .operation = "PutItem",
        .flags = METER_WRITE,
        .table = &calendar,
        .table_units = 1,
        .item_bytes = 100,
        .collection_bytes = collection_bytes,
    };
    struct meter_call call = {
        .operation = STR("PutItem"), .body = STR("{}"), .start_ns = clock_monotonic_ns()};
    meter_record(meter_thread(meter, 0), &call, &access);
}

/* The findings of these writes' pattern, for a server with this table; no rule about patterns asks
 * the engine. The caller destroys the meter. */
static struct search search_after(struct arena *arena, const int64_t *sizes, size_t count,
                                  const struct table *table)
{
    struct err err = ERR_INIT(arena);
    struct meter_options options = {.thread_count = 1, .store = STR("memory:")};
    struct meter *meter = NULL;
    assert_true(meter_create(NULL, &options, &meter, &err));
    for (size_t i = 0; i < count; i++) {
        record_write(meter, sizes[i]);
    }
    static struct insight insight;
    static const struct table *tables[1];
    static struct table_sizes table_sizes[1];
    insight = (struct insight){.meter = meter, .arena = arena};
    tables[0] = table;
    struct search search = {
        .insight = &insight,
        .tables = {.tables = tables, .sizes = table_sizes, .count = 1},
        .findings = ARENA_ARRAY(arena, struct finding, FINDINGS),
        .max = FINDINGS,
    };
    pthread_mutex_lock(&meter->mutex);
    meter_collect(meter);
    findings_of_patterns(&search);
    pthread_mutex_unlock(&meter->mutex);
    return search;
}

static void check_collection(const struct finding *finding, const char *size)
{
    char start[100];
    snprintf(start, sizeof(start), "PutItem calendar wrote to an item collection of %s.", size);
    assert_int_equal(finding->kind, FINDING_LARGE_COLLECTION);
    CHECK_STR_EQ("table", finding->table, STR("calendar"));
    assert_true(str_starts_with(finding->evidence, str_from_c(start)));
    assert_true(str_starts_with(finding->numbers, STR("\"collectionBytes\":")));
}

static void test_item_collections_near_their_limit(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    const int64_t gigabyte = INT64_C(1) << 30;
    const struct {
        int64_t sizes[3]; /* of the collections that were written, in this order */
        const char *size; /* that the finding names; NULL: there is none */
    } rows[] = {
        {{0, 0, 0}, NULL}, /* a table without local indexes */
        {{1000, 2000, 3000}, NULL},
        {{7 * gigabyte - 1, 1000, 1000}, NULL},
        {{1000, 7 * gigabyte, 1000}, "7.0 GB"},
        {{7 * gigabyte, 9 * gigabyte + gigabyte / 2, 8 * gigabyte}, "9.5 GB"}, /* the largest */
        {{10 * gigabyte, 0, 0}, "10.0 GB"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct search search =
            search_after(&arena, rows[i].sizes, COUNT_OF(rows[i].sizes), &calendar);
        assert_int_equal(search.count, rows[i].size != NULL);
        if (rows[i].size != NULL) {
            check_collection(&search.findings[0], rows[i].size);
        }
        meter_destroy(search.insight->meter);
    }
    arena_finish(&arena);
}

static void test_a_deleted_table_has_none(void **state)
{
    (void)state;
    const struct table other = {.name = STR("other"), .space = 8, .version = 1};
    const int64_t size = INT64_C(9) << 30;
    struct arena arena;
    arena_init(&arena);
    struct search search = search_after(&arena, &size, 1, &other);
    assert_int_equal(search.count, 0);
    meter_destroy(search.insight->meter);
    arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_item_collections_near_their_limit),
        cmocka_unit_test(test_a_deleted_table_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
