/* base/buf.h: a growing byte buffer that owns its memory. */
#ifndef GRAMME_BASE_BUF_H
#define GRAMME_BASE_BUF_H

#include "base/budget.h"
#include "base/str.h"

struct buf {
    char *data; /* NULL while the capacity is 0 */
    size_t len;
    size_t capacity;
    struct budget *budget; /* charged for the capacity; NULL: not limited */
};

/* Makes an empty buf; {0} is one, too. */
void buf_init(struct buf *buf);
/* Frees the memory. The buf is then empty and keeps its budget. */
void buf_finish(struct buf *buf);
/* Overwrites all memory of the buffer, which held a secret, and empties it. */
void buf_erase(struct buf *buf);
/* Frees unused capacity if the capacity exceeds `capacity_max` and shrinking saves enough memory.
 */
void buf_shrink(struct buf *buf, size_t capacity_max);
/* Makes room for at least `extra` more bytes. Called by buf_reserve(). */
void buf_grow(struct buf *buf, size_t extra);
/* Appends a formatted text (see base/format.h), followed by a NUL that is not counted. */
void buf_format(struct buf *buf, const char *format, ...) PRINTF_LIKE(2, 3);
/* Appends a decimal number. */
void buf_add_int64(struct buf *buf, int64_t value);

/* Makes room for `extra` more bytes and returns where to write them. The caller then calls
 * buf_added(). */
static inline char *buf_reserve(struct buf *buf, size_t extra)
{
    if (UNLIKELY(buf->capacity - buf->len < extra)) {
        buf_grow(buf, extra);
    }
    return buf->data + buf->len;
}

/* Counts bytes that were written behind the end. */
static inline void buf_added(struct buf *buf, size_t count)
{
    buf->len += count;
}

/* Appends a copy of `s`. */
static inline void buf_add(struct buf *buf, struct str s)
{
    if (s.len > 0) {
        memcpy(buf_reserve(buf, s.len), s.data, s.len);
        buf->len += s.len;
    }
}

/* Appends one byte. */
static inline void buf_add_char(struct buf *buf, char c)
{
    *buf_reserve(buf, 1) = c;
    buf->len++;
}

/* Returns the contents. They are valid until the buf grows or is finished. */
static inline struct str buf_str(const struct buf *buf)
{
    return str_make(buf->data, buf->len);
}

#endif
