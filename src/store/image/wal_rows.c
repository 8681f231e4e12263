/* Reads the write-ahead log into sorted rows: see wal_rows.h. Called by image.c, on the thread of a
 * check or repair.
 *
 * Reads it first as a start of the server does (wal_scan); if that finds damage, reads it again and
 * takes every intact record of each segment (salvage, below). */
#include "store/image/wal_rows.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "store/image/sst_file.h"
#include "store/image/varint.h"
#include "store/wal/wal_scan.h"

enum { BATCH_HEAD_LEN = 12 }; /* sequence (u64), count (u32) */

struct reading {
    const struct wal_rows_input *input;
    struct wal_rows *out;
    bool has_damage;
};

static void report(struct reading *reading, const struct finding *finding)
{
    reading->has_damage = reading->has_damage || finding->severity == FINDING_DAMAGE;
    reading->input->report(reading->input->context, finding);
}

/* Records -------------------------------------------------------------------------------------- */

static void add_row(struct wal_rows *out, struct wal_row row)
{
    if (out->count == out->capacity) {
        out->capacity = MAX(2 * out->capacity, (size_t)1024);
        out->rows = mem_realloc(out->rows, out->capacity * sizeof(*out->rows));
    }
    row.order = out->count;
    out->rows[out->count++] = row;
}

/* Adds the rows of a record, which is a write batch of RocksDB. False: it is malformed. */
static bool add_record(struct wal_rows *out, uint64_t number, struct str payload)
{
    payload = arena_copy(&out->arena, payload);
    struct cursor cursor = cursor_make(payload);
    cursor_bytes(&cursor, BATCH_HEAD_LEN);
    while (cursor.at < cursor.end && !cursor.is_bad) {
        uint8_t type = *cursor.at++;
        struct wal_row row = {.is_deletion = type != ENTRY_VALUE};
        row.key = cursor_prefixed(&cursor);
        row.value = type == ENTRY_VALUE ? cursor_prefixed(&cursor) : STR("");
        if (type != ENTRY_VALUE && type != ENTRY_DELETION) {
            cursor.is_bad = true;
        }
        if (!cursor.is_bad) {
            add_row(out, row);
        }
    }
    out->record_count++;
    out->last_record = MAX(out->last_record, number);
    return !cursor.is_bad;
}

static bool apply(void *context, uint64_t number, struct str payload, struct err *err)
{
    struct reading *reading = context;
    return add_record(reading->out, number, payload) ||
           err_set(err, ERR_INTERNAL, "record %llu of the write-ahead log is malformed",
                   (unsigned long long)number);
}

static void pass_on(void *context, const struct wal_finding *found)
{
    struct reading *reading = context;
    static const enum finding_severity severities[] = {
        [WAL_NOTE] = FINDING_NOTE,
        [WAL_CORRECTED] = FINDING_CORRECTED,
        [WAL_DAMAGE] = FINDING_DAMAGE,
    };
    const char *name = strrchr(found->path, '/');
    struct finding finding = {.severity = severities[found->severity],
                              .file = name != NULL ? name + 1 : found->path,
                              .offset = (int64_t)found->offset,
                              .text = found->text,
                              .record = found->record};
    report(reading, &finding);
}

static bool scan(struct reading *reading)
{
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    struct wal_scan_input input = {.files = reading->input->files,
                                   .directory = reading->input->directory,
                                   .store_id = reading->input->store_id,
                                   .stored = reading->input->stored,
                                   .report = pass_on,
                                   .apply = apply,
                                   .context = reading};
    struct wal_scan result;
    bool good = wal_scan(&input, &result, &err);
    wal_scan_finish(&result);
    if (!good && !reading->has_damage) { /* wal.state is damaged, or a batch is malformed */
        struct finding finding = {.severity = FINDING_DAMAGE,
                                  .file = "wal.state",
                                  .offset = -1,
                                  .text = arena_copy_c(&arena, err.message).data};
        report(reading, &finding);
    }
    arena_finish(&arena);
    return good;
}

/* Salvage -------------------------------------------------------------------------------------- */

struct saved_record {
    uint64_t number;
    struct str payload;
};

struct salvage {
    struct reading *reading;
    uint64_t *segments;
    size_t segment_count;
    size_t segment_capacity;
    struct saved_record *records; /* ascending */
    size_t count;
    size_t capacity;
    uint64_t state_segment; /* the newest segment according to wal.state; 0: not known */
    uint64_t void_from;     /* records of that segment from this number on are void; 0: none */
    uint64_t proven;        /* records up to this number were acknowledged */
};

