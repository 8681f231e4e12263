/* Query: reads items of one partition key. ExplainQuery: returns the plan of a Query. The parts
 * that Query shares with Scan are in page.c. Called by dispatch.c on the thread of the call. */
#include "api/items/page.h"
#include "err/messages.h"
#include "plan/plan.h"

struct query_request {
    struct page_request common;
    struct wire_map key_conditions;
    struct wire_bool forward;
    struct str key_condition_expression;
};

static const struct shape shape_query_limit = {.kind = SHAPE_INTEGER, .min = 1, .terse = true};

static const struct field query_fields[] = {
    PAGE_SELECT_FIELDS(struct query_request),
    FIELD(struct query_request, common.return_consumed_capacity, "ReturnConsumedCapacity",
          shape_return_consumed_capacity),
    FIELD(struct query_request, common.filter, "QueryFilter", shape_conditions),
    PAGE_TABLE_FIELDS(struct query_request),
    FIELD(struct query_request, common.limit, "Limit", shape_query_limit),
    FIELD(struct query_request, key_conditions, "KeyConditions", shape_conditions),
    FIELD(struct query_request, forward, "ScanIndexForward", shape_bool),
    FIELD(struct query_request, key_condition_expression, "KeyConditionExpression", shape_string),
    PAGE_REQUEST_FIELDS(struct query_request),
    FIELD_END,
};

static const struct shape shape_query = {
    .kind = SHAPE_STRUCT,
    .fields = query_fields,
    .size = sizeof(struct query_request),
};

struct query {
    struct page page;
    struct query_request request;
    const struct key_expression *key_expression;
    const struct key_schema *keys;
    struct key_condition condition;
};

static bool check_constraints(struct query *query)
{
    struct api_call *call = query->page.call;
    const struct query_request *request = &query->request;
    if (!str_is_null(request->common.table_name) &&
        (!wire_validate_member(&shape_query, request, "TableName", WORDING_CURRENT, &call->err) ||
         !api_check_table_name(call, request->common.table_name))) {
        return false;
    }
    return api_check_conditional_operator(call, &request->common.conditional_operator) &&
           wire_validate(&shape_query, request, WORDING_CURRENT, &call->err);
}

static bool check_key_condition_given(struct query *query)
{
    const struct query_request *request = &query->request;
    return request->key_conditions.given || !str_is_null(request->key_condition_expression) ||
           err_set(&query->page.call->err, ERR_VALIDATION,
                   "Either the KeyConditions or KeyConditionExpression parameter must be specified "
                   "in the request.");
}

static bool check_key_condition_expression(struct query *query, struct expr_scope *scope)
{
    struct str text = query->request.key_condition_expression;
    return str_is_null(text) ||
           expr_key_condition(scope, text, &query->key_expression, &query->page.call->err);
}

/* Checks the key condition after all expressions have been bound. */
static bool check_key_condition(struct query *query)
{
    struct api_call *call = query->page.call;
    const struct wire_map *legacy = &query->request.key_conditions;
    if (query->key_expression == NULL &&
        !api_key_conditions(call, legacy, &query->key_expression)) {
        return false;
    }
    return key_expression_check(query->key_expression, &call->err);
}

static bool check_request(struct query *query)
{
    struct page *page = &query->page;
    struct api_call *call = page->call;
    struct query_request *request = &query->request;
    call->layer = LAYER_CURRENT;
    if (!api_decode(call, &shape_query, request) || !check_constraints(query)) {
        return false;
    }
    struct expression_request expressions = {
        .names = &request->common.names,
        .values = &request->common.values,
        .expressions = {{"ProjectionExpression", request->common.projection_expression},
                        {"FilterExpression", request->common.filter_expression},
                        {"KeyConditionExpression", request->key_condition_expression}},
        .expression_count = 3,
        .legacy = {{"AttributesToGet", request->common.attributes_to_get.given},
                   {"QueryFilter", request->common.filter.given},
                   {"ConditionalOperator", !str_is_null(request->common.conditional_operator.text)},
                   {"KeyConditions", request->key_conditions.given &&
                                         !str_is_null(request->key_condition_expression)}},
        .legacy_count = 4,
    };
    struct expr_scope scope;
    return api_check_mixing(call, &expressions) && page_check_start_key(page) &&
           page_check_select(page) && page_check_legacy(page) && check_key_condition_given(query) &&
           api_scope(call, &expressions, &scope) && check_key_condition_expression(query, &scope) &&
           page_check_expressions(page, &scope) && api_check_used(call, &scope) &&
           check_key_condition(query);
}

