/* base/hash.h: XXH3 of xxHash. Its results are stable across versions and machines, so they may be
 * stored. Not a cryptographic hash. */
#ifndef GRAMME_BASE_HASH_H
#define GRAMME_BASE_HASH_H

#include "base/str.h"

/* 64 bits of `s`. */
uint64_t hash_64(struct str s);
/* 64 bits of `s`; different seeds give independent hashes. */
uint64_t hash_64_seeded(struct str s, uint64_t seed);
/* 128 bits of `s`, in canonical (big-endian) order. */
void hash_128(struct str s, uint64_t seed, uint8_t out[16]);

/* The same of bytes that come in pieces, without a seed: what `xxhsum -H2` prints. */
struct hash_stream;
/* Starts with no bytes. hash_stream_finish() frees it. */
MUST_USE struct hash_stream *hash_stream_create(void);
/* Adds bytes, which are not kept. */
void hash_stream_add(struct hash_stream *stream, struct str piece);
/* Ends and frees it. */
void hash_stream_finish(struct hash_stream *stream, uint8_t out[16]);

#endif
