/* Tests the write-ahead log: recovery after crashes, damage and failed writes; segments; formats.
 */
#include "store/wal/wal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/testing.h"

static bool refuses_direct;

/* Replaces the system call, which only the WAL uses, to let it fail. */
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
    if (refuses_direct && (fcntl(fd, F_GETFL) & O_DIRECT) != 0) {
        errno = EINVAL;
        return -1;
    }
    return syscall(SYS_pwritev, fd, parts, count, offset, 0);
}

enum { BLOCK = WAL_BLOCK_BYTES, GROWING = 2 << 20 };

struct fixture {
    char directory[32];
    struct wal *wal;
    struct arena arena;
};

/* The records that were replayed: their first bytes, concatenated. */
struct found {
    char text[256];
    size_t count;
};

static bool note(void *context, uint64_t number, struct str record, struct err *err)
{
    (void)number;
    (void)err;
    struct found *found = context;
    size_t len = MIN(record.len, (size_t)3);
    size_t used = strlen(found->text);
    if (used + len + 2 < sizeof(found->text)) {
        memcpy(found->text + used, record.data, len);
        memcpy(found->text + used + len, " ", 2);
    }
    found->count++;
    return true;
}

static bool refuse(void *context, uint64_t number, struct str record, struct err *err)
{
    (void)context;
    (void)number;
    (void)record;
    return err_set(err, ERR_INTERNAL, "refused");
}

static struct wal_options options_of(const struct fixture *fixture)
{
    return (struct wal_options){.files = files_system(),
                                .directory = fixture->directory,
                                .store_id = "an id of a store",
                                .filled_bytes = SPARE_BYTES,
                                .growing_bytes = GROWING,
                                .has_thread = true};
}

static void open_again(struct fixture *fixture)
{
    wal_destroy(fixture->wal);
    struct wal_options options = options_of(fixture);
    fixture->wal = wal_create(&options);
}

static struct found reopen(struct fixture *fixture, uint64_t stored)
{
    open_again(fixture);
    struct found found = {0};
    struct err err = ERR_INIT(&fixture->arena);
    if (!wal_recover(fixture->wal, stored, note, &found, &err)) {
        fail_msg("%.*s", STR_ARG(err.message));
    }
    return found;
}

static void check_refused(struct fixture *fixture, const char *message)
{
    open_again(fixture);
    struct found found = {0};
    struct err err = ERR_INIT(&fixture->arena);
    assert_false(wal_recover(fixture->wal, 0, note, &found, &err));
    if (!str_contains(err.message, str_from_c(message))) {
        fail_msg("got \"%.*s\", expected \"%s\"", STR_ARG(err.message), message);
    }
    assert_int_equal(found.count, 0);
}

static int set_up(void **state)
{
    struct fixture *fixture = mem_zalloc(sizeof(*fixture));
    log_setup(LOG_ERROR, LOG_TEXT);
    strcpy(fixture->directory, "/tmp/gramme-wal-XXXXXX");
    assert_non_null(mkdtemp(fixture->directory));
    arena_init(&fixture->arena);
    struct wal_options options = options_of(fixture);
    struct err err = ERR_INIT(&fixture->arena);
    assert_true(wal_initialize(&options, &err));
    reopen(fixture, 0);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    wal_destroy(fixture->wal);
    DIR *dir = opendir(fixture->directory);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        unlinkat(dirfd(dir), entry->d_name, 0);
    }
    closedir(dir);
    rmdir(fixture->directory);
    arena_finish(&fixture->arena);
    mem_free(fixture);
    return 0;
}

static void append(struct fixture *fixture, struct str record)
{
    assert_true(wal_append(fixture->wal, record));
    wal_commit(fixture->wal);
}

static void append_text(struct fixture *fixture, const char *text)
{
    append(fixture, str_from_c(text));
}

static struct str big_record(struct fixture *fixture, const char *start, size_t len)
{
    char *bytes = arena_zalloc(&fixture->arena, len);
    memcpy(bytes, start, strlen(start));
    return str_make(bytes, len);
}

