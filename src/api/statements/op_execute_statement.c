/* ExecuteStatement: runs one PartiQL statement; a SELECT returns one page of items.
 * ExplainStatement: returns the plan of a SELECT. Called by dispatch.c on the thread of the
 * call. */
#include "api/items/write_item.h"
#include "api/statements/partiql.h"
#include "err/messages.h"

/* How many partition keys of an IN a page reads at most. */
enum { READS_PER_PAGE = 10 };

struct execute_statement_request {
    struct statement_request common;
    struct str next_token;
    struct wire_int limit;
    struct wire_enum return_consumed_capacity;
};

static const struct shape shape_next_token = {.kind = SHAPE_STRING, .min = 1, .max = 32768};
static const struct field execute_statement_fields[] = {
    FIELD(struct execute_statement_request, return_consumed_capacity, "ReturnConsumedCapacity",
          shape_return_consumed_capacity),
    FIELD_REQUIRED(struct execute_statement_request, common.text, "Statement", shape_statement),
    FIELD(struct execute_statement_request, common.parameters, "Parameters", shape_parameters),
    FIELD(struct execute_statement_request, next_token, "NextToken", shape_next_token),
    FIELD(struct execute_statement_request, limit, "Limit", shape_limit),
    FIELD(struct execute_statement_request, common.consistent_read, "ConsistentRead", shape_bool),
    FIELD(struct execute_statement_request, common.return_on_failure,
          "ReturnValuesOnConditionCheckFailure", shape_return_on_failure),
    FIELD_END,
};
static const struct shape shape_execute_statement = {
    .kind = SHAPE_STRUCT,
    .fields = execute_statement_fields,
    .size = sizeof(struct execute_statement_request),
};

struct execute_statement {
    struct api_call *call;
    struct execute_statement_request request;
    struct partiql partiql;
    struct capacity capacity;
    /* Of a SELECT. */
    struct plan plan;
    struct item_key key;      /* PLAN_GET */
    struct key_range *ranges; /* otherwise: the ranges of rows to read, in this order */
    size_t range_count;
    struct read_position position; /* where the page starts; after the read, where it ends */
    size_t reads;                  /* ranges read for this page */
    size_t rows;                   /* read, before the filter */
    size_t items;                  /* in the answer */
    size_t bytes;
    bool more;     /* there is another page */
    bool explains; /* ExplainStatement */
    struct items_get get;
    struct items_read read;
    /* Of the other statements. */
    struct item_write write;
    struct items_write engine;
    struct meter_access access;
    struct meter_key *keys; /* of `access`: one for each range that was read; NULL: there is one */
};

/* Describes a planned SELECT for the meter, and checks it against the simulated limits. */
static void describe_select(struct execute_statement *op)
{
    const struct partiql *partiql = &op->partiql;
    partiql_describe_read(&op->access, partiql_meter_name(partiql), partiql);
    op->access.flags |= op->plan.kind == PLAN_SCAN ? METER_SCAN : 0u;
    op->access.flags |= op->plan.backward ? METER_BACKWARD : 0u;
    op->access.flags |= op->request.limit.given ? METER_HAS_LIMIT : 0u;
    op->access.partition = plan_partition(&op->plan);
    if (op->plan.kind == PLAN_QUERY && op->plan.range_count > 1 && api_is_metered(op->call)) {
        op->keys = ARENA_ARRAY(op->call->arena, struct meter_key, op->plan.range_count);
        op->access.keys = op->keys;
    }
    api_meter(op->call, &op->access);
    (void)api_admit(op->call, &op->access); /* run_get() and read_range() check call->err */
}

static void meter_select(struct execute_statement *op)
{
    op->access.table_units = op->capacity.table;
    op->access.arms = op->partiql.index == NULL ? NULL : &op->capacity;
    op->access.items_read = op->rows;
    op->access.items_returned = op->items;
    op->access.bytes_read = op->bytes;
}

static void finish(struct execute_statement *op, enum capacity_kind kind)
{
    struct api_call *call = op->call;
    if (partiql_is_read(&op->partiql)) {
        meter_select(op);
    }
    if (call->err.code == ERR_NONE) {
        api_member_capacity(call, &op->request.return_consumed_capacity, op->partiql.table,
                            &op->capacity, kind);
        api_end(call);
    }
    api_finish(call);
}

