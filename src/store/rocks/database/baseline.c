/* Plain RocksDB with the options of the store: see baseline.h. Called by gramme-bench, on one
 * thread. */
#include "store/rocks/database/baseline.h"

#include "base/mem.h"
#include "store/rocks/database/database.h"

struct rocks_baseline {
    struct rocks rocks; /* only the fields that the options use */
    rocksdb_writebatch_t *batch;
};

static bool set_error(char *message, const char *doing, struct err *err)
{
    err_set(err, ERR_INTERNAL, "RocksDB cannot %s: %s", doing, message);
    rocksdb_free(message);
    return false;
}

bool rocks_baseline_open(const char *directory, size_t cache_bytes, struct rocks_baseline **out,
                         struct err *err)
{
    struct rocks_baseline *baseline = mem_zalloc(sizeof(*baseline));
    struct rocks *rocks = &baseline->rocks;
    rocksdb_set_perf_level(rocksdb_disable); /* as in the store's threads */
    space_set_init(&rocks->purged);
    rocks_options_create(rocks, cache_bytes);
    rocksdb_options_set_create_if_missing(rocks->options, 1);
    rocks->path = mem_strdup(directory);
    baseline->batch = rocksdb_writebatch_create();
    char *message = NULL;
    rocks->db = rocksdb_open(rocks->options, directory, &message);
    if (message != NULL) {
        rocks_baseline_destroy(baseline);
        return set_error(message, "open", err);
    }
    *out = baseline;
    return true;
}

void rocks_baseline_destroy(struct rocks_baseline *baseline)
{
    if (baseline == NULL) {
        return;
    }
    struct rocks *rocks = &baseline->rocks;
    if (rocks->db != NULL) {
        rocksdb_close(rocks->db);
    }
    char *message = NULL;
    rocksdb_destroy_db(rocks->options, rocks->path, &message);
    rocksdb_free(message); /* files that cannot be deleted are left */
    rocksdb_writebatch_destroy(baseline->batch);
    rocks_options_destroy(rocks);
    space_set_finish(&rocks->purged);
    mem_free(rocks->path);
    mem_free(baseline);
}

void rocks_baseline_put(struct rocks_baseline *baseline, struct str key, struct str value)
{
    rocksdb_writebatch_put(baseline->batch, key.data, key.len, value.data, value.len);
}

bool rocks_baseline_commit(struct rocks_baseline *baseline, struct err *err)
{
    char *message = NULL;
    rocksdb_write(baseline->rocks.db, baseline->rocks.write_synced, baseline->batch, &message);
    rocksdb_writebatch_clear(baseline->batch);
    return message == NULL || set_error(message, "write", err);
}
