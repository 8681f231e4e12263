#include "store/rocks/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "store/rocks/directory.h"
#include "store/rocks/spares.h"

/* A file that grows is left soon for one that was filled beforehand, if there is one by then. */
enum { GROWING_BYTES_MAX = 1 << 20 };

/* What is written past the kernel's cache is in whole blocks, and so many of them at once. */
enum { BLOCK_BYTES = 4096, BLOCKS_BYTES = 64 * BLOCK_BYTES };

struct header {
    uint32_t crc;
    uint32_t length;
    uint64_t mark; /* number ^ secret */
};

struct segment {
    uint64_t first; /* number of its first record */
    bool is_filled; /* it has SPARE_BYTES */
};

struct journal {
    char *directory;
    struct spares *spares;
    uint64_t secret;
    uint64_t next;
    struct segment current;
    int fd;         /* of the current segment; -1: there is none */
    uint64_t end;   /* of its last record that stays */
    size_t pending; /* bytes of the record behind it */
    bool is_direct; /* the segment is written past the kernel's cache: see write_direct() */
    char *blocks;   /* BLOCKS_BYTES; first the bytes of the block in which the last record ends */
    bool has_wished;
    bool has_grown;
    /* Before the current one, by number. */
    struct segment *old;
    size_t old_count;
    size_t old_capacity;
};

struct journal *journal_create(const char *directory)
{
    struct journal *journal = mem_zalloc(sizeof(*journal));
    journal->fd = -1;
    journal->next = 1;
    journal->old_capacity = 16;
    journal->old = mem_alloc(journal->old_capacity * sizeof(*journal->old));
    if (directory != NULL) {
        journal->directory = mem_strdup(directory);
        journal->spares = spares_create(directory);
    }
    return journal;
}

static void close_current(struct journal *journal)
{
    if (journal->fd >= 0) {
        close(journal->fd);
    }
    journal->fd = -1;
    journal->end = 0;
    journal->pending = 0;
    journal->is_direct = false;
}

void journal_destroy(struct journal *journal)
{
    if (journal == NULL) {
        return;
    }
    close_current(journal);
    if (journal->spares != NULL) {
        spares_destroy(journal->spares);
    }
    mem_free(journal->old);
    mem_free(journal->blocks);
    mem_free(journal->directory);
    mem_free(journal);
}

/* Segments --------------------------------------------------------------------------------- */

static void path_of(const struct journal *journal, uint64_t first, struct buf *out)
{
    out->len = 0;
    buf_format(out, "%s/%020llu.journal", journal->directory, (unsigned long long)first);
}

static void add_old(struct journal *journal, struct segment segment)
{
    if (journal->old_count == journal->old_capacity) {
        journal->old_capacity *= 2;
        journal->old = mem_realloc(journal->old, journal->old_capacity * sizeof(*journal->old));
    }
    journal->old[journal->old_count++] = segment;
}

/* A file that has its length and its place can do without the kernel's cache, which takes a tenth
 * less time; if the file system lets it. */
static void go_direct(struct journal *journal)
{
    journal->is_direct = fcntl(journal->fd, F_SETFL, O_DIRECT) == 0;
    if (journal->is_direct && journal->blocks == NULL) {
        journal->blocks = mem_alloc_aligned(BLOCK_BYTES, BLOCKS_BYTES);
    }
}

/* One that was begun for the same number, and in which nothing stays, is replaced. */
static bool begin_segment(struct journal *journal)
{
    if (journal->fd >= 0) {
        add_old(journal, journal->current);
        close_current(journal);
    }
    while (journal->old_count > 0 && journal->old[journal->old_count - 1].first == journal->next) {
        journal->old_count--;
    }
    struct buf path = {0};
    path_of(journal, journal->next, &path);
    journal->fd = spares_take(journal->spares, path.data);
    journal->current = (struct segment){.first = journal->next, .is_filled = journal->fd >= 0};
    if (journal->fd >= 0) {
        go_direct(journal);
    } else {
        journal->fd = open(path.data, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0644);
    }
    journal->has_wished = false;
    journal->has_grown = true;
    buf_finish(&path);
    return journal->fd >= 0 && directory_sync(journal->directory);
}