static void begin_items(struct api_call *call)
{
    api_begin(call);
    api_member(call, STR("Items"));
    buf_add_char(call->out, '[');
}

static void write_row(struct execute_statement *op, struct value item)
{
    if (op->items++ > 0) {
        buf_add_char(op->call->out, ',');
    }
    partiql_write_row(op->call->out, op->call->arena, &op->partiql.statement, item);
}

/* --- SELECT of one item --- */

static void get_done(struct engine_call *engine_call)
{
    struct execute_statement *op = CONTAINER_OF(engine_call, struct execute_statement, get.call);
    struct api_call *call = op->call;
    call->err = engine_call->err;
    if (call->err.code == ERR_NONE) {
        struct row *row = &op->get.rows[0];
        const struct condition *where = op->partiql.statement.where->condition;
        if (!op->request.common.consistent_read.value) {
            api_see_past_item(call, op->partiql.table, op->key.row, row);
        }
        begin_items(call);
        if (!value_is_absent(row->item) && condition_holds(where, row->item)) {
            write_row(op, row->item);
        }
        buf_add_char(call->out, ']');
        op->capacity.table =
            capacity_read_units(row->size, op->request.common.consistent_read.value);
        op->rows = !value_is_absent(row->item);
        op->bytes = row->size;
    }
    finish(op, CAPACITY_READ);
}

static void run_get(struct execute_statement *op)
{
    if (op->call->err.code != ERR_NONE) {
        api_finish(op->call);
        return;
    }
    op->get = (struct items_get){
        .call = api_engine_call(op->call, get_done),
        .keys = &op->key,
        .key_count = 1,
    };
    op->get.call.bytes_max =
        engine_bytes_max(&op->get.call, op->partiql.statement.where->condition);
    engine_get_items(&op->get);
}

/* --- SELECT of ranges --- */

static void read_range(struct execute_statement *op);

static void finish_page(struct execute_statement *op)
{
    struct api_call *call = op->call;
    buf_add_char(call->out, ']');
    if (op->more) {
        struct str token = partiql_token_write(&op->partiql, &op->position, call->arena);
        api_member(call, STR("NextToken"));
        json_write_plain_string(call->out, token);
    }
    if (op->more && !value_is_absent(op->position.last_key)) {
        api_member(call, STR("LastEvaluatedKey"));
        value_json_write_item(call->out, op->position.last_key);
    }
    finish(op, CAPACITY_READ);
}

static void emit(struct items_read *read, struct value item)
{
    struct execute_statement *op = CONTAINER_OF(read, struct execute_statement, read);
    bool is_over = api_is_over_budget(op->call);
    read->stop = read->fetch && is_over;
    if (!is_over) { /* else the answer becomes an error: columns may repeat parts of an item */
        write_row(op, item);
    }
}

static void count_units(struct execute_statement *op)
{
    const struct partiql *partiql = &op->partiql;
    double units = capacity_read_units(op->read.bytes, op->read.consistent);
    if (op->keys != NULL) {
        op->keys[op->access.key_count++] =
            (struct meter_key){.key = op->plan.ranges[op->position.range].hash[0], .units = units};
    }
    if (partiql->index == NULL) {
        op->capacity.table += units;
        return;
    }
    op->capacity.table += op->read.fetch_units;
    capacity_add_index(&op->capacity, (size_t)(partiql->index - partiql->table->indexes), units);
}

static bool page_is_full(const struct execute_statement *op)
{
    bool limited = op->request.limit.given && op->rows >= (size_t)op->request.limit.value;
    return limited || op->bytes >= PAGE_BYTES_MAX || op->reads >= READS_PER_PAGE;
}

static void range_done(struct engine_call *engine_call)
{
    struct execute_statement *op = CONTAINER_OF(engine_call, struct execute_statement, read.call);
    op->call->err = engine_call->err;
    if (op->call->err.code != ERR_NONE) {
        api_finish(op->call);
        return;
    }
    op->reads++;
    op->rows += op->read.scanned_count;
    op->bytes += op->read.bytes;
    count_units(op);
    op->position.last_key = op->read.last_key;
    if (!value_is_absent(op->read.last_key)) {
        op->more = true;
    } else if (++op->position.range < op->range_count) {
        op->more = page_is_full(op);
        if (!op->more) {
            read_range(op);
            return;
        }
    }
    finish_page(op);
}

