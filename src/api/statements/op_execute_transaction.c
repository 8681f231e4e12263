/* ExecuteTransaction: runs up to 100 PartiQL statements as one transaction: either all reads of one
 * item, at one instant, or all writes and checks (EXISTS). Called by dispatch.c on the thread of
 * the call. */
#include "api/items/transact.h"
#include "api/statements/partiql.h"
#include "err/messages.h"

struct execute_transaction_request {
    struct wire_list statements; /* elements are struct statement_request pointers */
    struct str token;
    struct wire_enum return_consumed_capacity;
};

static const struct field member_fields[] = {
    FIELD_REQUIRED(struct statement_request, text, "Statement", shape_statement),
    FIELD(struct statement_request, parameters, "Parameters", shape_parameters),
    FIELD(struct statement_request, return_on_failure, "ReturnValuesOnConditionCheckFailure",
          shape_return_on_failure),
    FIELD_END,
};
static const struct shape shape_member = {
    .kind = SHAPE_STRUCT,
    .java = "ParameterizedStatement",
    .fields = member_fields,
    .size = sizeof(struct statement_request),
};
static const struct shape shape_members = {
    .kind = SHAPE_LIST,
    .java = "java.util.List<com.amazonaws.dynamodb.v20120810.ParameterizedStatement>",
    .min = 1,
    .max = TRANSACTION_ITEMS_MAX,
    .element = &shape_member,
};
static const struct field execute_transaction_fields[] = {
    FIELD(struct execute_transaction_request, token, "ClientRequestToken", shape_request_token),
    FIELD(struct execute_transaction_request, return_consumed_capacity, "ReturnConsumedCapacity",
          shape_return_consumed_capacity),
    FIELD_REQUIRED(struct execute_transaction_request, statements, "TransactStatements",
                   shape_members),
    FIELD_END,
};
static const struct shape shape_execute_transaction = {
    .kind = SHAPE_STRUCT,
    .fields = execute_transaction_fields,
    .size = sizeof(struct execute_transaction_request),
};

struct execute_transaction {
    struct api_call *call;
    struct execute_transaction_request request;
    struct partiql *statements;
    struct item_write *writes; /* for reads only err is used */
    struct value *read_keys;   /* the primary key of each read */
    struct item_key *keys;     /* the key of each item */
    size_t count;
    size_t bytes; /* what all statements that write send */
    bool reads;
    struct transact_read read;
    struct items_write engine;
};

static const struct statement_request *request_of(const struct execute_transaction *op, size_t i)
{
    return ((struct statement_request *const *)op->request.statements.elements)[i];
}

/* Fails the request with the error of one statement. */
static bool refuse_statement(struct execute_transaction *op, size_t i, struct str problem)
{
    return err_set(&op->call->err, ERR_VALIDATION,
                   "Validation failed in TransactStatements[%zu]: %.*s", i, STR_ARG(problem));
}

/* --- statements --- */

static bool parse(struct execute_transaction *op)
{
    struct api_call *call = op->call;
    for (size_t i = 0; i < op->count; i++) {
        if (!partiql_check_parameters(call, request_of(op, i), &call->err)) {
            return false;
        }
    }
    for (size_t i = 0; i < op->count; i++) {
        struct err problem = ERR_INIT(call->arena);
        op->writes[i].err = ERR_INIT(call->arena);
        if (!partiql_parse(call, request_of(op, i), &op->statements[i], &problem)) {
            return refuse_statement(op, i, problem.message);
        }
    }
    return true;
}

static bool check_mixture(struct execute_transaction *op)
{
    op->reads = partiql_is_read(&op->statements[0]);
    for (size_t i = 1; i < op->count; i++) {
        if (partiql_is_read(&op->statements[i]) != op->reads) {
            return err_set(&op->call->err, ERR_VALIDATION,
                           "ExecuteTransaction API does not support both read and write operations "
                           "in the same request.");
        }
    }
    return true;
}

/* Authorizes each statement. One denied statement fails the request; those behind it are asked
 * about for the audit log. */
static bool authorize(struct execute_transaction *op)
{
    struct api_call *call = op->call;
    bool is_allowed = true;
    for (size_t i = 0; i < op->count && (is_allowed || call->notes_resources); i++) {
        is_allowed =
            partiql_authorize(call, &op->statements[i], "ExecuteTransaction", &call->err) &&
            is_allowed;
    }
    return is_allowed;
}

static bool check_request(struct execute_transaction *op)
{
    struct api_call *call = op->call;
    if (!api_decode(call, &shape_execute_transaction, &op->request) ||
        !wire_validate(&shape_execute_transaction, &op->request, WORDING_OLDER, &call->err)) {
        return false;
    }
    op->count = op->request.statements.count;
    op->statements = ARENA_ARRAY(call->arena, struct partiql, op->count);
    op->writes = ARENA_ARRAY(call->arena, struct item_write, op->count);
    op->read_keys = ARENA_ARRAY(call->arena, struct value, op->count);
    op->keys = ARENA_ARRAY(call->arena, struct item_key, op->count);
    return parse(op) && check_mixture(op) && authorize(op);
}

