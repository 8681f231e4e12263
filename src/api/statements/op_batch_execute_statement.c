/* BatchExecuteStatement: runs up to 25 PartiQL statements, either all reads of one item or all
 * writes, independently: the answer has a result or an error for each. Called by dispatch.c on
 * the thread of the call. */
#include "api/items/write_item.h"
#include "api/statements/partiql.h"
#include "err/messages.h"

enum { STATEMENTS_MAX = 25 };

struct batch_execute_request {
    struct wire_list statements; /* elements are struct statement_request pointers */
    struct wire_enum return_consumed_capacity;
};

static const struct field member_fields[] = {
    FIELD_REQUIRED(struct statement_request, text, "Statement", shape_statement),
    FIELD(struct statement_request, parameters, "Parameters", shape_parameters),
    FIELD(struct statement_request, consistent_read, "ConsistentRead", shape_bool),
    FIELD(struct statement_request, return_on_failure, "ReturnValuesOnConditionCheckFailure",
          shape_return_on_failure),
    FIELD_END,
};
static const struct shape shape_member = {
    .kind = SHAPE_STRUCT,
    .java = "BatchStatementRequest",
    .fields = member_fields,
    .size = sizeof(struct statement_request),
};
static const struct shape shape_members = {
    .kind = SHAPE_LIST,
    .java = "java.util.List<com.amazonaws.dynamodb.v20120810.BatchStatementRequest>",
    .min = 1,
    .max = STATEMENTS_MAX,
    .element = &shape_member,
};
static const struct field batch_execute_fields[] = {
    FIELD(struct batch_execute_request, return_consumed_capacity, "ReturnConsumedCapacity",
          shape_return_consumed_capacity),
    FIELD_REQUIRED(struct batch_execute_request, statements, "Statements", shape_members),
    FIELD_END,
};
static const struct shape shape_batch_execute = {
    .kind = SHAPE_STRUCT,
    .fields = batch_execute_fields,
    .size = sizeof(struct batch_execute_request),
};

struct batch_execute;

struct batch_member {
    struct batch_execute *batch;
    struct partiql partiql;
    struct err err; /* ERR_NONE: no error so far */
    bool parsed;    /* the statement is valid and counts as a read or write */
    bool ran;       /* its key is known and it is sent to the engine; the answer names the table */
    struct item_key key; /* of a read */
    size_t row;          /* of a read: index in get.rows */
    struct item_write write;
    struct items_write engine;
    struct meter_access access;
};

struct batch_execute {
    struct api_call *call;
    struct batch_execute_request request;
    struct batch_member *members;
    size_t count;
    bool reads;
    struct item_key *keys; /* of the members that are reads */
    size_t key_count;
    struct items_get get;
    size_t open_count; /* writes that have not ended */
};

/* --- the request --- */

static void parse_member(struct batch_member *member, const struct statement_request *request)
{
    struct api_call *call = member->batch->call;
    member->err = ERR_INIT(call->arena);
    if (!partiql_check_parameters(call, request, &member->err) ||
        !partiql_parse(call, request, &member->partiql, &member->err)) {
        return;
    }
    member->parsed = member->partiql.statement.kind != STATEMENT_EXISTS;
    if (!member->parsed) {
        err_set(&member->err, ERR_VALIDATION, MESSAGE_EXISTS_OUTSIDE);
    }
}

/* Finds the key of a SELECT, which must read one item by its primary key. */
static bool find_read_key(struct batch_member *member)
{
    struct api_call *call = member->batch->call;
    struct value key;
    return partiql_select_key(call, &member->partiql, "BatchExecuteStatement", &key,
                              &member->err) &&
           item_key_from_key(call->engine, member->partiql.table, key, call->arena, &member->key,
                             &member->err);
}

static void find_item(struct batch_member *member)
{
    struct api_call *call = member->batch->call;
    struct partiql *partiql = &member->partiql;
    if (!partiql_authorize(call, partiql, NULL, &member->err) ||
        !partiql_find_table(call, partiql, &member->err) ||
        !partiql_find_index(partiql, &member->err)) {
        return;
    }
    if (partiql_is_read(partiql)) {
        member->ran = find_read_key(member);
        return;
    }
    member->ran = partiql_write(call, partiql, false, &member->write, &member->err);
    member->key = member->write.key;
    member->write.want_old_on_failure =
        false; /* the service accepts the parameter and ignores it */
}

static bool check_mixture(struct batch_execute *op)
{
    bool writes = false;
    for (size_t i = 0; i < op->count; i++) {
        bool read = partiql_is_read(&op->members[i].partiql);
        op->reads = op->reads || (op->members[i].parsed && read);
        writes = writes || (op->members[i].parsed && !read);
    }
    return !op->reads || !writes ||
           err_set(&op->call->err, ERR_VALIDATION,
                   "Read and write requests together in the same batch is not supported.");
}

