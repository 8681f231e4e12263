/* Writes the write-ahead log: see wal.h; wal_scan.c reads it. Committing thread only. Invariants:
 *  - a block that holds part of a committed record is not written again until the segment has been
 *    released and renamed;
 *  - wal.state names a segment before the first record in it is acknowledged;
 *  - the header of a segment names the record after which it continues; all records behind that one
 *    in older segments are void. */
#include "store/wal/wal.h"

#include <errno.h>
#include <fcntl.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/random.h"

/* Size of the buffer for direct writes. */
enum { BUFFER_BYTES = 64 * WAL_BLOCK_BYTES };

/* The segment that is written to. */
struct current {
    int fd; /* -1: there is none */
    struct wal_segment segment;
    uint64_t salt;
    uint64_t end;      /* of its last committed record */
    bool is_named;     /* wal.state names it: it may hold records */
    bool is_direct;    /* written with O_DIRECT */
    bool is_requested; /* a spare file for the next segment was requested */
};

struct wal {
    struct wal_options options;
    char *directory;
    struct wal_state_file *state; /* NULL before wal_recover() */
    struct spares *spares;
    uint64_t next;
    uint64_t previous;     /* checksum of the last committed record */
    uint64_t newest;       /* number of the newest segment */
    uint64_t named;        /* number of the newest segment that wal.state names */
    uint64_t void_segment; /* segment of a record that could not be made void; 0: none */
    uint64_t void_from;    /* number of that record */
    struct current current;
    uint64_t pending_bytes; /* 0: no record is pending */
    uint64_t pending_checksum;
    char *buffer; /* BUFFER_BYTES, aligned */
    bool has_grown;
    /* The segments before the current one, oldest first. */
    struct wal_segment *old;
    size_t old_count;
    size_t old_capacity;
};

struct wal *wal_create(const struct wal_options *options)
{
    struct wal *wal = mem_zalloc(sizeof(*wal));
    wal->options = *options;
    wal->current.fd = -1;
    wal->next = 1;
    if (options->directory != NULL) {
        assert(options->filled_bytes % WAL_BLOCK_BYTES == 0);
        assert(options->growing_bytes % WAL_BLOCK_BYTES == 0);
        assert(options->growing_bytes >= (uint64_t)2 * WAL_BLOCK_BYTES);
        wal->directory = mem_strdup(options->directory);
        wal->options.directory = wal->directory;
    }
    return wal;
}

static void close_current(struct wal *wal)
{
    if (wal->current.fd >= 0) {
        files_close(wal->options.files, wal->current.fd);
    }
    wal->current = (struct current){.fd = -1};
    wal->pending_bytes = 0;
}

void wal_destroy(struct wal *wal)
{
    if (wal == NULL) {
        return;
    }
    close_current(wal);
    wal_state_close(wal->state);
    spares_destroy(wal->spares);
    mem_free(wal->old);
    mem_free(wal->buffer);
    mem_free(wal->directory);
    mem_free(wal);
}

bool wal_initialize(const struct wal_options *options, struct err *err)
{
    return wal_state_create(options->files, options->directory, options->store_id, err);
}

/* Segments ----------------------------------------------------------------------------------- */

static void add_old(struct wal *wal, struct wal_segment segment)
{
    assert(wal->old_count == 0 || wal->old[wal->old_count - 1].number < segment.number);
    assert(wal->old_count == 0 || wal->old[wal->old_count - 1].first <= segment.first);
    if (wal->old_count == wal->old_capacity) {
        wal->old_capacity = MAX(2 * wal->old_capacity, (size_t)16);
        wal->old = mem_realloc(wal->old, wal->old_capacity * sizeof(*wal->old));
    }
    wal->old[wal->old_count++] = segment;
}