static void read_range(struct execute_statement *op)
{
    if (op->call->err.code != ERR_NONE) {
        api_finish(op->call);
        return;
    }
    const struct partiql *partiql = &op->partiql;
    const struct key_range *range = &op->ranges[op->position.range];
    op->read = (struct items_read){
        .call = api_engine_call(op->call, range_done),
        .table = partiql->table,
        .index = partiql->index,
        .lo = range->lo,
        .hi = range->hi,
        .backward = op->plan.backward,
        .limit = op->request.limit.given ? (size_t)op->request.limit.value - op->rows : 0,
        .filter = partiql->statement.where == NULL ? NULL : partiql->statement.where->condition,
        .fetch = op->plan.fetch,
        .consistent = op->request.common.consistent_read.value,
        .emit = emit,
    };
    api_read_items(op->call, &op->read);
}

/* Encodes the key or the ranges of rows that the plan reads. */
static bool find_rows(struct execute_statement *op)
{
    struct api_call *call = op->call;
    const struct plan *plan = &op->plan;
    if (plan->kind == PLAN_GET) {
        return item_key_from_key(call->engine, plan->table, plan->key, call->arena, &op->key,
                                 &call->err);
    }
    op->range_count = plan->kind == PLAN_SCAN ? 1 : plan->range_count;
    op->ranges = ARENA_ARRAY(call->arena, struct key_range, op->range_count);
    for (size_t i = 0; i < op->range_count; i++) {
        op->ranges[i] = plan->kind == PLAN_SCAN
                            ? range_of_scan(plan->table, plan->index, 0, 1, call->arena)
                            : range_of_query(call->engine, plan->table, plan->index,
                                             &plan->ranges[i], call->arena);
    }
    return true;
}

/* Applies NextToken: starts after the last row of the previous page. */
static bool apply_next_token(struct execute_statement *op)
{
    struct api_call *call = op->call;
    const struct partiql *partiql = &op->partiql;
    struct read_position *position = &op->position;
    if (str_is_null(op->request.next_token)) {
        return true;
    }
    if (!partiql_token_read(partiql, op->request.next_token, position, call->arena, &call->err)) {
        return false;
    }
    struct str row;
    bool fits = position->range < op->range_count;
    if (fits && !value_is_absent(position->last_key)) {
        fits = range_start_row(call->engine, partiql->table, partiql->index, position->last_key,
                               call->arena, &row) == START_KEY_FITS &&
               range_start_after(&op->ranges[position->range], row, op->plan.backward, call->arena);
    }
    return fits || err_set(&call->err, ERR_VALIDATION, MESSAGE_NEXT_TOKEN_MISMATCH);
}

static bool check_consistency(struct execute_statement *op)
{
    const struct index *index = op->partiql.index;
    bool global = index != NULL && index->kind == INDEX_GLOBAL;
    return !global || !op->request.common.consistent_read.value ||
           err_set(&op->call->err, ERR_VALIDATION,
                   "Strongly consistent read is not supported on Global Secondary Indexes");
}

static void visit_column(struct execute_statement *op, size_t i, struct key_paths *paths)
{
    api_visit_key_path(paths, &op->partiql.statement.columns[i].path);
}

static bool check_key_paths(struct execute_statement *op)
{
    const struct statement *statement = &op->partiql.statement;
    struct key_paths paths = {.table = op->partiql.table, .err = &op->call->err};
    for (size_t i = 0; i < statement->column_count; i++) {
        visit_column(op, i, &paths);
    }
    return api_check_key_paths(op->partiql.table, NULL,
                               statement->where == NULL ? NULL : statement->where->condition,
                               &op->call->err);
}

