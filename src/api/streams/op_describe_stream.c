/* DescribeStream: describes a stream and lists its shards. Called by dispatch.c on the thread of
 * the call. */
#include "api/streams/stream_request.h"
#include "api/tables/table_description.h"
#include "err/messages.h"

struct shard_filter_request {
    struct wire_enum type;
    struct str shard_id;
};

struct describe_stream_request {
    struct str arn;
    struct wire_int limit;
    struct str start;
    struct shard_filter_request *filter;
};

static const struct shape shape_filter_type = {
    .kind = SHAPE_ENUM,
    .values = (const char *const[]){"CHILD_SHARDS", NULL},
};
static const struct field filter_fields[] = {
    FIELD(struct shard_filter_request, type, "Type", shape_filter_type),
    FIELD(struct shard_filter_request, shard_id, "ShardId", shape_shard_id),
    FIELD_END,
};
static const struct shape shape_filter = {
    .kind = SHAPE_STRUCT,
    .java = "ShardFilter",
    .fields = filter_fields,
    .size = sizeof(struct shard_filter_request),
};
static const struct field describe_stream_fields[] = {
    FIELD_REQUIRED(struct describe_stream_request, arn, "StreamArn", shape_stream_arn),
    FIELD(struct describe_stream_request, limit, "Limit", shape_limit),
    FIELD(struct describe_stream_request, start, "ExclusiveStartShardId", shape_shard_id),
    FIELD(struct describe_stream_request, filter, "ShardFilter", shape_filter),
    FIELD_END,
};
static const struct shape shape_describe_stream = {
    .kind = SHAPE_STRUCT,
    .fields = describe_stream_fields,
    .size = sizeof(struct describe_stream_request),
};

enum { SHARDS_MAX = 100 };

struct describe_stream {
    struct api_call *call;
    struct describe_stream_request request;
    struct stream_describe engine;
};

/* A range of shards, numbered by epoch, then by slot. */
struct shard_range {
    uint64_t next;
    uint64_t end;
};

static uint64_t number_of(const struct stream *stream, struct stream_shard shard)
{
    return shard.epoch * stream->shard_count + shard.slot;
}

static void write_shard(struct api_call *call, const struct stream_describe *describe,
                        struct stream_shard shard)
{
    const struct stream *stream = describe->stream;
    struct arena *arena = call->arena;
    api_begin(call);
    api_member(call, STR("ShardId"));
    json_write_plain_string(call->out, stream_shard_id(arena, stream, shard));
    api_member(call, STR("SequenceNumberRange"));
    api_begin(call);
    api_member(call, STR("StartingSequenceNumber"));
    json_write_plain_string(call->out, stream_sequence(arena, shard.epoch, 0));
    if (stream_request_is_closed(describe, shard)) {
        api_member(call, STR("EndingSequenceNumber"));
        json_write_plain_string(call->out, stream_last_sequence(arena, shard.epoch));
    }
    api_end(call);
    if (shard.epoch > 0) {
        struct stream_shard parent = {shard.epoch - 1, shard.slot};
        api_member(call, STR("ParentShardId"));
        json_write_plain_string(call->out, stream_shard_id(arena, stream, parent));
    }
    api_end(call);
}

static void write_shards(struct api_call *call, const struct describe_stream *op,
                         struct shard_range range)
{
    const struct stream *stream = op->engine.stream;
    uint64_t limit = op->request.limit.given ? (uint64_t)op->request.limit.value : SHARDS_MAX;
    uint64_t end = MIN(range.end, range.next + limit);
    struct stream_shard shard = {0};
    api_member(call, STR("Shards"));
    buf_add_char(call->out, '[');
    for (uint64_t i = range.next; i < end; i++) {
        shard = (struct stream_shard){i / stream->shard_count, (uint32_t)(i % stream->shard_count)};
        buf_add(call->out, i > range.next ? STR(",") : STR(""));
        write_shard(call, &op->engine, shard);
    }
    buf_add_char(call->out, ']');
    if (end < range.end) {
        api_member(call, STR("LastEvaluatedShardId"));
        json_write_plain_string(call->out, stream_shard_id(call->arena, stream, shard));
    }
}

/* Parses a shard id. Returns false if the stream never has a shard with this id. Future epochs
 * count as the next epoch. */
