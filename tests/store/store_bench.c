/* Measures the store beside the least that could do the same: a bare fsync loop, and RocksDB with
 * the same batches on one thread. Other processes disturb the disk, so each measure is taken in
 * several rounds, in turn with the others, and the median is printed. Not a test:
 *
 *     build/tests/store/store_bench [-d DIRECTORY] [-s SECONDS] [-r ROUNDS] [PART OF A NAME]
 */
#include <fcntl.h>
#include <rocksdb/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "support.h"

enum { KEYS = 100000, KEY_LEN = STORE_PREFIX_LEN + 8, VALUE_LEN = 200, IN_FLIGHT_MAX = 1024 };
enum { ROUNDS_MAX = 32 };

static double seconds = 0.5;
static char directory[256];

static double now(void)
{
    return (double)clock_monotonic_us() / 1e6;
}

static double cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void make_key(char key[KEY_LEN], uint64_t id)
{
    memset(key, 0, KEY_LEN);
    key[3] = 7;
    uint64_t mixed = id * 0x9E3779B97F4A7C15u;
    memcpy(key + STORE_SPACE_LEN, &mixed, 8);
    memcpy(key + STORE_PREFIX_LEN, &id, 8);
}

/* The stores under measurement; all are open at the same time. */
struct bench {
    int fsync_fd;
    rocksdb_t *bare;
    struct store *store; /* all rows are in memory or cached */
    struct store *cold;  /* the cache is much smaller than the data */
    struct waiting_mailbox *box;
    struct random random;
};

/* Each measurement runs for `seconds` and returns the number of operations. */
static double measure_fsync(struct bench *bench, size_t bytes)
{
    static const char data[65536];
    double count = 0;
    for (double until = now() + seconds; now() < until; count++) {
        if (write(bench->fsync_fd, data, bytes) < 0 || fdatasync(bench->fsync_fd) != 0) {
            perror("fsync");
            exit(1);
        }
    }
    return count;
}

static double measure_bare(struct bench *bench, size_t per_batch)
{
    rocksdb_writeoptions_t *write_options = rocksdb_writeoptions_create();
    rocksdb_writeoptions_set_sync(write_options, 1);
    rocksdb_readoptions_t *read_options = rocksdb_readoptions_create();
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    char value[VALUE_LEN] = {1};
    double count = 0;
    char *message = NULL;
    for (double until = now() + seconds; now() < until; count += (double)per_batch) {
        for (size_t i = 0; i < per_batch; i++) {
            char key[KEY_LEN];
            make_key(key, random_below(&bench->random, KEYS));
            rocksdb_pinnableslice_destroy(
                rocksdb_get_pinned(bench->bare, read_options, key, KEY_LEN, &message));
            rocksdb_writebatch_put(batch, key, KEY_LEN, value, sizeof(value));
        }
        rocksdb_write(bench->bare, write_options, batch, &message);
        rocksdb_writebatch_clear(batch);
    }
    rocksdb_writebatch_destroy(batch);
    rocksdb_readoptions_destroy(read_options);
    rocksdb_writeoptions_destroy(write_options);
    return count;
}

/* One thread that keeps this many updates in flight, like an event loop. */
struct load {
    struct bench *bench;
    struct store *store;
    double until;
    double count;
    size_t under_way;
    bool over;
    uint64_t fill; /* if not 0: writes every key up to it once */
};

struct slot {
    struct load *load;
    struct store_update update;
    struct arena arena;
    char key[KEY_LEN];
    struct str key_str;
};

static bool eval_bench(struct store_update *update, const struct str *rows,
                       struct store_batch *batch)
{
    char *value = arena_bytes(update->arena, VALUE_LEN);
    memset(value, 1, VALUE_LEN);
    if (!str_is_null(rows[0])) {
        memcpy(value, rows[0].data, 16);
        value[0]++;
    }
    store_batch_put(batch, 0, str_make(value, VALUE_LEN));
    return true;
}

static void start_update(struct slot *slot);

static void finish_update(struct store_update *update)
{
    struct slot *slot = CONTAINER_OF(update, struct slot, update);
    struct load *load = slot->load;
    if (update->status != STORE_OK) {
        fprintf(stderr, "an update failed: %d\n", update->status);
        exit(1);
    }
    load->count++;
    if (load->fill > 0 ? load->count >= (double)load->fill : now() >= load->until) {
        load->over = --load->under_way == 0;
        return;
    }
    start_update(slot);
}

static void start_update(struct slot *slot)
{
    struct load *load = slot->load;
    arena_reset(&slot->arena);
    make_key(slot->key,
             load->fill > 0 ? (uint64_t)load->count : random_below(&load->bench->random, KEYS));
    slot->key_str = str_make(slot->key, KEY_LEN);
    slot->update = (struct store_update){.keys = &slot->key_str,
                                         .key_count = 1,
                                         .arena = &slot->arena,
                                         .home = waiting_mailbox_box(load->bench->box),
                                         .eval = eval_bench,
                                         .done = finish_update};
    store_update(load->store, &slot->update);
}