static void run_select(struct execute_statement *op)
{
    struct api_call *call = op->call;
    const struct plan_request request = partiql_plan_request(call, &op->partiql);
    if (!check_consistency(op) || !check_key_paths(op) ||
        !plan_select(&request, &op->plan, &call->err) || !find_rows(op) || !apply_next_token(op)) {
        api_finish(call);
        return;
    }
    if (op->explains) {
        api_finish_with_plan(call, &op->plan);
        return;
    }
    describe_select(op);
    if (op->plan.kind == PLAN_GET) {
        run_get(op);
        return;
    }
    begin_items(call);
    read_range(op);
}

/* --- writes --- */

static void write_failed_item(struct api_call *call)
{
    const struct execute_statement *op = call->state;
    api_write_failed_item(call->out, op->write.old_item);
}

static void write_done(struct engine_call *engine_call)
{
    struct execute_statement *op = CONTAINER_OF(engine_call, struct execute_statement, engine.call);
    struct api_call *call = op->call;
    call->err = engine_call->err;
    write_describe_outcome(&op->access, &op->write);
    if (call->err.code == ERR_NONE && op->engine.failed) {
        partiql_name_failure(&op->partiql, &op->write);
        call->err = op->write.err;
        if (call->err.code == ERR_CONDITIONAL_CHECK_FAILED) {
            call->write_error_members = write_failed_item;
        }
    }
    if (call->err.code == ERR_NONE) {
        api_remember_writes(call, &op->engine);
        struct value row = partiql_returned(&op->partiql, &op->write, call->arena);
        begin_items(call);
        if (!value_is_absent(row)) {
            value_json_write_item(call->out, row);
        }
        buf_add_char(call->out, ']');
        op->capacity = op->write.capacity;
    }
    finish(op, CAPACITY_WRITE);
}

static void run_write(struct execute_statement *op)
{
    struct api_call *call = op->call;
    if (!partiql_write(call, &op->partiql, false, &op->write, &call->err)) {
        api_finish(call);
        return;
    }
    call->state = op;
    write_describe(&op->access, partiql_meter_name(&op->partiql), &op->write);
    api_meter(call, &op->access);
    if (!api_admit(call, &op->access)) {
        api_finish(call);
        return;
    }
    op->engine = (struct items_write){
        .call = api_engine_call(call, write_done),
        .writes = &op->write,
        .write_count = 1,
    };
    api_write_items(call, &(struct items_write *){&op->engine}, 1);
}

/* --- the operations --- */

static bool check_kind(struct execute_statement *op)
{
    if (op->partiql.statement.kind == STATEMENT_EXISTS) {
        return err_set(&op->call->err, ERR_VALIDATION, MESSAGE_EXISTS_OUTSIDE);
    }
    return partiql_is_read(&op->partiql) || str_is_null(op->request.next_token) ||
           err_set(&op->call->err, ERR_VALIDATION, "NextToken is only valid on a SELECT statement");
}

static bool check_request(struct execute_statement *op)
{
    struct api_call *call = op->call;
    struct execute_statement_request *request = &op->request;
    return api_decode(call, &shape_execute_statement, request) &&
           wire_validate(&shape_execute_statement, request, WORDING_OLDER, &call->err) &&
           partiql_check_parameters(call, &request->common, &call->err) &&
           partiql_parse(call, &request->common, &op->partiql, &call->err) && check_kind(op) &&
           partiql_authorize(call, &op->partiql, NULL, &call->err) &&
           partiql_find_table(call, &op->partiql, &call->err) &&
           partiql_find_index(&op->partiql, &call->err);
}

void op_explain_statement(struct api_call *call)
{
    struct execute_statement *op = ARENA_NEW(call->arena, struct execute_statement);
    op->call = call;
    op->explains = true;
    if (check_request(op) &&
        (partiql_is_read(&op->partiql) ||
         err_set(&call->err, ERR_VALIDATION, "Only SELECT statements have a plan to explain"))) {
        run_select(op);
    } else {
        api_finish(call);
    }
}

void op_execute_statement(struct api_call *call)
{
    struct execute_statement *op = ARENA_NEW(call->arena, struct execute_statement);
    op->call = call;
    if (!check_request(op)) {
        api_finish(call);
    } else if (partiql_is_read(&op->partiql)) {
        call->only_reads = true;
        run_select(op);
    } else {
        run_write(op);
    }
}
