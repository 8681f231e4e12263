/* kinesis/kinesis.h: delivers the changes of tables to their Kinesis streams.
 *
 * The engine records changes in feeds (engine/feed.h). Threads of this folder, on the server that
 * is the leader, send them with PutRecords and erase them afterwards: so every change arrives at
 * least once, and the changes of an item arrive in order, also if servers are restarted. Changes
 * that cannot be delivered stay in the feed for up to 24 hours, or until the feed exceeds a number
 * of bytes. */
#ifndef GRAMME_KINESIS_KINESIS_H
#define GRAMME_KINESIS_KINESIS_H

#include "base/buf.h"
#include "engine/engine.h"

struct kinesis;

struct kinesis_options {
    struct str endpoint; /* URL; empty: the service in the Region */
    struct str region;
    int64_t retention_ms;     /* how long undelivered changes are kept */
    size_t backlog_bytes_max; /* of undelivered changes of one table; 0: any number */
};

/* Starts the delivery threads. Borrows the engine, which must be closed after kinesis_stop().
 * False: the endpoint is not a URL, or a thread cannot be started. */
MUST_USE bool kinesis_start(struct engine *engine, const struct kinesis_options *options,
                            struct kinesis **out, struct err *err);
/* Ends the threads; aborts calls under way. Accepts NULL. */
void kinesis_stop(struct kinesis *kinesis);
/* Appends metrics in the format of Prometheus to `out`. Any thread. Accepts NULL. */
void kinesis_write_metrics(struct kinesis *kinesis, struct buf *out);

#endif