static bool check_duplicates(struct batch_execute *op)
{
    for (size_t i = 0; i < op->count; i++) {
        for (size_t k = 0; op->members[i].ran && k < i; k++) {
            if (op->members[k].ran && str_eq(op->members[i].key.row, op->members[k].key.row)) {
                return err_set(&op->call->err, ERR_VALIDATION, MESSAGE_DUPLICATE_KEYS);
            }
        }
    }
    return true;
}

static bool check_request(struct batch_execute *op)
{
    struct api_call *call = op->call;
    if (!api_decode(call, &shape_batch_execute, &op->request) ||
        !wire_validate(&shape_batch_execute, &op->request, WORDING_OLDER, &call->err)) {
        return false;
    }
    op->count = op->request.statements.count;
    op->members = ARENA_ARRAY(call->arena, struct batch_member, op->count);
    for (size_t i = 0; i < op->count; i++) {
        op->members[i].batch = op;
        parse_member(&op->members[i],
                     ((struct statement_request *const *)op->request.statements.elements)[i]);
    }
    if (!check_mixture(op)) {
        return false;
    }
    for (size_t i = 0; i < op->count; i++) {
        if (op->members[i].parsed) {
            find_item(&op->members[i]);
        }
    }
    call->is_authorized = true; /* each statement was authorized, or has an error */
    return check_duplicates(op);
}

/* --- the answer --- */

static void write_error(struct buf *out, const struct err *err)
{
    JSON_PUT(out, "\"Error\":{\"Code\":");
    json_write_plain_string(out, str_from_c(api_short_code(err->code)));
    JSON_PUT(out, ",\"Message\":");
    json_write_string(out, err->message);
    JSON_PUT(out, "}");
}

/* Returns the row that the statement returns, or VALUE_ABSENT. */
static struct value row_of(struct batch_member *member)
{
    struct batch_execute *op = member->batch;
    if (!op->reads) {
        return partiql_returned(&member->partiql, &member->write, op->call->arena);
    }
    return op->get.rows[member->row].item;
}

static void write_member(struct batch_member *member)
{
    struct api_call *call = member->batch->call;
    JSON_PUT(call->out, "{");
    if (member->err.code != ERR_NONE) {
        write_error(call->out, &member->err);
    } else {
        struct value row = row_of(member);
        if (!value_is_absent(row)) {
            JSON_PUT(call->out, "\"Item\":");
            partiql_write_row(call->out, call->arena, &member->partiql.statement, row);
        }
    }
    if (member->ran && member->err.code != ERR_VALIDATION) {
        api_member(call, STR("TableName"));
        json_write_plain_string(call->out, member->partiql.table->name);
    }
    JSON_PUT(call->out, "}");
}

/* Returns the consumed capacity. A failed write consumes capacity for the larger of the stored item
 * and the item in the statement. */
static struct capacity capacity_of(const struct batch_member *member)
{
    struct capacity capacity = {0};
    if (member->batch->reads) {
        capacity.table = capacity_read_units(member->batch->get.rows[member->row].size,
                                             member->partiql.request->consistent_read.value);
        return capacity;
    }
    if (member->err.code == ERR_NONE) {
        return member->write.capacity;
    }
    capacity.table = capacity_write_units(MAX(member->write.old_size, member->write.item_size));
    return capacity;
}

/* Writes the consumed capacity of each table. Tables whose statements have all failed are left
 * out. */
static void write_capacities(struct batch_execute *op)
{
    struct capacity_list list = {0};
    for (size_t i = 0; i < op->count; i++) {
        struct batch_member *member = &op->members[i];
        if (member->ran && member->err.code == ERR_NONE) {
            (void)capacity_list_at(&list, op->call->arena, member->partiql.table, op->count);
        }
    }
    for (size_t i = 0; i < op->count; i++) {
        struct batch_member *member = &op->members[i];
        for (size_t k = 0; member->ran && k < list.count; k++) {
            if (list.tables[k] == member->partiql.table) {
                struct capacity capacity = capacity_of(member);
                capacity_add(&list.capacities[k], &capacity, 1);
            }
        }
    }
    if (list.count > 0) {
        api_member_capacities(op->call, &op->request.return_consumed_capacity, &list, false,
                              op->reads ? CAPACITY_READ : CAPACITY_WRITE);
    }
}

