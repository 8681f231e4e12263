/* Writes the data files of an export: gzip streams of lines. The items are read in the order of
 * their row keys; at least one file holds the items of each of PARTITIONS equal ranges of the hash
 * of the partition key, as the service has files for each partition. After each file the export's
 * row says where the next one begins, so that an export is resumed there. On the thread of
 * exports. */
#include "base/bytes.h"
#include "base/clock.h"
#include "base/log.h"
#include "codec/row.h"
#include "store/store.h"
#include "transfer/exporter_internal.h"

enum { PARTITIONS = 4, PARTITION_SHIFT = 30, LINES_BYTES = 256 << 10 };
static const uint64_t file_bytes_max = (uint64_t)64 << 20; /* compressed */
static const int64_t report_us = (int64_t)5 * 1000 * 1000;

/* A data file that is being written. */
struct data_file {
    struct object_writer *writer; /* NULL: none is open */
    struct gzip_writer *gzip;
    struct manifest_md5 *md5;
    struct buf lines;  /* not yet compressed */
    struct buf packed; /* compressed, not yet written */
    struct str key;
    uint32_t partition;
    uint64_t packed_bytes;
    int64_t item_count;
    int64_t item_bytes;
};

struct data_writer {
    struct export_job *job;
    struct data_file file;
    struct history_reader reader;
    int64_t start_us;
    int64_t reported_us;
};

static enum archive_format format_of(const struct export *export)
{
    return export->format == EXPORT_ION ? ARCHIVE_ION : ARCHIVE_DYNAMODB_JSON;
}

struct object_attributes export_attributes(const struct export_job *job, struct str content_type)
{
    const struct export *export = &job->export;
    struct object_attributes attributes = {.content_type = content_type};
    if (export->sse_kms) {
        attributes.sse = STR("aws:kms");
        attributes.sse_key_id = export->sse_key_id;
    }
    return attributes;
}

/* Whether a failed call to the objects means that the server stops. */
static enum step step_of_error(const struct export_job *job)
{
    return object_error_is(&job->error, "Stopped") ? STEP_LATER : STEP_FAILED;
}

/* --- one file --- */

static uint32_t partition_of(struct str row_key)
{
    return get_u32_be(row_key.data + STORE_SPACE_LEN) >> PARTITION_SHIFT;
}

/* The first row key that a partition can have. */
static struct str partition_start(struct export_job *job, uint32_t partition)
{
    char *key = arena_bytes(&job->scratch, STORE_PREFIX_LEN);
    memset(key, 0, STORE_PREFIX_LEN);
    put_u32_be(key, job->source.history.space);
    put_u32_be(key + STORE_SPACE_LEN, partition << PARTITION_SHIFT);
    return str_make(key, STORE_PREFIX_LEN);
}

static enum step open_file(struct data_writer *writer, uint32_t partition)
{
    struct export_job *job = writer->job;
    struct data_file *file = &writer->file;
    char name[MANIFEST_NAME_LEN];
    manifest_file_name(job->row_name, job->export.file_count, name);
    file->key =
        arena_format(&job->arena, "%.*s%.*s.%s.gz", STR_ARG(job->data_folder), MANIFEST_NAME_LEN,
                     name, job->export.format == EXPORT_ION ? "ion" : "json");
    struct object_attributes attributes = export_attributes(job, STR("application/gzip"));
    file->writer = object_writer_open(job->exporter->objects, job->export.bucket, file->key,
                                      &attributes, &job->error);
    if (file->writer == NULL) {
        return step_of_error(job);
    }
    file->gzip = gzip_writer_create();
    file->md5 = manifest_md5_create();
    file->partition = partition;
    file->packed_bytes = 0;
    file->item_count = 0;
    file->item_bytes = 0;
    return STEP_DONE;
}

/* Aborts the file that is being written. */
static void abandon_file(struct data_file *file)
{
    object_writer_abort(file->writer);
    gzip_writer_destroy(file->gzip);
    manifest_md5_destroy(file->md5);
    file->writer = NULL;
    file->gzip = NULL;
    file->md5 = NULL;
    file->lines.len = 0;
    file->packed.len = 0;
}

/* Compresses the lines that are in memory and writes them. */
static enum step flush_lines(struct data_writer *writer, bool is_end)
{
    struct data_file *file = &writer->file;
    gzip_writer_add(file->gzip, buf_str(&file->lines), &file->packed);
    file->lines.len = 0;
    if (is_end) {
        gzip_writer_end(file->gzip, &file->packed);
    }
    manifest_md5_add(file->md5, buf_str(&file->packed));
    file->packed_bytes += file->packed.len;
    bool good = object_writer_add(file->writer, buf_str(&file->packed), &writer->job->error);
    file->packed.len = 0;
    return good ? STEP_DONE : step_of_error(writer->job);
}

/* Stores that the file is finished, and where the next one begins: STR_NULL: nowhere. */
static enum step record_file(struct data_writer *writer, const struct object_info *info,
                             struct str next)
{
    struct export_job *job = writer->job;
    struct data_file *file = &writer->file;
    struct export *export = &job->export;
    struct buf line = {0};
    char md5[MANIFEST_MD5_TEXT_LEN];
    manifest_md5_end(file->md5, md5);
    manifest_write_file(&line, &(struct manifest_file){.item_count = file->item_count,
                                                       .md5 = str_make(md5, sizeof(md5)),
                                                       .etag = str_from_c(info->etag),
                                                       .key = file->key});
    export->file_count++;
    export->item_count += file->item_count;
    export->item_bytes += file->item_bytes;
    export->is_read = str_is_null(next);
    export->cursor = export->is_read ? STR_NULL : arena_copy(&job->arena, next);
    enum export_result result = export_update(&job->exporter->background, &job->scratch,
                                              job->row_name, export, buf_str(&line));
    buf_finish(&line);
    return result == EXPORT_RESULT_OK ? STEP_DONE : STEP_LATER;
}

