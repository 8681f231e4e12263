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

/* Time-outs -------------------------------------------------------------------------------- */

/* PostgreSQL has ended the session of a transaction: it is carried out on another connection. */
static void updates_of_ended_sessions_are_repeated(void **state)
{
    count_with_faults(*state, PG_FAULT_IDLE, PG_FAULT_CUT_COMMIT);
}

static void count_up_if_not_busy(struct worker *worker)
{
    struct client *client = worker->client;
    atomic_int *done = worker->context;
    for (uint64_t i = 0; i < UPDATES; i++) {
        struct str key = key_number(&client->arena, SPACE, (worker->index + i) % KEYS, 0);
        enum store_status status = client_update(client, &key, 1, eval_count, NULL);
        assert_true(status == STORE_OK || status == STORE_BUSY);
        atomic_fetch_add(done, status == STORE_OK);
    }
}

/* A lone update whose row stays locked is busy and writes nothing. In a group each is tried alone,
 * because the row of another one may have been locked. */
static void updates_of_locked_rows_are_busy_and_write_nothing(void **state)
{
    struct fixture *fixture = *state;
    struct client *client = client_create(fixture);
    struct str key = key_number(&client->arena, SPACE, 0, 0);
    assert_int_equal(client_update(client, &key, 1, eval_count, NULL), STORE_OK);
    pg_fault_every(fixture->inner, PG_FAULT_LOCKED, 1);
    assert_int_equal(client_update(client, &key, 1, eval_count, NULL), STORE_BUSY);
    assert_int_equal(pg_fault_count(fixture->inner, PG_FAULT_LOCKED), 1); /* not tried again */
    check_counts(fixture, 1);
    pg_fault_every(fixture->inner, PG_FAULT_LOCKED, 3);
    atomic_int done = 1;
    run_threads(fixture, THREADS, count_up_if_not_busy, &done);
    pg_fault_every(fixture->inner, PG_FAULT_LOCKED, 0);
    check_counts(fixture, (uint64_t)atomic_load(&done));
}

/* Pages that cannot be read ------------------------------------------------------------------ */

/* A page that cannot be read once does not make the range fail; one that stays so does. */
static void bad_pages_are_read_again(void **state)
{
    struct fixture *fixture = *state;
    struct client *client = client_create(fixture);
    for (uint64_t i = 0; i < 5; i++) {
        client_put(client, key_number(&client->arena, SPACE, 0, i), STR("v"));
    }
    struct range_spec all = {.lo = key_number(&client->arena, SPACE, 0, 0),
                             .hi = key_number(&client->arena, SPACE, 0, 9)};
    pg_fault_every(fixture->inner, PG_FAULT_BAD_PAGE, 2);
    for (int i = 0; i < 2; i++) {
        struct rows rows = client_range(client, all);
        assert_int_equal(rows.status, STORE_OK);
        assert_false(rows.is_unreadable);
        assert_int_equal(rows.count, 5);
    }
    assert_true(pg_fault_count(fixture->inner, PG_FAULT_BAD_PAGE) > 0);
    pg_fault_every(fixture->inner, PG_FAULT_BAD_PAGE, 1);
    struct rows rows = client_range(client, all);
    assert_int_equal(rows.status, STORE_FAILED);
    assert_true(rows.is_unreadable);
    pg_fault_every(fixture->inner, PG_FAULT_BAD_PAGE, 0);
}

/* Returns how often the fault was injected since the last call with the same count. */
static uint64_t new_faults(struct fixture *fixture, enum pg_fault fault, uint64_t *count)
{
    uint64_t before = *count;
    *count = pg_fault_count(fixture->inner, fault);
    return *count - before;
}

