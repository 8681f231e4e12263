/* Tests rule 6: rows, stamps, drops and the seed survive a restart and a killed process. */
#include "child.h"

#include <dirent.h>
#include <rocksdb/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "store/disk/identity.h"

static const struct variant on_disk = {
    .name = "rocksdb", .on_disk = true, .cache_bytes = (size_t)1 << 20};

/* Each id has two rows, a log row and an addition to a counter, all written by one update. */
static bool eval_entry(void *context, struct arena *arena, const struct str *rows,
                       struct store_batch *batch)
{
    uint64_t id = *(const uint64_t *)context;
    if (!str_is_null(rows[0])) {
        return false;
    }
    store_batch_put(batch, 0, number_row(arena, id));
    /* Enough bytes for RocksDB to write SST files while it is being killed. */
    struct str big = str_make(arena_zalloc(arena, 2000), 2000);
    store_batch_put_owned(batch, key_number(arena, 8, id * 7919, id), big);
    store_batch_append(batch, str_make(key_number(arena, 9, 1, 0).data, STORE_PREFIX_LEN),
                       number_row(arena, id));
    store_batch_add(batch, key_text(arena, 10, "count", ""), (struct store_count){.count = 1});
    return true;
}

static bool has_entry(struct client *client, uint64_t id)
{
    bool first = !str_is_null(client_get(client, key_number(&client->arena, 7, id, 0)));
    bool second = !str_is_null(client_get(client, key_number(&client->arena, 8, id * 7919, id)));
    assert_int_equal(first, second);
    return first;
}

/* Checks that all parts of each entry exist, or none. */
static void check_entries(struct client *client)
{
    struct rows entries = client_read_space(client, 7);
    assert_int_equal(client_read_space(client, 8).count, entries.count);
    struct rows log = client_read_space(client, 9);
    assert_int_equal(log.count, entries.count);
    for (size_t i = 1; i < log.count; i++) {
        assert_true(str_cmp(log.keys[i - 1], log.keys[i]) < 0);
    }
    struct str count = client_get(client, key_text(&client->arena, 10, "count", ""));
    assert_int_equal(store_count_value(count).count, entries.count);
}

static enum store_status write_entry(struct client *client, uint64_t id)
{
    struct str key = key_number(&client->arena, 7, id, 0);
    return client_update(client, &key, 1, eval_entry, &id);
}

static void rows_outlive_the_store(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_open(&fixture, &on_disk);
    struct client *client = client_create(&fixture);
    uint64_t seed = store_seed(fixture.store);
    for (uint64_t id = 0; id < 60; id++) {
        assert_int_equal(write_entry(client, id), STORE_OK);
        if (id % 20 == 19) {
            fixture_reopen(&fixture);
            assert_int_equal(store_seed(fixture.store), seed);
            check_entries(client);
        }
        if (id == 29) {
            assert_true(rocks_flush(fixture.inner));
        }
    }
    assert_int_equal(client_read_space(client, 7).count, 60);
    fixture_close(&fixture);
}

/* Each start may leave a WAL file; old ones must be deleted. */
static void log_files_do_not_pile_up(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_open(&fixture, &on_disk);
    struct client *client = client_create(&fixture);
    for (uint64_t id = 0; id < 40; id++) {
        assert_int_equal(write_entry(client, id), STORE_OK);
        fixture_reopen(&fixture);
    }
    check_entries(client);
    DIR *dir = opendir(fixture.directory);
    size_t count = 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        count += strstr(entry->d_name, ".log") != NULL;
    }
    closedir(dir);
    assert_true(count < 20);
    fixture_close(&fixture);
}

static void write_file(struct fixture *fixture, struct client *client, uint64_t id)
{
    static const char big[300000];
    for (uint64_t i = 0; i < 4; i++) {
        client_put(client, key_number(&client->arena, 7, id, i), str_make(big, sizeof(big)));
    }
    assert_true(rocks_flush(fixture->inner));
    client_reset(client);
}

/* Compactions are delayed under load, and run when the load ends. */
static void files_are_merged_when_little_is_written(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_open(&fixture, &on_disk);
    struct client *client = client_create(&fixture);
    for (int round = 0; round < 2; round++) {
        int64_t start = clock_monotonic_us();
        for (uint64_t id = 0; rocks_newest_files(fixture.inner) < 3; id++) {
            assert_true(clock_monotonic_us() - start < 30000000);
            write_file(&fixture, client, id);
        }
        while (rocks_newest_files(fixture.inner) > 0) {
            assert_true(clock_monotonic_us() - start < 60000000);
            usleep(5000);
        }
    }
    fixture_close(&fixture);
}

