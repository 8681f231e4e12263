/* Up to 25 puts and deletes. Each is a write of its own; that they come together only means that
 * the committer takes them into one group. */
#include "api/api_internal.h"

struct put_request {
    struct wire_item item;
};

struct delete_request {
    struct wire_item key;
};

struct one_request {
    struct put_request *put;
    struct delete_request *remove;
};

struct batch_write_request {
    struct wire_map tables; /* of struct wire_list of struct one_request pointers */
    struct wire_enum return_consumed_capacity;
    struct wire_enum return_collection_metrics;
};

static const struct field put_fields[] = {
    FIELD_REQUIRED(struct put_request, item, "Item", shape_item),
    FIELD_END,
};
static const struct shape shape_put = {
    .kind = SHAPE_STRUCT,
    .java = "PutRequest",
    .fields = put_fields,
    .size = sizeof(struct put_request),
};
static const struct field delete_fields[] = {
    FIELD_REQUIRED(struct delete_request, key, "Key", shape_key),
    FIELD_END,
};
static const struct shape shape_delete = {
    .kind = SHAPE_STRUCT,
    .java = "DeleteRequest",
    .fields = delete_fields,
    .size = sizeof(struct delete_request),
};
static const struct field one_fields[] = {
    FIELD(struct one_request, remove, "DeleteRequest", shape_delete),
    FIELD(struct one_request, put, "PutRequest", shape_put),
    FIELD_END,
};
static const struct shape shape_one = {
    .kind = SHAPE_STRUCT,
    .java = "WriteRequest",
    .fields = one_fields,
    .size = sizeof(struct one_request),
};
static const struct shape shape_list = {
    .kind = SHAPE_LIST,
    .java = "java.util.List<com.amazonaws.dynamodb.v20120810.WriteRequest>",
    .min = 1,
    .max = BATCH_WRITES_MAX,
    .element = &shape_one,
};
static const struct shape shape_tables = {
    .kind = SHAPE_MAP,
    .java = "java.util.Map<java.lang.String, "
            "java.util.List<com.amazonaws.dynamodb.v20120810.WriteRequest>>",
    .min = 1,
    .max = BATCH_WRITES_MAX,
    .element = &shape_list,
};
static const struct field batch_write_fields[] = {
    FIELD_REQUIRED(struct batch_write_request, tables, "RequestItems", shape_tables),
    FIELD(struct batch_write_request, return_consumed_capacity, "ReturnConsumedCapacity",
          shape_return_consumed_capacity),
    FIELD(struct batch_write_request, return_collection_metrics, "ReturnItemCollectionMetrics",
          shape_return_collection_metrics),
    FIELD_END,
};
static const struct shape shape_batch_write = {
    .kind = SHAPE_STRUCT,
    .fields = batch_write_fields,
    .size = sizeof(struct batch_write_request),
};

struct batch_write;

/* One write under way. */
struct batch_member {
    struct batch_write *batch;
    const struct one_request *request;
    struct str table_name;
    struct item_write write;
    struct items_write engine;
};

struct batch_write {
    struct api_call *call;
    struct batch_write_request request;
    struct batch_member *members;
    size_t member_count;
    size_t open_count; /* members without an answer */
};

static bool check_member(struct api_call *call, const struct one_request *request)
{
    if (request == NULL || (request->put == NULL) == (request->remove == NULL)) {
        return err_set(
            &call->err, ERR_VALIDATION,
            request != NULL && request->put != NULL
                ? "Supplied AttributeValue has more than one datatypes set, must contain "
                  "exactly one of the supported datatypes"
                : "Supplied AttributeValue is empty, must contain exactly one of the "
                  "supported datatypes");
    }
    if (request->remove != NULL) {
        return api_check_problem(&request->remove->key.problem, false, &call->err);
    }
    if (!api_check_problem(&request->put->item.problem, false, &call->err)) {
        return false;
    }
    if (item_size(request->put->item.value) > ITEM_BYTES_MAX) {
        return err_set(&call->err, ERR_VALIDATION,
                       "Item size has exceeded the maximum allowed size");
    }
    return true;
}

static bool count_members(struct batch_write *op)
{
    const struct wire_map *tables = &op->request.tables;
    for (size_t i = 0; i < tables->count; i++) {
        op->member_count += ((const struct wire_list *)tables->values)[i].count;
    }
    if (op->member_count > BATCH_WRITES_MAX) {
        return err_set(&op->call->err, ERR_VALIDATION,
                       "Too many items requested for the BatchWriteItem call");
    }
    return true;
}