static void retire_current(struct wal *wal)
{
    if (wal->current.fd >= 0) {
        add_old(wal, wal->current.segment);
        close_current(wal);
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
            wal->buffer = mem_alloc_aligned(WAL_BLOCK_BYTES, BUFFER_BYTES);
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

/* Begins a segment if the current one has no space for the record. False: errno says why. */
static bool prepare_segment(struct wal *wal, uint64_t record_bytes)
{
    if (has_room(wal, record_bytes) && wal->current.is_named) {
        return true;
    }
    if (!has_room(wal, record_bytes)) {
        retire_current(wal);
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
           stored < wal->next); /* tables never hold a record that was not committed */
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

/* Records ------------------------------------------------------------------------------------ */

uint64_t wal_next(const struct wal *wal)
{
    return wal->next;
}

bool wal_is_fresh(const struct wal *wal)
{
    return wal->current.fd < 0 || wal->current.end == WAL_BLOCK_BYTES;
}

/* Writes a record through the kernel's cache. */
static bool write_cached(const struct wal *wal, struct str header, struct str payload)
{
    static const char zeroes[WAL_BLOCK_BYTES];
    size_t padding = wal->pending_bytes - header.len - payload.len;
    struct iovec parts[] = {{(char *)header.data, header.len},
                            {(char *)payload.data, payload.len},
                            {(char *)zeroes, padding}};
    assert(padding < WAL_BLOCK_BYTES);
    return files_write_all(wal->options.files, wal->current.fd, parts, COUNT_OF(parts),
                           wal->current.end);
}

/* State of the buffer: how much of it is used, and its offset in the file. */
struct filling {
    size_t used;
    uint64_t offset;
};

static bool write_buffer(const struct wal *wal, struct filling *filling)
{
    struct iovec part = {wal->buffer, filling->used};
    bool good = files_write_all(wal->options.files, wal->current.fd, &part, 1, filling->offset);
    filling->offset += filling->used;
    filling->used = 0;
    return good;
}

static bool add_to_buffer(const struct wal *wal, struct filling *filling, struct str bytes)
{
    bool good = true;
    while (good && bytes.len > 0) {
        size_t len = MIN(bytes.len, BUFFER_BYTES - filling->used);
        memcpy(wal->buffer + filling->used, bytes.data, len);
        bytes = str_make(bytes.data + len, bytes.len - len);
        filling->used += len;
        good = filling->used < BUFFER_BYTES || write_buffer(wal, filling);
    }
    return good;
}

/* Writes a record with O_DIRECT: whole blocks, the last one padded with zeroes. */
static bool write_direct(const struct wal *wal, struct str header, struct str payload)
{
    struct filling filling = {.offset = wal->current.end};
    if (!add_to_buffer(wal, &filling, header) || !add_to_buffer(wal, &filling, payload)) {
        return false;
    }
    size_t in_last = filling.used % WAL_BLOCK_BYTES;
    if (in_last > 0) {
        memset(wal->buffer + filling.used, 0, WAL_BLOCK_BYTES - in_last);
        filling.used += WAL_BLOCK_BYTES - in_last;
    }
    return filling.used == 0 || write_buffer(wal, &filling);
}

/* Whether a direct write failed because the disk needs larger blocks; if so, switches O_DIRECT off.
 */
static bool is_direct_refused(struct wal *wal)
{
    const struct files *files = wal->options.files;
    bool refused = wal->current.is_direct && errno == EINVAL &&
                   files->set_direct(files, wal->current.fd, false) == 0;
    wal->current.is_direct = wal->current.is_direct && !refused;
    return refused;
}

static bool write_record(struct wal *wal, struct str header, struct str payload)
{
    if (wal->current.is_direct && write_direct(wal, header, payload)) {
        return true;
    }
    return (!wal->current.is_direct || is_direct_refused(wal)) &&
           write_cached(wal, header, payload);
}

bool wal_append(struct wal *wal, struct str payload)
{
    if (wal->directory == NULL) {
        return true;
    }
    assert(wal->state != NULL);
    assert(wal->pending_bytes == 0);
    uint64_t bytes = wal_record_blocks_bytes(payload.len);
    if (!prepare_segment(wal, bytes)) {
        return false;
    }
    assert(wal->current.end % WAL_BLOCK_BYTES == 0);
    assert(wal->current.end + bytes <= wal->current.segment.size_bytes);
    struct wal_record record = {
        .number = wal->next, .salt = wal->current.salt, .previous = wal->previous};
    uint8_t header[WAL_RECORD_HEADER_LEN];
    wal->pending_checksum = wal_record_encode(record, payload, header);
    wal->pending_bytes = bytes;
    return write_record(wal, str_make((const char *)header, sizeof(header)), payload) &&
           files_sync(wal->options.files, wal->current.fd);
}

/* Requests the next spare file early enough for it to be filled in time. */
static void request_spare(struct wal *wal)
{
    if (!wal->current.is_requested && wal->current.end > wal->current.segment.size_bytes / 2) {
        wal->current.is_requested = true;
        spares_request(wal->spares);
    }
}

void wal_commit(struct wal *wal)
{
    if (wal->directory == NULL) {
        return;
    }
    assert(wal->pending_bytes > 0);
    assert(wal->current.is_named);
    wal->current.end += wal->pending_bytes;
    wal->previous = wal->pending_checksum;
    wal->pending_bytes = 0;
    wal_state_mark(wal->state, wal->next);
    wal->next++;
    request_spare(wal);
}

/* After a failed sync it is not known which unsynced blocks of the file are on disk. So the segment
 * is not written again, and wal.state declares its next record void. */
bool wal_discard(struct wal *wal)
{
    if (wal->pending_bytes == 0) {
        return true; /* nothing was written */
    }
    assert(wal->current.fd >= 0);
    struct wal_state state = {.segment = wal->current.segment.number, .void_from = wal->next};
    bool good = wal_state_write(wal->state, &state);
    wal->void_segment = good ? 0 : state.segment;
    wal->void_from = state.void_from;
    retire_current(wal);
    return good;
}

/* Opening and closing ------------------------------------------------------------------------ */

static void log_finding(void *context, const struct wal_finding *finding)
{
    (void)context;
    if (finding->severity == WAL_DAMAGE) {
        return; /* the caller logs it */
    }
    log_write(finding->severity == WAL_NOTE ? LOG_INFO : LOG_WARN, "store",
              "%s, offset %llu, record %llu: %s", finding->path,
              (unsigned long long)finding->offset, (unsigned long long)finding->record,
              finding->text);
}

static bool io_failed(const struct wal *wal, const char *path, struct err *err)
{
    return err_set(err, ERR_INTERNAL, "cannot recover the write-ahead log in %s: %s: %s",
                   wal->directory, path, strerror(errno));
}

static bool sync_file(const struct wal *wal, const char *path)
{
    const struct files *files = wal->options.files;
    int fd = files->open(files, path, O_RDWR);
    if (fd < 0) {
        return false;
    }
    bool good = files_sync(files, fd);
    files_close(files, fd);
    return good;
}

/* Syncs the segments that were read: if the last process was killed before its sync, they may be in
 * the kernel's cache only, and new records depend on them. */
static bool sync_segments(const struct wal *wal, const struct wal_scan *scan, struct err *err)
{
    struct buf path = {0};
    bool good = true;
    for (size_t i = 0; good && i < scan->segment_count; i++) {
        wal_segment_path(wal->directory, scan->segments[i].number, &path);
        good = sync_file(wal, path.data) || io_failed(wal, path.data, err);
    }
    buf_finish(&path);
    return good;
}

/* Writes both copies of the state again: one may be damaged, or in the kernel's cache only. Marks
 * the last record: it is on disk now, and the mark of the last process may not be. */
static bool open_state(struct wal *wal, const struct wal_scan *scan, struct err *err)
{
    const struct wal_options *options = &wal->options;
    wal_state_close(wal->state);
    wal->state = wal_state_open(options->files, wal->directory, options->store_id, &scan->found);
    if (wal->state == NULL) {
        return io_failed(wal, "wal.state", err);
    }
    if (scan->next > 1) {
        wal_state_mark(wal->state, scan->next - 1);
    }
    return wal_state_write(wal->state, &scan->found.state) || io_failed(wal, "wal.state", err);
}

static void delete_others(struct wal *wal, const struct wal_scan *scan)
{
    struct buf path = {0};
    for (size_t i = 0; i < scan->other_count; i++) {
        wal_segment_path(wal->directory, scan->other_segments[i], &path);
        wal->options.files->unlink(wal->options.files, path.data);
    }
    buf_finish(&path);
}

/* Continues the log that the scan has found. */
static bool adopt(struct wal *wal, const struct wal_scan *scan, struct err *err)
{
    if (!sync_segments(wal, scan, err) || !open_state(wal, scan, err)) {
        return false;
    }
    const struct wal_options *options = &wal->options;
    wal->next = scan->next;
    wal->previous = scan->previous;
    wal->newest = scan->found.state.segment;
    wal->named = wal->newest;
    wal->old_count = 0;
    for (size_t i = 0; i < scan->segment_count; i++) {
        add_old(wal, scan->segments[i]);
    }
    delete_others(wal, scan);
    if (wal->spares == NULL) {
        wal->spares = spares_create(options->files, wal->directory, options->filled_bytes,
                                    options->has_thread);
    }
    return true;
}

/* A record that could not be made void when it was discarded must be made void before the log is
 * read again: the kernel's cache may hold blocks of it that never reached the disk. */
static bool settle_void(struct wal *wal, struct err *err)
{
    if (wal->void_segment == 0) {
        return true;
    }
    struct wal_state state = {.segment = wal->void_segment, .void_from = wal->void_from};
    if (!wal_state_write(wal->state, &state)) {
        return io_failed(wal, "wal.state", err);
    }
    wal->void_segment = 0;
    return true;
}

/* Reads the log twice: all of it is checked before a record is applied or a file is changed. */
bool wal_recover(struct wal *wal, uint64_t stored, wal_apply *apply, void *context, struct err *err)
{
    if (wal->directory == NULL) {
        return true;
    }
    if (!settle_void(wal, err)) {
        return false;
    }
    close_current(wal);
    struct wal_scan_input input = {.files = wal->options.files,
                                   .directory = wal->directory,
                                   .store_id = wal->options.store_id,
                                   .stored = stored,
                                   .report = log_finding,
                                   .context = context};
    struct wal_scan scan;
    bool good = wal_scan(&input, &scan, err) && adopt(wal, &scan, err);
    wal_scan_finish(&scan);
    if (!good) {
        return false;
    }
    input.report = NULL;
    input.apply = apply;
    good = wal_scan(&input, &scan, err);
    if (good && scan.next != wal->next) {
        good = err_set(err, ERR_INTERNAL, "the write-ahead log in %s changed while it was read",
                       wal->directory);
    }
    wal_scan_finish(&scan);
    if (good) {
        wal_release(wal, stored);
    }
    return good;
}

void wal_close_cleanly(struct wal *wal, const struct wal_tables *tables)
{
    if (wal->directory == NULL || wal->state == NULL || wal->pending_bytes > 0) {
        return;
    }
    struct wal_state state = {.segment = wal->newest,
                              .void_from = wal->next,
                              .is_clean = true,
                              .last = wal->next - 1,
                              .last_checksum = wal->previous,
                              .tables = *tables};
    if (!wal_state_write(wal->state, &state)) {
        log_write(LOG_WARN, "store", "cannot write %s/wal.state: %s", wal->directory,
                  strerror(errno));
    }
}
