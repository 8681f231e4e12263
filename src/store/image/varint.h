/* store/image/varint.h: a cursor over bytes that may be damaged: it never reads behind their end.
 * For RocksDB's formats: varints (LEB128), fixed little-endian numbers, length-prefixed strings. */
#ifndef GRAMME_STORE_IMAGE_VARINT_H
#define GRAMME_STORE_IMAGE_VARINT_H

#include "base/str.h"

struct cursor {
    const uint8_t *at;
    const uint8_t *end;
    bool is_bad; /* something did not fit; all later reads give zeros */
};

static inline struct cursor cursor_make(struct str bytes)
{
    const uint8_t *at = (const uint8_t *)bytes.data;
    return (struct cursor){.at = at, .end = at + bytes.len};
}

static inline size_t cursor_left(const struct cursor *cursor)
{
    return (size_t)(cursor->end - cursor->at);
}

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

/* STR_NULL: that many bytes are not left. */
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

static inline struct str cursor_prefixed(struct cursor *cursor)
{
    return cursor_bytes(cursor, cursor_varint(cursor));
}

#endif
