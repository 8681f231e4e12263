/* codec/stream_record.h: the value of a stream record's row: what happened to one item.
 *
 *   version (1 byte, 1) | flags (1 byte) | time in ms (i64, little-endian) | size by the service's
 *   rules (u32) | key attributes, then the old image, then the new one: M values
 *
 * Flags: bits 0-1 the event, bit 2 the service itself did it, bits 3 and 4 there is an old, a new
 * image. */
#ifndef GRAMME_CODEC_STREAM_RECORD_H
#define GRAMME_CODEC_STREAM_RECORD_H

#include "base/arena.h"
#include "model/value.h"

enum stream_event { STREAM_INSERT, STREAM_MODIFY, STREAM_REMOVE };

struct stream_record {
    enum stream_event event;
    bool by_service;
    int64_t time_ms;
    size_t size; /* of the keys and images, by the service's rules */
    struct value keys;
    struct value old_image; /* VALUE_ABSENT: there was no item, or the stream leaves it out */
    struct value new_image;
};

struct str stream_record_encode(struct arena *arena, const struct stream_record *record);
/* Borrows the bytes. */
struct stream_record stream_record_decode(struct str bytes);

#endif
