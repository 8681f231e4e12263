/* The reserve of disk space: see reserve.h. The committer releases it, the sweeper creates it
 * again.
 */
#include "store/disk/reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "store/batch_internal.h"

static const uint64_t bytes_min = (uint64_t)16 << 20;
/* Free space that must be left besides the reserve before it is created again, so that it is not
 * released again at once. */
static const uint64_t margin_bytes = (uint64_t)16 << 20;
enum { SMALL_ROW_LEN = 64 };

void reserve_init(struct reserve *reserve)
{
    *reserve = (struct reserve){0};
    pthread_mutex_init(&reserve->mutex, NULL);
}

void reserve_finish(struct reserve *reserve)
{
    pthread_mutex_destroy(&reserve->mutex);
}

static void path_of(const struct reserve *reserve, struct buf *out)
{
    buf_format(out, "%s/reserve", reserve->directory);
}

static uint64_t free_bytes(const struct reserve *reserve)
{
    struct statvfs disk;
    return statvfs(reserve->directory, &disk) == 0 ? (uint64_t)disk.f_bavail * disk.f_frsize : 0;
}

/* Creates or enlarges the file to wanted_bytes. False: there is no space. */
static bool make_file(struct reserve *reserve)
{
    struct buf path = {0};
    path_of(reserve, &path);
    int fd = open(path.data, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    bool good = fd >= 0 && posix_fallocate(fd, 0, (off_t)reserve->wanted_bytes) == 0;
    if (fd >= 0) {
        close(fd);
    }
    if (fd >= 0 && !good) {
        unlink(path.data);
    }
    buf_finish(&path);
    reserve->held_bytes = good ? reserve->wanted_bytes : 0;
    return good;
}

static void delete_file(struct reserve *reserve)
{
    struct buf path = {0};
    path_of(reserve, &path);
    unlink(path.data);
    buf_finish(&path);
    reserve->held_bytes = 0;
}

/* Returns the size of the file on disk, which may be that of an earlier process. */
static uint64_t file_bytes(const struct reserve *reserve)
{
    struct buf path = {0};
    struct stat file;
    path_of(reserve, &path);
    uint64_t bytes = stat(path.data, &file) == 0 ? (uint64_t)file.st_blocks * 512 : 0;
    buf_finish(&path);
    return bytes;
}

void reserve_open(struct reserve *reserve, const char *directory, uint64_t bytes_max)
{
    reserve->directory = directory;
    reserve->bytes_max = bytes_max;
    if (bytes_max == 0) {
        delete_file(reserve); /* an earlier process had another setting */
        reserve->directory = NULL;
        return;
    }
    reserve->held_bytes = file_bytes(reserve);
    reserve->wanted_bytes = MIN(MAX(reserve->held_bytes, bytes_min), bytes_max);
    if (!make_file(reserve)) {
        atomic_store(&reserve->is_released, true);
        log_write(
            LOG_WARN, "store",
            "there is no room for a reserve of %llu MiB (--reserve-mb) in %s: only deletes are "
            "accepted until there is",
            (unsigned long long)(reserve->wanted_bytes >> 20), directory);
    }
}

bool reserve_release(struct reserve *reserve)
{
    pthread_mutex_lock(&reserve->mutex);
    bool is_held = reserve->directory != NULL && reserve->held_bytes > 0;
    if (is_held) {
        uint64_t bytes = reserve->held_bytes;
        atomic_store(&reserve->is_released, true);
        delete_file(reserve);
        log_write(
            LOG_ERROR, "store",
            "the disk of %s is full: the reserve of %llu MiB is released, and only deletes are "
            "accepted until there is enough free space",
            reserve->directory, (unsigned long long)(bytes >> 20));
    }
    pthread_mutex_unlock(&reserve->mutex);
    return is_held;
}

static void restore(struct reserve *reserve)
{
    if (free_bytes(reserve) < reserve->wanted_bytes + margin_bytes || !make_file(reserve)) {
        return;
    }
    atomic_store(&reserve->is_released, false);
    log_write(LOG_INFO, "store",
              "free disk space is sufficient again in %s: all writes are accepted",
              reserve->directory);
}

/* Enlarges the file when the SST files have grown, if twice as much space is free. It never
 * shrinks.
 */
static void grow(struct reserve *reserve, uint64_t wanted_bytes)
{
    if (wanted_bytes < 2 * reserve->held_bytes ||
        free_bytes(reserve) < 2 * wanted_bytes + margin_bytes) {
        return;
    }
    reserve->wanted_bytes = wanted_bytes;
    if (!make_file(reserve)) { /* the space is gone: keeps the old size */
        reserve->wanted_bytes = wanted_bytes / 2;
        if (!make_file(reserve)) {
            atomic_store(&reserve->is_released, true);
        }
    }
}

void reserve_tend(struct reserve *reserve, uint64_t sst_bytes)
{
    if (reserve->directory == NULL) {
        return;
    }
    pthread_mutex_lock(&reserve->mutex);
    assert(reserve->held_bytes == 0 || !atomic_load(&reserve->is_released));
    if (reserve->held_bytes == 0) {
        restore(reserve);
    } else {
        grow(reserve, MIN(MAX(sst_bytes / 8, bytes_min), reserve->bytes_max));
    }
    pthread_mutex_unlock(&reserve->mutex);
}

/* Whether the batch writes more than marks and sizes. */
static bool writes_large_rows(const struct store_batch *batch)
{
    bool is_large = false;
    for (size_t i = 0; i < batch->op_count; i++) {
        const struct batch_op *op = &batch->ops[i];
        bool writes =
            op->kind == BATCH_PUT || op->kind == BATCH_PUT_OWNED || op->kind == BATCH_APPEND;
        is_large = is_large || (writes && op->value.len > SMALL_ROW_LEN);
    }
    return is_large;
}

bool reserve_accepts(const struct reserve *reserve, const struct store_update *update,
                     const struct store_batch *batch)
{
    switch (update->frees) {
    case STORE_FREES_SPACES:
        return true;
    case STORE_FREES_ROWS:
        return !writes_large_rows(batch) || free_bytes(reserve) >= reserve->wanted_bytes / 2;
    case STORE_FREES_NOTHING:
        break;
    }
    return batch->op_count == 0;
}
