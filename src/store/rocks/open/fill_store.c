/* Creates stores from rows or files: see fill_store.h. Called by `gramme repair` and `gramme
 * restore`, on their main thread. */
#include "store/rocks/open/fill_store.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "store/rocks/database/database.h"
#include "store/rocks/open/open.h"

static const size_t cache_bytes = (size_t)64 << 20;
static const size_t batch_bytes = (size_t)1 << 20;

struct rocks_fill {
    struct rocks *rocks;
    rocksdb_writebatch_t *batch;
    char *message; /* RocksDB's message of the first failure */
};

/* Claiming ------------------------------------------------------------------------------------- */

static void note_entry(void *context, const char *name)
{
    bool *is_used = context;
    *is_used = *is_used || (strcmp(name, "lost+found") != 0 && strcmp(name, "STORE.lock") != 0);
}

static bool cannot_use(const char *directory, struct err *err)
{
    return err_set(err, ERR_INTERNAL, "cannot make a store in %s: %s", directory, strerror(errno));
}

static bool take_lock(const char *directory, int *out_lock, struct err *err)
{
    struct buf path = {0};
    buf_format(&path, "%s/STORE.lock", directory);
    *out_lock = open(path.data, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    buf_finish(&path);
    if (*out_lock < 0) {
        return cannot_use(directory, err);
    }
    return flock(*out_lock, LOCK_EX | LOCK_NB) == 0 ||
           err_set(err, ERR_INTERNAL, "%s is in use by another process", directory);
}

static bool write_partial_file(const struct files *files, const char *directory, struct err *err)
{
    struct buf path = {0};
    buf_format(&path, "%s/" ROCKS_PARTIAL_NAME, directory);
    int fd = files->open(files, path.data, O_CREAT | O_WRONLY);
    bool good = fd >= 0 && files->sync_directory(files, directory) == 0;
    if (fd >= 0) {
        files_close(files, fd);
    }
    buf_finish(&path);
    return good || cannot_use(directory, err);
}

static bool is_free(const struct files *files, const char *directory, struct err *err)
{
    bool is_used = false;
    if (files->list(files, directory, note_entry, &is_used) != 0) {
        return cannot_use(directory, err);
    }
    return !is_used ||
           err_set(err, ERR_INTERNAL, "%s is not empty; nothing was changed", directory);
}

bool rocks_claim_directory(const char *directory, int *out_lock, struct err *err)
{
    const struct files *files = files_system();
    *out_lock = -1;
    if (!files_make_directory(files, directory)) {
        return cannot_use(directory, err);
    }
    if (!is_free(files, directory, err)) {
        return false;
    }
    /* Looks again with the lock: meanwhile another process may have made a store. */
    bool good = take_lock(directory, out_lock, err) && is_free(files, directory, err) &&
                write_partial_file(files, directory, err);
    if (!good && *out_lock >= 0) {
        close(*out_lock);
        *out_lock = -1;
    }
    return good;
}

static bool remove_partial_file(const struct files *files, const char *directory, struct err *err)
{
    struct buf path = {0};
    buf_format(&path, "%s/" ROCKS_PARTIAL_NAME, directory);
    bool good =
        files->unlink(files, path.data) == 0 && files->sync_directory(files, directory) == 0;
    buf_finish(&path);
    return good || cannot_use(directory, err);
}

bool rocks_adopt_sst_files(const char *directory, uint64_t seed, uint32_t format, struct err *err)
{
    struct wal_options options = {.files = files_system(), .directory = directory};
    struct identity identity;
    identity_make(&identity, 0);
    identity.seed = seed;
    identity.format = MAX(format, (uint32_t)STORE_FORMAT);
    memcpy(options.store_id, identity.id, STORE_ID_LEN);
    return wal_initialize(&options, err) &&
           identity_write(options.files, directory, &identity, err) &&
           remove_partial_file(options.files, directory, err);
}

/* Loading -------------------------------------------------------------------------------------- */

bool rocks_fill_begin(const char *directory, uint64_t seed, struct rocks_fill **out,
                      struct err *err)
{
    int lock;
    if (!rocks_claim_directory(directory, &lock, err)) {
        return false;
    }
    struct rocks_fill *fill = mem_zalloc(sizeof(*fill));
    fill->rocks = rocks_create(str_from_c(directory), cache_bytes);
    fill->rocks->lock_fd = lock;
    fill->rocks->identity = (struct identity){.format = STORE_FORMAT, .seed = seed};
    fill->batch = rocksdb_writebatch_create();
    rocksdb_options_set_create_if_missing(fill->rocks->options, 1);
    if (!rocks_open_rocksdb(fill->rocks, err) ||
        !rocks_write_format_row(fill->rocks, fill->rocks->write_unlogged, err)) {
        rocks_fill_abandon(fill);
        return false;
    }
    *out = fill;
    return true;
}

static void write_batch(struct rocks_fill *fill)
{
    if (fill->message == NULL) {
        rocksdb_write(fill->rocks->db, fill->rocks->write_unlogged, fill->batch, &fill->message);
    }
    rocksdb_writebatch_clear(fill->batch);
}

void rocks_fill_put(struct rocks_fill *fill, struct str key, struct str value)
{
    assert(fill->rocks->db != NULL);
    assert(key.len >= STORE_PREFIX_LEN);
    rocksdb_writebatch_put(fill->batch, key.data, key.len, value.data, value.len);
    size_t len;
    rocksdb_writebatch_data(fill->batch, &len);
    if (len >= batch_bytes) {
        write_batch(fill);
    }
}

static bool write_rest(struct rocks_fill *fill, uint64_t last_stamp, struct err *err)
{
    char key[STORE_PREFIX_LEN];
    rocks_own_key(key, "stamp");
    char row[8];
    put_u64_le(row, last_stamp);
    rocks_fill_put(fill, str_make(key, sizeof(key)), str_make(row, sizeof(row)));
    write_batch(fill);
    if (fill->message != NULL) {
        return err_set(err, ERR_INTERNAL, "cannot write to %s: %s", fill->rocks->path,
                       fill->message);
    }
    return rocks_flush_memtable(fill->rocks->db) ||
           err_set(err, ERR_INTERNAL, "cannot write SST files to %s", fill->rocks->path);
}

bool rocks_fill_finish(struct rocks_fill *fill, uint64_t last_stamp, struct err *err)
{
    bool good = write_rest(fill, last_stamp, err);
    rocks_close_database(fill->rocks);
    good = good &&
           rocks_adopt_sst_files(fill->rocks->path, fill->rocks->identity.seed, STORE_FORMAT, err);
    rocks_fill_abandon(fill);
    return good;
}

void rocks_fill_abandon(struct rocks_fill *fill)
{
    if (fill != NULL) {
        rocksdb_writebatch_destroy(fill->batch);
        rocksdb_free(fill->message);
        rocks_destroy(fill->rocks);
        mem_free(fill);
    }
}
