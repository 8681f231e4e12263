#include "store/rocks/journal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/testing.h"
#include "store/rocks/spares.h"

static bool refuses_direct;

/* Only the journal is written with this. */
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
    if (refuses_direct && (fcntl(fd, F_GETFL) & O_DIRECT) != 0) {
        errno = EINVAL;
        return -1;
    }
    return syscall(SYS_pwritev, fd, parts, count, offset, 0);
}

enum { SECRET = 0x5ec7e7, HEADER_LEN = 16 };

struct fixture {
    char directory[32];
    struct journal *journal;
    struct arena arena;
};

/* What recovery gave: the first bytes of each record, in a row. */
struct found {
    char text[256];
    size_t count;
};

static bool note(void *context, struct str record, struct err *err)
{
    (void)err;
    struct found *found = context;
    size_t len = MIN(record.len, (size_t)3);
    size_t used = strlen(found->text);
    assert_true(used + len + 2 < sizeof(found->text));
    memcpy(found->text + used, record.data, len);
    memcpy(found->text + used + len, " ", 2);
    found->count++;
    return true;
}

static bool count_record(void *context, struct str record, struct err *err)
{
    (void)record;
    (void)err;
    ++*(size_t *)context;
    return true;
}

static bool refuse(void *context, struct str record, struct err *err)
{
    (void)context;
    (void)record;
    return err_set(err, ERR_INTERNAL, "refused");
}

static struct found reopen(struct fixture *fixture, uint64_t stored)
{
    journal_destroy(fixture->journal);
    fixture->journal = journal_create(fixture->directory);
    struct found found = {0};
    struct err err = ERR_INIT(&fixture->arena);
    assert_true(journal_recover(fixture->journal, SECRET, stored, note, &found, &err));
    return found;
}

static void check_refused(struct fixture *fixture, const char *message)
{
    journal_destroy(fixture->journal);
    fixture->journal = journal_create(fixture->directory);
    struct found found = {0};
    struct err err = ERR_INIT(&fixture->arena);
    assert_false(journal_recover(fixture->journal, SECRET, 0, note, &found, &err));
    assert_true(str_contains(err.message, str_from_c(message)));
}

static int set_up(void **state)
{
    struct fixture *fixture = mem_zalloc(sizeof(*fixture));
    strcpy(fixture->directory, "/tmp/gramme-journal-XXXXXX");
    assert_non_null(mkdtemp(fixture->directory));
    arena_init(&fixture->arena);
    reopen(fixture, 0);
    *state = fixture;
    return 0;
}

static void each_file(const char *directory, void (*visit)(const char *path, void *context),
                      void *context)
{
    DIR *dir = opendir(directory);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] != '.') {
            char path[300];
            snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
            visit(path, context);
        }
    }
    closedir(dir);
}

static void delete_file(const char *path, void *context)
{
    (void)context;
    unlink(path);
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    journal_destroy(fixture->journal);
    each_file(fixture->directory, delete_file, NULL);
    rmdir(fixture->directory);
    arena_finish(&fixture->arena);
    mem_free(fixture);
    return 0;
}

