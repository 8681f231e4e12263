/* Functions that the PartiQL operations share: parse a statement, look up its table and index,
 * convert it to a write, write its rows. Called by op_execute_statement.c,
 * op_batch_execute_statement.c and op_execute_transaction.c on the thread of the call; keeps no
 * state. */
#include "api/statements/partiql.h"

#include "api/access/authorize.h"
#include "api/items/write_item.h"
#include "err/messages.h"

const struct shape shape_statement = {.kind = SHAPE_STRING, .min = 1, .max = 8192};
const struct shape shape_parameters = {
    .kind = SHAPE_LIST,
    .java = "java.util.List<com.amazonaws.dynamodb.v20120810.AttributeValue>",
    .min = 1,
    .element = &shape_value,
};

bool partiql_check_parameters(struct api_call *call, const struct statement_request *request,
                              struct err *err)
{
    const struct wire_value *values = request->parameters.elements;
    for (size_t i = 0; i < request->parameters.count; i++) {
        if (values[i].problem.fault != FAULT_NONE) {
            return err_set_str(err, ERR_VALIDATION,
                               value_problem_text(&values[i].problem, WORDING_OLDER, call->arena));
        }
    }
    return true;
}

bool partiql_parse(struct api_call *call, const struct statement_request *request,
                   struct partiql *out, struct err *err)
{
    const struct wire_value *given = request->parameters.elements;
    size_t count = request->parameters.count;
    struct value *parameters = ARENA_ARRAY(call->arena, struct value, count);
    for (size_t i = 0; i < count; i++) {
        parameters[i] = given[i].value;
    }
    *out = (struct partiql){.request = request};
    return statement_parse(call->arena, request->text, parameters, count, &out->statement, err);
}

bool partiql_authorize(struct api_call *call, const struct partiql *partiql, const char *enclosing,
                       struct err *err)
{
    struct statement_question question = {
        .statement = &partiql->statement,
        .return_on_failure = partiql->request->return_on_failure,
        .enclosing = enclosing,
    };
    return authorize_statement(call, &question, err);
}

/* --- tables --- */

bool partiql_find_table(struct api_call *call, struct partiql *partiql, struct err *err)
{
    partiql->table = api_table(call, partiql->statement.table);
    if (partiql->table == NULL) {
        struct err problem = call->err;
        call->err = ERR_INIT(call->arena);
        return err_set_str(err, problem.code, problem.message);
    }
    return true;
}

bool partiql_find_index(struct partiql *partiql, struct err *err)
{
    const struct statement *statement = &partiql->statement;
    if (str_is_null(statement->index)) {
        return true;
    }
    if (statement->kind == STATEMENT_UPDATE || statement->kind == STATEMENT_DELETE) {
        return err_set(err, ERR_VALIDATION, MESSAGE_NOT_ON_INDEX);
    }
    partiql->index = table_index(partiql->table, statement->index);
    if (partiql->index == NULL) {
        return err_set(err, ERR_VALIDATION, MESSAGE_INDEX_NOT_FOUND, STR_ARG(statement->index));
    }
    if (!api_check_readable(partiql->index, err)) {
        return false;
    }
    const struct key_schema *keys = &partiql->index->key;
    return (keys->hash_count == 1 && keys->range_count <= 1) ||
           err_set(err, ERR_VALIDATION,
                   "PartiQL statements cannot be executed on tables with multi-attribute HASH keys "
                   "or multi-attribute RANGE keys.");
}

struct plan_request partiql_plan_request(struct api_call *call, const struct partiql *partiql)
{
    const struct statement *statement = &partiql->statement;
    return (struct plan_request){
        .arena = call->arena,
        .table = partiql->table,
        .index = partiql->index,
        .where = statement->where,
        .columns = statement->columns,
        .column_count = statement->column_count,
        .order = statement->order,
        .order_count = statement->order_count,
    };
}

bool partiql_select_key(struct api_call *call, const struct partiql *partiql, const char *operation,
                        struct value *out, struct err *err)
{
    const struct plan_request request = partiql_plan_request(call, partiql);
    struct plan ignored;
    *out = plan_select_key(&request);
    return !value_is_absent(*out) ||
           (plan_select(&request, &ignored, err) &&
            err_set(err, ERR_VALIDATION,
                    "Select statements within %s must specify the primary key in the where "
                    "clause.",
                    operation));
}

/* --- writes --- */

static bool convert_insert(struct api_call *call, const struct partiql *partiql,
                           struct item_write *out, struct err *err)
{
    const struct table *table = partiql->table;
    out->kind = WRITE_PUT;
    out->item = partiql->statement.item;
    out->item_size = item_size(out->item);
    out->condition = condition_unless_exists(call->arena, table->key.hash[0].name, NULL);
    return item_key_from_item(call->engine, table, out->item, call->arena, &out->key, err) &&
           item_check_index_keys(table, out->item, err) &&
           item_check_size(table, out->item, out->item_size, err);
}

