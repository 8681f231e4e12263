/* ListStreams: lists the streams of one table or of all tables. Called by dispatch.c on the thread
 * of the call. */
#include "api/streams/stream_request.h"
#include "err/messages.h"

struct list_streams_request {
    struct str table_name;
    struct wire_int limit;
    struct str start;
};

static const struct field list_streams_fields[] = {
    FIELD(struct list_streams_request, limit, "Limit", shape_limit),
    FIELD(struct list_streams_request, start, "ExclusiveStartStreamArn", shape_stream_arn),
    FIELD(struct list_streams_request, table_name, "TableName", shape_table_key),
    FIELD_END,
};
static const struct shape shape_list_streams = {
    .kind = SHAPE_STRUCT,
    .fields = list_streams_fields,
    .size = sizeof(struct list_streams_request),
};

enum { STREAMS_MAX = 100 };

static void write_stream(struct api_call *call, const struct stream *stream)
{
    api_begin(call);
    api_member(call, STR("StreamArn"));
    json_write_plain_string(call->out, stream_arn(call->engine, call->arena, stream->path));
    api_member(call, STR("TableName"));
    json_write_plain_string(call->out, stream->table_name);
    api_member(call, STR("StreamLabel"));
    json_write_plain_string(call->out, stream->label);
    api_end(call);
}

static void write_list(struct api_call *call, const struct stream_list *list)
{
    JSON_PUT(call->out, "{\"Streams\":[");
    for (size_t i = 0; i < list->count; i++) {
        buf_add(call->out, i > 0 ? STR(",") : STR(""));
        write_stream(call, &list->streams[i]);
    }
    JSON_PUT(call->out, "]");
    if (list->more) {
        struct str last = list->streams[list->count - 1].path;
        api_member(call, STR("LastEvaluatedStreamArn"));
        json_write_plain_string(call->out, stream_arn(call->engine, call->arena, last));
    }
    api_end(call);
}

static bool check_request(struct api_call *call, struct list_streams_request *request,
                          struct str *after)
{
    if (!api_decode(call, &shape_list_streams, request) ||
        !wire_validate(&shape_list_streams, request, WORDING_OLDER, &call->err) ||
        !api_check_table_arns(call)) {
        return false;
    }
    if (request->limit.given && request->limit.value > STREAMS_MAX) {
        return err_set(&call->err, ERR_VALIDATION,
                       MESSAGE_INVALID "Limit cannot be greater than the maximum allowed size: %d",
                       STREAMS_MAX);
    }
    *after = STR_NULL;
    if (!str_is_null(request->start)) {
        *after = stream_arn_path(call->engine, request->start);
        return stream_request_check_arn(call, request->start) &&
               (!str_is_null(*after) ||
                err_set(&call->err, ERR_VALIDATION, MESSAGE_INVALID_STREAM_ARN,
                        STR_ARG(request->start)));
    }
    return true;
}

void op_list_streams(struct api_call *call)
{
    struct list_streams_request request;
    struct str after;
    if (check_request(call, &request, &after)) {
        size_t limit = request.limit.given ? (size_t)request.limit.value : STREAMS_MAX;
        struct stream_list list;
        engine_list_streams(call->engine, call->arena, request.table_name, after, limit, &list);
        write_list(call, &list);
    }
    api_finish(call);
}
