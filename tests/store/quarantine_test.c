/* Tests bad blocks in quarantine: a compaction reads a bad block of an SST file; its range of keys
 * fails from then on, also after a start, compactions go on, and no older version of a row in the
 * range is ever returned. Also if the process is killed at any step. */
#include "child.h"
#include "support.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/backup/store_backup.h"
#include "store/formats.h"
#include "store/image/image.h"

static const struct variant on_disk = {
    .name = "rocksdb", .on_disk = true, .cache_bytes = (size_t)1 << 16};

enum { ROWS = 1000, ROW_BYTES = 1000, SPACE = 7, FEW_FILES = 12 };
enum { KILLED = 99 };

/* Killing ---------------------------------------------------------------------------------------
 *
 * These functions replace those of the C library in the whole test program, RocksDB included. In a
 * child they end the process at the call with a given number, counted from the one that gives the
 * file STORE its new contents: that is the first step. */

static atomic_bool is_armed;
static atomic_long calls_left = -1; /* negative: not counting */
static long calls_wanted;

static void note_call(void)
{
    if (atomic_load(&calls_left) >= 0 && atomic_fetch_sub(&calls_left, 1) == 0) {
        _exit(KILLED);
    }
}

int rename(const char *from, const char *to)
{
    if (atomic_load(&is_armed) && strstr(from, "STORE.tmp") != NULL &&
        atomic_load(&calls_left) < 0) {
        atomic_store(&is_armed, false);
        atomic_store(&calls_left, calls_wanted);
    }
    note_call();
    return (int)syscall(SYS_rename, from, to);
}

int fdatasync(int fd)
{
    note_call();
    return (int)syscall(SYS_fdatasync, fd);
}

int fsync(int fd)
{
    note_call();
    return (int)syscall(SYS_fsync, fd);
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
    note_call();
    return syscall(SYS_pwritev, fd, parts, count, (unsigned long)offset, 0UL);
}

/* Reads that fail -------------------------------------------------------------------------------
 */

static atomic_int failing_reads; /* so many reads of compactions fail */

static bool is_compaction(void)
{
    char name[16];
    return pthread_getname_np(pthread_self(), name, sizeof(name)) == 0 &&
           strncmp(name, "rocksdb:low", 11) == 0;
}

/* The name that RocksDB calls; in this program pread() is pread64(). */
ssize_t pread_by_rocksdb(int fd, void *out, size_t len, off_t offset) __asm__("pread");

ssize_t pread_by_rocksdb(int fd, void *out, size_t len, off_t offset)
{
    if (atomic_load(&failing_reads) > 0 && is_compaction()) {
        atomic_fetch_sub(&failing_reads, 1);
        errno = EIO;
        return -1;
    }
    return syscall(SYS_pread64, fd, out, len, offset);
}

/* Rows ----------------------------------------------------------------------------------------- */

static struct str row_key(struct client *client, uint64_t id)
{
    return key_number(&client->arena, SPACE, id, 0);
}

static struct str row_value(struct client *client, uint64_t id, uint64_t version)
{
    return random_bytes(&client->arena, id * 1000 + version + 1, ROW_BYTES);
}

static void put_version(struct client *client, uint64_t id, uint64_t version)
{
    client_reset(client);
    client_put(client, row_key(client, id), row_value(client, id, version));
}

/* Rows of every hundred are written again and again; none is near the damage. */
static bool is_busy(uint64_t id)
{
    return id % 100 == 10;
}

/* While reads of compactions fail, the database is opened again and again, so a write may fail, as
 * on a disk that is full for a moment: it is repeated. */
static void put_busy_rows(struct client *client, uint64_t version)
{
    int64_t start = clock_monotonic_us();
    for (uint64_t id = 0; id < ROWS; id++) {
        client_reset(client);
        while (is_busy(id) && client_try_put(client, row_key(client, id),
                                             row_value(client, id, version)) != STORE_OK) {
            assert_true(atomic_load(&failing_reads) > 0);
            assert_true(clock_monotonic_us() - start < 60000000);
            usleep(1000);
        }
    }
}

/* Finds the newest SST file. Returns how many there are. */
static size_t newest_sst(const char *directory, char *out, size_t size)
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

static void open_again(struct fixture *fixture)
{
    fixture->store = fixture->inner = open_store(fixture->directory, 1 << 16);
    for (struct client *client = fixture->clients; client != NULL; client = client->next) {
        client->store = fixture->store;
    }
}