static void drops_outlive_the_store(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_open(&fixture, &on_disk);
    struct client *client = client_create(&fixture);
    for (uint32_t space = 20; space < 26; space++) {
        client_put(client, key_number(&client->arena, space, 1, 1), STR("v"));
    }
    store_drop_space(fixture.store, 21);
    store_drop_space(fixture.store, 1u << 20);
    store_drop_space(fixture.store, 24);
    client_put(client, key_number(&client->arena, 20, 1, 2), STR("v")); /* makes them durable */
    fixture_reopen(&fixture);
    for (uint32_t space = 20; space < 26; space++) {
        bool dropped = space == 21 || space == 24;
        struct str key = key_number(&client->arena, space, 1, 1);
        assert_int_equal(str_is_null(client_get(client, key)), dropped);
        assert_int_equal(client_try_put(client, key, STR("w")), dropped ? STORE_GONE : STORE_OK);
    }
    assert_int_equal(client_try_put(client, key_number(&client->arena, 1u << 20, 1, 1), STR("w")),
                     STORE_GONE);
    fixture_close(&fixture);
}

static void seeds_differ(void **state)
{
    (void)state;
    struct fixture one;
    struct fixture other;
    fixture_open(&one, &on_disk);
    fixture_open(&other, &on_disk);
    assert_true(store_seed(one.store) != store_seed(other.store));
    fixture_close(&one);
    fixture_close(&other);
}

/* Checks that opening fails with a message that contains `expected`. */
static void check_refused(const char *directory, const char *expected)
{
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    struct store *store;
    struct store_options options = {.cache_bytes = 1 << 20, .worker_count = 1};
    struct str url = arena_format(&arena, "rocksdb:%s", directory);
    assert_false(store_open(url, &options, &store, &err));
    if (!str_contains(err.message, str_from_c(expected))) {
        fail_msg("got \"%.*s\", expected \"%s\"", STR_ARG(err.message), expected);
    }
    arena_finish(&arena);
}

static void one_server_at_a_time(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_open(&fixture, &on_disk);
    check_refused(fixture.directory, "is in use by another server");
    struct child child;
    child_start(&child, "refused", fixture.directory, 0);
    assert_int_equal(child_wait(&child), 0);
    fixture_close(&fixture);
}

static void write_raw(const char *directory, const char *key, size_t key_len, const char *row,
                      size_t row_len)
{
    rocksdb_options_t *options = rocksdb_options_create();
    rocksdb_writeoptions_t *write_options = rocksdb_writeoptions_create();
    rocksdb_options_set_create_if_missing(options, 1);
    char *message = NULL;
    rocksdb_t *db = rocksdb_open(options, directory, &message);
    assert_null(message);
    rocksdb_put(db, write_options, key, key_len, row, row_len, &message);
    assert_null(message);
    rocksdb_close(db);
    rocksdb_writeoptions_destroy(write_options);
    rocksdb_options_destroy(options);
}

/* Adds an SST file in the last level, where no compaction merges it. */
static void add_table(rocksdb_t *db, const char *directory, struct str key, struct str row)
{
    char path[100];
    snprintf(path, sizeof(path), "%s/new.table", directory);
    const char *list[] = {path};
    rocksdb_options_t *options = rocksdb_options_create();
    rocksdb_envoptions_t *env_options = rocksdb_envoptions_create();
    rocksdb_ingestexternalfileoptions_t *ingest = rocksdb_ingestexternalfileoptions_create();
    rocksdb_sstfilewriter_t *writer = rocksdb_sstfilewriter_create(env_options, options);
    rocksdb_ingestexternalfileoptions_set_move_files(ingest, 1);
    char *message = NULL;
    rocksdb_sstfilewriter_open(writer, path, &message);
    rocksdb_sstfilewriter_put(writer, key.data, key.len, row.data, row.len, &message);
    rocksdb_sstfilewriter_finish(writer, &message);
    rocksdb_ingest_external_file(db, list, 1, ingest, &message);
    assert_null(message);
    rocksdb_sstfilewriter_destroy(writer);
    rocksdb_ingestexternalfileoptions_destroy(ingest);
    rocksdb_envoptions_destroy(env_options);
    rocksdb_options_destroy(options);
}

/* RocksDB opens some files at the start, and the others when they are read. */
static void rows_in_many_files(void **state)
{
    enum { FILES = 40 };
    (void)state;
    struct fixture fixture;
    fixture_open(&fixture, &on_disk);
    store_close(fixture.store);
    struct client *client = client_create_alone(NULL);
    rocksdb_options_t *options = rocksdb_options_create();
    char *message = NULL;
    rocksdb_t *db = rocksdb_open(options, fixture.directory, &message);
    assert_null(message);
    struct str keys[FILES];
    for (uint64_t i = 0; i < FILES; i++) {
        keys[i] = key_number(&client->arena, 7, i, 0);
        add_table(db, fixture.directory, keys[i], number_row(&client->arena, i));
    }
    rocksdb_close(db);
    rocksdb_options_destroy(options);
    client->store = fixture.store = open_store(fixture.directory, 1 << 20);
    for (uint64_t i = 0; i < FILES; i++) {
        assert_int_equal(number_of(client_get(client, keys[i])), i);
    }
    fixture_close(&fixture);
    client_destroy(client);
}

