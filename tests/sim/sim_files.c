/* The file system of the simulator: see sim_files.h. One directory; paths are compared by their
 * last part. */
#include "sim_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/mem.h"

enum { SECTOR = 512, NAME_MAX_LEN = 40, FREE_BYTES = 1 << 30 };

struct sim_inode {
    char *bytes;  /* as a process sees them */
    char *synced; /* on disk */
    uint64_t size;
    uint64_t synced_size;
    uint64_t capacity; /* of both, in bytes; what is beyond the size is zero */
    bool *dirty;       /* by sector */
};

struct sim_name {
    char name[NAME_MAX_LEN];
    int inode;
};

/* Of names: `from` goes, `to` comes; either may be empty. */
struct sim_change {
    char from[NAME_MAX_LEN];
    char to[NAME_MAX_LEN];
    int inode;
};

uint64_t sim_below(struct random *random, uint64_t limit)
{
    return random_next(random) % limit;
}

static struct sim_files *sim_of(const struct files *files)
{
    return CONTAINER_OF((struct files *)files, struct sim_files, files);
}

/* Inodes ------------------------------------------------------------------------------------- */

static void inode_reserve(struct sim_inode *inode, uint64_t bytes)
{
    if (bytes <= inode->capacity) {
        return;
    }
    uint64_t capacity = MAX(2 * inode->capacity, (bytes + SECTOR - 1) / SECTOR * SECTOR);
    capacity = (capacity + SECTOR - 1) / SECTOR * SECTOR;
    inode->bytes = mem_realloc(inode->bytes, capacity);
    inode->synced = mem_realloc(inode->synced, capacity);
    inode->dirty = mem_realloc(inode->dirty, capacity / SECTOR * sizeof(bool));
    memset(inode->bytes + inode->capacity, 0, capacity - inode->capacity);
    memset(inode->synced + inode->capacity, 0, capacity - inode->capacity);
    memset(inode->dirty + inode->capacity / SECTOR, 0, (capacity - inode->capacity) / SECTOR);
    inode->capacity = capacity;
}

static void inode_destroy(struct sim_inode *inode)
{
    mem_free(inode->bytes);
    mem_free(inode->synced);
    mem_free(inode->dirty);
    mem_free(inode);
}

static void inode_write(struct sim_inode *inode, const void *data, size_t len, uint64_t offset)
{
    inode_reserve(inode, offset + len);
    memcpy(inode->bytes + offset, data, len);
    for (uint64_t at = offset / SECTOR; len > 0 && at <= (offset + len - 1) / SECTOR; at++) {
        inode->dirty[at] = true;
    }
    inode->size = MAX(inode->size, offset + len);
}

static void inode_resize(struct sim_inode *inode, uint64_t size)
{
    inode_reserve(inode, size);
    if (size < inode->size) {
        memset(inode->bytes + size, 0, inode->size - size);
        for (uint64_t at = size / SECTOR; at * SECTOR < inode->size; at++) {
            inode->dirty[at] = true;
        }
    }
    inode->size = size;
}

static void inode_sync(struct sim_inode *inode)
{
    memcpy(inode->synced, inode->bytes, inode->capacity);
    memset(inode->dirty, 0, inode->capacity / SECTOR);
    inode->synced_size = inode->size;
}

/* Some sectors reach the disk; all count as clean from now on. */
static void inode_fail_sync(struct sim_inode *inode, struct random *random)
{
    for (uint64_t at = 0; at < inode->capacity / SECTOR; at++) {
        if (inode->dirty[at] && sim_below(random, 2) == 0) {
            memcpy(inode->synced + at * SECTOR, inode->bytes + at * SECTOR, SECTOR);
        }
        inode->dirty[at] = false;
    }
    if (sim_below(random, 2) == 0) {
        inode->synced_size = inode->size;
    }
}

static struct sim_inode *inode_copy(const struct sim_inode *from)
{
    struct sim_inode *inode = mem_zalloc(sizeof(*inode));
    inode_reserve(inode, from->capacity);
    if (from->capacity > 0) {
        memcpy(inode->bytes, from->bytes, from->capacity);
        memcpy(inode->synced, from->synced, from->capacity);
        memcpy(inode->dirty, from->dirty, from->capacity / SECTOR);
    }
    inode->size = from->size;
    inode->synced_size = from->synced_size;
    return inode;
}

/* What the next process finds: `new_chance` of 100 for a sector to be new, the rest old, and some
 * garbage. */
static void inode_cut_power(struct sim_inode *inode, struct random *random, uint64_t new_chance,
                            uint64_t garbage_chance)
{
    for (uint64_t at = 0; at < inode->capacity / SECTOR; at++) {
        char *synced = inode->synced + at * SECTOR;
        if (inode->dirty[at] && sim_below(random, 100) < new_chance) {
            memcpy(synced, inode->bytes + at * SECTOR, SECTOR);
        } else if (inode->dirty[at] && sim_below(random, 100) < garbage_chance) {
            for (size_t i = 0; i < SECTOR; i += 8) {
                uint64_t value = random_next(random);
                memcpy(synced + i, &value, 8);
            }
        }
        inode->dirty[at] = false;
    }
    if (inode->synced_size != inode->size && sim_below(random, 2) == 0) {
        inode->synced_size = inode->size;
    }
    inode->size = inode->synced_size;
    if (inode->capacity > inode->size) {
        memset(inode->synced + inode->size, 0, inode->capacity - inode->size);
    }
    if (inode->capacity > 0) {
        memcpy(inode->bytes, inode->synced, inode->capacity);
    }
}

