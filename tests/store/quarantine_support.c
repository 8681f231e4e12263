/* A store whose newest SST file can be damaged, and writes that let compactions read it: see
 * quarantine_support.h. Used by the tests of bad blocks on their main thread. */
#include "quarantine_support.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

static const struct variant on_disk = {
    .name = "rocksdb", .on_disk = true, .cache_bytes = (size_t)1 << 16};

enum { ROW_BYTES = 1000 };

struct str row_key(struct client *client, uint64_t id)
{
    return key_number(&client->arena, SPACE, id, 0);
}

struct str row_value(struct client *client, uint64_t id, uint64_t version)
{
    return random_bytes(&client->arena, id * 1000 + version + 1, ROW_BYTES);
}

void put_version(struct client *client, uint64_t id, uint64_t version)
{
    client_reset(client);
    client_put(client, row_key(client, id), row_value(client, id, version));
}

bool is_busy(uint64_t id)
{
    return id % 100 == 10;
}

/* While reads of compactions fail, the database is opened again and again, so a write may fail, as
 * on a disk that is full for a moment: it is repeated. */
void put_busy_rows(struct client *client, uint64_t version)
{
    enum { COUNT = ROWS / 100 };
    struct str keys[COUNT];
    struct str values[COUNT];
    client_reset(client);
    for (size_t i = 0; i < COUNT; i++) {
        uint64_t id = i * 100 + 10;
        assert_true(is_busy(id));
        keys[i] = row_key(client, id);
        values[i] = row_value(client, id, version);
    }
    int64_t start = clock_monotonic_us();
    while (!client_try_put_many(client, keys, values, COUNT)) {
        assert_true(calls_reads_to_fail() > 0);
        assert_true(clock_monotonic_us() - start < 60000000);
        usleep(1000);
    }
}

size_t newest_sst(const char *directory, char *out, size_t size)
{
    DIR *dir = opendir(directory);
    unsigned long newest = 0;
    size_t count = 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        unsigned long number = strtoul(entry->d_name, NULL, 10);
        count += strstr(entry->d_name, ".sst") != NULL;
        if (strstr(entry->d_name, ".sst") != NULL && number > newest) {
            newest = number;
            snprintf(out, size, "%s/%.40s", directory, entry->d_name);
        }
    }
    closedir(dir);
    assert_true(newest > 0);
    return count;
}

void open_closed(struct fixture *fixture)
{
    fixture->store = fixture->inner = open_store(fixture->directory, 1 << 16);
    for (struct client *client = fixture->clients; client != NULL; client = client->next) {
        client->store = fixture->store;
    }
}

static void put_all_rows(struct client *client, uint64_t version)
{
    struct str keys[ROWS];
    struct str values[ROWS];
    client_reset(client);
    for (uint64_t id = 0; id < ROWS; id++) {
        keys[id] = row_key(client, id);
        values[id] = row_value(client, id, version);
    }
    assert_true(client_try_put_many(client, keys, values, ROWS));
    assert_true(rocks_flush(client->store));
}

struct client *fill_two_levels(struct fixture *fixture)
{
    log_setup(LOG_ERROR, LOG_TEXT);
    fixture_open(fixture, &on_disk);
    struct client *client = client_create(fixture);
    char path[128];
    /* Repeated if a compaction has merged them meanwhile. */
    for (int tries = 0; tries < 20; tries++) {
        put_all_rows(client, 0);
        rocks_compact_all(fixture->inner);
        put_all_rows(client, 1);
        store_close(fixture->store);
        if (newest_sst(fixture->directory, path, sizeof(path)) == 2) {
            return client;
        }
        open_closed(fixture);
    }
    fail();
    return NULL;
}

void flip_in_newest(const char *directory, char bits, int thousandths)
{
    char path[128];
    struct stat found;
    newest_sst(directory, path, sizeof(path));
    int fd = open(path, O_RDWR);
    char byte;
    assert_int_equal(fstat(fd, &found), 0);
    off_t at = found.st_size * thousandths / 1000;
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= bits;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

void damage_newest(const char *directory)
{
    flip_in_newest(directory, 0x5a, 500);
}

size_t check_rows(struct client *client, uint64_t version, uint64_t *first, uint64_t *last)
{
    size_t failed = 0;
    for (uint64_t id = 0; id < ROWS; id++) {
        client_reset(client);
        struct str key = row_key(client, id);
        struct str row;
        if (client_get_many(client, &key, 1, false, &row) == STORE_FAILED) {
            assert_false(is_busy(id));
            *first = failed == 0 ? id : *first;
            *last = id;
            failed++;
        } else if (is_busy(id)) {
            assert_true(str_eq(row, row_value(client, id, version)) ||
                        str_eq(row, row_value(client, id, version - 1)));
        } else {
            assert_true(str_eq(row, row_value(client, id, 1)));
        }
    }
    return failed;
}

uint64_t write_until_quarantine(struct store *store, struct client *client, uint64_t version)
{
    int64_t start = clock_monotonic_us();
    while (rocks_quarantine_count(store) == 0 || rocks_reopen_count(store) == 0) {
        assert_true(clock_monotonic_us() - start < 60000000);
        put_busy_rows(client, ++version);
        bool ignored = rocks_flush(store); /* fails if a compaction has failed */
        (void)ignored;
    }
    return version;
}

bool directory_has(const char *directory, const char *part)
{
    DIR *dir = opendir(directory);
    bool found = false;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        found = found || strstr(entry->d_name, part) != NULL;
    }
    closedir(dir);
    return found;
}

uint64_t prepare_quarantine_of(struct fixture *fixture, struct client **out, char bits)
{
    *out = fill_two_levels(fixture);
    flip_in_newest(fixture->directory, bits, 500);
    open_closed(fixture);
    uint64_t version = write_until_quarantine(fixture->inner, *out, 1);
    assert_int_equal(rocks_quarantine_count(fixture->inner), 1);
    assert_int_equal(rocks_reopen_count(fixture->inner), 1);
    return version;
}

uint64_t prepare_quarantine(struct fixture *fixture, struct client **out)
{
    return prepare_quarantine_of(fixture, out, 0x5a);
}
