/* Opens and closes the store: the database and the threads. Called on the thread of the caller.
 * inspect.c checks the directory before. */
#include "base/bytes.h"
#include "base/log.h"
#include "base/mem.h"
#include "store/rocks/background/background.h"
#include "store/rocks/commit/commit.h"
#include "store/rocks/database/database.h"
#include "store/rocks/faults/damage.h"
#include "store/rocks/faults/quarantine.h"
#include "store/rocks/open/open.h"
#include "store/rocks/reads/reads.h"
#include "store/rocks/rocks.h"

/* If RocksDB's WAL or ours has more files than this, they are removed by a flush at the start. */
enum { LOGS_MAX = 16 };
/* A larger memtable is flushed when the store is closed, so that the next start need not replay it.
 */
static const uint64_t replayed_bytes_max = 8 << 20;

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
    rocks->scrubber_started =
        rocks->scrub_bytes_per_second > 0 &&
        start(&rocks->scrubber, rocks_scrubber_main, rocks, "store-scrub", err);
    rocks->committer_started =
        rocks->sweeper_started &&
        start(&rocks->committer, rocks_committer_main, rocks, "store-commit", err);
    return rocks->committer_started;
}

/* Stops the threads in the order of their dependencies: the committer may wait for a worker or a
 * slow thread, and workers pass ranges to slow threads. */
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
    work_queue_close(&rocks->scrubs);
    if (rocks->scrubber_started) {
        pthread_join(rocks->scrubber, NULL);
    }
    if (rocks->sweeper_started) {
        if (rocks->db != NULL) {
            rocksdb_disable_manual_compaction(rocks->db);
        }
        pthread_join(rocks->sweeper, NULL);
    }
    mem_free(rocks->workers);
    mem_free(rocks->slow_threads);
}

/* Flushes a large memtable, because the next start would have to replay it. */
static void flush_at_end(struct rocks *rocks)
{
    if (rocks_number(rocks->db, "rocksdb.cur-size-all-mem-tables") > replayed_bytes_max &&
        rocks_flush_memtable(rocks->db)) {
        rocks_release_wal(rocks);
    }
}

/* Records the clean end and the state of the SST files in wal.state, so that the next open can
 * detect what is missing. */
static void close_cleanly(struct rocks *rocks)
{
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    struct wal_sst_state ssts = {0};
    bool good = rocks_read_stored(rocks, &ssts.stored, &err);
    rocks_close_database(rocks);
    assert(!good || ssts.stored < wal_next(rocks->wal)); /* the record after it is the next one */
    if (good && rocks_describe_manifest(rocks, &ssts, &err)) {
        wal_close_cleanly(rocks->wal, &ssts);
    } else {
        log_write(LOG_WARN, "store", "%.*s", STR_ARG(err.message));
    }
    arena_finish(&arena);
}

static void rocks_close(struct store *store)
{
    struct rocks *rocks = rocks_of(store);
    stop_threads(rocks);
    if (rocks->is_open && rocks->db != NULL && rocks->env == NULL && !rocks->health.broken) {
        flush_at_end(rocks);
        close_cleanly(rocks);
    }
    rocks_destroy(rocks);
}

void rocks_destroy(struct rocks *rocks)
{
    rocks_close_database(rocks);
    rocks_options_destroy(rocks);
    if (rocks->env != NULL) {
        rocksdb_env_destroy(rocks->env);
    }
    wal_destroy(rocks->wal);
    rocks_unlock(rocks);
    mem_free(rocks->drops);
    space_set_finish(&rocks->purged);
    space_set_finish(&rocks->gone);
    rocks_group_destroy(rocks->group);
    pthread_mutex_destroy(&rocks->turn);
    inbox_finish(&rocks->updates);
    work_queue_finish(&rocks->sweeps);
    work_queue_finish(&rocks->scrubs);
    damage_finish(&rocks->damage);
    quarantine_finish(&rocks->quarantine);
    reserve_finish(&rocks->reserve);
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
    .set_clock = rocks_set_clock,
    .drop_space = rocks_drop_space,
};