static char *path_of(struct fixture *fixture, uint64_t number)
{
    return (char *)arena_format(&fixture->arena, "%s/%020llu.wal", fixture->directory,
                                (unsigned long long)number)
        .data;
}

static char *state_path(struct fixture *fixture)
{
    return (char *)arena_format(&fixture->arena, "%s/wal.state", fixture->directory).data;
}

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static off_t size_of(const char *path)
{
    struct stat stat_;
    return stat(path, &stat_) == 0 ? stat_.st_size : -1;
}

static void change_byte(const char *path, off_t offset, uint8_t mask)
{
    int fd = open(path, O_RDWR);
    uint8_t byte;
    assert_int_equal(pread(fd, &byte, 1, offset), 1);
    byte ^= mask;
    assert_int_equal(pwrite(fd, &byte, 1, offset), 1);
    close(fd);
}

/* Changes several bits of two bytes, so that they cannot be corrected. */
static void damage(const char *path, off_t offset)
{
    change_byte(path, offset, 0x5A);
    change_byte(path, offset + 1, 0x33);
}

/* Erases the marks, as if they had not reached the disk. */
static void lose_marks(struct fixture *fixture)
{
    static const char zeroes[2 * BLOCK];
    int fd = open(state_path(fixture), O_RDWR);
    assert_int_equal(pwrite(fd, zeroes, sizeof(zeroes), (off_t)2 * BLOCK), sizeof(zeroes));
    close(fd);
}

/* Bytes -------------------------------------------------------------------------------------- */

static void bytes_of_a_record(void **state)
{
    (void)state;
    struct wal_record record = {.number = 0x0102, .salt = 0x11, .previous = 0x22};
    uint8_t bytes[WAL_RECORD_HEADER_LEN + 5];
    uint64_t checksum = wal_record_encode(record, STR("hello"), bytes);
    memcpy(bytes + WAL_RECORD_HEADER_LEN, "hello", 5);
    static const uint8_t head[] = {'G', 'W', 'R', 'L'};
    assert_memory_equal(bytes, head, 4);
    static const uint8_t fields[] = {2,    1, 0, 0, 0, 0, 0, 0, 0x11, 0, 0, 0, 0, 0, 0, 0,
                                     0x22, 0, 0, 0, 0, 0, 0, 0, 5,    0, 0, 0, 0, 0, 0, 0};
    assert_memory_equal(bytes + 8, fields, sizeof(fields));
    assert_int_equal(checksum, get_u64_le(bytes + 40));
    assert_int_equal(get_u64_le(bytes + 40), 0x70E60B688E251AE8U); /* docs/internals/formats.md */
    assert_int_equal(get_u32_le(bytes + 4), 0x33F65898U);
}

static void every_flipped_bit_of_a_record_is_corrected(void **state)
{
    struct fixture *fixture = *state;
    struct wal_record record = {.number = 7, .salt = 0x1234567890, .previous = 99};
    size_t payload_len = 300;
    size_t len = WAL_RECORD_HEADER_LEN + payload_len;
    uint8_t *bytes = arena_zalloc(&fixture->arena, 4096);
    uint8_t *copy = arena_zalloc(&fixture->arena, 4096);
    for (size_t i = 0; i < payload_len; i++) {
        bytes[WAL_RECORD_HEADER_LEN + i] = (uint8_t)(i * 13);
    }
    struct str payload = str_make((char *)bytes + WAL_RECORD_HEADER_LEN, payload_len);
    wal_record_encode(record, payload, bytes);
    struct wal_found found;
    assert_true(wal_record_decode(str_make((char *)bytes, 4096), record.salt, &found));
    for (size_t bit = 0; bit < 8 * len; bit++) {
        memcpy(copy, bytes, 4096);
        copy[bit / 8] ^= (uint8_t)(1U << bit % 8);
        assert_false(wal_record_decode(str_make((char *)copy, 4096), record.salt, &found));
        assert_true(wal_record_correct(copy, 4096, record, &found));
        assert_memory_equal(copy, bytes, len);
        /* Two flipped bits cannot be corrected, unless they are in the CRC alone. */
        copy[bit / 8] ^= (uint8_t)(1U << bit % 8);
        copy[(bit / 8 + 100) % len] ^= 0x81;
        bool in_crc = (bit / 8 + 100) % len >= 4 && (bit / 8 + 100) % len < 8;
        if (!in_crc && bit / 8 >= 8) {
            assert_false(wal_record_correct(copy, 4096, record, &found));
        }
    }
}

