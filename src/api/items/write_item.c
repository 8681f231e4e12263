/* One write of an item, for PutItem, UpdateItem and DeleteItem: condition, ReturnValues, answer.
 * Called by these operations on the thread of the call; write_describe() also by the batch,
 * transaction and PartiQL operations. */
#include "api/items/write_item.h"

int write_item_returns(const struct write_request *request)
{
    return str_is_null(request->return_values.text) ? RETURN_NONE : request->return_values.value;
}

/* Reports all errors of a request without TableName, or without Item or Key, as the older layer
 * does. A name with bad characters, or of more than 255, is one of them: elsewhere
 * api_check_table_name() reports it alone. */
static bool refuse_incomplete(struct write_item *op, const struct shape *shape, const void *decoded)
{
    struct api_call *call = op->call;
    struct shape strict = *shape;
    size_t count = 0;
    while (shape->fields[count].name != NULL) {
        count++;
    }
    struct field *fields = ARENA_ARRAY(call->arena, struct field, count + 1);
    for (size_t i = 0; i < count; i++) {
        fields[i] = shape->fields[i];
        if (fields[i].shape == &shape_table_name &&
            op->request->table_name.len <= (size_t)shape_table_name.max) {
            fields[i].shape = &shape_table_pattern;
        }
    }
    fields[count] = (struct field)FIELD_END;
    strict.fields = fields;
    return wire_validate(&strict, decoded, WORDING_OLDER, &call->err);
}

/* Checks TableName and Item or Key. If one of them is missing, the older layer reports all errors;
 * otherwise an invalid name is reported alone. */
static bool check_subject(struct write_item *op, const struct shape *shape, const void *decoded,
                          const struct wire_item *subject)
{
    struct api_call *call = op->call;
    struct str name = op->request->table_name;
    if (str_is_null(name) || !subject->given) {
        return refuse_incomplete(op, shape, decoded);
    }
    return wire_validate_member(shape, decoded, "TableName", WORDING_CURRENT, &call->err) &&
           api_check_table_name(call, name) &&
           api_check_conditional_operator(call, &op->request->conditional_operator);
}

bool write_item_decode(struct write_item *op, const struct shape *shape, void *decoded,
                       const struct wire_item *subject)
{
    struct api_call *call = op->call;
    call->layer = LAYER_ENVELOPED;
    return api_decode(call, shape, decoded) && check_subject(op, shape, decoded, subject);
}

/* Returns how deeply the arrays and objects of a JSON text are nested. */
static size_t json_depth(struct str text)
{
    size_t depth = 0;
    size_t most = 0;
    bool is_string = false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (is_string) {
            i += c == '\\';
            is_string = c != '"';
        } else if (c == '{' || c == '[') {
            depth++;
            most = MAX(most, depth);
        } else if (c == '}' || c == ']') {
            depth--;
        } else {
            is_string = c == '"';
        }
    }
    return most;
}

/* The layer with the current wording takes JSON of this depth: items of 62 levels. */
enum { CURRENT_LAYER_DEPTH_MAX = 128 };

bool write_item_validate(struct write_item *op, const struct shape *shape, const void *decoded,
                         const char *first)
{
    struct api_call *call = op->call;
    if ((first == NULL ||
         wire_validate_member(shape, decoded, first, WORDING_CURRENT, &call->err)) &&
        wire_validate(shape, decoded, WORDING_CURRENT, &call->err)) {
        return true;
    }
    if (json_depth(call->body) <= CURRENT_LAYER_DEPTH_MAX) {
        return false;
    }
    call->err = ERR_INIT(call->arena);
    return wire_validate(shape, decoded, WORDING_OLDER, &call->err);
}

void write_item_list_expressions(struct write_item *op)
{
    const struct write_request *request = op->request;
    op->expressions = (struct expression_request){
        .names = &request->names,
        .values = &request->values,
        .expressions = {{"ConditionExpression", request->condition_expression}},
        .expression_count = 1,
        .legacy = {{"Expected", request->expected.given},
                   {"ConditionalOperator", !str_is_null(request->conditional_operator.text)}},
        .legacy_count = 2,
    };
}

bool write_item_check_returns(struct write_item *op)
{
    int returns = write_item_returns(op->request);
    if (returns == RETURN_ALL_OLD || returns == RETURN_NONE) {
        return true;
    }
    err_set(&op->call->err, ERR_VALIDATION, "ReturnValues can only be ALL_OLD or NONE");
    return api_envelope(op->call);
}

