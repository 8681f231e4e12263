/* Writes and reads shard iterators: see stream_iterator.h. On the thread of the call. */
#include "engine/stream_iterator.h"

#include "base/base64.h"
#include "base/bytes.h"
#include "base/hash.h"

/* version (1) | epoch (u64, little-endian like all numbers here) | slot (u32) | position (u64) |
 * time of creation in ms (u64) | hash of all these and the ARN (16) */
enum { ITERATOR_VERSION = 1, EPOCH_AT = 1, SLOT_AT = 9, POSITION_AT = 13, MADE_AT = 21 };
enum { BODY_LEN = MADE_AT + 8, HASH_LEN = 16 };
enum { ENCODED_LEN = BASE64_ENCODED_LEN(BODY_LEN + HASH_LEN) };
#define SEPARATOR "|1|"

static void hash_iterator(struct arena *arena, struct str arn, const uint8_t *body, uint64_t seed,
                          uint8_t out[HASH_LEN])
{
    char *input = arena_bytes(arena, BODY_LEN + arn.len);
    memcpy(input, body, BODY_LEN);
    memcpy(input + BODY_LEN, arn.data, arn.len);
    hash_128(str_make(input, BODY_LEN + arn.len), seed, out);
}

struct str stream_iterator_write(struct arena *arena, uint64_t seed,
                                 const struct stream_iterator *iterator)
{
    uint8_t bytes[BODY_LEN + HASH_LEN];
    bytes[0] = ITERATOR_VERSION;
    put_u64_le(bytes + EPOCH_AT, iterator->epoch);
    put_u32_le(bytes + SLOT_AT, iterator->slot);
    put_u64_le(bytes + POSITION_AT, iterator->position);
    put_u64_le(bytes + MADE_AT, (uint64_t)iterator->made_ms);
    hash_iterator(arena, iterator->arn, bytes, seed, bytes + BODY_LEN);
    char text[ENCODED_LEN];
    base64_encode(str_make(bytes, sizeof(bytes)), text);
    return arena_format(arena, "%.*s" SEPARATOR "%.*s", STR_ARG(iterator->arn), (int)sizeof(text),
                        text);
}

bool stream_iterator_read(struct str text, uint64_t seed, struct arena *arena,
                          struct stream_iterator *out)
{
    struct str separator = STR(SEPARATOR);
    if (text.len < separator.len + ENCODED_LEN) {
        return false;
    }
    size_t arn_len = text.len - separator.len - ENCODED_LEN;
    char bytes[BASE64_DECODED_MAX(ENCODED_LEN)];
    size_t len;
    if (!str_starts_with(str_skip(text, arn_len), separator) ||
        !base64_decode(str_skip(text, arn_len + separator.len), bytes, &len) ||
        len != BODY_LEN + HASH_LEN || bytes[0] != ITERATOR_VERSION) {
        return false;
    }
    const uint8_t *body = (const uint8_t *)bytes;
    uint8_t hash[HASH_LEN];
    out->arn = str_make(text.data, arn_len);
    hash_iterator(arena, out->arn, body, seed, hash);
    if (memcmp(hash, body + BODY_LEN, HASH_LEN) != 0) {
        return false;
    }
    out->epoch = get_u64_le(body + EPOCH_AT);
    out->slot = get_u32_le(body + SLOT_AT);
    out->position = get_u64_le(body + POSITION_AT);
    out->made_ms = (int64_t)get_u64_le(body + MADE_AT);
    return true;
}
