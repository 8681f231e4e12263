#include "api/write_item.h"

struct put_item_request {
    struct write_request common;
    struct wire_item item;
};

static const struct field put_item_fields[] = {
    FIELD_REQUIRED(struct put_item_request, item, "Item", shape_item),
    FIELD_REQUIRED(struct put_item_request, common.table_name, "TableName", shape_string),
    WRITE_REQUEST_FIELDS(struct put_item_request),
    FIELD_END,
};

static const struct shape shape_put_item = {
    .kind = SHAPE_STRUCT,
    .fields = put_item_fields,
    .size = sizeof(struct put_item_request),
};

struct put_item {
    struct write_item op;
    struct put_item_request request;
    struct str table_name;
};

static bool check_values(struct put_item *put)
{
    struct put_item_request *request = &put->request;
    struct err *err = &put->op.call->err;
    if (!api_check_problem(&request->item.problem, true, err)) {
        return false;
    }
    int returns = write_item_returns(&request->common);
    if (returns != RETURN_ALL_OLD && returns != RETURN_NONE) {
        return err_set(err, ERR_VALIDATION,
                       "1 validation error detected: ReturnValues can only be ALL_OLD or NONE");
    }
    put->op.write.item = request->item.value;
    put->op.write.item_size = item_size(request->item.value);
    if (put->op.write.item_size > ITEM_BYTES_MAX) {
        return err_set(err, ERR_VALIDATION, "Item size has exceeded the maximum allowed size");
    }
    return true;
}

static bool check(struct put_item *put)
{
    struct api_call *call = put->op.call;
    struct put_item_request *request = &put->request;
    if (!wire_decode(call->arena, &shape_put_item, call->body, request, &call->err) ||
        !api_table_name(call, request->common.table_name, 1, &put->table_name) ||
        !wire_validate(call->arena, &shape_put_item, request, &call->err)) {
        return false;
    }
    struct expression_request expressions = {
        .names = &request->common.names,
        .values = &request->common.values,
        .expressions = {{"ConditionExpression", request->common.condition_expression}},
        .expression_count = 1,
        .legacy = {{"Expected", request->common.expected.given},
                   {"ConditionalOperator",
                    !str_is_null(request->common.conditional_operator.text)}},
        .legacy_count = 2,
    };
    struct expr_scope scope;
    if (!api_scope(call, &expressions, &scope, &call->err)) {
        return api_envelope(&call->err);
    }
    return check_values(put) && write_item_condition(&put->op, &scope) &&
           expr_scope_check_used(&scope, &call->err);
}

void op_put_item(struct api_call *call)
{
    struct put_item *put = ARENA_NEW(call->arena, struct put_item);
    put->op.call = call;
    put->op.request = &put->request.common;
    struct item_write *write = &put->op.write;
    write->kind = WRITE_PUT;
    if (!check(put) || (write->table = api_table(call, put->table_name)) == NULL ||
        !item_key_from_item(call->engine, write->table, write->item, call->arena, &write->key,
                            &call->err) ||
        !item_check_index_keys(write->table, write->item, &call->err) ||
        !item_check_size(write->table, write->item, write->item_size, &call->err)) {
        api_finish(call);
        return;
    }
    write_item_run(&put->op);
}
