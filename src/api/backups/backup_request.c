/* Parameters and answers of operations on backups. Called by these operations, on the thread of the
 * request. */
#include "api/backups/backup_request.h"

#include "api/arn.h"
#include "api/tables/table_description.h"
#include "err/messages.h"

const struct shape shape_backup_arn = {.kind = SHAPE_STRING, .min = 37, .max = 1024};
const struct shape shape_timestamp = {.kind = SHAPE_TIMESTAMP};

/* --- ARNs --- */

/* Two letters, words, a digit: us-east-1, us-gov-west-1. */
static bool is_region(struct str text)
{
    bool good = text.len >= 7 && text.data[2] == '-' && text.data[text.len - 2] == '-' &&
                text.data[text.len - 1] >= '1' && text.data[text.len - 1] <= '9';
    for (size_t i = 0; good && i + 1 < text.len; i++) {
        good = (text.data[i] >= 'a' && text.data[i] <= 'z') || text.data[i] == '-';
    }
    return good;
}

bool backup_request_row(struct api_call *call, struct str text, struct str *out)
{
    struct backup_arn_parts parts;
    if (!api_split_backup_arn(text, &parts)) {
        return err_set(&call->err, ERR_VALIDATION, MESSAGE_BACKUP_ARN);
    }
    struct arn arn = arn_parse(parts.table_arn);
    struct str here = engine_region(call->engine);
    if (arn.kind != ARN_TABLE || !str_eq(arn.partition, STR("aws")) ||
        (!is_region(arn.region) && !str_eq(arn.region, here))) {
        return err_set(&call->err, ERR_VALIDATION, "Invalid Request: BackupArn is not valid");
    }
    if (!str_eq(arn.account, engine_account(call->engine))) {
        return err_set(&call->err, ERR_ACCESS_DENIED, MESSAGE_ACCESS_DENIED);
    }
    *out = backup_row_name(call->arena, parts.id, parts.table);
    return true;
}

/* --- tables --- */

void backup_request_word_error(struct err *err, struct str table_name)
{
    enum err_code code = err->code;
    if (code != ERR_RESOURCE_NOT_FOUND && code != ERR_RESOURCE_IN_USE) {
        return;
    }
    err->code = ERR_NONE; /* it is set again below */
    if (code == ERR_RESOURCE_NOT_FOUND) {
        err_set(err, ERR_TABLE_NOT_FOUND, MESSAGE_BACKUP_TABLE_NOT_FOUND, STR_ARG(table_name));
    } else {
        err_set(err, ERR_CONTINUOUS_BACKUPS_UNAVAILABLE, MESSAGE_BACKUPS_BEGIN,
                STR_ARG(table_name));
    }
}

bool backup_request_check_table(struct api_call *call, struct str name)
{
    const struct table *table = table_acquire(call->engine, name);
    bool is_creating = table != NULL && table_status(call->engine, table) == STATUS_CREATING;
    bool is_early = is_creating && table->restore.space == 0;
    bool ok = table != NULL && !is_creating;
    table_release(table);
    if (!ok) {
        err_set(&call->err, is_early ? ERR_RESOURCE_IN_USE : ERR_RESOURCE_NOT_FOUND, "%s", "");
        backup_request_word_error(&call->err, name);
    }
    return ok;
}

/* --- backups as JSON --- */

static void put_text(struct api_call *call, struct str name, struct str text)
{
    api_member(call, name);
    json_write_string(call->out, text);
}

static void put_int(struct api_call *call, struct str name, int64_t value)
{
    api_member(call, name);
    buf_add_int64(call->out, value);
}

static void put_table_arn(struct api_call *call, const struct table *table)
{
    struct str region = engine_region(call->engine);
    struct str account = engine_account(call->engine);
    put_text(call, STR("TableArn"),
             arena_format(call->arena, "arn:aws:dynamodb:%.*s:%.*s:table/%.*s", STR_ARG(region),
                          STR_ARG(account), STR_ARG(table->name)));
}

