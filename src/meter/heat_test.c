/* Heavy hitters: counts within the stated error, counters shared among places, windows of time. */
#include "meter/heat_internal.h"

#include <math.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/testing.h"

enum { KEYS = 20000 };

static void add(struct heat *heat, uint32_t space, uint32_t key, uint32_t second)
{
    struct heat_event event = {
        .hash = hash_64_seeded(str_make((const char *)&key, sizeof(key)), 7),
        .space = space,
        .second = second,
        .units = 0.5f,
        .key_len = sizeof(key),
    };
    heat_add(heat, &event, (const char *)&key);
}

static uint32_t key_of(const struct heat_counter *counter)
{
    uint32_t key;
    memcpy(&key, counter->key, sizeof(key));
    return key;
}

/* Compares all counters of a place with the true counts. */
static void check_counts(const struct heat_place *place, const uint64_t *true_counts)
{
    const struct heat_counter *top[HEAT_COUNTERS_MAX];
    size_t count = heat_top(place, HEAT_COUNTERS_MAX, top);
    bool *is_listed = mem_zalloc(KEYS);
    assert_int_equal(count, place->counter_count);
    for (size_t i = 0; i < count; i++) {
        uint64_t count_of_key = true_counts[key_of(top[i])];
        is_listed[key_of(top[i])] = true;
        assert_true(top[i]->count <= count_of_key);
        assert_true(count_of_key <= top[i]->count + heat_error_max(place));
        assert_true(i == 0 || top[i - 1]->count >= top[i]->count);
    }
    for (size_t key = 0; key < KEYS; key++) {
        assert_true(is_listed[key] || true_counts[key] <= heat_error_max(place));
    }
    mem_free(is_listed);
}

/* Small keys are more likely: the probability of `k` is about 1 / (k + 1). */
static uint32_t draw_skewed(struct random *random, double keys)
{
    double part = (double)(random_next(random) >> 11) / (double)(1ull << 53);
    return (uint32_t)pow(keys, part) - 1;
}

static void test_counts_are_within_the_error(void **state)
{
    (void)state;
    struct heat heat = {0};
    struct random random;
    uint64_t *true_counts = mem_zalloc(KEYS * sizeof(*true_counts));
    random_init_seed(&random, 1);
    heat_name_place(&heat, 5, STR("t"), STR_NULL);
    for (int i = 0; i < 300000; i++) {
        uint32_t key =
            i % 3 == 0 ? (uint32_t)(random_next(&random) % KEYS) : draw_skewed(&random, KEYS);
        add(&heat, 5, key, 100);
        true_counts[key]++;
        if (i == 10 || i == 1000 || i == 50000) {
            check_counts(heat_find(&heat, STR("t"), STR_NULL), true_counts);
        }
    }
    const struct heat_place *place = heat_find(&heat, STR("t"), STR_NULL);
    check_counts(place, true_counts);
    assert_int_equal(place->count, 300000);
    assert_true(heat_error_max(place) > 0 && heat_error_max(place) < 300000 / 256);
    assert_true(place->counter_max == HEAT_COUNTERS_MAX);
    assert_int_equal(heat.lost, 0);
    mem_free(true_counts);
    heat_finish(&heat);
}

/* Every place gets counters, however many there are; the sum of counters stays bounded. */
static void test_places_share_counters(void **state)
{
    (void)state;
    struct heat heat = {0};
    uint64_t *true_counts = mem_zalloc(KEYS * sizeof(*true_counts));
    for (uint32_t space = 1; space <= HEAT_PLACES_MAX; space++) {
        heat_name_place(&heat, space, STR("t"), STR_NULL);
        for (uint32_t key = 0; key < 200; key++) {
            add(&heat, space, key, 100);
        }
        assert_true(heat.counters_total <= HEAT_COUNTERS_TOTAL);
    }
    assert_int_equal(heat.lost, 0);
    size_t total = 0;
    for (size_t i = 0; i < HEAT_PLACE_SLOTS; i++) {
        if (heat.slots[i] != NULL) {
            assert_true(heat.slots[i]->counter_max >= HEAT_COUNTERS_MIN);
            assert_int_equal(heat.slots[i]->count, 200);
            total += heat.slots[i]->counter_max;
        }
    }
    assert_int_equal(total, heat.counters_total);
    for (uint32_t key = 0; key < 200; key++) {
        true_counts[key] = 1;
    }
    check_counts(heat_find(&heat, STR("t"), STR_NULL), true_counts);
    /* One place more has no name, so its accesses are counted as lost. */
    heat_name_place(&heat, HEAT_PLACES_MAX + 1, STR("u"), STR_NULL);
    add(&heat, HEAT_PLACES_MAX + 1, 1, 100);
    assert_int_equal(heat.lost, 1);
    mem_free(true_counts);
    heat_finish(&heat);
}

