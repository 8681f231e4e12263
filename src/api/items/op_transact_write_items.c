/* TransactWriteItems: writes up to 100 items as one transaction. Called by dispatch.c on the thread
 * of the call. */
#include "api/items/transact.h"
#include "api/items/write_item.h"
#include "err/messages.h"

/* A Put, Update, Delete or ConditionCheck, which have nearly the same members. */
struct action_request {
    struct str table_name;
    struct wire_item key;
    struct wire_item item;
    struct str update_expression;
    struct str condition_expression;
    struct wire_map names;
    struct wire_map values;
    struct wire_enum return_on_failure;
};

struct transact_item {
    struct action_request *actions[4]; /* indexed by enum write_kind */
};

struct transact_write_request {
    struct wire_list items; /* elements are struct transact_item pointers */
    struct str token;
    struct wire_enum return_consumed_capacity;
    struct wire_enum return_collection_metrics;
};

#define ACTION_FIELDS                                                                              \
    FIELD_REQUIRED(struct action_request, table_name, "TableName", shape_table_pattern),           \
        FIELD(struct action_request, names, "ExpressionAttributeNames", shape_name_map),           \
        FIELD(struct action_request, values, "ExpressionAttributeValues", shape_value_map),        \
        FIELD(struct action_request, return_on_failure, "ReturnValuesOnConditionCheckFailure",     \
              shape_return_on_failure)

static const struct field put_fields[] = {
    FIELD_REQUIRED(struct action_request, item, "Item", shape_item),
    FIELD(struct action_request, condition_expression, "ConditionExpression", shape_string),
    ACTION_FIELDS,
    FIELD_END,
};
static const struct field update_fields[] = {
    FIELD_REQUIRED(struct action_request, key, "Key", shape_key),
    FIELD_REQUIRED(struct action_request, update_expression, "UpdateExpression", shape_string),
    FIELD(struct action_request, condition_expression, "ConditionExpression", shape_string),
    ACTION_FIELDS,
    FIELD_END,
};
static const struct field delete_fields[] = {
    FIELD_REQUIRED(struct action_request, key, "Key", shape_key),
    FIELD(struct action_request, condition_expression, "ConditionExpression", shape_string),
    ACTION_FIELDS,
    FIELD_END,
};
static const struct field check_fields[] = {
    FIELD_REQUIRED(struct action_request, key, "Key", shape_key),
    FIELD_REQUIRED(struct action_request, condition_expression, "ConditionExpression",
                   shape_string),
    ACTION_FIELDS,
    FIELD_END,
};

#define ACTION_SHAPE(java_, fields_)                                                               \
    {                                                                                              \
        .kind = SHAPE_STRUCT, .java = (java_), .fields = (fields_),                                \
        .size = sizeof(struct action_request)                                                      \
    }
static const struct shape shape_put = ACTION_SHAPE("Put", put_fields);
static const struct shape shape_update = ACTION_SHAPE("Update", update_fields);
static const struct shape shape_delete = ACTION_SHAPE("Delete", delete_fields);
static const struct shape shape_check = ACTION_SHAPE("ConditionCheck", check_fields);

static const struct field item_fields[] = {
    FIELD(struct transact_item, actions[WRITE_CHECK], "ConditionCheck", shape_check),
    FIELD(struct transact_item, actions[WRITE_PUT], "Put", shape_put),
    FIELD(struct transact_item, actions[WRITE_DELETE], "Delete", shape_delete),
    FIELD(struct transact_item, actions[WRITE_UPDATE], "Update", shape_update),
    FIELD_END,
};
static const struct shape shape_transact_item = {
    .kind = SHAPE_STRUCT,
    .java = "TransactWriteItem",
    .fields = item_fields,
    .size = sizeof(struct transact_item),
};
static const struct shape shape_items = {
    .kind = SHAPE_LIST,
    .java = "java.util.List<com.amazonaws.dynamodb.v20120810.TransactWriteItem>",
    .min = 1,
    .max = TRANSACTION_ITEMS_MAX,
    .element = &shape_transact_item,
};
static const struct field transact_write_fields[] = {
    FIELD(struct transact_write_request, token, "ClientRequestToken", shape_request_token),
    FIELD(struct transact_write_request, return_consumed_capacity, "ReturnConsumedCapacity",
          shape_return_consumed_capacity),
    FIELD(struct transact_write_request, return_collection_metrics, "ReturnItemCollectionMetrics",
          shape_return_collection_metrics),
    FIELD_REQUIRED(struct transact_write_request, items, "TransactItems", shape_items),
    FIELD_END,
};
static const struct shape shape_transact_write = {
    .kind = SHAPE_STRUCT,
    .fields = transact_write_fields,
    .size = sizeof(struct transact_write_request),
};

struct transact_write {
    struct api_call *call;
    struct transact_write_request request;
    const struct action_request **actions;
    struct item_write *writes;
    size_t count;
    size_t bytes; /* what all actions send */
    struct items_write engine;
};

