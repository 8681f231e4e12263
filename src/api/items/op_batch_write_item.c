/* BatchWriteItem: executes up to 25 puts and deletes. Each is a separate write; the store commits
 * them in one group if it can. Called by dispatch.c on the thread of the call. */
#include "api/items/write_item.h"
#include "err/messages.h"

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
    struct wire_map
        tables; /* values are struct wire_list, with struct one_request pointers as elements */
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
    .tail = ", workloadProfileName=null",
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
    FIELD(struct one_request, put, "PutRequest", shape_put),
    FIELD(struct one_request, remove, "DeleteRequest", shape_delete),
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
    .terse = true,
    .key = &shape_table_key,
    .element = &shape_list,
};
#define OPTION_FIELDS                                                                              \
    FIELD(struct batch_write_request, return_consumed_capacity, "ReturnConsumedCapacity",          \
          shape_return_consumed_capacity),                                                         \
        FIELD(struct batch_write_request, return_collection_metrics,                               \
              "ReturnItemCollectionMetrics", shape_return_collection_metrics)
static const struct field batch_write_fields[] = {
    OPTION_FIELDS,
    FIELD_REQUIRED(struct batch_write_request, tables, "RequestItems", shape_tables),
    FIELD_END,
};
static const struct shape shape_batch_write = {
    .kind = SHAPE_STRUCT,
    .fields = batch_write_fields,
    .size = sizeof(struct batch_write_request),
};
/* Invalid options are reported before errors in RequestItems. */
static const struct field option_fields[] = {OPTION_FIELDS, FIELD_END};
static const struct shape shape_options = {.kind = SHAPE_STRUCT, .fields = option_fields};

struct batch_write;

/* One put or delete. */
struct batch_member {
    struct batch_write *batch;
    const struct one_request *request;
    struct str table_name;
    struct item_write write;
    struct items_write engine;
    struct meter_access access;
    bool is_unprocessed; /* refused by a simulated limit */
};

struct batch_write {
    struct api_call *call;
    struct batch_write_request request;
    struct batch_member *members;
    size_t member_count;
    size_t open_count; /* members that have not ended */
};

static bool check_member(struct api_call *call, const struct one_request *request)
{
    if ((request->put == NULL) == (request->remove == NULL)) { /* both or neither: the same error */
        return err_set(&call->err, ERR_VALIDATION, MESSAGE_TWO_TYPES);
    }
    if (request->remove != NULL) {
        return api_check_problem(call, &request->remove->key.problem);
    }
    if (!api_check_problem(call, &request->put->item.problem)) {
        return false;
    }
    if (item_size(request->put->item.value) > ITEM_BYTES_MAX) {
        return err_set(&call->err, ERR_VALIDATION, MESSAGE_ITEM_SIZE);
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

static bool check_any(struct batch_write *op)
{
    return op->request.tables.count > 0 ||
           err_set(&op->call->err, ERR_VALIDATION,
                   "The requestItems parameter is required for BatchWriteItem");
}

static bool check_request(struct batch_write *op)
{
    struct api_call *call = op->call;
    const struct wire_map *tables = &op->request.tables;
    if (!api_decode(call, &shape_batch_write, &op->request) ||
        !wire_validate(&shape_options, &op->request, WORDING_CURRENT, &call->err) ||
        !check_any(op) ||
        !wire_validate(&shape_batch_write, &op->request, WORDING_CURRENT, &call->err) ||
        !count_members(op)) {
        return false;
    }
    op->members = ARENA_ARRAY(call->arena, struct batch_member, op->member_count);
    struct batch_member *member = op->members;
    for (size_t i = 0; i < tables->count; i++) {
        const struct wire_list *list = &((const struct wire_list *)tables->values)[i];
        for (size_t k = 0; k < list->count; k++, member++) {
            member->batch = op;
            member->table_name = api_table_of_key(call, tables->names[i]);
            member->request = ((struct one_request *const *)list->elements)[k];
            if (!api_check_table_arns(call) || !check_member(call, member->request)) {
                return false;
            }
        }
    }
    return true;
}

/* Finds the key of a put. The error for a missing key attribute, or one of a wrong type, is that of
 * GetItem here. */
static bool find_put_key(struct api_call *call, struct item_write *write)
{
    if (!item_has_key(write->table, write->item)) {
        return err_set(&call->err, ERR_VALIDATION, MESSAGE_KEY_MISMATCH);
    }
    return item_key_from_item(call->engine, write->table, write->item, call->arena, &write->key,
                              &call->err) &&
           item_check_index_keys(write->table, write->item, &call->err) &&
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
                return err_set(&op->call->err, ERR_VALIDATION, MESSAGE_DUPLICATE_KEYS);
            }
        }
    }
    return true;
}