static void test_units_and_peaks(void **state)
{
    (void)state;
    struct heat heat = {0};
    heat_name_place(&heat, 1, STR("t"), STR("i"));
    for (uint32_t second = 100; second < 103; second++) {
        for (uint32_t i = 0; i < second - 90; i++) {
            add(&heat, 1, 7, second);
        }
    }
    const struct heat_counter *top[1];
    const struct heat_place *place = heat_find(&heat, STR("t"), STR("i"));
    assert_null(heat_find(&heat, STR("t"), STR_NULL));
    assert_int_equal(heat_top(place, 1, top), 1);
    assert_int_equal(top[0]->count, 33);
    assert_true(top[0]->read_units == 16.5 && top[0]->write_units == 0);
    assert_true(top[0]->peak_read == 6.0f); /* of 12 accesses in second 102 */
    /* An event of a thread that is late changes nothing of that. */
    add(&heat, 1, 7, 99);
    assert_int_equal(place->count, 34);
    /* After an hour counting starts anew. */
    add(&heat, 1, 8, 103 + HEAT_WINDOW_SECONDS);
    assert_int_equal(place->count, 1);
    assert_int_equal(heat_top(place, 1, top), 1);
    assert_int_equal(key_of(top[0]), 8);
    heat_forget(&heat);
    assert_null(heat_find(&heat, STR("t"), STR("i")));
    heat_finish(&heat);
}

/* Ten million accesses of a million keys by Zipf's law: the ten heaviest keys are named. */
static void test_heaviest_of_a_million(void **state)
{
    (void)state;
    enum { MILLION = 1000 * 1000, DRAWS = 10 * MILLION, TOP = 10 };
    struct heat heat = {0};
    struct random random;
    const struct heat_counter *top[TOP];
    uint32_t *true_counts = mem_zalloc(MILLION * sizeof(*true_counts));
    random_init_seed(&random, 2);
    heat_name_place(&heat, 5, STR("t"), STR_NULL);
    for (int i = 0; i < DRAWS; i++) {
        uint32_t key = draw_skewed(&random, MILLION);
        add(&heat, 5, key, 100);
        true_counts[key]++;
    }
    const struct heat_place *place = heat_find(&heat, STR("t"), STR_NULL);
    assert_int_equal(heat_top(place, TOP, top), TOP);
    assert_true(heat_error_max(place) <= DRAWS / 100);
    for (size_t i = 0; i < TOP; i++) {
        uint64_t count = true_counts[key_of(top[i])];
        assert_true(key_of(top[i]) < TOP); /* smaller keys are more frequent */
        assert_true(top[i]->count <= count && count <= top[i]->count + heat_error_max(place));
    }
    heat_finish(&heat);
    mem_free(true_counts);
}

/* Places of deleted tables, and of earlier tables of the same name, are removed. */
static void test_deleted_tables_are_removed(void **state)
{
    (void)state;
    enum { TABLES = HEAT_PLACES_MAX };
    static char here;
    struct heat heat = {0};
    struct map tables;
    map_init(&tables);
    map_put(&tables, STR("table-7"), &here);
    map_put(&tables, STR("table-8"), &here);
    for (uint32_t i = 0; i < TABLES; i++) {
        char name[32];
        int len = snprintf(name, sizeof(name), "table-%u", (unsigned)(i % 1000));
        heat_name_place(&heat, i + 1, str_make(name, (size_t)len), STR_NULL);
        add(&heat, i + 1, i, 100);
    }
    assert_true(heat_is_full(&heat));
    add(&heat, TABLES + 1, 1, 100); /* there is no room for its name */
    assert_int_equal(heat.lost, 1);
    heat_keep_only(&heat, &tables);
    assert_int_equal(heat.place_count, 2);
    assert_false(heat_is_full(&heat));
    assert_int_equal(heat_find(&heat, STR("table-7"), STR_NULL)->space, TABLES - 1000 + 8);
    assert_null(heat_find(&heat, STR("table-9"), STR_NULL));
    heat_name_place(&heat, TABLES + 2, STR("new"), STR_NULL);
    add(&heat, TABLES + 2, 1, 100);
    assert_int_equal(heat_find(&heat, STR("new"), STR_NULL)->count, 1);
    map_finish(&tables);
    heat_finish(&heat);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts_are_within_the_error),
        cmocka_unit_test(test_heaviest_of_a_million),
        cmocka_unit_test(test_deleted_tables_are_removed),
        cmocka_unit_test(test_places_share_counters),
        cmocka_unit_test(test_units_and_peaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