bool write_item_condition(struct write_item *op)
{
    const struct write_request *request = op->request;
    struct named_text expression = {"ConditionExpression", request->condition_expression};
    return api_expected(op->call, &request->expected, &request->conditional_operator,
                        &op->write.condition) &&
           api_condition_expression(op->call, &op->scope, expression, &op->write.condition);
}

static void write_attributes(struct write_item *op, struct value item)
{
    if (!value_is_absent(item)) {
        api_member(op->call, STR("Attributes"));
        value_json_write_item(op->call->out, item);
    }
}

static void write_returned(struct write_item *op)
{
    struct item_write *write = &op->write;
    struct arena *arena = op->call->arena;
    switch (write_item_returns(op->request)) {
    case RETURN_ALL_OLD:
        write_attributes(op, write->old_item);
        break;
    case RETURN_ALL_NEW:
        write_attributes(op, write->new_item);
        break;
    case RETURN_UPDATED_OLD:
        if (write->update != NULL) {
            write_attributes(op, update_touched(write->update, write->old_item, arena));
        }
        break;
    case RETURN_UPDATED_NEW:
        if (write->update != NULL) {
            write_attributes(op, update_touched(write->update, write->new_item, arena));
        }
        break;
    default:
        break;
    }
}

static void write_metrics(struct write_item *op)
{
    const struct wire_enum *wanted = &op->request->return_collection_metrics;
    const struct table *table = op->write.table;
    if (str_is_null(wanted->text) || wanted->value != METRICS_SIZE || table->local_count == 0) {
        return;
    }
    api_member(op->call, STR("ItemCollectionMetrics"));
    api_write_collection_metrics(op->call->out, table, op->write.key.hash,
                                 op->write.collection_bytes);
}

static void write_failed_item(struct api_call *call)
{
    const struct write_item *op = call->state;
    api_write_failed_item(call->out, op->write.old_item);
}

static void write_item_done(struct engine_call *engine_call)
{
    struct write_item *op = CONTAINER_OF(engine_call, struct write_item, engine.call);
    struct api_call *call = op->call;
    call->err = engine_call->err;
    write_describe_outcome(&op->access, &op->write);
    if (call->err.code == ERR_NONE && op->engine.failed) {
        call->err = op->write.err;
        if (call->err.code == ERR_CONDITIONAL_CHECK_FAILED) {
            call->write_error_members = write_failed_item;
        }
    }
    if (call->err.code == ERR_NONE) {
        api_remember_writes(call, &op->engine);
        api_begin(call);
        write_returned(op);
        api_member_capacity(call, &op->request->return_consumed_capacity, op->write.table,
                            &op->write.capacity, CAPACITY_WRITE);
        write_metrics(op);
        api_end(call);
    }
    api_finish(call);
}

void write_describe(struct meter_access *access, const char *operation,
                    const struct item_write *write)
{
    *access = (struct meter_access){
        .operation = operation,
        .flags = METER_WRITE | (write->kind == WRITE_PUT ? 0u : METER_BY_KEY),
        .table = write->table,
        .condition = write->condition,
        .update = write->update,
        .partition = write->key.hash,
        .item = write->item,
    };
}

void write_describe_outcome(struct meter_access *access, const struct item_write *write)
{
    access->table_units = write->capacity.table;
    access->arms = write->table->index_count == 0 ? NULL : &write->capacity;
    access->items_read = write->old_size > 0;
    access->bytes_written = write->new_size;
    access->item_bytes = MAX(write->new_size, write->old_size);
    access->collection_bytes = write->collection_bytes;
    if (!value_is_absent(write->new_item)) {
        access->item = write->new_item;
    }
}

void write_item_run(struct write_item *op, const char *operation)
{
    int returns = write_item_returns(op->request);
    if (!api_check_key_paths(op->write.table, NULL, op->write.condition, &op->call->err)) {
        api_finish(op->call);
        return;
    }
    write_describe(&op->access, operation, &op->write);
    api_meter(op->call, &op->access);
    if (!api_admit(op->call, &op->access)) {
        api_finish(op->call);
        return;
    }
    op->call->state = op;
    op->write.want_old = returns == RETURN_ALL_OLD || returns == RETURN_UPDATED_OLD;
    op->write.want_old_on_failure = !str_is_null(op->request->return_on_failure.text) &&
                                    op->request->return_on_failure.value == FAILURE_ALL_OLD;
    op->engine = (struct items_write){
        .call = api_engine_call(op->call, write_item_done),
        .writes = &op->write,
        .write_count = 1,
    };
    api_write_items(op->call, &(struct items_write *){&op->engine}, 1);
}