static void append(struct fixture *fixture, struct str record)
{
    assert_true(journal_append(fixture->journal, record));
    journal_keep(fixture->journal);
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

static char *path_of(struct fixture *fixture, uint64_t first)
{
    return (char *)arena_format(&fixture->arena, "%s/%020llu.journal", fixture->directory,
                                (unsigned long long)first)
        .data;
}

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static void change_byte(const char *path, off_t offset)
{
    int fd = open(path, O_RDWR);
    char byte;
    assert_int_equal(pread(fd, &byte, 1, offset), 1);
    byte ^= 1;
    assert_int_equal(pwrite(fd, &byte, 1, offset), 1);
    close(fd);
}

static void records_come_back_in_order(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(journal_next(fixture->journal), 1);
    append_text(fixture, "one");
    append_text(fixture, "two");
    append_text(fixture, "");
    append_text(fixture, "fou");
    assert_string_equal(reopen(fixture, 0).text, "one two  fou ");
    assert_int_equal(journal_next(fixture->journal), 5);
    append_text(fixture, "fiv");
    assert_string_equal(reopen(fixture, 3).text, "fou fiv ");
    assert_int_equal(reopen(fixture, 5).count, 0);
    assert_int_equal(journal_next(fixture->journal), 6);
}

/* The process may end in the middle of a record: those before it are there, and it can go on. */
static void the_end_may_be_cut_off_anywhere(void **state)
{
    struct fixture *fixture = *state;
    append_text(fixture, "one");
    append_text(fixture, "two");
    const off_t whole = 2 * (HEADER_LEN + 3);
    for (off_t len = whole - 1; len > HEADER_LEN + 3; len--) {
        assert_int_equal(truncate(path_of(fixture, 1), len), 0);
        assert_string_equal(reopen(fixture, 0).text, "one ");
        append_text(fixture, "new");
        assert_string_equal(reopen(fixture, 0).text, "one new ");
    }
}

static void the_end_may_be_damaged_anywhere(void **state)
{
    struct fixture *fixture = *state;
    append_text(fixture, "one");
    append_text(fixture, "two");
    for (off_t offset = HEADER_LEN + 3; offset < 2 * (HEADER_LEN + 3); offset++) {
        change_byte(path_of(fixture, 1), offset);
        assert_string_equal(reopen(fixture, 0).text, "one ");
        change_byte(path_of(fixture, 1), offset);
    }
    assert_string_equal(reopen(fixture, 0).text, "one two ");
}

static void what_was_cut_is_gone(void **state)
{
    struct fixture *fixture = *state;
    append_text(fixture, "one");
    assert_true(journal_append(fixture->journal, STR("two")));
    assert_true(journal_cut(fixture->journal));
    assert_true(journal_is_fresh(fixture->journal));
    assert_int_equal(journal_next(fixture->journal), 2);
    append_text(fixture, "TWO");
    assert_true(exists(path_of(fixture, 2)));
    /* The first of a segment: the next one has its name. */
    assert_true(journal_append(fixture->journal, STR("thr")));
    assert_true(journal_cut(fixture->journal));
    assert_true(journal_append(fixture->journal, STR("THR")));
    assert_true(journal_cut(fixture->journal));
    append_text(fixture, "3rd");
    assert_string_equal(reopen(fixture, 0).text, "one TWO 3rd ");
}

/* A record that could not be cut counts only as long as no other has its number. */
static void a_newer_segment_wins(void **state)
{
    struct fixture *fixture = *state;
    append_text(fixture, "one");
    assert_true(journal_append(fixture->journal, STR("two")));
    char bytes[2 * (HEADER_LEN + 3)];
    int fd = open(path_of(fixture, 1), O_RDWR);
    assert_int_equal(pread(fd, bytes, sizeof(bytes), 0), sizeof(bytes));
    assert_true(journal_cut(fixture->journal));
    assert_int_equal(pwrite(fd, bytes, sizeof(bytes), 0), sizeof(bytes));
    close(fd);
    append_text(fixture, "TWO");
    assert_string_equal(reopen(fixture, 0).text, "one TWO ");
}

static void gaps_are_told(void **state)
{
    struct fixture *fixture = *state;
    append_text(fixture, "one");
    assert_true(journal_cut(fixture->journal)); /* nothing; but the next begins a segment */
    append_text(fixture, "two");
    assert_true(journal_cut(fixture->journal));
    append_text(fixture, "thr");
    change_byte(path_of(fixture, 2), HEADER_LEN);
    check_refused(fixture, "is damaged: record 2 is missing");
    change_byte(path_of(fixture, 2), HEADER_LEN);
    assert_string_equal(reopen(fixture, 0).text, "one two thr ");
    assert_int_equal(unlink(path_of(fixture, 1)), 0);
    check_refused(fixture, "is damaged: record 1 is missing");
    assert_string_equal(reopen(fixture, 1).text, "two thr ");
}

static void a_record_that_is_refused_ends_it(void **state)
{
    struct fixture *fixture = *state;
    append_text(fixture, "one");
    journal_destroy(fixture->journal);
    fixture->journal = journal_create(fixture->directory);
    struct err err = ERR_INIT(&fixture->arena);
    assert_false(journal_recover(fixture->journal, SECRET, 0, refuse, NULL, &err));
    assert_true(str_eq(err.message, STR("refused")));
}

/* Another store's records, or bytes of an item that look like one. */
static void without_the_secret_it_is_no_record(void **state)
{
    struct fixture *fixture = *state;
    append_text(fixture, "one");
    journal_destroy(fixture->journal);
    fixture->journal = journal_create(fixture->directory);
    struct found found = {0};
    struct err err = ERR_INIT(&fixture->arena);
    assert_true(journal_recover(fixture->journal, SECRET + 1, 0, note, &found, &err));
    assert_int_equal(found.count, 0);
}

static off_t size_of(const char *path)
{
    struct stat stat_;
    return stat(path, &stat_) == 0 ? stat_.st_size : -1;
}

/* Returns its number. */
static uint64_t append_to_filled(struct fixture *fixture, struct str record)
{
    for (int i = 0; i < 10000; i++) {
        append(fixture, record);
        uint64_t number = journal_next(fixture->journal) - 1;
        if (size_of(path_of(fixture, number)) == SPARE_BYTES) {
            return number;
        }
        journal_release(fixture->journal, number - 1);
        usleep(1000);
    }
    fail_msg("no segment was filled beforehand");
    return 0;
}

/* Segments that are filled beforehand, and used again; what was in them does not come back. */
static void segments_are_used_again(void **state)
{
    struct fixture *fixture = *state;
    struct str big = big_record(fixture, "big", 600000);
    uint64_t filled = append_to_filled(fixture, big);
    uint64_t next;
    do {
        next = journal_next(fixture->journal);
        append(fixture, big);
    } while (!exists(path_of(fixture, next)));
    assert_true(journal_has_grown(fixture->journal));
    journal_release(fixture->journal, next - 2);
    assert_true(exists(path_of(fixture, filled))); /* record next - 1 is in it */
    journal_release(fixture->journal, next - 1);
    assert_false(exists(path_of(fixture, filled)));

    assert_true(journal_cut(fixture->journal)); /* begins another */
    append_text(fixture, "in the file that was filled");
    assert_int_equal(size_of(path_of(fixture, next + 1)), SPARE_BYTES);
    assert_string_equal(reopen(fixture, next - 1).text, "big in  ");
    append_text(fixture, "end");
    assert_string_equal(reopen(fixture, next - 1).text, "big in  end ");
}

/* Files that are filled beforehand are written in whole blocks, some of them at once: records that
 * end before, at and behind the ends of these. */
static void records_of_any_length_are_whole(void **state)
{
    struct fixture *fixture = *state;
    uint64_t filled = append_to_filled(fixture, big_record(fixture, "big", 600000));
    size_t count = 1;
    const size_t ends[] = {4096, 2 * 4096, 64 * 4096, 65 * 4096, 3 * 64 * 4096};
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        for (int off = -HEADER_LEN - 1; off <= 1; off++, count++) {
            append(fixture, big_record(fixture, "abc", ends[i] + (size_t)off));
        }
    }
    for (; count < 200; count++) {
        append(fixture, big_record(fixture, "abc", count));
    }
    assert_true(exists(path_of(fixture, filled)));
    assert_false(exists(path_of(fixture, filled + 1)));
    journal_destroy(fixture->journal);
    fixture->journal = journal_create(fixture->directory);
    size_t found = 0;
    struct err err = ERR_INIT(&fixture->arena);
    assert_true(journal_recover(fixture->journal, SECRET, filled - 1, count_record, &found, &err));
    assert_int_equal(found, count);
    append_text(fixture, "end");
    assert_string_equal(reopen(fixture, filled + count - 1).text, "end ");
}

