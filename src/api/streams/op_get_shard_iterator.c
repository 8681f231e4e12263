/* GetShardIterator: returns an iterator at a position of a shard. Called by dispatch.c on the
 * thread of the call. */
#include "api/streams/stream_request.h"
#include "err/messages.h"

struct get_shard_iterator_request {
    struct str arn;
    struct str shard_id;
    struct wire_enum type;
    struct str sequence;
};

enum { ITERATOR_AFTER, ITERATOR_LATEST, ITERATOR_AT, ITERATOR_TRIM_HORIZON };

static const struct shape shape_iterator_type = {
    .kind = SHAPE_ENUM,
    .values = (const char *const[]){"AFTER_SEQUENCE_NUMBER", "LATEST", "AT_SEQUENCE_NUMBER",
                                    "TRIM_HORIZON", NULL},
};
static const struct shape shape_sequence = {.kind = SHAPE_STRING, .min = 21, .max = 40};
static const struct field get_shard_iterator_fields[] = {
    FIELD_REQUIRED(struct get_shard_iterator_request, arn, "StreamArn", shape_stream_arn),
    FIELD_REQUIRED(struct get_shard_iterator_request, shard_id, "ShardId", shape_shard_id),
    FIELD_REQUIRED(struct get_shard_iterator_request, type, "ShardIteratorType",
                   shape_iterator_type),
    FIELD(struct get_shard_iterator_request, sequence, "SequenceNumber", shape_sequence),
    FIELD_END,
};
static const struct shape shape_get_shard_iterator = {
    .kind = SHAPE_STRUCT,
    .fields = get_shard_iterator_fields,
    .size = sizeof(struct get_shard_iterator_request),
};

struct get_shard_iterator {
    struct api_call *call;
    struct get_shard_iterator_request request;
    uint64_t epoch; /* of SequenceNumber, if it is given */
    uint64_t stamp;
    struct stream_shard shard;
    struct stream_describe describe;
    struct stream_latest latest;
};

static void finish(struct get_shard_iterator *op, uint64_t position)
{
    struct api_call *call = op->call;
    const struct stream *stream = op->describe.stream;
    if (call->err.code == ERR_NONE) {
        struct str iterator = stream_request_iterator(call, stream, op->shard, position);
        JSON_PUT(call->out, "{\"ShardIterator\":");
        json_write_plain_string(call->out, iterator);
        JSON_PUT(call->out, "}");
    }
    stream_release(stream);
    api_finish(call);
}

static void latest_done(struct engine_call *engine_call)
{
    struct get_shard_iterator *op =
        CONTAINER_OF(engine_call, struct get_shard_iterator, latest.call);
    op->call->err = engine_call->err;
    finish(op, op->latest.position);
}

static uint64_t position_of_sequence(struct get_shard_iterator *op)
{
    struct err *err = &op->call->err;
    if (op->epoch != op->shard.epoch) {
        err_set(err, ERR_VALIDATION, "Invalid SequenceNumber for the shard");
        return 0;
    }
    bool after = op->request.type.value == ITERATOR_AFTER;
    uint64_t position = op->stamp + (after && op->stamp < UINT64_MAX);
    if (position < stream_trim_horizon(op->call->engine, op->describe.stream, op->shard)) {
        err_set(err, ERR_TRIMMED_DATA_ACCESS, MESSAGE_TRIMMED);
    }
    return position;
}

static void describe_done(struct engine_call *engine_call)
{
    struct get_shard_iterator *op =
        CONTAINER_OF(engine_call, struct get_shard_iterator, describe.call);
    struct api_call *call = op->call;
    const struct stream *stream = op->describe.stream;
    call->err = engine_call->err;
    if (call->err.code != ERR_NONE ||
        !stream_request_shard(call, &op->describe, op->request.shard_id, &op->shard)) {
        finish(op, 0);
    } else if (op->request.type.value == ITERATOR_TRIM_HORIZON) {
        finish(op, stream_trim_horizon(call->engine, stream, op->shard));
    } else if (op->request.type.value == ITERATOR_LATEST) {
        op->latest = (struct stream_latest){
            .call = api_engine_call(call, latest_done),
            .stream = stream,
            .shard = op->shard,
        };
        engine_find_latest(&op->latest);
    } else {
        finish(op, position_of_sequence(op));
    }
}

static bool check_sequence(struct get_shard_iterator *op)
{
    const struct get_shard_iterator_request *request = &op->request;
    struct err *err = &op->call->err;
    bool wanted = request->type.value == ITERATOR_AT || request->type.value == ITERATOR_AFTER;
    if (!wanted) {
        return str_is_null(request->sequence) ||
               err_set(err, ERR_VALIDATION,
                       MESSAGE_INVALID
                       "SequenceNumber should not be passed for this iterator type");
    }
    return (!str_is_null(request->sequence) &&
            stream_sequence_parse(request->sequence, &op->epoch, &op->stamp)) ||
           err_set(err, ERR_VALIDATION, MESSAGE_INVALID "Invalid SequenceNumber");
}

void op_get_shard_iterator(struct api_call *call)
{
    struct get_shard_iterator *op = ARENA_NEW(call->arena, struct get_shard_iterator);
    op->call = call;
    if (!api_decode(call, &shape_get_shard_iterator, &op->request) ||
        !wire_validate(&shape_get_shard_iterator, &op->request, WORDING_OLDER, &call->err) ||
        !check_sequence(op) ||
        !stream_request_describe(call, op->request.arn, &op->describe, describe_done)) {
        api_finish(call);
    }
}
