/* Creates a store in an empty directory: the database, an empty write-ahead log, and last the
 * identity, which makes the directory a store. An interrupted creation leaves the file STORE.new,
 * and is repeated at the next start. On the thread that opens the store. */
#include <errno.h>
#include <fcntl.h>

#include "base/bytes.h"
#include "store/rocks/database/database.h"
#include "store/rocks/open/open.h"

bool rocks_cannot_open(const struct rocks *rocks, struct err *err)
{
    return err_set(err, ERR_INTERNAL, "cannot open the store in %s: %s", rocks->path,
                   strerror(errno));
}

static void new_file_path(const struct rocks *rocks, struct buf *out)
{
    out->len = 0;
    buf_format(out, "%s/STORE.new", rocks->path);
}

/* Writes STORE.new: all other files in the directory belong to a store that is being created
 * and has no updates yet. */
static bool write_new_file(const struct rocks *rocks, struct err *err)
{
    struct buf path = {0};
    new_file_path(rocks, &path);
    int fd = rocks->files->open(rocks->files, path.data, O_CREAT | O_WRONLY);
    bool good = fd >= 0 && rocks->files->sync_directory(rocks->files, rocks->path) == 0;
    if (fd >= 0) {
        files_close(rocks->files, fd);
    }
    buf_finish(&path);
    return good || rocks_cannot_open(rocks, err);
}

void rocks_remove_new_file(const struct rocks *rocks)
{
    struct buf path = {0};
    new_file_path(rocks, &path);
    rocks->files->unlink(rocks->files, path.data);
    buf_finish(&path);
}

/* Whether the database has no row, but for one that an interrupted creation may have left. */
static bool is_empty(struct rocks *rocks)
{
    char key[STORE_PREFIX_LEN];
    rocks_own_key(key, "format");
    rocksdb_iterator_t *iter = rocksdb_create_iterator(rocks->db, rocks->read_blocking);
    rocksdb_iter_seek_to_first(iter);
    if (rocksdb_iter_valid(iter)) {
        size_t len;
        const char *first = rocksdb_iter_key(iter, &len);
        if (str_eq(str_make(first, len), str_make(key, sizeof(key)))) {
            rocksdb_iter_next(iter);
        }
    }
    char *message = NULL;
    rocksdb_iter_get_error(iter, &message);
    bool empty = !rocksdb_iter_valid(iter) && message == NULL;
    rocksdb_free(message);
    rocksdb_iter_destroy(iter);
    return empty;
}

/* Only servers that know format 3 read this row; they refuse the store. */
bool rocks_write_format_row(struct rocks *rocks, rocksdb_writeoptions_t *options, struct err *err)
{
    char key[STORE_PREFIX_LEN];
    rocks_own_key(key, "format");
    uint8_t row[FORMAT_ROW_LEN];
    put_u32_le(row, STORE_FORMAT);
    put_u64_le(row + 4, rocks->identity.seed);
    char *message = NULL;
    rocksdb_put(rocks->db, options, key, sizeof(key), (const char *)row, sizeof(row), &message);
    if (message != NULL) {
        err_set(err, ERR_INTERNAL, "cannot write to the store in %s: %s", rocks->path, message);
        rocksdb_free(message);
        return false;
    }
    return true;
}

bool rocks_write_identity(struct rocks *rocks, struct err *err)
{
    assert(rocks->db != NULL); /* a directory with an identity is a store, which has a database */
    assert(identity_format_is_readable(rocks->identity.format));
    struct wal_options options = rocks_wal_options(rocks);
    return wal_initialize(&options, err) &&
           identity_write(rocks->files, rocks->path, &rocks->identity, err);
}

bool rocks_create_store(struct rocks *rocks, struct err *err)
{
    assert(rocks->db == NULL);
    assert(rocks->wal == NULL);
    identity_make(&rocks->identity, rocks->seed_wanted);
    if (!write_new_file(rocks, err)) {
        return false;
    }
    rocksdb_options_set_create_if_missing(rocks->options, 1);
    bool good = rocks_open_rocksdb(rocks, err);
    rocksdb_options_set_create_if_missing(rocks->options, 0);
    if (good && !is_empty(rocks)) {
        good = err_set(err, ERR_INTERNAL, "%s holds a database that is not gramme's", rocks->path);
    }
    good = good && rocks_write_format_row(rocks, rocks->write_synced, err) &&
           rocks_write_identity(rocks, err);
    if (good) {
        rocks_remove_new_file(rocks);
    }
    return good;
}
