/* Tests rules 5 and 6 with writes that the disk refuses: acknowledged writes stay, failed writes
 * never appear, an error of one update does not fail others in its group, and the store recovers
 * without help. Also drops of spaces, and a process that is killed meanwhile. */
#include "child.h"
#include "disk_support.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"

/* Starts many updates while the next call of a kind fails. */
static void count_in_groups(struct fixture *fixture, enum bad_disk_kind kind)
{
    enum { COUNT = 40 };
    struct client *client = client_create(fixture);
    for (uint64_t round = 0; round < 3; round++) {
        struct change changes[COUNT];
        struct str key = count_key(client);
        bad_disk_fail(kind, 1);
        for (size_t i = 0; i < COUNT; i++) {
            client_start(client, &changes[i], &key, 1, eval_count, NULL);
        }
        for (size_t i = 0; i < COUNT; i++) {
            assert_int_equal(client_finish(&changes[i]), STORE_OK);
        }
        assert_int_equal(bad_disk_failures(kind), 1);
        check_count(client, (round + 1) * COUNT);
    }
    fixture_reopen(fixture);
    check_count(client, (uint64_t)3 * COUNT);
}

static void groups_are_run_again_after_a_failed_write(void **state)
{
    count_in_groups(*state, BAD_LOG_WRITE);
}

/* The group's record is in the WAL when the sync fails; it must not be applied twice. */
static void groups_are_run_again_after_a_failed_sync(void **state)
{
    count_in_groups(*state, BAD_LOG_SYNC);
}

/* As count_once(), by a thread that may block. */
static enum store_status count_here(struct client *client)
{
    struct str key = count_key(client);
    struct change change;
    client_prepare(client, &change, &key, 1, eval_count, NULL);
    change.update.home->may_block = true;
    store_update(client->store, &change.update);
    change.update.home->may_block = false;
    return client_finish(&change);
}

/* A thread that commits its own update does not repair anything: the committer does, and tries
 * again. */
static void the_committer_repairs(void **state)
{
    struct fixture *fixture = *state;
    struct client *client = client_create(fixture);
    bad_disk_fail(BAD_TABLE_WRITE, 1); /* none is written: only watches the log */
    assert_int_equal(count_here(client), STORE_OK);
    assert_int_equal(bad_disk_log_thread(), gettid());
    bad_disk_fail(BAD_LOG_WRITE, 1);
    assert_int_equal(count_here(client), STORE_OK);
    assert_int_equal(bad_disk_failures(BAD_LOG_WRITE), 1);
    assert_int_not_equal(bad_disk_log_thread(), gettid());
    assert_int_equal(bad_disk_failures(BAD_TABLE_WRITE), 0);
    bad_disk_heal();
    assert_int_equal(count_here(client), STORE_OK);
    check_count(client, 3);
    fixture_reopen(fixture);
    check_count(client, 3);
}

static bool eval_never(void *context, struct arena *arena, const struct str *rows,
                       struct store_batch *batch)
{
    (void)context;
    (void)arena;
    (void)rows;
    (void)batch;
    return false;
}

/* Updates fail without delay: 200 of them within five seconds. Tried again, if the machine was
 * stopped meanwhile. */
static void check_quick_failures(struct client *client)
{
    enum { COUNT = 200, QUICK_US = 5000000, TRIES = 5 };
    int64_t took = INT64_MAX;
    for (int try = 0; try < TRIES && took >= QUICK_US; try++) {
        int64_t start = clock_monotonic_us();
        for (int i = 0; i < COUNT; i++) {
            assert_int_equal(count_once(client), STORE_FAILED);
        }
        took = clock_monotonic_us() - start;
    }
    assert_true(took < QUICK_US);
}

/* While calls of a kind fail, updates fail without delay and reads and conditions work; when the
 * disk works again, all calls do. */
