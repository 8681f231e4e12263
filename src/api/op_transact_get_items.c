#include "api/transact.h"

struct get_request {
    struct str table_name;
    struct wire_item key;
    struct str projection_expression;
    struct wire_map names;
};

struct transact_get_item {
    struct get_request *get;
};

struct transact_get_request {
    struct wire_list items; /* of struct transact_get_item pointers */
    struct wire_enum return_consumed_capacity;
};

static const struct field get_fields[] = {
    FIELD_REQUIRED(struct get_request, key, "Key", shape_key),
    FIELD_REQUIRED(struct get_request, table_name, "TableName", shape_table_pattern),
    FIELD(struct get_request, projection_expression, "ProjectionExpression", shape_string),
    FIELD(struct get_request, names, "ExpressionAttributeNames", shape_name_map),
    FIELD_END,
};
static const struct shape shape_get = {
    .kind = SHAPE_STRUCT,
    .java = "Get",
    .fields = get_fields,
    .size = sizeof(struct get_request),
};
static const struct field item_fields[] = {
    FIELD_REQUIRED(struct transact_get_item, get, "Get", shape_get),
    FIELD_END,
};
static const struct shape shape_transact_item = {
    .kind = SHAPE_STRUCT,
    .java = "TransactGetItem",
    .fields = item_fields,
    .size = sizeof(struct transact_get_item),
};
static const struct shape shape_items = {
    .kind = SHAPE_LIST,
    .java = "java.util.List<com.amazonaws.dynamodb.v20120810.TransactGetItem>",
    .min = 1,
    .max = TRANSACTION_ITEMS_MAX,
    .element = &shape_transact_item,
};
static const struct field transact_get_fields[] = {
    FIELD_REQUIRED(struct transact_get_request, items, "TransactItems", shape_items),
    FIELD(struct transact_get_request, return_consumed_capacity, "ReturnConsumedCapacity",
          shape_return_consumed_capacity),
    FIELD_END,
};
static const struct shape shape_transact_get = {
    .kind = SHAPE_STRUCT,
    .fields = transact_get_fields,
    .size = sizeof(struct transact_get_request),
};

struct transact_get {
    struct api_call *call;
    struct transact_get_request request;
    const struct get_request **gets;
    const struct projection **projections;
    const struct table **tables;
    struct item_key *keys;
    struct item_write *reasons; /* only their err is used */
    size_t count;
    struct items_get get;
};

static bool check_one(struct transact_get *op, size_t i)
{
    struct api_call *call = op->call;
    const struct get_request *get = op->gets[i];
    struct expression_request expressions = {
        .names = &get->names,
        .expressions = {{"ProjectionExpression", get->projection_expression}},
        .expression_count = 1,
    };
    struct expr_scope scope;
    return api_check_mixing(call, &expressions) && api_check_problem(call, &get->key.problem) &&
           api_scope(call, &expressions, &scope) &&
           api_projection(call, &scope, get->projection_expression, &op->projections[i]) &&
           api_check_used(call, &scope);
}

static bool check(struct transact_get *op)
{
    struct api_call *call = op->call;
    if (!api_decode(call, &shape_transact_get, &op->request) ||
        !wire_validate(&shape_transact_get, &op->request, WORDING_OLDER, &call->err)) {
        return false;
    }
    op->count = op->request.items.count;
    op->gets = ARENA_ARRAY(call->arena, const struct get_request *, op->count);
    op->projections = ARENA_ARRAY(call->arena, const struct projection *, op->count);
    op->tables = ARENA_ARRAY(call->arena, const struct table *, op->count);
    op->keys = ARENA_ARRAY(call->arena, struct item_key, op->count);
    op->reasons = ARENA_ARRAY(call->arena, struct item_write, op->count);
    for (size_t i = 0; i < op->count; i++) {
        op->gets[i] = ((struct transact_get_item *const *)op->request.items.elements)[i]->get;
        if (!check_one(op, i)) {
            return false;
        }
    }
    return true;
}

