/* DescribeLimits and DescribeEndpoints: what is the same for every table. */
#include "api/api_internal.h"

static const struct field no_fields[] = {FIELD_END};
static const struct shape shape_nothing = {.kind = SHAPE_STRUCT, .fields = no_fields, .size = 1};

static bool decode_nothing(struct api_call *call)
{
    char nothing;
    return wire_decode(call->arena, &shape_nothing, call->body, &nothing, &call->err);
}

void op_describe_limits(struct api_call *call)
{
    if (decode_nothing(call)) {
        JSON_PUT(call->out,
                 "{\"AccountMaxReadCapacityUnits\":80000,\"AccountMaxWriteCapacityUnits\":80000,"
                 "\"TableMaxReadCapacityUnits\":40000,\"TableMaxWriteCapacityUnits\":40000}");
    }
    api_finish(call);
}

void op_describe_endpoints(struct api_call *call)
{
    if (decode_nothing(call)) {
        struct str region = engine_region(call->engine);
        buf_format(call->out,
                   "{\"Endpoints\":[{\"Address\":\"dynamodb.%.*s.amazonaws.com\","
                   "\"CachePeriodInMinutes\":1440}]}",
                   STR_ARG(region));
    }
    api_finish(call);
}