static uint64_t segment_bytes(const struct journal *journal)
{
    return journal->current.is_filled ? SPARE_BYTES : GROWING_BYTES_MAX;
}

static void discard(struct journal *journal, struct segment segment)
{
    struct buf path = {0};
    path_of(journal, segment.first, &path);
    if (segment.is_filled) {
        spares_give(journal->spares, path.data);
    } else {
        unlink(path.data);
    }
    buf_finish(&path);
}

/* A segment ends where the next one begins, and the last but one where the current one does. */
void journal_release(struct journal *journal, uint64_t stored)
{
    journal->has_grown = false;
    size_t count = 0;
    while (count < journal->old_count) {
        uint64_t end =
            count + 1 < journal->old_count ? journal->old[count + 1].first : journal->current.first;
        if (journal->fd < 0 || end - 1 > stored) {
            break;
        }
        discard(journal, journal->old[count++]);
    }
    journal->old_count -= count;
    memmove(journal->old, journal->old + count, journal->old_count * sizeof(*journal->old));
}

bool journal_has_grown(const struct journal *journal)
{
    return journal->has_grown;
}

void journal_spare(struct journal *journal)
{
    if (journal->spares != NULL) {
        spares_clear(journal->spares);
    }
}

/* Writing ---------------------------------------------------------------------------------- */

uint64_t journal_next(const struct journal *journal)
{
    return journal->next;
}

bool journal_is_fresh(const struct journal *journal)
{
    return journal->end == 0;
}

static uint32_t checksum(const struct header *header, struct str record)
{
    const char *covered = (const char *)header + sizeof(header->crc);
    uint32_t crc = libdeflate_crc32(0, covered, sizeof(*header) - sizeof(header->crc));
    return libdeflate_crc32(crc, record.data, record.len);
}

static bool write_at(int fd, struct iovec *parts, int count, uint64_t offset)
{
    while (count > 0) {
        ssize_t written = pwritev(fd, parts, count, (off_t)offset);
        if (written < 0) {
            return false;
        }
        offset += (uint64_t)written;
        size_t left = (size_t)written;
        for (; count > 0 && left >= parts->iov_len; parts++, count--) {
            left -= parts->iov_len;
        }
        if (count > 0) {
            parts->iov_base = (char *)parts->iov_base + left;
            parts->iov_len -= left;
        }
    }
    return true;
}

/* Through the kernel's cache. */
static bool write_cached(const struct journal *journal, struct str header, struct str record)
{
    struct iovec parts[] = {{(char *)header.data, header.len}, {(char *)record.data, record.len}};
    return write_at(journal->fd, parts, COUNT_OF(parts), journal->end);
}

/* Of the blocks: how full they are, and where they go. */
struct filling {
    size_t used;
    uint64_t offset;
};

static bool write_blocks(const struct journal *journal, struct filling *filling)
{
    struct iovec part = {journal->blocks, filling->used};
    bool good = write_at(journal->fd, &part, 1, filling->offset);
    filling->offset += filling->used;
    filling->used = 0;
    return good;
}

static bool add_to_blocks(const struct journal *journal, struct filling *filling, struct str bytes)
{
    bool good = true;
    while (good && bytes.len > 0) {
        size_t len = MIN(bytes.len, BLOCKS_BYTES - filling->used);
        memcpy(journal->blocks + filling->used, bytes.data, len);
        bytes = str_make(bytes.data + len, bytes.len - len);
        filling->used += len;
        good = filling->used < BLOCKS_BYTES || write_blocks(journal, filling);
    }
    return good;
}

/* Writes what there is with zeroes behind it. What is in the last block comes first then. */
static bool write_last_blocks(const struct journal *journal, struct filling *filling)
{
    size_t in_last = filling->used % BLOCK_BYTES;
    size_t last = filling->used - in_last;
    if (in_last > 0) {
        memset(journal->blocks + filling->used, 0, BLOCK_BYTES - in_last);
        filling->used = last + BLOCK_BYTES;
    }
    bool good = filling->used == 0 || write_blocks(journal, filling);
    memmove(journal->blocks, journal->blocks + last, in_last);
    return good;
}

