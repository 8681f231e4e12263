/* Tests a store with a damaged block in an SST file: reads of its rows fail, all other calls work,
 * and nothing is retried for ever. */
#include "support.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

static const struct variant on_disk = {
    .name = "rocksdb", .on_disk = true, .cache_bytes = (size_t)1 << 16};

enum { ROWS = 2000, ROW_BYTES = 1000 };

/* How often the WAL was synced: each group once. */
static atomic_int sync_count;

/* Replaces that of the C library in the whole test program. */
int fdatasync(int fd)
{
    atomic_fetch_add(&sync_count, 1);
    return (int)syscall(SYS_fdatasync, fd);
}

static struct str row_key(struct client *client, uint64_t id)
{
    return key_number(&client->arena, 7, id, 0);
}

static struct str row_value(struct client *client, uint64_t id, uint64_t version)
{
    return random_bytes(&client->arena, id * 1000 + version + 1, ROW_BYTES);
}

/* Returns whether the row may be in the damaged block, in the middle of the SST file. */
static bool is_near_damage(uint64_t id)
{
    return id > ROWS / 2 - 100 && id < ROWS / 2 + 100;
}

static void put_rows(struct client *client, uint64_t first, uint64_t step, uint64_t version)
{
    for (uint64_t id = first; id < ROWS; id += step) {
        if (version > 0 && is_near_damage(id)) {
            continue;
        }
        client_reset(client);
        assert_int_equal(
            client_try_put(client, row_key(client, id), row_value(client, id, version)), STORE_OK);
    }
}

static void largest_table(const char *directory, char *out, size_t size)
{
    DIR *dir = opendir(directory);
    off_t largest = -1;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        struct stat found;
        if (strstr(entry->d_name, ".sst") != NULL &&
            fstatat(dirfd(dir), entry->d_name, &found, 0) == 0 && found.st_size > largest) {
            largest = found.st_size;
            snprintf(out, size, "%s/%.40s", directory, entry->d_name);
        }
    }
    closedir(dir);
    assert_true(largest > 0);
}