static void put_all_rows(struct client *client, uint64_t version)
{
    for (uint64_t id = 0; id < ROWS; id++) {
        put_version(client, id, version);
    }
    assert_true(rocks_flush(client->store));
}

/* Creates a store and closes it: version 0 of each row is in a file of the bottom level, version 1
 * in one of level 0. Repeated if a compaction has merged them meanwhile. */
static struct client *fill(struct fixture *fixture)
{
    log_setup(LOG_ERROR, LOG_TEXT);
    fixture_open(fixture, &on_disk);
    struct client *client = client_create(fixture);
    char path[128];
    for (int tries = 0; tries < 20; tries++) {
        put_all_rows(client, 0);
        rocks_compact_all(fixture->inner);
        put_all_rows(client, 1);
        store_close(fixture->store);
        if (newest_sst(fixture->directory, path, sizeof(path)) == 2) {
            return client;
        }
        open_again(fixture);
    }
    fail();
    return NULL;
}

/* Changes some bits of a byte of the newest SST file: at a part of it, in thousandths. */
static void flip_in_newest(const char *directory, char bits, int thousandths)
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

/* No flip of one bit corrects this. */
static void damage_newest(const char *directory)
{
    flip_in_newest(directory, 0x5a, 500);
}

/* Checks that no row has an older version than 1; busy rows have `version` or the one before.
 * Returns how many cannot be read, and the first and last of these. */
static size_t check_rows(struct client *client, uint64_t version, uint64_t *first, uint64_t *last)
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

/* Writes until compactions have read the bad block. Returns the last version. */
static uint64_t write_until_quarantine(struct store *store, struct client *client, uint64_t version)
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

static bool exists(const char *directory, const char *part)
{
    DIR *dir = opendir(directory);
    bool found = false;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        found = found || strstr(entry->d_name, part) != NULL;
    }
    closedir(dir);
    return found;
}

/* A store whose newest SST file has a block in quarantine, in which these bits of a byte were
 * changed. Returns the last version. */
static uint64_t prepare_with(struct fixture *fixture, struct client **out, char bits)
{
    *out = fill(fixture);
    flip_in_newest(fixture->directory, bits, 500);
    open_again(fixture);
    uint64_t version = write_until_quarantine(fixture->inner, *out, 1);
    assert_int_equal(rocks_quarantine_count(fixture->inner), 1);
    assert_int_equal(rocks_reopen_count(fixture->inner), 1);
    return version;
}

static uint64_t prepare(struct fixture *fixture, struct client **out)
{
    return prepare_with(fixture, out, 0x5a);
}

