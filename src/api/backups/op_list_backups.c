/* ListBackups: lists backups in the order of their creation. Called by dispatch.c on the thread of
 * the request. */
#include "api/backups/backup_request.h"
#include "api/tables/table_request.h"
#include "err/messages.h"

struct list_backups_request {
    struct str table_name;
    struct wire_int limit;
    struct wire_int lower_ms;
    struct wire_int upper_ms;
    struct str start;
    struct wire_enum type;
};

static const struct shape shape_backup_limit = {.kind = SHAPE_INTEGER, .min = 1, .max = 100};
enum { TYPE_USER, TYPE_SYSTEM, TYPE_AWS_BACKUP, TYPE_ALL };
static const struct shape shape_backup_type = {
    .kind = SHAPE_ENUM,
    .values = (const char *const[]){"USER", "SYSTEM", "AWS_BACKUP", "ALL", NULL},
};
static const struct field list_backups_fields[] = {
    FIELD(struct list_backups_request, table_name, "TableName", shape_table_name),
    FIELD(struct list_backups_request, limit, "Limit", shape_backup_limit),
    FIELD(struct list_backups_request, lower_ms, "TimeRangeLowerBound", shape_timestamp),
    FIELD(struct list_backups_request, upper_ms, "TimeRangeUpperBound", shape_timestamp),
    FIELD(struct list_backups_request, start, "ExclusiveStartBackupArn", shape_backup_arn),
    FIELD(struct list_backups_request, type, "BackupType", shape_backup_type),
    FIELD_END,
};
static const struct shape shape_list_backups = {
    .kind = SHAPE_STRUCT,
    .fields = list_backups_fields,
    .size = sizeof(struct list_backups_request),
};

/* The ARN is only a position: the backup need not exist, but the ARN must be of this Region. */
static bool check_start(struct api_call *call, struct str start)
{
    struct str region = engine_region(call->engine);
    struct str here = arena_format(call->arena, "arn:aws:dynamodb:%.*s:", STR_ARG(region));
    if (str_is_null(start) || str_starts_with(start, here)) {
        return true;
    }
    return str_starts_with(start, STR("arn:"))
               ? err_set(&call->err, ERR_VALIDATION,
                         MESSAGE_INVALID_REQUEST
                         "The supplied ExclusiveStartBackupArn does not match the region")
               : err_set(&call->err, ERR_VALIDATION, MESSAGE_BACKUP_ARN);
}

static bool check_range(struct api_call *call, const struct list_backups_request *request)
{
    bool has_both = request->lower_ms.given && request->upper_ms.given;
    return !has_both || request->lower_ms.value <= request->upper_ms.value ||
           err_set(&call->err, ERR_VALIDATION,
                   MESSAGE_INVALID
                   "Time range lower bound must be less than or equal to upper bound");
}

enum { BACKUPS_PER_PAGE = 100 };

struct list_backups {
    struct api_call *call;
    struct list_backups_request request;
    struct backup_list engine;
};

static void list_done(struct engine_call *engine_call)
{
    struct list_backups *op = CONTAINER_OF(engine_call, struct list_backups, engine.call);
    struct api_call *call = op->call;
    const struct backup_list *list = &op->engine;
    call->err = engine_call->err;
    if (call->err.code == ERR_NONE) {
        api_begin(call);
        api_member(call, STR("BackupSummaries"));
        buf_add_char(call->out, '[');
        for (size_t i = 0; i < list->count; i++) {
            buf_add(call->out, i > 0 ? STR(",") : STR(""));
            api_begin(call);
            backup_request_summary(call, list->entries[i].row_name, &list->entries[i].backup, NULL,
                                   true);
            api_end(call);
        }
        buf_add_char(call->out, ']');
        if (list->more) {
            struct str last = list->entries[list->count - 1].row_name;
            api_member(call, STR("LastEvaluatedBackupArn"));
            json_write_plain_string(call->out, backup_arn(call->engine, call->arena, last));
        }
        api_end(call);
    }
    api_finish(call);
}

static void start(struct list_backups *op)
{
    struct api_call *call = op->call;
    const struct list_backups_request *request = &op->request;
    struct backup_arn_parts parts;
    bool has_start = !str_is_null(request->start) && api_split_backup_arn(request->start, &parts);
    size_t type = str_is_null(request->type.text) ? TYPE_USER : (size_t)request->type.value;
    op->engine = (struct backup_list){
        .call = api_engine_call(call, list_done),
        .after = has_start ? backup_row_name(call->arena, parts.id, parts.table) : STR_NULL,
        .table_name = request->table_name,
        .user = type == TYPE_USER || type == TYPE_ALL,
        .system = type == TYPE_SYSTEM || type == TYPE_ALL,
        .from_ms = request->lower_ms.given ? request->lower_ms.value : 0,
        .until_ms = request->upper_ms.given ? MAX(request->upper_ms.value, 1) : 0,
        .limit = request->limit.given ? (size_t)request->limit.value : BACKUPS_PER_PAGE,
    };
    engine_list_backups(&op->engine);
}

void op_list_backups(struct api_call *call)
{
    struct list_backups *op = ARENA_NEW(call->arena, struct list_backups);
    struct list_backups_request *request = &op->request;
    op->call = call;
    if (api_decode(call, &shape_list_backups, request) &&
        wire_validate(&shape_list_backups, request, WORDING_OLDER, &call->err) &&
        (str_is_null(request->table_name) || api_check_table_name(call, request->table_name)) &&
        check_range(call, request) && check_start(call, request->start)) {
        start(op);
        return;
    }
    api_finish(call);
}
