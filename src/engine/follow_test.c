/* Changes of tables whose update is STORE_UNKNOWN: once the store accepts updates again, memory has
 * what the store has, whether the change was written or not. Changes that enable point-in-time
 * recovery are answered when the table can be restored. */
#include "engine/follow.h"

#include <unistd.h>

#include "base/clock.h"
#include "engine/backup.h"
#include "engine/engine_testing.h"
#include "store/fault/fault.h"

enum { WAIT_MS_MAX = 30 * 1000 };

static int setup(void **state)
{
    (void)state;
    return open_wrapped_engine(0, fault_create);
}

static const struct table *protect(struct table_change *change, const struct table *before)
{
    struct table *table = ARENA_NEW(change->call.arena, struct table);
    *table = *before;
    table->deletion_protection = true;
    return table;
}

static void protect_table(struct str name, enum err_code code)
{
    struct table_change change = {.call = start_call(), .name = name, .change = protect};
    engine_change_table(&change);
    finish_call_with(&change.call, code);
    table_release(change.table);
}

static void delete_table(struct str name, enum err_code code)
{
    struct table_delete remove = {.call = start_call(), .name = name};
    engine_delete_table(&remove);
    finish_call_with(&remove.call, code);
    table_release(remove.table);
}

/* --- what memory and the store have --- */

enum state { ABSENT, PLAIN, PROTECTED };

static enum state state_in_memory(struct str name)
{
    const struct table *table = table_acquire(engine, name);
    enum state state = table == NULL ? ABSENT : table->deletion_protection ? PROTECTED : PLAIN;
    table_release(table);
    return state;
}

static void wait_for_state(struct str name, enum state state)
{
    int64_t until_us = clock_monotonic_us() + (int64_t)WAIT_MS_MAX * 1000;
    while (state_in_memory(name) != state) {
        assert_true(clock_monotonic_us() < until_us);
        usleep(1000);
    }
}

static size_t count_drops(void)
{
    struct arena rows;
    arena_init(&rows);
    struct err err = ERR_INIT(&rows);
    struct catalog_snapshot snapshot = {0};
    assert_true(catalog_read_all(engine, &rows, &snapshot, &err));
    arena_finish(&rows);
    return snapshot.drops.count;
}

/* The rows "drop" are erased after the spaces were dropped. */
static void wait_for_drops(void)
{
    int64_t until_us = clock_monotonic_us() + (int64_t)WAIT_MS_MAX * 1000;
    while (count_drops() > 0) {
        assert_true(clock_monotonic_us() < until_us);
        usleep(1000);
    }
}

/* --- the change was written --- */

static void test_created(void **state)
{
    (void)state;
    fault_nth(store, FAULT_UPDATE_AFTER, 1);
    assert_null(try_make_table(STR("created"), ERR_INTERNAL));
    wait_for_state(STR("created"), PLAIN);
    assert_null(try_make_table(STR("created"), ERR_RESOURCE_IN_USE));
}

static void test_changed(void **state)
{
    (void)state;
    table_release(make_table(STR("changed")));
    fault_nth(store, FAULT_UPDATE_AFTER, 1);
    protect_table(STR("changed"), ERR_INTERNAL);
    wait_for_state(STR("changed"), PROTECTED);
    delete_table(STR("changed"), ERR_VALIDATION);
}

/* The spaces of the table are dropped, too. */
static void test_deleted(void **state)
{
    (void)state;
    table_release(make_table(STR("deleted")));
    fault_nth(store, FAULT_UPDATE_AFTER, 1);
    delete_table(STR("deleted"), ERR_INTERNAL);
    wait_for_state(STR("deleted"), ABSENT);
    wait_for_drops();
}

/* The next change is committed before the store is asked about the first one, or after that. */
static void test_followed_by_another(void **state)
{
    (void)state;
    table_release(make_table(STR("first")));
    fault_nth(store, FAULT_UPDATE_AFTER, 1);
    delete_table(STR("first"), ERR_INTERNAL);
    table_release(make_table(STR("second")));
    wait_for_state(STR("first"), ABSENT);
    assert_int_equal(state_in_memory(STR("second")), PLAIN);
    wait_for_drops();
}

/* The second call of a kind from now on fails: the one that would decide, or read the catalog. */
static void check_created_despite(enum fault_kind kind, struct str name)
{
    uint64_t before = fault_count(store, kind);
    fault_nth(store, FAULT_UPDATE_AFTER, 1);
    fault_nth(store, kind, 2);
    assert_null(try_make_table(name, ERR_INTERNAL));
    wait_for_state(name, PLAIN);
    assert_int_equal(fault_count(store, kind), before + 1);
}

static void test_found_out_late(void **state)
{
    (void)state;
    check_created_despite(FAULT_UPDATE_BEFORE, STR("decided-late"));
    check_created_despite(FAULT_RANGE, STR("read-late"));
}

/* --- it was not --- */

