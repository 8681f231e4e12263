/* PutItem: writes one item. The parts that it shares with UpdateItem and DeleteItem are in
 * write_item.c. Called by dispatch.c on the thread of the call. */
#include "api/items/write_item.h"
#include "err/messages.h"

struct put_item_request {
    struct write_request common;
    struct wire_item item;
};

static const struct field put_item_fields[] = {
    WRITE_REQUEST_FIELDS(struct put_item_request),
    FIELD_REQUIRED(struct put_item_request, item, "Item", shape_item),
    WRITE_REQUEST_EXPRESSIONS(struct put_item_request),
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
};

static bool check_size(struct put_item *put)
{
    struct item_write *write = &put->op.write;
    write->item = put->request.item.value;
    write->item_size = item_size(write->item);
    if (write->item_size > ITEM_BYTES_MAX) {
        return err_set(&put->op.call->err, ERR_VALIDATION, MESSAGE_ITEM_SIZE);
    }
    return true;
}

static bool check_request(struct put_item *put)
{
    struct api_call *call = put->op.call;
    if (!write_item_decode(&put->op, &shape_put_item, &put->request, &put->request.item) ||
        !write_item_validate(&put->op, &shape_put_item, &put->request, NULL)) {
        return false;
    }
    write_item_list_expressions(&put->op);
    return api_check_mixing(call, &put->op.expressions) &&
           api_check_problem(call, &put->request.item.problem) &&
           write_item_check_returns(&put->op) && check_size(put) &&
           api_scope(call, &put->op.expressions, &put->op.scope) &&
           write_item_condition(&put->op) && api_check_used(call, &put->op.scope);
}

void op_put_item(struct api_call *call)
{
    struct put_item *put = ARENA_NEW(call->arena, struct put_item);
    put->op.call = call;
    put->op.request = &put->request.common;
    struct item_write *write = &put->op.write;
    write->kind = WRITE_PUT;
    if (!check_request(put) ||
        (write->table = api_table(call, put->request.common.table_name)) == NULL ||
        !item_key_from_item(call->engine, write->table, write->item, call->arena, &write->key,
                            &call->err) ||
        !item_check_index_keys(write->table, write->item, &call->err) ||
        !item_check_size(write->table, write->item, write->item_size, &call->err)) {
        api_finish(call);
        return;
    }
    write_item_run(&put->op, "PutItem");
}