/* Order and ends ----------------------------------------------------------------------------- */

static void records_come_back_in_order(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(wal_next(fixture->wal), 1);
    append_text(fixture, "one");
    append_text(fixture, "two");
    append_text(fixture, "");
    append_text(fixture, "fou");
    assert_string_equal(reopen(fixture, 0).text, "one two  fou ");
    assert_int_equal(wal_next(fixture->wal), 5);
    append_text(fixture, "fiv");
    assert_string_equal(reopen(fixture, 3).text, "fou fiv ");
    assert_int_equal(reopen(fixture, 5).count, 0);
    assert_int_equal(wal_next(fixture->wal), 6);
}

/* A record that was being written when the machine stopped: those before it are there. */
static void an_incomplete_record_is_ignored(void **state)
{
    struct fixture *fixture = *state;
    append_text(fixture, "one");
    append(fixture, big_record(fixture, "two", (size_t)3 * BLOCK));
    lose_marks(fixture);
    static const char zeroes[512];
    int fd = open(path_of(fixture, 1), O_RDWR); /* header, record 1, record 2 */
    assert_int_equal(pwrite(fd, zeroes, 512, (off_t)4 * BLOCK), 512);
    char byte = 1; /* with this the record differs in more than one bit */
    assert_int_equal(pwrite(fd, &byte, 1, (off_t)4 * BLOCK), 1);
    char garbage[512];
    memset(garbage, 0x77, sizeof(garbage));
    assert_int_equal(pwrite(fd, garbage, 512, (off_t)3 * BLOCK), 512);
    close(fd);
    assert_string_equal(reopen(fixture, 0).text, "one ");
    append_text(fixture, "new");
    assert_string_equal(reopen(fixture, 0).text, "one new ");
}

/* The same damage, but a mark proves that the record was acknowledged. */
static void an_acknowledged_record_is_missed(void **state)
{
    struct fixture *fixture = *state;
    append_text(fixture, "one");
    append_text(fixture, "two");
    damage(path_of(fixture, 1), (off_t)2 * BLOCK + WAL_RECORD_HEADER_LEN);
    check_refused(fixture, "an acknowledged record is missing or damaged (record 2;");
    check_refused(fixture, "gramme repair");
}

static void a_record_before_intact_ones_is_missed(void **state)
{
    struct fixture *fixture = *state;
    append_text(fixture, "one");
    append_text(fixture, "two");
    append_text(fixture, "thr");
    lose_marks(fixture);
    damage(path_of(fixture, 1), (off_t)2 * BLOCK + WAL_RECORD_HEADER_LEN);
    check_refused(fixture, "offset 8192: a record is damaged, and intact ones stand behind it");
    damage(path_of(fixture, 1), (off_t)2 * BLOCK + WAL_RECORD_HEADER_LEN);
    assert_string_equal(reopen(fixture, 0).text, "one two thr ");
}

/* Also in the last record, and without a mark. */
static void flipped_bits_do_no_harm(void **state)
{
    struct fixture *fixture = *state;
    append_text(fixture, "one");
    append_text(fixture, "two");
    const char *path = path_of(fixture, 1);
    for (off_t offset = 0; offset < 3 * BLOCK; offset += offset % BLOCK < 200 ? 1 : 97) {
        lose_marks(fixture);
        change_byte(path, offset, 0x10);
        assert_string_equal(reopen(fixture, 0).text, "one two ");
        change_byte(path, offset, 0x10);
    }
    for (off_t offset = 0; offset < 2 * BLOCK; offset += offset % BLOCK < 250 ? 1 : 97) {
        change_byte(state_path(fixture), offset, 0x04);
        assert_string_equal(reopen(fixture, 0).text, "one two ");
    }
}

