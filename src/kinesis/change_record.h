/* kinesis/change_record.h: the change of an item as the JSON record that a Kinesis stream gets. */
#ifndef GRAMME_KINESIS_CHANGE_RECORD_H
#define GRAMME_KINESIS_CHANGE_RECORD_H

#include "base/buf.h"
#include "engine/feed.h"

#define PARTITION_KEY_LEN 32

/* The properties that all records of a feed share. */
struct record_source {
    struct str region;
    struct str table_name;
    enum time_precision precision;
    uint32_t space; /* of the feed, with the next for eventID */
    uint64_t seed;
};

/* Appends the record to `out`: one line, without a line end. It has the same eventID each time it
 * is written, so consumers can recognize a record that is delivered twice. */
void record_write(struct buf *out, const struct record_source *source,
                  const struct feed_record *record);
/* Writes the partition key of an item's records to `out`, without a NUL: 32 upper-case hexadecimal
 * digits that depend on its key attributes only, so all its records are in one shard. */
void record_partition_key(const struct feed_record *record, char out[PARTITION_KEY_LEN]);

#endif
