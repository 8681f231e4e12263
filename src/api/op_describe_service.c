/* DescribeLimits and DescribeEndpoints: properties of the service, not of a table. Called by
 * dispatch.c on the thread of the call. */
#include "api/api_internal.h"

static const struct field no_fields[] = {FIELD_END};
static const struct shape shape_nothing = {.kind = SHAPE_STRUCT, .fields = no_fields, .size = 1};

static bool decode_nothing(struct api_call *call)
{
    char nothing;
    return api_decode(call, &shape_nothing, &nothing);
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

/* Returns whether the Host header has only printable ASCII, because it is written to the
 * answer. */
static bool is_host(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] <= ' ' || text.data[i] > '~') {
            return false;
        }
    }
    return text.len > 0;
}

void op_describe_endpoints(struct api_call *call)
{
    if (decode_nothing(call)) {
        struct str region = engine_region(call->engine);
        struct str host = call->host;
        if (!is_host(host)) {
            host = arena_format(call->arena, "dynamodb.%.*s.amazonaws.com", STR_ARG(region));
        }
        JSON_PUT(call->out, "{\"Endpoints\":[{\"Address\":");
        json_write_string(call->out, host);
        JSON_PUT(call->out, ",\"CachePeriodInMinutes\":1440}]}");
    }
    api_finish(call);
}
