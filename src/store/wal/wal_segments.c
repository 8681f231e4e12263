/* The segments of the write-ahead log: begins one when a record does not fit into the current one,
 * and releases those whose records are all in SST files. wal.c has the invariants. Committing
 * thread only. */
#include <errno.h>
#include <fcntl.h>

#include "base/mem.h"
#include "base/random.h"
#include "store/wal/wal_internal.h"

void wal_close_current(struct wal *wal)
{
    if (wal->current.fd >= 0) {
        files_close(wal->options.files, wal->current.fd);
    }
    wal->current = (struct current){.fd = -1};
    wal->pending_bytes = 0;
}

void wal_add_old(struct wal *wal, struct wal_segment segment)
{
    assert(wal->old_count == 0 || wal->old[wal->old_count - 1].number < segment.number);
    assert(wal->old_count == 0 || wal->old[wal->old_count - 1].first <= segment.first);
    if (wal->old_count == wal->old_capacity) {
        wal->old_capacity = MAX(2 * wal->old_capacity, (size_t)16);
        wal->old = mem_realloc(wal->old, wal->old_capacity * sizeof(*wal->old));
    }
    wal->old[wal->old_count++] = segment;
}

void wal_retire_current(struct wal *wal)
{
    if (wal->current.fd >= 0) {
        wal_add_old(wal, wal->current.segment);
        wal_close_current(wal);
    }
}

/* Opens a spare file if the record fits into it; else creates a file with its final length, whose
 * blocks the file system allocates when they are written. */
static int open_segment_file(struct wal *wal, const char *path, uint64_t record_bytes,
                             uint64_t *out_size)
{
    const struct files *files = wal->options.files;
    *out_size = wal->options.filled_bytes;
    int fd = -1;
    if (record_bytes + WAL_BLOCK_BYTES <= wal->options.filled_bytes) {
        fd = spares_take(wal->spares, path);
    }
    if (fd >= 0) {
        return fd;
    }
    *out_size = MAX(wal->options.growing_bytes, record_bytes + WAL_BLOCK_BYTES);
    fd = files->open(files, path, O_CREAT | O_TRUNC | O_RDWR);
    if (fd >= 0 && files->resize(files, fd, *out_size) != 0) {
        files_close(files, fd);
        fd = -1;
    }
    return fd;
}

static bool write_header(struct wal *wal, const struct current *current)
{
    const struct files *files = wal->options.files;
    struct wal_header header = {.number = current->segment.number,
                                .size_bytes = current->segment.size_bytes,
                                .first = current->segment.first,
                                .previous = wal->previous,
                                .salt = current->salt};
    memcpy(header.store_id, wal->options.store_id, STORE_ID_LEN);
    uint8_t *block = mem_zalloc(WAL_BLOCK_BYTES);
    wal_header_encode(&header, block);
    struct iovec part = {block, WAL_BLOCK_BYTES};
    bool good = files_write_all(files, current->fd, &part, 1, 0) &&
                files_sync(files, current->fd) && files->sync_directory(files, wal->directory) == 0;
    mem_free(block);
    return good;
}

/* Switches to O_DIRECT, which takes a tenth less time, if the file is preallocated and the file
 * system allows it. */
static void try_direct(struct wal *wal, struct current *current)
{
    const struct files *files = wal->options.files;
    if (current->segment.size_bytes == wal->options.filled_bytes &&
        files->set_direct(files, current->fd, true) == 0) {
        current->is_direct = true;
        if (wal->buffer == NULL) {
            wal->buffer = mem_alloc_aligned(WAL_BLOCK_BYTES, WAL_BUFFER_BYTES);
        }
    }
}

static uint64_t make_salt(struct wal *wal)
{
    uint64_t salt;
    random_system(&salt, sizeof(salt));
    if (UNLIKELY(wal->options.salt_seed != 0)) {
        salt = wal->options.salt_seed++ * 0x9E3779B97F4A7C15U;
    }
    return salt;
}