void backup_request_summary(struct api_call *call, struct str row_name, const struct backup *backup,
                            const char *status, bool with_table)
{
    const char *stored = backup->state == BACKUP_CREATING ? "CREATING" : "AVAILABLE";
    if (with_table) {
        put_text(call, STR("TableName"), backup->table.name);
        put_text(call, STR("TableId"), str_make(backup->table.id, sizeof(backup->table.id)));
        put_table_arn(call, &backup->table);
    }
    put_text(call, STR("BackupArn"), backup_arn(call->engine, call->arena, row_name));
    put_text(call, STR("BackupName"), backup->name);
    put_int(call, STR("BackupSizeBytes"), backup->size_bytes);
    put_text(call, STR("BackupStatus"), str_from_c(status != NULL ? status : stored));
    put_text(call, STR("BackupType"), backup->kind == BACKUP_SYSTEM ? STR("SYSTEM") : STR("USER"));
    describe_date(call, STR("BackupCreationDateTime"), backup->created_ms);
    if (backup->expires_ms != 0) {
        describe_date(call, STR("BackupExpiryDateTime"), backup->expires_ms);
    }
}

static void put_throughput(struct api_call *call, const struct throughput *throughput)
{
    api_member(call, STR("ProvisionedThroughput"));
    api_begin(call);
    put_int(call, STR("ReadCapacityUnits"), throughput->read_units);
    put_int(call, STR("WriteCapacityUnits"), throughput->write_units);
    api_end(call);
}

static void put_source(struct api_call *call, const struct backup *backup)
{
    const struct table *table = &backup->table;
    api_member(call, STR("SourceTableDetails"));
    api_begin(call);
    put_text(call, STR("TableName"), table->name);
    put_text(call, STR("TableId"), str_make(table->id, sizeof(table->id)));
    put_table_arn(call, table);
    put_int(call, STR("TableSizeBytes"), backup->size_bytes);
    describe_key_schema(call, &table->key);
    describe_date(call, STR("TableCreationDateTime"), table->created_ms);
    put_throughput(call, &table->throughput);
    describe_on_demand(call, &table->on_demand);
    put_int(call, STR("ItemCount"), backup->item_count);
    put_text(call, STR("BillingMode"),
             table->billing == BILLING_PAY_PER_REQUEST ? STR("PAY_PER_REQUEST")
                                                       : STR("PROVISIONED"));
    api_end(call);
}

static void put_indexes(struct api_call *call, const struct table *table, enum index_kind kind)
{
    bool is_first = true;
    for (size_t i = 0; i < table->index_count; i++) {
        const struct index *index = &table->indexes[i];
        if (index->kind != kind) {
            continue;
        }
        if (is_first) {
            api_member(call, kind == INDEX_GLOBAL ? STR("GlobalSecondaryIndexes")
                                                  : STR("LocalSecondaryIndexes"));
        }
        buf_add_char(call->out, is_first ? '[' : ',');
        is_first = false;
        api_begin(call);
        put_text(call, STR("IndexName"), index->name);
        describe_key_schema(call, &index->key);
        describe_index_projection(call, index);
        if (kind == INDEX_GLOBAL) {
            put_throughput(call, &index->throughput);
        }
        api_end(call);
    }
    if (!is_first) {
        buf_add_char(call->out, ']');
    }
}

static void put_features(struct api_call *call, const struct backup *backup)
{
    const struct table *table = &backup->table;
    api_member(call, STR("SourceTableFeatureDetails"));
    api_begin(call);
    if (backup->kind != BACKUP_SYSTEM) {
        put_indexes(call, table, INDEX_LOCAL);
        put_indexes(call, table, INDEX_GLOBAL);
        if (table->stream != STREAM_NONE) {
            api_member(call, STR("StreamDescription"));
            buf_format(call->out, "{\"StreamEnabled\":true,\"StreamViewType\":\"%s\"}",
                       describe_stream_view(table->stream));
        }
        if (table->ttl != TTL_DISABLED) {
            api_member(call, STR("TimeToLiveDescription"));
            JSON_PUT(call->out, "{\"TimeToLiveStatus\":\"ENABLED\",\"AttributeName\":");
            json_write_string(call->out, table->ttl_attribute);
            JSON_PUT(call->out, "}");
        }
        describe_sse(call, table, false);
    }
    api_end(call);
}

void backup_request_describe(struct api_call *call, struct str row_name,
                             const struct backup *backup, const char *status)
{
    api_begin(call);
    api_member(call, STR("BackupDescription"));
    api_begin(call);
    api_member(call, STR("BackupDetails"));
    api_begin(call);
    backup_request_summary(call, row_name, backup, status, false);
    api_end(call);
    put_source(call, backup);
    put_features(call, backup);
    api_end(call);
    api_end(call);
}
