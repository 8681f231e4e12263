/* UpdateItem: changes attributes of one item. The parts that it shares with PutItem and DeleteItem
 * are in write_item.c. Called by dispatch.c on the thread of the call. */
#include "api/items/write_item.h"
#include "err/messages.h"
#include "expr/legacy.h"

struct update_item_request {
    struct write_request common;
    struct wire_item key;
    struct str update_expression;
    struct wire_map attribute_updates; /* values are struct attribute_update pointers */
};

/* One entry of AttributeUpdates. */
struct attribute_update {
    struct wire_value value;
    struct wire_enum action;
};

static const struct shape shape_action = {
    .kind = SHAPE_ENUM,
    .values = (const char *const[]){"ADD", "PUT", "DELETE", NULL},
};
static const struct field attribute_update_fields[] = {
    FIELD(struct attribute_update, action, "Action", shape_action),
    FIELD(struct attribute_update, value, "Value", shape_value),
    FIELD_END,
};
static const struct shape shape_attribute_update = {
    .kind = SHAPE_STRUCT,
    .java = "AttributeValueUpdate",
    .fields = attribute_update_fields,
    .size = sizeof(struct attribute_update),
};
static const struct shape shape_attribute_updates = {
    .kind = SHAPE_MAP,
    .java =
        "java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.AttributeValueUpdate>",
    .key = &shape_attribute_name,
    .element = &shape_attribute_update,
};

static const struct field update_item_fields[] = {
    WRITE_REQUEST_FIELDS(struct update_item_request),
    FIELD_REQUIRED(struct update_item_request, key, "Key", shape_key),
    FIELD(struct update_item_request, attribute_updates, "AttributeUpdates",
          shape_attribute_updates),
    FIELD(struct update_item_request, update_expression, "UpdateExpression", shape_string),
    WRITE_REQUEST_EXPRESSIONS(struct update_item_request),
    FIELD_END,
};

static const struct shape shape_update_item = {
    .kind = SHAPE_STRUCT,
    .fields = update_item_fields,
    .size = sizeof(struct update_item_request),
};

struct update_item {
    struct write_item op;
    struct update_item_request request;
};

static bool convert_updates(struct update_item *update)
{
    static const enum legacy_action actions[] = {LEGACY_ADD, LEGACY_PUT, LEGACY_DELETE};
    struct api_call *call = update->op.call;
    const struct wire_map *map = &update->request.attribute_updates;
    struct legacy_update *updates = ARENA_ARRAY(call->arena, struct legacy_update, map->count + 1);
    for (size_t i = 0; i < map->count; i++) {
        const struct attribute_update *given = ((struct attribute_update *const *)map->values)[i];
        if (!api_check_problem(call, &given->value.problem)) {
            return false;
        }
        updates[i] = (struct legacy_update){
            .attribute = map->names[i],
            .action = str_is_null(given->action.text) ? LEGACY_PUT : actions[given->action.value],
            .value = given->value.value,
        };
    }
    return legacy_updates(call->arena, updates, map->count, &update->op.write.update, &call->err) ||
           api_envelope(call);
}

static bool check_attribute_updates(struct update_item *update)
{
    return !update->request.attribute_updates.given || convert_updates(update);
}

static bool check_update_expression(struct update_item *update)
{
    struct api_call *call = update->op.call;
    return str_is_null(update->request.update_expression) ||
           expr_update(&update->op.scope, update->request.update_expression,
                       &update->op.write.update, &call->err) ||
           api_envelope(call);
}

static void list_expressions(struct update_item *update)
{
    const struct update_item_request *request = &update->request;
    const struct write_request *common = &request->common;
    update->op.expressions = (struct expression_request){
        .names = &common->names,
        .values = &common->values,
        .expressions = {{"UpdateExpression", request->update_expression},
                        {"ConditionExpression", common->condition_expression}},
        .expression_count = 2,
        .legacy = {{"AttributeUpdates", request->attribute_updates.given},
                   {"Expected", common->expected.given},
                   {"ConditionalOperator", !str_is_null(common->conditional_operator.text)}},
        .legacy_count = 3,
    };
}

static bool check_request(struct update_item *update)
{
    struct write_item *op = &update->op;
    struct api_call *call = op->call;
    if (!write_item_decode(op, &shape_update_item, &update->request, &update->request.key) ||
        !write_item_validate(op, &shape_update_item, &update->request, "ReturnValues")) {
        return false;
    }
    list_expressions(update);
    return api_check_mixing(call, &op->expressions) &&
           api_check_problem(call, &update->request.key.problem) &&
           check_attribute_updates(update) && api_scope(call, &op->expressions, &op->scope) &&
           check_update_expression(update) && write_item_condition(op) &&
           api_check_used(call, &op->scope);
}

/* A visitor that sets an error if an update changes a key attribute. */
static void visit_path(void *context, const struct expr_path *path)
{
    const struct key_paths *paths = context;
    struct str name = path->steps[0].name;
    if (key_schema_has(&paths->table->key, name)) {
        err_set(paths->err, ERR_VALIDATION,
                MESSAGE_INVALID "Cannot update attribute %.*s. This "
                                "attribute is part of the key",
                STR_ARG(name));
    }
}

bool update_check_keys(const struct item_write *write, struct err *err)
{
    struct key_paths paths = {.table = write->table, .err = err};
    if (write->update != NULL) {
        update_visit_paths(write->update, visit_path, &paths);
        update_visit_paths(write->update, api_visit_key_path, &paths);
        update_visit_operands(write->update, api_visit_key_path, &paths);
    }
    return err->code == ERR_NONE;
}

void op_update_item(struct api_call *call)
{
    struct update_item *update = ARENA_NEW(call->arena, struct update_item);
    update->op.call = call;
    update->op.request = &update->request.common;
    struct item_write *write = &update->op.write;
    write->kind = WRITE_UPDATE;
    if (!check_request(update) ||
        (write->table = api_table(call, update->request.common.table_name)) == NULL ||
        !item_key_from_key(call->engine, write->table, update->request.key.value, call->arena,
                           &write->key, &call->err) ||
        !update_check_keys(write, &call->err)) {
        api_finish(call);
        return;
    }
    write->key_value = update->request.key.value;
    write_item_run(&update->op, "UpdateItem");
}
