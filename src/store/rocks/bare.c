#include "store/rocks/bare.h"

#include "base/mem.h"
#include "store/rocks/rocks_internal.h"

struct bare {
    struct rocks rocks; /* only what the options need */
    rocksdb_writebatch_t *batch;
};

static bool complain(char *message, const char *doing, struct err *err)
{
    err_set(err, ERR_INTERNAL, "RocksDB cannot %s: %s", doing, message);
    rocksdb_free(message);
    return false;
}

bool bare_open(const char *directory, size_t cache_bytes, struct bare **out, struct err *err)
{
    struct bare *bare = mem_zalloc(sizeof(*bare));
    struct rocks *rocks = &bare->rocks;
    rocksdb_set_perf_level(rocksdb_disable); /* as in the store's threads */
    space_set_init(&rocks->purged);
    rocks_options_create(rocks, cache_bytes);
    rocksdb_options_set_create_if_missing(rocks->options, 1);
    rocks->path = mem_strdup(directory);
    bare->batch = rocksdb_writebatch_create();
    char *message = NULL;
    rocks->db = rocksdb_open(rocks->options, directory, &message);
    if (message != NULL) {
        bare_destroy(bare);
        return complain(message, "open", err);
    }
    *out = bare;
    return true;
}

void bare_destroy(struct bare *bare)
{
    if (bare == NULL) {
        return;
    }
    struct rocks *rocks = &bare->rocks;
    if (rocks->db != NULL) {
        rocksdb_close(rocks->db);
    }
    char *message = NULL;
    rocksdb_destroy_db(rocks->options, rocks->path, &message);
    rocksdb_free(message); /* files may stay; whoever measures has other troubles then */
    rocksdb_writebatch_destroy(bare->batch);
    rocks_options_destroy(rocks);
    space_set_finish(&rocks->purged);
    mem_free(rocks->path);
    mem_free(bare);
}

void bare_put(struct bare *bare, struct str key, struct str value)
{
    rocksdb_writebatch_put(bare->batch, key.data, key.len, value.data, value.len);
}

bool bare_commit(struct bare *bare, struct err *err)
{
    char *message = NULL;
    rocksdb_write(bare->rocks.db, bare->rocks.write_synced, bare->batch, &message);
    rocksdb_writebatch_clear(bare->batch);
    return message == NULL || complain(message, "write", err);
}
