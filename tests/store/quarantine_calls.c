/* Replaces system calls of the test program: see quarantine_calls.h. Linked into the tests of bad
 * blocks; any thread calls the replaced functions, the tests arm them. */
#include "quarantine_calls.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"

/* Kills --------------------------------------------------------------------------------------- */

static atomic_bool is_armed;
static atomic_long calls_left = -1; /* negative: not counting */
static long calls_wanted;

void calls_kill_at(long number)
{
    calls_wanted = number;
    atomic_store(&is_armed, true);
}

static void note_call(void)
{
    if (atomic_load(&calls_left) >= 0 && atomic_fetch_sub(&calls_left, 1) == 0) {
        _exit(CALLS_KILLED);
    }
}

int rename(const char *from, const char *to)
{
    if (atomic_load(&is_armed) && strstr(from, "STORE.tmp") != NULL &&
        atomic_load(&calls_left) < 0) {
        atomic_store(&is_armed, false);
        atomic_store(&calls_left, calls_wanted);
    }
    note_call();
    return (int)syscall(SYS_rename, from, to);
}

int fdatasync(int fd)
{
    note_call();
    return (int)syscall(SYS_fdatasync, fd);
}

int fsync(int fd)
{
    note_call();
    return (int)syscall(SYS_fsync, fd);
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
    note_call();
    return syscall(SYS_pwritev, fd, parts, count, (unsigned long)offset, 0UL);
}

/* Threads of RocksDB -------------------------------------------------------------------------- */

static atomic_int failing_reads; /* so many reads of compactions fail */

void calls_fail_reads(int count)
{
    atomic_store(&failing_reads, count);
}

int calls_reads_to_fail(void)
{
    return atomic_load(&failing_reads);
}

/* Whether the caller is a thread of RocksDB whose name begins so: "rocksdb:low" compacts. */
static bool is_thread(const char *start)
{
    char name[16];
    return pthread_getname_np(pthread_self(), name, sizeof(name)) == 0 &&
           strncmp(name, start, strlen(start)) == 0;
}

/* The name that RocksDB calls; in this program pread() is pread64(). */
ssize_t pread_by_rocksdb(int fd, void *out, size_t len, off_t offset) __asm__("pread");

ssize_t pread_by_rocksdb(int fd, void *out, size_t len, off_t offset)
{
    if (atomic_load(&failing_reads) > 0 && is_thread("rocksdb:low")) {
        atomic_fetch_sub(&failing_reads, 1);
        errno = EIO;
        return -1;
    }
    return syscall(SYS_pread64, fd, out, len, offset);
}

/* When a compaction or flush has failed, its thread pauses for a second, and closing the database
 * waits for that. Nothing else depends on the pause: here it is a millisecond. */
int usleep(useconds_t pause_us)
{
    useconds_t us = is_thread("rocksdb:") ? MIN(pause_us, (useconds_t)1000) : pause_us;
    struct timespec pause = {.tv_sec = us / 1000000, .tv_nsec = (long)(us % 1000000) * 1000};
    return nanosleep(&pause, NULL);
}