/* Finds the action of an item, which must have exactly one. */
static bool find_action(struct transact_write *op, size_t i, const struct transact_item *item)
{
    struct err *err = &op->call->err;
    int found = 0;
    for (int kind = 0; kind < 4; kind++) {
        if (item->actions[kind] != NULL) {
            op->actions[i] = item->actions[kind];
            op->writes[i].kind = (enum write_kind)kind;
            found++;
        }
    }
    if (found == 0) {
        return err_set(err, ERR_VALIDATION,
                       "Invalid Request: TransactWriteRequest should contain Delete or Put or "
                       "Update request");
    }
    return found == 1 ||
           err_set(err, ERR_VALIDATION,
                   "TransactItems can only contain one of Check, Put, Update or Delete");
}

static bool check_expressions(struct transact_write *op, size_t i)
{
    struct api_call *call = op->call;
    const struct action_request *action = op->actions[i];
    struct item_write *write = &op->writes[i];
    struct expression_request expressions = {
        .names = &action->names,
        .values = &action->values,
        .expressions = {{"ConditionExpression", action->condition_expression},
                        {"UpdateExpression", action->update_expression}},
        .expression_count = write->kind == WRITE_UPDATE ? 2 : 1,
    };
    struct expr_scope scope;
    struct named_text condition = {"ConditionExpression", action->condition_expression};
    if (!api_check_mixing(call, &expressions) || !api_scope(call, &expressions, &scope)) {
        return false;
    }
    if (!str_is_null(action->update_expression) &&
        !expr_update(&scope, action->update_expression, &write->update, &call->err)) {
        return false;
    }
    return api_condition_expression(call, &scope, condition, &write->condition) &&
           api_check_used(call, &scope);
}

static bool check_put_size(struct api_call *call, struct item_write *write)
{
    write->item_size = item_size(write->item);
    return write->item_size <= ITEM_BYTES_MAX ||
           err_set(&call->err, ERR_VALIDATION, MESSAGE_ITEM_SIZE);
}

/* Returns the size of what an action sends, by the rules for items: its item or key, and its
 * expressions with their names and values. */
static size_t action_size(const struct action_request *action, const struct item_write *write)
{
    size_t bytes = write->kind == WRITE_PUT ? write->item_size : item_size(write->key_value);
    bytes += action->update_expression.len + action->condition_expression.len;
    for (size_t i = 0; i < action->names.count; i++) {
        bytes += ((const struct str *)action->names.values)[i].len;
    }
    for (size_t i = 0; i < action->values.count; i++) {
        bytes += value_size(((const struct wire_value *)action->values.values)[i].value);
    }
    return bytes;
}

/* Checks one action. The service reports the first action that has an error. */
static bool check_action(struct transact_write *op, size_t i)
{
    struct api_call *call = op->call;
    const struct action_request *action = op->actions[i];
    struct item_write *write = &op->writes[i];
    write->err = ERR_INIT(call->arena);
    write->flat_size = true;
    write->want_old_on_failure = !str_is_null(action->return_on_failure.text) &&
                                 action->return_on_failure.value == FAILURE_ALL_OLD;
    write->key_value = action->key.value;
    write->item = action->item.value;
    return check_expressions(op, i) && api_check_problem(call, &action->key.problem) &&
           api_check_problem(call, &action->item.problem) &&
           (write->kind != WRITE_PUT || check_put_size(call, write));
}