static void write_request(struct buf *out, const struct one_request *request)
{
    if (request->put != NULL) {
        JSON_PUT(out, "{\"PutRequest\":{\"Item\":");
        value_json_write_item(out, request->put->item.value);
    } else {
        JSON_PUT(out, "{\"DeleteRequest\":{\"Key\":");
        value_json_write_item(out, request->remove->key.value);
    }
    JSON_PUT(out, "}}");
}

/* Writes the members of UnprocessedItems, by table, as they were sent. op->members are in the order
 * of tables. */
static void write_unprocessed(struct batch_write *op)
{
    struct buf *out = op->call->out;
    const struct wire_map *tables = &op->request.tables;
    const struct batch_member *member = op->members;
    bool any = false;
    for (size_t i = 0; i < tables->count; i++) {
        size_t count = ((const struct wire_list *)tables->values)[i].count;
        bool first = true;
        for (size_t k = 0; k < count; k++, member++) {
            if (!member->is_unprocessed) {
                continue;
            }
            if (first) {
                buf_add(out, any ? STR("],") : STR(""));
                json_write_string(out, tables->names[i]);
                JSON_PUT(out, ":[");
            } else {
                JSON_PUT(out, ",");
            }
            write_request(out, member->request);
            first = false;
            any = true;
        }
    }
    buf_add(out, any ? STR("]") : STR(""));
}

static void finish(struct batch_write *op)
{
    struct api_call *call = op->call;
    struct capacity_list capacities = {0};
    const struct item_write *writes[BATCH_WRITES_MAX];
    for (size_t i = 0; i < op->member_count; i++) {
        struct batch_member *member = &op->members[i];
        writes[i] = &member->write;
        struct err *err = member->engine.failed ? &member->write.err : &member->engine.call.err;
        if (err->code != ERR_NONE) {
            call->err = *err;
        }
        if (!member->is_unprocessed) {
            api_remember_writes(call, &member->engine);
            write_describe_outcome(&member->access, &member->write);
        }
        capacity_add(
            capacity_list_at(&capacities, call->arena, member->write.table, op->member_count),
            &member->write.capacity, 1);
    }
    if (call->err.code == ERR_NONE) {
        JSON_PUT(call->out, "{\"UnprocessedItems\":{");
        write_unprocessed(op);
        JSON_PUT(call->out, "}");
        api_member_capacities(call, &op->request.return_consumed_capacity, &capacities, false,
                              CAPACITY_WRITE);
        api_member_collections(call, &op->request.return_collection_metrics, writes,
                               op->member_count);
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

/* Prepares a write. False: a simulated limit refuses it with *refused, and it is unprocessed. */
static bool admit_member(struct batch_write *op, struct batch_member *member, struct err *refused)
{
    struct api_call *call = op->call;
    member->engine = (struct items_write){
        .call = api_engine_call(call, member_done),
        .writes = &member->write,
        .write_count = 1,
    };
    write_describe(&member->access,
                   member->write.kind == WRITE_PUT ? "BatchWriteItem Put" : "BatchWriteItem Delete",
                   &member->write);
    api_meter(call, &member->access);
    member->is_unprocessed = !api_admit(call, &member->access);
    if (member->is_unprocessed) {
        member->access.err = call->err.code;
        *refused = call->err;
        call->err = ERR_INIT(call->arena);
    }
    return !member->is_unprocessed;
}

void op_batch_write_item(struct api_call *call)
{
    struct batch_write *op = ARENA_NEW(call->arena, struct batch_write);
    op->call = call;
    if (!check_request(op) || !find_keys(op)) {
        api_finish(call);
        return;
    }
    struct items_write *calls[BATCH_WRITES_MAX];
    struct err refused = ERR_INIT(call->arena);
    for (size_t i = 0; i < op->member_count; i++) {
        if (admit_member(op, &op->members[i], &refused)) {
            calls[op->open_count++] = &op->members[i].engine;
        }
    }
    if (op->open_count == 0) { /* all writes were refused: the call fails */
        call->err = refused;
        api_finish(call);
        return;
    }
    call->throttling = (struct throttling){0};
    api_write_items(call, calls, op->open_count);
}