/* Names -------------------------------------------------------------------------------------- */

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static int find_name(const struct sim_name *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i].name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static void apply_change(struct sim_name **names, size_t *count, const struct sim_change *change)
{
    int from = change->from[0] != '\0' ? find_name(*names, *count, change->from) : -1;
    if (change->from[0] != '\0' && from < 0) {
        return; /* what it depends upon did not happen */
    }
    if (from >= 0) {
        (*names)[from] = (*names)[--*count];
    }
    if (change->to[0] != '\0') {
        int to = find_name(*names, *count, change->to);
        if (to < 0) {
            *names = mem_realloc(*names, (*count + 1) * sizeof(**names));
            to = (int)(*count)++;
            strcpy((*names)[to].name, change->to);
        }
        (*names)[to].inode = change->inode;
    }
}

static void change_names(struct sim_files *sim, const char *from, const char *to, int inode)
{
    struct sim_change change = {.inode = inode};
    assert(strlen(from) < NAME_MAX_LEN && strlen(to) < NAME_MAX_LEN);
    strcpy(change.from, from);
    strcpy(change.to, to);
    apply_change(&sim->names, &sim->name_count, &change);
    sim->changes = mem_realloc(sim->changes, (sim->change_count + 1) * sizeof(*sim->changes));
    sim->changes[sim->change_count++] = change;
}

