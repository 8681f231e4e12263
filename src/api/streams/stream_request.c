/* Functions that the stream operations share: ARNs, shards, iterators. Called on the thread of the
 * call; keeps no state. */
#include "api/streams/stream_request.h"

#include "api/arn.h"
#include "base/clock.h"
#include "engine/stream_iterator.h"
#include "err/messages.h"

const struct shape shape_stream_arn = {.kind = SHAPE_STRING, .min = 37, .max = 1024};
const struct shape shape_shard_id = {.kind = SHAPE_STRING, .min = 28, .max = 65};

bool stream_request_check_arn(struct api_call *call, struct str arn)
{
    return arn_parse(arn).kind == ARN_STREAM ||
           err_set(&call->err, ERR_VALIDATION, MESSAGE_INVALID_STREAM_ARN, STR_ARG(arn));
}

bool stream_request_describe(struct api_call *call, struct str arn,
                             struct stream_describe *describe, void (*done)(struct engine_call *))
{
    struct str path = stream_arn_path(call->engine, arn);
    if (!stream_request_check_arn(call, arn)) {
        return false;
    }
    if (str_is_null(path)) {
        return err_set(&call->err, ERR_RESOURCE_NOT_FOUND, MESSAGE_STREAM_NOT_FOUND, STR_ARG(arn));
    }
    *describe = (struct stream_describe){.call = api_engine_call(call, done), .path = path};
    engine_describe_stream(describe);
    return true;
}

bool stream_request_shard(struct api_call *call, const struct stream_describe *describe,
                          struct str id, struct stream_shard *out)
{
    if (!stream_shard_parse(describe->stream, id, out) || out->epoch < describe->first_epoch ||
        out->epoch - describe->first_epoch >= describe->epoch_count) {
        return err_set(&call->err, ERR_RESOURCE_NOT_FOUND, "Shard does not exist");
    }
    return true;
}

bool stream_request_is_closed(const struct stream_describe *describe, struct stream_shard shard)
{
    return shard.epoch < describe->first_epoch + describe->closed_count;
}

struct str stream_request_iterator(struct api_call *call, const struct stream *stream,
                                   struct stream_shard shard, uint64_t position)
{
    struct stream_iterator iterator = {
        .arn = stream_arn(call->engine, call->arena, stream->path),
        .epoch = shard.epoch,
        .slot = shard.slot,
        .position = position,
        .made_ms = clock_wall_ms(),
    };
    return stream_iterator_write(call->arena, engine_seed(call->engine), &iterator);
}
