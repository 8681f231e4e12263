/* api/stream_request.h: the parts that requests on streams are made of. */
#ifndef GRAMME_API_STREAM_REQUEST_H
#define GRAMME_API_STREAM_REQUEST_H

#include "api/api_internal.h"
#include "engine/stream.h"

extern const struct shape shape_stream_arn;
extern const struct shape shape_shard_id;

#define STREAM_INVALID "One or more parameter values were invalid: "

/* Whether it is arn:PARTITION:dynamodb:REGION:ACCOUNT:table/NAME/stream/LABEL; refuses others. */
MUST_USE bool stream_request_check_arn(struct api_call *call, struct str arn);

/* Starts looking for the stream of an ARN; `done` gets `describe` back. An ARN that can be nobody's
 * is refused in call->err: false, and nothing was started. */
MUST_USE bool stream_request_describe(struct api_call *call, struct str arn,
                                      struct stream_describe *describe,
                                      void (*done)(struct engine_call *));

/* The shard of that id, if the stream has it now; else call->err says that it does not. */
MUST_USE bool stream_request_shard(struct api_call *call, const struct stream_describe *describe,
                                   struct str id, struct stream_shard *out);
/* Whether it gets no more records. */
bool stream_request_is_closed(const struct stream_describe *describe, struct stream_shard shard);

/* The text of an iterator at a position, made now. */
struct str stream_request_iterator(struct api_call *call, const struct stream *stream,
                                   struct stream_shard shard, uint64_t position);

#endif