/* Describes one statement for the meter. */
static void meter_member(struct batch_member *member)
{
    struct batch_execute *op = member->batch;
    struct meter_access *access = &member->access;
    if (!member->ran) {
        *access = (struct meter_access){.operation = "BatchExecuteStatement",
                                        .table = member->partiql.table};
    } else if (op->reads) {
        const struct row *row = &op->get.rows[member->row];
        partiql_describe_read(access, "BatchExecuteStatement Select", &member->partiql);
        access->partition = member->key.hash;
        access->table_units = capacity_of(member).table;
        access->items_read = access->items_returned = !value_is_absent(row->item);
        access->bytes_read = access->item_bytes = row->size;
    } else {
        static const char *const names[] = {[WRITE_PUT] = "BatchExecuteStatement Insert",
                                            [WRITE_DELETE] = "BatchExecuteStatement Delete",
                                            [WRITE_UPDATE] = "BatchExecuteStatement Update",
                                            [WRITE_CHECK] = "BatchExecuteStatement Exists"};
        write_describe(access, names[member->write.kind], &member->write);
        write_describe_outcome(access, &member->write);
        access->table_units = capacity_of(member).table;
    }
    access->err = member->err.code;
    api_meter(op->call, access);
}

static void finish(struct batch_execute *op)
{
    struct api_call *call = op->call;
    for (size_t i = 0; i < op->count; i++) {
        meter_member(&op->members[i]);
    }
    JSON_PUT(call->out, "{\"Responses\":[");
    /* Reads that exceed the budget get an error instead of this answer. */
    for (size_t i = 0; i < op->count && !(call->only_reads && api_is_over_budget(call)); i++) {
        buf_add(call->out, i > 0 ? STR(",") : STR(""));
        write_member(&op->members[i]);
    }
    JSON_PUT(call->out, "]");
    write_capacities(op);
    api_end(call);
    api_finish(call);
}

/* --- running --- */

static void get_done(struct engine_call *engine_call)
{
    struct batch_execute *op = CONTAINER_OF(engine_call, struct batch_execute, get.call);
    op->call->err = engine_call->err;
    if (engine_call->err.code != ERR_NONE) {
        api_finish(op->call);
        return;
    }
    for (size_t i = 0; i < op->count; i++) {
        const struct batch_member *member = &op->members[i];
        if (member->ran && !member->partiql.request->consistent_read.value) {
            api_see_past_item(op->call, member->partiql.table, member->key.row,
                              &op->get.rows[member->row]);
        }
    }
    finish(op);
}

static void run_reads(struct batch_execute *op)
{
    op->call->only_reads = true;
    op->keys = ARENA_ARRAY(op->call->arena, struct item_key, op->count);
    for (size_t i = 0; i < op->count; i++) {
        struct batch_member *member = &op->members[i];
        if (member->ran) {
            member->row = op->key_count;
            op->keys[op->key_count++] = member->key;
        }
    }
    op->get = (struct items_get){
        .call = api_engine_call(op->call, get_done),
        .keys = op->keys,
        .key_count = op->key_count,
    };
    engine_get_items(&op->get);
}

static void write_done(struct engine_call *engine_call)
{
    struct batch_member *member = CONTAINER_OF(engine_call, struct batch_member, engine.call);
    partiql_name_failure(&member->partiql, &member->write);
    api_remember_writes(member->batch->call, &member->engine);
    member->err = member->engine.failed ? member->write.err : engine_call->err;
    if (--member->batch->open_count == 0) {
        finish(member->batch);
    }
}

static void run_writes(struct batch_execute *op)
{
    struct items_write *calls[STATEMENTS_MAX];
    for (size_t i = 0; i < op->count; i++) {
        struct batch_member *member = &op->members[i];
        if (member->ran) {
            member->engine = (struct items_write){
                .call = api_engine_call(op->call, write_done),
                .writes = &member->write,
                .write_count = 1,
            };
            calls[op->open_count++] = &member->engine;
        }
    }
    api_write_items(op->call, calls, op->open_count);
}

/* Checks the simulated limits for each statement; one that is refused has an error of its own. */
static void admit_members(struct batch_execute *op)
{
    struct api_call *call = op->call;
    for (size_t i = 0; simulation_is_on(call->meter) && i < op->count; i++) {
        struct batch_member *member = &op->members[i];
        struct throttling ignored;
        struct meter_access access = {.flags = op->reads ? 0u : METER_WRITE,
                                      .table = member->partiql.table,
                                      .partition = member->key.hash};
        member->ran = member->ran &&
                      simulation_admit(call->meter, &access, call->arena, &ignored, &member->err);
    }
}

static bool any_ran(const struct batch_execute *op)
{
    for (size_t i = 0; i < op->count; i++) {
        if (op->members[i].ran) {
            return true;
        }
    }
    return false;
}

void op_batch_execute_statement(struct api_call *call)
{
    struct batch_execute *op = ARENA_NEW(call->arena, struct batch_execute);
    op->call = call;
    if (!check_request(op)) {
        api_finish(call);
        return;
    }
    admit_members(op);
    if (!any_ran(op)) {
        finish(op);
    } else if (op->reads) {
        run_reads(op);
    } else {
        run_writes(op);
    }
}
