/* Tests compactions that fail, but put no block into quarantine: because the file is good when it
 * is read again, or because the range of keys would be too large. Compactions go on or stop; all
 * rows outside a bad block can be read. */
#include "quarantine_support.h"

#include <limits.h>
#include <unistd.h>

#include "base/clock.h"
#include "store/formats.h"

static void write_files(struct fixture *fixture, struct client *client, uint64_t *version)
{
    for (int i = 0; i < 3 * FEW_FILES; i++) {
        put_busy_rows(client, ++*version);
        bool ignored = rocks_flush(fixture->inner); /* fails if a compaction has failed */
        (void)ignored;
    }
}

/* Writes until so many compactions could not read a file, which is good whenever it is read again.
 * Returns the last version. */
static uint64_t fail_reads(struct fixture *fixture, struct client **out, size_t count)
{
    *out = fill_two_levels(fixture);
    uint64_t version = 1;
    open_closed(fixture);
    for (size_t i = 1; i <= count; i++) {
        int64_t start = clock_monotonic_us();
        calls_fail_reads(1);
        while (rocks_reopen_count(fixture->inner) < i) {
            assert_true(clock_monotonic_us() - start < 60000000);
            write_files(fixture, *out, &version);
        }
    }
    return version;
}

/* All rows are there, nothing is in quarantine, and compactions go on. */
static void a_failed_read_does_no_harm(void **state)
{
    (void)state;
    struct fixture fixture;
    struct client *client;
    uint64_t ignored;
    uint64_t version = fail_reads(&fixture, &client, 1);
    write_files(&fixture, client, &version);
    int64_t start = clock_monotonic_us();
    while (rocks_newest_files(fixture.inner) > FEW_FILES) {
        assert_true(clock_monotonic_us() - start < 60000000);
        usleep(10000);
    }
    assert_int_equal(rocks_reopen_count(fixture.inner), 1);
    assert_int_equal(rocks_quarantine_count(fixture.inner), 0);
    assert_int_equal(check_rows(client, version, &ignored, &ignored), 0);
    assert_false(directory_has(fixture.directory, ".block"));
    fixture_close(&fixture);
}

/* They stop when many have failed, so that the database is not opened again and again for ever. */
static void failed_reads_stop_compactions_in_the_end(void **state)
{
    (void)state;
    struct fixture fixture;
    struct client *client;
    uint64_t ignored;
    uint64_t version = fail_reads(&fixture, &client, 1);
    calls_fail_reads(INT_MAX);
    int64_t start = clock_monotonic_us();
    while (rocks_newest_files(fixture.inner) < 5 * FEW_FILES) {
        assert_true(clock_monotonic_us() - start < 60000000);
        write_files(&fixture, client, &version);
    }
    assert_in_range(rocks_reopen_count(fixture.inner), 1, 16);
    assert_int_equal(check_rows(client, version, &ignored, &ignored), 0);
    calls_fail_reads(0);
    fixture_close(&fixture);
}

/* Few rows of level 0 cover a whole table: its other rows must stay readable. */
static void wide_ranges_are_not_accepted(void **state)
{
    (void)state;
    struct fixture fixture;
    struct client *client = fill_two_levels(&fixture);
    char path[128];
    do {
        open_closed(&fixture);
        rocks_compact_all(fixture.inner);
        for (uint64_t id = 0; id < ROWS; id += 20) {
            put_version(client, id, 1);
        }
        assert_true(rocks_flush(fixture.inner));
        store_close(fixture.store);
    } while (newest_sst(fixture.directory, path, sizeof(path)) != 2);
    damage_newest(fixture.directory);
    open_closed(&fixture);
    uint64_t version = 1;
    int64_t start = clock_monotonic_us();
    while (rocks_reopen_count(fixture.inner) == 0) {
        assert_true(clock_monotonic_us() - start < 60000000);
        put_busy_rows(client, ++version);
        bool ignored = rocks_flush(fixture.inner);
        (void)ignored;
    }
    assert_int_equal(rocks_quarantine_count(fixture.inner), 0);
    assert_int_equal(rocks_format(fixture.inner), STORE_FORMAT);
    uint64_t first;
    uint64_t last;
    assert_in_range(check_rows(client, version, &first, &last), 1, 20);
    fixture_close(&fixture);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_read_does_no_harm),
        cmocka_unit_test(failed_reads_stop_compactions_in_the_end),
        cmocka_unit_test(wide_ranges_are_not_accepted),
    };
    return cmocka_run_group_tests_name("failed compactions", tests, NULL, NULL);
}
