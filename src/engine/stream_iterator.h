/* engine/stream_iterator.h: shard iterators: a position in a shard, as text.
 *
 *   STREAM ARN | "|1|" | base64 of: version (1 byte, 1), epoch (u64, little-endian), slot (u32),
 *   position (u64), when it was made in ms (i64), hash of the ARN and all this (16 bytes)
 *
 * The hash is keyed by the seed of the store, so that clients cannot forge iterators. */
#ifndef GRAMME_ENGINE_STREAM_ITERATOR_H
#define GRAMME_ENGINE_STREAM_ITERATOR_H

#include "base/arena.h"

#define STREAM_ITERATOR_LIFETIME_MS ((int64_t)15 * 60 * 1000)

struct stream_iterator {
    struct str arn;
    uint64_t epoch;
    uint32_t slot;
    uint64_t position; /* the smallest stamp to read */
    int64_t made_ms;
};

/* Writes an iterator as text, in `arena`. */
struct str stream_iterator_write(struct arena *arena, uint64_t seed,
                                 const struct stream_iterator *iterator);
/* Reads an iterator. False: stream_iterator_write() has not written it. The ARN borrows the text.
 */
MUST_USE bool stream_iterator_read(struct str text, uint64_t seed, struct arena *arena,
                                   struct stream_iterator *out);

#endif
