#include "store/rocks/wal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

void wal_init(struct wal *wal, const char *directory)
{
    *wal = (struct wal){.directory = directory, .fd = -1};
}

void wal_finish(struct wal *wal)
{
    if (wal->fd >= 0) {
        close(wal->fd);
    }
    wal->fd = -1;
}

/* 000123.log */
static bool parse_name(const char *name, uint64_t *out_number)
{
    char *end;
    *out_number = strtoull(name, &end, 10);
    return end != name && strcmp(end, ".log") == 0;
}

/* Calls `visit` with every log file, open for writing, until one fails; then errno says why. */
static bool each_log(const char *directory, bool (*visit)(void *context, uint64_t number, int fd),
                     void *context)
{
    DIR *dir = opendir(directory);
    if (dir == NULL) {
        return errno == ENOENT;
    }
    bool good = true;
    struct dirent *entry;
    while (good && (entry = readdir(dir)) != NULL) {
        uint64_t number;
        if (!parse_name(entry->d_name, &number)) {
            continue;
        }
        int fd = openat(dirfd(dir), entry->d_name, O_RDWR | O_CLOEXEC);
        if (fd < 0) {
            good = errno == ENOENT; /* RocksDB deletes those that it needs no more */
            continue;
        }
        good = visit(context, number, fd);
        int error = errno;
        close(fd);
        errno = error;
    }
    int error = errno;
    closedir(dir);
    errno = error;
    return good;
}

static bool sync_log(void *context, uint64_t number, int fd)
{
    (void)number;
    ++*(size_t *)context;
    return fsync(fd) == 0;
}

bool wal_sync_all(const char *directory, size_t *out_count, struct err *err)
{
    *out_count = 0;
    if (directory != NULL && !each_log(directory, sync_log, out_count)) {
        return err_set(err, ERR_INTERNAL, "cannot open the store in %s: %s", directory,
                       strerror(errno));
    }
    return true;
}

static bool get_size(int fd, uint64_t *out)
{
    struct stat stat;
    if (fstat(fd, &stat) != 0) {
        return false;
    }
    *out = (uint64_t)stat.st_size;
    return true;
}

static bool keep_newest(void *context, uint64_t number, int fd)
{
    struct wal *wal = context;
    if (wal->fd >= 0 && number < wal->number) {
        return true;
    }
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) {
        return false;
    }
    wal_finish(wal);
    wal->fd = copy;
    wal->number = number;
    return true;
}

/* Without one (no more file descriptors, say), we do not know where the acknowledged part ends: if
 * a write fails then, it ends as STORE_UNKNOWN. */
static void find_newest(struct wal *wal)
{
    struct wal found = {.fd = -1};
    wal_finish(wal);
    if (each_log(wal->directory, keep_newest, &found) && found.fd >= 0 &&
        get_size(found.fd, &wal->end)) {
        wal->fd = found.fd;
        wal->number = found.number;
    } else {
        wal_finish(&found);
    }
}

void wal_opened(struct wal *wal)
{
    if (wal->directory != NULL) {
        find_newest(wal);
    }
}

void wal_committed(struct wal *wal)
{
    if (wal->directory == NULL) {
        return;
    }
    uint64_t size;
    if (wal->fd >= 0 && get_size(wal->fd, &size) && size > wal->end) {
        wal->end = size;
    } else {
        find_newest(wal); /* it did not grow: RocksDB has begun a new one */
    }
}

static bool cut_log(void *context, uint64_t number, int fd)
{
    const struct wal *wal = context;
    if (number < wal->number) {
        return true; /* full and done with */
    }
    uint64_t end = number == wal->number ? wal->end : 0;
    uint64_t size;
    return get_size(fd, &size) &&
           (size <= end || (ftruncate(fd, (off_t)end) == 0 && fsync(fd) == 0));
}

bool wal_cut(struct wal *wal)
{
    return wal->directory == NULL || (wal->fd >= 0 && each_log(wal->directory, cut_log, wal));
}