/* Flips a bit at a part of the file, in thousandths of its size. */
static void damage_at(const char *path, int thousandths)
{
    struct stat found;
    assert_int_equal(stat(path, &found), 0);
    int fd = open(path, O_RDWR);
    char byte;
    off_t at = found.st_size * thousandths / 1000;
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 0x10;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

static void damage_middle(const char *path)
{
    damage_at(path, 500);
}

/* Returns how many of the even rows cannot be read. Checks all others. */
static size_t count_unreadable(struct client *client)
{
    size_t failed = 0;
    for (uint64_t id = 0; id < ROWS; id += 2) {
        client_reset(client);
        struct str key = row_key(client, id);
        struct str row;
        enum store_status status = client_get_many(client, &key, 1, false, &row);
        if (status == STORE_FAILED) {
            failed++;
        } else {
            assert_int_equal(status, STORE_OK);
            assert_true(str_eq(row, row_value(client, id, 0)));
        }
    }
    return failed;
}

static void prepare(struct fixture *fixture, struct client **out)
{
    log_setup(LOG_ERROR, LOG_TEXT);
    fixture_open(fixture, &on_disk);
    *out = client_create(fixture);
    put_rows(*out, 0, 1, 0);
    assert_true(rocks_flush(fixture->inner));
    assert_int_equal(rocks_scrub(fixture->inner), 0);
    char path[128];
    largest_table(fixture->directory, path, sizeof(path));
    damage_middle(path);
}

static void only_rows_of_the_block_are_lost(void **state)
{
    (void)state;
    struct fixture fixture;
    struct client *client;
    prepare(&fixture, &client);
    assert_true(rocks_scrub(fixture.inner) > 0);
    size_t failed = count_unreadable(client);
    assert_true(failed > 0);
    assert_true(failed < 20);
    fixture_close(&fixture);
}

/* Writes odd rows, none of which is in the damaged block, until a compaction is due, and long
 * after. What happens to the block: quarantine_test.c. */
static void writes_go_on_after_a_compaction(void **state)
{
    (void)state;
    struct fixture fixture;
    struct client *client;
    prepare(&fixture, &client);
    int64_t start = clock_monotonic_us();
    uint64_t version = 1;
    while (rocks_reopen_count(fixture.inner) == 0) {
        assert_true(clock_monotonic_us() - start < 60000000);
        put_rows(client, 1, 50, version++);
        if (!rocks_flush(fixture.inner)) {
            continue; /* a compaction has failed: the next write opens the database again */
        }
    }
    for (int i = 0; i < 15; i++) {
        put_rows(client, 1, 50, version);
        assert_true(rocks_flush(fixture.inner));
    }
    assert_int_equal(rocks_reopen_count(fixture.inner), 1);
    for (uint64_t id = 1; id < ROWS && !is_near_damage(id); id += 50) {
        assert_true(
            str_eq(client_get(client, row_key(client, id)), row_value(client, id, version)));
    }
    size_t failed = count_unreadable(client);
    assert_true(failed > 0);
    assert_true(failed < 20);
    fixture_reopen(&fixture);
    assert_int_equal(count_unreadable(client), failed);
    fixture_close(&fixture);
}

/* The scrubber ------------------------------------------------------------------------------ */

/* Each bad block is found, also several of one SST file, and those that hold no rows. */
static void the_scrubber_finds_every_bad_block(void **state)
{
    (void)state;
    struct fixture fixture;
    struct client *client;
    char path[128];
    prepare(&fixture, &client);
    assert_int_equal(rocks_scrub(fixture.inner), 1);
    assert_int_equal(rocks_scrub(fixture.inner), 1);
    assert_int_equal(rocks_damage_count(fixture.inner), 1);
    largest_table(fixture.directory, path, sizeof(path));
    damage_at(path, 520);
    damage_at(path, 700);
    assert_int_equal(rocks_scrub(fixture.inner), 3);
    damage_at(path, 999); /* the properties, the index or the filter */
    assert_true(rocks_scrub(fixture.inner) >= 3);
    assert_true(rocks_damage_count(fixture.inner) > 3);
    fixture_close(&fixture);
}

static void the_scrubber_restores_the_identity(void **state)
{
    (void)state;
    struct fixture fixture;
    char path[128];
    log_setup(LOG_ERROR, LOG_TEXT);
    fixture_open(&fixture, &on_disk);
    snprintf(path, sizeof(path), "%s/STORE.copy", fixture.directory);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rocks_scrub(fixture.inner), 1);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(rocks_scrub(fixture.inner), 0);
    fixture_close(&fixture);
}

static struct store *open_with_scrubber(const char *directory, uint64_t bytes_per_second)
{
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    struct store_options options = {.cache_bytes = 1 << 20,
                                    .worker_count = 1,
                                    .scrub_bytes_per_second = bytes_per_second,
                                    .scrub_wait_ms = 1};
    struct store *store = NULL;
    assert_true(rocks_open_directory(str_from_c(directory), &options, &store, &err));
    arena_finish(&arena);
    return store;
}

/* The thread reads at most at its rate: the second bad block, behind 1.4 MB, needs most of a second
 * and a half at 1 MiB/s. */
static void the_scrubber_keeps_to_its_rate(void **state)
{
    (void)state;
    struct fixture fixture;
    struct client *client;
    char path[128];
    prepare(&fixture, &client);
    largest_table(fixture.directory, path, sizeof(path));
    damage_at(path, 700);
    store_close(fixture.store);
    int64_t start = clock_monotonic_us();
    struct store *store = open_with_scrubber(fixture.directory, 1 << 20);
    while (rocks_damage_count(store) < 2) {
        assert_true(clock_monotonic_us() - start < 60000000);
        usleep(10000);
    }
    assert_true(clock_monotonic_us() - start > 800000);
    store_close(store);
    fixture.store = fixture.inner = open_store(fixture.directory, 1 << 20);
    fixture_close(&fixture);
}

/* Counters ---------------------------------------------------------------------------------- */

static struct str counter_key(struct client *client, uint64_t id)
{
    return key_number(&client->arena, 8, id, 0);
}

