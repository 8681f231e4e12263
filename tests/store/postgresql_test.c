/* Tests what only a store on PostgreSQL has: connections that are lost at the worst moments. Needs
 * the database in GRAMME_POSTGRESQL (tools/with-postgresql). */
#include "support.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"

static const struct variant on_postgresql = {.name = "postgresql", .postgresql = true};
static const struct variant slowly = {.name = "postgresql, slow", .postgresql = true, .slow = true};

static int set_up(void **state)
{
    struct fixture *fixture = mem_zalloc(sizeof(*fixture));
    fixture_open(fixture, &on_postgresql);
    *state = fixture;
    return 0;
}

static int set_up_slow(void **state)
{
    struct fixture *fixture = mem_zalloc(sizeof(*fixture));
    fixture_open(fixture, &slowly);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    fixture_close(*state);
    mem_free(*state);
    return 0;
}

/* Commits without an answer ---------------------------------------------------------------- */

enum { SPACE = 7, THREADS = 4, UPDATES = 40, KEYS = 3 };

static struct str counter_key(struct arena *arena)
{
    return key_text(arena, SPACE + 1, "counter", "");
}

static struct str log_prefix(struct arena *arena)
{
    return key_text(arena, SPACE + 2, "log", "");
}

/* Adds one to a row, to a counter, and a row to a log. */
static bool eval_count(void *context, struct arena *arena, const struct str *rows,
                       struct store_batch *batch)
{
    (void)context;
    struct str row = number_row(arena, number_of(rows[0]) + 1);
    store_batch_put(batch, 0, row);
    store_batch_add(batch, counter_key(arena), (struct store_count){.count = 1, .bytes = 3});
    store_batch_append(batch, log_prefix(arena), row);
    return true;
}

static void count_up(struct worker *worker)
{
    struct client *client = worker->client;
    atomic_int *done = worker->context;
    for (uint64_t i = 0; i < UPDATES; i++) {
        struct str key = key_number(&client->arena, SPACE, (worker->index + i) % KEYS, 0);
        assert_int_equal(client_update(client, &key, 1, eval_count, NULL), STORE_OK);
        atomic_fetch_add(done, 1);
    }
}

/* Every update was carried out exactly once: its row, its counter and its log say the same. */
static void check_counts(struct fixture *fixture, uint64_t expected)
{
    struct client *client = client_create(fixture);
    uint64_t sum = 0;
    for (uint64_t i = 0; i < KEYS; i++) {
        sum += number_of(client_get(client, key_number(&client->arena, SPACE, i, 0)));
    }
    assert_int_equal(sum, expected);
    struct store_count count = client_get_count(client, counter_key(&client->arena));
    assert_int_equal(count.count, expected);
    assert_int_equal(count.bytes, 3 * expected);
    struct rows rows = client_range(
        client, (struct range_spec){.lo = log_prefix(&client->arena),
                                    .hi = key_text(&client->arena, SPACE + 3, "", "")});
    assert_int_equal(rows.status, STORE_OK);
    assert_int_equal(rows.count, expected);
}

static void count_with_faults(struct fixture *fixture, enum pg_fault first, enum pg_fault second)
{
    pg_fault_every(fixture->inner, first, 3);
    pg_fault_every(fixture->inner, second, 2);
    atomic_int done = 0;
    run_threads(fixture, THREADS, count_up, &done);
    assert_true(pg_fault_count(fixture->inner, first) > 0);
    assert_true(pg_fault_count(fixture->inner, second) > 0);
    pg_fault_every(fixture->inner, first, 0);
    pg_fault_every(fixture->inner, second, 0);
    check_counts(fixture, THREADS * UPDATES);
}

static void cut_decisions_are_repeated(void **state)
{
    count_with_faults(*state, PG_FAULT_CUT_COMMIT, PG_FAULT_CUT_DECISION);
}

static void decisions_after_a_warning_are_cut(void **state)
{
    count_with_faults(*state, PG_FAULT_WARNING, PG_FAULT_CUT_DECISION);
}

static void decisions_with_a_warning_are_repeated(void **state)
{
    count_with_faults(*state, PG_FAULT_CUT_COMMIT, PG_FAULT_WARN_DECISION);
}

/* Slow evaluations ------------------------------------------------------------------------- */

struct slow_update {
    struct store *store;
    uint64_t cuts_before;
    atomic_int others; /* updates that others have carried out since the evaluation began */
    int others_wanted;
    atomic_int runs;
};

