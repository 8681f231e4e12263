/* How RocksDB is set up, and why. Measure with tests/store/store_bench.c before and after a change:
 * what made no difference there was left at its default (memtables for many writers, pipelined
 * writes, fsync instead of fdatasync). */
#include <sys/resource.h>
#include <unistd.h>

#include "store/rocks/rocks_internal.h"

static const size_t memtable_bytes = (size_t)64 << 20;

/* Some options have no function in the C interface. */
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

/* RocksDB keeps that many table files open; half of what the process may is enough for us. */
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
    /* RocksDB's own log stays empty; the store says what matters through base/log.h. */
    rocksdb_options_set_info_log_level(options, 4);
    rocksdb_options_set_keep_log_file_num(options, 1);
    rocksdb_options_set_stats_dump_period_sec(options, 0);
    rocksdb_options_set_stats_persist_period_sec(options, 0);
    rocksdb_options_set_skip_stats_update_on_db_open(options, 1);
    rocksdb_options_set_max_file_opening_threads(options, 2); /* else 16 are started */
    rocksdb_options_set_max_open_files(options, open_files_max());
    rocksdb_options_set_manifest_preallocation_size(options, (size_t)64 << 10);
    /* Each change of the tables writes a new manifest, synced before CURRENT names it. To append to
     * one would write again to a sector that holds older entries, and a power cut could leave
     * garbage there, which RocksDB refuses. It costs about 100 bytes per table for each flush or
     * merge. */
    rocksdb_options_set_max_manifest_file_size(options, 0);
}

static void set_writing(rocksdb_options_t *options)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    rocksdb_options_set_write_buffer_size(options, memtable_bytes);
    rocksdb_options_set_max_background_jobs(options, (int)MAX(2, MIN(6, cores / 2)));
    /* Files are written back as they grow, so that their fsync does not hold up the log's. */
    rocksdb_options_set_bytes_per_sync(options, (uint64_t)1 << 20);
    /* Merging into the levels below goes over much of what is there, so it is done with much at
     * once; what is to be merged again is not compressed. To wait for more files saves more of a
     * write, but ranges then pass over all the older versions in them. */
    rocksdb_options_set_level0_file_num_compaction_trigger(options, NEWEST_FILES);
    rocksdb_options_set_max_bytes_for_level_base(options, (uint64_t)256 << 20);
    rocksdb_options_set_level_compaction_dynamic_level_bytes(options, 1);
    rocksdb_options_set_compression(options, rocksdb_no_compression);
    rocksdb_options_set_bottommost_compression(options, rocksdb_lz4_compression);
    /* Most reads, and each put of a new item, look for a key that the memtable has not. */
    rocksdb_options_set_memtable_prefix_bloom_size_ratio(options, 0.03);
    rocksdb_options_set_memtable_whole_key_filtering(options, 1);
}

static void set_tables(struct rocks *rocks, rocksdb_options_t *options, size_t cache_bytes)
{
    rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();
    rocks->cache = rocksdb_cache_create_lru(cache_bytes);
    rocksdb_block_based_options_set_block_cache(table, rocks->cache);
    rocksdb_block_based_options_set_block_size(table, (size_t)8 << 10);
    rocksdb_block_based_options_set_format_version(table, 5);
    rocksdb_block_based_options_set_filter_policy(table,
                                                  rocksdb_filterpolicy_create_bloom_full(10));
    /* The filters know whole keys and parts: see set_order() in range.c. */
    rocksdb_options_set_prefix_extractor(
        options, rocksdb_slicetransform_create_fixed_prefix(STORE_PREFIX_LEN));
    /* Filters and indexes stay in memory, outside the cache: for small items about 1.6 bytes per
     * row. In the cache each look-up would cost two searches more, which is most of what a read
     * costs in a big table. The hash in each data block saves the search inside it. */
    rocksdb_block_based_options_set_cache_index_and_filter_blocks(table, 0);
    /* What a search in a big index costs is waiting for memory, not comparing: of eight neighbours
     * one is found by halving and the others, stored as differences, lie beside it. The
     * index is much smaller, so that more of it stays in the processor's caches. */
    rocksdb_block_based_options_set_index_block_restart_interval(table, 8);
    rocksdb_block_based_options_set_data_block_index_type(
        table, rocksdb_block_based_table_data_block_index_type_binary_search_and_hash);
    rocksdb_block_based_options_set_data_block_hash_ratio(table, 0.75);
    rocksdb_options_set_block_based_table_factory(options, table);
    rocksdb_block_based_options_destroy(table);
}

/* Merging takes what the requests leave of the processors; writing memtables to tables does not,
 * because writers would have to wait for it. All databases of a process share these threads. */
static void lower_compactions(void)
{
    rocksdb_env_t *env = rocksdb_create_default_env();
    rocksdb_env_lower_thread_pool_cpu_priority(env);
    rocksdb_env_destroy(env);
}

rocksdb_readoptions_t *rocks_read_options_create(void)
{
    rocksdb_readoptions_t *options = rocksdb_readoptions_create();
    /* There are none: rows are deleted one by one, or a space at once by drop.c. */
    rocksdb_readoptions_set_ignore_range_deletions(options, 1);
    return options;
}

void rocks_options_create(struct rocks *rocks, size_t cache_bytes)
{
    /* What is only in memory is in our log as well: closing is quick, and possible when the disk is
     * full. */
    rocks->options = options_from_text("avoid_flush_during_shutdown=true");
    if (rocks->env != NULL) {
        rocksdb_options_set_env(rocks->options, rocks->env);
    } else {
        lower_compactions();
    }
    set_opening(rocks->options);
    set_writing(rocks->options);
    set_tables(rocks, rocks->options, cache_bytes);
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
