/* base/buf.h: bytes that grow at the end, in memory of their own. */
#ifndef GRAMME_BASE_BUF_H
#define GRAMME_BASE_BUF_H

#include "base/budget.h"
#include "base/str.h"

struct buf {
    char *data; /* NULL while the capacity is 0 */
    size_t len;
    size_t capacity;
    struct budget *budget; /* charged for the capacity; NULL: none */
};

/* {0} is an empty buf too. buf_finish() frees, accepts an empty one, and leaves an empty one with
 * the same budget. */
void buf_init(struct buf *buf);
void buf_finish(struct buf *buf);
/* Gives back the room behind the end if the capacity is more than `capacity_max` and it is worth
 * it. */
void buf_shrink(struct buf *buf, size_t capacity_max);
void buf_grow(struct buf *buf, size_t extra);
/* The text is followed by a NUL, which is not counted. */
void buf_format(struct buf *buf, const char *format, ...) PRINTF_LIKE(2, 3);
void buf_add_int64(struct buf *buf, int64_t value);

/* Room for `extra` bytes more; returns where to write them. Count them with buf_added(). */
static inline char *buf_reserve(struct buf *buf, size_t extra)
{
    if (UNLIKELY(buf->capacity - buf->len < extra)) {
        buf_grow(buf, extra);
    }
    return buf->data + buf->len;
}

static inline void buf_added(struct buf *buf, size_t count)
{
    buf->len += count;
}

static inline void buf_add(struct buf *buf, struct str s)
{
    if (s.len > 0) {
        memcpy(buf_reserve(buf, s.len), s.data, s.len);
        buf->len += s.len;
    }
}

static inline void buf_add_char(struct buf *buf, char c)
{
    *buf_reserve(buf, 1) = c;
    buf->len++;
}

static inline struct str buf_str(const struct buf *buf)
{
    return str_make(buf->data, buf->len);
}

#endif
