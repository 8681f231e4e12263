/* Copies files for backups. Runs on the main thread of a command.
 *
 * Each piece is written back to the disk at once, so that a server on the same disk never waits
 * behind a long queue of writes; and both files are dropped from the kernel's cache, which the
 * server needs. */
#include "store/backup/paced_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"

static const size_t piece_bytes = (size_t)1 << 20;

static bool fails(const char *path, struct err *err)
{
    return err_set(err, ERR_INTERNAL, "%s: %s", path, strerror(errno));
}

static void wait_for_rate(struct rate *rate, uint64_t bytes)
{
    if (rate->start_us == 0) {
        rate->start_us = clock_monotonic_us();
    }
    rate->bytes += bytes;
    if (rate->piece != NULL) {
        rate->piece(rate->context, bytes);
    }
    if (rate->bytes_per_second == 0) {
        return;
    }
    int64_t due_us =
        rate->start_us + (int64_t)((double)rate->bytes * 1e6 / (double)rate->bytes_per_second);
    int64_t wait_us = due_us - clock_monotonic_us();
    if (wait_us > 0) {
        struct timespec wait = {.tv_sec = wait_us / 1000000, .tv_nsec = wait_us % 1000000 * 1000};
        nanosleep(&wait, NULL);
    }
}

/* Reads until the buffer is full or the file ends; negative: errno. */
static ssize_t read_piece(int fd, char *out, size_t len)
{
    size_t done = 0;
    while (done < len) {
        ssize_t got = read(fd, out + done, len - done);
        if (got == 0) {
            break;
        }
        if (got < 0 && errno != EINTR) {
            return -1;
        }
        done += got > 0 ? (size_t)got : 0;
    }
    return (ssize_t)done;
}

static bool write_piece(int fd, const char *data, size_t len)
{
    size_t done = 0;
    while (done < len) {
        ssize_t written = write(fd, data + done, len - done);
        if (written == 0) {
            errno = EIO;
        }
        if (written <= 0 && errno != EINTR) {
            return false;
        }
        done += written > 0 ? (size_t)written : 0;
    }
    return true;
}

struct copying {
    struct rate *rate;
    const char *from;
    const char *to;
    int in;
    int out; /* -1: the file is only read */
    uint64_t size;
    struct hash_stream *hash;
};

/* Writes a part of a file back. A failed write must not be ignored here: the kernel reports it once
 * for each descriptor, so a later fsync() succeeds. Other errors: the system lacks the call. */
static bool write_back(int fd, off_t offset, size_t len, unsigned flags)
{
    return sync_file_range(fd, offset, (off_t)len, flags) == 0 ||
           (errno != EIO && errno != ENOSPC && errno != EDQUOT);
}

/* Drops the piece before the last from the cache; it has been written back by now. False: it could
 * not be written, and errno says why. */
static bool drop_pages(const struct copying *copying, size_t len)
{
    posix_fadvise(copying->in, (off_t)copying->size, (off_t)len, POSIX_FADV_DONTNEED);
    if (copying->out < 0) {
        return true;
    }
    bool good = write_back(copying->out, (off_t)copying->size, len, SYNC_FILE_RANGE_WRITE);
    if (good && copying->size >= piece_bytes) {
        off_t before = (off_t)(copying->size - piece_bytes);
        good = write_back(copying->out, before, piece_bytes,
                          SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                              SYNC_FILE_RANGE_WAIT_AFTER);
        if (good) {
            posix_fadvise(copying->out, before, (off_t)piece_bytes, POSIX_FADV_DONTNEED);
        }
    }
    return good;
}

static bool copy_pieces(struct copying *copying, char *buffer, struct err *err)
{
    while (true) {
        ssize_t got = read_piece(copying->in, buffer, piece_bytes);
        if (got < 0) {
            return fails(copying->from, err);
        }
        if (got == 0) {
            return true;
        }
        size_t len = (size_t)got;
        hash_stream_add(copying->hash, str_make(buffer, len));
        if (copying->out >= 0 && !write_piece(copying->out, buffer, len)) {
            return fails(copying->to, err);
        }
        if (!drop_pages(copying, len)) {
            return fails(copying->to, err);
        }
        copying->size += len;
        wait_for_rate(copying->rate, len);
    }
}

static bool open_both(struct copying *copying, struct err *err)
{
    copying->in = open(copying->from, O_RDONLY | O_CLOEXEC);
    if (copying->in < 0) {
        return fails(copying->from, err);
    }
    if (copying->to != NULL) {
        copying->out = open(copying->to, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
        if (copying->out < 0) {
            return fails(copying->to, err);
        }
    }
    return true;
}

bool copy_file(struct rate *rate, const char *from, const char *to, uint64_t *out_size,
               uint8_t out_hash[16], struct err *err)
{
    struct copying copying = {.rate = rate, .from = from, .to = to, .in = -1, .out = -1};
    char *buffer = mem_alloc(piece_bytes);
    copying.hash = hash_stream_create();
    bool good = open_both(&copying, err) && copy_pieces(&copying, buffer, err);
    hash_stream_finish(copying.hash, out_hash);
    *out_size = copying.size;
    if (good && copying.out >= 0 && fsync(copying.out) != 0) {
        good = fails(to, err);
    }
    if (copying.in >= 0) {
        close(copying.in);
    }
    if (copying.out >= 0) { /* so that a later check of the copy reads it from the disk */
        posix_fadvise(copying.out, 0, 0, POSIX_FADV_DONTNEED);
    }
    if (copying.out >= 0 && close(copying.out) != 0 && good) {
        good = fails(to, err);
    }
    mem_free(buffer);
    return good;
}
