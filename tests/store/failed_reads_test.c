/* Tests reads with disk errors: a read fails or is right, and is right when the disk works again;
 * reads work while the committer closes the database and opens it again, because writes have
 * failed. */
#include "disk_support.h"

#include <stdatomic.h>

enum { READ_ROWS = 3000, READ_STEP = 100, READ_SPACE = 11 };

static struct str read_key(struct client *client, uint64_t id)
{
    return key_number(&client->arena, READ_SPACE, id, 0);
}

static struct str read_value(struct client *client, uint64_t id)
{
    return random_bytes(&client->arena, id + 1, 1000);
}

/* Reads a row while so many reads of SST files fail; returns whether it was read. */
static bool read_one(struct client *client, uint64_t id, int fail_count)
{
    struct str key = read_key(client, id);
    struct str row;
    bad_disk_fail(BAD_TABLE_READ, fail_count);
    enum store_status status = client_get_many(client, &key, 1, false, &row);
    bad_disk_fail(BAD_TABLE_READ, 0);
    assert_true(status == STORE_FAILED || str_eq(row, read_value(client, id)));
    client_reset(client);
    return status == STORE_OK;
}

/* The same for all rows in one range. */
static bool read_all(struct client *client, int fail_count)
{
    struct range_spec all = {.lo = key_space(&client->arena, READ_SPACE),
                             .hi = key_space(&client->arena, READ_SPACE + 1)};
    bad_disk_fail(BAD_TABLE_READ, fail_count);
    struct rows rows = client_range(client, all);
    bad_disk_fail(BAD_TABLE_READ, 0);
    assert_true(rows.status == STORE_FAILED || rows.count == READ_ROWS);
    for (size_t i = 0; i < rows.count; i++) {
        assert_true(str_eq(rows.keys[i], read_key(client, i)));
    }
    client_reset(client);
    return rows.status == STORE_OK;
}

static void put_read_rows(struct fixture *fixture, struct client *client)
{
    for (uint64_t id = 0; id < READ_ROWS; id++) {
        client_put(client, read_key(client, id), read_value(client, id));
        client_reset(client);
    }
    assert_int_equal(count_once(client), STORE_OK);
    assert_true(rocks_flush(fixture->inner));
    fixture_reopen(fixture); /* nothing is cached */
}

/* A read fails or is right, and is right when the disk works again. */
static void reads_fail_or_are_right(void **state)
{
    struct fixture *fixture = *state;
    struct client *client = client_create(fixture);
    put_read_rows(fixture, client);
    int failed = 0;
    uint64_t counted = 1;
    for (uint64_t id = 0; id < READ_ROWS; id += READ_STEP) {
        failed += !read_one(client, id, 1);
        assert_true(read_one(client, id, 0));
        bad_disk_fail(BAD_TABLE_READ, 1);
        counted += count_once(client) == STORE_OK;
        bad_disk_fail(BAD_TABLE_READ, 0);
    }
    assert_true(failed > 0);
    check_count(client, counted);
    failed = 0;
    for (int fail_count = 1; fail_count <= 16; fail_count *= 2) {
        failed += !read_all(client, fail_count);
        assert_true(read_all(client, 0));
    }
    assert_true(failed > 0);
    bad_disk_fail(BAD_TABLE_READ, 3);
    assert_true(rocks_scrub(fixture->inner) > 0);
    bad_disk_fail(BAD_TABLE_READ, 0);
    assert_int_equal(rocks_scrub(fixture->inner), 0);
    fixture_reopen(fixture);
    assert_true(read_all(client, 0));
    check_count(client, counted);
}

/* Readers work while the database is closed and opened repeatedly. */
enum { STEADY_ROWS = 500 };

struct steady {
    atomic_bool over;
    atomic_int reads;
};

static void read_steadily(struct worker *worker)
{
    struct steady *steady = worker->context;
    struct random random;
    random_init_seed(&random, worker->seed);
    while (!atomic_load(&steady->over)) {
        client_reset(worker->client);
        struct arena *arena = &worker->client->arena;
        struct str keys[3];
        uint64_t ids[3];
        for (size_t i = 0; i < COUNT_OF(keys); i++) {
            ids[i] = random_below(&random, STEADY_ROWS);
            keys[i] = key_number(arena, 20, ids[i], 0);
        }
        struct str rows[3];
        assert_int_equal(client_get_many(worker->client, keys, 3, true, rows), STORE_OK);
        for (size_t i = 0; i < COUNT_OF(keys); i++) {
            assert_int_equal(number_of(rows[i]), ids[i]);
        }
        struct rows ranged = client_range(
            worker->client, (struct range_spec){.lo = key_space(arena, 20),
                                                .hi = key_space(arena, 21),
                                                .backward = random_below(&random, 2) == 0});
        assert_int_equal(ranged.status, STORE_OK);
        assert_int_equal(ranged.count, STEADY_ROWS);
        atomic_fetch_add(&steady->reads, 1);
    }
}

static void write_through_failures(struct worker *worker)
{
    struct steady *steady = worker->context;
    uint64_t count = 0;
    for (int round = 0; round < 30; round++) {
        bad_disk_fail(round % 2 == 0 ? BAD_LOG_WRITE : BAD_LOG_SYNC, 1);
        assert_int_equal(count_once(worker->client), STORE_OK);
        count++;
        if (round % 10 == 9) {
            assert_true(rocks_flush(worker->fixture->inner));
        }
    }
    check_count(worker->client, count);
    atomic_store(&steady->over, true);
}

static void work_steadily(struct worker *worker)
{
    if (worker->index == 0) {
        write_through_failures(worker);
    } else {
        read_steadily(worker);
    }
}

static void readers_notice_nothing(void **state)
{
    struct fixture *fixture = *state;
    struct client *client = client_create(fixture);
    for (uint64_t id = 0; id < STEADY_ROWS; id++) {
        client_put(client, key_number(&client->arena, 20, id, 0), number_row(&client->arena, id));
    }
    assert_true(rocks_flush(fixture->inner));
    struct steady steady = {0};
    run_threads(fixture, 4, work_steadily, &steady);
    assert_true(atomic_load(&steady.reads) > 0);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    const struct CMUnitTest tests[] = {
        DISK_TEST(reads_fail_or_are_right),
        DISK_TEST(readers_notice_nothing),
    };
    return cmocka_run_group_tests_name("failed reads", tests, NULL, NULL);
}
