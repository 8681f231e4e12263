/* CreateBackup: makes a backup of a table. Called by dispatch.c on the thread of the request. */
#include "api/backups/backup_request.h"
#include "api/tables/table_request.h"

struct create_backup_request {
    struct str table_name;
    struct str backup_name;
};

static const struct field create_backup_fields[] = {
    FIELD(struct create_backup_request, table_name, "TableName", shape_table_name),
    FIELD_REQUIRED(struct create_backup_request, backup_name, "BackupName", shape_new_index_name),
    FIELD_END,
};
static const struct shape shape_create_backup = {
    .kind = SHAPE_STRUCT,
    .fields = create_backup_fields,
    .size = sizeof(struct create_backup_request),
};

struct create_backup {
    struct api_call *call;
    struct create_backup_request request;
    struct table_describe describe;
    struct backup_create engine;
};

static void create_done(struct engine_call *engine_call)
{
    struct create_backup *op = CONTAINER_OF(engine_call, struct create_backup, engine.change.call);
    struct api_call *call = op->call;
    call->err = engine_call->err;
    if (call->err.code == ERR_NONE) {
        api_begin(call);
        api_member(call, STR("BackupDetails"));
        api_begin(call);
        backup_request_summary(call, op->engine.row_name, &op->engine.backup, NULL, false);
        api_end(call);
        api_end(call);
    } else {
        backup_request_word_error(&call->err, op->request.table_name);
    }
    table_release(op->engine.change.table);
    api_finish(call);
}

/* The sizes are known. */
static void describe_done(struct engine_call *engine_call)
{
    struct create_backup *op = CONTAINER_OF(engine_call, struct create_backup, describe.call);
    struct api_call *call = op->call;
    table_release(op->describe.table);
    if (engine_call->err.code != ERR_NONE) {
        call->err = engine_call->err;
        backup_request_word_error(&call->err, op->request.table_name);
        api_finish(call);
        return;
    }
    op->engine = (struct backup_create){
        .change = {.call = api_engine_call(call, create_done), .name = op->request.table_name},
        .name = op->request.backup_name,
        .size_bytes = op->describe.sizes.bytes,
        .item_count = op->describe.sizes.item_count,
    };
    engine_create_backup(&op->engine);
}

void op_create_backup(struct api_call *call)
{
    struct create_backup *op = ARENA_NEW(call->arena, struct create_backup);
    struct create_backup_request *request = &op->request;
    op->call = call;
    if (!api_decode(call, &shape_create_backup, request) ||
        !table_request_check_name(call, &shape_create_backup, request, request->table_name) ||
        !wire_validate(&shape_create_backup, request, WORDING_OLDER, &call->err) ||
        !backup_request_check_table(call, request->table_name)) {
        api_finish(call);
        return;
    }
    op->describe = (struct table_describe){
        .call = api_engine_call(call, describe_done),
        .name = request->table_name,
    };
    engine_describe_table(&op->describe);
}
