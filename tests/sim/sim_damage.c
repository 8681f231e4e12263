/* Damages files of whole stores, RocksDB's included, that were closed or killed, one file at a
 * time: flips a bit, truncates or deletes it. Then a process of its own opens the store and reads
 * everything. It must refuse to open, or give each row as it was, or fail to read it (which is
 * reported); it must not lose a row silently, bring a deleted one back, or crash.
 *
 *     sim_damage [--seed N] [--flips N] [--cuts N]
 *
 * Prints what came out. Exits with 1 if there was a violation. */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../store/child.h"

#include "base/log.h"

enum { ROWS = 400, FILES_MAX = 64 };
enum { ALL_THERE = 0, REFUSED = 10, REPORTED = 11, WRONG = 20, OUTCOMES = 21 };

/* What a store holds -------------------------------------------------------------------------- */

static bool is_deleted(uint64_t id)
{
    return id % 10 == 3;
}

static struct str value_of(struct client *client, uint64_t id)
{
    size_t len = 50 + id * 37 % 900;
    char *bytes = arena_zalloc(&client->arena, len);
    for (size_t i = 0; i < len; i++) {
        bytes[i] = (char)(id * 11 + i * i);
    }
    return str_make(bytes, len);
}

/* Two tables, some of it in the log only; rows are deleted in each. */
static void fill(struct store *store)
{
    struct client *client = client_create_alone(store);
    for (uint64_t id = 0; id < ROWS; id++) {
        client_put(client, key_number(&client->arena, 7, id, 0), value_of(client, id));
        if (id % 10 == 9) {
            client_erase(client, key_number(&client->arena, 7, id - 6, 0));
        }
        if (id == ROWS / 2 || id == ROWS * 3 / 4) {
            assert_true(rocks_flush(store));
        }
        client_reset(client);
    }
    client_destroy(client);
}

static enum store_status read_row(struct client *client, uint64_t id, struct str *out)
{
    struct str key = key_number(&client->arena, 7, id, 0);
    return client_get_many(client, &key, 1, false, out);
}

/* In a process of its own. */
static int verify(const char *directory)
{
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    struct store_options options = {.cache_bytes = 1 << 20, .worker_count = 1};
    struct store *store;
    log_setup(LOG_ERROR, LOG_TEXT);
    if (freopen("/dev/null", "w", stderr) == NULL ||
        !store_open(arena_format(&arena, "rocksdb:%s", directory), &options, &store, &err)) {
        return REFUSED;
    }
    struct client *client = client_create_alone(store);
    int outcome = ALL_THERE;
    size_t live = 0;
    for (uint64_t id = 0; id < ROWS; id++) {
        struct str row;
        enum store_status status = read_row(client, id, &row);
        bool right = is_deleted(id) ? str_is_null(row) : str_eq(row, value_of(client, id));
        live += !is_deleted(id);
        if (status == STORE_OK && !right) {
            return WRONG;
        }
        outcome = status == STORE_OK ? outcome : REPORTED;
    }
    struct str lo = str_make(key_number(&client->arena, 7, 0, 0).data, STORE_SPACE_LEN);
    struct str hi = str_make(key_number(&client->arena, 8, 0, 0).data, STORE_SPACE_LEN);
    struct rows rows = client_range(client, (struct range_spec){.lo = lo, .hi = hi});
    if (rows.status == STORE_OK && rows.count != live) {
        return WRONG;
    }
    outcome = rows.status == STORE_OK ? outcome : REPORTED;
    enum store_status status =
        client_try_put(client, key_number(&client->arena, 9, 0, 0), STR("v"));
    return status == STORE_OK ? outcome : REPORTED;
}

/* Files --------------------------------------------------------------------------------------- */

struct listing {
    char names[FILES_MAX][64];
    size_t count;
};

static void list_files(const char *directory, struct listing *out)
{
    out->count = 0;
    DIR *dir = opendir(directory);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] != '.' && out->count < FILES_MAX) {
            snprintf(out->names[out->count++], 64, "%.60s", entry->d_name);
        }
    }
    closedir(dir);
}

static void run(const char *format, const char *a, const char *b)
{
    char command[400];
    snprintf(command, sizeof(command), format, a, b);
    assert_int_equal(system(command), 0);
}

enum damage { FLIP, TRUNCATE, DELETE };

/* A flip of a hole in a sparse segment would tell nothing: half of the flips are in its records. */
static off_t place_in(const char *name, off_t size, struct random *random)
{
    bool is_segment = strstr(name, ".wal") != NULL;
    uint64_t limit = is_segment && random_next(random) % 2 == 0 ? 1 << 19 : (uint64_t)size;
    return (off_t)(random_next(random) % MIN(limit, (uint64_t)size));
}