static bool parse_shard(const struct describe_stream *op, struct str id, struct stream_shard *out)
{
    if (!stream_shard_parse(op->engine.stream, id, out)) {
        return false;
    }
    out->epoch = MIN(out->epoch, op->engine.first_epoch + op->engine.epoch_count);
    return true;
}

/* Chooses the shards to list: all existing ones after ExclusiveStartShardId (none if it is
 * unknown), or the children of the shard in ShardFilter. */
static bool choose_shards(struct describe_stream *op, struct shard_range *out)
{
    const struct stream_describe *describe = &op->engine;
    const struct stream *stream = describe->stream;
    const struct shard_filter_request *filter = op->request.filter;
    struct stream_shard shard;
    out->next = describe->first_epoch * stream->shard_count;
    out->end = out->next + describe->epoch_count * stream->shard_count;
    if (filter != NULL && !str_is_null(filter->type.text)) {
        if (!parse_shard(op, filter->shard_id, &shard)) {
            return err_set(&op->call->err, ERR_VALIDATION, MESSAGE_INVALID "Invalid ShardId");
        }
        shard.epoch++;
        out->next = MAX(out->next, number_of(stream, shard));
        out->end = MIN(out->end, number_of(stream, shard) + 1);
    }
    if (!str_is_null(op->request.start)) {
        bool is_known = parse_shard(op, op->request.start, &shard);
        out->next = is_known ? MAX(out->next, number_of(stream, shard) + 1) : out->end;
    }
    out->end = MAX(out->end, out->next);
    return true;
}

static void write_stream(struct describe_stream *op, struct shard_range shards)
{
    static const char *const statuses[] = {
        [STREAM_ENABLING] = "ENABLING",
        [STREAM_ENABLED] = "ENABLED",
        [STREAM_DISABLING] = "DISABLING",
        [STREAM_DISABLED] = "DISABLED",
    };
    struct api_call *call = op->call;
    const struct stream *stream = op->engine.stream;
    api_begin(call);
    api_member(call, STR("StreamDescription"));
    api_begin(call);
    api_member(call, STR("StreamArn"));
    json_write_plain_string(call->out, stream_arn(call->engine, call->arena, stream->path));
    api_member(call, STR("StreamLabel"));
    json_write_plain_string(call->out, stream->label);
    api_member(call, STR("StreamStatus"));
    json_write_plain_string(call->out, str_from_c(statuses[op->engine.status]));
    api_member(call, STR("StreamViewType"));
    json_write_plain_string(call->out, str_from_c(describe_stream_view(stream->view)));
    describe_date(call, STR("CreationRequestDateTime"), stream->since_ms);
    api_member(call, STR("TableName"));
    json_write_plain_string(call->out, stream->table_name);
    describe_key_schema(call, &stream->key);
    write_shards(call, op, shards);
    api_end(call);
    api_end(call);
}

static void describe_done(struct engine_call *engine_call)
{
    struct describe_stream *op = CONTAINER_OF(engine_call, struct describe_stream, engine.call);
    op->call->err = engine_call->err;
    struct shard_range shards;
    if (op->call->err.code == ERR_NONE && choose_shards(op, &shards)) {
        write_stream(op, shards);
    }
    stream_release(op->engine.stream);
    api_finish(op->call);
}

static bool check_filter(struct api_call *call, const struct shard_filter_request *filter)
{
    if (filter == NULL || str_is_null(filter->type.text) == str_is_null(filter->shard_id)) {
        return true;
    }
    return err_set(&call->err, ERR_VALIDATION,
                   MESSAGE_INVALID "ShardFilter needs both Type and ShardId");
}

static bool check_request(struct describe_stream *op)
{
    struct api_call *call = op->call;
    struct describe_stream_request *request = &op->request;
    if (!api_decode(call, &shape_describe_stream, request) ||
        !wire_validate(&shape_describe_stream, request, WORDING_OLDER, &call->err)) {
        return false;
    }
    if (request->limit.given && request->limit.value > SHARDS_MAX) {
        return err_set(&call->err, ERR_VALIDATION,
                       MESSAGE_INVALID "Limit cannot be greater than the maximum: %d", SHARDS_MAX);
    }
    return check_filter(call, request->filter);
}

void op_describe_stream(struct api_call *call)
{
    struct describe_stream *op = ARENA_NEW(call->arena, struct describe_stream);
    op->call = call;
    if (!check_request(op) ||
        !stream_request_describe(call, op->request.arn, &op->engine, describe_done)) {
        api_finish(call);
    }
}