static bool find_keys(struct transact_get *op)
{
    struct api_call *call = op->call;
    for (size_t i = 0; i < op->count; i++) {
        op->tables[i] = api_table(call, op->gets[i]->table_name);
        if (op->tables[i] == NULL) {
            return false;
        }
        op->reasons[i].err = ERR_INIT(call->arena);
        if (!item_key_from_key(call->engine, op->tables[i], op->gets[i]->key.value, call->arena,
                               &op->keys[i], &op->reasons[i].err) ||
            !api_check_key_paths(op->tables[i], op->projections[i], NULL, &op->reasons[i].err)) {
            continue;
        }
        for (size_t k = 0; k < i; k++) {
            if (str_eq(op->keys[i].row, op->keys[k].row)) {
                return transact_refuse_duplicate(call);
            }
        }
    }
    return true;
}

static void meter_item(struct transact_get *op, size_t i)
{
    if (!api_is_metered(op->call)) {
        return;
    }
    const struct row *row = &op->get.rows[i];
    struct meter_access *access = ARENA_NEW(op->call->arena, struct meter_access);
    *access = (struct meter_access){
        .operation = "TransactGetItems",
        .flags = METER_BY_KEY,
        .table = op->tables[i],
        .projection = op->projections[i],
        .partition = op->keys[i].hash,
        .table_units = 2 * capacity_read_units(row->size, true),
        .items_read = !value_is_absent(row->item),
        .items_returned = !value_is_absent(row->item),
        .bytes_read = row->size,
        .item_bytes = row->size,
    };
    api_meter(op->call, access);
}

/* An entry whose projection matches nothing has no Item. */
static void write_one(struct transact_get *op, size_t i, struct capacity_list *capacities)
{
    struct api_call *call = op->call;
    const struct row *row = &op->get.rows[i];
    meter_item(op, i);
    capacity_list_at(capacities, call->arena, op->tables[i], op->count)->table +=
        2 * capacity_read_units(row->size, true);
    struct value item = row->item;
    if (op->projections[i] != NULL && !value_is_absent(item)) {
        struct builder builder;
        builder_init(&builder, call->arena, 256);
        projection_apply(op->projections[i], item, &builder);
        item = builder_finish(&builder);
        item = value_count(item) == 0 ? VALUE_ABSENT : item;
    }
    JSON_PUT(call->out, "{");
    if (!value_is_absent(item)) {
        JSON_PUT(call->out, "\"Item\":");
        value_json_write_item(call->out, item);
    }
    JSON_PUT(call->out, "}");
}

static void transact_get_done(struct engine_call *engine_call)
{
    struct transact_get *op = CONTAINER_OF(engine_call, struct transact_get, get.call);
    struct api_call *call = op->call;
    call->err = engine_call->err;
    if (call->err.code == ERR_NONE) {
        struct capacity_list capacities = {0};
        JSON_PUT(call->out, "{\"Responses\":[");
        for (size_t i = 0; i < op->count; i++) {
            buf_add(call->out, i > 0 ? STR(",") : STR(""));
            write_one(op, i, &capacities);
        }
        JSON_PUT(call->out, "]");
        api_member_capacities(call, &op->request.return_consumed_capacity, &capacities, true,
                              CAPACITY_READ);
        api_end(call);
    }
    api_finish(call);
}

void op_transact_get_items(struct api_call *call)
{
    struct transact_get *op = ARENA_NEW(call->arena, struct transact_get);
    op->call = call;
    if (!check(op) || !find_keys(op) || !transact_check_reasons(call, op->reasons, op->count)) {
        api_finish(call);
        return;
    }
    op->get = (struct items_get){
        .call = api_engine_call(call, transact_get_done),
        .keys = op->keys,
        .key_count = op->count,
        .snapshot = true,
    };
    engine_get_items(&op->get);
}
