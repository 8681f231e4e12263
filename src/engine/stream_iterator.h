/* engine/stream_iterator.h: shard iterators: where a reader stands in a shard, as text.
 *
 *   STREAM ARN | "|1|" | base64 of: version (1 byte, 1), epoch (u64, little-endian), slot (u32),
 *   position (u64), when it was made in ms (i64), hash of the ARN and all this (16 bytes)
 *
 * The hash is keyed by the store's seed, so that nobody has to believe what a client made up. */
#ifndef GRAMME_ENGINE_STREAM_ITERATOR_H
#define GRAMME_ENGINE_STREAM_ITERATOR_H

#include "base/arena.h"

#define STREAM_ITERATOR_LIFETIME_MS ((int64_t)15 * 60 * 1000)

struct stream_iterator {
    struct str arn;
    uint64_t epoch;
    uint32_t slot;
    uint64_t position; /* the smallest stamp that is wanted */
    int64_t made_ms;
};

struct str stream_iterator_write(struct arena *arena, uint64_t seed,
                                 const struct stream_iterator *iterator);
/* False for any text that stream_iterator_write() did not make. The ARN borrows the text. */
MUST_USE bool stream_iterator_read(struct str text, uint64_t seed, struct arena *arena,
                                   struct stream_iterator *out);

#endif