static bool create_segment(struct wal *wal, uint64_t record_bytes)
{
    const struct files *files = wal->options.files;
    struct current current = {.end = WAL_BLOCK_BYTES};
    current.segment = (struct wal_segment){.number = wal->newest + 1, .first = wal->next};
    current.salt = make_salt(wal);
    struct buf path = {0};
    wal_segment_path(wal->directory, current.segment.number, &path);
    current.fd = open_segment_file(wal, path.data, record_bytes, &current.segment.size_bytes);
    bool good = current.fd >= 0 && write_header(wal, &current);
    if (good) {
        try_direct(wal, &current);
        wal->current = current;
        wal->newest = current.segment.number;
    } else {
        int error = errno;
        if (current.fd >= 0) {
            files_close(files, current.fd);
        }
        files->unlink(files, path.data); /* wal.state does not name it: it is void in any case */
        errno = error;
    }
    buf_finish(&path);
    return good;
}

/* Writes the number of the segment to wal.state. After a failure it is repeated before the next
 * record. */
static bool name_segment(struct wal *wal)
{
    struct wal_state state = {.segment = wal->current.segment.number};
    wal->current.is_named = wal_state_write(wal->state, &state);
    if (wal->current.is_named) {
        wal->named = state.segment;
        wal->void_segment = 0; /* the header says which record of the older ones was the last */
    }
    return wal->current.is_named;
}

static bool has_room(const struct wal *wal, uint64_t record_bytes)
{
    return wal->current.fd >= 0 &&
           wal->current.end + record_bytes <= wal->current.segment.size_bytes;
}

bool wal_prepare_segment(struct wal *wal, uint64_t record_bytes)
{
    if (has_room(wal, record_bytes) && wal->current.is_named) {
        return true;
    }
    if (!has_room(wal, record_bytes)) {
        wal_retire_current(wal);
        if (!create_segment(wal, record_bytes)) {
            return false;
        }
        wal->has_grown = true;
    }
    assert(wal->current.end == WAL_BLOCK_BYTES);
    assert(wal->current.segment.first == wal->next);
    return name_segment(wal);
}

static void delete_segment(struct wal *wal, struct wal_segment segment)
{
    struct buf path = {0};
    wal_segment_path(wal->directory, segment.number, &path);
    if (segment.size_bytes == wal->options.filled_bytes) {
        spares_give(wal->spares, path.data);
    } else {
        wal->options.files->unlink(wal->options.files, path.data);
    }
    buf_finish(&path);
}

/* A segment ends where the next one begins. The segment that wal.state names is kept. */
void wal_release(struct wal *wal, uint64_t stored)
{
    assert(wal->next == 0 ||
           stored < wal->next); /* SST files never hold a record that was not committed */
    wal->has_grown = false;
    size_t count = 0;
    while (count < wal->old_count && wal->old[count].number < wal->named) {
        bool is_last = count + 1 == wal->old_count;
        assert(!is_last || wal->current.fd >= 0);
        uint64_t end = is_last ? wal->current.segment.first : wal->old[count + 1].first;
        if (end > stored + 1) {
            break;
        }
        delete_segment(wal, wal->old[count++]);
    }
    wal->old_count -= count;
    if (count > 0) {
        memmove(wal->old, wal->old + count, wal->old_count * sizeof(*wal->old));
    }
}

bool wal_has_grown(const struct wal *wal)
{
    return wal->has_grown;
}

size_t wal_segment_count(const struct wal *wal)
{
    return wal->old_count + (wal->current.fd >= 0);
}

uint64_t wal_bytes(const struct wal *wal)
{
    uint64_t bytes = wal->current.fd >= 0 ? wal->current.end : 0;
    for (size_t i = 0; i < wal->old_count; i++) {
        bytes += wal->old[i].size_bytes;
    }
    return bytes;
}

void wal_drop_spares(struct wal *wal)
{
    if (wal->spares != NULL) {
        spares_clear(wal->spares);
    }
}
