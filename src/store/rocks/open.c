/* Opens and closes the store: the database, the row that says what it is, the threads. */
#include <libgen.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/random.h"
#include "store/rocks/directory.h"
#include "store/rocks/rocks.h"
#include "store/rocks/rocks_internal.h"

bool rocks_failed(char *message, const char *doing)
{
    if (message == NULL) {
        return false;
    }
    log_write(LOG_ERROR, "store", "%s: %s", doing, message);
    rocksdb_free(message);
    return true;
}

bool rocks_is_incomplete(const char *message)
{
    return str_starts_with(str_from_c(message), STR("Result incomplete"));
}

uint64_t rocks_number(rocksdb_t *db, const char *property)
{
    char *text = rocksdb_property_value(db, property);
    uint64_t number = text != NULL ? strtoull(text, NULL, 10) : 0;
    rocksdb_free(text);
    return number;
}

void rocks_own_key(char out[STORE_PREFIX_LEN], const char *name)
{
    size_t len = strlen(name);
    assert(len <= STORE_PART_LEN);
    memset(out, 0, STORE_PREFIX_LEN);
    memcpy(out + STORE_SPACE_LEN, name, len);
}

enum { LOGS_MAX = 16 };
static const uint64_t replayed_bytes_max = 8 << 20;

/* The row "format" of space 0: version (4 bytes), seed (8 bytes), both little-endian. */
enum { FORMAT_VERSION = 3, FORMAT_ROW_LEN = 12 };

static bool is_empty(struct rocks *rocks)
{
    rocksdb_iterator_t *iter = rocksdb_create_iterator(rocks->db, rocks->read_blocking);
    rocksdb_iter_seek_to_first(iter);
    bool empty = !rocksdb_iter_valid(iter);
    rocksdb_iter_destroy(iter);
    return empty;
}

static void put_format(struct rocks *rocks, rocksdb_writeoptions_t *options, char **message)
{
    char key[STORE_PREFIX_LEN];
    rocks_own_key(key, "format");
    uint32_t version = FORMAT_VERSION;
    char row[FORMAT_ROW_LEN];
    memcpy(row, &version, 4);
    memcpy(row + 4, &rocks->store.seed, 8);
    rocksdb_put(rocks->db, options, key, sizeof(key), row, sizeof(row), message);
}

/* Through RocksDB's own log, so that it is there before the journal is. */
static bool make_format(struct rocks *rocks, struct err *err)
{
    if (!is_empty(rocks)) {
        return err_set(err, ERR_INTERNAL, "%s holds a database that is not gramme's", rocks->path);
    }
    random_system(&rocks->store.seed, sizeof(rocks->store.seed));
    char *message = NULL;
    put_format(rocks, rocks->write_synced, &message);
    if (message != NULL) {
        err_set(err, ERR_INTERNAL, "cannot write to the store in %s: %s", rocks->path, message);
        rocksdb_free(message);
        return false;
    }
    return true;
}

static bool take_format(struct rocks *rocks, struct str row, struct err *err)
{
    uint32_t version = 0;
    if (row.len >= sizeof(version)) {
        memcpy(&version, row.data, sizeof(version));
    }
    if (version != FORMAT_VERSION || row.len != FORMAT_ROW_LEN) {
        return err_set(err, ERR_INTERNAL,
                       "the store in %s has format %u, but this version of gramme knows format %d "
                       "only",
                       rocks->path, version, FORMAT_VERSION);
    }
    memcpy(&rocks->store.seed, row.data + 4, 8);
    return true;
}

bool rocks_check_format(struct rocks *rocks, struct err *err)
{
    char key[STORE_PREFIX_LEN];
    rocks_own_key(key, "format");
    struct str row;
    rocksdb_pinnableslice_t *pin;
    if (rocks_read(rocks, rocks->db, rocks->read_blocking, str_make(key, sizeof(key)), &row,
                   &pin) != READ_OK) {
        return err_set(err, ERR_INTERNAL, "cannot read the store in %s", rocks->path);
    }
    if (pin == NULL) {
        return make_format(rocks, err);
    }
    bool good = take_format(rocks, row, err);
    rocksdb_pinnableslice_destroy(pin);
    return good;
}

