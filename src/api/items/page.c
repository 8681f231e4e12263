/* Reads one page of items, for Query and Scan: checks, the read, and the answer. Called by
 * op_query.c and op_scan.c on the thread of the call. emit() may run on another thread while the
 * call waits. */
#include "api/items/page.h"

#include "err/messages.h"
#include "plan/plan.h"

static bool check_select(struct page *page)
{
    const struct page_request *request = page->request;
    struct err *err = &page->call->err;
    bool given = !str_is_null(request->select.text);
    int select = given ? request->select.value : -1;
    bool attributes =
        request->attributes_to_get.given || !str_is_null(request->projection_expression);
    page->count_only = select == SELECT_COUNT;
    if (select == SELECT_SPECIFIC && !attributes) {
        return err_set(err, ERR_VALIDATION,
                       "Must specify the AttributesToGet or ProjectionExpression when choosing to "
                       "get SPECIFIC_ATTRIBUTES");
    }
    if (given && select != SELECT_SPECIFIC && attributes) {
        struct str choice = select == SELECT_COUNT ? STR("only the Count") : request->select.text;
        return err_set(err, ERR_VALIDATION, "Cannot specify the %s when choosing to get %.*s",
                       request->attributes_to_get.given ? "AttributesToGet"
                                                        : "ProjectionExpression",
                       STR_ARG(choice));
    }
    if (select == SELECT_ALL_PROJECTED && str_is_null(request->index_name)) {
        return err_set(
            err, ERR_VALIDATION,
            "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName");
    }
    return true;
}

/* A Query's errors start with "1 validation error detected: ", those of a Scan do not. */
bool page_check_select(struct page *page)
{
    return check_select(page) || (page->is_query && api_prefix_error(page->call));
}

bool page_check_legacy(struct page *page)
{
    const struct page_request *request = page->request;
    return api_filter(page->call, &request->filter, &request->conditional_operator,
                      &page->filter) &&
           api_attributes_to_get(page->call, &request->attributes_to_get, &page->projection);
}

#define STARTING_KEY "The provided starting key is invalid"

/* Returns whether the service reports this problem without naming the starting key. */
static bool is_reported_as_value(const struct value_problem *problem)
{
    return problem->fault == FAULT_NUMBER || problem->fault == FAULT_DUPLICATES ||
           (problem->fault == FAULT_EMPTY_SET && problem->type == VALUE_NS);
}

bool page_check_start_key(struct page *page)
{
    struct api_call *call = page->call;
    const struct value_problem *problem = &page->request->exclusive_start_key.problem;
    if (problem->fault == FAULT_NONE || is_reported_as_value(problem)) {
        return api_check_problem(call, problem);
    }
    struct str text = value_problem_text(problem, api_wording(call), call->arena);
    return err_set(&call->err, ERR_VALIDATION, STARTING_KEY ": %.*s", STR_ARG(text));
}

bool page_check_expressions(struct page *page, struct expr_scope *scope)
{
    const struct page_request *request = page->request;
    struct named_text filter = {"FilterExpression", request->filter_expression};
    return api_condition_expression(page->call, scope, filter, &page->filter) &&
           api_projection(page->call, scope, request->projection_expression, &page->projection);
}

/* Checks that a Query's filter uses only attributes that the index has. In a Scan other attributes
 * are treated as absent. */
static bool check_filter_projected(struct page *page)
{
    struct unprojected found = unprojected_init(page->call->arena, page->table, page->index);
    if (!page->is_query || page->filter == NULL) {
        return true;
    }
    condition_visit_paths(page->filter, unprojected_visit, &found);
    return found.names.len == 0 ||
           err_set(&page->call->err, ERR_VALIDATION, MESSAGE_INDEX_LACKS_FILTER_ATTRIBUTES,
                   STR_ARG(page->index->name), STR_ARG(found.names));
}

/* Checks that the index has the requested attributes. Attributes that a local index lacks are
 * fetched from the table; a global index cannot do that. */
static bool check_projected(struct page *page)
{
    struct err *err = &page->call->err;
    const struct page_request *request = page->request;
    struct unprojected found = unprojected_init(page->call->arena, page->table, page->index);
    bool all = !str_is_null(request->select.text) && request->select.value == SELECT_ALL;
    if (page->projection != NULL) {
        projection_visit_paths(page->projection, unprojected_visit, &found);
    }
    bool lacks = found.names.len > 0 || (all && page->index->projection != PROJECTION_ALL);
    if (!lacks) {
        return true;
    }
    if (page->index->kind == INDEX_LOCAL) {
        page->read.fetch = true;
        return true;
    }
    if (all) {
        return err_set(
            err, ERR_VALIDATION,
            "One or more parameter values were invalid: Select type ALL_ATTRIBUTES is not "
            "supported for global secondary index %.*s because its projection type is not "
            "ALL",
            STR_ARG(page->index->name));
    }
    return err_set(err, ERR_VALIDATION, MESSAGE_INDEX_LACKS_ATTRIBUTES, STR_ARG(page->index->name),
                   STR_ARG(found.names));
}

static bool find_table(struct page *page)
{
    struct api_call *call = page->call;
    const struct page_request *request = page->request;
    page->table = api_table(call, request->table_name);
    if (page->table == NULL) {
        return false;
    }
    if (str_is_null(request->index_name)) {
        return true;
    }
    page->index = table_index(page->table, request->index_name);
    if (page->index == NULL) {
        return err_set(&call->err, ERR_VALIDATION, MESSAGE_INDEX_NOT_FOUND,
                       STR_ARG(request->index_name));
    }
    if (page->index->kind == INDEX_GLOBAL && request->consistent_read.value) {
        return err_set(&call->err, ERR_VALIDATION,
                       "Consistent reads are not supported on global secondary indexes");
    }
    return api_check_readable(page->index, &call->err);
}