static bool check(struct batch_write *op)
{
    struct api_call *call = op->call;
    const struct wire_map *tables = &op->request.tables;
    if (!wire_decode(call->arena, &shape_batch_write, call->body, &op->request, &call->err) ||
        !wire_validate(call->arena, &shape_batch_write, &op->request, &call->err) ||
        !count_members(op)) {
        return false;
    }
    op->members = ARENA_ARRAY(call->arena, struct batch_member, op->member_count);
    struct batch_member *member = op->members;
    for (size_t i = 0; i < tables->count; i++) {
        struct str name;
        const struct wire_list *list = &((const struct wire_list *)tables->values)[i];
        if (!api_table_name(call, tables->names[i], 1, &name)) {
            return false;
        }
        for (size_t k = 0; k < list->count; k++, member++) {
            member->batch = op;
            member->table_name = name;
            member->request = ((struct one_request *const *)list->elements)[k];
            if (!check_member(call, member->request)) {
                return false;
            }
        }
    }
    return true;
}

/* A put whose key is of the wrong type gets the text of a look-up here. */
static bool find_put_key(struct api_call *call, struct item_write *write)
{
    struct err err = ERR_INIT(call->arena);
    if (!item_key_from_item(call->engine, write->table, write->item, call->arena, &write->key,
                            &err)) {
        if (str_contains(err.message, STR("Type mismatch for key"))) {
            return err_set(&call->err, ERR_VALIDATION,
                           "The provided key element does not match the schema");
        }
        return err_set_str(&call->err, err.code, err.message);
    }
    return item_check_index_keys(write->table, write->item, &call->err) &&
           item_check_size(write->table, write->item, write->item_size, &call->err);
}

static bool find_key(struct batch_member *member)
{
    struct api_call *call = member->batch->call;
    struct item_write *write = &member->write;
    write->table = api_table(call, member->table_name);
    if (write->table == NULL) {
        return false;
    }
    if (member->request->put != NULL) {
        write->kind = WRITE_PUT;
        write->item = member->request->put->item.value;
        write->item_size = item_size(write->item);
        return find_put_key(call, write);
    }
    write->kind = WRITE_DELETE;
    return item_key_from_key(call->engine, write->table, member->request->remove->key.value,
                             call->arena, &write->key, &call->err);
}

static bool find_keys(struct batch_write *op)
{
    for (size_t i = 0; i < op->member_count; i++) {
        if (!find_key(&op->members[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < op->member_count; i++) {
        for (size_t k = 0; k < i; k++) {
            if (str_eq(op->members[i].write.key.row, op->members[k].write.key.row)) {
                return err_set(&op->call->err, ERR_VALIDATION,
                               "Provided list of item keys contains duplicates");
            }
        }
    }
    return true;
}

static void write_metrics(struct batch_write *op)
{
    const struct wire_enum *wanted = &op->request.return_collection_metrics;
    if (str_is_null(wanted->text) || wanted->value != METRICS_SIZE) {
        return;
    }
    api_member(op->call, STR("ItemCollectionMetrics"));
    struct buf *out = op->call->out;
    buf_add_char(out, '{');
    const struct table *open = NULL;
    for (size_t i = 0; i < op->member_count; i++) { /* members of one table stand together */
        const struct item_write *write = &op->members[i].write;
        if (write->table->local_count == 0) {
            continue;
        }
        if (write->table != open) {
            buf_add(out, open == NULL ? STR("") : STR("],"));
            json_write_plain_string(out, write->table->name);
            JSON_PUT(out, ":[");
        } else {
            buf_add_char(out, ',');
        }
        open = write->table;
        api_write_collection_metrics(out, write->table, write->key.hash, write->collection_bytes);
    }
    buf_add(out, open == NULL ? STR("}") : STR("]}"));
}

static void finish(struct batch_write *op)
{
    struct api_call *call = op->call;
    struct capacity_list capacities = {0};
    for (size_t i = 0; i < op->member_count; i++) {
        struct batch_member *member = &op->members[i];
        struct err *err = member->engine.failed ? &member->write.err : &member->engine.call.err;
        if (err->code != ERR_NONE) {
            call->err = *err;
        }
        capacity_add(
            capacity_list_at(&capacities, call->arena, member->write.table, op->member_count),
            &member->write.capacity, 1);
    }
    if (call->err.code == ERR_NONE) {
        JSON_PUT(call->out, "{\"UnprocessedItems\":{}");
        api_member_capacities(call, &op->request.return_consumed_capacity, &capacities, false,
                              CAPACITY_WRITE);
        write_metrics(op);
        api_end(call);
    }
    api_finish(call);
}

static void member_done(struct engine_call *engine_call)
{
    struct batch_member *member = CONTAINER_OF(engine_call, struct batch_member, engine.call);
    if (--member->batch->open_count == 0) {
        finish(member->batch);
    }
}

void op_batch_write_item(struct api_call *call)
{
    struct batch_write *op = ARENA_NEW(call->arena, struct batch_write);
    op->call = call;
    if (!check(op) || !find_keys(op)) {
        api_finish(call);
        return;
    }
    op->open_count = op->member_count;
    struct items_write *calls[BATCH_WRITES_MAX];
    for (size_t i = 0; i < op->member_count; i++) {
        struct batch_member *member = &op->members[i];
        member->engine = (struct items_write){
            .call = api_engine_call(call, member_done),
            .writes = &member->write,
            .write_count = 1,
        };
        calls[i] = &member->engine;
    }
    engine_write_items(calls, op->member_count);
}