static void test_not_written(void **state)
{
    (void)state;
    table_release(make_table(STR("kept")));
    fault_nth(store, FAULT_UPDATE_LOST, 1);
    protect_table(STR("kept"), ERR_INTERNAL);
    fault_nth(store, FAULT_UPDATE_LOST, 1);
    assert_null(try_make_table(STR("lost"), ERR_INTERNAL));
    table_release(make_table(STR("other"))); /* decides, at the latest */
    assert_int_equal(state_in_memory(STR("kept")), PLAIN);
    assert_int_equal(state_in_memory(STR("lost")), ABSENT);
    protect_table(STR("kept"), ERR_NONE);
    table_release(make_table(STR("lost")));
    assert_int_equal(state_in_memory(STR("kept")), PROTECTED);
    assert_int_equal(state_in_memory(STR("lost")), PLAIN);
}

/* --- point-in-time recovery --- */

static const struct table *enable_recovery(struct table_change *change, const struct table *before)
{
    struct table *table = ARENA_NEW(change->call.arena, struct table);
    *table = *before;
    recovery_enable(change, table, 0);
    return table;
}

static void start_enabling(struct table_change *change, struct background_wait *wait,
                           struct str name)
{
    *change = (struct table_change){
        .call = background_call(&background, &arena, wait),
        .name = name,
        .change = enable_recovery,
    };
    engine_change_table(change);
}

/* Waits for the end of the change, and returns since when the table can be restored. */
static int64_t finish_enabling(struct table_change *change, const struct background_wait *wait)
{
    background_wait_for(&background, wait);
    assert_int_equal(change->call.err.code, ERR_NONE);
    int64_t since_ns = change->table->recovery_since_ns;
    table_release(change->table);
    return since_ns;
}

/* The answer says since when the table can be restored, and a restore is accepted at once. */
static void test_enabled(void **state)
{
    (void)state;
    struct table_change change;
    struct background_wait wait;
    table_release(make_table(STR("restorable")));
    start_enabling(&change, &wait, STR("restorable"));
    assert_true(finish_enabling(&change, &wait) > 0);
    struct recovery_pin pin = {
        .change = {.call = start_call(), .name = STR("restorable")},
        .instant_ms = -1,
    };
    engine_pin_instant(&pin);
    finish_call(&pin.change.call);
    table_release(pin.change.table);
}

/* The answer waits for at most three seconds. What a test does within them is tried again if the
 * machine has held it up for longer. */
enum { PATIENCE_US = 2900 * 1000, TRIES = 10 };

/* Returns whether it was in time. */
static bool try_to_enable_late(struct str name)
{
    struct table_change changes[2];
    struct background_wait waits[2];
    const struct table *older = make_table(name);
    int64_t start_us = clock_monotonic_us();
    start_enabling(&changes[0], &waits[0], name);
    start_enabling(&changes[1], &waits[1], name);
    waiting_mailbox_run_for(background.mailbox, 200);
    bool is_done = waits[0].done || waits[1].done;
    bool is_in_time = clock_monotonic_us() - start_us < PATIENCE_US;
    table_release(older);
    int64_t first_ns = finish_enabling(&changes[0], &waits[0]);
    int64_t second_ns = finish_enabling(&changes[1], &waits[1]);
    is_in_time = is_in_time && clock_monotonic_us() - start_us < PATIENCE_US;
    if (is_in_time) {
        assert_false(is_done);
        assert_true(first_ns > 0 && second_ns > 0);
    }
    return is_in_time;
}

/* Recovery cannot begin while a call uses a description without it. */
static void test_enabled_late(void **state)
{
    (void)state;
    bool is_in_time = false;
    for (int i = 0; i < TRIES && !is_in_time; i++) {
        is_in_time = try_to_enable_late(arena_format(&arena, "used-%d", i));
    }
    assert_true(is_in_time);
}

/* The answer does not wait for ever, */
static void test_enabled_too_late(void **state)
{
    (void)state;
    struct table_change change;
    struct background_wait wait;
    const struct table *older = make_table(STR("used-long"));
    start_enabling(&change, &wait, STR("used-long"));
    assert_int_equal(finish_enabling(&change, &wait), 0);
    table_release(older);
}

/* nor for recovery that will not begin any more. */
static void test_enabled_and_deleted(void **state)
{
    (void)state;
    int64_t took_us = INT64_MAX;
    for (int i = 0; i < TRIES && took_us >= PATIENCE_US; i++) {
        struct table_change change;
        struct background_wait wait;
        const struct table *older = make_table(STR("gone"));
        int64_t start_us = clock_monotonic_us();
        start_enabling(&change, &wait, STR("gone"));
        delete_table(STR("gone"), ERR_NONE);
        assert_int_equal(finish_enabling(&change, &wait), 0);
        took_us = clock_monotonic_us() - start_us;
        table_release(older);
    }
    assert_true(took_us < PATIENCE_US); /* not by the deadline */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_created),          cmocka_unit_test(test_changed),
        cmocka_unit_test(test_deleted),          cmocka_unit_test(test_followed_by_another),
        cmocka_unit_test(test_found_out_late),   cmocka_unit_test(test_not_written),
        cmocka_unit_test(test_enabled),          cmocka_unit_test(test_enabled_late),
        cmocka_unit_test(test_enabled_too_late), cmocka_unit_test(test_enabled_and_deleted),
    };
    return cmocka_run_group_tests(tests, setup, close_test_engine);
}
