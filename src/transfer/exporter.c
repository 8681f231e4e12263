/* The thread that runs exports, one after the other: data files, manifests, the end. The progress
 * is in the export's row, so that this server after a restart, or another server, resumes it; an
 * export is COMPLETED only after all of its objects are written. */
#include "base/clock.h"
#include "base/log.h"
#include "transfer/exporter_internal.h"
#include "transfer/failure_code.h"

enum {
    POLL_MS = 20,
    RETRY_MS = 2000,    /* a file is written again from its start */
    IDLE_MS = 5 * 1000, /* another server may have made an export */
    FOLLOWER_MS = 500,
    LIST_MAX = 64,
};
static const int64_t kept_ms = (int64_t)90 * 24 * 60 * 60 * 1000;
static const int64_t sweep_ms = (int64_t)60 * 60 * 1000;
static const int64_t billed_bytes_min = 10000000;

/* --- objects --- */

static enum step put_object(struct export_job *job, const char *name, struct str body,
                            struct str content_type)
{
    struct str key = arena_format(&job->scratch, "%.*s%s", STR_ARG(job->folder), name);
    struct object_attributes attributes = export_attributes(job, content_type);
    bool good = object_put(job->exporter->objects, job->export.bucket, key, body, &attributes, NULL,
                           &job->error);
    return good ? STEP_DONE : object_error_is(&job->error, "Stopped") ? STEP_LATER : STEP_FAILED;
}

/* Writes a JSON file, and the file with its MD5. */
static enum step put_with_md5(struct export_job *job, const char *name, const char *md5_name,
                              struct str body)
{
    char md5[MANIFEST_MD5_TEXT_LEN];
    manifest_md5(body, md5);
    enum step step = put_object(job, name, body, STR("application/json"));
    return step == STEP_DONE
               ? put_object(job, md5_name, str_make(md5, sizeof(md5)), STR("text/plain"))
               : step;
}

static void write_summary(struct export_job *job, struct buf *out)
{
    struct engine *engine = job->exporter->background.engine;
    struct arena *arena = &job->scratch;
    const struct export *export = &job->export;
    struct str region = engine_region(engine);
    struct str account = engine_account(engine);
    struct manifest_summary summary = {
        .export_arn = export_arn(engine, arena, job->row_name),
        .start_ms = export->start_ms,
        .end_ms = export->end_ms,
        .table_arn = arena_format(arena, "arn:aws:dynamodb:%.*s:%.*s:table/%.*s", STR_ARG(region),
                                  STR_ARG(account), STR_ARG(export->table_name)),
        .table_id = str_make(export->table_id, sizeof(export->table_id)),
        .is_incremental = export->is_incremental,
        .time_ms = export->time_ms,
        .to_ms = export->to_ms,
        .bucket = export->bucket,
        .prefix = export->prefix,
        .sse_algorithm = export->sse_kms ? "KMS" : "AES256",
        .sse_key_id = export->sse_key_id,
        .files_key = arena_format(arena, "%.*smanifest-files.json", STR_ARG(job->folder)),
        .billed_bytes = export->billed_bytes,
        .item_count = export->item_count,
        .format = export->format == EXPORT_ION ? "ION" : "DYNAMODB_JSON",
        .view = export->view == EXPORT_NEW_IMAGE ? "NEW_IMAGE" : "NEW_AND_OLD_IMAGES",
    };
    manifest_write_summary(out, &summary);
}

/* Small full exports are free of charge; an incremental one costs at least 10 MB. */
static int64_t billed_bytes(const struct export *export)
{
    bool is_small = export->item_bytes < billed_bytes_min;
    return !is_small ? export->item_bytes : export->is_incremental ? billed_bytes_min : 0;
}

static enum step write_manifests(struct export_job *job)
{
    struct buf text = {0};
    enum step step =
        export_read_files(&job->exporter->background, &job->scratch, job->row_name, &text)
            ? STEP_DONE
            : STEP_LATER;
    if (step == STEP_DONE) {
        step = put_with_md5(job, "manifest-files.json", "manifest-files.md5", buf_str(&text));
    }
    job->export.end_ms = clock_wall_ms();
    job->export.billed_bytes = billed_bytes(&job->export);
    if (step == STEP_DONE) {
        text.len = 0;
        write_summary(job, &text);
        step = put_with_md5(job, "manifest-summary.json", "manifest-summary.md5", buf_str(&text));
    }
    buf_finish(&text);
    return step;
}

