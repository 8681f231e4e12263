/* Tests rules 5 and 6 with disk errors: acknowledged writes stay, failed writes never appear, an
 * error of one update does not fail others in its group, reads work, and the store recovers without
 * help. */
#include "bad_disk.h"
#include "child.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"

static const struct variant on_disk = {
    .name = "rocksdb", .on_disk = true, .cache_bytes = (size_t)1 << 20};

static struct str space_key(struct arena *arena, uint32_t space)
{
    return str_make(key_text(arena, space, "", "").data, STORE_SPACE_LEN);
}

static struct rows read_space(struct client *client, uint32_t space)
{
    struct rows rows =
        client_range(client, (struct range_spec){.lo = space_key(&client->arena, space),
                                                 .hi = space_key(&client->arena, space + 1)});
    assert_int_equal(rows.status, STORE_OK);
    return rows;
}

/* Increments a row, a counter and a log; a second execution would be visible in each. */
static bool eval_count(void *context, struct arena *arena, const struct str *rows,
                       struct store_batch *batch)
{
    (void)context;
    store_batch_put(batch, 0, number_row(arena, number_of(rows[0]) + 1));
    store_batch_add(batch, key_text(arena, 8, "count", ""), (struct store_count){.count = 1});
    store_batch_append(batch, str_make(key_text(arena, 9, "log", "").data, STORE_PREFIX_LEN),
                       STR("x"));
    return true;
}

static struct str count_key(struct client *client)
{
    return key_text(&client->arena, 7, "p", "count");
}

static enum store_status count_once(struct client *client)
{
    struct str key = count_key(client);
    return client_update(client, &key, 1, eval_count, NULL);
}

static void check_count(struct client *client, uint64_t expected)
{
    assert_int_equal(number_of(client_get(client, count_key(client))), expected);
    struct str counter = client_get(client, key_text(&client->arena, 8, "count", ""));
    assert_int_equal(store_count_value(counter).count, expected);
    struct rows log = read_space(client, 9);
    assert_int_equal(log.count, expected);
    for (size_t i = 1; i < log.count; i++) {
        assert_true(str_cmp(log.keys[i - 1], log.keys[i]) < 0);
    }
}

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

