/* codec/stream_record.h: the stored value of a stream record's row: one change of one item.
 *
 *   version (1 byte, 1) | flags (1 byte) | time in ms (u64_le) | size by DynamoDB's rules (u32_le)
 *   | with bit 5 of the flags: microseconds of the time, 0 to 999 (u32_le)
 *   | key attributes, then the old image, then the new image: M values
 *
 * Flags: bits 0-1 are the event; bit 2: the server itself made the change (expiry); bits 3 and 4:
 * there is an old image, a new image; bit 5: the time has microseconds (changes that are recorded
 * for a Kinesis destination: engine/feed.h). */
#ifndef GRAMME_CODEC_STREAM_RECORD_H
#define GRAMME_CODEC_STREAM_RECORD_H

#include "base/arena.h"
#include "model/value.h"

enum stream_event { STREAM_INSERT, STREAM_MODIFY, STREAM_REMOVE };

struct stream_record {
    enum stream_event event;
    bool by_expiry;
    int64_t time_ms;
    bool has_micros;
    uint32_t micros; /* of the time, 0 to 999 */
    size_t size;     /* of the keys and images, by the service's rules */
    struct value keys;
    struct value old_image; /* VALUE_ABSENT: there was no item, or the stream leaves it out */
    struct value new_image;
};

/* Encodes a record in `arena`. */
struct str stream_record_encode(struct arena *arena, const struct stream_record *record);
/* Decodes a record, which borrows the bytes. */
struct stream_record stream_record_decode(struct str bytes);

#endif
