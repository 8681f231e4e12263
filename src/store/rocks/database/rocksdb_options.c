/* The options of RocksDB, and the reasons. Called when a store is opened. Measure a change with
 * tests/store/store_bench.c: options that made no difference there have their defaults (concurrent
 * memtable writes, pipelined writes, fsync instead of fdatasync). */
#include <sys/resource.h>
#include <unistd.h>

#include "store/rocks/database/database.h"
#include "store/rocks/reads/reads.h"

static const size_t memsst_bytes = (size_t)64 << 20;

/* For options that have no function in the C interface. */
static rocksdb_options_t *options_from_text(const char *text)
{
    rocksdb_options_t *defaults = rocksdb_options_create();
    rocksdb_options_t *options = rocksdb_options_create();
    char *message = NULL;
    rocksdb_get_options_from_string(defaults, text, options, &message);
    assert(message == NULL);
    rocksdb_options_destroy(defaults);
    return options;
}

/* Number of SST files that RocksDB keeps open: half of the limit of the process. */
static int open_files_max(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > 20000) {
        return 10000;
    }
    return MAX((int)limit.rlim_cur / 2, 64);
}

static void set_opening(rocksdb_options_t *options)
{
    /* RocksDB's file of messages stays empty; the store logs its own. */
    rocksdb_options_set_info_log_level(options, 4);
    rocksdb_options_set_keep_log_file_num(options, 1);
    rocksdb_options_set_stats_dump_period_sec(options, 0);
    rocksdb_options_set_stats_persist_period_sec(options, 0);
    rocksdb_options_set_skip_stats_update_on_db_open(options, 1);
    rocksdb_options_set_max_file_opening_threads(options, 2); /* the default is 16 */
    rocksdb_options_set_max_open_files(options, open_files_max());
    rocksdb_options_set_manifest_preallocation_size(options, (size_t)64 << 10);
    /* Each change of the SST files writes a new manifest, synced before CURRENT names it. Appending
     * to a manifest would rewrite a sector with older entries, and a power failure could damage it,
     * so that RocksDB refuses the database. This costs about 100 bytes per SST file for each flush
     * or compaction. */
    rocksdb_options_set_max_manifest_file_size(options, 0);
}

static void set_writing(rocksdb_options_t *options)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    rocksdb_options_set_write_buffer_size(options, memsst_bytes);
    rocksdb_options_set_max_background_jobs(options, (int)MAX(2, MIN(6, cores / 2)));
    /* SST files are written back while they grow, so that their fsync does not delay that of the
     * WAL.
     */
    rocksdb_options_set_bytes_per_sync(options, (uint64_t)1 << 20);
    /* A compaction into level 1 rewrites much of that level, so it takes several files at once;
     * levels that are soon merged again are not compressed. Waiting for more files would write
     * less, but ranges would read more old versions of rows. */
    rocksdb_options_set_level0_file_num_compaction_trigger(options, NEWEST_FILES);
    rocksdb_options_set_max_bytes_for_level_base(options, (uint64_t)256 << 20);
    rocksdb_options_set_level_compaction_dynamic_level_bytes(options, 1);
    rocksdb_options_set_compression(options, rocksdb_no_compression);
    rocksdb_options_set_bottommost_compression(options, rocksdb_lz4_compression);
    /* A Bloom filter of the memtable: most reads, and each put of a new item, look up a key that is
     * not in it. */
    rocksdb_options_set_memtable_prefix_bloom_size_ratio(options, 0.03);
    rocksdb_options_set_memtable_whole_key_filtering(options, 1);
}

