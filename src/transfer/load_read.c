/* Reads the objects of an import or bulk put, one after the other in the order of their keys.
 * Called by load_run.c, on the thread of the load; blocks while objects are read. */
#include "archive/decompress.h"
#include "base/clock.h"
#include "transfer/load_run_internal.h"

enum { PIECE_BYTES = 4 * 1024 * 1024 };

/* --- one object as a source of bytes --- */

struct object_source {
    struct byte_source source;
    struct load_run *run;
    struct str key;
    const char *etag;
    struct buf piece;
    size_t at;
    uint64_t offset; /* behind the piece */
    uint64_t size;
    struct object_error error; /* after a failure that is not the object's */
};

/* Fails because the object has changed since it was listed. */
static bool has_changed(const struct object_error *error)
{
    return object_error_is(error, "PreconditionFailed") || object_error_is(error, "NoSuchKey") ||
           object_error_is(error, "NotFound");
}

static bool read_piece(struct object_source *object, struct err *err)
{
    struct object_error error;
    struct object_range range = {.offset = object->offset, .bytes = PIECE_BYTES};
    object->piece.len = 0;
    object->at = 0;
    if (object->offset >= object->size) {
        return true;
    }
    if (object_read(object->run->objects, object->run->load.bucket, object->key, range,
                    object->etag, &object->piece, &error)) {
        object->offset += object->piece.len;
        return true;
    }
    if (has_changed(&error)) {
        return err_set(err, ERR_VALIDATION, "The object has changed since it was listed");
    }
    object->error = error;
    return err_set(err, ERR_SERVICE_UNAVAILABLE, "%s", error.message);
}

static bool read_object(struct byte_source *source, char *room, size_t room_len, size_t *out_len,
                        struct err *err)
{
    struct object_source *object = CONTAINER_OF(source, struct object_source, source);
    if (object->at == object->piece.len && !read_piece(object, err)) {
        return false;
    }
    *out_len = MIN(room_len, object->piece.len - object->at);
    if (*out_len > 0) {
        memcpy(room, object->piece.data + object->at, *out_len);
        object->at += *out_len;
    }
    return true;
}

/* --- its records --- */

struct object_reader {
    struct load_run *run;
    struct object_source object;
    struct decompressor *decompressor;
    struct byte_source text; /* what the decompressor makes, counted */
    struct record_reader *records;
    struct record_options options;
    int64_t bytes_before; /* of the objects before this one */
};

static bool read_text(struct byte_source *source, char *room, size_t room_len, size_t *out_len,
                      struct err *err)
{
    struct object_reader *reader = CONTAINER_OF(source, struct object_reader, text);
    struct byte_source *inner = decompressor_source(reader->decompressor);
    if (!inner->read(inner, room, room_len, out_len, err)) {
        return false;
    }
    load_batch_filling(reader->run)->text_bytes += *out_len;
    return true;
}

static void note_error(struct load_run *run, struct str message)
{
    struct load_batch *batch = load_batch_filling(run);
    struct load_pointer pointer = {.key = buf_str(&run->at.key), .index = run->at.index};
    load_report_error(run, batch, &pointer, message);
}

/* Adds what was read to the batch. LOAD_RUN_ENDED: the object is over. */
static enum load_result take_record(struct object_reader *reader, enum record_result result,
                                    const struct record *record, struct err *err)
{
    struct load_run *run = reader->run;
    if (result == RECORD_FAILED) {
        return load_fail_objects(run, &reader->object.error);
    }
    if (result == RECORD_END) {
        return LOAD_RUN_ENDED;
    }
    struct err problem = ERR_INIT(&load_batch_filling(run)->arena);
    if (result != RECORD_ITEM) {
        note_error(run, record->error);
    } else if (!load_batch_add(run, record, &problem)) {
        if (problem.code == ERR_RESOURCE_NOT_FOUND) {
            return load_fail_without_table(run);
        }
        note_error(run, problem.message);
    }
    (void)err;
    load_batch_filling(run)->records++;
    run->at.index++;
    return result == RECORD_BROKEN ? LOAD_RUN_ENDED : LOAD_RUN_ON;
}

static void note_place(struct object_reader *reader)
{
    struct load_place *at = &reader->run->at;
    at->offset = record_reader_position(reader->records);
    at->bytes = (int64_t)decompressor_consumed(reader->decompressor);
    at->total_bytes = reader->bytes_before + at->bytes;
}

/* Whether the batch has enough. Records that are not written count as well. If objects are read
 * slowly, the batch is written after a time, so that counts advance and a cancellation is
 * noticed. */
static bool is_full(const struct load_run *run, const struct load_batch *batch)
{
    double units_max = (double)run->load.units_max;
    return batch->count == BATCH_ITEMS || batch->bytes >= BATCH_BYTES ||
           batch->records >= BATCH_RECORDS || batch->text_bytes >= TEXT_BYTES ||
           clock_monotonic_us() >= batch->begin_us + SAVE_US ||
           (units_max > 0 && batch->units >= units_max / BATCHES_PER_SECOND);
}

static enum load_result read_records(struct object_reader *reader)
{
    struct load_run *run = reader->run;
    enum load_result result = LOAD_RUN_ON;
    while (result == LOAD_RUN_ON) {
        struct load_batch *batch = load_batch_filling(run);
        struct arena_mark mark = arena_mark(&batch->arena);
        size_t count = batch->count;
        struct err err = ERR_INIT(&batch->arena);
        struct record record;
        enum record_result read = record_reader_next(reader->records, &batch->arena, &record, &err);
        result = take_record(reader, read, &record, &err);
        if (batch->count == count) { /* it is not written: nothing refers to it */
            arena_rewind(&batch->arena, mark);
        }
        if (result == LOAD_RUN_ON && is_full(run, batch)) {
            note_place(reader);
            result = load_batch_flush(run);
            if (result == LOAD_RUN_ENDED) {
                return LOAD_RUN_LATER; /* the load, not the object */
            }
        }
    }
    return result == LOAD_RUN_ENDED ? LOAD_RUN_ON : result;
}

