/* Replaces system calls of the test program by versions that fail on demand. Linked into
 * failed_writes_test, failed_reads_test and full_disk_test; any thread calls the replaced
 * functions, the tests arm them. */
#include "bad_disk.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { KIND_COUNT = BAD_BUT_FOR_PROBE + 1 };

static atomic_int to_fail[KIND_COUNT];
static atomic_int failed[KIND_COUNT];
static atomic_int log_thread;  /* the thread that wrote to a .wal last, while a kind was armed */
static atomic_int armed_count; /* number of armed kinds; if 0, file names are not looked up */

void bad_disk_fail(enum bad_disk_kind kind, int count)
{
    bool was_armed = atomic_exchange(&to_fail[kind], count) > 0;
    atomic_store(&failed[kind], 0);
    atomic_fetch_add(&armed_count, (count > 0) - was_armed);
}

int bad_disk_failures(enum bad_disk_kind kind)
{
    return atomic_load(&failed[kind]);
}

int bad_disk_log_thread(void)
{
    return atomic_load(&log_thread);
}

void bad_disk_heal(void)
{
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        bad_disk_fail((enum bad_disk_kind)kind, 0);
    }
}

/* Returns whether this call is to fail, and counts it. The kind stays armed after its last failure,
 * which only costs time. */
static bool is_due(enum bad_disk_kind kind)
{
    int left = atomic_load(&to_fail[kind]);
    while (left > 0) {
        if (atomic_compare_exchange_weak(&to_fail[kind], &left, left - 1)) {
            atomic_fetch_add(&failed[kind], 1);
            if (left == 1) {
                atomic_fetch_sub(&armed_count, 1);
            }
            return true;
        }
    }
    return false;
}

static void name_of(int fd, char *out, size_t size)
{
    char link[40];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, out, size - 1);
    out[len < 0 ? 0 : len] = '\0';
}

static bool ends_with(const char *name, const char *end)
{
    size_t len = strlen(name);
    size_t end_len = strlen(end);
    return len >= end_len && strcmp(name + len - end_len, end) == 0;
}

/* The write-ahead log and its state are the only files written with pwritev(). */
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
    if (atomic_load(&armed_count) > 0) {
        char name[256];
        name_of(fd, name, sizeof(name));
        bool is_state = ends_with(name, "wal.state");
        bool in_store = strstr(name, "gramme-store-") != NULL && !is_state;
        if (is_state && is_due(BAD_LOG_STATE)) {
            errno = EIO;
            return -1;
        }
        if (ends_with(name, ".wal")) {
            atomic_store(&log_thread, gettid());
        }
        if (ends_with(name, ".wal") && is_due(BAD_LOG_WRITE)) {
            const struct iovec *last = &parts[count - 1];
            if (last->iov_len > 1) {
                struct iovec halves[4];
                memcpy(halves, parts, (size_t)count * sizeof(*parts));
                halves[count - 1].iov_len /= 2;
                syscall(SYS_pwritev, fd, halves, count, offset, 0);
            }
            errno = ENOSPC;
            return -1;
        }
        if (in_store && (is_due(BAD_ANY_WRITE) || is_due(BAD_BUT_FOR_PROBE))) {
            errno = ENOSPC;
            return -1;
        }
    }
    return syscall(SYS_pwritev, fd, parts, count, offset, 0);
}

ssize_t write(int fd, const void *data, size_t size)
{
    if (atomic_load(&armed_count) > 0) {
        char name[256];
        name_of(fd, name, sizeof(name));
        bool in_store = strstr(name, "gramme-store-") != NULL;
        if ((ends_with(name, ".sst") && is_due(BAD_TABLE_WRITE)) ||
            (in_store && is_due(BAD_ANY_WRITE)) ||
            (in_store && !ends_with(name, "probe.tmp") && is_due(BAD_BUT_FOR_PROBE))) {
            errno = ENOSPC;
            return -1;
        }
    }
    return syscall(SYS_write, fd, data, size);
}

/* RocksDB calls pread(), our files pread64(); the header may make them one. */
ssize_t exported_pread(int fd, void *out, size_t size, off_t offset) __asm__("pread");
ssize_t exported_pread64(int fd, void *out, size_t size, off_t offset) __asm__("pread64");

static ssize_t bad_pread(int fd, void *out, size_t size, off_t offset)
{
    if (atomic_load(&armed_count) > 0) {
        char name[256];
        name_of(fd, name, sizeof(name));
        if (ends_with(name, ".sst") && is_due(BAD_TABLE_READ)) {
            errno = EIO;
            return -1;
        }
    }
    return syscall(SYS_pread64, fd, out, size, offset);
}

ssize_t exported_pread(int fd, void *out, size_t size, off_t offset)
{
    return bad_pread(fd, out, size, offset);
}

ssize_t exported_pread64(int fd, void *out, size_t size, off_t offset)
{
    return bad_pread(fd, out, size, offset);
}

int fdatasync(int fd)
{
    if (atomic_load(&armed_count) > 0) {
        char name[256];
        name_of(fd, name, sizeof(name));
        if (ends_with(name, ".wal") && is_due(BAD_LOG_SYNC)) {
            errno = EIO;
            return -1;
        }
    }
    return (int)syscall(SYS_fdatasync, fd);
}