/* Empty files and the lock are left out; returns false then. */
static bool do_damage(const char *directory, const char *name, enum damage damage,
                      struct random *random)
{
    char path[200];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    struct stat found;
    if (stat(path, &found) != 0 || found.st_size == 0) {
        return false;
    }
    off_t place = place_in(name, found.st_size, random);
    if (damage == TRUNCATE) {
        assert_int_equal(truncate(path, place), 0);
    } else if (damage == DELETE) {
        assert_int_equal(unlink(path), 0);
    } else {
        int fd = open(path, O_RDWR);
        uint8_t byte;
        assert_int_equal(pread(fd, &byte, 1, place), 1);
        byte ^= (uint8_t)(1U << random_next(random) % 8);
        assert_int_equal(pwrite(fd, &byte, 1, place), 1);
        close(fd);
    }
    return true;
}

/* Runs ---------------------------------------------------------------------------------------- */

struct tally {
    uint64_t tried;
    uint64_t outcomes[OUTCOMES + 1]; /* the last one: crashes */
};

static void try_one(const char *original, enum damage damage, struct random *random,
                    struct tally *tally)
{
    char copy[100];
    snprintf(copy, sizeof(copy), "%s-copy", original);
    struct listing files;
    list_files(original, &files);
    const char *name = files.names[random_next(random) % files.count];
    run("cp -r --sparse=always %s %s", original, copy);
    struct random before = *random;
    if (do_damage(copy, name, damage, random)) {
        struct child child;
        child_start(&child, "verify", copy, 0);
        int status = child_wait(&child);
        int outcome = status >= 0 && status < OUTCOMES ? status : OUTCOMES;
        tally->tried++;
        tally->outcomes[outcome]++;
        if (outcome != ALL_THERE && outcome != REFUSED && outcome != REPORTED) {
            printf("violation: %s of %s (%s): status %d, random state %016" PRIx64 "\n",
                   damage == FLIP       ? "a flipped bit"
                   : damage == TRUNCATE ? "a truncation"
                                        : "a deletion",
                   name, original, status, before.state[0]);
        }
    }
    run("rm -rf %s%s", copy, "");
}

static bool print_tally(const char *what, const struct tally *tally)
{
    uint64_t wrong = tally->outcomes[WRONG];
    uint64_t crashed = tally->outcomes[OUTCOMES];
    for (int i = 1; i < OUTCOMES; i++) {
        crashed += i != REFUSED && i != REPORTED && i != WRONG ? tally->outcomes[i] : 0;
    }
    printf("%" PRIu64 " %s: %" PRIu64 " harmless, %" PRIu64 " refused, %" PRIu64
           " reported, %" PRIu64 " wrong, %" PRIu64 " crashed\n",
           tally->tried, what, tally->outcomes[ALL_THERE], tally->outcomes[REFUSED],
           tally->outcomes[REPORTED], wrong, crashed);
    return wrong + crashed == 0;
}

/* In memory if possible: what is tested here does not depend on a disk. */
static void make_quick_directory(char out[64])
{
    strcpy(out, "/dev/shm/gramme-store-XXXXXX");
    if (mkdtemp(out) == NULL) {
        make_directory(out);
    }
}

static void make_closed(const char *directory)
{
    struct store *store = open_store(directory, 1 << 20);
    fill(store);
    store_close(store);
}

static void make_killed(const char *directory)
{
    struct child child;
    child_start(&child, "fill", directory, 0);
    struct report report;
    assert_true(child_read(&child, &report));
    child_kill(&child);
    child_wait(&child);
}

static int run_child(const char *name, const char *directory)
{
    if (strcmp(name, "verify") == 0) {
        return verify(directory);
    }
    fill(open_store(directory, 1 << 20));
    child_report(0, STORE_OK);
    for (;;) {
        pause();
    }
}

int main(int argc, char **argv)
{
    const char *child = child_name(argc, argv);
    if (child != NULL) {
        _exit(run_child(child, argv[3]));
    }
    uint64_t seed = (uint64_t)time(NULL);
    uint64_t counts[] = {40, 10}; /* flips; truncations and deletions */
    for (int i = 1; i + 1 < argc; i += 2) {
        uint64_t number = strtoull(argv[i + 1], NULL, 10);
        *(strcmp(argv[i], "--seed") == 0    ? &seed
          : strcmp(argv[i], "--flips") == 0 ? &counts[0]
                                            : &counts[1]) = number;
    }
    log_setup(LOG_ERROR, LOG_TEXT);
    printf("seed %" PRIu64 "\n", seed);
    struct random random;
    random_init_seed(&random, seed);
    char directories[2][64];
    make_quick_directory(directories[0]);
    make_quick_directory(directories[1]);
    make_closed(directories[0]);
    make_killed(directories[1]);
    struct tally flips = {0};
    struct tally cuts = {0};
    for (uint64_t i = 0; flips.tried < counts[0]; i++) {
        try_one(directories[i % 2], FLIP, &random, &flips);
    }
    for (uint64_t i = 0; cuts.tried < counts[1]; i++) {
        try_one(directories[i % 2], i / 2 % 2 == 0 ? TRUNCATE : DELETE, &random, &cuts);
    }
    bool good = print_tally("flipped bits", &flips);
    good = print_tally("truncations and deletions", &cuts) && good;
    remove_directory(directories[0]);
    remove_directory(directories[1]);
    return good ? 0 : 1;
}