/* --- the end --- */

/* Sets the failure of the export from an error of S3, unless one is set already. */
static void set_failure(struct export_job *job)
{
    const struct object_error *error = &job->error;
    job->export.state = EXPORT_FAILED;
    job->export.end_ms = clock_wall_ms();
    if (!str_is_null(job->export.failure_code)) {
        return;
    }
    job->export.failure_code = failure_code(&job->arena, error);
    job->export.failure_message =
        arena_format(&job->arena, "%s (Service: Amazon S3; Status Code: %d; Error Code: %s)",
                     error->message, error->status, error->code);
}

static void set_completed(struct export_job *job)
{
    job->export.state = EXPORT_COMPLETED;
    job->export.manifest =
        arena_format(&job->arena, "%.*smanifest-summary.json", STR_ARG(job->folder));
}

/* Stores the result of the export, and deletes its pins. */
static enum step end_job(struct export_job *job)
{
    const struct export *export = &job->export;
    struct background *background = &job->exporter->background;
    enum export_result result =
        export_update(background, &job->scratch, job->row_name, export, STR_NULL);
    if (result != EXPORT_RESULT_OK) {
        return result == EXPORT_RESULT_TAKEN ? STEP_DONE : STEP_LATER;
    }
    bool released = export_release(background, &job->scratch, job->row_name, export);
    if (export->state == EXPORT_COMPLETED) {
        log_write(LOG_INFO, "export", "table %.*s: %lld items in %u files in bucket %.*s",
                  STR_ARG(export->table_name), (long long)export->item_count, export->file_count,
                  STR_ARG(export->bucket));
    } else {
        log_write(LOG_WARN, "export", "table %.*s to bucket %.*s failed: %.*s",
                  STR_ARG(export->table_name), STR_ARG(export->bucket),
                  STR_ARG(export->failure_message));
    }
    return released ? STEP_DONE : STEP_LATER;
}

/* --- one export --- */

static void name_folders(struct export_job *job)
{
    struct str id = backup_id(job->row_name);
    struct str prefix = job->export.prefix;
    while (prefix.len > 0 && prefix.data[prefix.len - 1] == '/') {
        prefix.len--;
    }
    struct str base =
        arena_format(&job->arena, "%.*s%sAWSDynamoDB/", STR_ARG(prefix), prefix.len > 0 ? "/" : "");
    job->folder = arena_format(&job->arena, "%.*s%.*s/", STR_ARG(base), STR_ARG(id));
    job->data_folder = arena_format(&job->arena, "%.*sdata/",
                                    STR_ARG(job->export.is_incremental ? base : job->folder));
}

/* Reads what is to be exported, and takes the export over. */
static enum step begin_job(struct export_job *job)
{
    struct background *background = &job->exporter->background;
    enum export_readiness readiness =
        export_find_source(background, &job->arena, &job->export, &job->source);
    if (readiness == EXPORT_SOURCE_LATER) {
        return STEP_SOON;
    }
    if (readiness == EXPORT_SOURCE_FAILED) {
        return STEP_LATER;
    }
    if (export_begin(background, &job->arena, job->row_name, &job->export) != EXPORT_RESULT_OK) {
        return STEP_LATER;
    }
    name_folders(job);
    if (readiness == EXPORT_SOURCE_GONE) {
        job->export.failure_code = STR("InternalError");
        job->export.failure_message =
            STR("The items of the table as of the export's time are not available any more");
        return STEP_FAILED;
    }
    return STEP_DONE;
}

static enum step run_steps(struct export_job *job)
{
    enum step step = begin_job(job);
    if (step == STEP_DONE && job->export.file_count == 0) {
        step = put_object(job, "_started", STR(""), STR_NULL);
    }
    if (step == STEP_DONE && !job->export.is_read) {
        step = export_write_data(job);
    }
    if (step == STEP_DONE) {
        step = write_manifests(job);
    }
    return step;
}

