/* DescribeTimeToLive: reports the attribute by which items expire. Called by dispatch.c on the
 * thread of the call. */
#include "api/tables/table_request.h"
#include "err/messages.h"

struct describe_ttl_request {
    struct str table_name;
};

static const struct field describe_ttl_fields[] = {
    FIELD(struct describe_ttl_request, table_name, "TableName", shape_table_name),
    FIELD_END,
};
static const struct shape shape_describe_ttl = {
    .kind = SHAPE_STRUCT,
    .fields = describe_ttl_fields,
    .size = sizeof(struct describe_ttl_request),
};

static void write_description(struct api_call *call, const struct table *table)
{
    static const char *const names[] = {
        [TTL_DISABLED] = "DISABLED",
        [TTL_ENABLING] = "ENABLED", /* like the service, which reports ENABLED immediately */
        [TTL_ENABLED] = "ENABLED",
    };
    JSON_PUT(call->out, "{\"TimeToLiveDescription\":{\"TimeToLiveStatus\":");
    json_write_plain_string(call->out, str_from_c(names[table->ttl]));
    if (table->ttl != TTL_DISABLED) {
        JSON_PUT(call->out, ",\"AttributeName\":");
        json_write_string(call->out, table->ttl_attribute);
    }
    JSON_PUT(call->out, "}}");
}

static void describe(struct api_call *call, struct str name)
{
    const struct table *table = table_acquire(call->engine, name);
    if (table == NULL) {
        err_set(&call->err, ERR_RESOURCE_NOT_FOUND, MESSAGE_TABLE_NOT_FOUND, STR_ARG(name));
    } else if (table_status(call->engine, table) == STATUS_CREATING) {
        err_set(&call->err, ERR_VALIDATION,
                "Cannot describe time to live while table is in CREATING state: Current table "
                "state is CREATING");
    } else {
        write_description(call, table);
    }
    table_release(table);
}

void op_describe_time_to_live(struct api_call *call)
{
    struct describe_ttl_request request;
    if (api_decode(call, &shape_describe_ttl, &request) &&
        table_request_check_name(call, &shape_describe_ttl, &request, request.table_name)) {
        describe(call, request.table_name);
    }
    api_finish(call);
}