static void set_sst_format(struct rocks *rocks, rocksdb_options_t *options, size_t cache_bytes)
{
    rocksdb_block_based_table_options_t *sst = rocksdb_block_based_options_create();
    rocks->cache = rocksdb_cache_create_lru(cache_bytes);
    rocksdb_block_based_options_set_block_cache(sst, rocks->cache);
    rocksdb_block_based_options_set_block_size(sst, (size_t)8 << 10);
    rocksdb_block_based_options_set_format_version(sst, 5);
    rocksdb_block_based_options_set_filter_policy(sst, rocksdb_filterpolicy_create_bloom_full(10));
    /* Filters contain whole keys and prefixes (space and part): see set_order() in range_reader.c.
     */
    rocksdb_options_set_prefix_extractor(
        options, rocksdb_slicetransform_create_fixed_prefix(STORE_PREFIX_LEN));
    /* Filters and indexes stay in memory, outside the block cache: about 1.6 bytes per row for
     * small items. In the cache each read would need two more look-ups, which is most of the cost
     * of a read from a big table. The hash index of each data block replaces the binary search in
     * it. */
    rocksdb_block_based_options_set_cache_index_and_filter_blocks(sst, 0);
    /* Restart interval 8: a binary search finds the interval, then up to 8 delta-encoded keys are
     * compared one by one. The index is much smaller, so that more of it fits into the processor's
     * caches; cache misses dominate the cost of a search in a big index. */
    rocksdb_block_based_options_set_index_block_restart_interval(sst, 8);
    rocksdb_block_based_options_set_data_block_index_type(
        sst, rocksdb_block_based_table_data_block_index_type_binary_search_and_hash);
    rocksdb_block_based_options_set_data_block_hash_ratio(sst, 0.75);
    rocksdb_options_set_block_based_table_factory(options, sst);
    rocksdb_block_based_options_destroy(sst);
}

/* Gives compaction threads a low priority, so that requests come first. Flush threads keep theirs,
 * because writers would have to wait for them. All databases of the process share these threads. */
static void lower_compactions(void)
{
    rocksdb_env_t *env = rocksdb_create_default_env();
    rocksdb_env_lower_thread_pool_cpu_priority(env);
    rocksdb_env_destroy(env);
}

void rocks_options_create(struct rocks *rocks, size_t cache_bytes)
{
    /* The memtable need not be flushed at the end, because our WAL holds it: closing is quick, and
     * works when the disk is full. */
    rocks->options = options_from_text("avoid_flush_during_shutdown=true");
    if (rocks->env != NULL) {
        rocksdb_options_set_env(rocks->options, rocks->env);
    } else {
        lower_compactions();
    }
    set_opening(rocks->options);
    set_writing(rocks->options);
    set_sst_format(rocks, rocks->options, cache_bytes);
    rocks->drop_filter = rocks_drop_filter_create(rocks);
    rocksdb_options_set_compaction_filter(rocks->options, rocks->drop_filter);

    rocks->read_blocking = rocks_read_options_create();
    rocksdb_readoptions_set_total_order_seek(rocks->read_blocking, 1);
    rocks->read_cached = rocks_read_options_create();
    rocksdb_readoptions_set_total_order_seek(rocks->read_cached, 1);
    rocksdb_readoptions_set_read_tier(rocks->read_cached, 1 /* block cache only */);
    rocks->read_stored = rocks_read_options_create();
    rocksdb_readoptions_set_read_tier(rocks->read_stored, 2 /* no memtables */);
    rocks->write_synced = rocksdb_writeoptions_create();
    rocksdb_writeoptions_set_sync(rocks->write_synced, 1);
    rocks->write_unlogged = rocksdb_writeoptions_create();
    rocksdb_writeoptions_disable_WAL(rocks->write_unlogged, 1);
}

void rocks_options_destroy(struct rocks *rocks)
{
    rocksdb_writeoptions_destroy(rocks->write_unlogged);
    rocksdb_writeoptions_destroy(rocks->write_synced);
    rocksdb_readoptions_destroy(rocks->read_stored);
    rocksdb_readoptions_destroy(rocks->read_cached);
    rocksdb_readoptions_destroy(rocks->read_blocking);
    rocksdb_options_destroy(rocks->options);
    rocksdb_compactionfilter_destroy(rocks->drop_filter);
    rocksdb_cache_destroy(rocks->cache);
}