static double run_load(struct load *load, size_t in_flight)
{
    static struct slot slots[IN_FLIGHT_MAX];
    load->under_way = in_flight;
    load->until = now() + seconds;
    for (size_t i = 0; i < in_flight; i++) {
        slots[i].load = load;
        start_update(&slots[i]);
    }
    waiting_mailbox_run(load->bench->box, &load->over);
    for (size_t i = 0; i < in_flight; i++) {
        arena_finish(&slots[i].arena);
    }
    return load->count;
}

static double measure_updates(struct bench *bench, size_t in_flight)
{
    struct load load = {.bench = bench, .store = bench->store};
    return run_load(&load, in_flight);
}

static double measure_cold_updates(struct bench *bench, size_t in_flight)
{
    struct load load = {.bench = bench, .store = bench->cold};
    return run_load(&load, in_flight);
}

struct reading {
    struct store_get get;
    struct store_range range;
    bool over;
};

static void finish_get(struct store_get *get)
{
    CONTAINER_OF(get, struct reading, get)->over = true;
}

static double run_gets(struct bench *bench, struct store *store)
{
    struct arena arena;
    arena_init(&arena);
    double count = 0;
    for (double until = now() + seconds; now() < until; count++) {
        arena_reset(&arena);
        char key[KEY_LEN];
        make_key(key, random_below(&bench->random, KEYS));
        struct str key_str = str_make(key, KEY_LEN);
        struct reading reading = {.get = {.keys = &key_str,
                                          .key_count = 1,
                                          .arena = &arena,
                                          .home = waiting_mailbox_box(bench->box),
                                          .done = finish_get}};
        store_get(store, &reading.get);
        waiting_mailbox_run(bench->box, &reading.over);
    }
    arena_finish(&arena);
    return count;
}

static double measure_gets(struct bench *bench, size_t unused)
{
    (void)unused;
    return run_gets(bench, bench->store);
}

static double measure_cold_gets(struct bench *bench, size_t unused)
{
    (void)unused;
    return run_gets(bench, bench->cold);
}

static double measure_bare_gets(struct bench *bench, size_t unused)
{
    (void)unused;
    rocksdb_readoptions_t *options = rocksdb_readoptions_create();
    char *message = NULL;
    double count = 0;
    for (double until = now() + seconds; now() < until; count++) {
        char key[KEY_LEN];
        make_key(key, random_below(&bench->random, KEYS));
        rocksdb_pinnableslice_destroy(
            rocksdb_get_pinned(bench->bare, options, key, KEY_LEN, &message));
    }
    rocksdb_readoptions_destroy(options);
    return count;
}

static bool take_row(struct store_range *range, struct str key, struct str value)
{
    (void)range;
    (void)key;
    (void)value;
    return true;
}

static void finish_range(struct store_range *range)
{
    CONTAINER_OF(range, struct reading, range)->over = true;
}

/* All rows of one part: there is one. */
static double run_ranges(struct bench *bench, struct store *store, bool backward)
{
    struct arena arena;
    arena_init(&arena);
    double count = 0;
    for (double until = now() + seconds; now() < until; count++) {
        arena_reset(&arena);
        char lo[KEY_LEN];
        char hi[KEY_LEN];
        make_key(lo, random_below(&bench->random, KEYS));
        memcpy(hi, lo, STORE_PREFIX_LEN);
        memset(hi + STORE_PREFIX_LEN, 0xFF, KEY_LEN - STORE_PREFIX_LEN);
        struct reading reading = {.range = {.lo = str_make(lo, STORE_PREFIX_LEN),
                                            .hi = str_make(hi, KEY_LEN),
                                            .backward = backward,
                                            .arena = &arena,
                                            .home = waiting_mailbox_box(bench->box),
                                            .row = take_row,
                                            .done = finish_range}};
        store_range(store, &reading.range);
        waiting_mailbox_run(bench->box, &reading.over);
    }
    arena_finish(&arena);
    return count;
}

static double measure_ranges(struct bench *bench, size_t backward)
{
    return run_ranges(bench, bench->store, backward != 0);
}

static double measure_cold_ranges(struct bench *bench, size_t backward)
{
    return run_ranges(bench, bench->cold, backward != 0);
}

