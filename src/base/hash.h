/* base/hash.h: xxHash's XXH3, whose results are stable and may be stored. */
#ifndef GRAMME_BASE_HASH_H
#define GRAMME_BASE_HASH_H

#include "base/str.h"

uint64_t hash_64(struct str s);
uint64_t hash_64_seeded(struct str s, uint64_t seed);
/* 128 bits in canonical (big-endian) order. */
void hash_128(struct str s, uint64_t seed, uint8_t out[16]);

#endif
