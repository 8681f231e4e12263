/* api/streams/stream_request.h: functions that the stream operations share. A function that returns
 * false has set call->err. */
#ifndef GRAMME_API_STREAMS_STREAM_REQUEST_H
#define GRAMME_API_STREAMS_STREAM_REQUEST_H

#include "api/api_internal.h"
#include "engine/stream.h"

extern const struct shape shape_stream_arn;
extern const struct shape shape_shard_id;

/* Checks that `arn` is arn:PARTITION:dynamodb:REGION:ACCOUNT:table/NAME/stream/LABEL. */
MUST_USE bool stream_request_check_arn(struct api_call *call, struct str arn);

/* Starts to look up the stream of an ARN. The engine calls `done` with &describe->call, on the
 * thread of the call. Returns false, and starts nothing, if no stream can have this ARN. */
MUST_USE bool stream_request_describe(struct api_call *call, struct str arn,
                                      struct stream_describe *describe,
                                      void (*done)(struct engine_call *));

/* Sets *out to the shard with this id. Fails if the stream does not have it now. */
MUST_USE bool stream_request_shard(struct api_call *call, const struct stream_describe *describe,
                                   struct str id, struct stream_shard *out);
/* Returns whether the shard is closed: it gets no more records. */
bool stream_request_is_closed(const struct stream_describe *describe, struct stream_shard shard);

/* Returns the text of an iterator at a position of a shard. Its age counts from now. */
struct str stream_request_iterator(struct api_call *call, const struct stream *stream,
                                   struct stream_shard shard, uint64_t position);

#endif
