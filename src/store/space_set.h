/* store/space_set.h: a set of space numbers, as a bit map in chunks. Any thread may add and look up
 * numbers at any time; a look-up is one or two loads, whatever the size of the set. */
#ifndef GRAMME_STORE_SPACE_SET_H
#define GRAMME_STORE_SPACE_SET_H

#include <stdatomic.h>

#include "base/base.h"

struct space_chunk;

struct space_set {
    _Atomic(struct space_chunk *) *chunks; /* one per 65,536 spaces, allocated when needed */
};

/* Makes an empty set. */
void space_set_init(struct space_set *set);
/* Frees the set. No other thread may use it. */
void space_set_finish(struct space_set *set);
/* Adds a space; it may be in the set already. */
void space_set_add(struct space_set *set, uint32_t space);
/* Returns whether a space is in the set. */
MUST_USE bool space_set_has(const struct space_set *set, uint32_t space);
/* Finds the next run of consecutive spaces in the set, at or after *at, and moves *at behind it.
 * Start with *at = 0. False: there are no more. */
MUST_USE bool space_set_next_run(const struct space_set *set, uint64_t *at, uint32_t *out_first,
                                 uint32_t *out_last);

/* The set is stored in pieces of 4096 spaces. */
enum { SPACE_PIECE_BITS = 12, SPACE_PIECE_BYTES = (1 << SPACE_PIECE_BITS) / 8 };

/* Returns the number of the piece that holds a space. */
static inline uint32_t space_piece(uint32_t space)
{
    return space >> SPACE_PIECE_BITS;
}

/* Writes the stored form of a piece: space 4096 * piece + i is bit i % 8 of byte i / 8. */
void space_set_save(const struct space_set *set, uint32_t piece, uint8_t out[SPACE_PIECE_BYTES]);
/* Adds the spaces of a stored piece to the set. */
void space_set_load(struct space_set *set, uint32_t piece, const uint8_t bytes[SPACE_PIECE_BYTES]);

#endif