static enum step finish_file(struct data_writer *writer, struct str next)
{
    struct data_file *file = &writer->file;
    struct object_info info;
    enum step step = flush_lines(writer, true);
    if (step != STEP_DONE) {
        return step;
    }
    bool good = object_writer_close(file->writer, &info, &writer->job->error);
    file->writer = NULL;
    if (!good) {
        return step_of_error(writer->job);
    }
    step = record_file(writer, &info, next);
    abandon_file(file);
    return step;
}

/* Finishes files and opens new ones until the file of the partition is open. */
static enum step go_to_partition(struct data_writer *writer, uint32_t partition)
{
    enum step step = STEP_DONE;
    while (step == STEP_DONE && writer->file.partition < partition) {
        uint32_t next = writer->file.partition + 1;
        step = finish_file(writer, partition_start(writer->job, next));
        step = step == STEP_DONE ? open_file(writer, next) : step;
    }
    return step;
}

/* --- items --- */

/* Appends the line of an item, or of its change. */
static void write_line(struct data_writer *writer, const struct history_item *item)
{
    const struct export *export = &writer->job->export;
    struct data_file *file = &writer->file;
    struct row row = row_decode(item->row);
    if (!export->is_incremental) {
        archive_write_item(&file->lines, format_of(export), row.item);
        file->item_bytes += (int64_t)row.size;
        file->item_count++;
        return;
    }
    struct row after = row_decode(item->after);
    if (value_is_absent(row.item) && value_is_absent(after.item)) {
        return; /* inserted and deleted */
    }
    bool wants_old = export->view == EXPORT_NEW_AND_OLD_IMAGES;
    struct archive_change change = {
        .time_us = item->change_ns / 1000,
        .key = &writer->job->source.table.key,
        .old_item = wants_old ? row.item : VALUE_ABSENT,
        .new_item = after.item,
        .key_item = value_is_absent(after.item) ? row.item : after.item,
    };
    archive_write_change(&file->lines, format_of(export), &change);
    file->item_bytes += (int64_t)(row.size + after.size);
    file->item_count++;
}

static enum step write_item(struct data_writer *writer, const struct history_item *item)
{
    struct data_file *file = &writer->file;
    enum step step = go_to_partition(writer, partition_of(item->key));
    if (step == STEP_DONE && file->packed_bytes > file_bytes_max) {
        uint32_t partition = file->partition;
        step = finish_file(writer, item->key);
        step = step == STEP_DONE ? open_file(writer, partition) : step;
    }
    if (step == STEP_DONE) {
        write_line(writer, item);
        step = file->lines.len >= LINES_BYTES ? flush_lines(writer, false) : STEP_DONE;
    }
    return step;
}

static void report(struct data_writer *writer)
{
    const struct export_job *job = writer->job;
    int64_t now_us = clock_monotonic_us();
    int64_t item_count = job->export.item_count + writer->file.item_count;
    if (now_us >= writer->reported_us + report_us) {
        writer->reported_us = now_us;
        log_write(LOG_INFO, "export", "table %.*s: %.0f %%, %lld items in %.1f s",
                  STR_ARG(job->export.table_name), 100 * history_progress(&writer->reader),
                  (long long)item_count, (double)(now_us - writer->start_us) / 1e6);
    }
}

static enum step fail_unreadable(struct export_job *job)
{
    job->export.failure_code = STR("InternalError");
    job->export.failure_message =
        STR("Some items of the table cannot be read: the store is damaged");
    return STEP_FAILED;
}

/* Reads and writes the next chunk. */
static enum step write_chunk(struct data_writer *writer)
{
    struct background *background = &writer->job->exporter->background;
    int64_t start_us = clock_monotonic_us();
    if (background_is_stopping(background)) {
        return STEP_LATER;
    }
    if (!history_read(&writer->reader)) {
        return writer->reader.is_unreadable ? fail_unreadable(writer->job) : STEP_LATER;
    }
    enum step step = STEP_DONE;
    for (size_t i = 0; i < writer->reader.count && step == STEP_DONE; i++) {
        step = write_item(writer, &writer->reader.items[i]);
    }
    arena_reset(&writer->job->scratch);
    background_give_way(background, clock_monotonic_us() - start_us);
    report(writer);
    return step;
}

enum step export_write_data(struct export_job *job)
{
    struct str cursor = job->export.cursor;
    struct data_writer writer = {
        .job = job,
        .reader = {.background = &job->exporter->background,
                   .source = job->source.history,
                   .from = cursor},
        .start_us = clock_monotonic_us(),
        .reported_us = clock_monotonic_us(),
    };
    enum step step = open_file(&writer, str_is_null(cursor) ? 0 : partition_of(cursor));
    while (step == STEP_DONE && !writer.reader.is_last) {
        step = write_chunk(&writer);
    }
    if (step == STEP_DONE) {
        step = go_to_partition(&writer, PARTITIONS - 1);
    }
    if (step == STEP_DONE) {
        step = finish_file(&writer, STR_NULL);
    }
    abandon_file(&writer.file);
    buf_finish(&writer.file.lines);
    buf_finish(&writer.file.packed);
    history_reader_finish(&writer.reader);
    return step;
}
