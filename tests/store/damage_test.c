/* Tests a store with a damaged block in a table: reads of its rows fail, all other calls work, and
 * nothing is retried for ever. */
#include "support.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

static const struct variant on_disk = {
    .name = "rocksdb", .on_disk = true, .cache_bytes = (size_t)1 << 16};

enum { ROWS = 2000, ROW_BYTES = 1000 };

static struct str row_key(struct client *client, uint64_t id)
{
    return key_number(&client->arena, 7, id, 0);
}

static struct str row_value(struct client *client, uint64_t id, uint64_t version)
{
    char *bytes = arena_zalloc(&client->arena, ROW_BYTES);
    struct random random;
    random_init_seed(&random, id * 1000 + version + 1); /* incompressible */
    for (size_t i = 0; i + 8 <= ROW_BYTES; i += 8) {
        uint64_t value = random_next(&random);
        memcpy(bytes + i, &value, 8);
    }
    return str_make(bytes, ROW_BYTES);
}

/* Returns whether the row may be in the damaged block, in the middle of the table. */
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

static void damage_middle(const char *path)
{
    struct stat found;
    assert_int_equal(stat(path, &found), 0);
    int fd = open(path, O_RDWR);
    char byte;
    off_t at = found.st_size / 2;
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 0x10;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
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
 * after. */
static void compactions_stop_and_writes_go_on(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_rows_of_the_block_are_lost),
        cmocka_unit_test(compactions_stop_and_writes_go_on),
    };
    return cmocka_run_group_tests_name("damage", tests, NULL, NULL);
}
