/* Replaces the functions of the C library that change files, and pread(): see disk_mirror.h. The
 * mirror is asked first; what it refuses does not reach the disk. */
#include "disk_mirror.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FDS_MAX = 1024 };

/* The mirror. The mutex protects all of it. */
static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP; /* `before` makes calls */
static struct sim_files *mirror; /* NULL: calls are not mirrored */
static char mirrored[100];       /* the directory */
static int sim_fds[FDS_MAX];     /* by descriptor: of the mirror + 1; 0: not mirrored */
static off_t positions[FDS_MAX];
static bool are_directories[FDS_MAX];
static bool are_inside[FDS_MAX]; /* files of the directory, also those that are only read */

static bool is_inside(const char *path)
{
    size_t len = strlen(mirrored);
    return mirror != NULL && strncmp(path, mirrored, len) == 0 && path[len] == '/';
}

/* Opens a file in the mirror, if it is one that may be changed. Returns the descriptor + 1 there;
 * 0: it is not mirrored; -1: it cannot be opened. */
static int open_in_mirror(const char *path, int flags)
{
    if (!is_inside(path) || (flags & O_ACCMODE) == O_RDONLY) {
        return 0;
    }
    int sim_fd = mirror->files.open(&mirror->files, path, flags & (O_CREAT | O_TRUNC));
    return sim_fd < 0 ? -1 : sim_fd + 1;
}

static int mirrored_open(const char *path, int flags, int mode)
{
    pthread_mutex_lock(&mutex);
    int sim_fd = open_in_mirror(path, flags);
    int fd = sim_fd >= 0 ? (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode) : -1;
    int error = errno;
    if (fd >= 0 && fd < FDS_MAX) {
        sim_fds[fd] = sim_fd;
        positions[fd] = 0;
        are_directories[fd] = mirror != NULL && strcmp(path, mirrored) == 0;
        are_inside[fd] = is_inside(path);
    } else if (sim_fd > 0) {
        mirror->files.close(&mirror->files, sim_fd - 1);
    }
    pthread_mutex_unlock(&mutex);
    errno = error;
    return fd;
}

int close(int fd)
{
    pthread_mutex_lock(&mutex);
    if (fd >= 0 && fd < FDS_MAX) {
        if (mirror != NULL && sim_fds[fd] > 0) {
            mirror->files.close(&mirror->files, sim_fds[fd] - 1);
        }
        sim_fds[fd] = 0;
        are_directories[fd] = false;
        are_inside[fd] = false;
    }
    int result = (int)syscall(SYS_close, fd);
    pthread_mutex_unlock(&mutex);
    return result;
}

/* The descriptor of the mirror; -1: not mirrored. With the mutex. */
static int sim_fd_of(int fd)
{
    return mirror != NULL && fd >= 0 && fd < FDS_MAX ? sim_fds[fd] - 1 : -1;
}

/* Writes to the mirror, and returns how many bytes are to be written to the file; -1: it fails. */
static ssize_t write_to_mirror(int fd, const struct iovec *parts, int count, off_t offset)
{
    int sim_fd = sim_fd_of(fd);
    if (sim_fd >= 0) {
        return mirror->files.pwritev(&mirror->files, sim_fd, parts, count, (uint64_t)offset);
    }
    ssize_t len = 0;
    for (int i = 0; i < count; i++) {
        len += (ssize_t)parts[i].iov_len;
    }
    return len;
}

ssize_t write(int fd, const void *data, size_t len)
{
    pthread_mutex_lock(&mutex);
    bool is_mirrored = sim_fd_of(fd) >= 0;
    struct iovec part = {(void *)data, len};
    ssize_t written = write_to_mirror(fd, &part, 1, is_mirrored ? positions[fd] : 0);
    if (written >= 0) {
        ssize_t wanted = written;
        written = syscall(SYS_write, fd, data, (size_t)wanted);
        assert(!is_mirrored || written == wanted);
    }
    if (is_mirrored && written > 0) {
        positions[fd] += written;
    }
    pthread_mutex_unlock(&mutex);
    return written;
}

static ssize_t mirrored_pwrite(int fd, const void *data, size_t len, off_t offset)
{
    pthread_mutex_lock(&mutex);
    struct iovec part = {(void *)data, len};
    ssize_t written = write_to_mirror(fd, &part, 1, offset);
    if (written >= 0) {
        written = syscall(SYS_pwrite64, fd, data, (size_t)written, offset);
    }
    pthread_mutex_unlock(&mutex);
    return written;
}

/* The mutex is not held while bytes are read. */
static ssize_t mirrored_pread(int fd, void *out, size_t len, off_t offset)
{
    ssize_t allowed = (ssize_t)len;
    pthread_mutex_lock(&mutex);
    if (mirror != NULL && fd >= 0 && fd < FDS_MAX && are_inside[fd]) {
        allowed = sim_begin_pread(mirror, len);
    }
    pthread_mutex_unlock(&mutex);
    return allowed < 0 ? -1 : syscall(SYS_pread64, fd, out, (size_t)allowed, offset);
}

/* The first `len` bytes of the parts, which change: what a short write has written. */
static int cut_parts(struct iovec *parts, int count, size_t len)
{
    int used = 0;
    while (used < count && len > 0) {
        parts[used].iov_len = MIN(parts[used].iov_len, len);
        len -= parts[used++].iov_len;
    }
    return used;
}

static ssize_t mirrored_pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
    pthread_mutex_lock(&mutex);
    ssize_t written = write_to_mirror(fd, parts, count, offset);
    if (written > 0) {
        struct iovec cut[64];
        assert(count <= (int)COUNT_OF(cut));
        memcpy(cut, parts, (size_t)count * sizeof(*parts));
        int used = cut_parts(cut, count, (size_t)written);
        written = syscall(SYS_pwritev, fd, cut, used, offset, 0);
    }
    pthread_mutex_unlock(&mutex);
    return written;
}

