/* The file system of the simulator: the calls of struct files; see sim_files.h. One directory;
 * paths are compared by their last part. */
#include "sim_files_internal.h"

#include <errno.h>
#include <fcntl.h>

#include "base/mem.h"

enum { FREE_BYTES = 1 << 30 };

uint64_t sim_below(struct random *random, uint64_t limit)
{
    return random_next(random) % limit;
}

static struct sim_files *sim_of(const struct files *files)
{
    return CONTAINER_OF((struct files *)files, struct sim_files, files);
}

/* Calls -------------------------------------------------------------------------------------- */

static int error_of(enum sim_failure failure)
{
    return failure == SIM_FAIL_ENOSPC ? ENOSPC : failure == SIM_FAIL_EINTR ? EINTR : EIO;
}

/* Counts a call. True: it fails, errno says how. */
static bool count_call(struct sim_files *sim)
{
    uint64_t number = ++sim->call_count;
    if (sim->fail_at == 0 || number < sim->fail_at || number >= sim->fail_at + sim->fail_count) {
        return false;
    }
    errno = error_of(sim->failure);
    return true;
}

/* The same for a call that changes something. */
static bool begin_call(struct sim_files *sim)
{
    if (sim->before != NULL) {
        sim->before(sim->context);
    }
    return count_call(sim);
}

/* The same for a call that only reads. */
static bool begin_read(struct sim_files *sim)
{
    bool fails = count_call(sim);
    errno = fails ? EIO : errno;
    return fails;
}

static struct sim_inode *inode_of(const struct sim_files *sim, int fd)
{
    assert(fd >= 0 && fd < (int)COUNT_OF(sim->descriptors) && sim->descriptors[fd] >= 0);
    return sim->inodes[sim->descriptors[fd]];
}

