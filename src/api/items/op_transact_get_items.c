/* TransactGetItems: reads up to 100 items at one instant. Called by dispatch.c on the thread of the
 * call. */
#include "api/items/transact.h"

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
    struct wire_list items; /* elements are struct transact_get_item pointers */
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
    struct item_write *reasons; /* only the member err is used */
    size_t count;
    struct transact_read read;
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

static bool check_request(struct transact_get *op)
{
    struct api_call *call = op->call;
    if (!api_decode(call, &shape_transact_get, &op->request) ||
        !wire_validate(&shape_transact_get, &op->request, WORDING_OLDER, &call->err) ||
        !api_check_table_arns(call)) {
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

/* Finds the keys. An error of a key is a cancellation reason, except for empty key values, which
 * fail the request. */
static bool find_keys(struct transact_get *op)
{
    struct api_call *call = op->call;
    for (size_t i = 0; i < op->count; i++) {
        op->tables[i] = api_table(call, op->gets[i]->table_name);
        struct value key = op->gets[i]->key.value;
        if (op->tables[i] == NULL ||
            !item_check_empty_keys(op->tables[i], key, false, &call->err)) {
            return false;
        }
        op->reasons[i].err = ERR_INIT(call->arena);
        if (!item_key_from_key(call->engine, op->tables[i], key, call->arena, &op->keys[i],
                               &op->reasons[i].err) ||
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

static void describe_item(struct transact_read *read, size_t i, struct meter_access *access)
{
    const struct transact_get *op = CONTAINER_OF(read, struct transact_get, read);
    *access = (struct meter_access){
        .operation = "TransactGetItems",
        .flags = METER_BY_KEY,
        .table = op->tables[i],
        .projection = op->projections[i],
    };
}

/* Applies the projection. Returns VALUE_ABSENT if no attribute matches: then the answer has no
 * Item. */
static struct value project(struct transact_read *read, size_t i, struct value item)
{
    const struct transact_get *op = CONTAINER_OF(read, struct transact_get, read);
    if (op->projections[i] == NULL) {
        return item;
    }
    struct builder builder;
    builder_init(&builder, op->call->arena, 256);
    projection_apply(op->projections[i], item, &builder);
    struct value projected = builder_finish(&builder);
    return value_count(projected) == 0 ? VALUE_ABSENT : projected;
}

void op_transact_get_items(struct api_call *call)
{
    struct transact_get *op = ARENA_NEW(call->arena, struct transact_get);
    op->call = call;
    if (!check_request(op) || !find_keys(op) ||
        !transact_check_reasons(call, op->reasons, op->count)) {
        api_finish(call);
        return;
    }
    op->read = (struct transact_read){
        .call = call,
        .return_consumed_capacity = &op->request.return_consumed_capacity,
        .tables = op->tables,
        .keys = op->keys,
        .count = op->count,
        .project = project,
        .describe = describe_item,
    };
    transact_read_start(&op->read);
}