/* --- objects --- */

/* Skips to the position at which the last run stopped. */
static enum load_result skip(struct object_reader *reader, const struct load_cursor *cursor)
{
    struct load_run *run = reader->run;
    struct err err = ERR_INIT(&run->scratch);
    if (cursor == NULL) {
        return LOAD_RUN_ON;
    }
    if (record_reader_skip_to(reader->records, cursor->offset, &err)) {
        load_batch_filling(run)->text_bytes = 0; /* skipped records use no memory */
        return LOAD_RUN_ON;
    }
    if (err.code != ERR_VALIDATION) {
        return load_fail_objects(run, &reader->object.error);
    }
    note_error(run, err.message);
    load_batch_filling(run)->records++;
    return LOAD_RUN_ENDED;
}

static void begin_place(struct load_run *run, struct str key, const char *etag,
                        const struct load_cursor *cursor)
{
    struct load_place *at = &run->at;
    at->key.len = 0;
    at->etag.len = 0;
    buf_add(&at->key, key);
    buf_add(&at->etag, str_from_c(etag));
    at->offset = cursor == NULL ? 0 : cursor->offset;
    at->index = cursor == NULL ? 0 : cursor->index;
    at->bytes = cursor == NULL ? 0 : cursor->bytes;
    at->is_done = false;
}

/* Reads one object; `cursor`, or NULL: from where on. */
static enum load_result read_one(struct load_run *run, struct str key,
                                 const struct object_info *info, const struct load_cursor *cursor)
{
    int64_t bytes_before = run->at.total_bytes - (cursor == NULL ? 0 : cursor->bytes);
    begin_place(run, key, info->etag, cursor);
    struct object_reader reader = {
        .run = run,
        .object = {.source.read = read_object,
                   .run = run,
                   .key = buf_str(&run->at.key),
                   .etag = info->etag,
                   .size = info->size_bytes},
        .text.read = read_text,
        .options = {.format = (enum record_format)run->load.format,
                    .delimiter = (char)run->load.delimiter,
                    .headers = run->load.header_count == 0 ? NULL : run->load.headers,
                    .header_count = run->load.header_count,
                    .table = run->load.table},
        .bytes_before = bytes_before,
    };
    reader.decompressor =
        decompressor_create((enum compression)run->load.compression, &reader.object.source);
    reader.records = record_reader_create(&reader.options, &reader.text);
    enum load_result result = skip(&reader, cursor);
    if (result == LOAD_RUN_ON) {
        result = read_records(&reader);
    }
    record_reader_destroy(reader.records);
    decompressor_destroy(reader.decompressor);
    buf_finish(&reader.object.piece);
    run->at.is_done = true;
    run->at.offset = 0;
    run->at.bytes = (int64_t)info->size_bytes;
    run->at.total_bytes = bytes_before + (int64_t)info->size_bytes;
    return result == LOAD_RUN_ENDED ? LOAD_RUN_ON : result;
}

/* Continues in the object in which the last run stopped. */
static enum load_result resume_object(struct load_run *run)
{
    struct load_cursor cursor = run->load.cursor;
    struct object_info info;
    struct object_error error;
    run->at.total_bytes = run->load.bytes;
    if (str_is_null(cursor.key)) {
        return LOAD_RUN_ON;
    }
    if (cursor.is_done) { /* if nothing follows the cursor stays here */
        begin_place(run, cursor.key, "", &cursor);
        run->at.is_done = true;
        return LOAD_RUN_ON;
    }
    bool is_there = object_head(run->objects, run->load.bucket, cursor.key, &info, &error);
    if (!is_there && !has_changed(&error)) {
        return load_fail_objects(run, &error);
    }
    if (!is_there || !str_eq(str_from_c(info.etag), cursor.etag)) {
        begin_place(run, cursor.key, "", &cursor);
        note_error(run, STR("The object has changed since it was listed"));
        load_batch_filling(run)->records++;
        run->at.is_done = true;
        return LOAD_RUN_ON;
    }
    return read_one(run, cursor.key, &info, &cursor);
}

enum load_result load_read_objects(struct load_run *run)
{
    enum load_result result = resume_object(run);
    struct buf after = {0};
    struct arena arena;
    bool more = true;
    arena_init(&arena);
    if (!str_is_null(run->load.cursor.key)) {
        buf_add(&after, run->load.cursor.key);
    }
    while (result == LOAD_RUN_ON && more) {
        struct object_error error;
        arena_reset(&arena);
        struct object_list list = {
            .prefix = run->load.prefix,
            .after = arena_copy(&arena, buf_str(&after)),
        };
        if (!object_list(run->objects, &arena, run->load.bucket, &list, &error)) {
            result = load_fail_objects(run, &error);
            break;
        }
        for (size_t i = 0; result == LOAD_RUN_ON && i < list.count; i++) {
            if (!load_report_is_own(run, list.entries[i].key)) {
                result = read_one(run, list.entries[i].key, &list.entries[i].info, NULL);
            }
            after.len = 0;
            buf_add(&after, list.entries[i].key);
        }
        more = list.more;
    }
    arena_finish(&arena);
    buf_finish(&after);
    return result == LOAD_RUN_ON ? load_batch_drain(run) : result;
}
