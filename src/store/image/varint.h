/* store/image/varint.h: reads RocksDB's formats from bytes that may be damaged: varints (LEB128)
 * and length-prefixed strings. Never reads beyond the end of the bytes. */
#ifndef GRAMME_STORE_IMAGE_VARINT_H
#define GRAMME_STORE_IMAGE_VARINT_H

#include "base/str.h"

struct cursor {
    const uint8_t *at;
    const uint8_t *end;
    bool is_bad; /* a read failed; all later reads return zero */
};

/* Returns a cursor at the start of `bytes`. */
static inline struct cursor cursor_make(struct str bytes)
{
    const uint8_t *at = (const uint8_t *)bytes.data;
    return (struct cursor){.at = at, .end = at + bytes.len};
}

/* Returns the number of bytes that are left. */
static inline size_t cursor_left(const struct cursor *cursor)
{
    return (size_t)(cursor->end - cursor->at);
}

/* Reads a varint. Returns 0 and sets is_bad if it does not end in time. */
static inline uint64_t cursor_varint(struct cursor *cursor)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && cursor->at < cursor->end; shift += 7) {
        uint8_t byte = *cursor->at++;
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            return cursor->is_bad ? 0 : value;
        }
    }
    cursor->is_bad = true;
    cursor->at = cursor->end;
    return 0;
}

/* Reads `len` bytes. Returns STR_NULL and sets is_bad if fewer are left. */
static inline struct str cursor_bytes(struct cursor *cursor, uint64_t len)
{
    if (cursor->is_bad || len > cursor_left(cursor)) {
        cursor->is_bad = true;
        cursor->at = cursor->end;
        return STR_NULL;
    }
    struct str bytes = str_make(cursor->at, (size_t)len);
    cursor->at += len;
    return bytes;
}

/* Reads a string with its length before it as a varint. STR_NULL as cursor_bytes(). */
static inline struct str cursor_prefixed(struct cursor *cursor)
{
    return cursor_bytes(cursor, cursor_varint(cursor));
}

#endif
