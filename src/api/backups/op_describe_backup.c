/* DescribeBackup and DeleteBackup. Called by dispatch.c on the thread of the request. */
#include "api/backups/backup_request.h"
#include "err/messages.h"

struct one_backup_request {
    struct str arn;
};

static const struct field one_backup_fields[] = {
    FIELD_REQUIRED(struct one_backup_request, arn, "BackupArn", shape_backup_arn),
    FIELD_END,
};
static const struct shape shape_one_backup = {
    .kind = SHAPE_STRUCT,
    .fields = one_backup_fields,
    .size = sizeof(struct one_backup_request),
};

static bool read_request(struct api_call *call, struct str *out_row_name)
{
    struct one_backup_request request;
    return api_decode(call, &shape_one_backup, &request) &&
           wire_validate(&shape_one_backup, &request, WORDING_OLDER, &call->err) &&
           backup_request_row(call, request.arn, out_row_name);
}

struct describe_backup {
    struct api_call *call;
    struct backup_get engine;
};

static void describe_done(struct engine_call *engine_call)
{
    struct describe_backup *op = CONTAINER_OF(engine_call, struct describe_backup, engine.call);
    struct api_call *call = op->call;
    call->err = engine_call->err;
    if (call->err.code == ERR_NONE && op->engine.backup.kind == BACKUP_INTERNAL) {
        struct str arn = backup_arn(call->engine, call->arena, op->engine.row_name);
        err_set(&call->err, ERR_BACKUP_NOT_FOUND, MESSAGE_BACKUP_NOT_FOUND, STR_ARG(arn));
    }
    if (call->err.code == ERR_NONE) {
        backup_request_describe(call, op->engine.row_name, &op->engine.backup, NULL);
    }
    api_finish(call);
}

void op_describe_backup(struct api_call *call)
{
    struct describe_backup *op = ARENA_NEW(call->arena, struct describe_backup);
    op->call = call;
    if (!read_request(call, &op->engine.row_name)) {
        api_finish(call);
        return;
    }
    op->engine.call = api_engine_call(call, describe_done);
    engine_get_backup(&op->engine);
}

struct delete_backup {
    struct api_call *call;
    struct backup_delete engine;
};

static void delete_done(struct engine_call *engine_call)
{
    struct delete_backup *op = CONTAINER_OF(engine_call, struct delete_backup, engine.call);
    struct api_call *call = op->call;
    call->err = engine_call->err;
    if (call->err.code == ERR_NONE) {
        backup_request_describe(call, op->engine.row_name, &op->engine.backup, "DELETED");
    }
    api_finish(call);
}

void op_delete_backup(struct api_call *call)
{
    struct delete_backup *op = ARENA_NEW(call->arena, struct delete_backup);
    op->call = call;
    if (!read_request(call, &op->engine.row_name)) {
        api_finish(call);
        return;
    }
    op->engine.call = api_engine_call(call, delete_done);
    engine_delete_backup(&op->engine);
}