static const struct measure {
    const char *name;
    double (*run)(struct bench *bench, size_t argument);
    size_t argument;
} measures[] = {
    {"fsync of 256 bytes", measure_fsync, 256},
    {"RocksDB alone, 1 update a batch", measure_bare, 1},
    {"updates, 1 in flight", measure_updates, 1},
    {"fsync of 16384 bytes", measure_fsync, 16384},
    {"RocksDB alone, 64 updates a batch", measure_bare, 64},
    {"updates, 64 in flight", measure_updates, 64},
    {"updates, 1024 in flight", measure_updates, 1024},
    {"updates, 64 in flight, cold", measure_cold_updates, 64},
    {"RocksDB alone, gets", measure_bare_gets, 0},
    {"gets", measure_gets, 0},
    {"gets, cold", measure_cold_gets, 0},
    {"ranges of one row", measure_ranges, 0},
    {"ranges of one row, backward", measure_ranges, 1},
    {"ranges of one row, cold", measure_cold_ranges, 0},
};

struct result {
    double per_second[ROUNDS_MAX];
    double cpu_us[ROUNDS_MAX];
};

static int compare(const void *a, const void *b)
{
    double difference = *(const double *)a - *(const double *)b;
    return (difference > 0) - (difference < 0);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof(*values), compare);
    return values[count / 2];
}

static void run(struct bench *bench, int rounds, const char *wanted)
{
    static struct result results[COUNT_OF(measures)];
    for (int round = 0; round < rounds; round++) {
        for (size_t i = 0; i < COUNT_OF(measures); i++) {
            if (strstr(measures[i].name, wanted) != NULL) {
                double start = now();
                double cpu = cpu_seconds();
                double count = measures[i].run(bench, measures[i].argument);
                results[i].per_second[round] = count / (now() - start);
                results[i].cpu_us[round] = (cpu_seconds() - cpu) * 1e6 / count;
            }
        }
    }
    for (size_t i = 0; i < COUNT_OF(measures); i++) {
        if (strstr(measures[i].name, wanted) != NULL) {
            printf("%-36s %9.0f/s %8.1f us of processor each\n", measures[i].name,
                   median(results[i].per_second, rounds), median(results[i].cpu_us, rounds));
        }
    }
}

static double resident_mib(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%*d %ld", &pages) != 1) {
        return 0;
    }
    fclose(file);
    return (double)pages * 4096 / (1 << 20);
}

static struct store *open_in(const char *name, size_t cache_bytes)
{
    char path[280];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    double start = now();
    struct store *store = open_store(path, cache_bytes);
    printf("%s: opened in %.1f ms, %.1f MiB resident\n", name, (now() - start) * 1e3,
           resident_mib());
    return store;
}

static void close_measured(const char *name, struct store *store)
{
    double start = now();
    store_close(store);
    printf("%s: closed in %.1f ms\n", name, (now() - start) * 1e3);
}

static void fill(struct bench *bench, struct store *store)
{
    struct load load = {.bench = bench, .store = store, .fill = KEYS};
    run_load(&load, IN_FLIGHT_MAX);
}

static void open_all(struct bench *bench)
{
    char path[280];
    snprintf(path, sizeof(path), "%s/fsync", directory);
    bench->fsync_fd = open(path, O_CREAT | O_RDWR, 0600);
    random_init_seed(&bench->random, 1);
    bench->box = waiting_mailbox_create();
    close_measured("empty", open_in("store", 64 << 20));
    bench->store = open_in("store", 64 << 20);
    bench->cold = open_in("cold", 1 << 20);
    snprintf(path, sizeof(path), "%s/bare", directory);
    rocksdb_options_t *options = rocksdb_options_create();
    rocksdb_options_set_create_if_missing(options, 1);
    char *message = NULL;
    bench->bare = rocksdb_open(options, path, &message);
    rocksdb_options_destroy(options);
    fill(bench, bench->store);
    fill(bench, bench->cold);
    if (!rocks_flush(bench->store) || !rocks_flush(bench->cold)) {
        exit(1);
    }
}

int main(int argc, char **argv)
{
    const char *base = "/tmp";
    int rounds = 7;
    for (int option; (option = getopt(argc, argv, "d:s:r:")) != -1;) {
        if (option == 'd') {
            base = optarg;
        } else if (option == 's') {
            seconds = atof(optarg);
        } else if (option == 'r') {
            rounds = MIN(atoi(optarg), ROUNDS_MAX);
        } else {
            return 1;
        }
    }
    snprintf(directory, sizeof(directory), "%s/gramme-bench-XXXXXX", base);
    if (mkdtemp(directory) == NULL) {
        perror(directory);
        return 1;
    }
    struct bench bench;
    open_all(&bench);
    run(&bench, rounds, optind < argc ? argv[optind] : "");
    close_measured("store", bench.store);
    close_measured("cold", bench.cold);
    rocksdb_close(bench.bare);
    close(bench.fsync_fd);
    waiting_mailbox_destroy(bench.box);
    remove_directory(directory);
    return 0;
}
