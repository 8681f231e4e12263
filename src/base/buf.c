/* Implements growing buffers. Used by one thread at a time. */
#include "base/buf.h"

#include "base/format.h"
#include "base/mem.h"

void buf_init(struct buf *buf)
{
    *buf = (struct buf){0};
}

static void set_capacity(struct buf *buf, size_t capacity)
{
    if (capacity > buf->capacity) {
        budget_charge(buf->budget, capacity - buf->capacity);
    }
    size_t before = buf->capacity;
    buf->data = mem_realloc(buf->data, capacity);
    buf->capacity = capacity;
    if (capacity < before) {
        budget_release(buf->budget, before - capacity);
    }
}

void buf_finish(struct buf *buf)
{
    mem_free(buf->data);
    budget_release(buf->budget, buf->capacity);
    *buf = (struct buf){.budget = buf->budget};
}

/* Doubles small buffers and grows large ones by a quarter, to waste less memory. */
void buf_grow(struct buf *buf, size_t extra)
{
    enum { SMALL = 512, LARGE = 4 * 1024 * 1024 };
    size_t capacity = buf->capacity;
    while (capacity - buf->len < extra) {
        capacity += capacity >= LARGE ? capacity / 4 : MAX(capacity, (size_t)SMALL);
    }
    set_capacity(buf, capacity);
}

void buf_erase(struct buf *buf)
{
    if (buf->capacity > 0) {
        explicit_bzero(buf->data, buf->capacity);
    }
    buf->len = 0;
}

void buf_shrink(struct buf *buf, size_t capacity_max)
{
    if (buf->capacity > capacity_max && buf->capacity - buf->len > buf->capacity / 4) {
        set_capacity(buf, MAX(buf->len, capacity_max));
    }
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