static void disks_may_refuse_to_be_written_directly(void **state)
{
    struct fixture *fixture = *state;
    refuses_direct = true;
    uint64_t filled = append_to_filled(fixture, big_record(fixture, "big", 600000));
    refuses_direct = false;
    append_text(fixture, "end");
    assert_string_equal(reopen(fixture, filled - 1).text, "big end ");
}

/* One that is larger than a segment has one of its own. */
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

static void in_memory_nothing_is_kept(void **state)
{
    (void)state;
    struct journal *journal = journal_create(NULL);
    assert_true(journal_append(journal, STR("one")));
    journal_keep(journal);
    assert_true(journal_cut(journal));
    journal_spare(journal);
    journal_destroy(journal);
}

#define JOURNAL_TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        JOURNAL_TEST(records_come_back_in_order),
        JOURNAL_TEST(the_end_may_be_cut_off_anywhere),
        JOURNAL_TEST(the_end_may_be_damaged_anywhere),
        JOURNAL_TEST(what_was_cut_is_gone),
        JOURNAL_TEST(a_newer_segment_wins),
        JOURNAL_TEST(gaps_are_told),
        JOURNAL_TEST(a_record_that_is_refused_ends_it),
        JOURNAL_TEST(without_the_secret_it_is_no_record),
        JOURNAL_TEST(segments_are_used_again),
        JOURNAL_TEST(records_of_any_length_are_whole),
        JOURNAL_TEST(disks_may_refuse_to_be_written_directly),
        JOURNAL_TEST(large_records),
        cmocka_unit_test(in_memory_nothing_is_kept),
    };
    return cmocka_run_group_tests_name("journal", tests, NULL, NULL);
}
