/* Damages the write-ahead log of a store of ours and the WAL of plain RocksDB databases, one for
 * each of RocksDB's recovery modes, in the same ways, and prints what is left of the rows that were
 * acknowledged: for the comparison in docs/internals/recovery.md. Not a test: nothing is required
 * of RocksDB.
 *
 *     compare_logs */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rocksdb/c.h>

#include "../store/child.h"

#include "base/log.h"

enum { ROWS = 200, VALUE_LEN = 300, BLOCK = 4096, SECTOR = 512 };
enum { REFUSED = 255 }; /* as a number of rows; an exit status has 8 bits */

/* Ours is number 0; the others are RocksDB's modes + 1. */
static const char *const logs[] = {"ours", "RocksDB, tolerate corrupted tail",
                                   "RocksDB, absolute consistency",
                                   "RocksDB, point in time (its default)"};

enum fault { FLIP_MIDDLE, GARBAGE_MIDDLE, FLIP_LAST, TEAR_LAST, CUT_MIDDLE, DELETE_LOG, FAULTS };
static const char *const fault_names[FAULTS] = {[FLIP_MIDDLE] = "a bit in the middle flipped",
                                                [GARBAGE_MIDDLE] = "a sector in the middle lost",
                                                [FLIP_LAST] = "a bit of the last record flipped",
                                                [TEAR_LAST] = "the end of the last record lost",
                                                [CUT_MIDDLE] = "truncated between two records",
                                                [DELETE_LOG] = "the newest file deleted"};

/* Rows ---------------------------------------------------------------------------------------- */

static void fill_ours(const char *directory)
{
    struct client *client = client_create_alone(open_store(directory, 1 << 20));
    for (uint64_t id = 0; id < ROWS; id++) {
        struct str value = str_make(arena_zalloc(&client->arena, VALUE_LEN), VALUE_LEN);
        client_put(client, key_number(&client->arena, 7, id, 0), value);
        client_reset(client);
    }
}

static int count_ours(const char *directory)
{
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    struct store_options options = {.cache_bytes = 1 << 20, .worker_count = 1};
    struct store *store;
    if (!store_open(arena_format(&arena, "rocksdb:%s", directory), &options, &store, &err)) {
        return REFUSED;
    }
    struct client *client = client_create_alone(store);
    int count = 0;
    for (uint64_t id = 0; id < ROWS; id++) {
        count += !str_is_null(client_get(client, key_number(&client->arena, 7, id, 0)));
    }
    return count;
}

static rocksdb_t *open_rocksdb(const char *directory, int mode)
{
    rocksdb_options_t *options = rocksdb_options_create();
    rocksdb_options_set_create_if_missing(options, 1);
    rocksdb_options_set_wal_recovery_mode(options, mode);
    char *error = NULL;
    rocksdb_t *db = rocksdb_open(options, directory, &error);
    return error == NULL ? db : NULL;
}

static void fill_rocksdb(const char *directory, int mode)
{
    static const char value[VALUE_LEN];
    rocksdb_t *db = open_rocksdb(directory, mode);
    rocksdb_writeoptions_t *options = rocksdb_writeoptions_create();
    rocksdb_writeoptions_set_sync(options, 1);
    for (uint64_t id = 0; id < ROWS; id++) {
        char *error = NULL;
        rocksdb_put(db, options, (const char *)&id, sizeof(id), value, sizeof(value), &error);
        assert_null(error);
    }
}

static int count_rocksdb(const char *directory, int mode)
{
    rocksdb_t *db = open_rocksdb(directory, mode);
    if (db == NULL) {
        return REFUSED;
    }
    rocksdb_readoptions_t *options = rocksdb_readoptions_create();
    int count = 0;
    for (uint64_t id = 0; id < ROWS; id++) {
        char *error = NULL;
        size_t len;
        count += rocksdb_get(db, options, (const char *)&id, sizeof(id), &len, &error) != NULL;
    }
    return count;
}

/* Faults -------------------------------------------------------------------------------------- */