static int take_descriptor(struct sim_files *sim, int inode)
{
    for (size_t fd = 0; fd < COUNT_OF(sim->descriptors); fd++) {
        if (sim->descriptors[fd] < 0) {
            sim->descriptors[fd] = inode;
            return (int)fd;
        }
    }
    assert(false);
    return -1;
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static int sim_open(const struct files *files, const char *path, int flags)
{
    struct sim_files *sim = sim_of(files);
    if ((flags & O_CREAT) != 0 ? begin_call(sim) : begin_read(sim)) {
        return -1;
    }
    int at = names_find(sim->names, sim->name_count, last_part(path));
    if (at < 0 && (flags & O_CREAT) == 0) {
        errno = ENOENT;
        return -1;
    }
    int inode;
    if (at >= 0) {
        inode = sim->names[at].inode;
        if ((flags & O_TRUNC) != 0) {
            inode_resize(sim->inodes[inode], 0);
        }
    } else {
        inode = sim_add_inode(sim, mem_zalloc(sizeof(struct sim_inode)));
        sim_change_names(sim, "", last_part(path), inode);
    }
    return take_descriptor(sim, inode);
}

static int sim_close(const struct files *files, int fd)
{
    struct sim_files *sim = sim_of(files);
    inode_of(sim, fd);
    sim->descriptors[fd] = -1;
    return 0;
}

ssize_t sim_begin_pread(struct sim_files *sim, size_t len)
{
    if (!count_call(sim)) {
        return (ssize_t)len;
    }
    errno = sim->failure == SIM_FAIL_EINTR ? EINTR : EIO;
    return sim->failure == SIM_FAIL_SHORT ? (ssize_t)MIN(len, (size_t)1) : -1;
}

static ssize_t sim_pread(const struct files *files, int fd, void *out, size_t len, uint64_t offset)
{
    struct sim_files *sim = sim_of(files);
    const struct sim_inode *inode = inode_of(sim, fd);
    ssize_t allowed = sim_begin_pread(sim, len);
    if (allowed < 0) {
        return -1;
    }
    if (offset >= inode->size) {
        return 0;
    }
    len = MIN((size_t)allowed, inode->size - offset);
    if (len > 1 && sim_below(&sim->random, 16) == 0) {
        len = 1 + sim_below(&sim->random, len); /* reads may be short, too */
    }
    memcpy(out, inode->bytes + offset, len);
    return (ssize_t)len;
}

/* A failing write may have written a part. */
static ssize_t sim_pwritev(const struct files *files, int fd, const struct iovec *parts, int count,
                           uint64_t offset)
{
    struct sim_files *sim = sim_of(files);
    struct sim_inode *inode = inode_of(sim, fd);
    bool fails = begin_call(sim);
    size_t total = 0;
    for (int i = 0; i < count; i++) {
        total += parts[i].iov_len;
    }
    size_t len = fails ? sim_below(&sim->random, total + 1) : total;
    len = fails && sim->failure == SIM_FAIL_EINTR ? 0 : len;
    size_t done = 0;
    for (int i = 0; i < count && done < len; i++) {
        size_t part = MIN(parts[i].iov_len, len - done);
        inode_write(inode, parts[i].iov_base, part, offset + done);
        done += part;
    }
    if (fails && sim->failure == SIM_FAIL_SHORT) {
        return (ssize_t)len; /* also 0 */
    }
    return fails ? -1 : (ssize_t)total;
}

static bool is_name(const struct sim_files *sim, int fd, const char *name)
{
    int at = names_find(sim->names, sim->name_count, name);
    return at >= 0 && sim->names[at].inode == sim->descriptors[fd];
}

static int sim_sync(const struct files *files, int fd)
{
    struct sim_files *sim = sim_of(files);
    struct sim_inode *inode = inode_of(sim, fd);
    if (begin_call(sim)) {
        if (sim->failure != SIM_FAIL_EINTR) {
            inode_fail_sync(inode, &sim->random);
        }
        return -1;
    }
    bool is_state = is_name(sim, fd, "wal.state");
    if ((is_state && sim->bug == SIM_SKIP_STATE_SYNC) || (!is_state && sim->bug == SIM_SKIP_SYNC) ||
        (!is_state && sim->bug == SIM_SKIP_SOME_SYNCS && ++sim->sync_count % 16 == 0)) {
        return 0;
    }
    inode_sync(inode);
    return 0;
}

static int64_t sim_size(const struct files *files, int fd)
{
    struct sim_files *sim = sim_of(files);
    return begin_read(sim) ? -1 : (int64_t)inode_of(sim, fd)->size;
}

static int sim_resize(const struct files *files, int fd, uint64_t size)
{
    struct sim_files *sim = sim_of(files);
    if (begin_call(sim)) {
        return -1;
    }
    inode_resize(inode_of(sim, fd), size);
    return 0;
}

static int sim_rename(const struct files *files, const char *from, const char *to)
{
    struct sim_files *sim = sim_of(files);
    if (begin_call(sim)) {
        return -1;
    }
    int at = names_find(sim->names, sim->name_count, last_part(from));
    if (at < 0) {
        errno = ENOENT;
        return -1;
    }
    sim_change_names(sim, last_part(from), last_part(to), sim->names[at].inode);
    return 0;
}

static int sim_unlink(const struct files *files, const char *path)
{
    struct sim_files *sim = sim_of(files);
    if (begin_call(sim)) {
        return -1;
    }
    if (names_find(sim->names, sim->name_count, last_part(path)) < 0) {
        errno = ENOENT;
        return -1;
    }
    sim_change_names(sim, last_part(path), "", -1);
    return 0;
}

static int sim_sync_directory(const struct files *files, const char *path)
{
    (void)path;
    struct sim_files *sim = sim_of(files);
    if (begin_call(sim)) {
        return -1;
    }
    if (sim->bug != SIM_SKIP_DIRECTORY_SYNC) {
        names_copy(&sim->synced_names, &sim->synced_name_count, sim->names, sim->name_count);
        sim->change_count = 0;
    }
    return 0;
}

static int sim_list(const struct files *files, const char *path, files_visit *visit, void *context)
{
    (void)path;
    struct sim_files *sim = sim_of(files);
    if (begin_read(sim)) {
        return -1;
    }
    struct sim_name *names = NULL; /* visit() may change them */
    size_t count = 0;
    names_copy(&names, &count, sim->names, sim->name_count);
    for (size_t i = 0; i < count; i++) {
        visit(context, names[i].name);
    }
    mem_free(names);
    return 0;
}

static int sim_set_direct(const struct files *files, int fd, bool is_direct)
{
    (void)fd;
    (void)is_direct;
    return sim_below(&sim_of(files)->random, 2) == 0 ? 0 : -1;
}

static void sim_drop_cache(const struct files *files, int fd)
{
    (void)files;
    (void)fd;
}

static uint64_t sim_free_bytes(const struct files *files, const char *path)
{
    (void)files;
    (void)path;
    return FREE_BYTES;
}

/* The whole ---------------------------------------------------------------------------------- */

struct sim_files *sim_create(uint64_t seed, enum sim_bug bug)
{
    struct sim_files *sim = mem_zalloc(sizeof(*sim));
    sim->files = (struct files){
        .open = sim_open,
        .close = sim_close,
        .pread = sim_pread,
        .pwritev = sim_pwritev,
        .sync = sim_sync,
        .size = sim_size,
        .resize = sim_resize,
        .rename = sim_rename,
        .unlink = sim_unlink,
        .sync_directory = sim_sync_directory,
        .list = sim_list,
        .set_direct = sim_set_direct,
        .drop_cache = sim_drop_cache,
        .free_bytes = sim_free_bytes,
    };
    for (size_t fd = 0; fd < COUNT_OF(sim->descriptors); fd++) {
        sim->descriptors[fd] = -1;
    }
    random_init_seed(&sim->random, seed);
    sim->bug = bug;
    return sim;
}

void sim_destroy(struct sim_files *sim)
{
    for (size_t i = 0; i < sim->inode_count; i++) {
        if (sim->inodes[i] != NULL) {
            inode_destroy(sim->inodes[i]);
        }
    }
    mem_free(sim->inodes);
    mem_free(sim->names);
    mem_free(sim->synced_names);
    mem_free(sim->changes);
    mem_free(sim);
}
