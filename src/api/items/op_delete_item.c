/* DeleteItem: deletes one item. The parts that it shares with PutItem and UpdateItem are in
 * write_item.c. Called by dispatch.c on the thread of the call. */
#include "api/items/write_item.h"

struct delete_item_request {
    struct write_request common;
    struct wire_item key;
};

static const struct field delete_item_fields[] = {
    WRITE_REQUEST_FIELDS(struct delete_item_request),
    FIELD_REQUIRED(struct delete_item_request, key, "Key", shape_key),
    WRITE_REQUEST_EXPRESSIONS(struct delete_item_request),
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
};

static bool check_request(struct delete_item *remove)
{
    struct api_call *call = remove->op.call;
    if (!write_item_decode(&remove->op, &shape_delete_item, &remove->request,
                           &remove->request.key) ||
        !write_item_validate(&remove->op, &shape_delete_item, &remove->request, NULL)) {
        return false;
    }
    write_item_list_expressions(&remove->op);
    return api_check_mixing(call, &remove->op.expressions) &&
           api_check_problem(call, &remove->request.key.problem) &&
           write_item_check_returns(&remove->op) &&
           api_scope(call, &remove->op.expressions, &remove->op.scope) &&
           write_item_condition(&remove->op) && api_check_used(call, &remove->op.scope);
}

void op_delete_item(struct api_call *call)
{
    struct delete_item *remove = ARENA_NEW(call->arena, struct delete_item);
    remove->op.call = call;
    remove->op.request = &remove->request.common;
    struct item_write *write = &remove->op.write;
    write->kind = WRITE_DELETE;
    if (!check_request(remove) ||
        (write->table = api_table(call, remove->request.common.table_name)) == NULL ||
        !item_key_from_key(call->engine, write->table, remove->request.key.value, call->arena,
                           &write->key, &call->err)) {
        api_finish(call);
        return;
    }
    write_item_run(&remove->op, "DeleteItem");
}