static void wait_until_writable(struct client *client)
{
    int64_t start = clock_monotonic_us();
    while (client_try_put(client, key_text(&client->arena, 7, "p", "try"), STR("v")) != STORE_OK) {
        assert_true(clock_monotonic_us() - start < 60000000);
        usleep(10000);
    }
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

/* Reads -------------------------------------------------------------------------------------- */

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
    struct range_spec all = {.lo = space_key(&client->arena, READ_SPACE),
                             .hi = space_key(&client->arena, READ_SPACE + 1)};
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
            worker->client, (struct range_spec){.lo = space_key(arena, 20),
                                                .hi = space_key(arena, 21),
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

/* A row that is too large for the disk does not fail other updates of its group. */
struct sized {
    size_t bytes;
};

static bool eval_sized(void *context, struct arena *arena, const struct str *rows,
                       struct store_batch *batch)
{
    const struct sized *sized = context;
    (void)rows;
    store_batch_put(batch, 0, str_make(arena_zalloc(arena, sized->bytes), sized->bytes));
    return true;
}

/* Files are limited to 3 MB: new WAL segments are needed, and one row never fits. */
static int write_with_file_limit(const char *directory)
{
    enum { COUNT = 24, BIG = 11 };
    struct rlimit limit = {.rlim_cur = 3 << 20, .rlim_max = 3 << 20};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    struct store *store = open_store(directory, 1 << 20);
    struct client *client = client_create_alone(store);
    struct str keys[COUNT];
    struct change changes[COUNT];
    struct sized sizes[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        keys[i] = key_number(&client->arena, 7, i, 0);
        sizes[i].bytes = i == BIG ? 4 << 20 : 300000;
        client_start(client, &changes[i], &keys[i], 1, eval_sized, &sizes[i]);
    }
    for (size_t i = 0; i < COUNT; i++) {
        child_report(i, client_finish(&changes[i]));
    }
    for (size_t i = 0; i < COUNT; i++) { /* updates that timed out succeed now */
        child_report(i, client_update(client, &keys[i], 1, eval_sized, &sizes[i]));
    }
    store_close(store);
    client_destroy(client);
    return 0;
}

static void too_large_row_does_not_fail_its_group(void **state)
{
    struct fixture *fixture = *state;
    store_close(fixture->store);
    struct child child;
    child_start(&child, "limit", fixture->directory, 0);
    struct report report;
    enum store_status last[24];
    size_t count = 0;
    size_t written = 0;
    for (; child_read(&child, &report); count++) {
        last[report.id] = (enum store_status)report.status;
        written += count < 24 && report.status == STORE_OK;
    }
    assert_int_equal(child_wait(&child), 0);
    assert_int_equal(count, 48);
    assert_int_equal(written, 23); /* all but the big one, at the first attempt */
    fixture->store = open_store(fixture->directory, 1 << 20);
    struct client *client = client_create_alone(fixture->store);
    for (size_t i = 0; i < 24; i++) {
        assert_int_equal(last[i], i == 11 ? STORE_FAILED : STORE_OK);
        struct str row = client_get(client, key_number(&client->arena, 7, i, 0));
        assert_int_equal(row.len, i == 11 ? 0 : 300000);
    }
    client->next = fixture->clients;
    fixture->clients = client;
}

/* A real file system of a few MB that another process fills up. Needs root. */
static bool mount_small(const char *directory, const char *size)
{
    return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("tmpfs", directory, "tmpfs", 0, size) == 0;
}

static size_t fill_up(const char *directory, char *name, size_t name_size)
{
    static const char zeroes[65536];
    snprintf(name, name_size, "%s/filler", directory);
    int fd = open(name, O_CREAT | O_WRONLY, 0600);
    size_t total = 0;
    ssize_t written;
    while ((written = write(fd, zeroes, sizeof(zeroes))) > 0) {
        total += (size_t)written;
    }
    close(fd);
    return total;
}

enum { CANNOT_MOUNT = 77 };

static int fill_small_disk(const char *directory)
{
    if (!mount_small(directory, "size=16m")) {
        return CANNOT_MOUNT;
    }
    char store_directory[96];
    snprintf(store_directory, sizeof(store_directory), "%s/store", directory);
    struct store *store = open_store(store_directory, 1 << 20);
    struct client *client = client_create_alone(store);
    struct sized sized = {.bytes = 100000};
    size_t acknowledged = 0;
    char filler[96];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 10; i++) {
            struct str key = key_number(&client->arena, 7, acknowledged, 0);
            assert_int_equal(client_update(client, &key, 1, eval_sized, &sized), STORE_OK);
            acknowledged++;
        }
        assert_true(fill_up(directory, filler, sizeof(filler)) > 0);
        int refused = 0;
        for (int i = 0; i < 200; i++) { /* what is allocated for the WAL is used up first */
            struct str key = key_number(&client->arena, 7, acknowledged, 0);
            enum store_status status = client_update(client, &key, 1, eval_sized, &sized);
            assert_true(status == STORE_OK || status == STORE_FAILED);
            acknowledged += status == STORE_OK;
            refused += status == STORE_FAILED;
        }
        assert_true(refused > 0);
        assert_int_equal(read_space(client, 7).count, acknowledged);
        unlink(filler);
        wait_until_writable(client);
        client_erase(client, key_text(&client->arena, 7, "p", "try"));
        client_reset(client);
    }
    store_close(store);
    client->store = store = open_store(store_directory, 1 << 20);
    assert_int_equal(read_space(client, 7).count, acknowledged);
    store_close(store);
    client_destroy(client);
    return 0;
}

static struct store *open_with_reserve(const char *directory)
{
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    struct store_options options = {
        .cache_bytes = 1 << 20, .worker_count = 1, .reserve_bytes = (uint64_t)16 << 20};
    struct store *store = NULL;
    assert_true(rocks_open_directory(str_from_c(directory), &options, &store, &err));
    arena_finish(&arena);
    return store;
}

static enum store_status put_row(struct client *client, uint64_t number)
{
    struct sized sized = {.bytes = 100000};
    struct str key = key_number(&client->arena, 7, number, 0);
    return client_update(client, &key, 1, eval_sized, &sized);
}

/* Erases a row and keeps its previous version elsewhere, as an item with a history. */
static bool eval_keep(void *context, struct arena *arena, const struct str *rows,
                      struct store_batch *batch)
{
    const struct str *keep_key = context;
    store_batch_erase(batch, 0);
    store_batch_put_owned(batch, *keep_key, arena_copy(arena, rows[0]));
    return true;
}

static enum store_status erase_and_keep(struct client *client, uint64_t number)
{
    struct str keep_key = key_number(&client->arena, 8, number, 0);
    struct str key = key_number(&client->arena, 7, number, 0);
    return client_update(client, &key, 1, eval_keep, &keep_key);
}

/* Updates that keep what they erase can use half of the reserve; those that drop spaces all of it.
 * What an update writes does not matter otherwise: it says itself whether it frees space. */
static void check_what_frees(struct client *client, uint64_t number)
{
    assert_int_equal(erase_and_keep(client, number), STORE_FAILED);
    client->frees = STORE_FREES_ROWS;
    uint64_t kept = 0;
    while (erase_and_keep(client, number + kept) == STORE_OK) {
        assert_true(++kept < 400);
        client_reset(client);
        client->frees = STORE_FREES_SPACES; /* puts the row again for the next round */
        assert_int_equal(put_row(client, number + kept), STORE_OK);
        client->frees = STORE_FREES_ROWS;
    }
    assert_true(kept > 10);
    assert_int_equal(client_try_put(client, key_text(&client->arena, 8, "p", "mark"), STR("v")),
                     STORE_OK);
    client->frees = STORE_FREES_SPACES;
    assert_int_equal(erase_and_keep(client, number + kept), STORE_OK);
    client->frees = STORE_FREES_NOTHING;
    assert_int_equal(client_try_put(client, key_text(&client->arena, 8, "p", "mark"), STR("v")),
                     STORE_FAILED);
}