struct rocks *rocks_create(struct str directory, size_t cache_bytes)
{
    struct rocks *rocks = mem_zalloc(sizeof(*rocks));
    rocks->store.ops = &rocks_ops;
    rocks->files = files_system();
    rocks->lock_fd = -1;
    bool in_memory = str_is_null(directory);
    struct str path = in_memory ? STR("/memory") : directory;
    while (path.len > 1 && path.data[path.len - 1] == '/') {
        path.len--; /* messages name directories beside it */
    }
    rocks->path = mem_alloc(path.len + 1);
    memcpy(rocks->path, path.data, path.len);
    rocks->path[path.len] = '\0';
    gate_init(&rocks->gate);
    work_queue_init(&rocks->reads);
    work_queue_init(&rocks->slow);
    work_queue_init(&rocks->sweeps);
    work_queue_init(&rocks->scrubs);
    damage_init(&rocks->damage);
    quarantine_init(&rocks->quarantine);
    reserve_init(&rocks->reserve);
    inbox_init(&rocks->updates);
    pthread_mutex_init(&rocks->turn, NULL);
    rocks->group = rocks_group_create(rocks);
    space_set_init(&rocks->gone);
    space_set_init(&rocks->purged);
    rocks->env = in_memory ? rocksdb_create_mem_env() : NULL;
    rocks_options_create(rocks, cache_bytes);
    return rocks;
}

static void count_rocksdb_wal(void *context, const char *name)
{
    size_t len = strlen(name);
    *(size_t *)context += len > 4 && strcmp(name + len - 4, ".log") == 0;
}

/* RocksDB begins a WAL file at every start and deletes old ones only at a flush; our WAL begins a
 * segment at every start. After many starts with few writes a flush removes both. A flush needs a
 * row in the memtable, so the row "journal" is written again. */
static void clear_wal_files(struct rocks *rocks)
{
    size_t count = wal_segment_count(rocks->wal);
    if (rocks->files->list(rocks->files, rocks->path, count_rocksdb_wal, &count) != 0 ||
        count <= LOGS_MAX || wal_next(rocks->wal) == 1) {
        return;
    }
    char key[STORE_PREFIX_LEN];
    rocks_own_key(key, "journal");
    uint8_t row[8];
    put_u64_le(row, wal_next(rocks->wal) - 1);
    char *message = NULL;
    rocksdb_put(rocks->db, rocks->write_unlogged, key, sizeof(key), (const char *)row, sizeof(row),
                &message);
    if (!rocks_failed(message, "write") && rocks_flush_memtable(rocks->db)) {
        rocks_release_wal(rocks);
    }
}

static bool open_on_disk(struct rocks *rocks, struct err *err)
{
    if (!rocks_inspect(rocks, err) || !rocks_open_database(rocks, err)) {
        return false;
    }
    rocks_delete_old_wal(rocks);
    clear_wal_files(rocks);
    return true;
}

static bool open_in_memory(struct rocks *rocks, struct err *err)
{
    identity_make(&rocks->identity, rocks->seed_wanted);
    rocks->store.seed = rocks->identity.seed;
    rocksdb_options_set_create_if_missing(rocks->options, 1);
    return rocks_open_database(rocks, err);
}

bool rocks_open_memory(struct str rest, const struct store_options *options, struct store **out,
                       struct err *err)
{
    (void)rest;
    return rocks_open_directory(STR_NULL, options, out, err);
}

bool rocks_open_directory(struct str directory, const struct store_options *options,
                          struct store **out, struct err *err)
{
    struct rocks *rocks = rocks_create(directory, options->cache_bytes);
    rocks->store.directory = rocks->env == NULL ? rocks->path : NULL;
    rocks->seed_wanted = options->seed;
    rocks->scrub_bytes_per_second = rocks->env == NULL ? options->scrub_bytes_per_second : 0;
    rocks->scrub_wait_ns = options->scrub_wait_ms * 1000000;
    rocks->is_open = (rocks->env != NULL ? open_in_memory(rocks, err) : open_on_disk(rocks, err)) &&
                     rocks_load_numbers(rocks, err) && rocks_load_drops(rocks, err);
    if (rocks->is_open && rocks->env == NULL) {
        rocks_report_quarantine(rocks);
        reserve_open(&rocks->reserve, rocks->path, options->reserve_bytes);
    }
    if (!rocks->is_open || !start_threads(rocks, options->worker_count, err)) {
        rocks_close(&rocks->store);
        return false;
    }
    *out = &rocks->store;
    return true;
}
