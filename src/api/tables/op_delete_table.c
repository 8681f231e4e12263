/* DeleteTable: has the engine remove a table from the catalog; its rows are deleted in the
 * background. Called by dispatch.c on the thread of the call. */
#include "api/tables/table_description.h"
#include "api/tables/table_request.h"

struct delete_table_request {
    struct str table_name;
};

static const struct field delete_table_fields[] = {
    FIELD(struct delete_table_request, table_name, "TableName", shape_table_name),
    FIELD_END,
};

static const struct shape shape_delete_table = {
    .kind = SHAPE_STRUCT,
    .fields = delete_table_fields,
    .size = sizeof(struct delete_table_request),
};

struct delete_op {
    struct api_call *call;
    struct delete_table_request request;
    struct table_delete engine;
};

static void delete_done(struct engine_call *engine_call)
{
    struct delete_op *op = CONTAINER_OF(engine_call, struct delete_op, engine.call);
    struct api_call *call = op->call;
    call->err = engine_call->err;
    if (call->err.code == ERR_NONE) {
        api_begin(call);
        api_member(call, STR("TableDescription"));
        describe_deleted_table(call, op->engine.table);
        api_end(call);
        table_release(op->engine.table);
    }
    api_finish(call);
}

void op_delete_table(struct api_call *call)
{
    struct delete_op *op = ARENA_NEW(call->arena, struct delete_op);
    op->call = call;
    if (!api_decode(call, &shape_delete_table, &op->request) ||
        !table_request_check_name(call, &shape_delete_table, &op->request,
                                  op->request.table_name)) {
        api_finish(call);
        return;
    }
    op->engine.call = api_engine_call(call, delete_done);
    op->engine.name = op->request.table_name;
    engine_delete_table(&op->engine);
}
