/* Crashes of the whole store, RocksDB's tables and manifest included. The store runs on a real
 * directory; open(), write(), fsync() and the like of the whole program also go to a file system in
 * memory (sim_files.h), which knows what has been synced. Before calls that change something a
 * state in which a power cut could leave the disk (sectors old, new or garbage) is written to
 * another directory, and a process of its own opens it there: each acknowledged update must be
 * there as a whole, the one under way as a whole or not at all, the counter exact; and it must take
 * writes.
 *
 *     sim_store [--seed N] [--states N] [--skip-syncs 1]
 *
 * The interleaving of RocksDB's threads does not follow from the seed. Exits with 1 if there was a
 * violation. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../store/child.h"
#include "sim_files.h"

#include "base/log.h"

enum { FDS_MAX = 1024, UPDATES_PER_FLUSH = 8, UPDATES_PER_LIFE = 120 };
enum { GOOD = 0, REFUSED = 10, LOST = 20, PARTIAL = 21, UNWRITABLE = 22 };

/* The mirror. The mutex protects all of it. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct sim_files *mirror; /* NULL: calls are not mirrored */
static char mirrored[64];        /* the directory */
static int sim_fds[FDS_MAX];     /* by descriptor: of the mirror + 1; 0: not mirrored */
static off_t positions[FDS_MAX];
static bool are_directories[FDS_MAX];

static bool is_inside(const char *path)
{
    size_t len = strlen(mirrored);
    return mirror != NULL && strncmp(path, mirrored, len) == 0 && path[len] == '/';
}

