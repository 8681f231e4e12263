/* Tests files that cannot grow and file systems that are full, real ones: a row that is too large
 * fails alone, updates that free space use the reserve, and when there is room again all updates
 * work. What runs on such a disk is a child process. The file systems need root. */
#include "child.h"
#include "disk_support.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

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
        assert_int_equal(client_read_space(client, 7).count, acknowledged);
        unlink(filler);
        wait_until_writable(client);
        client_erase(client, key_text(&client->arena, 7, "p", "try"));
        client_reset(client);
    }
    store_close(store);
    client->store = store = open_store(store_directory, 1 << 20);
    assert_int_equal(client_read_space(client, 7).count, acknowledged);
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
    assert_int_equal(client_read_space(client, 7).count, 0);
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

static int run_child(const char *name, const char *directory)
{
    if (strcmp(name, "reserve") == 0) {
        return use_reserve(directory);
    }
    if (strcmp(name, "half") == 0) {
        return use_half_of_reserve(directory);
    }
    return strcmp(name, "limit") == 0 ? write_with_file_limit(directory)
                                      : fill_small_disk(directory);
}

int main(int argc, char **argv)
{
    const char *child = child_name(argc, argv);
    if (child != NULL) {
        return run_child(child, argv[3]);
    }
    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    const struct CMUnitTest tests[] = {
        DISK_TEST(too_large_row_does_not_fail_its_group),
        DISK_TEST(a_small_disk_fills_up),
        DISK_TEST(rows_are_erased_on_a_full_disk),
        DISK_TEST(what_frees_space_is_accepted_on_a_full_disk),
    };
    return cmocka_run_group_tests_name("full disk", tests, NULL, NULL);
}