static void compactions_go_on(void **state)
{
    (void)state;
    struct fixture fixture;
    struct client *client;
    uint64_t first = 0;
    uint64_t last = 0;
    uint64_t version = prepare(&fixture, &client);
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
    assert_true(exists(fixture.directory, ".block"));
    assert_false(exists(fixture.directory, "quarantine.tmp"));
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
    *out = fill(fixture);
    uint64_t version = 1;
    open_again(fixture);
    for (size_t i = 1; i <= count; i++) {
        int64_t start = clock_monotonic_us();
        atomic_store(&failing_reads, 1);
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
    assert_false(exists(fixture.directory, ".block"));
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
    atomic_store(&failing_reads, INT_MAX);
    int64_t start = clock_monotonic_us();
    while (rocks_newest_files(fixture.inner) < 5 * FEW_FILES) {
        assert_true(clock_monotonic_us() - start < 60000000);
        write_files(&fixture, client, &version);
    }
    assert_in_range(rocks_reopen_count(fixture.inner), 1, 16);
    assert_int_equal(check_rows(client, version, &ignored, &ignored), 0);
    atomic_store(&failing_reads, 0);
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
    uint64_t version = prepare(&fixture, &client);
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
    struct client *client = fill(&fixture);
    static const int thousandths[] = {330, 340, 730, 992};
    for (size_t i = 0; i < COUNT_OF(thousandths); i++) {
        flip_in_newest(fixture.directory, 0x5a, thousandths[i]);
    }
    open_again(&fixture);
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
    prepare(&fixture, &client);
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

/* Images and backups --------------------------------------------------------------------------- */

struct findings {
    size_t damage_count;
    size_t lost_count;
    struct str first;
    struct str last;
    struct arena arena;
};

static void note_finding(void *context, const struct finding *finding)
{
    struct findings *findings = context;
    findings->damage_count += finding->severity == FINDING_DAMAGE;
    if (finding->has_range) {
        findings->lost_count++;
        findings->first = arena_copy(&findings->arena, finding->first);
        findings->last = arena_copy(&findings->arena, finding->last);
    }
}

/* Checks that an image of the closed store reports one range, and that each row in it is stale. */
static void check_image(const char *directory)
{
    struct findings findings = {0};
    arena_init(&findings.arena);
    struct err err = ERR_INIT(&findings.arena);
    struct image_options options = {
        .directory = directory, .report = note_finding, .context = &findings};
    struct image *image;
    assert_true(image_open(&options, &image, &err));
    struct image_row row;
    size_t stale_count = 0;
    while (image_next(image, &row)) {
        assert_int_equal(row.is_stale, image_is_lost(image, row.key));
        stale_count += row.is_stale;
    }
    assert_int_equal(findings.damage_count, 1);
    assert_int_equal(findings.lost_count, 1);
    assert_int_equal(store_key_space(findings.first), SPACE);
    assert_int_equal(store_key_space(findings.last), SPACE);
    assert_in_range(stale_count, 1, 20); /* version 0 */
    image_close(image);
    arena_finish(&findings.arena);
}

static void images_report_the_range(void **state)
{
    (void)state;
    struct fixture fixture;
    struct client *client;
    prepare(&fixture, &client);
    for (int i = 0; i < 2; i++) {
        store_close(fixture.store);
        check_image(fixture.directory);
        open_again(&fixture);
        rocks_compact_all(fixture.inner);
    }
    fixture_close(&fixture);
}

/* Checks that a repair of the closed store would find all rows, in their newest version. */
static void check_repair(const char *directory, struct client *client)
{
    struct findings findings = {0};
    arena_init(&findings.arena);
    struct err err = ERR_INIT(&findings.arena);
    struct image_options options = {.directory = directory,
                                    .is_for_repair = true,
                                    .report = note_finding,
                                    .context = &findings};
    struct image *image;
    assert_true(image_open(&options, &image, &err));
    struct image_row row;
    uint64_t id = 0;
    while (image_next(image, &row)) {
        if (store_key_space(row.key) == SPACE) {
            client_reset(client);
            assert_false(row.is_stale);
            assert_true(str_eq(row.key, row_key(client, id)));
            assert_true(is_busy(id) || str_eq(row.value, row_value(client, id, 1)));
            id++;
        }
    }
    assert_int_equal(id, ROWS);
    assert_int_equal(findings.damage_count, 0);
    image_close(image);
    arena_finish(&findings.arena);
}

/* A flipped bit: servers do not read the block, but a repair loses nothing, also when compactions
 * have moved its rows to other files. */
static void a_flipped_bit_is_not_lost(void **state)
{
    (void)state;
    struct fixture fixture;
    struct client *client;
    uint64_t first;
    uint64_t last;
    uint64_t version = prepare_with(&fixture, &client, 0x10);
    for (int i = 0; i < 2; i++) {
        assert_in_range(check_rows(client, version, &first, &last), 1, 20);
        store_close(fixture.store);
        check_repair(fixture.directory, client);
        open_again(&fixture);
        rocks_compact_all(fixture.inner);
    }
    fixture_close(&fixture);
}

static void backups_keep_the_quarantine(void **state)
{
    (void)state;
    struct fixture fixture;
    struct client *client;
    uint64_t version = prepare(&fixture, &client);
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    char other[64];
    make_directory(other);
    const char *checkpoint = arena_format(&arena, "%s/checkpoint", other).data;
    const char *backup = arena_format(&arena, "%s/backup", other).data;
    const char *restored = arena_format(&arena, "%s/restored", other).data;
    struct findings findings = {0};
    struct backup_options options = {.report = note_finding, .context = &findings};
    struct backup_manifest manifest = {.seed = store_seed(fixture.store)};
    assert_true(rocks_checkpoint(fixture.inner, checkpoint, &manifest.format, &err));
    assert_true(backup_write(&options, checkpoint, backup, &arena, &manifest, &err));
    assert_int_equal(findings.damage_count, 1);
    assert_true(backup_verify(&options, backup, &manifest, &err));
    assert_int_equal(findings.damage_count, 2);
    assert_true(backup_restore(&options, backup, &manifest, restored, &err));
    struct store *store = open_store(restored, 1 << 16);
    assert_int_equal(rocks_quarantine_count(store), 1);
    assert_int_equal(rocks_format(store), STORE_FORMAT_QUARANTINE);
    struct client *reader = client_create_alone(store);
    rocks_compact_all(store);
    uint64_t first;
    uint64_t last;
    assert_in_range(check_rows(reader, version, &first, &last), 1, 20);
    store_close(store);
    client_destroy(reader);
    remove_directory(other);
    arena_finish(&arena);
    fixture_close(&fixture);
}

/* A checkpoint from before the quarantine keeps the bad block: it does not have the list. */
static void older_checkpoints_keep_the_bad_block(void **state)
{
    (void)state;
    struct fixture fixture;
    struct client *client = fill(&fixture);
    open_again(&fixture);
    struct findings findings = {0};
    arena_init(&findings.arena);
    struct err err = ERR_INIT(&findings.arena);
    char other[64];
    make_directory(other);
    const char *checkpoint = arena_format(&findings.arena, "%s/checkpoint", other).data;
    const char *backup = arena_format(&findings.arena, "%s/backup", other).data;
    struct backup_manifest manifest = {0};
    assert_true(rocks_checkpoint(fixture.inner, checkpoint, &manifest.format, &err));
    assert_int_equal(manifest.format, STORE_FORMAT);
    store_close(fixture.store);
    damage_newest(checkpoint); /* a link to the file of the store */
    open_again(&fixture);
    write_until_quarantine(fixture.inner, client, 1);
    struct backup_options options = {.report = note_finding, .context = &findings};
    assert_true(backup_write(&options, checkpoint, backup, &findings.arena, &manifest, &err));
    assert_int_equal(findings.damage_count, 1);
    remove_directory(other);
    arena_finish(&findings.arena);
    fixture_close(&fixture);
}

/* Damage that cannot be put into quarantine -------------------------------------------------------
 */

/* Few rows of level 0 cover a whole table: its other rows must stay readable. */
static void wide_ranges_are_not_accepted(void **state)
{
    (void)state;
    struct fixture fixture;
    struct client *client = fill(&fixture);
    char path[128];
    do {
        open_again(&fixture);
        rocks_compact_all(fixture.inner);
        for (uint64_t id = 0; id < ROWS; id += 20) {
            put_version(client, id, 1);
        }
        assert_true(rocks_flush(fixture.inner));
        store_close(fixture.store);
    } while (newest_sst(fixture.directory, path, sizeof(path)) != 2);
    damage_newest(fixture.directory);
    open_again(&fixture);
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

/* Kills ---------------------------------------------------------------------------------------- */

/* In the child: writes until there is a quarantine; killed at the call with this number. */
static int run_child(const char *directory, long calls)
{
    log_setup(LOG_ERROR, LOG_TEXT);
    struct store *store = open_store(directory, 1 << 16);
    struct client *client = client_create_alone(store);
    calls_wanted = calls;
    atomic_store(&is_armed, true);
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
    fill(&fixture);
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
        assert_true(status == KILLED || status == 0);
        /* Beyond the last step only the calls of later writes are met. */
        is_killed = status == KILLED && calls < 40;
        check_after_kill(copy);
        remove_directory(copy);
    }
    assert_true(calls > 10);
    open_again(&fixture);
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
        cmocka_unit_test(compactions_go_on),
        cmocka_unit_test(a_failed_read_does_no_harm),
        cmocka_unit_test(failed_reads_stop_compactions_in_the_end),
        cmocka_unit_test(ranges_and_updates_fail),
        cmocka_unit_test(all_blocks_of_a_file_are_found),
        cmocka_unit_test(a_dropped_space_has_no_quarantine),
        cmocka_unit_test(images_report_the_range),
        cmocka_unit_test(a_flipped_bit_is_not_lost),
        cmocka_unit_test(backups_keep_the_quarantine),
        cmocka_unit_test(older_checkpoints_keep_the_bad_block),
        cmocka_unit_test(wide_ranges_are_not_accepted),
        cmocka_unit_test(a_kill_loses_nothing),
    };
    return cmocka_run_group_tests_name("quarantine", tests, NULL, NULL);
}