static void endure(struct fixture *fixture, enum bad_disk_kind kind)
{
    struct client *client = client_create(fixture);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(count_once(client), STORE_OK);
    }
    for (int round = 0; round < 2; round++) {
        bad_disk_fail(kind, BAD_FOR_EVER);
        check_quick_failures(client);
        assert_true(bad_disk_failures(kind) > 0);
        struct str key = count_key(client);
        assert_int_equal(client_update(client, &key, 1, eval_never, NULL), STORE_NO_WRITE);
        check_count(client, 10);
        bad_disk_heal();
        wait_until_writable(client);
        check_count(client, 10);
    }
    assert_int_equal(count_once(client), STORE_OK);
    check_count(client, 11);
    fixture_reopen(fixture);
    check_count(client, 11);
}

static void a_full_disk_refuses_and_recovers(void **state)
{
    endure(*state, BAD_ANY_WRITE);
}

static void a_log_that_cannot_be_written(void **state)
{
    endure(*state, BAD_LOG_WRITE);
}

static void a_log_that_cannot_be_synced(void **state)
{
    endure(*state, BAD_LOG_SYNC);
}

/* The database can be closed, but opened again only for reading. */
static void a_disk_that_fails_while_opening(void **state)
{
    endure(*state, BAD_BUT_FOR_PROBE);
}

/* Returns whether the first write after so long a pause succeeds. */
static bool try_to_recover(struct client *client, useconds_t pause_us)
{
    bad_disk_fail(BAD_BUT_FOR_PROBE, BAD_FOR_EVER);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(count_once(client), STORE_FAILED);
    }
    bad_disk_heal();
    usleep(pause_us);
    if (count_once(client) == STORE_OK) {
        return true;
    }
    wait_until_writable(client);
    return false;
}

/* The store recovers while there are no writes, so that the next write succeeds. On a busy machine
 * that takes longer. */
static void recovers_while_nobody_writes(void **state)
{
    struct fixture *fixture = *state;
    struct client *client = client_create(fixture);
    assert_int_equal(count_once(client), STORE_OK);
    assert_true(try_to_recover(client, 2500000) || try_to_recover(client, 10000000) ||
                try_to_recover(client, 30000000));
    check_count(client, 2);
}

/* If a failed record cannot be invalidated, the outcome of its updates is unknown, and the status
 * says so. */
static void what_cannot_be_decided_says_so(void **state)
{
    struct fixture *fixture = *state;
    struct client *client = client_create(fixture);
    assert_int_equal(count_once(client), STORE_OK);
    bad_disk_fail(BAD_LOG_SYNC, 1);
    bad_disk_fail(BAD_LOG_STATE, 1);
    assert_int_equal(count_once(client), STORE_UNKNOWN);
    bad_disk_heal();
    wait_until_writable(client);
    uint64_t count = number_of(client_get(client, count_key(client)));
    assert_true(count == 1 || count == 2);
    check_count(client, count);
    fixture_reopen(fixture);
    check_count(client, count);
}

/* After the next record is written, an update with an unknown outcome is definitely not applied. */
static void the_next_write_decides(void **state)
{
    struct fixture *fixture = *state;
    struct client *client = client_create(fixture);
    assert_int_equal(count_once(client), STORE_OK);
    bad_disk_fail(BAD_LOG_SYNC, 1);
    bad_disk_fail(BAD_LOG_STATE, 1);
    assert_int_equal(count_once(client), STORE_UNKNOWN);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(count_once(client), STORE_OK);
    }
    assert_int_equal(bad_disk_failures(BAD_LOG_STATE), 1);
    check_count(client, 4);
    fixture_reopen(fixture);
    check_count(client, 4);
}

/* A failed flush of the memtable in the background does not fail any write. */
static void a_table_that_cannot_be_written(void **state)
{
    struct fixture *fixture = *state;
    struct client *client = client_create(fixture);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(count_once(client), STORE_OK);
    }
    bad_disk_fail(BAD_TABLE_WRITE, 1);
    assert_false(rocks_flush(fixture->inner));
    assert_int_equal(bad_disk_failures(BAD_TABLE_WRITE), 1);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(count_once(client), STORE_OK);
    }
    assert_true(rocks_flush(fixture->inner));
    check_count(client, 20);
    fixture_reopen(fixture);
    check_count(client, 20);
}