/* Adds 1 to two counters. */
struct pair {
    struct str first;
    struct str second;
};

static bool eval_add_pair(void *context, struct arena *arena, const struct str *rows,
                          struct store_batch *batch)
{
    (void)arena;
    (void)rows;
    const struct pair *pair = context;
    struct store_count one = {.count = 1, .bytes = 10};
    store_batch_add(batch, pair->first, one);
    store_batch_add(batch, pair->second, one);
    return true;
}

static enum store_status add_to_pair(struct client *client, struct str first, struct str second)
{
    struct pair pair = {first, second};
    return client_update(client, NULL, 0, eval_add_pair, &pair);
}

/* A store with ROWS counters of value 1, some of which are in a damaged block. Returns one that is.
 */
static uint64_t prepare_counters(struct fixture *fixture, struct client **out)
{
    log_setup(LOG_ERROR, LOG_TEXT);
    fixture_open(fixture, &on_disk);
    struct client *client = client_create(fixture);
    for (uint64_t id = 0; id < ROWS; id += 2) {
        client_reset(client);
        assert_int_equal(add_to_pair(client, counter_key(client, id), counter_key(client, id + 1)),
                         STORE_OK);
    }
    assert_true(rocks_flush(fixture->inner));
    char path[128];
    largest_table(fixture->directory, path, sizeof(path));
    damage_middle(path);
    fixture_reopen(fixture); /* which forgets the values */
    uint64_t bad = 0;
    struct str row;
    struct str key = counter_key(client, bad);
    while (client_get_many(client, &key, 1, false, &row) == STORE_OK) {
        key = counter_key(client, ++bad);
        assert_true(bad < ROWS);
    }
    *out = client;
    return bad;
}

/* Starts updates, every second of which adds to a counter that cannot be read, and returns how
 * often the WAL was synced. */
static int count_syncs(struct fixture *fixture, struct client *client, uint64_t bad)
{
    enum { COUNT = 40 };
    struct change changes[COUNT];
    struct store_update *updates[COUNT];
    struct pair pairs[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        pairs[i] = (struct pair){counter_key(client, 0),
                                 counter_key(client, i % 2 == 0 ? bad : (uint64_t)ROWS - 1)};
        client_prepare(client, &changes[i], NULL, 0, eval_add_pair, &pairs[i]);
        updates[i] = &changes[i].update;
    }
    atomic_store(&sync_count, 0);
    store_update_all(fixture->store, updates, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(client_finish(&changes[i]), i % 2 == 0 ? STORE_FAILED : STORE_OK);
    }
    return atomic_load(&sync_count);
}

/* Other updates of the group are committed together; and what the failed one has added to counters
 * before is taken back. */
static void a_bad_counter_fails_only_its_updates(void **state)
{
    (void)state;
    enum { ROUNDS_MAX = 50, FEW = 10 };
    struct fixture fixture;
    struct client *client;
    uint64_t bad = prepare_counters(&fixture, &client);
    assert_true(bad > 0);
    int rounds = 0;
    int syncs;
    do {
        syncs = count_syncs(&fixture, client, bad);
        rounds++;
    } while (syncs > FEW && rounds < ROUNDS_MAX); /* small groups if the machine is busy */
    assert_true(syncs <= FEW);
    int64_t expected = 1 + 20 * (int64_t)rounds;
    struct store_count first = client_get_count(client, counter_key(client, 0));
    assert_int_equal(first.count, expected);
    assert_int_equal(first.bytes, 10 * expected);
    assert_int_equal(client_get_count(client, counter_key(client, ROWS - 1)).count, expected);
    fixture_close(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_rows_of_the_block_are_lost),
        cmocka_unit_test(writes_go_on_after_a_compaction),
        cmocka_unit_test(the_scrubber_finds_every_bad_block),
        cmocka_unit_test(the_scrubber_restores_the_identity),
        cmocka_unit_test(the_scrubber_keeps_to_its_rate),
        cmocka_unit_test(a_bad_counter_fails_only_its_updates),
    };
    return cmocka_run_group_tests_name("damage", tests, NULL, NULL);
}
