/* ListTables: lists the names of tables, one page per call. Called by dispatch.c on the thread of
 * the call. */
#include "api/api_internal.h"

struct list_tables_request {
    struct str start;
    struct wire_int limit;
};

static const struct shape shape_list_limit = {.kind = SHAPE_INTEGER, .min = 1, .max = 100};
static const struct field list_tables_fields[] = {
    FIELD(struct list_tables_request, limit, "Limit", shape_list_limit),
    FIELD(struct list_tables_request, start, "ExclusiveStartTableName", shape_index_name),
    FIELD_END,
};
static const struct shape shape_list_tables = {
    .kind = SHAPE_STRUCT,
    .fields = list_tables_fields,
    .size = sizeof(struct list_tables_request),
};

void op_list_tables(struct api_call *call)
{
    struct list_tables_request request;
    if (api_decode(call, &shape_list_tables, &request) &&
        wire_validate(&shape_list_tables, &request, WORDING_OLDER, &call->err)) {
        size_t limit = request.limit.given ? (size_t)request.limit.value : 100;
        struct table_names names;
        engine_list_tables(call->engine, call->arena, request.start, limit, &names);
        JSON_PUT(call->out, "{\"TableNames\":[");
        for (size_t i = 0; i < names.count; i++) {
            buf_add(call->out, i > 0 ? STR(",") : STR(""));
            json_write_plain_string(call->out, names.names[i]);
        }
        JSON_PUT(call->out, "]");
        if (names.more) {
            api_member(call, STR("LastEvaluatedTableName"));
            json_write_plain_string(call->out, names.names[names.count - 1]);
        }
        api_end(call);
    }
    api_finish(call);
}