/* STEP_SOON, STEP_LATER: it must be tried again. */
static enum step run_export(struct exporter *exporter, const struct export_entry *entry)
{
    struct export_job job = {.exporter = exporter, .export = entry->export};
    arena_init(&job.arena);
    arena_init(&job.scratch);
    job.row_name = arena_copy(&job.arena, entry->row_name);
    enum step step = run_steps(&job);
    if (step == STEP_LATER && !object_error_is(&job.error, "Stopped") &&
        !background_is_stopping(&exporter->background)) {
        log_write(LOG_WARN, "export",
                  "table %.*s: interrupted, to be resumed: the store cannot be used, or another "
                  "server has taken over",
                  STR_ARG(entry->export.table_name));
    }
    if (step == STEP_DONE) {
        set_completed(&job);
        step = end_job(&job);
    } else if (step == STEP_FAILED) {
        set_failure(&job);
        step = end_job(&job);
    }
    arena_finish(&job.arena);
    arena_finish(&job.scratch);
    return step;
}

/* --- the round --- */

/* Runs all exports in progress, the oldest first. False: some must be tried again. */
static bool run_exports(struct exporter *exporter, struct arena *arena)
{
    struct background *background = &exporter->background;
    struct export_list list = {.call.arena = arena, .only_in_progress = true, .limit = LIST_MAX};
    exporter->has_failed = !export_list_waiting(background, &list);
    bool is_done = !exporter->has_failed && !list.more;
    for (size_t i = list.count; i > 0 && background_may_go_on(background); i--) {
        enum step step = run_export(exporter, &list.entries[i - 1]);
        exporter->has_failed = exporter->has_failed || step == STEP_LATER;
        is_done = is_done && step == STEP_DONE;
    }
    return is_done;
}

/* Deletes the rows of old exports. */
static void sweep(struct exporter *exporter, struct arena *arena)
{
    int64_t now_ms = engine_trusted_ms(exporter->background.engine);
    struct export_list list = {.call.arena = arena, .limit = LIST_MAX};
    do {
        if (!export_list_waiting(&exporter->background, &list)) {
            return;
        }
        for (size_t i = 0; i < list.count; i++) {
            const struct export_entry *entry = &list.entries[i];
            bool is_old = entry->export.start_ms + kept_ms < now_ms &&
                          entry->export.state != EXPORT_IN_PROGRESS;
            if (is_old &&
                !export_forget(&exporter->background, arena, entry->row_name, &entry->export)) {
                return;
            }
        }
        list.before = list.count > 0 ? list.entries[list.count - 1].row_name : STR_NULL;
    } while (list.more && !background_is_stopping(&exporter->background));
    exporter->swept_ms = now_ms;
}

static int64_t exporter_round(struct background *background)
{
    struct exporter *exporter = CONTAINER_OF(background, struct exporter, background);
    if (!engine_leads_transfers(background->engine)) {
        return FOLLOWER_MS;
    }
    struct arena arena;
    arena_init(&arena);
    bool is_idle = run_exports(exporter, &arena);
    int64_t now_ms = engine_trusted_ms(background->engine);
    if (exporter->swept_ms + sweep_ms < now_ms || now_ms < exporter->swept_ms) {
        sweep(exporter, &arena);
    }
    arena_finish(&arena);
    return exporter->has_failed ? RETRY_MS : is_idle ? IDLE_MS : POLL_MS;
}

bool exporter_start(struct exporter *exporter, struct engine *engine, struct objects *objects,
                    struct err *err)
{
    exporter->objects = objects;
    if (!background_start(&exporter->background, engine, "export", exporter_round, err)) {
        return false;
    }
    engine_set_exporter(engine, &exporter->background);
    return true;
}

void exporter_stop(struct exporter *exporter)
{
    if (exporter->background.started) {
        engine_set_exporter(exporter->background.engine, NULL);
        background_stop(&exporter->background);
    }
    if (exporter->background.mailbox != NULL) {
        background_finish(&exporter->background);
    }
}
