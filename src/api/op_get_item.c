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
    FIELD_REQUIRED(struct get_item_request, key, "Key", shape_key),
    FIELD_REQUIRED(struct get_item_request, table_name, "TableName", shape_string),
    FIELD(struct get_item_request, attributes_to_get, "AttributesToGet", shape_attribute_names),
    FIELD(struct get_item_request, consistent_read, "ConsistentRead", shape_bool),
    FIELD(struct get_item_request, return_consumed_capacity, "ReturnConsumedCapacity",
          shape_return_consumed_capacity),
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
    struct str table_name;
    const struct table *table;
    const struct projection *projection;
    struct item_key key;
    struct items_get get;
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
        const struct row *row = &op->get.rows[0];
        api_begin(call);
        if (!value_is_absent(row->item)) {
            write_item(op, row);
        }
        struct capacity capacity = {
            .table = capacity_read_units(row->size, op->request.consistent_read.value)};
        api_member_capacity(call, &op->request.return_consumed_capacity, op->table, &capacity,
                            CAPACITY_READ);
        api_end(call);
    }
    api_finish(call);
}

static bool check_expressions(struct get_item *op)
{
    struct api_call *call = op->call;
    struct get_item_request *request = &op->request;
    struct expression_request expressions = {
        .names = &request->names,
        .expressions = {{"ProjectionExpression", request->projection_expression}},
        .expression_count = 1,
        .legacy = {{"AttributesToGet", request->attributes_to_get.given}},
        .legacy_count = 1,
    };
    struct expr_scope scope;
    return api_scope(call, &expressions, &scope, &call->err) &&
           api_projection(call, &scope, request->projection_expression, &request->attributes_to_get,
                          &op->projection, &call->err) &&
           expr_scope_check_used(&scope, &call->err);
}

static bool check(struct get_item *op)
{
    struct api_call *call = op->call;
    struct get_item_request *request = &op->request;
    return wire_decode(call->arena, &shape_get_item, call->body, request, &call->err) &&
           wire_validate(call->arena, &shape_get_item, request, &call->err) &&
           api_table_name(call, request->table_name, 1, &op->table_name) &&
           api_check_problem(&request->key.problem, false, &call->err) && check_expressions(op);
}

void op_get_item(struct api_call *call)
{
    struct get_item *op = ARENA_NEW(call->arena, struct get_item);
    op->call = call;
    if (!check(op) || (op->table = api_table(call, op->table_name)) == NULL ||
        !item_key_from_key(call->engine, op->table, op->request.key.value, call->arena, &op->key,
                           &call->err)) {
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
