/* Tests a process that is killed while it puts a bad block into quarantine, at each system call:
 * the next process repeats the steps, and no older version of a row is ever returned. */
#include "child.h"
#include "quarantine_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

/* In the child: writes until there is a quarantine; killed at the call with this number. */
static int run_child(const char *directory, long calls)
{
    log_setup(LOG_ERROR, LOG_TEXT);
    struct store *store = open_store(directory, 1 << 16);
    struct client *client = client_create_alone(store);
    calls_kill_at(calls);
    write_until_quarantine(store, client, 1);
    _exit(0);
}

static void copy_directory(const char *from, const char *to)
{
    char command[256];
    snprintf(command, sizeof(command), "cp -r %s/. %s", from, to);
    assert_int_equal(system(command), 0);
}

/* The store after the kill: no older version is returned, also when the steps are repeated. */
static void check_after_kill(const char *directory)
{
    struct store *store = open_store(directory, 1 << 16);
    struct client *client = client_create_alone(store);
    uint64_t first;
    uint64_t last;
    for (uint64_t id = 0; id < ROWS; id++) {
        client_reset(client);
        struct str key = row_key(client, id);
        struct str row;
        if (!is_busy(id) && client_get_many(client, &key, 1, false, &row) == STORE_OK) {
            assert_true(str_eq(row, row_value(client, id, 1)));
        }
    }
    uint64_t version = 100;
    put_busy_rows(client, version);
    int64_t start = clock_monotonic_us();
    while (rocks_quarantine_count(store) == 0 || rocks_newest_files(store) > 1) {
        assert_true(clock_monotonic_us() - start < 60000000);
        put_busy_rows(client, ++version);
        bool ignored = rocks_flush(store);
        (void)ignored;
        rocks_compact_all(store);
    }
    assert_int_equal(rocks_quarantine_count(store), 1);
    assert_in_range(check_rows(client, version, &first, &last), 1, 20);
    assert_int_equal(rocks_scrub(store), 0);
    store_close(store);
    client_destroy(client);
}

static void a_kill_loses_nothing(void **state)
{
    (void)state;
    struct fixture fixture;
    fill_two_levels(&fixture);
    damage_newest(fixture.directory);
    bool is_killed = true;
    long calls = 0;
    for (; is_killed; calls++) {
        char copy[64];
        make_directory(copy);
        copy_directory(fixture.directory, copy);
        struct child child;
        child_start(&child, "write", copy, (uint64_t)calls);
        int status = child_wait(&child);
        assert_true(status == CALLS_KILLED || status == 0);
        /* Beyond the last step only the calls of later writes are met. */
        is_killed = status == CALLS_KILLED && calls < 40;
        check_after_kill(copy);
        remove_directory(copy);
    }
    assert_true(calls > 10);
    open_closed(&fixture);
    fixture_close(&fixture);
}

int main(int argc, char **argv)
{
    if (child_name(argc, argv) != NULL) {
        return run_child(argv[3], strtol(argv[4], NULL, 10));
    }
    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kill_loses_nothing),
    };
    return cmocka_run_group_tests_name("quarantine kill", tests, NULL, NULL);
}