static void missing_and_short_files_are_missed(void **state)
{
    struct fixture *fixture = *state;
    append_text(fixture, "one");
    reopen(fixture, 0);
    append_text(fixture, "two");
    reopen(fixture, 0);
    append_text(fixture, "thr");
    for (uint64_t number = 1; number <= 3; number++) {
        const char *path = path_of(fixture, number);
        const char *aside = (char *)arena_format(&fixture->arena, "%s.aside", path).data;
        assert_int_equal(rename(path, aside), 0);
        check_refused(fixture, "the segment is missing");
        assert_int_equal(rename(aside, path), 0);
        damage(path, 40);
        check_refused(fixture, "this is not the header of the segment");
        damage(path, 40);
        assert_int_equal(truncate(path, GROWING - 1), 0);
        check_refused(fixture, "the segment was truncated");
        assert_int_equal(truncate(path, GROWING), 0);
    }
    assert_string_equal(reopen(fixture, 0).text, "one two thr ");
    assert_int_equal(unlink(path_of(fixture, 1)), 0);
    assert_string_equal(reopen(fixture, 1).text, "two thr "); /* the SST files have it */
    assert_int_equal(unlink(state_path(fixture)), 0);
    check_refused(fixture, "wal.state cannot be read: No such file");
}

static void a_clean_end_proves_the_last_record(void **state)
{
    struct fixture *fixture = *state;
    append_text(fixture, "one");
    append_text(fixture, "two");
    struct wal_sst_state ssts = {.manifest = "MANIFEST-000001"};
    wal_close_cleanly(fixture->wal, &ssts);
    lose_marks(fixture);
    assert_string_equal(reopen(fixture, 0).text, "one two ");
    damage(path_of(fixture, 1), (off_t)2 * BLOCK + WAL_RECORD_HEADER_LEN);
    check_refused(fixture, "an acknowledged record is missing or damaged (record 2;");
}

static void segments_of_another_store_are_refused(void **state)
{
    struct fixture *fixture = *state;
    append_text(fixture, "one");
    struct wal_options options = options_of(fixture);
    options.store_id[0] ^= 1;
    wal_destroy(fixture->wal);
    fixture->wal = wal_create(&options);
    struct found found = {0};
    struct err err = ERR_INIT(&fixture->arena);
    assert_false(wal_recover(fixture->wal, 0, note, &found, &err));
}

static char *read_bytes(struct fixture *fixture, const char *path, size_t *out_len)
{
    struct buf bytes = {0};
    assert_true(files_read_file(files_system(), path, &bytes));
    char *copy = arena_zalloc(&fixture->arena, bytes.len);
    memcpy(copy, bytes.data, bytes.len);
    *out_len = bytes.len;
    buf_finish(&bytes);
    return copy;
}

static void write_bytes(const char *path, const char *bytes, size_t len)
{
    int fd = open(path, O_WRONLY | O_TRUNC);
    assert_int_equal(write(fd, bytes, len), len);
    close(fd);
}

/* A wal.state that is older than the segments, as in a copy whose files were made at different
 * times, is refused, whether it names an earlier segment or none; and nothing is deleted. */
static void an_old_state_is_refused(void **state)
{
    struct fixture *fixture = *state;
    size_t len;
    size_t first_len;
    char *first = read_bytes(fixture, state_path(fixture), &first_len); /* names no segment */
    append_text(fixture, "one");
    struct wal_sst_state ssts = {.manifest = "MANIFEST-000001"};
    wal_close_cleanly(fixture->wal, &ssts);
    char *old = read_bytes(fixture, state_path(fixture), &len);
    reopen(fixture, 0);
    append_text(fixture, "two");
    append_text(fixture, "thr");
    char *now = read_bytes(fixture, state_path(fixture), &len);
    write_bytes(state_path(fixture), old, len);
    check_refused(fixture, "wal.state is older and does not name it (record 2;");
    damage(path_of(fixture, 2), BLOCK + WAL_RECORD_HEADER_LEN);
    check_refused(fixture, "wal.state is older and does not name it (record 3;");
    damage(path_of(fixture, 2), BLOCK + WAL_RECORD_HEADER_LEN);
    write_bytes(state_path(fixture), first, first_len);
    check_refused(fixture, "wal.state is older and does not name it (record 1;");
    assert_true(exists(path_of(fixture, 1)) && exists(path_of(fixture, 2)));
    write_bytes(state_path(fixture), now, len);
    assert_string_equal(reopen(fixture, 0).text, "one two thr ");
}