/* What fails at once each time is repeated until the deadline, but not all the time. */
static void failed_reads_are_repeated_with_pauses(void **state)
{
    enum { ATTEMPTS_MIN = 4, ATTEMPTS_MAX = 20 };
    struct fixture *fixture = *state;
    struct client *client = client_create(fixture);
    struct str key = key_number(&client->arena, SPACE, 0, 1);
    struct range_spec all = {.lo = key_number(&client->arena, SPACE, 0, 0),
                             .hi = key_number(&client->arena, SPACE, 0, 9)};
    struct str row;
    uint64_t count = 0;
    client_put(client, key, STR("v"));
    pg_fault_every(fixture->inner, PG_FAULT_BAD_PAGE, 1);
    assert_int_equal(client_range(client, all).status, STORE_FAILED);
    assert_in_range(new_faults(fixture, PG_FAULT_BAD_PAGE, &count), ATTEMPTS_MIN, ATTEMPTS_MAX);
    assert_int_equal(client_get_many(client, &key, 1, false, &row), STORE_FAILED);
    assert_in_range(new_faults(fixture, PG_FAULT_BAD_PAGE, &count), ATTEMPTS_MIN, ATTEMPTS_MAX);
    pg_fault_every(fixture->inner, PG_FAULT_BAD_PAGE, 0);
    assert_true(str_eq(client_get(client, key), STR("v")));
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

/* The member that drops a space notifies the leader, which may be in the middle of a statement
 * then: at other moments of its heartbeat in each round. */
static void drops_of_other_members_are_not_overlooked(void **state)
{
    enum { ROUNDS = 25, STEP_US = 23000, BEAT_US = 500000 };
    struct fixture *fixture = *state;
    struct fixture joined = {.variant = &on_postgresql};
    fixture_join(&joined);
    struct client *dropper = client_create(&joined);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint32_t space = SPACE + 200 + i;
        client_put(dropper, key_number(&dropper->arena, space, 1, 1), STR("v"));
        usleep(i * STEP_US % BEAT_US);
        store_drop_space(dropper->store, space);
        wait_until_empty(fixture, space);
    }
    fixture_close(&joined);
}

/* Members ---------------------------------------------------------------------------------- */

/* Waits until the members lead what they should. */
static void wait_for_leaders(const struct store *upkeep, const struct store *transfers)
{
    int64_t start_us = clock_monotonic_us();
    while (!store_is_leader(upkeep) || !store_leads_transfers(transfers)) {
        assert_true(clock_monotonic_us() - start_us < (int64_t)20 * 1000 * 1000);
        usleep(10000);
    }
}

/* A member that does no transfers was the first to join: it must not be chosen for them. */
static void transfers_are_led_by_a_member_that_does_them(void **state)
{
    struct fixture *fixture = *state;
    struct fixture joined[2] = {{.variant = &on_postgresql, .does_transfers = true},
                                {.variant = &on_postgresql, .does_transfers = true}};
    fixture_join(&joined[0]);
    fixture_join(&joined[1]);
    wait_for_leaders(fixture->inner, joined[0].inner);
    assert_false(store_leads_transfers(fixture->inner));
    assert_false(store_leads_transfers(joined[1].inner));
    assert_false(store_is_leader(joined[0].inner));
    fixture_close(&joined[0]);
    wait_for_leaders(fixture->inner, joined[1].inner);
    fixture_close(&joined[1]);
}

static void wait_for_slowest(const struct store *store, uint64_t seen)
{
    int64_t start_us = clock_monotonic_us();
    while (store_slowest(store).seen != seen) {
        assert_true(clock_monotonic_us() - start_us < (int64_t)20 * 1000 * 1000);
        usleep(10000);
    }
}

/* PostgreSQL confirms every second heartbeat only. So no heartbeat after the list in which the
 * other member is missing is confirmed, and a failover might bring that member back. */
static void members_that_are_gone_count_until_a_heartbeat_confirms_it(void **state)
{
    enum { WARNINGS = 4 };
    struct fixture *fixture = *state;
    struct fixture joined = {.variant = &on_postgresql};
    fixture_join(&joined);
    store_announce(fixture->inner, (struct store_progress){.seen = 5, .settled = 5});
    store_announce(joined.inner, (struct store_progress){.seen = 3, .settled = 3});
    wait_for_slowest(fixture->inner, 3);
    pg_fault_every(fixture->inner, PG_FAULT_WARN_BEAT, 2);
    fixture_close(&joined);
    uint64_t before = pg_fault_count(fixture->inner, PG_FAULT_WARN_BEAT);
    while (pg_fault_count(fixture->inner, PG_FAULT_WARN_BEAT) < before + WARNINGS) {
        assert_int_equal(store_slowest(fixture->inner).seen, 3);
        usleep(1000);
    }
    pg_fault_every(fixture->inner, PG_FAULT_WARN_BEAT, 0);
    wait_for_slowest(fixture->inner, 5);
}

