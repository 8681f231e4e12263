#include "api/page.h"

struct scan_request {
    struct page_request common;
    struct wire_int segment;
    struct wire_int total_segments;
};

static const struct shape shape_segment = {
    .kind = SHAPE_INTEGER, .bounded_below = true, .max = 999999};
static const struct shape shape_total_segments = {.kind = SHAPE_INTEGER, .min = 1, .max = 1000000};

static const struct field scan_fields[] = {
    FIELD_REQUIRED(struct scan_request, common.table_name, "TableName", shape_string),
    PAGE_REQUEST_FIELDS(struct scan_request, "ScanFilter"),
    FIELD(struct scan_request, segment, "Segment", shape_segment),
    FIELD(struct scan_request, total_segments, "TotalSegments", shape_total_segments),
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

static bool check(struct scan *scan)
{
    struct api_call *call = scan->page.call;
    struct scan_request *request = &scan->request;
    if (!wire_decode(call->arena, &shape_scan, call->body, request, &call->err) ||
        !wire_validate(call->arena, &shape_scan, request, &call->err) ||
        !api_table_name(call, request->common.table_name, 1, &scan->page.table_name)) {
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
    return api_scope(call, &expressions, &scope, &call->err) &&
           page_check_expressions(&scan->page, &scope) && check_segments(request, &call->err) &&
           expr_scope_check_used(&scope, &call->err);
}

void op_scan(struct api_call *call)
{
    struct scan *scan = ARENA_NEW(call->arena, struct scan);
    scan->page.call = call;
    scan->page.request = &scan->request.common;
    if (!check(scan) || !page_find_table(&scan->page)) {
        api_finish(call);
        return;
    }
    uint32_t segment = scan->request.segment.given ? (uint32_t)scan->request.segment.value : 0;
    uint32_t total =
        scan->request.total_segments.given ? (uint32_t)scan->request.total_segments.value : 1;
    page_run(&scan->page,
             range_of_scan(scan->page.table, scan->page.index, segment, total, call->arena));
}
