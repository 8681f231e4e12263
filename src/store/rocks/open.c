/* Opens and closes the database and the threads around it. */
#include "base/log.h"
#include "base/mem.h"
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

static void set_options(struct rocks *rocks, size_t cache_bytes)
{
    rocksdb_options_t *options = rocksdb_options_create();
    rocks->options = options;
    rocksdb_options_set_create_if_missing(options, 1);
    rocksdb_options_set_info_log_level(options, 4 /* fatal: RocksDB keeps a log of its own */);
    rocksdb_options_set_keep_log_file_num(options, 2);
    rocksdb_options_set_stats_dump_period_sec(options, 0);
    rocksdb_options_set_max_open_files(options, -1);
    rocksdb_options_set_write_buffer_size(options, (size_t)64 << 20);
    rocksdb_options_set_max_background_jobs(options, 2);
    rocksdb_options_set_level_compaction_dynamic_level_bytes(options, 1);
    rocksdb_options_set_compression(options, rocksdb_lz4_compression);
    rocksdb_options_set_bytes_per_sync(options, (uint64_t)1 << 20);
    rocksdb_options_set_prefix_extractor(
        options, rocksdb_slicetransform_create_fixed_prefix(STORE_PREFIX_LEN));

    rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();
    rocks->cache = rocksdb_cache_create_lru(cache_bytes);
    rocksdb_block_based_options_set_block_cache(table, rocks->cache);
    rocksdb_block_based_options_set_filter_policy(table,
                                                  rocksdb_filterpolicy_create_bloom_full(10));
    rocksdb_block_based_options_set_block_size(table, (size_t)8 << 10);
    rocksdb_block_based_options_set_format_version(table, 5);
    rocksdb_options_set_block_based_table_factory(options, table);
    rocksdb_block_based_options_destroy(table);

    rocks->read_blocking = rocksdb_readoptions_create();
    rocksdb_readoptions_set_total_order_seek(rocks->read_blocking, 1);
    rocks->read_cached = rocksdb_readoptions_create();
    rocksdb_readoptions_set_total_order_seek(rocks->read_cached, 1);
    rocksdb_readoptions_set_read_tier(rocks->read_cached, 1 /* block cache only */);
    rocks->write_synced = rocksdb_writeoptions_create();
    rocksdb_writeoptions_set_sync(rocks->write_synced, 1);
}

static bool start_workers(struct rocks *rocks, int count, struct err *err)
{
    rocks->workers = mem_zalloc((size_t)count * sizeof(*rocks->workers));
    for (; rocks->worker_count < count; rocks->worker_count++) {
        if (pthread_create(&rocks->workers[rocks->worker_count], NULL, rocks_worker_main, rocks) !=
            0) {
            return err_set(err, ERR_INTERNAL, "cannot start a thread");
        }
    }
    return true;
}

static void rocks_close(struct store *store)
{
    struct rocks *rocks = rocks_of(store);
    rocks_commit_stop(rocks);
    work_queue_close(&rocks->reads);
    for (int i = 0; i < rocks->worker_count; i++) {
        pthread_join(rocks->workers[i], NULL);
    }
    mem_free(rocks->workers);
    if (rocks->db != NULL) {
        rocksdb_close(rocks->db);
    }
    rocksdb_writeoptions_destroy(rocks->write_synced);
    rocksdb_readoptions_destroy(rocks->read_cached);
    rocksdb_readoptions_destroy(rocks->read_blocking);
    rocksdb_options_destroy(rocks->options);
    rocksdb_cache_destroy(rocks->cache);
    if (rocks->env != NULL) {
        rocksdb_env_destroy(rocks->env);
    }
    work_queue_finish(&rocks->updates);
    work_queue_finish(&rocks->reads);
    mem_free(rocks);
}

static const struct store_ops rocks_ops = {
    .close = rocks_close,
    .get = rocks_get,
    .range = rocks_range,
    .update = rocks_update,
    .drop_space = rocks_drop_space,
};

bool rocks_open(struct str directory, const struct store_options *options, struct store **out,
                struct err *err)
{
    struct rocks *rocks = mem_zalloc(sizeof(*rocks));
    rocks->store.ops = &rocks_ops;
    work_queue_init(&rocks->reads);
    work_queue_init(&rocks->updates);
    set_options(rocks, options->cache_bytes);
    if (str_is_null(directory)) {
        rocks->env = rocksdb_create_mem_env();
        rocksdb_options_set_env(rocks->options, rocks->env);
        directory = STR("/memory");
    }
    char *path = mem_alloc(directory.len + 1);
    memcpy(path, directory.data, directory.len);
    path[directory.len] = '\0';
    char *message = NULL;
    rocks->db = rocksdb_open(rocks->options, path, &message);
    if (message != NULL) {
        err_set(err, ERR_INTERNAL, "cannot open the store in %s: %s", path, message);
        rocksdb_free(message);
    }
    mem_free(path);
    if (rocks->db == NULL || !rocks_commit_start(rocks, err) ||
        !start_workers(rocks, options->worker_count, err)) {
        rocks_close(&rocks->store);
        return false;
    }
    *out = &rocks->store;
    return true;
}