static int sync_mirrored(int fd, long call)
{
    pthread_mutex_lock(&mutex);
    int sim_fd = sim_fd_of(fd);
    int result = 0;
    if (sim_fd >= 0) {
        result = mirror->files.sync(&mirror->files, sim_fd);
    } else if (mirror != NULL && fd < FDS_MAX && are_directories[fd]) {
        result = mirror->files.sync_directory(&mirror->files, mirrored);
    }
    if (result == 0) {
        result = (int)syscall(call, fd);
    }
    pthread_mutex_unlock(&mutex);
    return result;
}

int fsync(int fd)
{
    return sync_mirrored(fd, SYS_fsync);
}

int fdatasync(int fd)
{
    return sync_mirrored(fd, SYS_fdatasync);
}

static int mirrored_ftruncate(int fd, off_t size)
{
    pthread_mutex_lock(&mutex);
    int sim_fd = sim_fd_of(fd);
    int result = sim_fd >= 0 ? mirror->files.resize(&mirror->files, sim_fd, (uint64_t)size) : 0;
    if (result == 0) {
        result = (int)syscall(SYS_ftruncate, fd, size);
    }
    pthread_mutex_unlock(&mutex);
    return result;
}

int rename(const char *from, const char *to)
{
    pthread_mutex_lock(&mutex);
    int result = is_inside(from) ? mirror->files.rename(&mirror->files, from, to) : 0;
    if (result == 0) {
        result = (int)syscall(SYS_rename, from, to);
    }
    pthread_mutex_unlock(&mutex);
    return result;
}

int unlink(const char *path)
{
    pthread_mutex_lock(&mutex);
    int result = is_inside(path) ? mirror->files.unlink(&mirror->files, path) : 0;
    if (result == 0) {
        result = (int)syscall(SYS_unlink, path);
    }
    pthread_mutex_unlock(&mutex);
    return result;
}

/* Our files call the names with 64, RocksDB's the others; the header may make them one. */
#define EXPORTED(type_, function_, name_, args_) type_ function_ args_ __asm__(name_)
EXPORTED(int, exported_open, "open", (const char *path, int flags, ...));
EXPORTED(int, exported_open64, "open64", (const char *path, int flags, ...));
EXPORTED(ssize_t, exported_pread, "pread", (int fd, void *out, size_t len, off_t at));
EXPORTED(ssize_t, exported_pread64, "pread64", (int fd, void *out, size_t len, off_t at));
EXPORTED(ssize_t, exported_pwrite, "pwrite", (int fd, const void *data, size_t len, off_t at));
EXPORTED(ssize_t, exported_pwrite64, "pwrite64", (int fd, const void *data, size_t len, off_t at));
EXPORTED(ssize_t, exported_pwritev, "pwritev", (int fd, const struct iovec *v, int n, off_t at));
EXPORTED(ssize_t, exported_pwritev64, "pwritev64",
         (int fd, const struct iovec *v, int n, off_t at));
EXPORTED(int, exported_ftruncate, "ftruncate", (int fd, off_t size));
EXPORTED(int, exported_ftruncate64, "ftruncate64", (int fd, off_t size));

int exported_open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    int mode = (flags & O_CREAT) != 0 ? va_arg(args, int) : 0;
    va_end(args);
    return mirrored_open(path, flags, mode);
}

int exported_open64(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    int mode = (flags & O_CREAT) != 0 ? va_arg(args, int) : 0;
    va_end(args);
    return mirrored_open(path, flags, mode);
}

ssize_t exported_pread(int fd, void *out, size_t len, off_t at)
{
    return mirrored_pread(fd, out, len, at);
}

ssize_t exported_pread64(int fd, void *out, size_t len, off_t at)
{
    return mirrored_pread(fd, out, len, at);
}

ssize_t exported_pwrite(int fd, const void *data, size_t len, off_t at)
{
    return mirrored_pwrite(fd, data, len, at);
}

ssize_t exported_pwrite64(int fd, const void *data, size_t len, off_t at)
{
    return mirrored_pwrite(fd, data, len, at);
}

ssize_t exported_pwritev(int fd, const struct iovec *v, int n, off_t at)
{
    return mirrored_pwritev(fd, v, n, at);
}

ssize_t exported_pwritev64(int fd, const struct iovec *v, int n, off_t at)
{
    return mirrored_pwritev(fd, v, n, at);
}

int exported_ftruncate(int fd, off_t size)
{
    return mirrored_ftruncate(fd, size);
}

int exported_ftruncate64(int fd, off_t size)
{
    return mirrored_ftruncate(fd, size);
}

struct sim_files *disk_mirror_start(const char *directory, uint64_t seed, enum sim_bug bug)
{
    pthread_mutex_lock(&mutex);
    assert(mirror == NULL && strlen(directory) < sizeof(mirrored));
    strcpy(mirrored, directory);
    struct sim_files *started = sim_create(seed, bug);
    sim_load(started, directory);
    mirror = started;
    pthread_mutex_unlock(&mutex);
    return started;
}

void disk_mirror_freeze(void)
{
    pthread_mutex_lock(&mutex);
}

void disk_mirror_thaw(void)
{
    pthread_mutex_unlock(&mutex);
}

void disk_mirror_stop(void)
{
    pthread_mutex_lock(&mutex);
    sim_destroy(mirror);
    mirror = NULL;
    memset(sim_fds, 0, sizeof(sim_fds));
    memset(are_inside, 0, sizeof(are_inside));
    pthread_mutex_unlock(&mutex);
}
