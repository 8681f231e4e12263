/* Writes the write-ahead log: see wal.h; wal_scan.c reads it. Committing thread only. Invariants:
 *  - a block that holds part of a committed record is not written again until the segment has been
 *    released and renamed;
 *  - wal.state names a segment before the first record in it is acknowledged;
 *  - the header of a segment names the record after which it continues; all records behind that one
 *    in older segments are void. */
#include "store/wal/wal.h"

#include <errno.h>

#include "base/mem.h"
#include "store/wal/wal_internal.h"

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

void wal_destroy(struct wal *wal)
{
    if (wal == NULL) {
        return;
    }
    wal_close_current(wal);
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
        size_t len = MIN(bytes.len, WAL_BUFFER_BYTES - filling->used);
        memcpy(wal->buffer + filling->used, bytes.data, len);
        bytes = str_make(bytes.data + len, bytes.len - len);
        filling->used += len;
        good = filling->used < WAL_BUFFER_BYTES || write_buffer(wal, filling);
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
    if (!wal_prepare_segment(wal, bytes)) {
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
    wal_retire_current(wal);
    return good;
}