static void write_identity(const char *directory, uint32_t format, const struct identity *like)
{
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    struct identity identity = *like;
    identity.format = format;
    assert_true(identity_write(files_system(), directory, &identity, &err));
    arena_finish(&arena);
}

static void unknown_formats_are_refused(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_open(&fixture, &on_disk);
    store_close(fixture.store);
    struct identity identity;
    bool incomplete;
    assert_int_equal(identity_read(files_system(), fixture.directory, &identity, &incomplete, NULL),
                     IDENTITY_FOUND);
    assert_false(incomplete);
    write_identity(fixture.directory, 99, &identity);
    check_refused(fixture.directory, "has format 99, but this version of gramme knows formats up");
    write_identity(fixture.directory, STORE_FORMAT, &identity);
    fixture.store = open_store(fixture.directory, 1 << 20);
    fixture_close(&fixture);
}

static void foreign_databases_are_refused(void **state)
{
    (void)state;
    char directory[64];
    make_directory(directory);
    write_raw(directory, "k", 1, "v", 1);
    check_refused(directory, "is not gramme's");
    remove_directory(directory);
}

static void bad_directories_are_refused(void **state)
{
    (void)state;
    check_refused("/nowhere/at/all", "cannot open the store in /nowhere/at/all");
    check_refused("/dev/null", "cannot open the store in /dev/null");
}

/* Writes entries, many at once, and reports each that is acknowledged, until it is killed. */
static void write_until_killed(const char *directory, uint64_t first)
{
    enum { IN_FLIGHT = 16 };
    struct client *client = client_create_alone(open_store(directory, 1 << 20));
    struct change changes[IN_FLIGHT];
    uint64_t ids[IN_FLIGHT];
    struct str keys[IN_FLIGHT];
    for (uint64_t id = first;; id += IN_FLIGHT) {
        client_reset(client);
        for (size_t i = 0; i < IN_FLIGHT; i++) {
            ids[i] = id + i;
            keys[i] = key_number(&client->arena, 7, ids[i], 0);
            client_start(client, &changes[i], &keys[i], 1, eval_entry, &ids[i]);
        }
        for (size_t i = 0; i < IN_FLIGHT; i++) {
            child_report(ids[i], client_finish(&changes[i]));
        }
    }
}

static void kill_a_writer(const char *directory, uint64_t first, uint64_t after_us,
                          uint64_t *out_last)
{
    struct child child;
    child_start(&child, "write", directory, first);
    struct report report;
    assert_true(child_read(&child, &report)); /* the child is writing */
    uint64_t *acknowledged = NULL;
    size_t count = 0;
    int64_t until = clock_monotonic_us() + (int64_t)after_us;
    bool killed = false;
    do {
        assert_int_equal(report.status, STORE_OK);
        acknowledged = mem_realloc(acknowledged, (count + 1) * sizeof(*acknowledged));
        acknowledged[count++] = report.id;
        if (!killed && clock_monotonic_us() >= until) {
            child_kill(&child);
            killed = true;
        }
    } while (child_read(&child, &report));
    assert_int_equal(child_wait(&child), -1);

    struct store *store = open_store(directory, 1 << 20);
    struct client *client = client_create_alone(store);
    for (size_t i = 0; i < count; i++) {
        assert_true(has_entry(client, acknowledged[i]));
    }
    check_entries(client);
    *out_last = acknowledged[count - 1];
    mem_free(acknowledged);
    store_close(store);
    client_destroy(client);
}

static void acknowledged_writes_survive_a_kill(void **state)
{
    (void)state;
    struct random random;
    random_init_seed(&random, test_seed("acknowledged writes survive a kill"));
    char directory[64];
    make_directory(directory);
    uint64_t last = 0;
    for (int round = 0; round < 8; round++) {
        kill_a_writer(directory, last + 1000, random_below(&random, 60000), &last);
    }
    remove_directory(directory);
}

static int run_child(const char *name, const char *directory, uint64_t number)
{
    if (strcmp(name, "write") == 0) {
        write_until_killed(directory, number);
    }
    check_refused(directory, "is in use by another server");
    return 0;
}

int main(int argc, char **argv)
{
    const char *child = child_name(argc, argv);
    if (child != NULL) {
        return run_child(child, argv[3], strtoull(argv[4], NULL, 10));
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_outlive_the_store),
        cmocka_unit_test(log_files_do_not_pile_up),
        cmocka_unit_test(files_are_merged_when_little_is_written),
        cmocka_unit_test(drops_outlive_the_store),
        cmocka_unit_test(seeds_differ),
        cmocka_unit_test(one_server_at_a_time),
        cmocka_unit_test(rows_in_many_files),
        cmocka_unit_test(unknown_formats_are_refused),
        cmocka_unit_test(foreign_databases_are_refused),
        cmocka_unit_test(bad_directories_are_refused),
        cmocka_unit_test(acknowledged_writes_survive_a_kill),
    };
    return cmocka_run_group_tests_name("durable", tests, NULL, NULL);
}