/* Fills the disk: puts fail from then on. Returns the number of rows. */
static uint64_t fill_up_with_rows(struct client *client, const char *directory, char *filler,
                                  size_t filler_size)
{
    uint64_t count = 0;
    while (count < 40) {
        assert_int_equal(put_row(client, count++), STORE_OK);
    }
    assert_true(fill_up(directory, filler, filler_size) > 0);
    uint64_t tries = 0; /* what is allocated for the WAL is used up first */
    while (put_row(client, count) == STORE_OK) {
        count++;
        assert_true(tries++ < 1000);
    }
    return count;
}

static int use_half_of_reserve(const char *directory)
{
    if (!mount_small(directory, "size=128m")) {
        return CANNOT_MOUNT;
    }
    char store_directory[96];
    char filler[96];
    snprintf(store_directory, sizeof(store_directory), "%s/store", directory);
    struct store *store = open_with_reserve(store_directory);
    struct client *client = client_create_alone(store);
    fill_up_with_rows(client, directory, filler, sizeof(filler));
    check_what_frees(client, 0);
    store_close(store);
    client_destroy(client);
    return 0;
}

/* Writes until the disk is full. From then on puts fail, but all rows can be deleted, also after a
 * restart; when there is room for the reserve again, puts succeed. */
static int use_reserve(const char *directory)
{
    if (!mount_small(directory, "size=128m")) {
        return CANNOT_MOUNT;
    }
    char store_directory[96];
    char filler[96];
    snprintf(store_directory, sizeof(store_directory), "%s/store", directory);
    struct store *store = open_with_reserve(store_directory);
    struct client *client = client_create_alone(store);
    uint64_t count = fill_up_with_rows(client, directory, filler, sizeof(filler));
    for (uint64_t i = 0; i < count; i++) {
        client_reset(client);
        client_erase(client, key_number(&client->arena, 7, i, 0));
        if (i <= count / 2) { /* after a restart there may be room for the reserve and for rows */
            assert_int_equal(put_row(client, count), STORE_FAILED);
        }
        if (i == count / 2) {
            store_close(store);
            client->store = store = open_with_reserve(store_directory);
        }
    }
    assert_int_equal(read_space(client, 7).count, 0);
    unlink(filler);
    wait_until_writable(client);
    assert_int_equal(put_row(client, 1), STORE_OK);
    store_close(store);
    client_destroy(client);
    return 0;
}

static void run_on_small_disk(struct fixture *fixture, const char *name)
{
    struct child child;
    child_start(&child, name, fixture->directory, 0);
    int status = child_wait(&child);
    if (status == CANNOT_MOUNT) {
        skip();
    }
    assert_int_equal(status, 0);
}

static void rows_are_erased_on_a_full_disk(void **state)
{
    run_on_small_disk(*state, "reserve");
}

static void what_frees_space_is_accepted_on_a_full_disk(void **state)
{
    run_on_small_disk(*state, "half");
}

static void a_small_disk_fills_up(void **state)
{
    run_on_small_disk(*state, "small");
}

static int run_child(const char *name, const char *directory, uint64_t number)
{
    if (strcmp(name, "badly") == 0) {
        write_badly(directory, number);
    }
    if (strcmp(name, "reserve") == 0) {
        return use_reserve(directory);
    }
    if (strcmp(name, "half") == 0) {
        return use_half_of_reserve(directory);
    }
    return strcmp(name, "limit") == 0 ? write_with_file_limit(directory)
                                      : fill_small_disk(directory);
}

static int set_up(void **state)
{
    struct fixture *fixture = mem_zalloc(sizeof(*fixture));
    fixture_open(fixture, &on_disk);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    bad_disk_heal();
    fixture_close(*state);
    mem_free(*state);
    return 0;
}

#define DISK_TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(int argc, char **argv)
{
    const char *child = child_name(argc, argv);
    if (child != NULL) {
        return run_child(child, argv[3], strtoull(argv[4], NULL, 10));
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
        DISK_TEST(reads_fail_or_are_right),
        DISK_TEST(drops_wait_for_the_disk),
        DISK_TEST(readers_notice_nothing),
        DISK_TEST(refused_writes_do_not_survive_a_kill),
        DISK_TEST(too_large_row_does_not_fail_its_group),
        DISK_TEST(a_small_disk_fills_up),
        DISK_TEST(rows_are_erased_on_a_full_disk),
        DISK_TEST(what_frees_space_is_accepted_on_a_full_disk),
    };
    return cmocka_run_group_tests_name("disk", tests, NULL, NULL);
}