static int mirrored_open(const char *path, int flags, int mode)
{
    pthread_mutex_lock(&mutex);
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    int error = errno;
    if (fd >= 0 && fd < FDS_MAX && mirror != NULL) {
        sim_fds[fd] = 0;
        are_directories[fd] = strcmp(path, mirrored) == 0;
        if (is_inside(path) && (flags & O_ACCMODE) != O_RDONLY) {
            sim_fds[fd] = 1 + mirror->files.open(&mirror->files, path, flags & (O_CREAT | O_TRUNC));
            positions[fd] = 0;
        }
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

static void mirror_write(int sim_fd, const void *data, size_t len, off_t offset)
{
    struct iovec part = {(void *)data, len};
    mirror->files.pwritev(&mirror->files, sim_fd, &part, 1, (uint64_t)offset);
}

ssize_t write(int fd, const void *data, size_t len)
{
    pthread_mutex_lock(&mutex);
    int sim_fd = sim_fd_of(fd);
    if (sim_fd >= 0) {
        mirror_write(sim_fd, data, len, positions[fd]);
    }
    ssize_t written = syscall(SYS_write, fd, data, len);
    if (sim_fd >= 0) {
        assert((size_t)written == len);
        positions[fd] += written;
    }
    pthread_mutex_unlock(&mutex);
    return written;
}

static ssize_t mirrored_pwrite(int fd, const void *data, size_t len, off_t offset)
{
    pthread_mutex_lock(&mutex);
    int sim_fd = sim_fd_of(fd);
    if (sim_fd >= 0) {
        mirror_write(sim_fd, data, len, offset);
    }
    ssize_t written = syscall(SYS_pwrite64, fd, data, len, offset);
    pthread_mutex_unlock(&mutex);
    return written;
}

static ssize_t mirrored_pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
    pthread_mutex_lock(&mutex);
    int sim_fd = sim_fd_of(fd);
    if (sim_fd >= 0) {
        mirror->files.pwritev(&mirror->files, sim_fd, parts, count, (uint64_t)offset);
    }
    ssize_t written = syscall(SYS_pwritev, fd, parts, count, offset, 0);
    pthread_mutex_unlock(&mutex);
    return written;
}

static int sync_mirrored(int fd, long call)
{
    pthread_mutex_lock(&mutex);
    int sim_fd = sim_fd_of(fd);
    if (sim_fd >= 0) {
        mirror->files.sync(&mirror->files, sim_fd);
    } else if (mirror != NULL && fd < FDS_MAX && are_directories[fd]) {
        mirror->files.sync_directory(&mirror->files, mirrored);
    }
    int result = (int)syscall(call, fd);
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
    if (sim_fd >= 0) {
        mirror->files.resize(&mirror->files, sim_fd, (uint64_t)size);
    }
    int result = (int)syscall(SYS_ftruncate, fd, size);
    pthread_mutex_unlock(&mutex);
    return result;
}

int rename(const char *from, const char *to)
{
    pthread_mutex_lock(&mutex);
    if (is_inside(from)) {
        mirror->files.rename(&mirror->files, from, to);
    }
    int result = (int)syscall(SYS_rename, from, to);
    pthread_mutex_unlock(&mutex);
    return result;
}

int unlink(const char *path)
{
    pthread_mutex_lock(&mutex);
    if (is_inside(path)) {
        mirror->files.unlink(&mirror->files, path);
    }
    int result = (int)syscall(SYS_unlink, path);
    pthread_mutex_unlock(&mutex);
    return result;
}

/* Our files call the names with 64, RocksDB's the others; the header may make them one. */
#define EXPORTED(type_, function_, name_, args_) type_ function_ args_ __asm__(name_)
EXPORTED(int, exported_open, "open", (const char *path, int flags, ...));
EXPORTED(int, exported_open64, "open64", (const char *path, int flags, ...));
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

/* What the store holds ------------------------------------------------------------------------ */

/* Each update writes two rows, adds to a counter and appends to a list. */
static bool eval_entry(void *context, struct arena *arena, const struct str *rows,
                       struct store_batch *batch)
{
    (void)rows;
    uint64_t id = *(const uint64_t *)context;
    store_batch_put(batch, 0, number_row(arena, id));
    struct str big = str_make(arena_zalloc(arena, 1500), 1500);
    store_batch_put_owned(batch, key_number(arena, 8, id * 7919, id), big);
    store_batch_append(batch, str_make(key_number(arena, 9, 1, 0).data, STORE_PREFIX_LEN),
                       number_row(arena, id));
    store_batch_add(batch, key_text(arena, 10, "count", ""), (struct store_count){.count = 1});
    return true;
}

static enum store_status write_entry(struct client *client, uint64_t id)
{
    struct str key = key_number(&client->arena, 7, id, 0);
    return client_update(client, &key, 1, eval_entry, &id);
}

static size_t count_rows(struct client *client, uint32_t space)
{
    struct arena *arena = &client->arena;
    struct str lo = str_make(key_text(arena, space, "", "").data, STORE_SPACE_LEN);
    struct str hi = str_make(key_text(arena, space + 1, "", "").data, STORE_SPACE_LEN);
    struct rows rows = client_range(client, (struct range_spec){.lo = lo, .hi = hi});
    return rows.status == STORE_OK ? rows.count : SIZE_MAX;
}

/* In a process of its own: a crashed state in which the updates below `acknowledged` were. */
static int verify(const char *directory, uint64_t acknowledged)
{
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    struct store_options options = {.cache_bytes = 1 << 20, .worker_count = 1};
    struct store *store;
    log_setup(LOG_ERROR, LOG_TEXT);
    if (!store_open(arena_format(&arena, "rocksdb:%s", directory), &options, &store, &err)) {
        printf("refused: %.*s\n", STR_ARG(err.message));
        fflush(stdout);
        return REFUSED;
    }
    struct client *client = client_create_alone(store);
    for (uint64_t id = 0; id < acknowledged; id++) {
        struct str key = key_number(&client->arena, 7, id, 0);
        struct str row;
        if (client_get_many(client, &key, 1, false, &row) != STORE_OK || str_is_null(row)) {
            return LOST;
        }
    }
    size_t count = count_rows(client, 7);
    struct str counter = client_get(client, key_text(&client->arena, 10, "count", ""));
    if (count < acknowledged || count > acknowledged + 1 || count_rows(client, 8) != count ||
        count_rows(client, 9) != count || store_count_value(counter).count != (int64_t)count) {
        return PARTIAL;
    }
    return write_entry(client, count) == STORE_OK ? GOOD : UNWRITABLE;
}

/* Crashes ------------------------------------------------------------------------------------- */

struct run {
    struct random random;
    uint64_t acknowledged;
    uint64_t calls_per_state;
    uint64_t states;
    uint64_t violations;
    uint64_t states_wanted;
    uint64_t skips_syncs; /* a planted bug, which must be found */
    bool is_checking;     /* our own calls are not looked at */
};

static void check_crash(struct run *run)
{
    char directory[64] = "/dev/shm/gramme-crash-XXXXXX";
    if (mkdtemp(directory) == NULL) {
        make_directory(directory);
    }
    struct sim_files *crashed = sim_crashed(mirror, SIM_POWER_CUT, &run->random);
    sim_save(crashed, directory);
    sim_destroy(crashed);
    struct child child;
    child_start(&child, "verify", directory, run->acknowledged);
    int status = child_wait(&child);
    run->states++;
    if (status != GOOD) {
        run->violations++;
        printf("violation: status %d, %" PRIu64 " updates acknowledged; kept in %s\n", status,
               run->acknowledged, directory);
    }
    if (status == GOOD || run->skips_syncs) {
        remove_directory(directory);
    }
}

/* With the mutex, which the calls below take again: so the mirror is put aside. */
static void before_call(void *context)
{
    struct run *run = context;
    if (run->is_checking || run->states >= run->states_wanted || run->violations > 2 ||
        sim_below(&run->random, run->calls_per_state) != 0) {
        return;
    }
    run->is_checking = true;
    check_crash(run);
    run->is_checking = false;
}

static void live(struct run *run)
{
    make_directory(mirrored);
    mirror = sim_create(random_next(&run->random), run->skips_syncs ? SIM_SKIP_SYNC : SIM_NO_BUG);
    mirror->context = run;
    mirror->has_ordered_names =
        true; /* RocksDB makes CURRENT name a manifest before it syncs either name */
    run->acknowledged = 0;
    struct store *store = open_store(mirrored, 1 << 20);
    mirror->before = before_call;
    struct client *client = client_create_alone(store);
    for (uint64_t id = 0; id < UPDATES_PER_LIFE && run->states < run->states_wanted; id++) {
        client_reset(client);
        assert_int_equal(write_entry(client, id), STORE_OK);
        run->acknowledged = id + 1;
        if (id % UPDATES_PER_FLUSH == 0) {
            assert_true(rocks_flush(store));
        }
        if (id % 40 == 39) {
            store_close(store);
            client->store = store = open_store(mirrored, 1 << 20);
        }
    }
    store_close(store);
    client_destroy(client);
    sim_destroy(mirror);
    mirror = NULL;
    remove_directory(mirrored);
}

int main(int argc, char **argv)
{
    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&mutex, &recursive);
    const char *child = child_name(argc, argv);
    if (child != NULL) {
        _exit(verify(argv[3], strtoull(argv[4], NULL, 10)));
    }
    uint64_t seed = (uint64_t)time(NULL);
    struct run run = {.calls_per_state = 40, .states_wanted = 40};
    for (int i = 1; i + 1 < argc; i += 2) {
        uint64_t number = strtoull(argv[i + 1], NULL, 10);
        *(strcmp(argv[i], "--seed") == 0         ? &seed
          : strcmp(argv[i], "--skip-syncs") == 0 ? &run.skips_syncs
                                                 : &run.states_wanted) = number;
    }
    log_setup(LOG_ERROR, LOG_TEXT);
    printf("seed %" PRIu64 "\n", seed);
    fflush(stdout);
    random_init_seed(&run.random, seed);
    while (run.states < run.states_wanted && run.violations <= 2) {
        live(&run);
    }
    printf("%" PRIu64 " crash states of whole stores, %" PRIu64 " violations\n", run.states,
           run.violations);
    return run.violations > 0;
}