/* Converts an UPDATE, DELETE or EXISTS. UPDATE and EXISTS require that the item exists; a DELETE of
 * a missing item succeeds. */
static bool convert_change(struct api_call *call, const struct partiql *partiql, bool transaction,
                           struct item_write *out, struct err *err)
{
    static const enum write_kind kinds[] = {
        [STATEMENT_UPDATE] = WRITE_UPDATE,
        [STATEMENT_DELETE] = WRITE_DELETE,
        [STATEMENT_EXISTS] = WRITE_CHECK,
    };
    const struct statement *statement = &partiql->statement;
    const struct plan_request request = partiql_plan_request(call, partiql);
    struct plan_write write = {.in_transaction = transaction,
                               .is_exists = statement->kind == STATEMENT_EXISTS};
    struct str hash = partiql->table->key.hash[0].name;
    bool more = false;
    if (!plan_write_key(&request, write, &out->key_value, &more, err) ||
        !item_key_from_key(call->engine, partiql->table, out->key_value, call->arena, &out->key,
                           err)) {
        return false;
    }
    out->kind = kinds[statement->kind];
    out->update = statement->update;
    out->condition = statement->kind == STATEMENT_DELETE
                         ? condition_unless_exists(call->arena, hash, statement->where->condition)
                         : condition_if_exists(call->arena, hash, statement->where->condition);
    return update_check_keys(out, err) &&
           api_check_key_paths(partiql->table, NULL, out->condition, err);
}

static bool wants_old(enum returning returning)
{
    return returning == RETURNING_ALL_OLD || returning == RETURNING_MODIFIED_OLD;
}

bool partiql_write(struct api_call *call, const struct partiql *partiql, bool transaction,
                   struct item_write *out, struct err *err)
{
    const struct wire_enum *on_failure = &partiql->request->return_on_failure;
    *out = (struct item_write){
        .table = partiql->table,
        .flat_size = true,
        .want_old = wants_old(partiql->statement.returning),
        .want_old_on_failure =
            !str_is_null(on_failure->text) && on_failure->value == FAILURE_ALL_OLD,
        .err = ERR_INIT(call->arena),
    };
    return partiql->statement.kind == STATEMENT_INSERT
               ? convert_insert(call, partiql, out, err)
               : convert_change(call, partiql, transaction, out, err);
}

void partiql_name_failure(const struct partiql *partiql, struct item_write *write)
{
    if (partiql->statement.kind == STATEMENT_INSERT &&
        write->err.code == ERR_CONDITIONAL_CHECK_FAILED) {
        write->err.code = ERR_DUPLICATE_ITEM;
        write->err.message = STR("Duplicate primary key exists in table");
    }
}

struct value partiql_returned(const struct partiql *partiql, const struct item_write *write,
                              struct arena *arena)
{
    switch (partiql->statement.returning) {
    case RETURNING_ALL_OLD:
        return write->old_item;
    case RETURNING_ALL_NEW:
        return write->new_item;
    case RETURNING_MODIFIED_OLD:
        return update_touched(write->update, write->old_item, arena);
    case RETURNING_MODIFIED_NEW:
        return update_touched(write->update, write->new_item, arena);
    case RETURNING_NONE:
        break;
    }
    return VALUE_ABSENT;
}

/* --- metering --- */

void partiql_describe_read(struct meter_access *access, const char *operation,
                           const struct partiql *partiql)
{
    const struct statement *statement = &partiql->statement;
    *access = (struct meter_access){
        .operation = operation,
        .flags = partiql->request->consistent_read.value ? METER_CONSISTENT : 0u,
        .table = partiql->table,
        .index = partiql->index,
        .filter = statement->where == NULL ? NULL : statement->where->condition,
        .columns = statement->columns,
        .column_count = statement->column_count,
    };
}

const char *partiql_meter_name(const struct partiql *partiql)
{
    static const char *const names[] = {
        [STATEMENT_SELECT] = "ExecuteStatement Select",
        [STATEMENT_INSERT] = "ExecuteStatement Insert",
        [STATEMENT_UPDATE] = "ExecuteStatement Update",
        [STATEMENT_DELETE] = "ExecuteStatement Delete",
        [STATEMENT_EXISTS] = "ExecuteStatement Exists",
    };
    return names[partiql->statement.kind];
}

/* --- rows --- */

struct value partiql_row(struct arena *arena, const struct statement *statement, struct value item)
{
    if (statement->columns == NULL) {
        return item;
    }
    struct builder builder;
    builder_init(&builder, arena, 256);
    columns_apply(statement, item, &builder);
    return builder_finish(&builder);
}

void partiql_write_row(struct buf *out, struct arena *arena, const struct statement *statement,
                       struct value item)
{
    struct arena_mark mark = arena_mark(arena);
    value_json_write_item(out, partiql_row(arena, statement, item));
    arena_rewind(arena, mark);
}