/* A segment without a record was begun when the last process ended: it is deleted. */
static void a_segment_that_was_not_named_is_deleted(void **state)
{
    struct fixture *fixture = *state;
    size_t len;
    append_text(fixture, "one");
    char *old = read_bytes(fixture, state_path(fixture), &len);
    reopen(fixture, 0);
    append_text(fixture, "two");
    write_bytes(state_path(fixture), old, len);
    damage(path_of(fixture, 2), BLOCK + WAL_RECORD_HEADER_LEN);
    assert_string_equal(reopen(fixture, 0).text, "one ");
    assert_false(exists(path_of(fixture, 2)));
}

/* Discarding --------------------------------------------------------------------------------- */

static void what_was_discarded_is_gone(void **state)
{
    struct fixture *fixture = *state;
    append_text(fixture, "one");
    assert_true(wal_append(fixture->wal, STR("two")));
    assert_true(wal_discard(fixture->wal));
    assert_true(wal_is_fresh(fixture->wal));
    assert_int_equal(wal_next(fixture->wal), 2);
    assert_string_equal(reopen(fixture, 0).text, "one ");
    append_text(fixture, "TWO");
    assert_true(exists(path_of(fixture, 2)));
    assert_true(wal_append(fixture->wal, STR("thr")));
    assert_true(wal_discard(fixture->wal));
    assert_true(wal_append(fixture->wal, STR("THR")));
    assert_true(wal_discard(fixture->wal));
    struct wal_sst_state ssts = {0};
    wal_close_cleanly(fixture->wal, &ssts);
    assert_string_equal(reopen(fixture, 0).text, "one TWO ");
    append_text(fixture, "3rd");
    assert_string_equal(reopen(fixture, 0).text, "one TWO 3rd ");
}

static void a_record_that_is_refused_ends_it(void **state)
{
    struct fixture *fixture = *state;
    append_text(fixture, "one");
    open_again(fixture);
    struct err err = ERR_INIT(&fixture->arena);
    assert_false(wal_recover(fixture->wal, 0, refuse, NULL, &err));
    assert_true(str_eq(err.message, STR("refused")));
}

/* Segments ----------------------------------------------------------------------------------- */

/* Returns the number of the segment. */
static uint64_t append_to_filled(struct fixture *fixture, struct str record)
{
    uint64_t segment = 1;
    for (int i = 0; i < 10000; i++) {
        append(fixture, record);
        while (exists(path_of(fixture, segment + 1))) {
            segment++;
        }
        if (size_of(path_of(fixture, segment)) == SPARE_BYTES) {
            return segment;
        }
        wal_release(fixture->wal, wal_next(fixture->wal) - 2);
        usleep(1000);
    }
    fail_msg("no segment was filled beforehand");
    return 0;
}

/* Preallocated segments are reused, and records of their earlier use are not replayed. */
static void segments_are_used_again(void **state)
{
    struct fixture *fixture = *state;
    struct str big = big_record(fixture, "big", 600000);
    uint64_t filled = append_to_filled(fixture, big);
    while (!exists(path_of(fixture, filled + 1))) {
        append(fixture, big);
    }
    assert_true(wal_has_grown(fixture->wal));
    uint64_t next = wal_next(fixture->wal);
    wal_release(fixture->wal, next - 3);
    assert_true(exists(path_of(fixture, filled))); /* record next - 2 is in it */
    wal_release(fixture->wal, next - 2);
    assert_false(exists(path_of(fixture, filled)));

    assert_true(wal_append(fixture->wal, STR("not")));
    assert_true(wal_discard(fixture->wal)); /* begins another */
    append_text(fixture, "in the file that was filled");
    assert_int_equal(size_of(path_of(fixture, filled + 2)), SPARE_BYTES);
    assert_string_equal(reopen(fixture, next - 2).text, "big in  ");
    append_text(fixture, "end");
    assert_string_equal(reopen(fixture, next - 2).text, "big in  end ");
}