static bool start(pthread_t *thread, void *(*main)(void *), struct rocks *rocks, const char *name,
                  struct err *err)
{
    if (pthread_create(thread, NULL, main, rocks) != 0) {
        return err_set(err, ERR_INTERNAL, "cannot start a thread");
    }
    pthread_setname_np(*thread, name);
    return true;
}

static bool start_workers(struct rocks *rocks, int count, struct err *err)
{
    rocks->workers = mem_zalloc((size_t)count * sizeof(*rocks->workers));
    rocks->slow_threads = mem_zalloc((size_t)count * sizeof(*rocks->slow_threads));
    for (; rocks->worker_count < count; rocks->worker_count++) {
        if (!start(&rocks->workers[rocks->worker_count], rocks_worker_main, rocks, "store-read",
                   err)) {
            return false;
        }
    }
    for (; rocks->slow_count < count; rocks->slow_count++) {
        if (!start(&rocks->slow_threads[rocks->slow_count], rocks_slow_main, rocks, "store-slow",
                   err)) {
            return false;
        }
    }
    return true;
}

static bool start_threads(struct rocks *rocks, int worker_count, struct err *err)
{
    if (!start_workers(rocks, MAX(worker_count, 1), err)) {
        return false;
    }
    rocks->sweeper_started = start(&rocks->sweeper, rocks_sweeper_main, rocks, "store-sweep", err);
    rocks->committer_started =
        rocks->sweeper_started &&
        start(&rocks->committer, rocks_committer_main, rocks, "store-commit", err);
    return rocks->committer_started;
}

/* The committer goes first: it may be waiting for a worker or a slow thread. Workers hand ranges to
 * slow threads, so those are last. */
static void stop_threads(struct rocks *rocks)
{
    atomic_store(&rocks->closing, true);
    if (rocks->committer_started) {
        inbox_push(&rocks->updates, &rocks->last_task);
        pthread_join(rocks->committer, NULL);
    }
    work_queue_close(&rocks->reads);
    for (int i = 0; i < rocks->worker_count; i++) {
        pthread_join(rocks->workers[i], NULL);
    }
    work_queue_close(&rocks->slow);
    for (int i = 0; i < rocks->slow_count; i++) {
        pthread_join(rocks->slow_threads[i], NULL);
    }
    work_queue_close(&rocks->sweeps);
    if (rocks->sweeper_started) {
        if (rocks->db != NULL) {
            rocksdb_disable_manual_compaction(rocks->db);
        }
        pthread_join(rocks->sweeper, NULL);
    }
    mem_free(rocks->workers);
    mem_free(rocks->slow_threads);
}

static bool flush(rocksdb_t *db)
{
    rocksdb_flushoptions_t *options = rocksdb_flushoptions_create();
    char *message = NULL;
    rocksdb_flush(db, options, &message);
    rocksdb_flushoptions_destroy(options);
    return !rocks_failed(message, "flush");
}

/* What is only in the journal is read again at the next start: much of it is better written to a
 * table now. */
static void store_much(struct rocks *rocks)
{
    if (rocks->db != NULL && rocks->env == NULL && !rocks->health.broken &&
        rocks_number(rocks->db, "rocksdb.cur-size-all-mem-tables") > replayed_bytes_max &&
        flush(rocks->db)) {
        rocks_shorten_journal(rocks);
    }
}

static void rocks_close(struct store *store)
{
    struct rocks *rocks = rocks_of(store);
    stop_threads(rocks);
    store_much(rocks);
    rocks_close_database(rocks);
    rocks_options_destroy(rocks);
    if (rocks->env != NULL) {
        rocksdb_env_destroy(rocks->env);
    }
    journal_destroy(rocks->journal);
    mem_free(rocks->drops);
    space_set_finish(&rocks->purged);
    space_set_finish(&rocks->gone);
    rocks_group_destroy(rocks->group);
    pthread_mutex_destroy(&rocks->turn);
    inbox_finish(&rocks->updates);
    work_queue_finish(&rocks->sweeps);
    work_queue_finish(&rocks->slow);
    work_queue_finish(&rocks->reads);
    gate_finish(&rocks->gate);
    mem_free(rocks->path);
    mem_free(rocks);
}

