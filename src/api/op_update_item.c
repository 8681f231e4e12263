#include "api/write_item.h"
#include "expr/legacy.h"

struct update_item_request {
    struct write_request common;
    struct wire_item key;
    struct str update_expression;
    struct wire_map attribute_updates; /* of struct attribute_update pointers */
};

/* One entry of AttributeUpdates. */
struct attribute_update {
    struct wire_value value;
    struct wire_enum action;
};

static const struct shape shape_action = {
    .kind = SHAPE_ENUM,
    .values = (const char *const[]){"ADD", "DELETE", "PUT", NULL},
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
    .element = &shape_attribute_update,
};

static const struct field update_item_fields[] = {
    FIELD_REQUIRED(struct update_item_request, key, "Key", shape_key),
    FIELD_REQUIRED(struct update_item_request, common.table_name, "TableName", shape_string),
    FIELD(struct update_item_request, attribute_updates, "AttributeUpdates",
          shape_attribute_updates),
    FIELD(struct update_item_request, update_expression, "UpdateExpression", shape_string),
    WRITE_REQUEST_FIELDS(struct update_item_request),
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
    struct str table_name;
};

static bool convert_updates(struct update_item *update, struct err *err)
{
    const struct wire_map *map = &update->request.attribute_updates;
    struct arena *arena = update->op.call->arena;
    struct legacy_update *updates = ARENA_ARRAY(arena, struct legacy_update, map->count + 1);
    static const enum legacy_action actions[] = {LEGACY_ADD, LEGACY_DELETE, LEGACY_PUT};
    for (size_t i = 0; i < map->count; i++) {
        const struct attribute_update *given = ((struct attribute_update *const *)map->values)[i];
        updates[i] = (struct legacy_update){.attribute = map->names[i], .action = LEGACY_PUT};
        if (given == NULL) {
            continue;
        }
        if (!api_check_problem(&given->value.problem, true, err)) {
            return false;
        }
        updates[i].value = given->value.value;
        if (!str_is_null(given->action.text)) {
            updates[i].action = actions[given->action.value];
        }
    }
    return legacy_updates(arena, updates, map->count, &update->op.write.update, err);
}

static bool check_update(struct update_item *update, struct expr_scope *scope)
{
    struct err *err = &update->op.call->err;
    if (update->request.attribute_updates.given) {
        return convert_updates(update, err);
    }
    return str_is_null(update->request.update_expression) ||
           expr_update(scope, update->request.update_expression, &update->op.write.update, err) ||
           api_envelope(err);
}

static bool check(struct update_item *update)
{
    struct api_call *call = update->op.call;
    struct update_item_request *request = &update->request;
    if (!wire_decode(call->arena, &shape_update_item, call->body, request, &call->err) ||
        !api_table_name(call, request->common.table_name, 1, &update->table_name) ||
        !wire_validate_member(call->arena, &shape_update_item, request, "ReturnValues",
                              &call->err) ||
        !wire_validate(call->arena, &shape_update_item, request, &call->err)) {
        return false;
    }
    struct expression_request expressions = {
        .names = &request->common.names,
        .values = &request->common.values,
        .expressions = {{"UpdateExpression", request->update_expression},
                        {"ConditionExpression", request->common.condition_expression}},
        .expression_count = 2,
        .legacy = {{"AttributeUpdates", request->attribute_updates.given},
                   {"Expected", request->common.expected.given},
                   {"ConditionalOperator",
                    !str_is_null(request->common.conditional_operator.text)}},
        .legacy_count = 3,
    };
    struct expr_scope scope;
    if (!api_scope(call, &expressions, &scope, &call->err)) {
        return api_envelope(&call->err);
    }
    return api_check_problem(&request->key.problem, true, &call->err) &&
           check_update(update, &scope) && write_item_condition(&update->op, &scope) &&
           expr_scope_check_used(&scope, &call->err);
}

/* Key attributes must not be changed, by any action. */
static void visit_path(void *context, const struct expr_path *path)
{
    struct item_write *write = context;
    struct str name = path->steps[0].name;
    if (key_schema_has(&write->table->key, name)) {
        err_set(&write->err, ERR_VALIDATION,
                "One or more parameter values were invalid: Cannot update attribute %.*s. This "
                "attribute is part of the key",
                STR_ARG(name));
    }
}

bool update_check_keys(struct item_write *write, struct err *err)
{
    write->err = ERR_INIT(err->arena);
    if (write->update != NULL) {
        update_visit_paths(write->update, visit_path, write);
    }
    return write->err.code == ERR_NONE || err_set_str(err, write->err.code, write->err.message);
}

void op_update_item(struct api_call *call)
{
    struct update_item *update = ARENA_NEW(call->arena, struct update_item);
    update->op.call = call;
    update->op.request = &update->request.common;
    struct item_write *write = &update->op.write;
    write->kind = WRITE_UPDATE;
    if (!check(update) || (write->table = api_table(call, update->table_name)) == NULL ||
        !item_key_from_key(call->engine, write->table, update->request.key.value, call->arena,
                           &write->key, &call->err) ||
        !update_check_keys(write, &call->err)) {
        api_finish(call);
        return;
    }
    write->key_value = update->request.key.value;
    write_item_run(&update->op);
}
