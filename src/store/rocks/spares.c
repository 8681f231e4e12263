#include "store/rocks/spares.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "store/rocks/directory.h"

/* As many as are released together when a memtable has been written to a table. */
enum { SPARES_MAX = 4 };
/* The disk must have room for that many more before one is made. */
enum { FREE_SPARES_MIN = 8 };
/* Between two syncs: who commits meanwhile waits for no more than this. */
enum { PIECE_BYTES = 1 << 20 };

struct spares {
    char *directory;
    pthread_t filler;
    bool filler_started;

    pthread_mutex_t mutex; /* of all below */
    pthread_cond_t changed;
    uint64_t numbers[SPARES_MAX]; /* of the files NUMBER.spare */
    int count;
    uint64_t next_number;
    bool wished;
    bool closing;
};

static void path_of(const struct spares *spares, uint64_t number, struct buf *out)
{
    out->len = 0;
    buf_format(out, "%s/%llu.spare", spares->directory, (unsigned long long)number);
}

static void delete_file(void *context, const char *name)
{
    const struct spares *spares = context;
    struct buf path = {0};
    buf_format(&path, "%s/%s", spares->directory, name);
    unlink(path.data);
    buf_finish(&path);
}

struct spares *spares_create(const char *directory)
{
    struct spares *spares = mem_zalloc(sizeof(*spares));
    spares->directory = mem_strdup(directory);
    pthread_mutex_init(&spares->mutex, NULL);
    pthread_cond_init(&spares->changed, NULL);
    if (!directory_each(directory, ".spare", delete_file, spares)) {
        log_write(LOG_WARN, "store", "cannot read %s", directory);
    }
    return spares;
}

void spares_destroy(struct spares *spares)
{
    if (spares->filler_started) {
        pthread_mutex_lock(&spares->mutex);
        spares->closing = true;
        pthread_cond_signal(&spares->changed);
        pthread_mutex_unlock(&spares->mutex);
        pthread_join(spares->filler, NULL);
    }
    spares_clear(spares);
    pthread_cond_destroy(&spares->changed);
    pthread_mutex_destroy(&spares->mutex);
    mem_free(spares->directory);
    mem_free(spares);
}

/* Filling ---------------------------------------------------------------------------------- */

static bool has_room(const struct spares *spares)
{
    struct statvfs disk;
    return statvfs(spares->directory, &disk) == 0 &&
           (uint64_t)disk.f_bavail * disk.f_frsize > (uint64_t)FREE_SPARES_MIN * SPARE_BYTES;
}

static bool is_closing(struct spares *spares)
{
    pthread_mutex_lock(&spares->mutex);
    bool closing = spares->closing;
    pthread_mutex_unlock(&spares->mutex);
    return closing;
}

static bool fill(struct spares *spares, int fd)
{
    char *zeroes = mem_zalloc(PIECE_BYTES);
    bool good = true;
    for (size_t done = 0; good && done < SPARE_BYTES; done += PIECE_BYTES) {
        good = write(fd, zeroes, PIECE_BYTES) == PIECE_BYTES && fdatasync(fd) == 0 &&
               !is_closing(spares);
    }
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED); /* nobody will read them */
    mem_free(zeroes);
    return good;
}

static bool make_file(struct spares *spares, const char *path)
{
    int fd = has_room(spares) ? open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644) : -1;
    if (fd < 0) {
        return false;
    }
    bool good = fill(spares, fd);
    close(fd);
    if (!good) {
        unlink(path);
    }
    return good;
}

/* With the mutex. */
static void add(struct spares *spares, uint64_t number)
{
    assert(spares->count < SPARES_MAX);
    spares->numbers[spares->count++] = number;
}

static void make_one(struct spares *spares)
{
    struct buf path = {0};
    uint64_t number = spares->next_number++;
    path_of(spares, number, &path);
    pthread_mutex_unlock(&spares->mutex);
    bool good = make_file(spares, path.data);
    pthread_mutex_lock(&spares->mutex);
    if (good && spares->count < SPARES_MAX) {
        add(spares, number);
    } else if (good) {
        unlink(path.data);
    }
    buf_finish(&path);
}

static void *filler_main(void *arg)
{
    struct spares *spares = arg;
    pthread_mutex_lock(&spares->mutex);
    while (!spares->closing) {
        if (spares->wished && spares->count == 0) {
            make_one(spares);
            spares->wished = false; /* also if it could not be made: somebody will wish again */
        } else {
            pthread_cond_wait(&spares->changed, &spares->mutex);
        }
    }
    pthread_mutex_unlock(&spares->mutex);
    return NULL;
}

/* For who writes --------------------------------------------------------------------------- */

void spares_wish(struct spares *spares)
{
    if (!spares->filler_started) {
        spares->filler_started = pthread_create(&spares->filler, NULL, filler_main, spares) == 0;
        if (!spares->filler_started) {
            return; /* it goes without, only slower */
        }
        pthread_setname_np(spares->filler, "store-fill");
    }
    pthread_mutex_lock(&spares->mutex);
    spares->wished = true;
    pthread_cond_signal(&spares->changed);
    pthread_mutex_unlock(&spares->mutex);
}

int spares_take(struct spares *spares, const char *path)
{
    pthread_mutex_lock(&spares->mutex);
    bool found = spares->count > 0;
    uint64_t number = found ? spares->numbers[--spares->count] : 0;
    pthread_mutex_unlock(&spares->mutex);
    if (!found) {
        return -1;
    }
    struct buf from = {0};
    path_of(spares, number, &from);
    int fd = open(from.data, O_RDWR | O_CLOEXEC);
    if (fd >= 0 && rename(from.data, path) != 0) {
        close(fd);
        fd = -1;
    }
    if (fd < 0) {
        unlink(from.data);
    }
    buf_finish(&from);
    return fd;
}

void spares_give(struct spares *spares, const char *path)
{
    struct buf to = {0};
    pthread_mutex_lock(&spares->mutex);
    uint64_t number = spares->next_number++;
    path_of(spares, number, &to);
    if (spares->count < SPARES_MAX && rename(path, to.data) == 0) {
        add(spares, number);
    } else {
        unlink(path);
    }
    pthread_mutex_unlock(&spares->mutex);
    buf_finish(&to);
}

void spares_clear(struct spares *spares)
{
    struct buf path = {0};
    pthread_mutex_lock(&spares->mutex);
    while (spares->count > 0) {
        path_of(spares, spares->numbers[--spares->count], &path);
        unlink(path.data);
    }
    pthread_mutex_unlock(&spares->mutex);
    buf_finish(&path);
}
