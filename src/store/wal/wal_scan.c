/* Reads and checks the WAL. Distinguishes a record that was being written when the machine stopped
 * (it was never acknowledged, so it is ignored), a flipped bit (corrected), and damage to
 * acknowledged records (reported; the store is not opened).
 *
 * What proves that a record was acknowledged, so that it must exist:
 *  - a newer segment, whose header names the number and checksum of the record before its first;
 *  - an intact record behind it in the same segment, which was written after this one was synced;
 *  - a mark in wal.state, or a clean end of the last process;
 *  - its place in a segment that wal.state does not name: then wal.state is an older version;
 *  - the SST files, which hold only records that were in the WAL before.
 * docs/internals/recovery.md describes what cannot be proven. */
#include "store/wal/wal_scan.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"

struct scanner {
    const struct wal_scan_input *input;
    struct wal_scan *out;
    struct err *err;
    uint64_t *numbers; /* of the files that are there, ascending */
    size_t number_count;
    size_t number_capacity;
    struct wal_header *headers; /* of the needed segments, newest first */
    size_t header_count;
    struct buf path;
    struct buf bytes;
};

void wal_segment_path(const char *directory, uint64_t number, struct buf *out)
{
    out->len = 0;
    buf_format(out, "%s/%020llu.wal", directory, (unsigned long long)number);
}

/* Findings ----------------------------------------------------------------------------------- */

struct place {
    uint64_t offset;
    uint64_t record;
};

static void report(struct scanner *scanner, enum wal_severity severity, struct place place,
                   const char *text)
{
    struct wal_finding finding = {.severity = severity,
                                  .path = scanner->path.data,
                                  .offset = place.offset,
                                  .record = place.record,
                                  .text = text};
    if (scanner->input->report != NULL) {
        scanner->input->report(scanner->input->context, &finding);
    }
    if (severity == WAL_DAMAGE) {
        scanner->out->damage_count++;
        err_set(
            scanner->err, ERR_INTERNAL,
            "the write-ahead log is damaged: %s, offset %llu: %s (record %llu; records up to %llu "
            "are in the SST files); nothing was changed; look with `gramme check %s`, save what is "
            "left with `gramme repair %s %s-repaired`",
            scanner->path.data, (unsigned long long)place.offset, text,
            (unsigned long long)place.record, (unsigned long long)scanner->input->stored,
            scanner->input->directory, scanner->input->directory, scanner->input->directory);
    }
}

static void set_path(struct scanner *scanner, uint64_t number)
{
    wal_segment_path(scanner->input->directory, number, &scanner->path);
}

/* Which files there are ---------------------------------------------------------------------- */

static void note_file(void *context, const char *name)
{
    struct scanner *scanner = context;
    char *end;
    uint64_t number = strtoull(name, &end, 10); /* 00000000000000000042.wal */
    if (end == name || strcmp(end, ".wal") != 0) {
        return;
    }
    if (scanner->number_count == scanner->number_capacity) {
        scanner->number_capacity = MAX(2 * scanner->number_capacity, (size_t)16);
        scanner->numbers =
            mem_realloc(scanner->numbers, scanner->number_capacity * sizeof(*scanner->numbers));
    }
    scanner->numbers[scanner->number_count++] = number;
}

