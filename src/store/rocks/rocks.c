/* Helpers that all files of this folder use: messages of RocksDB, properties, keys of space 0; and
 * the functions that tests call. Any thread. */
#include "store/rocks/rocks.h"

#include <stdlib.h>

#include "base/log.h"
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

bool rocks_flush_memtable(rocksdb_t *db)
{
    rocksdb_flushoptions_t *options = rocksdb_flushoptions_create();
    char *message = NULL;
    rocksdb_flush(db, options, &message);
    rocksdb_flushoptions_destroy(options);
    return !rocks_failed(message, "flush");
}

bool rocks_flush(struct store *store)
{
    struct rocks *rocks = rocks_of(store);
    rocksdb_t *db = gate_enter(&rocks->gate);
    if (db == NULL) {
        return false;
    }
    bool good = rocks_flush_memtable(db);
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

uint64_t rocks_reopen_count(struct store *store)
{
    struct rocks *rocks = rocks_of(store);
    pthread_mutex_lock(&rocks->turn);
    uint64_t count = rocks->health.reopen_count;
    pthread_mutex_unlock(&rocks->turn);
    return count;
}

uint32_t rocks_format(struct store *store)
{
    struct rocks *rocks = rocks_of(store);
    pthread_mutex_lock(&rocks->turn);
    uint32_t format = rocks->identity.format;
    pthread_mutex_unlock(&rocks->turn);
    return format;
}

size_t rocks_quarantine_count(struct store *store)
{
    struct rocks *rocks = rocks_of(store);
    pthread_mutex_lock(&rocks->turn);
    size_t count = rocks->quarantine.block_count;
    pthread_mutex_unlock(&rocks->turn);
    return count;
}

void rocks_compact_all(struct store *store)
{
    struct rocks *rocks = rocks_of(store);
    rocksdb_t *db = gate_enter(&rocks->gate);
    if (db != NULL) {
        rocksdb_compact_range(db, NULL, 0, NULL, 0);
        gate_leave(&rocks->gate);
    }
}
