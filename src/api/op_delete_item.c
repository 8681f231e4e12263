#include "api/write_item.h"

struct delete_item_request {
    struct write_request common;
    struct wire_item key;
};

static const struct field delete_item_fields[] = {
    FIELD_REQUIRED(struct delete_item_request, key, "Key", shape_key),
    FIELD_REQUIRED(struct delete_item_request, common.table_name, "TableName", shape_string),
    WRITE_REQUEST_FIELDS(struct delete_item_request),
    FIELD_END,
};

static const struct shape shape_delete_item = {
    .kind = SHAPE_STRUCT,
    .fields = delete_item_fields,
    .size = sizeof(struct delete_item_request),
};

struct delete_item {
    struct write_item op;
    struct delete_item_request request;
    struct str table_name;
};

static bool check_values(struct delete_item *remove)
{
    struct err *err = &remove->op.call->err;
    int returns = write_item_returns(&remove->request.common);
    if (!api_check_problem(&remove->request.key.problem, false, err)) {
        return false;
    }
    if (returns != RETURN_ALL_OLD && returns != RETURN_NONE) {
        return err_set(err, ERR_VALIDATION, "ReturnValues can only be ALL_OLD or NONE");
    }
    return true;
}

static bool check(struct delete_item *remove)
{
    struct api_call *call = remove->op.call;
    struct delete_item_request *request = &remove->request;
    if (!wire_decode(call->arena, &shape_delete_item, call->body, request, &call->err) ||
        !wire_validate(call->arena, &shape_delete_item, request, &call->err) ||
        !api_table_name(call, request->common.table_name, 1, &remove->table_name)) {
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
    return api_scope(call, &expressions, &scope, &call->err) && check_values(remove) &&
           write_item_condition(&remove->op, &scope) && expr_scope_check_used(&scope, &call->err);
}

void op_delete_item(struct api_call *call)
{
    struct delete_item *remove = ARENA_NEW(call->arena, struct delete_item);
    remove->op.call = call;
    remove->op.request = &remove->request.common;
    struct item_write *write = &remove->op.write;
    write->kind = WRITE_DELETE;
    if (!check(remove) || (write->table = api_table(call, remove->table_name)) == NULL ||
        !item_key_from_key(call->engine, write->table, remove->request.key.value, call->arena,
                           &write->key, &call->err)) {
        api_finish(call);
        return;
    }
    write_item_run(&remove->op);
}