static void note_segment(void *context, const char *name)
{
    struct salvage *salvage = context;
    char *end;
    uint64_t number = strtoull(name, &end, 10);
    if (end == name || strcmp(end, ".wal") != 0) {
        return;
    }
    if (salvage->segment_count == salvage->segment_capacity) {
        salvage->segment_capacity = MAX(2 * salvage->segment_capacity, (size_t)16);
        salvage->segments =
            mem_realloc(salvage->segments, salvage->segment_capacity * sizeof(*salvage->segments));
    }
    salvage->segments[salvage->segment_count++] = number;
}

static int compare_numbers(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

/* Removes records from `number` on, which are void because a later segment continues before them.
 */
static void drop_from(struct salvage *salvage, uint64_t number)
{
    while (salvage->count > 0 && salvage->records[salvage->count - 1].number >= number) {
        salvage->count--;
    }
}

static void save_record(struct salvage *salvage, const struct wal_found *found)
{
    if (salvage->count > 0 && salvage->records[salvage->count - 1].number >= found->record.number) {
        return; /* left from an earlier use of the file */
    }
    if (salvage->count == salvage->capacity) {
        salvage->capacity = MAX(2 * salvage->capacity, (size_t)256);
        salvage->records =
            mem_realloc(salvage->records, salvage->capacity * sizeof(*salvage->records));
    }
    salvage->records[salvage->count++] =
        (struct saved_record){.number = found->record.number,
                              .payload = arena_copy(&salvage->reading->out->arena, found->payload)};
}

/* Decodes the record at `offset`, if it is intact or has a single flipped bit. */
static bool find_record(const struct salvage *salvage, struct buf *bytes, uint64_t offset,
                        uint64_t salt, struct wal_found *out)
{
    struct str rest = str_make(bytes->data + offset, bytes->len - (size_t)offset);
    if (wal_record_decode(rest, salt, out)) {
        return true;
    }
    if (salvage->count == 0 || rest.len < WAL_RECORD_HEADER_LEN) {
        return false;
    }
    struct wal_record expected = {.number = salvage->records[salvage->count - 1].number + 1,
                                  .salt = salt,
                                  .previous = get_u64_le((const uint8_t *)rest.data + 24)};
    return wal_record_correct((uint8_t *)rest.data, rest.len, expected, out);
}

static void salvage_segment(struct salvage *salvage, uint64_t number, struct buf *bytes)
{
    const struct wal_rows_input *input = salvage->reading->input;
    struct wal_header header;
    bool corrected;
    if (bytes->len < WAL_HEADER_LEN ||
        !wal_header_decode((uint8_t *)bytes->data, &header, &corrected) ||
        header.number != number ||
        (input->store_id != NULL && memcmp(header.store_id, input->store_id, STORE_ID_LEN) != 0)) {
        return;
    }
    drop_from(salvage, header.first);
    uint64_t offset = WAL_BLOCK_BYTES;
    while (offset + WAL_RECORD_HEADER_LEN <= bytes->len) {
        struct wal_found found;
        uint64_t step = WAL_BLOCK_BYTES;
        if (find_record(salvage, bytes, offset, header.salt, &found)) {
            save_record(salvage, &found);
            step = wal_record_blocks_bytes(found.payload.len);
        }
        offset += step;
    }
    if (number == salvage->state_segment && salvage->void_from > 0) {
        drop_from(salvage, salvage->void_from);
    }
}

static void read_state(struct salvage *salvage)
{
    const struct wal_rows_input *input = salvage->reading->input;
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    struct wal_state_found found;
    if (input->store_id != NULL &&
        wal_state_read(input->files, input->directory, input->store_id, &found, &err)) {
        salvage->state_segment = found.state.segment;
        salvage->void_from = found.state.void_from;
        salvage->proven = MAX(found.acknowledged, found.state.is_clean ? found.state.last : 0);
    }
    arena_finish(&arena);
}

static void report_gap(struct salvage *salvage, uint64_t first, uint64_t count)
{
    struct finding finding = {.severity = FINDING_DAMAGE,
                              .file = "the write-ahead log",
                              .offset = -1,
                              .text = "records are lost; which rows they wrote cannot be known",
                              .record = first,
                              .record_count = count};
    report(salvage->reading, &finding);
}

/* Adds the records that the SST files do not hold, and reports gaps between them. */
static void use_records(struct salvage *salvage)
{
    uint64_t next = salvage->reading->input->stored + 1;
    for (size_t i = 0; i < salvage->count; i++) {
        const struct saved_record *record = &salvage->records[i];
        if (record->number < next) {
            continue;
        }
        if (record->number > next) {
            report_gap(salvage, next, record->number - next);
        }
        if (!add_record(salvage->reading->out, record->number, record->payload)) {
            report_gap(salvage, record->number, 1);
        }
        next = record->number + 1;
    }
    if (salvage->proven >= next) {
        report_gap(salvage, next, salvage->proven - next + 1);
    }
}

/* Reads a segment. If the disk cannot read some of its blocks, these are zeroes. False: it cannot
 * be opened. */
static bool read_segment(const struct files *files, const char *path, struct buf *out)
{
    if (files_read_file(files, path, out)) {
        return true;
    }
    int fd = files->open(files, path, 0 /* O_RDONLY */);
    if (fd < 0) {
        return false;
    }
    int64_t size = files->size(files, fd);
    out->len = 0;
    while ((int64_t)out->len < size) {
        size_t len = MIN((size_t)size - out->len, (size_t)WAL_BLOCK_BYTES);
        char *block = buf_reserve(out, len);
        if (files_read_all(files, fd, block, len, out->len) != (ssize_t)len) {
            memset(block, 0, len);
        }
        out->len += len;
    }
    files_close(files, fd);
    return size >= 0;
}

/* Whether records may have been acknowledged in a segment: wal.state names it or a newer one, or is
 * an older version itself. */
static bool is_begun(const struct salvage *salvage, uint64_t number, struct str bytes)
{
    return salvage->state_segment == 0 || number <= salvage->state_segment ||
           wal_first_record(bytes, number, salvage->reading->input->store_id) > 0;
}

static void log_salvage(struct reading *reading)
{
    const struct wal_rows_input *input = reading->input;
    struct salvage salvage = {.reading = reading};
    struct buf path = {0};
    struct buf bytes = {0};
    read_state(&salvage);
    input->files->list(input->files, input->directory, note_segment, &salvage);
    if (salvage.segment_count > 0) {
        qsort(salvage.segments, salvage.segment_count, sizeof(*salvage.segments), compare_numbers);
    }
    for (size_t i = 0; i < salvage.segment_count; i++) {
        wal_segment_path(input->directory, salvage.segments[i], &path);
        if (read_segment(input->files, path.data, &bytes) &&
            is_begun(&salvage, salvage.segments[i], buf_str(&bytes))) {
            salvage_segment(&salvage, salvage.segments[i], &bytes);
        }
    }
    use_records(&salvage);
    buf_finish(&path);
    buf_finish(&bytes);
    mem_free(salvage.segments);
    mem_free(salvage.records);
}

/* Sorting -------------------------------------------------------------------------------------- */

static int compare_rows(const void *a, const void *b)
{
    const struct wal_row *left = a;
    const struct wal_row *right = b;
    int order = str_cmp(left->key, right->key);
    return order != 0 ? order : (left->order < right->order) - (left->order > right->order);
}

static void keep_newest(struct wal_rows *rows)
{
    if (rows->count == 0) {
        return;
    }
    qsort(rows->rows, rows->count, sizeof(*rows->rows), compare_rows);
    size_t kept = 1;
    for (size_t i = 1; i < rows->count; i++) {
        if (!str_eq(rows->rows[i].key, rows->rows[kept - 1].key)) {
            rows->rows[kept++] = rows->rows[i];
        }
    }
    rows->count = kept;
}

void wal_rows_read(struct wal_rows *rows, const struct wal_rows_input *input)
{
    *rows = (struct wal_rows){0};
    arena_init(&rows->arena);
    struct reading reading = {.input = input, .out = rows};
    if (input->store_id == NULL || !scan(&reading)) {
        rows->count = 0;
        rows->record_count = 0;
        rows->last_record = 0;
        log_salvage(&reading);
    }
    keep_newest(rows);
}

void wal_rows_finish(struct wal_rows *rows)
{
    arena_finish(&rows->arena);
    mem_free(rows->rows);
}