static bool open_as(struct str owner, bool claims, struct store **out)
{
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    struct store_options options = {.owner = owner, .claims = claims};
    bool ok = store_open(str_from_c(getenv("GRAMME_POSTGRESQL")), &options, out, &err);
    assert_true(ok || memmem(err.message.data, err.message.len, "belongs to account", 18) != NULL);
    arena_finish(&arena);
    return ok;
}

/* The store was created without an owner. The first one who claims it has it. */
static void a_store_belongs_to_whom_claims_it(void **state)
{
    (void)state;
    const struct {
        struct str owner;
        bool claims;
        bool ok;
        struct str expected;
    } steps[] = {
        {STR("1/a"), false, true, STR("")},    {STR("2/b"), true, true, STR("2/b")},
        {STR("1/a"), true, false, STR("")},    {STR("1/a"), false, false, STR("")},
        {STR("2/b"), false, true, STR("2/b")}, {STR(""), true, true, STR("2/b")},
    };
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        struct store *store = NULL;
        assert_int_equal(open_as(steps[i].owner, steps[i].claims, &store), steps[i].ok);
        if (steps[i].ok) {
            assert_true(str_eq(store_owner(store), steps[i].expected));
            store_close(store);
        }
    }
}

/* Ranges ------------------------------------------------------------------------------------ */

/* Returns the largest amount of memory that this process had since forget_peak(), in bytes. */
static size_t peak_bytes(void)
{
    FILE *status = fopen("/proc/self/status", "r");
    assert_non_null(status);
    char line[128];
    size_t kilobytes = 0;
    while (kilobytes == 0 && fgets(line, sizeof(line), status) != NULL) {
        (void)sscanf(line, "VmHWM: %zu", &kilobytes);
    }
    fclose(status);
    return kilobytes * 1024;
}

static void forget_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    assert_non_null(file);
    assert_true(fputs("5", file) >= 0);
    assert_int_equal(fclose(file), 0);
}

enum { SMALL_ROWS = 200, LARGE_ROWS = 150, LARGE_LEN = 400000 };

static bool eval_large(void *context, struct arena *arena, const struct str *rows,
                       struct store_batch *batch)
{
    (void)arena;
    (void)rows;
    store_batch_put(batch, 0, *(struct str *)context);
    return true;
}

/* The small rows at the start suggest that many rows can be read at once, which are 60 MB then. */
static void ranges_do_not_read_many_large_rows_at_once(void **state)
{
    struct fixture *fixture = *state;
    struct client *client = client_create(fixture);
    char *bytes = mem_zalloc(LARGE_LEN);
    for (uint64_t id = 0; id < SMALL_ROWS + LARGE_ROWS; id++) {
        struct str key = key_number(&client->arena, SPACE, 1, id);
        struct str value = str_make(bytes, id < SMALL_ROWS ? 3 : LARGE_LEN);
        assert_int_equal(client_update(client, &key, 1, eval_large, &value), STORE_OK);
    }
    mem_free(bytes);
    forget_peak();
    size_t before = peak_bytes();
    struct rows rows =
        client_range(client, (struct range_spec){.lo = key_number(&client->arena, SPACE, 1, 0),
                                                 .hi = key_number(&client->arena, SPACE, 2, 0),
                                                 .rows_max = SMALL_ROWS + 5});
    assert_int_equal(rows.status, STORE_OK);
    assert_int_equal(rows.count, SMALL_ROWS + 5);
    assert_true(peak_bytes() - before < (size_t)24 << 20);
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
        POSTGRESQL_TEST(updates_of_ended_sessions_are_repeated),
        POSTGRESQL_TEST(updates_of_locked_rows_are_busy_and_write_nothing),
        POSTGRESQL_TEST(late_rows_of_a_dropped_space_are_deleted),
        POSTGRESQL_TEST(drops_of_other_members_are_not_overlooked),
        POSTGRESQL_TEST(transfers_are_led_by_a_member_that_does_them),
        POSTGRESQL_TEST(a_store_belongs_to_whom_claims_it),
        POSTGRESQL_TEST(ranges_do_not_read_many_large_rows_at_once),
        POSTGRESQL_TEST(members_that_are_gone_count_until_a_heartbeat_confirms_it),
        POSTGRESQL_TEST(bad_pages_are_read_again),
        POSTGRESQL_TEST(failed_reads_are_repeated_with_pauses),
        cmocka_unit_test_setup_teardown(cut_slow_evaluations_are_repeated, set_up_slow, tear_down),
    };
    return cmocka_run_group_tests_name("postgresql", tests, NULL, NULL);
}
