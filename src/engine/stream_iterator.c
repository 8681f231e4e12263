#include "engine/stream_iterator.h"

#include "base/base64.h"
#include "base/hash.h"

enum { ITERATOR_VERSION = 1, BODY_LEN = 1 + 8 + 4 + 8 + 8, HASH_LEN = 16 };
enum { ENCODED_LEN = BASE64_ENCODED_LEN(BODY_LEN + HASH_LEN) };
#define SEPARATOR "|1|"

static uint8_t *put(uint8_t *at, uint64_t number, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        at[i] = (uint8_t)(number >> (8 * i));
    }
    return at + bytes;
}

static const uint8_t *get(const uint8_t *at, uint64_t *out, int bytes)
{
    *out = 0;
    for (int i = 0; i < bytes; i++) {
        *out |= (uint64_t)at[i] << (8 * i);
    }
    return at + bytes;
}

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
    uint8_t *at = put(bytes + 1, iterator->epoch, 8);
    at = put(at, iterator->slot, 4);
    at = put(at, iterator->position, 8);
    put(at, (uint64_t)iterator->made_ms, 8);
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
    uint64_t slot;
    uint64_t made_ms;
    const uint8_t *at = get(body + 1, &out->epoch, 8);
    at = get(at, &slot, 4);
    at = get(at, &out->position, 8);
    get(at, &made_ms, 8);
    out->slot = (uint32_t)slot;
    out->made_ms = (int64_t)made_ms;
    return true;
}