static const struct store_ops rocks_ops = {
    .close = rocks_close,
    .get = rocks_get,
    .range = rocks_range,
    .update = rocks_update,
    .drop_space = rocks_drop_space,
};

static struct rocks *create(struct str directory, size_t cache_bytes)
{
    struct rocks *rocks = mem_zalloc(sizeof(*rocks));
    rocks->store.ops = &rocks_ops;
    bool in_memory = str_is_null(directory);
    struct str path = in_memory ? STR("/memory") : directory;
    rocks->path = mem_alloc(path.len + 1);
    memcpy(rocks->path, path.data, path.len);
    rocks->path[path.len] = '\0';
    gate_init(&rocks->gate);
    work_queue_init(&rocks->reads);
    work_queue_init(&rocks->slow);
    work_queue_init(&rocks->sweeps);
    inbox_init(&rocks->updates);
    pthread_mutex_init(&rocks->turn, NULL);
    rocks->group = rocks_group_create(rocks);
    space_set_init(&rocks->gone);
    space_set_init(&rocks->purged);
    rocks->env = in_memory ? rocksdb_create_mem_env() : NULL;
    rocks_options_create(rocks, cache_bytes);
    return rocks;
}

/* A new directory must be there after a crash as well; RocksDB looks only after what is in it. */
static void make_directory(const struct rocks *rocks)
{
    if (rocks->env != NULL || mkdir(rocks->path, 0755) != 0) {
        return; /* it is there, or RocksDB will say why it cannot be */
    }
    char *copy = mem_strdup(rocks->path);
    directory_sync(dirname(copy));
    mem_free(copy);
}

static void count_file(void *context, const char *name)
{
    (void)name;
    ++*(size_t *)context;
}

/* RocksDB begins a log at every start and deletes the old ones when it writes a table, for which
 * there must be something to write. */
static void tidy_up(struct rocks *rocks)
{
    size_t count = 0;
    if (rocks->env != NULL || !directory_each(rocks->path, ".log", count_file, &count) ||
        count <= LOGS_MAX) {
        return;
    }
    char *message = NULL;
    put_format(rocks, rocks->write_unlogged, &message);
    if (!rocks_failed(message, "write") && flush(rocks->db)) {
        rocks_shorten_journal(rocks);
    }
}

bool rocks_open(struct str directory, const struct store_options *options, struct store **out,
                struct err *err)
{
    struct rocks *rocks = create(directory, options->cache_bytes);
    make_directory(rocks);
    bool good = rocks_open_database(rocks, err) && rocks_load_stamp(rocks, err) &&
                rocks_load_drops(rocks, err);
    if (good) {
        tidy_up(rocks);
    }
    if (!good || !start_threads(rocks, options->worker_count, err)) {
        rocks_close(&rocks->store);
        return false;
    }
    *out = &rocks->store;
    return true;
}

bool rocks_flush(struct store *store)
{
    struct rocks *rocks = rocks_of(store);
    rocksdb_t *db = gate_enter(&rocks->gate);
    if (db == NULL) {
        return false;
    }
    bool good = flush(db);
    gate_leave(&rocks->gate);
    return good;
}

static uint64_t number_of_store(struct store *store, const char *property)
{
    struct rocks *rocks = rocks_of(store);
    uint64_t number = 0;
    rocksdb_t *db = gate_enter(&rocks->gate);
    if (db != NULL) {
        number = rocks_number(db, property);
        gate_leave(&rocks->gate);
    }
    return number;
}

uint64_t rocks_file_bytes(struct store *store)
{
    return number_of_store(store, "rocksdb.total-sst-files-size");
}

uint64_t rocks_newest_files(struct store *store)
{
    return number_of_store(store, ROCKS_NEWEST_FILES);
}
