/* Scan: reads all items of a table or index, or of a segment of it. The parts that Scan shares with
 * Query are in page.c. Called by dispatch.c on the thread of the call. */
#include "api/items/page.h"

struct scan_request {
    struct page_request common;
    struct wire_int segment;
    struct wire_int total_segments;
};

static const struct shape shape_segment = {
    .kind = SHAPE_INTEGER, .bounded_below = true, .max = 999999};
static const struct shape shape_total_segments = {.kind = SHAPE_INTEGER, .min = 1, .max = 1000000};

static const struct field scan_fields[] = {
    PAGE_SELECT_FIELDS(struct scan_request),
    FIELD(struct scan_request, total_segments, "TotalSegments", shape_total_segments),
    FIELD(struct scan_request, common.return_consumed_capacity, "ReturnConsumedCapacity",
          shape_return_consumed_capacity),
    PAGE_TABLE_FIELDS(struct scan_request),
    FIELD(struct scan_request, common.filter, "ScanFilter", shape_conditions),
    FIELD(struct scan_request, segment, "Segment", shape_segment),
    FIELD(struct scan_request, common.limit, "Limit", shape_limit),
    PAGE_REQUEST_FIELDS(struct scan_request),
    FIELD_END,
};

static const struct shape shape_scan = {
    .kind = SHAPE_STRUCT,
    .fields = scan_fields,
    .size = sizeof(struct scan_request),
};

struct scan {
    struct page page;
    struct scan_request request;
};

static bool check_segments(const struct scan_request *request, struct err *err)
{
    if (request->segment.given && !request->total_segments.given) {
        return err_set(err, ERR_VALIDATION,
                       "The TotalSegments parameter is required but was not present in the request "
                       "when Segment parameter is present");
    }
    if (request->total_segments.given && !request->segment.given) {
        return err_set(err, ERR_VALIDATION,
                       "The Segment parameter is required but was not present in the request when "
                       "parameter TotalSegments is present");
    }
    if (request->segment.given && request->segment.value >= request->total_segments.value) {
        return err_set(err, ERR_VALIDATION,
                       "The Segment parameter is zero-based and must be less than parameter "
                       "TotalSegments: Segment: %lld is not less than TotalSegments: %lld",
                       (long long)request->segment.value, (long long)request->total_segments.value);
    }
    return true;
}

static bool check_request(struct scan *scan)
{
    struct page *page = &scan->page;
    struct api_call *call = page->call;
    struct scan_request *request = &scan->request;
    if (!api_decode(call, &shape_scan, request) ||
        !wire_validate(&shape_scan, request, WORDING_OLDER, &call->err) ||
        !api_check_table_name(call, request->common.table_name)) {
        return false;
    }
    struct expression_request expressions = {
        .names = &request->common.names,
        .values = &request->common.values,
        .expressions = {{"ProjectionExpression", request->common.projection_expression},
                        {"FilterExpression", request->common.filter_expression}},
        .expression_count = 2,
        .legacy = {{"AttributesToGet", request->common.attributes_to_get.given},
                   {"ScanFilter", request->common.filter.given},
                   {"ConditionalOperator",
                    !str_is_null(request->common.conditional_operator.text)}},
        .legacy_count = 3,
    };
    struct expr_scope scope;
    return api_check_mixing(call, &expressions) && page_check_start_key(page) &&
           page_check_select(page) && page_check_legacy(page) &&
           check_segments(request, &call->err) && api_scope(call, &expressions, &scope) &&
           page_check_expressions(page, &scope) && api_check_used(call, &scope);
}

static void refuse_start(struct page *page, struct str row)
{
    (void)row;
    const struct scan *scan = CONTAINER_OF(page, struct scan, page);
    err_set(&page->call->err, ERR_VALIDATION,
            "The provided starting key is invalid: Invalid ExclusiveStartKey. Please use "
            "ExclusiveStartKey with correct Segment. TotalSegments: %lld Segment: %lld",
            (long long)scan->request.total_segments.value, (long long)scan->request.segment.value);
}

void op_scan(struct api_call *call)
{
    struct scan *scan = ARENA_NEW(call->arena, struct scan);
    struct page *page = &scan->page;
    page->call = call;
    page->request = &scan->request.common;
    page->refuse_start = refuse_start;
    if (!check_request(scan) || !page_find(page) || !page_check_attributes(page)) {
        api_finish(call);
        return;
    }
    uint32_t segment = scan->request.segment.given ? (uint32_t)scan->request.segment.value : 0;
    uint32_t total =
        scan->request.total_segments.given ? (uint32_t)scan->request.total_segments.value : 1;
    page_run(page, range_of_scan(page->table, page->index, segment, total, call->arena));
}