bool page_check_attributes(struct page *page)
{
    return api_check_key_paths(page->table, page->projection, page->filter, &page->call->err) &&
           (page->index == NULL || (check_projected(page) && check_filter_projected(page)));
}

bool page_has_one_row(const struct page *page)
{
    return page->is_query && page->index == NULL && page->table->key.range_count == 0;
}

static void emit(struct items_read *read, struct value item)
{
    struct page *page = CONTAINER_OF(read, struct page, read);
    struct buf *out = page->call->out;
    read->stop = read->fetch && api_is_over_budget(page->call);
    if (read->count > 1) {
        buf_add_char(out, ',');
    }
    if (page->projection == NULL) {
        value_json_write_item(out, item);
        return;
    }
    struct arena_mark mark = arena_mark(page->call->arena);
    struct builder builder;
    builder_init(&builder, page->call->arena, 256);
    projection_apply(page->projection, item, &builder);
    value_json_write_item(out, builder_finish(&builder));
    arena_rewind(page->call->arena, mark);
}

static struct capacity page_capacity(const struct page *page)
{
    const struct items_read *read = &page->read;
    struct capacity capacity = {0};
    double units = capacity_read_units(read->bytes, page->request->consistent_read.value);
    if (page->index == NULL) {
        capacity.table = units;
        return capacity;
    }
    capacity.table = read->fetch_units;
    capacity_add_index(&capacity, (size_t)(page->index - page->table->indexes), units);
    return capacity;
}

/* Completes the access for the meter with what was read. */
static void meter_page(struct page *page)
{
    struct meter_access *access = &page->access;
    access->table_units = page->capacity.table;
    access->arms = page->index == NULL ? NULL : &page->capacity;
    access->items_read = page->read.scanned_count;
    access->items_returned = page->read.count;
    access->bytes_read = page->read.bytes;
}

static void page_done(struct engine_call *engine_call)
{
    struct page *page = CONTAINER_OF(engine_call, struct page, read.call);
    struct api_call *call = page->call;
    call->err = engine_call->err;
    if (call->err.code == ERR_NONE) {
        if (!page->count_only) {
            buf_add_char(call->out, ']');
        }
        api_member(call, STR("Count"));
        buf_add_int64(call->out, (int64_t)page->read.count);
        api_member(call, STR("ScannedCount"));
        buf_add_int64(call->out, (int64_t)page->read.scanned_count);
        if (!value_is_absent(page->read.last_key) && !page_has_one_row(page)) {
            api_member(call, STR("LastEvaluatedKey"));
            value_json_write_item(call->out, page->read.last_key);
        }
        page->capacity = page_capacity(page);
        api_member_capacity(call, &page->request->return_consumed_capacity, page->table,
                            &page->capacity, CAPACITY_READ);
        api_end(call);
        meter_page(page);
    }
    api_finish(call);
}

/* Encodes ExclusiveStartKey and checks it against the keys of table and index. The service does so
 * before all other checks that need the table. */
static bool find_start_row(struct page *page)
{
    struct api_call *call = page->call;
    if (!page->request->exclusive_start_key.given) {
        return true;
    }
    enum start_key fit =
        range_start_row(call->engine, page->table, page->index,
                        page->request->exclusive_start_key.value, call->arena, &page->start_row);
    if (fit == START_KEY_INCOMPLETE && (page->is_query || page->index != NULL)) {
        return err_set(&call->err, ERR_VALIDATION, STARTING_KEY);
    }
    return fit == START_KEY_FITS ||
           err_set(&call->err, ERR_VALIDATION,
                   STARTING_KEY ": The provided key element does not match the schema");
}

bool page_find(struct page *page)
{
    return find_table(page) && find_start_row(page);
}

static bool start(struct page *page, struct key_range *range)
{
    if (str_is_null(page->start_row)) {
        return true;
    }
    if (!range_start_after(range, page->start_row, page->read.backward, page->call->arena)) {
        page->refuse_start(page, page->start_row);
        return false;
    }
    return true;
}

static void describe_access(struct page *page)
{
    const struct page_request *request = page->request;
    struct meter_access *access = &page->access;
    access->operation = page->is_query ? "Query" : "Scan";
    access->flags = (page->is_query ? 0u : METER_SCAN) |
                    (request->consistent_read.value ? METER_CONSISTENT : 0u) |
                    (page->read.backward ? METER_BACKWARD : 0u) |
                    (page->count_only ? METER_COUNT : 0u) |
                    (request->limit.given ? METER_HAS_LIMIT : 0u);
    access->table = page->table;
    access->index = page->index;
    access->filter = page->filter;
    access->projection = page->projection;
    api_meter(page->call, access);
}

void page_run(struct page *page, struct key_range range)
{
    struct api_call *call = page->call;
    describe_access(page);
    if (!api_admit(call, &page->access)) {
        api_finish(call);
        return;
    }
    if (!start(page, &range)) {
        api_finish(call);
        return;
    }
    api_begin(call);
    if (!page->count_only) {
        api_member(call, STR("Items"));
        buf_add_char(call->out, '[');
    }
    struct items_read *read = &page->read;
    read->call = api_engine_call(call, page_done);
    read->table = page->table;
    read->index = page->index;
    read->lo = range.lo;
    read->hi = range.hi;
    read->limit = page->request->limit.given ? (size_t)page->request->limit.value : 0;
    read->filter = page->filter;
    read->consistent = page->request->consistent_read.value;
    read->emit = page->count_only ? NULL : emit;
    api_read_items(call, read);
}
