/* DescribeTable: describes a table with its sizes. Called by dispatch.c on the thread of the
 * call. */
#include "api/tables/table_description.h"
#include "api/tables/table_request.h"

struct describe_table_request {
    struct str table_name;
};

static const struct field describe_table_fields[] = {
    FIELD(struct describe_table_request, table_name, "TableName", shape_whole_table_name),
    FIELD_END,
};

static const struct shape shape_describe_table = {
    .kind = SHAPE_STRUCT,
    .fields = describe_table_fields,
    .size = sizeof(struct describe_table_request),
};

struct describe_op {
    struct api_call *call;
    struct describe_table_request request;
    struct table_describe engine;
};

static void describe_done(struct engine_call *engine_call)
{
    struct describe_op *op = CONTAINER_OF(engine_call, struct describe_op, engine.call);
    struct api_call *call = op->call;
    const struct table *table = op->engine.table;
    call->err = engine_call->err;
    if (call->err.code == ERR_NONE) {
        api_begin(call);
        api_member(call, STR("Table"));
        describe_table(call, &(struct description){
                                 .table = table,
                                 .sizes = &op->engine.sizes,
                                 .status = table_status(call->engine, table),
                             });
        api_end(call);
    }
    table_release(table);
    api_finish(call);
}

void op_describe_table(struct api_call *call)
{
    struct describe_op *op = ARENA_NEW(call->arena, struct describe_op);
    op->call = call;
    if (!api_decode(call, &shape_describe_table, &op->request) ||
        !table_request_check_name(call, &shape_describe_table, &op->request,
                                  op->request.table_name)) {
        api_finish(call);
        return;
    }
    op->engine.call = api_engine_call(call, describe_done);
    op->engine.name = op->request.table_name;
    engine_describe_table(&op->engine);
}
