/* Replaces bad blocks of an SST file: see sst_rewrite.h. Called with the turn to commit, while the
 * database is closed. */
#include "store/image/sst_rewrite.h"

#include <errno.h>
#include <fcntl.h>

#include "store/image/sst_block.h"

/* The copy while it is being written. The next rewrite truncates what a crash has left. */
static const char copy_name[] = "quarantine.tmp";
static const size_t piece_bytes = (size_t)1 << 20;

static bool io_failed(const char *path, struct err *err)
{
    return err_set(err, ERR_INTERNAL, "%s: %s", path, strerror(errno));
}

static void sst_path(const struct sst_rewrite *rewrite, struct buf *out)
{
    buf_format(out, "%s/%06llu.sst", rewrite->directory, (unsigned long long)rewrite->number);
}

static bool write_at(const struct files *files, int fd, struct str bytes, uint64_t offset)
{
    struct iovec part = {(void *)bytes.data, bytes.len};
    return files_write_all(files, fd, &part, 1, offset);
}

/* Saving --------------------------------------------------------------------------------------- */

static bool save_bytes(const struct sst_rewrite *rewrite, uint64_t offset, struct str bytes,
                       struct err *err)
{
    const struct files *files = rewrite->files;
    struct buf path = {0};
    buf_format(&path, "%s/quarantine-%06llu-%llu.block", rewrite->directory,
               (unsigned long long)rewrite->number, (unsigned long long)offset);
    int fd = files->open(files, path.data, O_CREAT | O_TRUNC | O_WRONLY);
    bool good = fd >= 0 && write_at(files, fd, bytes, 0) && files_sync(files, fd);
    good = good || io_failed(path.data, err);
    if (fd >= 0) {
        files_close(files, fd);
    }
    buf_finish(&path);
    return good;
}

bool sst_save_blocks(const struct sst_rewrite *rewrite, struct err *err)
{
    const struct files *files = rewrite->files;
    struct buf path = {0};
    struct buf bytes = {0};
    sst_path(rewrite, &path);
    int fd = files->open(files, path.data, O_RDONLY);
    bool good = fd >= 0 || io_failed(path.data, err);
    for (size_t i = 0; i < rewrite->count && good; i++) {
        size_t len = (size_t)rewrite->blocks[i].size + BLOCK_TRAILER_LEN;
        bytes.len = 0;
        ssize_t got =
            files_read_all(files, fd, buf_reserve(&bytes, len), len, rewrite->blocks[i].offset);
        if (got > 0) {
            good = save_bytes(rewrite, rewrite->blocks[i].offset, str_make(bytes.data, (size_t)got),
                              err);
        }
    }
    if (fd >= 0) {
        files_close(files, fd);
    }
    buf_finish(&path);
    buf_finish(&bytes);
    return good;
}

/* Replacing ------------------------------------------------------------------------------------ */

/* Both files while the copy is written. */
struct copying {
    const struct files *files;
    int from;
    int to;
    struct buf room;
};

static bool copy_bytes(struct copying *copying, uint64_t from, uint64_t until)
{
    while (from < until) {
        size_t len = (size_t)MIN(until - from, (uint64_t)piece_bytes);
        copying->room.len = 0;
        char *bytes = buf_reserve(&copying->room, len);
        ssize_t got = files_read_all(copying->files, copying->from, bytes, len, from);
        if (got != (ssize_t)len) {
            errno = got >= 0 ? EIO : errno;
            return false;
        }
        if (!write_at(copying->files, copying->to, str_make(bytes, len), from)) {
            return false;
        }
        from += len;
    }
    return true;
}

static bool write_copy(const struct sst_rewrite *rewrite, struct copying *copying)
{
    uint64_t at = 0;
    for (size_t i = 0; i < rewrite->count; i++) {
        const struct sst_bad_block *block = &rewrite->blocks[i];
        assert(block->offset >= at);
        if (!copy_bytes(copying, at, block->offset)) {
            return false;
        }
        struct str bytes = block->corrected;
        if (str_is_null(bytes)) {
            if (!block_make_filler(&copying->room, block->size, rewrite->checksum_type,
                                   block->last)) {
                errno = EINVAL;
                return false;
            }
            bytes = buf_str(&copying->room);
        }
        assert(bytes.len == block->size + BLOCK_TRAILER_LEN);
        if (!write_at(copying->files, copying->to, bytes, block->offset)) {
            return false;
        }
        at = block->offset + bytes.len;
    }
    const struct files *files = copying->files;
    int64_t size = files->size(files, copying->from);
    return size >= 0 && copy_bytes(copying, at, (uint64_t)size) &&
           files->size(files, copying->to) == size && /* RocksDB's manifest names it */
           files_sync(files, copying->to);
}

static bool make_copy(const struct sst_rewrite *rewrite, const char *from, const char *to,
                      struct err *err)
{
    const struct files *files = rewrite->files;
    struct copying copying = {.files = files, .from = files->open(files, from, O_RDONLY), .to = -1};
    bool good = copying.from >= 0 || io_failed(from, err);
    if (good) {
        copying.to = files->open(files, to, O_CREAT | O_TRUNC | O_WRONLY);
        good = (copying.to >= 0 && write_copy(rewrite, &copying)) || io_failed(to, err);
        files_close(files, copying.from);
    }
    if (copying.to >= 0) {
        files_close(files, copying.to);
    }
    buf_finish(&copying.room);
    return good;
}

bool sst_replace_blocks(const struct sst_rewrite *rewrite, struct err *err)
{
    const struct files *files = rewrite->files;
    struct buf path = {0};
    struct buf copy = {0};
    sst_path(rewrite, &path);
    buf_format(&copy, "%s/%s", rewrite->directory, copy_name);
    bool good = make_copy(rewrite, path.data, copy.data, err);
    if (!good) {
        files->unlink(files, copy.data);
    }
    good = good && (files->rename(files, copy.data, path.data) == 0 || io_failed(path.data, err)) &&
           (files->sync_directory(files, rewrite->directory) == 0 ||
            io_failed(rewrite->directory, err));
    buf_finish(&path);
    buf_finish(&copy);
    return good;
}
