/* Parameters and answers of operations on exports. Called by these operations, on the thread of the
 * request. */
#include "api/files/export_request.h"

#include "api/tables/table_description.h"
#include "err/messages.h"

/* --- ARNs --- */

bool export_request_table(struct api_call *call, struct str text, struct arn *out)
{
    struct err *err = &call->err;
    *out = arn_parse(text);
    if (text.len == 0) {
        return err_set(err, ERR_VALIDATION, "Invalid TableArn: Invalid Table ARN");
    }
    if (out->kind == ARN_INDEX || out->kind == ARN_STREAM) {
        return err_set(err, ERR_VALIDATION, MESSAGE_INVALID_REQUEST "Table ARN is invalid.");
    }
    return out->kind == ARN_TABLE || err_set(err, ERR_VALIDATION, MESSAGE_TABLE_ARN);
}

/* Takes arn:aws:dynamodb:REGION:ACCOUNT:table/TABLE/export/ID apart. */
static bool split(struct str text, struct arn *out_table, struct str *out_id)
{
    static const char word[] = "/export/";
    const char *at = text.len == 0 ? NULL : memmem(text.data, text.len, word, sizeof(word) - 1);
    if (at == NULL) {
        return false;
    }
    size_t table_len = (size_t)(at - text.data);
    *out_table = arn_parse(str_make(text.data, table_len));
    *out_id = str_skip(text, table_len + sizeof(word) - 1);
    return out_id->len > 0;
}

bool export_request_row(struct api_call *call, struct str text, struct str *out)
{
    struct arn table;
    struct str id;
    struct err *err = &call->err;
    if (!split(text, &table, &id)) {
        return err_set(err, ERR_VALIDATION, "Invalid Export ARN");
    }
    if (table.kind != ARN_TABLE || !str_eq(table.partition, STR("aws")) ||
        !str_eq(table.account, engine_account(call->engine))) {
        return err_set(err, ERR_ACCESS_DENIED, MESSAGE_ACCESS_DENIED);
    }
    if (!str_eq(table.region, engine_region(call->engine))) {
        return err_set(err, ERR_EXPORT_NOT_FOUND, "Export not found: Invalid export arn");
    }
    *out = backup_row_name(call->arena, id, table.table);
    return true;
}

/* --- answers --- */

static void put_text(struct api_call *call, struct str name, struct str text)
{
    if (!str_is_null(text)) {
        api_member(call, name);
        json_write_string(call->out, text);
    }
}

static void put_int(struct api_call *call, struct str name, int64_t value)
{
    api_member(call, name);
    buf_add_int64(call->out, value);
}

static struct str status_of(const struct export *export)
{
    return export->state == EXPORT_IN_PROGRESS ? STR("IN_PROGRESS")
           : export->state == EXPORT_COMPLETED ? STR("COMPLETED")
                                               : STR("FAILED");
}

static struct str type_of(const struct export *export)
{
    return export->is_incremental ? STR("INCREMENTAL_EXPORT") : STR("FULL_EXPORT");
}

/* What is known when the export has ended. */
static void put_end(struct api_call *call, const struct export *export)
{
    if (export->state == EXPORT_IN_PROGRESS) {
        return;
    }
    describe_date(call, STR("EndTime"), export->end_ms);
    if (export->state == EXPORT_FAILED) {
        put_text(call, STR("FailureCode"), export->failure_code);
        put_text(call, STR("FailureMessage"), export->failure_message);
        return;
    }
    put_text(call, STR("ExportManifest"), export->manifest);
    put_int(call, STR("BilledSizeBytes"), export->billed_bytes);
    put_int(call, STR("ItemCount"), export->item_count);
}

static void put_specification(struct api_call *call, const struct export *export)
{
    api_member(call, STR("IncrementalExportSpecification"));
    api_begin(call);
    describe_date(call, STR("ExportFromTime"), export->time_ms);
    describe_date(call, STR("ExportToTime"), export->to_ms);
    put_text(call, STR("ExportViewType"),
             export->view == EXPORT_NEW_IMAGE ? STR("NEW_IMAGE") : STR("NEW_AND_OLD_IMAGES"));
    api_end(call);
}

void export_request_describe(struct api_call *call, struct str row_name,
                             const struct export *export)
{
    struct str region = engine_region(call->engine);
    struct str account = engine_account(call->engine);
    api_begin(call);
    api_member(call, STR("ExportDescription"));
    api_begin(call);
    put_text(call, STR("ExportArn"), export_arn(call->engine, call->arena, row_name));
    put_text(call, STR("ExportStatus"), status_of(export));
    describe_date(call, STR("StartTime"), export->start_ms);
    put_text(call, STR("TableArn"),
             arena_format(call->arena, "arn:aws:dynamodb:%.*s:%.*s:table/%.*s", STR_ARG(region),
                          STR_ARG(account), STR_ARG(export->table_name)));
    put_text(call, STR("TableId"), str_make(export->table_id, sizeof(export->table_id)));
    if (!export->is_incremental) {
        describe_date(call, STR("ExportTime"), export->time_ms);
    }
    put_text(call, STR("ClientToken"), export->token);
    put_text(call, STR("S3Bucket"), export->bucket);
    put_text(call, STR("S3BucketOwner"), export->owner);
    put_text(call, STR("S3Prefix"), export->prefix);
    put_text(call, STR("S3SseAlgorithm"), export->sse_kms ? STR("KMS") : STR("AES256"));
    put_text(call, STR("S3SseKmsKeyId"), export->sse_key_id);
    put_text(call, STR("ExportFormat"),
             export->format == EXPORT_ION ? STR("ION") : STR("DYNAMODB_JSON"));
    put_text(call, STR("ExportType"), export->is_type_given ? type_of(export) : STR_NULL);
    if (export->is_incremental) {
        put_specification(call, export);
    }
    put_text(call, STR("DestinationType"), STR("S3"));
    put_end(call, export);
    api_end(call);
    api_end(call);
}

void export_request_summary(struct api_call *call, struct str row_name, const struct export *export)
{
    api_begin(call);
    put_text(call, STR("ExportArn"), export_arn(call->engine, call->arena, row_name));
    put_text(call, STR("ExportStatus"), status_of(export));
    put_text(call, STR("ExportType"), type_of(export));
    api_end(call);
}