/* The block in which the last record ends is written again. */
static bool write_direct(const struct journal *journal, struct str header, struct str record)
{
    size_t used = journal->end % BLOCK_BYTES;
    struct filling filling = {.used = used, .offset = journal->end - used};
    return add_to_blocks(journal, &filling, header) && add_to_blocks(journal, &filling, record) &&
           write_last_blocks(journal, &filling);
}

/* Disks may want larger blocks than ours. */
static bool is_direct_refused(struct journal *journal)
{
    bool refused = journal->is_direct && errno == EINVAL && fcntl(journal->fd, F_SETFL, 0) == 0;
    journal->is_direct = journal->is_direct && !refused;
    return refused;
}

static bool write_record(struct journal *journal, struct str header, struct str record)
{
    if (journal->is_direct && write_direct(journal, header, record)) {
        return true;
    }
    return (!journal->is_direct || is_direct_refused(journal)) &&
           write_cached(journal, header, record);
}

/* Early enough for it to be filled in time. */
static void wish_for_spare(struct journal *journal)
{
    if (!journal->has_wished && journal->end > segment_bytes(journal) / 2) {
        journal->has_wished = true;
        spares_wish(journal->spares);
    }
}

bool journal_append(struct journal *journal, struct str record)
{
    if (journal->directory == NULL) {
        return true;
    }
    struct header header = {.length = (uint32_t)record.len,
                            .mark = journal->next ^ journal->secret};
    header.crc = checksum(&header, record);
    size_t bytes = sizeof(header) + record.len;
    bool is_full = journal->end > 0 && journal->end + bytes > segment_bytes(journal);
    if ((journal->fd < 0 || is_full) && !begin_segment(journal)) {
        return false;
    }
    journal->pending = bytes;
    struct str head = str_make((const char *)&header, sizeof(header));
    return write_record(journal, head, record) && fdatasync(journal->fd) == 0;
}

void journal_keep(struct journal *journal)
{
    if (journal->directory != NULL) {
        journal->end += journal->pending;
        journal->pending = 0;
        journal->next++;
        wish_for_spare(journal);
    }
}

/* After a failed sync nobody knows what of a file is on disk but what was synced before: it is not
 * written to again. */
bool journal_cut(struct journal *journal)
{
    if (journal->fd < 0) {
        return true;
    }
    bool good = ftruncate(journal->fd, (off_t)journal->end) == 0 && fsync(journal->fd) == 0;
    if (journal->end > 0) {
        journal->current.is_filled = false;
        add_old(journal, journal->current);
    }
    close_current(journal);
    return good;
}

/* Reading ---------------------------------------------------------------------------------- */

static int compare_segments(const void *a, const void *b)
{
    const struct segment *left = a;
    const struct segment *right = b;
    return (left->first > right->first) - (left->first < right->first);
}

static void note_segment(void *context, const char *name)
{
    struct journal *journal = context; /* 00000000000000000042.journal */
    add_old(journal, (struct segment){.first = strtoull(name, NULL, 10)});
}

static bool list_segments(struct journal *journal)
{
    journal->old_count = 0;
    if (!directory_each(journal->directory, ".journal", note_segment, journal)) {
        return false;
    }
    qsort(journal->old, journal->old_count, sizeof(*journal->old), compare_segments);
    return true;
}

/* All of a file, which is on disk then. */
static bool read_file(const char *path, struct buf *out, int *out_fd)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    struct stat stat;
    bool good = fd >= 0 && fdatasync(fd) == 0 && fstat(fd, &stat) == 0;
    out->len = 0;
    while (good && out->len < (size_t)stat.st_size) {
        size_t left = (size_t)stat.st_size - out->len;
        ssize_t got = read(fd, buf_reserve(out, left), left);
        good = got > 0;
        out->len += good ? (size_t)got : 0;
    }
    if (!good && fd >= 0) {
        int error = errno;
        close(fd);
        errno = error;
    }
    *out_fd = fd;
    return good;
}

