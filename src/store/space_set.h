/* store/space_set.h: a set of space numbers as a bit map in pieces. Any thread may add and
 * ask at any time; asking costs a load or two, however many were added. */
#ifndef GRAMME_STORE_SPACE_SET_H
#define GRAMME_STORE_SPACE_SET_H

#include <stdatomic.h>

#include "base/base.h"

struct space_chunk;

struct space_set {
    _Atomic(struct space_chunk *) *chunks; /* one per 65,536 spaces, made when needed */
};

void space_set_init(struct space_set *set);
void space_set_finish(struct space_set *set);
void space_set_add(struct space_set *set, uint32_t space);
MUST_USE bool space_set_has(const struct space_set *set, uint32_t space);
/* The next run of spaces from *at on, first to last; *at moves behind it. Start with 0. */
MUST_USE bool space_set_next_run(const struct space_set *set, uint64_t *at, uint32_t *out_first,
                                 uint32_t *out_last);

/* The set is stored in pieces of 4096 spaces. */
enum { SPACE_PIECE_BITS = 12, SPACE_PIECE_BYTES = (1 << SPACE_PIECE_BITS) / 8 };

static inline uint32_t space_piece(uint32_t space)
{
    return space >> SPACE_PIECE_BITS;
}

/* Space 4096 * piece + i is bit i % 8 of byte i / 8. */
void space_set_save(const struct space_set *set, uint32_t piece, uint8_t out[SPACE_PIECE_BYTES]);
void space_set_load(struct space_set *set, uint32_t piece, const uint8_t bytes[SPACE_PIECE_BYTES]);

#endif