/* Direct writes use a buffer of many blocks: tests records that end before, at and after the ends
 * of blocks and buffers. */
static void records_of_any_length_are_whole(void **state)
{
    struct fixture *fixture = *state;
    append_to_filled(fixture, big_record(fixture, "big", 600000));
    uint64_t stored = wal_next(fixture->wal) - 1;
    size_t count = 0;
    const size_t ends[] = {BLOCK, 2 * BLOCK, 64 * BLOCK, 65 * BLOCK, 3 * 64 * BLOCK};
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        for (int off = -WAL_RECORD_HEADER_LEN - 1; off <= 1; off += 5, count++) {
            append(fixture, big_record(fixture, "abc", ends[i] + (size_t)off));
        }
    }
    for (size_t len = 0; len < 100; len++, count++) {
        append(fixture, big_record(fixture, "", len));
    }
    assert_int_equal(reopen(fixture, stored).count, count);
    append_text(fixture, "end");
    assert_string_equal(reopen(fixture, stored + count).text, "end ");
}

static void disks_may_refuse_to_be_written_directly(void **state)
{
    struct fixture *fixture = *state;
    refuses_direct = true;
    append_to_filled(fixture, big_record(fixture, "big", 600000));
    refuses_direct = false;
    append_text(fixture, "end");
    assert_string_equal(reopen(fixture, wal_next(fixture->wal) - 3).text, "big end ");
}

/* A record that is larger than a segment has a segment of its own. */
static void large_records(void **state)
{
    struct fixture *fixture = *state;
    append_text(fixture, "one");
    append(fixture, big_record(fixture, "two", SPARE_BYTES + 100));
    append_text(fixture, "thr");
    assert_true(exists(path_of(fixture, 2)));
    assert_true(exists(path_of(fixture, 3)));
    assert_string_equal(reopen(fixture, 0).text, "one two thr ");
}

static void files_are_private(void **state)
{
    struct fixture *fixture = *state;
    append_text(fixture, "one");
    struct stat stat_;
    assert_int_equal(stat(path_of(fixture, 1), &stat_), 0);
    assert_int_equal(stat_.st_mode & 0777, 0600);
}

static void in_memory_nothing_is_kept(void **state)
{
    (void)state;
    struct wal_options options = {.files = files_system()};
    struct wal *wal = wal_create(&options);
    assert_true(wal_append(wal, STR("one")));
    wal_commit(wal);
    assert_true(wal_discard(wal));
    wal_drop_spares(wal);
    wal_destroy(wal);
}

#define WAL_TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_of_a_record),
        WAL_TEST(every_flipped_bit_of_a_record_is_corrected),
        WAL_TEST(records_come_back_in_order),
        WAL_TEST(an_incomplete_record_is_ignored),
        WAL_TEST(an_acknowledged_record_is_missed),
        WAL_TEST(a_record_before_intact_ones_is_missed),
        WAL_TEST(flipped_bits_do_no_harm),
        WAL_TEST(missing_and_short_files_are_missed),
        WAL_TEST(a_clean_end_proves_the_last_record),
        WAL_TEST(segments_of_another_store_are_refused),
        WAL_TEST(an_old_state_is_refused),
        WAL_TEST(a_segment_that_was_not_named_is_deleted),
        WAL_TEST(what_was_discarded_is_gone),
        WAL_TEST(a_record_that_is_refused_ends_it),
        WAL_TEST(segments_are_used_again),
        WAL_TEST(records_of_any_length_are_whole),
        WAL_TEST(disks_may_refuse_to_be_written_directly),
        WAL_TEST(large_records),
        WAL_TEST(files_are_private),
        cmocka_unit_test(in_memory_nothing_is_kept),
    };
    return cmocka_run_group_tests_name("wal", tests, NULL, NULL);
}
