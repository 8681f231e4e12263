#include "api/page.h"

struct query_request {
    struct page_request common;
    struct wire_map key_conditions;
    struct wire_bool forward;
    struct str key_condition_expression;
};

static const struct field query_fields[] = {
    FIELD_REQUIRED(struct query_request, common.table_name, "TableName", shape_string),
    PAGE_REQUEST_FIELDS(struct query_request, "QueryFilter"),
    FIELD(struct query_request, key_conditions, "KeyConditions", shape_conditions),
    FIELD(struct query_request, forward, "ScanIndexForward", shape_bool),
    FIELD(struct query_request, key_condition_expression, "KeyConditionExpression", shape_string),
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
};

static bool check_key_condition(struct query *query, struct expr_scope *scope)
{
    struct api_call *call = query->page.call;
    if (!str_is_null(query->request.key_condition_expression)) {
        return expr_key_condition(scope, query->request.key_condition_expression,
                                  &query->key_expression, &call->err);
    }
    if (query->request.key_conditions.given) {
        return api_key_conditions(call, &query->request.key_conditions, &query->key_expression,
                                  &call->err);
    }
    return err_set(
        &call->err, ERR_VALIDATION,
        "Either the KeyConditions or KeyConditionExpression parameter must be specified in "
        "the request.");
}

static bool check(struct query *query)
{
    struct api_call *call = query->page.call;
    struct query_request *request = &query->request;
    if (!wire_decode(call->arena, &shape_query, call->body, request, &call->err) ||
        !wire_validate(call->arena, &shape_query, request, &call->err) ||
        !api_table_name(call, request->common.table_name, 1, &query->page.table_name)) {
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
    return api_scope(call, &expressions, &scope, &call->err) &&
           page_check_expressions(&query->page, &scope) && check_key_condition(query, &scope) &&
           expr_scope_check_used(&scope, &call->err);
}

/* A filter must not name the keys that are queried. */
static void visit_filter(void *context, const struct expr_path *path)
{
    struct query *query = context;
    struct str name = path->steps[0].name;
    if (!key_schema_has(query->keys, name)) {
        return;
    }
    struct err *err = &query->page.call->err;
    if (query->request.common.filter.given) {
        err_set(
            err, ERR_VALIDATION,
            "QueryFilter can only contain non-primary key attributes: Primary key attribute: %.*s",
            STR_ARG(name));
    } else {
        err_set(err, ERR_VALIDATION,
                "Filter Expression can only contain non-primary key attributes: Primary key "
                "attribute: %.*s",
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

void op_query(struct api_call *call)
{
    struct query *query = ARENA_NEW(call->arena, struct query);
    query->page.call = call;
    query->page.request = &query->request.common;
    query->page.is_query = true;
    struct key_condition condition;
    if (!check(query) || !page_find_table(&query->page)) {
        api_finish(call);
        return;
    }
    const struct table *table = query->page.table;
    const struct index *index = query->page.index;
    query->keys = index == NULL ? &table->key : &index->key;
    if (!key_expression_resolve(query->key_expression, query->keys, &condition, &call->err) ||
        !check_filter(query) ||
        !range_check_condition(&condition, query->keys->hash_count, &call->err)) {
        api_finish(call);
        return;
    }
    query->page.read.backward = query->request.forward.given && !query->request.forward.value;
    page_run(&query->page, range_of_query(call->engine, table, index, &condition, call->arena));
}
