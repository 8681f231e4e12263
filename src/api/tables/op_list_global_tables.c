/* ListGlobalTables: lists global tables of version 2017.11.29. There are none: that version can no
 * longer be created on the service either. Called by dispatch.c on the thread of the call. */
#include "api/api_internal.h"

struct list_global_tables_request {
    struct str start;
    struct wire_int limit;
    struct str region;
};

static const struct field list_global_tables_fields[] = {
    FIELD(struct list_global_tables_request, start, "ExclusiveStartGlobalTableName",
          shape_index_name),
    FIELD(struct list_global_tables_request, limit, "Limit", shape_limit),
    FIELD(struct list_global_tables_request, region, "RegionName", shape_string),
    FIELD_END,
};
static const struct shape shape_list_global_tables = {
    .kind = SHAPE_STRUCT,
    .fields = list_global_tables_fields,
    .size = sizeof(struct list_global_tables_request),
};

void op_list_global_tables(struct api_call *call)
{
    struct list_global_tables_request request;
    if (api_decode(call, &shape_list_global_tables, &request) &&
        wire_validate(&shape_list_global_tables, &request, WORDING_OLDER, &call->err)) {
        JSON_PUT(call->out, "{\"GlobalTables\":[]}");
    }
    api_finish(call);
}