/* Sets an error if a filter names a key attribute of the queried table or index. */
static void visit_filter(void *context, const struct expr_path *path)
{
    struct query *query = context;
    struct str name = path->steps[0].name;
    if (key_schema_has(query->keys, name)) {
        err_set(&query->page.call->err, ERR_VALIDATION,
                "%s can only contain non-primary key attributes: Primary key attribute: %.*s",
                query->request.common.filter.given ? "QueryFilter" : "Filter Expression",
                STR_ARG(name));
    }
}

static bool check_filter(struct query *query)
{
    if (query->page.filter != NULL) {
        condition_visit_paths(query->page.filter, visit_filter, query);
    }
    return query->page.call->err.code == ERR_NONE;
}

static void refuse_start(struct page *page, struct str row)
{
    struct query *query = CONTAINER_OF(page, struct query, page);
    struct api_call *call = page->call;
    const struct key_condition *condition = &query->condition;
    bool on_sort_key = key_condition_has_range(condition);
    bool fits = range_fits_sort_key(call->engine, page->table, page->index, *condition,
                                    page->request->exclusive_start_key.value, row, call->arena);
    if (on_sort_key && !fits) {
        err_set(&call->err, ERR_VALIDATION,
                "The provided starting key does not match the range key predicate");
    } else if (on_sort_key) {
        err_set(&call->err, ERR_VALIDATION,
                "The query can return at most one row and cannot be restarted");
    } else {
        err_set(&call->err, ERR_VALIDATION,
                "The provided starting key is outside query boundaries based on provided "
                "conditions");
    }
}

/* Formats a key attribute as in the service's error messages: AttributeValue: {S:text}. */
static struct str print_key(struct value value, struct arena *arena)
{
    char digits[NUMBER_TEXT_MAX];
    struct str text = value_bytes(value);
    if (value_type(value) == VALUE_B) {
        text = arena_format(arena, MESSAGE_BINARY, text.len, text.len);
    } else if (value_type(value) == VALUE_N) {
        text = str_make(digits, number_format(text, digits));
    }
    return arena_format(arena, MESSAGE_VALUE, value_type_name(value_type(value)), STR_ARG(text));
}

/* Refuses ExclusiveStartKey if the table has no sort key: such a Query finds at most one item. */
static bool check_restart(struct query *query)
{
    struct page *page = &query->page;
    struct api_call *call = page->call;
    if (str_is_null(page->start_row) || !page_has_one_row(page)) {
        return true;
    }
    struct str name = page->table->key.hash[0].name;
    struct value hash = value_map_get(page->request->exclusive_start_key.value, name);
    if (!value_eq(hash, query->condition.hash[0])) {
        return true; /* outside the range: page_run() reports it */
    }
    struct str printed = print_key(hash, call->arena);
    return err_set(&call->err, ERR_VALIDATION,
                   "The provided exclusive start key is invalid: ExclusiveStartKey: {%.*s=%.*s}",
                   STR_ARG(name), STR_ARG(printed));
}

static bool resolve(struct query *query)
{
    struct page *page = &query->page;
    struct err *err = &page->call->err;
    query->keys = page->index == NULL ? &page->table->key : &page->index->key;
    return key_expression_resolve(query->key_expression, query->keys, &query->condition, err) &&
           check_filter(query) && page_check_attributes(page) &&
           key_condition_check_sizes(&query->condition, query->keys->hash_count, err) &&
           check_restart(query);
}

/* Checks a Query and looks up its table. Returns false with call->err set. */
static bool prepare(struct query *query, struct api_call *call)
{
    struct page *page = &query->page;
    page->call = call;
    page->request = &query->request.common;
    page->is_query = true;
    page->refuse_start = refuse_start;
    if (!check_request(query) || !page_find(page) || !resolve(query)) {
        return false;
    }
    page->read.backward = query->request.forward.given && !query->request.forward.value;
    return true;
}

void op_explain_query(struct api_call *call)
{
    struct query *query = ARENA_NEW(call->arena, struct query);
    struct page *page = &query->page;
    if (!prepare(query, call)) {
        api_finish(call);
        return;
    }
    struct plan plan = plan_of_condition(page->table, page->index, &query->condition, page->filter);
    plan.backward = page->read.backward;
    plan.fetch = page->read.fetch;
    api_finish_with_plan(call, &plan);
}

void op_query(struct api_call *call)
{
    struct query *query = ARENA_NEW(call->arena, struct query);
    struct page *page = &query->page;
    if (!prepare(query, call)) {
        api_finish(call);
        return;
    }
    page->access.key = query->key_expression;
    page->access.partition = query->condition.hash[0];
    page_run(page, range_of_query(call->engine, page->table, page->index, &query->condition,
                                  call->arena));
}
