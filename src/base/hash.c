/* Calls xxHash. Any thread. */
#include "base/hash.h"

#include <xxhash.h>

uint64_t hash_64(struct str s)
{
    return XXH3_64bits(s.data, s.len);
}

uint64_t hash_64_seeded(struct str s, uint64_t seed)
{
    return XXH3_64bits_withSeed(s.data, s.len, seed);
}

void hash_128(struct str s, uint64_t seed, uint8_t out[16])
{
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_withSeed(s.data, s.len, seed));
    memcpy(out, canonical.digest, 16);
}
