/* Tests bad blocks in quarantine: a compaction reads a bad block of an SST file; its range of keys
 * fails from then on, also after a start, compactions go on, and no older version of a row in the
 * range is ever returned. */
#include "quarantine_support.h"

#include <unistd.h>

#include "base/clock.h"
#include "store/formats.h"

static void compactions_go_on(void **state)
{
    (void)state;
    struct fixture fixture;
    struct client *client;
    uint64_t first = 0;
    uint64_t last = 0;
    uint64_t version = prepare_quarantine(&fixture, &client);
    size_t failed = check_rows(client, version, &first, &last);
    assert_in_range(failed, 1, 20);
    assert_int_equal(last - first + 1, failed);
    for (int i = 0; i < 3 * FEW_FILES; i++) {
        put_busy_rows(client, ++version);
        assert_true(rocks_flush(fixture.inner));
    }
    int64_t start = clock_monotonic_us();
    while (rocks_newest_files(fixture.inner) > FEW_FILES) {
        assert_true(clock_monotonic_us() - start < 60000000);
        usleep(10000);
    }
    assert_int_equal(rocks_reopen_count(fixture.inner), 1);
    assert_true(directory_has(fixture.directory, ".block"));
    assert_false(directory_has(fixture.directory, "quarantine.tmp"));
    for (int i = 0; i < 2; i++) {
        rocks_compact_all(fixture.inner);
        assert_int_equal(check_rows(client, version, &first, &last), failed);
        assert_int_equal(rocks_scrub(fixture.inner), 0);
        fixture_reopen(&fixture);
        assert_int_equal(rocks_quarantine_count(fixture.inner), 1);
        assert_int_equal(rocks_format(fixture.inner), STORE_FORMAT_QUARANTINE);
    }
    fixture_close(&fixture);
}

static struct rows read_range(struct client *client, uint64_t from, uint64_t to, bool backward)
{
    client_reset(client);
    return client_range(client, (struct range_spec){.lo = row_key(client, from),
                                                    .hi = row_key(client, to),
                                                    .backward = backward});
}

/* Returns the rows from 0 up to `last`, but not the keys between that and the next row, which the
 * block may have held. */
static struct rows read_up_to(struct client *client, uint64_t last)
{
    client_reset(client);
    return client_range(client,
                        (struct range_spec){.lo = row_key(client, 0),
                                            .hi = key_number(&client->arena, SPACE, last, 1)});
}

/* Ranges return the rows before the block, and then fail; so do updates of its rows. */
static void ranges_and_updates_fail(void **state)
{
    (void)state;
    struct fixture fixture;
    struct client *client;
    uint64_t first = 0;
    uint64_t last = 0;
    uint64_t version = prepare_quarantine(&fixture, &client);
    check_rows(client, version, &first, &last);
    for (int i = 0; i < 2; i++) {
        struct rows rows = read_up_to(client, first - 1);
        assert_int_equal(rows.status, STORE_OK);
        assert_false(rows.is_unreadable);
        assert_int_equal(rows.count, first);
        rows = read_range(client, last + 1, ROWS, true);
        assert_int_equal(rows.status, STORE_OK);
        assert_int_equal(rows.count, ROWS - last - 1);
        rows = read_range(client, 0, ROWS, false);
        assert_int_equal(rows.status, STORE_FAILED);
        assert_true(rows.is_unreadable);
        assert_int_equal(rows.count, first);
        rows = read_range(client, 0, ROWS, true);
        assert_int_equal(rows.status, STORE_FAILED);
        assert_int_equal(rows.count, ROWS - last - 1);
        assert_int_equal(read_range(client, first, last, false).status, STORE_FAILED);
        struct range_spec few = {.lo = row_key(client, 0), .hi = row_key(client, ROWS)};
        few.rows_max = first;
        assert_int_equal(client_range(client, few).status, STORE_OK);
        for (uint64_t id = first; id <= last; id++) {
            client_reset(client);
            assert_int_equal(client_try_put(client, row_key(client, id), row_value(client, id, 2)),
                             STORE_FAILED);
        }
        rocks_compact_all(fixture.inner);
        fixture_reopen(&fixture);
    }
    fixture_close(&fixture);
}

/* Several blocks of a file, among them the last one with rows, are found at once. */
static void all_blocks_of_a_file_are_found(void **state)
{
    (void)state;
    struct fixture fixture;
    struct client *client = fill_two_levels(&fixture);
    static const int thousandths[] = {330, 340, 730, 992};
    for (size_t i = 0; i < COUNT_OF(thousandths); i++) {
        flip_in_newest(fixture.directory, 0x5a, thousandths[i]);
    }
    open_closed(&fixture);
    uint64_t version = write_until_quarantine(fixture.inner, client, 1);
    assert_int_equal(rocks_quarantine_count(fixture.inner), 4);
    assert_int_equal(rocks_reopen_count(fixture.inner), 1);
    uint64_t first;
    uint64_t last;
    for (int i = 0; i < 3; i++) {
        assert_in_range(check_rows(client, version, &first, &last), 4, 60);
        assert_int_equal(last, ROWS - 1);
        rocks_compact_all(fixture.inner);
        put_version(client, ROWS + 1, 1); /* behind the last block */
        fixture_reopen(&fixture);
    }
    assert_int_equal(rocks_scrub(fixture.inner), 0);
    fixture_close(&fixture);
}

/* A dropped space has no rows, whether they could be read or not. */
static void a_dropped_space_has_no_quarantine(void **state)
{
    (void)state;
    struct fixture fixture;
    struct client *client;
    prepare_quarantine(&fixture, &client);
    store_drop_space(fixture.store, SPACE);
    client_put(client, key_number(&client->arena, SPACE + 1, 1, 0), STR("row"));
    for (int i = 0; i < 2; i++) {
        struct range_spec all = {.lo = key_number(&client->arena, SPACE - 1, 0, 0),
                                 .hi = key_number(&client->arena, SPACE + 2, 0, 0)};
        struct rows rows = client_range(client, all);
        assert_int_equal(rows.status, STORE_OK);
        assert_int_equal(rows.count, 1);
        assert_true(str_is_null(client_get(client, row_key(client, ROWS / 2))));
        fixture_reopen(&fixture);
    }
    fixture_close(&fixture);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compactions_go_on),
        cmocka_unit_test(ranges_and_updates_fail),
        cmocka_unit_test(all_blocks_of_a_file_are_found),
        cmocka_unit_test(a_dropped_space_has_no_quarantine),
    };
    return cmocka_run_group_tests_name("quarantine", tests, NULL, NULL);
}