/* The first run ends when its connection was cut and others have carried out some updates, so the
 * connection may be open again or not. */
static bool eval_slowly(void *context, struct arena *arena, const struct str *rows,
                        struct store_batch *batch)
{
    struct slow_update *slow = context;
    if (atomic_fetch_add(&slow->runs, 1) == 0) {
        while (pg_fault_count(slow->store, PG_FAULT_CUT_EVAL) == slow->cuts_before ||
               atomic_load(&slow->others) < slow->others_wanted) {
            sched_yield();
        }
    }
    return eval_count(NULL, arena, rows, batch);
}

static void cut_slow_evaluations_are_repeated(void **state)
{
    struct fixture *fixture = *state;
    enum { ROUNDS = 12 };
    struct client *client = client_create(fixture);
    struct client *other = client_create(fixture);
    other->slow = false; /* evaluated on another thread than the slow one */
    uint64_t expected = 0;
    for (int i = 0; i < ROUNDS; i++) {
        struct slow_update slow = {.store = fixture->inner,
                                   .cuts_before = pg_fault_count(fixture->inner, PG_FAULT_CUT_EVAL),
                                   .others_wanted = i % 4 * 5};
        struct str key = key_number(&client->arena, SPACE, 0, 0);
        struct str other_key = key_number(&other->arena, SPACE, 1, 0);
        struct change change;
        pg_fault_every(fixture->inner, PG_FAULT_CUT_EVAL, 1);
        client_start(client, &change, &key, 1, eval_slowly, &slow);
        while (pg_fault_count(fixture->inner, PG_FAULT_CUT_EVAL) == slow.cuts_before) {
            sched_yield();
        }
        pg_fault_every(fixture->inner, PG_FAULT_CUT_EVAL, 0);
        for (int k = 0; k < slow.others_wanted; k++) {
            assert_int_equal(client_update(other, &other_key, 1, eval_count, NULL), STORE_OK);
            atomic_fetch_add(&slow.others, 1);
        }
        assert_int_equal(client_finish(&change), STORE_OK);
        assert_true(atomic_load(&slow.runs) >= 2); /* the first one wrote nothing */
        expected += 1 + (uint64_t)slow.others_wanted;
    }
    check_counts(fixture, expected);
}

/* Dropped spaces --------------------------------------------------------------------------- */

static void wait_until_empty(struct fixture *fixture, uint32_t space)
{
    int64_t start_us = clock_monotonic_us();
    while (pg_count_rows(fixture->inner, space) != 0) {
        assert_true(clock_monotonic_us() - start_us < (int64_t)60 * 1000 * 1000);
        usleep(100000);
    }
}

/* Another member that does not know of the drop yet writes after the rows were deleted. Either
 * member may drop the space; the leader, which deletes the rows, is the one that was opened first.
 */
static void late_rows_of_a_dropped_space_are_deleted(void **state)
{
    struct fixture *fixture = *state;
    struct fixture joined = {.variant = &on_postgresql};
    fixture_join(&joined);
    struct fixture *const droppers[] = {fixture, &joined};
    for (uint32_t i = 0; i < COUNT_OF(droppers); i++) {
        struct client *dropper = client_create(droppers[i]);
        struct client *other = client_create(droppers[1 - i]);
        uint32_t space = SPACE + 100 + i;
        struct str key = key_number(&other->arena, space, 1, 1);
        client_put(dropper, key, STR("v"));
        assert_int_equal(pg_count_rows(fixture->inner, space), 1);
        store_drop_space(dropper->store, space);
        wait_until_empty(fixture, space);
        client_put(other, key_number(&other->arena, space, 2, 1), STR("late"));
        wait_until_empty(fixture, space);
    }
    fixture_close(&joined);
}

#define POSTGRESQL_TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    if (getenv("GRAMME_POSTGRESQL") == NULL) {
        fprintf(stderr, "run it by tools/with-postgresql\n");
        return 1;
    }
    const struct CMUnitTest tests[] = {
        POSTGRESQL_TEST(cut_decisions_are_repeated),
        POSTGRESQL_TEST(decisions_after_a_warning_are_cut),
        POSTGRESQL_TEST(decisions_with_a_warning_are_repeated),
        POSTGRESQL_TEST(late_rows_of_a_dropped_space_are_deleted),
        cmocka_unit_test_setup_teardown(cut_slow_evaluations_are_repeated, set_up_slow, tear_down),
    };
    return cmocka_run_group_tests_name("postgresql", tests, NULL, NULL);
}