static void copy_names(struct sim_name **to, size_t *to_count, const struct sim_name *from,
                       size_t count)
{
    *to = mem_realloc(*to, (count + 1) * sizeof(**to));
    if (count > 0) {
        memcpy(*to, from, count * sizeof(*from));
    }
    *to_count = count;
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

static int add_inode(struct sim_files *sim, struct sim_inode *inode)
{
    sim->inodes = mem_realloc(sim->inodes, (sim->inode_count + 1) * sizeof(struct sim_inode *));
    sim->inodes[sim->inode_count] = inode;
    return (int)sim->inode_count++;
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

static int sim_open(const struct files *files, const char *path, int flags)
{
    struct sim_files *sim = sim_of(files);
    if ((flags & O_CREAT) != 0 ? begin_call(sim) : begin_read(sim)) {
        return -1;
    }
    int at = find_name(sim->names, sim->name_count, last_part(path));
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
        inode = add_inode(sim, mem_zalloc(sizeof(struct sim_inode)));
        change_names(sim, "", last_part(path), inode);
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
    int at = find_name(sim->names, sim->name_count, name);
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
    int at = find_name(sim->names, sim->name_count, last_part(from));
    if (at < 0) {
        errno = ENOENT;
        return -1;
    }
    change_names(sim, last_part(from), last_part(to), sim->names[at].inode);
    return 0;
}

static int sim_unlink(const struct files *files, const char *path)
{
    struct sim_files *sim = sim_of(files);
    if (begin_call(sim)) {
        return -1;
    }
    if (find_name(sim->names, sim->name_count, last_part(path)) < 0) {
        errno = ENOENT;
        return -1;
    }
    change_names(sim, last_part(path), "", -1);
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
        copy_names(&sim->synced_names, &sim->synced_name_count, sim->names, sim->name_count);
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
    copy_names(&names, &count, sim->names, sim->name_count);
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

/* Inodes without a name are not copied. */
static void copy_named_inodes(struct sim_files *to, const struct sim_files *from,
                              const struct sim_name *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int inode = names[i].inode;
        if (to->inodes[inode] == NULL) {
            to->inodes[inode] = inode_copy(from->inodes[inode]);
        }
    }
}

static struct sim_files *copy_of(const struct sim_files *from, uint64_t seed)
{
    struct sim_files *sim = sim_create(seed, from->bug);
    sim->inode_count = from->inode_count;
    sim->inodes = mem_zalloc((from->inode_count + 1) * sizeof(struct sim_inode *));
    copy_named_inodes(sim, from, from->names, from->name_count);
    copy_named_inodes(sim, from, from->synced_names, from->synced_name_count);
    for (size_t i = 0; i < from->change_count; i++) {
        int inode = from->changes[i].inode;
        if (inode >= 0 && sim->inodes[inode] == NULL) {
            sim->inodes[inode] = inode_copy(from->inodes[inode]);
        }
    }
    copy_names(&sim->names, &sim->name_count, from->names, from->name_count);
    copy_names(&sim->synced_names, &sim->synced_name_count, from->synced_names,
               from->synced_name_count);
    sim->changes = mem_alloc((from->change_count + 1) * sizeof(*sim->changes));
    if (from->change_count > 0) {
        memcpy(sim->changes, from->changes, from->change_count * sizeof(*sim->changes));
    }
    sim->change_count = from->change_count;
    return sim;
}

/* Half of the time, or always if names are ordered, a prefix of the changes happened; else any of
 * them may have. */
static void cut_names(struct sim_files *sim, struct random *random)
{
    bool in_order = sim_below(random, 2) == 0 || sim->has_ordered_names;
    uint64_t prefix = sim_below(random, sim->change_count + 1);
    for (size_t i = 0; i < sim->change_count; i++) {
        if (in_order ? i < prefix : sim_below(random, 2) == 0) {
            apply_change(&sim->synced_names, &sim->synced_name_count, &sim->changes[i]);
        }
    }
    sim->change_count = 0;
    copy_names(&sim->names, &sim->name_count, sim->synced_names, sim->synced_name_count);
}

struct sim_files *sim_crashed(const struct sim_files *from, enum sim_crash kind,
                              struct random *random)
{
    static const uint64_t new_chances[] = {0, 10, 50, 90, 100};
    struct sim_files *sim = copy_of(from, random_next(random));
    if (kind == SIM_KILL) {
        return sim;
    }
    uint64_t new_chance = new_chances[sim_below(random, COUNT_OF(new_chances))];
    uint64_t garbage_chance = sim_below(random, 3) == 0 && !from->has_no_garbage ? 50 : 0;
    for (size_t i = 0; i < sim->inode_count; i++) {
        if (sim->inodes[i] != NULL) {
            inode_cut_power(sim->inodes[i], random, new_chance, garbage_chance);
        }
    }
    sim->has_ordered_names = from->has_ordered_names;
    cut_names(sim, random);
    return sim;
}

/* Damage ------------------------------------------------------------------------------------- */

size_t sim_file_count(const struct sim_files *sim)
{
    return sim->name_count;
}

const char *sim_file_name(const struct sim_files *sim, size_t index)
{
    return sim->names[index].name;
}

static struct sim_inode *inode_at(const struct sim_files *sim, size_t index)
{
    assert(index < sim->name_count);
    return sim->inodes[sim->names[index].inode];
}

uint64_t sim_file_bytes(const struct sim_files *sim, size_t index)
{
    return inode_at(sim, index)->size;
}

void sim_flip_bit(struct sim_files *sim, size_t index, uint64_t bit)
{
    struct sim_inode *inode = inode_at(sim, index);
    assert(bit / 8 < inode->size);
    inode->bytes[bit / 8] = (char)(inode->bytes[bit / 8] ^ 1 << bit % 8);
    inode->synced[bit / 8] = (char)(inode->synced[bit / 8] ^ 1 << bit % 8);
}

void sim_scramble_sector(struct sim_files *sim, size_t index, uint64_t sector)
{
    struct sim_inode *inode = inode_at(sim, index);
    for (uint64_t i = sector * SECTOR; i < MIN(inode->size, (sector + 1) * SECTOR); i++) {
        inode->bytes[i] = inode->synced[i] = (char)random_next(&sim->random);
    }
}

void sim_truncate(struct sim_files *sim, size_t index, uint64_t bytes)
{
    struct sim_inode *inode = inode_at(sim, index);
    inode_resize(inode, bytes);
    inode_sync(inode);
}

void sim_delete(struct sim_files *sim, size_t index)
{
    struct sim_name name = sim->names[index];
    change_names(sim, name.name, "", -1);
    copy_names(&sim->synced_names, &sim->synced_name_count, sim->names, sim->name_count);
    sim->change_count = 0;
}

static void load_file(struct sim_files *sim, const char *directory, const char *name)
{
    char path[400];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    struct stat found;
    int failed = stat(path, &found);
    assert(failed == 0);
    if (!S_ISREG(found.st_mode)) {
        return; /* a socket or a directory */
    }
    FILE *file = fopen(path, "rb");
    assert(file != NULL);
    struct sim_inode *inode = mem_zalloc(sizeof(*inode));
    inode_resize(inode, (uint64_t)found.st_size);
    size_t count = inode->size > 0 ? fread(inode->bytes, 1, inode->size, file) : 0;
    assert(count == inode->size);
    fclose(file);
    inode_sync(inode);
    change_names(sim, "", name, add_inode(sim, inode));
}

void sim_load(struct sim_files *sim, const char *directory)
{
    DIR *dir = opendir(directory);
    assert(dir != NULL);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] != '.') {
            load_file(sim, directory, entry->d_name);
        }
    }
    closedir(dir);
    copy_names(&sim->synced_names, &sim->synced_name_count, sim->names, sim->name_count);
    sim->change_count = 0;
}

void sim_save(const struct sim_files *sim, const char *directory)
{
    for (size_t i = 0; i < sim->name_count; i++) {
        const struct sim_inode *inode = inode_at(sim, i);
        char path[200];
        snprintf(path, sizeof(path), "%s/%s", directory, sim->names[i].name);
        FILE *file = fopen(path, "wb");
        assert(file != NULL);
        size_t written = inode->size > 0 ? fwrite(inode->bytes, 1, inode->size, file) : 0;
        assert(written == inode->size);
        fclose(file);
    }
}
