/* Errors of imports and bulk puts: to the log, and of bulk puts to objects. The number of an object
 * is part of the cursor, so a load that continues after a restart replaces the object instead of
 * adding another one. Called by the other files of a load. */
#include "base/log.h"
#include "json/writer.h"
#include "transfer/load_run_internal.h"
#include "wire/value_json.h"

/* {"itemS3Pointer":{"bucket":"b","key":"k","itemIndex":0},"importArn":"..","errorMessages":["..."],
 * without the closing brace. */
static void put_event(struct buf *out, const struct load_run *run,
                      const struct load_pointer *pointer, struct str message)
{
    JSON_PUT(out, "{\"itemS3Pointer\":{\"bucket\":");
    json_write_string(out, run->load.bucket);
    JSON_PUT(out, ",\"key\":");
    json_write_string(out, pointer->key);
    buf_format(out, ",\"itemIndex\":%lld},", (long long)pointer->index);
    buf_add(out,
            run->load.kind == LOAD_IMPORT ? STR("\"importArn\":") : STR("\"bulkOperationArn\":"));
    json_write_string(out, run->arn);
    JSON_PUT(out, ",\"errorMessages\":[");
    json_write_string(out, message);
    JSON_PUT(out, "]");
}

static void log_event(struct load_run *run, const struct load_pointer *pointer, struct str message)
{
    if (run->logged++ >= LOGGED_MAX) {
        return;
    }
    struct buf line = {0};
    put_event(&line, run, pointer, message);
    log_write(LOG_WARN, run->load.kind == LOAD_IMPORT ? "import" : "bulk put", "%.*s}%s",
              STR_ARG(buf_str(&line)),
              run->logged == LOGGED_MAX ? " (further errors are not logged)" : "");
    buf_finish(&line);
}

void load_report_error(struct load_run *run, struct load_batch *batch,
                       const struct load_pointer *pointer, struct str message)
{
    batch->errors++;
    log_event(run, pointer, message);
    if (run->load.reports_errors) {
        struct buf *out = &batch->reports[REPORT_ERROR];
        put_event(out, run, pointer, message);
        JSON_PUT(out, "}\n");
    }
}

void load_report_condition(struct load_run *run, struct load_batch *batch,
                           const struct load_pointer *pointer, const struct item_write *write)
{
    if (!run->load.reports_conditions) {
        return;
    }
    struct buf *out = &batch->reports[REPORT_CONDITION];
    put_event(out, run, pointer, write->err.message);
    JSON_PUT(out, ",\"Item\":");
    value_json_write_item(out, write->item);
    if (!value_is_absent(write->old_item)) {
        JSON_PUT(out, ",\"ExistingItem\":");
        value_json_write_item(out, write->old_item);
    }
    JSON_PUT(out, "}\n");
}

struct str load_report_folder(struct load_run *run)
{
    struct str id = load_id(run->row_name);
    struct str prefix = run->load.output_prefix;
    bool needs_slash = prefix.len > 0 && prefix.data[prefix.len - 1] != '/';
    return arena_format(&run->arena, "%.*s%sAWSDynamoDB/%.*s/", STR_ARG(prefix),
                        needs_slash ? "/" : "", STR_ARG(id));
}

bool load_report_is_own(const struct load_run *run, struct str key)
{
    return run->load.kind == LOAD_BULK_PUT && str_eq(run->load.bucket, run->load.output_bucket) &&
           str_starts_with(key, run->report_folder);
}

static enum load_result put_object(struct load_run *run, enum load_report kind)
{
    static const char *const folders[] = {
        [REPORT_ERROR] = "error",
        [REPORT_CONDITION] = "condition-check-failure",
    };
    const struct load *load = &run->load;
    struct str key = arena_format(&run->scratch, "%.*s%s/%08lld.json", STR_ARG(run->report_folder),
                                  folders[kind], (long long)load->cursor.part);
    struct object_attributes attributes = {
        .content_type = STR("application/json"),
        .sse = load->output_sse,
        .sse_key_id = load->output_sse_key,
    };
    struct object_error error;
    bool ok = object_put(run->objects, load->output_bucket, key, buf_str(&run->reports[kind]),
                         &attributes, NULL, &error);
    /* after a failure the load ends, or continues at the stored cursor */
    run->reports[kind].len = 0;
    return ok ? LOAD_RUN_ON : load_fail_objects(run, &error);
}

enum load_result load_report_flush(struct load_run *run)
{
    enum load_result result = LOAD_RUN_ON;
    bool has_some = false;
    for (enum load_report kind = 0; result == LOAD_RUN_ON && kind < REPORT_KINDS; kind++) {
        if (run->reports[kind].len > 0) {
            has_some = true;
            result = put_object(run, kind);
        }
    }
    run->load.cursor.part += has_some; /* also after a failure: one object may be there */
    return result;
}