/* --- items --- */

static bool check_source(const struct partiql *partiql, struct err *err)
{
    if (partiql->statement.returning != RETURNING_NONE) {
        return err_set(err, ERR_VALIDATION,
                       "RETURNING clause is not supported in ExecuteTransaction.");
    }
    if (str_is_null(partiql->statement.index)) {
        return true;
    }
    switch (partiql->statement.kind) {
    case STATEMENT_SELECT:
        return err_set(err, ERR_VALIDATION,
                       "Reads on indices are not supported within transactions.");
    case STATEMENT_EXISTS:
        return err_set(err, ERR_VALIDATION,
                       "Operations on indices are not supported in transactions");
    default:
        return err_set(err, ERR_VALIDATION, MESSAGE_NOT_ON_INDEX);
    }
}

static bool check_exists(struct api_call *call, const struct partiql *partiql, struct err *err)
{
    const struct plan_request request = partiql_plan_request(call, partiql);
    struct value key;
    bool more = false;
    struct err ignored = ERR_INIT(call->arena);
    return (plan_write_key(&request, (struct plan_write){.is_exists = true}, &key, &more,
                           &ignored) &&
            more) ||
           err_set(err, ERR_VALIDATION,
                   "EXISTS() must contain a single item read with additional condition");
}

/* Checks the statement for errors that fail the request as a whole, not as a cancellation
 * reason. */
static bool check_statement(struct execute_transaction *op, size_t i)
{
    const struct partiql *partiql = &op->statements[i];
    struct err problem = ERR_INIT(op->call->arena);
    bool fits = check_source(partiql, &problem);
    if (fits && partiql->statement.kind == STATEMENT_SELECT) {
        fits = partiql_select_key(op->call, partiql, "ExecuteTransaction", &op->read_keys[i],
                                  &problem);
    } else if (fits && partiql->statement.kind == STATEMENT_EXISTS) {
        fits = check_exists(op->call, partiql, &problem);
    }
    return fits || refuse_statement(op, i, problem.message);
}

/* Looks up the tables. A missing table is a cancellation reason. */
static bool find_tables(struct execute_transaction *op)
{
    for (size_t i = 0; i < op->count; i++) {
        if (partiql_find_table(op->call, &op->statements[i], &op->writes[i].err) &&
            !check_statement(op, i)) {
            return false;
        }
    }
    return true;
}

/* Finds the key of a read. An error of a key is a cancellation reason, except for empty key values,
 * which fail the request. */
static bool find_read(struct execute_transaction *op, size_t i)
{
    struct api_call *call = op->call;
    const struct table *table = op->statements[i].table;
    struct value key = op->read_keys[i];
    struct err *reason = &op->writes[i].err;
    return item_check_empty_keys(table, key, false, &call->err) &&
           (item_key_from_key(call->engine, table, key, call->arena, &op->keys[i], reason) ||
            reason->code != ERR_NONE);
}

/* Returns the size of what a statement sends, by the rules for items: the item of an INSERT, else
 * the text and the parameters. */
static size_t statement_size(const struct execute_transaction *op, size_t i)
{
    const struct statement_request *request = request_of(op, i);
    if (op->statements[i].statement.kind == STATEMENT_INSERT) {
        return op->writes[i].item_size;
    }
    size_t bytes = request->text.len;
    for (size_t k = 0; k < request->parameters.count; k++) {
        bytes += value_size(((const struct wire_value *)request->parameters.elements)[k].value);
    }
    return bytes;
}

static bool find_write(struct execute_transaction *op, size_t i)
{
    struct api_call *call = op->call;
    const struct partiql *partiql = &op->statements[i];
    struct value item = partiql->statement.item;
    struct item_write *write = &op->writes[i];
    if (partiql->statement.kind == STATEMENT_INSERT &&
        (!item_check_empty_keys(partiql->table, item, true, &call->err) ||
         !item_check_size(partiql->table, item, item_size(item), &call->err))) {
        return false;
    }
    struct err problem = ERR_INIT(call->arena);
    bool fits = partiql_write(call, partiql, true, write, &problem);
    write->err = problem;
    op->keys[i] = write->key;
    op->bytes += statement_size(op, i);
    return fits || value_is_absent(write->key_value) ||
           item_check_empty_keys(partiql->table, write->key_value, false, &call->err);
}

static bool find_items(struct execute_transaction *op)
{
    for (size_t i = 0; i < op->count; i++) {
        if (op->statements[i].table != NULL &&
            !(op->reads ? find_read(op, i) : find_write(op, i))) {
            return false;
        }
    }
    return true;
}

/* Checks that no item occurs twice. Statements with errors have no key. */
static bool check_duplicates(struct execute_transaction *op)
{
    for (size_t i = 0; i < op->count; i++) {
        for (size_t k = 0; k < i; k++) {
            if (!str_is_null(op->keys[i].row) && str_eq(op->keys[i].row, op->keys[k].row)) {
                return transact_refuse_duplicate(op->call);
            }
        }
    }
    return true;
}