static bool check_request(struct transact_write *op)
{
    struct api_call *call = op->call;
    if (!api_decode(call, &shape_transact_write, &op->request) ||
        !wire_validate(&shape_transact_write, &op->request, WORDING_OLDER, &call->err) ||
        !api_check_table_arns(call)) {
        return false;
    }
    op->count = op->request.items.count;
    op->actions = ARENA_ARRAY(call->arena, const struct action_request *, op->count);
    op->writes = ARENA_ARRAY(call->arena, struct item_write, op->count);
    for (size_t i = 0; i < op->count; i++) {
        if (!find_action(op, i, ((struct transact_item *const *)op->request.items.elements)[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < op->count; i++) {
        if (!check_action(op, i)) {
            return false;
        }
        op->bytes += action_size(op->actions[i], &op->writes[i]);
    }
    return true;
}

static bool read_key(struct transact_write *op, struct item_write *write)
{
    struct api_call *call = op->call;
    if (write->kind == WRITE_PUT) {
        return item_key_from_item(call->engine, write->table, write->item, call->arena, &write->key,
                                  &write->err) &&
               item_check_index_keys(write->table, write->item, &write->err);
    }
    return item_key_from_key(call->engine, write->table, write->key_value, call->arena, &write->key,
                             &write->err) &&
           update_check_keys(write, &write->err);
}

/* Finds the item's key. An error of a key is a cancellation reason, except for empty key values and
 * items that are too large, which fail the request. */
static bool find_key(struct transact_write *op, size_t i)
{
    struct api_call *call = op->call;
    struct item_write *write = &op->writes[i];
    bool put = write->kind == WRITE_PUT;
    write->table = api_table(call, op->actions[i]->table_name);
    if (write->table == NULL ||
        !item_check_empty_keys(write->table, put ? write->item : write->key_value, put,
                               &call->err)) {
        return false;
    }
    return !read_key(op, write) ||
           !api_check_key_paths(write->table, NULL, write->condition, &write->err) || !put ||
           item_check_size(write->table, write->item, write->item_size, &call->err);
}

static bool find_keys(struct transact_write *op)
{
    for (size_t i = 0; i < op->count; i++) {
        if (!find_key(op, i)) {
            return false;
        }
        for (size_t k = 0; k < i; k++) {
            if (!str_is_null(op->writes[i].key.row) &&
                str_eq(op->writes[i].key.row, op->writes[k].key.row)) {
                return transact_refuse_duplicate(op->call);
            }
        }
    }
    transact_keep_first_reason(op->call, op->writes, op->count);
    return transact_check_size(op->call, op->bytes);
}

/* --- the token --- */

static void digest_text(struct builder *builder, struct str text)
{
    builder_add_string(builder, str_is_null(text) ? STR("") : text);
}

static void digest_action(struct builder *builder, const struct action_request *action)
{
    digest_text(builder, action->table_name);
    builder_add_value(builder, action->key.given ? action->key.value : action->item.value);
    digest_text(builder, action->update_expression);
    digest_text(builder, action->condition_expression);
    digest_text(builder, action->return_on_failure.text);
    size_t open = builder_open(builder, VALUE_M);
    for (size_t k = 0; k < action->names.count; k++) {
        builder_add_key(builder, action->names.names[k]);
        builder_add_string(builder, ((const struct str *)action->names.values)[k]);
    }
    builder_close_map(builder, open, (uint32_t)action->names.count);
    open = builder_open(builder, VALUE_M);
    for (size_t k = 0; k < action->values.count; k++) {
        builder_add_key(builder, action->values.names[k]);
        builder_add_value(builder, ((const struct wire_value *)action->values.values)[k].value);
    }
    builder_close_map(builder, open, (uint32_t)action->values.count);
}

/* Returns a digest of everything that determines what the request does. The order of names and
 * values does not matter. */
static struct str request_digest(struct transact_write *op)
{
    struct arena *arena = op->call->arena;
    struct builder builder;
    builder_init(&builder, arena, 1024);
    for (size_t i = 0; i < op->count; i++) {
        builder_add_int64(&builder, op->writes[i].kind);
        digest_action(&builder, op->actions[i]);
    }
    return transact_digest(&builder, arena);
}

/* --- the answer --- */

static void write_collections(struct transact_write *op)
{
    const struct item_write *writes[TRANSACTION_ITEMS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < op->count; i++) {
        if (op->writes[i].kind != WRITE_CHECK) {
            writes[count++] = &op->writes[i];
        }
    }
    api_member_collections(op->call, &op->request.return_collection_metrics, writes, count);
}

static const char *const operations[] = {
    [WRITE_PUT] = "TransactWriteItems Put",
    [WRITE_DELETE] = "TransactWriteItems Delete",
    [WRITE_UPDATE] = "TransactWriteItems Update",
    [WRITE_CHECK] = "TransactWriteItems ConditionCheck",
};

static void transact_write_done(struct engine_call *engine_call)
{
    struct transact_write *op = CONTAINER_OF(engine_call, struct transact_write, engine.call);
    struct api_call *call = op->call;
    call->err = engine_call->err;
    if (call->err.code == ERR_NONE && op->engine.failed) {
        transact_refuse(call, op->writes, op->count);
    }
    transact_meter(call, operations, &op->engine);
    api_remember_writes(call, &op->engine);
    if (call->err.code == ERR_NONE) {
        api_begin(call);
        transact_member_capacity(call, &op->request.return_consumed_capacity, &op->engine);
        write_collections(op);
        api_end(call);
    }
    api_finish(call);
}

void op_transact_write_items(struct api_call *call)
{
    struct transact_write *op = ARENA_NEW(call->arena, struct transact_write);
    op->call = call;
    if (!check_request(op) || !find_keys(op) ||
        !transact_check_reasons(call, op->writes, op->count)) {
        api_finish(call);
        return;
    }
    if (!transact_admit(call, op->writes, op->count)) {
        api_finish(call);
        return;
    }
    op->engine = (struct items_write){
        .call = api_engine_call(call, transact_write_done),
        .writes = op->writes,
        .write_count = op->count,
        .token = op->request.token,
        .note = transact_note_sizes,
    };
    if (!str_is_null(op->request.token)) {
        op->engine.token_digest = request_digest(op);
    }
    api_write_items(call, &(struct items_write *){&op->engine}, 1);
}
