#include "base/buf.h"

#include "base/format.h"
#include "base/mem.h"

void buf_init(struct buf *buf)
{
    *buf = (struct buf){0};
}

void buf_finish(struct buf *buf)
{
    mem_free(buf->data);
    buf_init(buf);
}

void buf_grow(struct buf *buf, size_t extra)
{
    size_t capacity = MAX(buf->capacity * 2, (size_t)512);
    while (capacity - buf->len < extra) {
        capacity *= 2;
    }
    buf->data = mem_realloc(buf->data, capacity);
    buf->capacity = capacity;
}

void buf_format(struct buf *buf, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    format_add(buf, format, args);
    va_end(args);
    *buf_reserve(buf, 1) = '\0';
}

void buf_add_int64(struct buf *buf, int64_t value)
{
    char digits[20];
    size_t count = 0;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        digits[count++] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    char *at = buf_reserve(buf, count + 1);
    char *start = at;
    if (value < 0) {
        *at++ = '-';
    }
    while (count > 0) {
        *at++ = digits[--count];
    }
    buf->len += (size_t)(at - start);
}