/* False: the next record is not there. */
static bool parse_record(const struct journal *journal, struct str bytes, struct str *out)
{
    size_t offset = (size_t)journal->end;
    struct header header;
    if (bytes.len - offset < sizeof(header)) {
        return false;
    }
    memcpy(&header, bytes.data + offset, sizeof(header));
    offset += sizeof(header);
    if (header.mark != (journal->next ^ journal->secret) || header.length > bytes.len - offset) {
        return false;
    }
    *out = str_make(bytes.data + offset, header.length);
    return checksum(&header, *out) == header.crc;
}

struct recovery {
    struct journal *journal;
    uint64_t stored;
    journal_apply *apply;
    void *context;
    struct buf path;
    struct buf bytes;
};

/* Up to the first record of the next segment: one with that number was to be cut. */
static bool replay_segment(struct recovery *recovery, uint64_t first, uint64_t until,
                           struct err *err)
{
    struct journal *journal = recovery->journal;
    struct str bytes = buf_str(&recovery->bytes);
    struct str record;
    journal->next = first;
    journal->end = 0;
    while (journal->next < until && parse_record(journal, bytes, &record)) {
        if (journal->next > recovery->stored && !recovery->apply(recovery->context, record, err)) {
            return false;
        }
        journal->end += sizeof(struct header) + record.len;
        journal->next++;
    }
    return true;
}

static bool damaged(const struct journal *journal, struct err *err)
{
    return err_set(err, ERR_INTERNAL, "the journal in %s is damaged: record %llu is missing",
                   journal->directory, (unsigned long long)journal->next);
}

/* The last one stays open. */
static bool recover_segment(struct recovery *recovery, size_t index, struct err *err)
{
    struct journal *journal = recovery->journal;
    struct segment *segment = &journal->old[index];
    bool is_last = index + 1 == journal->old_count;
    uint64_t until = is_last ? UINT64_MAX : segment[1].first;
    if (!is_last && until - 1 <= recovery->stored) {
        return true;
    }
    if (segment->first > journal->next) {
        return damaged(journal, err);
    }
    path_of(journal, segment->first, &recovery->path);
    int fd;
    if (!read_file(recovery->path.data, &recovery->bytes, &fd)) {
        return err_set(err, ERR_INTERNAL, "cannot read %s: %s", recovery->path.data,
                       strerror(errno));
    }
    segment->is_filled = recovery->bytes.len == SPARE_BYTES;
    bool good = replay_segment(recovery, segment->first, until, err);
    if (good && !is_last && journal->next < until) {
        good = damaged(journal, err);
    }
    if (good && is_last) {
        journal->fd = fd;
    } else {
        close(fd);
    }
    return good;
}

static bool recover_all(struct recovery *recovery, struct err *err)
{
    struct journal *journal = recovery->journal;
    if (!list_segments(journal)) {
        return err_set(err, ERR_INTERNAL, "cannot open the store in %s: %s", journal->directory,
                       strerror(errno));
    }
    journal->next = recovery->stored + 1;
    for (size_t i = 0; i < journal->old_count; i++) {
        if (!recover_segment(recovery, i, err)) {
            return false;
        }
    }
    return true;
}

/* Goes on behind the last record. */
static void adopt_last(struct journal *journal, uint64_t stored, bool is_first_time)
{
    bool follows = journal->fd >= 0 && journal->next > stored;
    if (follows && is_first_time) {
        journal->current = journal->old[--journal->old_count];
    } else {
        close_current(journal);
        journal->next = MAX(journal->next, stored + 1);
    }
}

bool journal_recover(struct journal *journal, uint64_t secret, uint64_t stored,
                     journal_apply *apply, void *context, struct err *err)
{
    if (journal->directory == NULL) {
        return true;
    }
    bool is_first_time = journal->next == 1;
    close_current(journal);
    journal->secret = secret;
    struct recovery recovery = {
        .journal = journal, .stored = stored, .apply = apply, .context = context};
    bool good = recover_all(&recovery, err);
    if (good) {
        adopt_last(journal, stored, is_first_time);
        journal_release(journal, stored);
    } else {
        close_current(journal);
    }
    buf_finish(&recovery.path);
    buf_finish(&recovery.bytes);
    return good;
}