static int compare_numbers(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

static bool list_files(struct scanner *scanner)
{
    const struct wal_scan_input *input = scanner->input;
    if (input->files->list(input->files, input->directory, note_file, scanner) != 0) {
        return err_set(scanner->err, ERR_INTERNAL, "cannot read the directory %s: %s",
                       input->directory, strerror(errno));
    }
    if (scanner->number_count > 0) {
        qsort(scanner->numbers, scanner->number_count, sizeof(*scanner->numbers), compare_numbers);
    }
    return true;
}

/* Headers ------------------------------------------------------------------------------------ */

static bool read_header_bytes(struct scanner *scanner, uint8_t out[WAL_HEADER_LEN])
{
    const struct files *files = scanner->input->files;
    int fd = files->open(files, scanner->path.data, 0 /* O_RDONLY */);
    if (fd < 0) {
        return false;
    }
    ssize_t got = files_read_all(files, fd, out, WAL_HEADER_LEN, 0);
    files_close(files, fd);
    if (got >= 0 && got < WAL_HEADER_LEN) {
        memset(out + got, 0, (size_t)(WAL_HEADER_LEN - got));
    }
    return got >= 0;
}

static bool read_header(struct scanner *scanner, uint64_t number, struct wal_header *out)
{
    uint8_t bytes[WAL_HEADER_LEN];
    bool corrected = false;
    set_path(scanner, number);
    struct place place = {.record = scanner->input->stored + 1};
    if (!read_header_bytes(scanner, bytes)) {
        report(scanner, WAL_DAMAGE, place,
               errno == ENOENT ? "the segment is missing" : strerror(errno));
        return false;
    }
    if (!wal_header_decode(bytes, out, &corrected) || out->number != number ||
        memcmp(out->store_id, scanner->input->store_id, STORE_ID_LEN) != 0) {
        report(scanner, WAL_DAMAGE, place, "this is not the header of the segment");
        return false;
    }
    if (corrected) {
        report(scanner, WAL_CORRECTED, place, "a flipped bit in the header was corrected");
    }
    return true;
}

/* Reads the headers from the newest segment back to the one with the first record that the SST
 * files do not hold. */
static bool read_headers(struct scanner *scanner)
{
    uint64_t number = scanner->out->found.state.segment;
    size_t capacity = scanner->number_count + 1;
    scanner->headers = mem_alloc(capacity * sizeof(*scanner->headers));
    uint64_t first = UINT64_MAX;
    while (first > scanner->input->stored + 1) {
        struct wal_header header;
        if (!read_header(scanner, number, &header)) {
            return false;
        }
        if (header.first > first) {
            report(scanner, WAL_DAMAGE, (struct place){.record = header.first},
                   "the segment begins behind the one that follows it");
            return false;
        }
        assert(scanner->header_count < capacity);
        scanner->headers[scanner->header_count++] = header;
        first = header.first;
        number--;
    }
    return true;
}

/* Segments that wal.state does not name ------------------------------------------------------- */

uint64_t wal_first_record(struct str bytes, uint64_t number, const uint8_t *store_id)
{
    uint8_t head[WAL_HEADER_LEN];
    struct wal_header header;
    bool corrected;
    if (bytes.len < WAL_HEADER_LEN) {
        return 0;
    }
    memcpy(head, bytes.data, WAL_HEADER_LEN);
    if (!wal_header_decode(head, &header, &corrected) || header.number != number ||
        (store_id != NULL && memcmp(header.store_id, store_id, STORE_ID_LEN) != 0)) {
        return 0;
    }
    struct wal_found found;
    for (size_t at = WAL_BLOCK_BYTES; at < bytes.len; at += WAL_BLOCK_BYTES) {
        if (wal_record_decode(str_skip(bytes, at), header.salt, &found)) {
            return found.record.number;
        }
    }
    return 0;
}

/* No record is written to a segment before both copies in wal.state name it. So a record in a newer
 * segment proves that wal.state is an older version, as from a copy of the files made at different
 * times: then acknowledged records are missing from the WAL that it describes. */
static bool check_newer(struct scanner *scanner)
{
    uint64_t newest = scanner->out->found.state.segment;
    for (size_t i = 0; i < scanner->number_count; i++) {
        uint64_t number = scanner->numbers[i];
        if (number <= newest) {
            continue;
        }
        set_path(scanner, number);
        struct place place = {.record = scanner->input->stored + 1};
        if (!files_read_file(scanner->input->files, scanner->path.data, &scanner->bytes)) {
            report(scanner, WAL_DAMAGE, place, strerror(errno));
            return false;
        }
        place.record = wal_first_record(buf_str(&scanner->bytes), number, scanner->input->store_id);
        if (place.record > 0) {
            report(scanner, WAL_DAMAGE, place,
                   "the segment may hold acknowledged records, but wal.state is older and does not "
                   "name it");
            return false;
        }
    }
    return true;
}

/* Records ------------------------------------------------------------------------------------ */

/* State of reading one segment. */
struct reading {
    const struct wal_header *header;
    bool is_newest;
    uint64_t until;  /* number of the first record that is void or in the next segment */
    uint64_t proven; /* newest segment: records up to this number were acknowledged */
    uint64_t offset;
};

/* Whether there is an intact record behind the place where none was found. */
static bool has_later_record(const struct scanner *scanner, const struct reading *reading)
{
    struct wal_found found;
    for (uint64_t at = reading->offset + WAL_BLOCK_BYTES; at < scanner->bytes.len;
         at += WAL_BLOCK_BYTES) {
        struct str rest = str_make(scanner->bytes.data + at, scanner->bytes.len - at);
        if (wal_record_decode(rest, reading->header->salt, &found) &&
            found.record.number > scanner->out->next) {
            return true;
        }
    }
    return false;
}

static bool is_zero(struct str bytes)
{
    return bytes.len == 0 ||
           (bytes.data[0] == 0 && memcmp(bytes.data, bytes.data + 1, bytes.len - 1) == 0);
}

/* There is no valid record at reading->offset. Decides whether record scanner->out->next is lost or
 * was never acknowledged. */
static void judge_end(struct scanner *scanner, const struct reading *reading)
{
    uint64_t next = scanner->out->next;
    struct place place = {.offset = reading->offset, .record = next};
    bool has_known_end = reading->until != UINT64_MAX;
    if (!reading->is_newest || has_known_end || next <= reading->proven) {
        report(scanner, WAL_DAMAGE, place, "an acknowledged record is missing or damaged");
        return;
    }
    if (has_later_record(scanner, reading)) {
        report(scanner, WAL_DAMAGE, place, "a record is damaged, and intact ones stand behind it");
        return;
    }
    if (reading->offset >= scanner->bytes.len) {
        return;
    }
    uint64_t left = MIN(scanner->bytes.len - reading->offset, (uint64_t)WAL_BLOCK_BYTES);
    if (!is_zero(str_make(scanner->bytes.data + reading->offset, left))) {
        report(scanner, WAL_NOTE, place,
               "what follows the last record is an incomplete record or left from earlier use");
    }
}

static bool apply_record(struct scanner *scanner, struct str payload)
{
    const struct wal_scan_input *input = scanner->input;
    uint64_t number = scanner->out->next;
    if (input->apply == NULL || number <= input->stored) {
        return true;
    }
    return input->apply(input->context, number, payload, scanner->err);
}

/* Decodes the expected record at reading->offset; corrects a flipped bit. */
static bool take_record(struct scanner *scanner, const struct reading *reading,
                        struct wal_found *out)
{
    struct wal_record expected = {.number = scanner->out->next,
                                  .salt = reading->header->salt,
                                  .previous = scanner->out->previous};
    struct str rest = str_make(scanner->bytes.data + reading->offset,
                               scanner->bytes.len - (size_t)reading->offset);
    if (wal_record_decode(rest, expected.salt, out) && out->record.number == expected.number &&
        out->record.previous == expected.previous) {
        return true;
    }
    if (wal_record_correct((uint8_t *)rest.data, rest.len, expected, out)) {
        report(scanner, WAL_CORRECTED,
               (struct place){.offset = reading->offset, .record = expected.number},
               "a flipped bit was corrected");
        return true;
    }
    return false;
}

static bool read_records(struct scanner *scanner, struct reading *reading)
{
    struct wal_scan *out = scanner->out;
    assert(out->next == reading->header->first);
    while (out->next < reading->until) {
        struct wal_found found;
        assert(reading->offset % WAL_BLOCK_BYTES == 0);
        if (reading->offset >= scanner->bytes.len || !take_record(scanner, reading, &found)) {
            judge_end(scanner, reading);
            return out->damage_count == 0;
        }
        if (!apply_record(scanner, found.payload)) {
            return false;
        }
        reading->offset += wal_record_blocks_bytes(found.payload.len);
        out->previous = found.checksum;
        out->next++;
    }
    return true;
}

static bool read_segment_bytes(struct scanner *scanner, const struct wal_header *header)
{
    set_path(scanner, header->number);
    struct place place = {.record = scanner->out->next};
    if (!files_read_file(scanner->input->files, scanner->path.data, &scanner->bytes)) {
        report(scanner, WAL_DAMAGE, place, strerror(errno));
        return false;
    }
    if (scanner->bytes.len < header->size_bytes) {
        place.offset = scanner->bytes.len;
        report(scanner, WAL_DAMAGE, place, "the segment was truncated");
        return false;
    }
    return true;
}

static uint64_t first_of_next(const struct scanner *scanner, size_t index)
{
    const struct wal_state *state = &scanner->out->found.state;
    if (index > 0) {
        return scanner->headers[index - 1].first;
    }
    return state->void_from > 0 ? state->void_from : UINT64_MAX;
}

static uint64_t proven_number(const struct scanner *scanner)
{
    const struct wal_state_found *found = &scanner->out->found;
    uint64_t proven = MAX(found->acknowledged, scanner->input->stored);
    return found->state.is_clean ? MAX(proven, found->state.last) : proven;
}

/* Reads a segment; index 0 is the newest. */
static bool read_segment(struct scanner *scanner, size_t index)
{
    struct wal_scan *out = scanner->out;
    const struct wal_header *header = &scanner->headers[index];
    struct reading reading = {.header = header,
                              .is_newest = index == 0,
                              .until = first_of_next(scanner, index),
                              .proven = proven_number(scanner),
                              .offset = WAL_BLOCK_BYTES};
    bool is_oldest = index + 1 == scanner->header_count;
    if (is_oldest) {
        out->next = header->first;
        out->previous = header->previous;
    }
    if (!read_segment_bytes(scanner, header)) {
        return false;
    }
    if (out->next != header->first || out->previous != header->previous) {
        report(scanner, WAL_DAMAGE, (struct place){.record = out->next},
               "the segment does not continue the one before it");
        return false;
    }
    assert(out->segment_count < scanner->header_count);
    out->segments[out->segment_count++] = (struct wal_segment){
        .number = header->number, .first = header->first, .size_bytes = header->size_bytes};
    return read_records(scanner, &reading);
}

static bool read_segments(struct scanner *scanner)
{
    struct wal_scan *out = scanner->out;
    out->segments = mem_alloc((scanner->header_count + 1) * sizeof(*out->segments));
    for (size_t i = scanner->header_count; i > 0; i--) {
        if (!read_segment(scanner, i - 1)) {
            return false;
        }
    }
    return true;
}

static void note_others(struct scanner *scanner)
{
    struct wal_scan *out = scanner->out;
    uint64_t newest = out->found.state.segment;
    uint64_t oldest =
        scanner->header_count > 0 ? scanner->headers[scanner->header_count - 1].number : newest + 1;
    out->other_segments = mem_alloc((scanner->number_count + 1) * sizeof(*out->other_segments));
    for (size_t i = 0; i < scanner->number_count; i++) {
        if (scanner->numbers[i] < oldest || scanner->numbers[i] > newest) {
            assert(out->other_count < scanner->number_count);
            out->other_segments[out->other_count++] = scanner->numbers[i];
        }
    }
}

/* After a clean end wal.state must agree with the records. */
static bool check_clean(struct scanner *scanner)
{
    const struct wal_state *state = &scanner->out->found.state;
    if (!state->is_clean || state->segment == 0 ||
        (scanner->out->next == state->last + 1 && scanner->out->previous == state->last_checksum)) {
        return true;
    }
    report(scanner, WAL_DAMAGE, (struct place){.record = state->last},
           "the write-ahead log does not end with the record that was the last when the store was "
           "closed");
    return false;
}

static bool scan_segments(struct scanner *scanner)
{
    struct wal_scan *out = scanner->out;
    if (out->found.bad_copies > 0) {
        report(
            scanner, WAL_CORRECTED, (struct place){0},
            "one of the two copies of the write-ahead log's state was bad; the other one is used");
    }
    if (!list_files(scanner) || !check_newer(scanner)) {
        return false;
    }
    if (out->found.state.segment == 0) {
        out->next = scanner->input->stored + 1;
        note_others(scanner);
        return true;
    }
    if (!read_headers(scanner) || !read_segments(scanner) || !check_clean(scanner)) {
        return false;
    }
    if (out->next <= scanner->input->stored) { /* a discarded record reached the SST files */
        out->next = scanner->input->stored + 1;
        out->previous = 0;
    }
    note_others(scanner);
    return true;
}

bool wal_scan(const struct wal_scan_input *input, struct wal_scan *out, struct err *err)
{
    *out = (struct wal_scan){0};
    struct scanner scanner = {.input = input, .out = out, .err = err};
    buf_format(&scanner.path, "%s/wal.state", input->directory);
    bool good = wal_state_read(input->files, input->directory, input->store_id, &out->found, err) &&
                scan_segments(&scanner) && out->damage_count == 0;
    mem_free(scanner.numbers);
    mem_free(scanner.headers);
    buf_finish(&scanner.path);
    buf_finish(&scanner.bytes);
    return good;
}

void wal_scan_finish(struct wal_scan *scan)
{
    mem_free(scan->segments);
    mem_free(scan->other_segments);
    *scan = (struct wal_scan){0};
}
