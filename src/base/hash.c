/* Calls xxHash. Any thread. */
#include "base/hash.h"

#include <stdlib.h>
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

/* XXH3_state_t, which is opaque. */
struct hash_stream *hash_stream_create(void)
{
    XXH3_state_t *state = XXH3_createState();
    if (state == NULL || XXH3_128bits_reset(state) != XXH_OK) {
        abort(); /* out of memory */
    }
    return (struct hash_stream *)state;
}

void hash_stream_add(struct hash_stream *stream, struct str piece)
{
    XXH3_128bits_update((XXH3_state_t *)stream, piece.data, piece.len);
}

void hash_stream_finish(struct hash_stream *stream, uint8_t out[16])
{
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest((XXH3_state_t *)stream));
    memcpy(out, canonical.digest, 16);
    XXH3_freeState((XXH3_state_t *)stream);
}