static bool check_reasons(struct execute_transaction *op)
{
    transact_keep_first_reason(op->call, op->writes, op->count);
    return transact_check_reasons(op->call, op->writes, op->count);
}

/* --- reads --- */

static void describe_item(struct transact_read *read, size_t i, struct meter_access *access)
{
    const struct execute_transaction *op = CONTAINER_OF(read, struct execute_transaction, read);
    partiql_describe_read(access, "ExecuteTransaction Select", &op->statements[i]);
}

static struct value project(struct transact_read *read, size_t i, struct value item)
{
    const struct execute_transaction *op = CONTAINER_OF(read, struct execute_transaction, read);
    return partiql_row(op->call->arena, &op->statements[i].statement, item);
}

static void run_reads(struct execute_transaction *op)
{
    const struct table **tables = ARENA_ARRAY(op->call->arena, const struct table *, op->count);
    for (size_t i = 0; i < op->count; i++) {
        tables[i] = op->statements[i].table;
    }
    op->read = (struct transact_read){
        .call = op->call,
        .return_consumed_capacity = &op->request.return_consumed_capacity,
        .tables = tables,
        .keys = op->keys,
        .count = op->count,
        .project = project,
        .describe = describe_item,
    };
    transact_read_start(&op->read);
}

/* --- writes --- */

/* Returns the token with a prefix, because tokens of this operation and of TransactWriteItems are
 * independent. A client's token has at most 36 characters, so no token can contain the prefix. */
static struct str scoped_token(struct execute_transaction *op)
{
    return arena_format(op->call->arena, "ExecuteTransaction ClientRequestToken %.*s",
                        STR_ARG(op->request.token));
}

/* Returns a digest of everything that determines what the request does. */
static struct str request_digest(struct execute_transaction *op)
{
    struct arena *arena = op->call->arena;
    struct builder builder;
    builder_init(&builder, arena, 1024);
    for (size_t i = 0; i < op->count; i++) {
        const struct statement_request *request = request_of(op, i);
        const struct wire_value *parameters = request->parameters.elements;
        struct str on_failure = request->return_on_failure.text;
        builder_add_string(&builder, request->text);
        builder_add_string(&builder, str_is_null(on_failure) ? STR("") : on_failure);
        builder_add_int64(&builder, (int64_t)request->parameters.count);
        for (size_t k = 0; k < request->parameters.count; k++) {
            builder_add_value(&builder, parameters[k].value);
        }
    }
    return transact_digest(&builder, arena);
}

static void set_insert_errors(struct execute_transaction *op)
{
    transact_keep_first_reason(op->call, op->writes, op->count);
    for (size_t i = 0; i < op->count; i++) {
        partiql_name_failure(&op->statements[i], &op->writes[i]);
    }
}

static const char *const operations[] = {
    [WRITE_PUT] = "ExecuteTransaction Insert",
    [WRITE_DELETE] = "ExecuteTransaction Delete",
    [WRITE_UPDATE] = "ExecuteTransaction Update",
    [WRITE_CHECK] = "ExecuteTransaction Exists",
};

static void write_done(struct engine_call *engine_call)
{
    struct execute_transaction *op =
        CONTAINER_OF(engine_call, struct execute_transaction, engine.call);
    struct api_call *call = op->call;
    call->err = engine_call->err;
    if (call->err.code == ERR_NONE && op->engine.failed) {
        set_insert_errors(op);
        transact_refuse(call, op->writes, op->count);
    }
    transact_meter(call, operations, &op->engine);
    api_remember_writes(call, &op->engine);
    if (call->err.code == ERR_NONE) {
        JSON_PUT(call->out, "{\"Responses\":[]");
        transact_member_capacity(call, &op->request.return_consumed_capacity, &op->engine);
        api_end(call);
    }
    api_finish(call);
}

static void run_writes(struct execute_transaction *op)
{
    if (!transact_admit(op->call, op->writes, op->count)) {
        api_finish(op->call);
        return;
    }
    op->engine = (struct items_write){
        .call = api_engine_call(op->call, write_done),
        .writes = op->writes,
        .write_count = op->count,
        .token = STR_NULL,
        .note = transact_note_sizes,
    };
    if (!str_is_null(op->request.token)) {
        op->engine.token = scoped_token(op);
        op->engine.token_digest = request_digest(op);
    }
    api_write_items(op->call, &(struct items_write *){&op->engine}, 1);
}

void op_execute_transaction(struct api_call *call)
{
    struct execute_transaction *op = ARENA_NEW(call->arena, struct execute_transaction);
    op->call = call;
    if (!check_request(op) || !find_tables(op) || !find_items(op) || !check_duplicates(op) ||
        !check_reasons(op) || !transact_check_size(call, op->bytes)) {
        api_finish(call);
        return;
    }
    if (op->reads) {
        op->call->only_reads = true;
        run_reads(op);
    } else {
        run_writes(op);
    }
}
