/* Preallocated files for the WAL: see spares.h. The mutex protects what the filling thread and the
 * committing thread share. */
#include "store/wal/spares.h"

#include <fcntl.h>
#include <pthread.h>

#include "base/log.h"
#include "base/mem.h"

/* The largest number of spare files: about as many as one flush of a memtable releases. */
enum { SPARES_MAX = 16 };
/* A spare file is created only if the disk has space for so many more. */
enum { FREE_SPARES_MIN = 8 };
/* Bytes written between two syncs: a commit never waits for more than these. */
enum { PIECE_BYTES = 1 << 20 };

struct spares {
    const struct files *files;
    char *directory;
    uint64_t file_bytes;
    bool has_thread;
    pthread_t filler;
    bool filler_started;

    pthread_mutex_t mutex; /* protects all of the following */
    pthread_cond_t changed;
    uint64_t numbers[SPARES_MAX]; /* of the files NUMBER.spare */
    int count;
    uint64_t next_number;
    bool is_requested;
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
    size_t len = strlen(name);
    if (len <= 6 || strcmp(name + len - 6, ".spare") != 0) {
        return;
    }
    struct buf path = {0};
    buf_format(&path, "%s/%s", spares->directory, name);
    spares->files->unlink(spares->files, path.data);
    buf_finish(&path);
}

struct spares *spares_create(const struct files *files, const char *directory, uint64_t file_bytes,
                             bool has_thread)
{
    struct spares *spares = mem_zalloc(sizeof(*spares));
    spares->files = files;
    spares->directory = mem_strdup(directory);
    spares->file_bytes = file_bytes;
    spares->has_thread = has_thread;
    pthread_mutex_init(&spares->mutex, NULL);
    pthread_cond_init(&spares->changed, NULL);
    if (files->list(files, directory, delete_file, spares) != 0) {
        log_write(LOG_WARN, "store", "cannot read the directory %s", directory);
    }
    return spares;
}

void spares_destroy(struct spares *spares)
{
    if (spares == NULL) {
        return;
    }
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
    return spares->files->free_bytes(spares->files, spares->directory) >
           FREE_SPARES_MIN * spares->file_bytes;
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
    for (uint64_t done = 0; good && done < spares->file_bytes; done += PIECE_BYTES) {
        struct iovec part = {zeroes, MIN((uint64_t)PIECE_BYTES, spares->file_bytes - done)};
        good = files_write_all(spares->files, fd, &part, 1, done) &&
               files_sync(spares->files, fd) && !is_closing(spares);
    }
    mem_free(zeroes);
    return good;
}

static bool make_file(struct spares *spares, const char *path)
{
    const struct files *files = spares->files;
    int fd = has_room(spares) ? files->open(files, path, O_CREAT | O_TRUNC | O_RDWR) : -1;
    if (fd < 0) {
        return false;
    }
    bool good = fill(spares, fd);
    files->drop_cache(files, fd);
    files_close(files, fd);
    if (!good) {
        files->unlink(files, path);
    }
    return good;
}

/* The caller holds the mutex. */
static void add(struct spares *spares, uint64_t number)
{
    assert(spares->count < SPARES_MAX);
    spares->numbers[spares->count++] = number;
}

/* The caller holds the mutex, which is released while the file is written. */
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
        spares->files->unlink(spares->files, path.data);
    }
    buf_finish(&path);
}

static void *filler_main(void *arg)
{
    struct spares *spares = arg;
    pthread_mutex_lock(&spares->mutex);
    while (!spares->closing) {
        if (spares->is_requested && spares->count == 0) {
            make_one(spares);
            spares->is_requested = false; /* also after a failure: the WAL requests it again */
        } else {
            pthread_cond_wait(&spares->changed, &spares->mutex);
        }
    }
    pthread_mutex_unlock(&spares->mutex);
    return NULL;
}

/* For the committing thread ------------------------------------------------------------------ */

void spares_request(struct spares *spares)
{
    if (spares->has_thread && !spares->filler_started) {
        spares->filler_started = pthread_create(&spares->filler, NULL, filler_main, spares) == 0;
        if (!spares->filler_started) {
            return; /* without the thread segments grow, which is slower */
        }
        pthread_setname_np(spares->filler, "store-fill");
    }
    pthread_mutex_lock(&spares->mutex);
    if (spares->has_thread) {
        spares->is_requested = true;
        pthread_cond_signal(&spares->changed);
    } else if (spares->count == 0) {
        make_one(spares);
    }
    pthread_mutex_unlock(&spares->mutex);
}

/* Opens a spare file, if it still has its full size. */
static int open_whole(const struct spares *spares, const char *path)
{
    const struct files *files = spares->files;
    int fd = files->open(files, path, O_RDWR);
    if (fd >= 0 && files->size(files, fd) != (int64_t)spares->file_bytes) {
        files_close(files, fd);
        fd = -1;
    }
    return fd;
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
    const struct files *files = spares->files;
    struct buf from = {0};
    path_of(spares, number, &from);
    int fd = open_whole(spares, from.data);
    if (fd >= 0 && files->rename(files, from.data, path) != 0) {
        files_close(files, fd);
        fd = -1;
    }
    if (fd < 0) {
        files->unlink(files, from.data);
    }
    buf_finish(&from);
    return fd;
}

void spares_give(struct spares *spares, const char *path)
{
    const struct files *files = spares->files;
    struct buf to = {0};
    pthread_mutex_lock(&spares->mutex);
    uint64_t number = spares->next_number++;
    path_of(spares, number, &to);
    if (spares->count < SPARES_MAX && files->rename(files, path, to.data) == 0) {
        add(spares, number);
    } else {
        files->unlink(files, path);
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
        spares->files->unlink(spares->files, path.data);
    }
    pthread_mutex_unlock(&spares->mutex);
    buf_finish(&path);
}
