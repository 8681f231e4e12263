/* GetItem: reads one item by primary key. Called by dispatch.c on the thread of the call. */
#include "api/api_internal.h"

struct get_item_request {
    struct str table_name;
    struct wire_item key;
    struct wire_list attributes_to_get;
    struct wire_bool consistent_read;
    struct wire_enum return_consumed_capacity;
    struct str projection_expression;
    struct wire_map names;
};

static const struct field get_item_fields[] = {
    FIELD(struct get_item_request, return_consumed_capacity, "ReturnConsumedCapacity",
          shape_return_consumed_capacity),
    FIELD(struct get_item_request, attributes_to_get, "AttributesToGet", shape_attribute_names),
    FIELD_REQUIRED(struct get_item_request, table_name, "TableName", shape_table_name),
    FIELD_REQUIRED(struct get_item_request, key, "Key", shape_key),
    FIELD(struct get_item_request, consistent_read, "ConsistentRead", shape_bool),
    FIELD(struct get_item_request, projection_expression, "ProjectionExpression", shape_string),
    FIELD(struct get_item_request, names, "ExpressionAttributeNames", shape_name_map),
    FIELD_END,
};

static const struct shape shape_get_item = {
    .kind = SHAPE_STRUCT,
    .fields = get_item_fields,
    .size = sizeof(struct get_item_request),
};

struct get_item {
    struct api_call *call;
    struct get_item_request request;
    const struct table *table;
    const struct projection *projection;
    struct item_key key;
    struct items_get get;
    struct meter_access access;
};

static void write_item(struct get_item *op, const struct row *row)
{
    api_member(op->call, STR("Item"));
    if (op->projection == NULL) {
        value_json_write_item(op->call->out, row->item);
        return;
    }
    struct builder builder;
    builder_init(&builder, op->call->arena, 256);
    projection_apply(op->projection, row->item, &builder);
    value_json_write_item(op->call->out, builder_finish(&builder));
}

static void get_item_done(struct engine_call *engine_call)
{
    struct get_item *op = CONTAINER_OF(engine_call, struct get_item, get.call);
    struct api_call *call = op->call;
    call->err = engine_call->err;
    if (call->err.code == ERR_NONE) {
        struct row *row = &op->get.rows[0];
        if (!op->request.consistent_read.value) {
            api_see_past_item(call, op->table, op->key.row, row);
        }
        api_begin(call);
        if (!value_is_absent(row->item)) {
            write_item(op, row);
        }
        struct capacity capacity = {
            .table = capacity_read_units(row->size, op->request.consistent_read.value)};
        api_member_capacity(call, &op->request.return_consumed_capacity, op->table, &capacity,
                            CAPACITY_READ);
        api_end(call);
        op->access.table_units = capacity.table;
        op->access.items_read = op->access.items_returned = !value_is_absent(row->item);
        op->access.bytes_read = op->access.item_bytes = row->size;
    }
    api_finish(call);
}

static bool check_names(struct get_item *op)
{
    struct api_call *call = op->call;
    const struct get_item_request *request = &op->request;
    if (str_is_null(request->table_name)) {
        return true; /* wire_validate() reports it */
    }
    return wire_validate_member(&shape_get_item, request, "TableName", WORDING_CURRENT,
                                &call->err) &&
           api_check_table_name(call, request->table_name);
}

static bool check_parameters(struct get_item *op)
{
    struct api_call *call = op->call;
    const struct get_item_request *request = &op->request;
    struct expression_request expressions = {
        .names = &request->names,
        .expressions = {{"ProjectionExpression", request->projection_expression}},
        .expression_count = 1,
        .legacy = {{"AttributesToGet", request->attributes_to_get.given}},
        .legacy_count = 1,
    };
    struct expr_scope scope;
    return api_check_mixing(call, &expressions) && api_check_problem(call, &request->key.problem) &&
           api_attributes_to_get(call, &request->attributes_to_get, &op->projection) &&
           api_scope(call, &expressions, &scope) &&
           api_projection(call, &scope, request->projection_expression, &op->projection) &&
           api_check_used(call, &scope);
}

static bool check_request(struct get_item *op)
{
    struct api_call *call = op->call;
    call->layer = LAYER_CURRENT;
    return api_decode(call, &shape_get_item, &op->request) && check_names(op) &&
           wire_validate(&shape_get_item, &op->request, WORDING_CURRENT, &call->err) &&
           check_parameters(op);
}

static bool find_item(struct get_item *op)
{
    struct api_call *call = op->call;
    op->table = api_table(call, op->request.table_name);
    return op->table != NULL && api_check_key_paths(op->table, op->projection, NULL, &call->err) &&
           item_key_from_key(call->engine, op->table, op->request.key.value, call->arena, &op->key,
                             &call->err);
}

static void describe_access(struct get_item *op)
{
    op->access = (struct meter_access){
        .operation = "GetItem",
        .flags = METER_BY_KEY | (op->request.consistent_read.value ? METER_CONSISTENT : 0),
        .table = op->table,
        .projection = op->projection,
        .partition = op->key.hash,
    };
    api_meter(op->call, &op->access);
}

void op_get_item(struct api_call *call)
{
    struct get_item *op = ARENA_NEW(call->arena, struct get_item);
    op->call = call;
    if (!check_request(op) || !find_item(op)) {
        api_finish(call);
        return;
    }
    describe_access(op);
    if (!api_admit(call, &op->access)) {
        api_finish(call);
        return;
    }
    op->get = (struct items_get){
        .call = api_engine_call(call, get_item_done),
        .keys = &op->key,
        .key_count = 1,
    };
    engine_get_items(&op->get);
}
