/* DescribeContributorInsights, ListContributorInsights and DescribeKinesisStreamingDestination.
 * These features cannot be enabled, so the responses report them as disabled. Called by dispatch.c
 * on the thread of the call. */
#include "api/table_request.h"
#include "err/messages.h"

enum { INDEX_NAME_MIN = 3, INDEX_NAME_MAX = 255 };

/* Checks that the table exists and is not being created. */
static bool check_table(struct api_call *call, struct str name)
{
    if (api_table(call, name) != NULL) {
        return true;
    }
    call->err = ERR_INIT(call->arena);
    return err_set(&call->err, ERR_RESOURCE_NOT_FOUND, MESSAGE_TABLE_NOT_FOUND, STR_ARG(name));
}

/* --- DescribeContributorInsights --- */

struct describe_insights_request {
    struct str table_name;
    struct str index_name;
};

/* The shape does not check the length of IndexName: the service has a special message for it. */
static const struct field describe_insights_fields[] = {
    FIELD(struct describe_insights_request, table_name, "TableName", shape_table_name),
    FIELD(struct describe_insights_request, index_name, "IndexName", shape_string),
    FIELD_END,
};
static const struct shape shape_describe_insights = {
    .kind = SHAPE_STRUCT,
    .fields = describe_insights_fields,
    .size = sizeof(struct describe_insights_request),
};

/* Checks that IndexName, if given, is a global index; local indexes have no insights. */
static bool check_index(struct api_call *call, const struct describe_insights_request *request)
{
    struct str name = request->index_name;
    if (str_is_null(name)) {
        return true;
    }
    const struct index *index = table_index(api_table(call, request->table_name), name);
    return (index != NULL && index->kind == INDEX_GLOBAL) ||
           err_set(&call->err, ERR_RESOURCE_NOT_FOUND,
                   "Requested resource not found: Index: %.*s not found for table: %.*s",
                   STR_ARG(name), STR_ARG(request->table_name));
}

static bool check_describe(struct api_call *call, struct describe_insights_request *request)
{
    if (!api_decode(call, &shape_describe_insights, request) ||
        !table_request_check_name(call, &shape_describe_insights, request, request->table_name)) {
        return false;
    }
    size_t len = request->index_name.len;
    if (!str_is_null(request->index_name) && (len < INDEX_NAME_MIN || len > INDEX_NAME_MAX)) {
        return err_set(&call->err, ERR_VALIDATION,
                       "IndexName must be at least %d characters long and at most %d characters "
                       "long",
                       INDEX_NAME_MIN, INDEX_NAME_MAX);
    }
    return check_table(call, request->table_name) && check_index(call, request);
}

void op_describe_contributor_insights(struct api_call *call)
{
    struct describe_insights_request request;
    if (check_describe(call, &request)) {
        api_begin(call);
        api_member(call, STR("TableName"));
        json_write_plain_string(call->out, request.table_name);
        if (!str_is_null(request.index_name)) {
            api_member(call, STR("IndexName"));
            json_write_plain_string(call->out, request.index_name);
        }
        api_member(call, STR("ContributorInsightsStatus"));
        JSON_PUT(call->out, "\"DISABLED\"");
        api_end(call);
    }
    api_finish(call);
}

/* --- ListContributorInsights --- */

struct list_insights_request {
    struct str table_name;
    struct str next_token;
    struct wire_int limit;
};

static const struct shape shape_insights_limit = {.kind = SHAPE_INTEGER, .max = 100};
static const struct field list_insights_fields[] = {
    FIELD(struct list_insights_request, table_name, "TableName", shape_table_name),
    FIELD(struct list_insights_request, next_token, "NextToken", shape_string),
    FIELD(struct list_insights_request, limit, "MaxResults", shape_insights_limit),
    FIELD_END,
};
static const struct shape shape_list_insights = {
    .kind = SHAPE_STRUCT,
    .fields = list_insights_fields,
    .size = sizeof(struct list_insights_request),
};

void op_list_contributor_insights(struct api_call *call)
{
    struct list_insights_request request;
    if (api_decode(call, &shape_list_insights, &request) &&
        wire_validate(&shape_list_insights, &request, WORDING_OLDER, &call->err) &&
        (str_is_null(request.table_name) || (api_check_table_name(call, request.table_name) &&
                                             check_table(call, request.table_name)))) {
        JSON_PUT(call->out, "{\"ContributorInsightsSummaries\":[]}");
    }
    api_finish(call);
}

/* --- DescribeKinesisStreamingDestination --- */

struct describe_kinesis_request {
    struct str table_name;
};

static const struct field describe_kinesis_fields[] = {
    FIELD(struct describe_kinesis_request, table_name, "TableName", shape_table_name),
    FIELD_END,
};
static const struct shape shape_describe_kinesis = {
    .kind = SHAPE_STRUCT,
    .fields = describe_kinesis_fields,
    .size = sizeof(struct describe_kinesis_request),
};

void op_describe_kinesis_streaming_destination(struct api_call *call)
{
    struct describe_kinesis_request request;
    if (api_decode(call, &shape_describe_kinesis, &request) &&
        table_request_check_name(call, &shape_describe_kinesis, &request, request.table_name) &&
        check_table(call, request.table_name)) {
        api_begin(call);
        api_member(call, STR("TableName"));
        json_write_plain_string(call->out, request.table_name);
        api_member(call, STR("KinesisDataStreamDestinations"));
        JSON_PUT(call->out, "[]");
        api_end(call);
    }
    api_finish(call);
}
