/* ListBackups and DescribeContinuousBackups. Backups cannot be made yet, so there are none, and no
 * table can be restored to a point in time. Called by dispatch.c on the thread of the request. */
#include "api/table_request.h"

#define INVALID         "One or more parameter values were invalid: "
#define INVALID_REQUEST "Invalid Request: "

struct list_backups_request {
    struct str table_name;
    struct wire_int limit;
    struct wire_int lower_ms;
    struct wire_int upper_ms;
    struct str start;
    struct wire_enum type;
};

static const struct shape shape_backup_limit = {.kind = SHAPE_INTEGER, .min = 1, .max = 100};
static const struct shape shape_time = {.kind = SHAPE_TIMESTAMP};
static const struct shape shape_backup_arn = {.kind = SHAPE_STRING, .min = 37, .max = 1024};
static const struct shape shape_backup_type = {
    .kind = SHAPE_ENUM,
    .values = (const char *const[]){"USER", "SYSTEM", "AWS_BACKUP", "ALL", NULL},
};
static const struct field list_backups_fields[] = {
    FIELD(struct list_backups_request, table_name, "TableName", shape_table_name),
    FIELD(struct list_backups_request, limit, "Limit", shape_backup_limit),
    FIELD(struct list_backups_request, lower_ms, "TimeRangeLowerBound", shape_time),
    FIELD(struct list_backups_request, upper_ms, "TimeRangeUpperBound", shape_time),
    FIELD(struct list_backups_request, start, "ExclusiveStartBackupArn", shape_backup_arn),
    FIELD(struct list_backups_request, type, "BackupType", shape_backup_type),
    FIELD_END,
};
static const struct shape shape_list_backups = {
    .kind = SHAPE_STRUCT,
    .fields = list_backups_fields,
    .size = sizeof(struct list_backups_request),
};

/* The ARN is a mere position, so nothing need be there, but it must be of this Region. */
static bool check_start(struct api_call *call, struct str start)
{
    struct str region = engine_region(call->engine);
    struct str here = arena_format(call->arena, "arn:aws:dynamodb:%.*s:", STR_ARG(region));
    if (str_is_null(start) || str_starts_with(start, here)) {
        return true;
    }
    return str_starts_with(start, STR("arn:"))
               ? err_set(&call->err, ERR_VALIDATION,
                         INVALID_REQUEST
                         "The supplied ExclusiveStartBackupArn does not match the region")
               : err_set(&call->err, ERR_VALIDATION, "Invalid Backup ARN");
}

static bool check_range(struct api_call *call, const struct list_backups_request *request)
{
    bool has_both = request->lower_ms.given && request->upper_ms.given;
    return !has_both || request->lower_ms.value <= request->upper_ms.value ||
           err_set(&call->err, ERR_VALIDATION,
                   INVALID "Time range lower bound must be less than or equal to upper bound");
}

void op_list_backups(struct api_call *call)
{
    struct list_backups_request request;
    if (api_decode(call, &shape_list_backups, &request) &&
        wire_validate(&shape_list_backups, &request, WORDING_OLDER, &call->err) &&
        (str_is_null(request.table_name) || api_check_table_name(call, request.table_name)) &&
        check_range(call, &request) && check_start(call, request.start)) {
        JSON_PUT(call->out, "{\"BackupSummaries\":[]}");
    }
    api_finish(call);
}

struct describe_backups_request {
    struct str table_name;
};

static const struct field describe_backups_fields[] = {
    FIELD(struct describe_backups_request, table_name, "TableName", shape_table_name),
    FIELD_END,
};
static const struct shape shape_describe_backups = {
    .kind = SHAPE_STRUCT,
    .fields = describe_backups_fields,
    .size = sizeof(struct describe_backups_request),
};

static void describe(struct api_call *call, struct str name)
{
    if (api_table(call, name) == NULL) {
        call->err = ERR_INIT(call->arena);
        err_set(&call->err, ERR_TABLE_NOT_FOUND, "Table not found: %.*s", STR_ARG(name));
        return;
    }
    JSON_PUT(call->out,
             "{\"ContinuousBackupsDescription\":{\"ContinuousBackupsStatus\":\"ENABLED\","
             "\"PointInTimeRecoveryDescription\":{\"PointInTimeRecoveryStatus\":\"DISABLED\"}}}");
}

void op_describe_continuous_backups(struct api_call *call)
{
    struct describe_backups_request request;
    if (api_decode(call, &shape_describe_backups, &request) &&
        table_request_check_name(call, &shape_describe_backups, &request, request.table_name)) {
        describe(call, request.table_name);
    }
    api_finish(call);
}