/* The newest file of the WAL: RocksDB's is one of several with this ending at most for a moment. */
static void find_log(const char *directory, bool is_ours, char out[400])
{
    DIR *dir = opendir(directory);
    assert_non_null(dir);
    out[0] = '\0';
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        const char *end = strrchr(entry->d_name, '.');
        char path[400];
        snprintf(path, sizeof(path), "%s/%.200s", directory, entry->d_name);
        if (end != NULL && strcmp(end, is_ours ? ".wal" : ".log") == 0 && strcmp(path, out) > 0) {
            strcpy(out, path);
        }
    }
    closedir(dir);
}

/* The end of the last record: our segments have a fixed length, and a record has a block. */
static off_t records_end(int fd, bool is_ours)
{
    struct stat found;
    assert_int_equal(fstat(fd, &found), 0);
    return is_ours ? (off_t)BLOCK * ROWS + VALUE_LEN : found.st_size;
}

static void flip_bit(int fd, off_t at)
{
    uint8_t byte;
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 4;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
}

static void do_damage(const char *path, bool is_ours, enum fault fault)
{
    static const char nothing[SECTOR];
    int fd = open(path, O_RDWR);
    off_t end = records_end(fd, is_ours);
    off_t middle = is_ours ? (off_t)BLOCK * (ROWS / 2) + VALUE_LEN / 2 : end / 2;
    switch (fault) {
    case FLIP_MIDDLE:
        flip_bit(fd, middle);
        break;
    case GARBAGE_MIDDLE:
        assert_int_equal(pwrite(fd, nothing, SECTOR, middle / SECTOR * SECTOR), SECTOR);
        break;
    case FLIP_LAST:
        flip_bit(fd, end - VALUE_LEN / 2);
        break;
    case TEAR_LAST:
        assert_int_equal(ftruncate(fd, end - VALUE_LEN / 2), 0);
        break;
    case CUT_MIDDLE:
        /* Records of RocksDB's WAL are equally long, so its middle is between two of them. */
        assert_int_equal(ftruncate(fd, is_ours ? (off_t)BLOCK * (ROWS / 2 + 1) : middle), 0);
        break;
    default:
        assert_int_equal(unlink(path), 0);
    }
    close(fd);
}

/* Runs ---------------------------------------------------------------------------------------- */

static int run_child(const char *task, const char *directory, int number)
{
    bool is_ours = number == 0;
    if (strcmp(task, "count") == 0) {
        return is_ours ? count_ours(directory) : count_rocksdb(directory, number - 1);
    }
    if (is_ours) {
        fill_ours(directory);
    } else {
        fill_rocksdb(directory, number - 1);
    }
    child_report(0, STORE_OK);
    for (;;) {
        pause();
    }
}

static int try_fault(int number, enum fault fault)
{
    char directory[64];
    char path[400];
    struct child child;
    struct report report;
    make_directory(directory);
    child_start(&child, "fill", directory, (uint64_t)number);
    assert_true(child_read(&child, &report));
    child_kill(&child);
    child_wait(&child);
    find_log(directory, number == 0, path);
    do_damage(path, number == 0, fault);
    child_start(&child, "count", directory, (uint64_t)number);
    int count = child_wait(&child);
    remove_directory(directory);
    return count;
}

int main(int argc, char **argv)
{
    const char *task = child_name(argc, argv);
    log_setup(LOG_ERROR, LOG_TEXT);
    if (task != NULL) {
        _exit(run_child(task, argv[3], atoi(argv[4])));
    }
    printf("%d rows, each acknowledged after a sync; then the process was killed\n", ROWS);
    for (int number = 0; number < (int)COUNT_OF(logs); number++) {
        for (enum fault fault = 0; fault < FAULTS; fault++) {
            int count = try_fault(number, fault);
            if (count == REFUSED) {
                printf("%-38s %-34s refused\n", logs[number], fault_names[fault]);
            } else {
                printf("%-38s %-34s %d lost\n", logs[number], fault_names[fault], ROWS - count);
            }
        }
    }
    return 0;
}
