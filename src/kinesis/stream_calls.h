/* kinesis/stream_calls.h: the two calls to a Kinesis stream: a check that it exists and is active,
 * and PutRecords. Both block, so they are made on delivery threads. */
#ifndef GRAMME_KINESIS_STREAM_CALLS_H
#define GRAMME_KINESIS_STREAM_CALLS_H

#include "aws/client.h"
#include "base/arena.h"

/* Limits of PutRecords; the bytes are those of data and partition keys. */
enum {
    PUT_RECORDS_MAX = 500,
    PUT_BYTES_MAX = 4 << 20,    /* the service allows 5 MiB */
    RECORD_BYTES_MAX = 1 << 20, /* of one record */
};

/* The name in arn:aws:kinesis:REGION:ACCOUNT:stream/NAME, and its Region; borrowed. False: it is
 * not the ARN of a Kinesis stream. */
MUST_USE bool stream_arn_parse(struct str arn, struct str *out_region, struct str *out_name);

enum stream_check {
    STREAM_IS_ACTIVE,
    STREAM_IS_NOT_ACTIVE, /* it is being created or deleted */
    STREAM_IS_REFUSED,    /* it does not exist, or access is denied */
    STREAM_IS_UNKNOWN,    /* no response: try again */
};
/* Checks whether the stream can be used. `problem`, at least 256 bytes, is set if it cannot. */
enum stream_check stream_check(struct aws_client *client, struct str arn, const atomic_bool *stop,
                               char problem[256]);

/* A PutRecords request. {0} at first; stream_put_finish() frees it. */
struct stream_put {
    struct buf body;
    size_t count;
    size_t bytes;
    struct aws_response response;
    bool failed[PUT_RECORDS_MAX]; /* after the call: the service did not store the record */
    char problem[256];            /* why the last of these failed; or why the call failed */
};

/* Begins a request for the stream with this name. */
void stream_put_begin(struct stream_put *put, struct str stream_name);
/* Whether a record with so many bytes of data fits, too. */
bool stream_put_fits(const struct stream_put *put, size_t data_bytes);
/* Adds a record. */
void stream_put_add(struct stream_put *put, struct str partition_key, struct str data);
/* Sends the request: one attempt. True: there is a response, and put->failed says which records
 * were not stored. False: put->problem says why; whether records were stored is not known. */
MUST_USE bool stream_put_send(struct stream_put *put, struct aws_client *client,
                              const atomic_bool *stop);
/* Reads a response of PutRecords to a request with put->count records. False: it is not such a
 * response. Declared for tests. */
MUST_USE bool stream_put_read(struct stream_put *put, struct str body);
/* Frees its memory. */
void stream_put_finish(struct stream_put *put);

#endif