/* Spaces that are dropped during disk errors are deleted when the disk works again. */
static void drops_wait_for_the_disk(void **state)
{
    struct fixture *fixture = *state;
    struct client *client = client_create(fixture);
    struct str key = key_text(&client->arena, 20, "p", "s");
    client_put(client, key, STR("v"));
    bad_disk_fail(BAD_ANY_WRITE, BAD_FOR_EVER);
    store_drop_space(fixture->store, 20);
    assert_true(str_is_null(client_get(client, key)));
    assert_int_equal(client_try_put(client, key, STR("w")), STORE_GONE);
    assert_int_equal(count_once(client), STORE_FAILED);
    bad_disk_heal();
    wait_until_writable(client);
    fixture_reopen(fixture);
    assert_true(str_is_null(client_get(client, key)));
    assert_int_equal(client_try_put(client, key, STR("w")), STORE_GONE);
}

/* A child that reports the result of each write until it is killed, while syncs of the WAL fail
 * from time to time (number 0). */
static void write_badly(const char *directory, uint64_t first)
{
    struct client *client = client_create_alone(open_store(directory, 1 << 20));
    struct random random;
    random_init(&random);
    for (uint64_t id = first;; id++) {
        client_reset(client);
        bad_disk_fail(random_below(&random, 2) == 0 ? BAD_LOG_SYNC : BAD_LOG_WRITE,
                      (int)random_below(&random, 6));
        struct str key = key_number(&client->arena, 7, id, 0);
        child_report(id, client_try_put(client, key, number_row(&client->arena, id)));
    }
}

static void check_reports(const char *directory, const struct report *reports, size_t count)
{
    struct store *store = open_store(directory, 1 << 20);
    struct client *client = client_create_alone(store);
    for (size_t i = 0; i < count; i++) {
        struct str row = client_get(client, key_number(&client->arena, 7, reports[i].id, 0));
        assert_true(reports[i].status == STORE_OK || reports[i].status == STORE_FAILED);
        assert_int_equal(!str_is_null(row), reports[i].status == STORE_OK);
    }
    store_close(store);
    client_destroy(client);
}

static void refused_writes_do_not_survive_a_kill(void **state)
{
    enum { REPORTS_MAX = 100000 };
    struct fixture *fixture = *state;
    store_close(fixture->store);
    struct report *reports = mem_alloc(REPORTS_MAX * sizeof(*reports));
    size_t count = 0;
    for (int round = 0; round < 4; round++) {
        struct child child;
        child_start(&child, "badly", fixture->directory, count);
        size_t until = count + 40;
        while (count < REPORTS_MAX && child_read(&child, &reports[count])) {
            if (++count == until) {
                child_kill(&child);
            }
        }
        child_wait(&child);
        check_reports(fixture->directory, reports, count);
    }
    mem_free(reports);
    fixture->store = open_store(fixture->directory, 1 << 20);
}

int main(int argc, char **argv)
{
    if (child_name(argc, argv) != NULL) {
        write_badly(argv[3], strtoull(argv[4], NULL, 10));
    }
    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    const struct CMUnitTest tests[] = {
        DISK_TEST(groups_are_run_again_after_a_failed_write),
        DISK_TEST(groups_are_run_again_after_a_failed_sync),
        DISK_TEST(the_committer_repairs),
        DISK_TEST(a_full_disk_refuses_and_recovers),
        DISK_TEST(a_log_that_cannot_be_written),
        DISK_TEST(a_log_that_cannot_be_synced),
        DISK_TEST(a_disk_that_fails_while_opening),
        DISK_TEST(recovers_while_nobody_writes),
        DISK_TEST(what_cannot_be_decided_says_so),
        DISK_TEST(the_next_write_decides),
        DISK_TEST(a_table_that_cannot_be_written),
        DISK_TEST(drops_wait_for_the_disk),
        DISK_TEST(refused_writes_do_not_survive_a_kill),
    };
    return cmocka_run_group_tests_name("failed writes", tests, NULL, NULL);
}
