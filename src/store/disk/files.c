/* The operating system's calls behind struct files, and the loops around them that handle short and
 * interrupted calls. Called by the write-ahead log on the committing thread, and by the thread that
 * fills spare segments. */
#include "store/disk/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/mem.h"

static int system_open(const struct files *files, const char *path, int flags)
{
    (void)files;
    return open(path, flags | O_CLOEXEC, 0600);
}

static int system_close(const struct files *files, int fd)
{
    (void)files;
    return close(fd);
}

static ssize_t system_pread(const struct files *files, int fd, void *out, size_t len,
                            uint64_t offset)
{
    (void)files;
    return pread(fd, out, len, (off_t)offset);
}

static ssize_t system_pwritev(const struct files *files, int fd, const struct iovec *parts,
                              int count, uint64_t offset)
{
    (void)files;
    return pwritev(fd, parts, count, (off_t)offset);
}

static int system_sync(const struct files *files, int fd)
{
    (void)files;
    return fdatasync(fd);
}

static int64_t system_size(const struct files *files, int fd)
{
    (void)files;
    struct stat stat;
    return fstat(fd, &stat) == 0 ? (int64_t)stat.st_size : -1;
}

static int system_resize(const struct files *files, int fd, uint64_t size)
{
    (void)files;
    return ftruncate(fd, (off_t)size);
}

static int system_rename(const struct files *files, const char *from, const char *to)
{
    (void)files;
    return rename(from, to);
}

static int system_unlink(const struct files *files, const char *path)
{
    (void)files;
    return unlink(path);
}

static int system_sync_directory(const struct files *files, const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    int result = fsync(fd);
    files_close(files, fd);
    return result;
}

static int system_list(const struct files *files, const char *path, files_visit *visit,
                       void *context)
{
    (void)files;
    DIR *dir = opendir(path);
    if (dir == NULL) {
        return -1;
    }
    errno = 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            visit(context, entry->d_name);
        }
        errno = 0;
    }
    int error = errno;
    closedir(dir);
    errno = error;
    return error == 0 ? 0 : -1;
}

static int system_set_direct(const struct files *files, int fd, bool is_direct)
{
    (void)files;
    return fcntl(fd, F_SETFL, is_direct ? O_DIRECT : 0);
}

static void system_drop_cache(const struct files *files, int fd)
{
    (void)files;
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

static uint64_t system_free_bytes(const struct files *files, const char *path)
{
    (void)files;
    struct statvfs disk;
    return statvfs(path, &disk) == 0 ? (uint64_t)disk.f_bavail * disk.f_frsize : 0;
}

const struct files *files_system(void)
{
    static const struct files files = {
        .open = system_open,
        .close = system_close,
        .pread = system_pread,
        .pwritev = system_pwritev,
        .sync = system_sync,
        .size = system_size,
        .resize = system_resize,
        .rename = system_rename,
        .unlink = system_unlink,
        .sync_directory = system_sync_directory,
        .list = system_list,
        .set_direct = system_set_direct,
        .drop_cache = system_drop_cache,
        .free_bytes = system_free_bytes,
    };
    return &files;
}

bool files_write_all(const struct files *files, int fd, struct iovec *parts, int count,
                     uint64_t offset)
{
    while (count > 0) {
        ssize_t written = files->pwritev(files, fd, parts, count, offset);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            errno = written == 0 ? EIO : errno;
            return false;
        }
        offset += (uint64_t)written;
        size_t left = (size_t)written;
        for (; count > 0 && left >= parts->iov_len; parts++, count--) {
            left -= parts->iov_len;
        }
        if (count > 0) {
            parts->iov_base = (char *)parts->iov_base + left;
            parts->iov_len -= left;
        }
    }
    return true;
}

ssize_t files_read_all(const struct files *files, int fd, void *out, size_t len, uint64_t offset)
{
    size_t done = 0;
    while (done < len) {
        ssize_t got = files->pread(files, fd, (char *)out + done, len - done, offset + done);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return -1;
        }
        if (got == 0) {
            break;
        }
        done += (size_t)got;
    }
    return (ssize_t)done;
}

bool files_sync(const struct files *files, int fd)
{
    int result;
    do {
        result = files->sync(files, fd);
    } while (result != 0 && errno == EINTR);
    return result == 0;
}

bool files_make_directory(const struct files *files, const char *directory)
{
    if (mkdir(directory, 0700) != 0) {
        return errno == EEXIST;
    }
    char *copy = mem_strdup(directory);
    bool good = files->sync_directory(files, dirname(copy)) == 0;
    mem_free(copy);
    return good;
}

/* Returns the absolute path of a directory, or of the one that it would be created in; NULL: there
 * is none. Free it with free(). */
static char *resolve(const char *directory)
{
    char *resolved = realpath(directory, NULL);
    if (resolved == NULL) {
        char *copy = mem_strdup(directory);
        resolved = realpath(dirname(copy), NULL);
        mem_free(copy);
    }
    return resolved;
}

bool files_check_outside(const char *target, const char *store, struct err *err)
{
    char *inner = resolve(target);
    char *outer = realpath(store, NULL);
    size_t len = outer != NULL ? strlen(outer) : 0;
    bool is_inside = inner != NULL && outer != NULL && strncmp(inner, outer, len) == 0 &&
                     (inner[len] == '/' || inner[len] == '\0');
    free(inner);
    free(outer);
    return !is_inside ||
           err_set(err, ERR_INTERNAL, "%s is in the directory of the store, %s", target, store);
}

void files_close(const struct files *files, int fd)
{
    int error = errno;
    files->close(files, fd);
    errno = error;
}

bool files_read_file(const struct files *files, const char *path, struct buf *out)
{
    out->len = 0;
    int fd = files->open(files, path, 0 /* O_RDONLY */);
    if (fd < 0) {
        return false;
    }
    int64_t size = files->size(files, fd);
    ssize_t got = -1;
    if (size >= 0) {
        got = files_read_all(files, fd, buf_reserve(out, (size_t)size + 1), (size_t)size, 0);
    }
    files_close(files, fd);
    out->len = got > 0 ? (size_t)got : 0;
    return got >= 0;
}
