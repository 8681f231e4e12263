/* A part of a byte source in memory. Called by the readers of archives, on their thread. */
#include "archive/window.h"

#include "base/mem.h"

enum { READ_BYTES = 128 * 1024 };

void window_init(struct window *window, struct byte_source *source, size_t capacity_max)
{
    *window = (struct window){.source = source, .capacity_max = capacity_max};
}

void window_finish(struct window *window)
{
    mem_free(window->data);
    window->data = NULL;
}

/* Makes room for a read: moves what is left to the front, or grows. */
static bool make_room(struct window *window, struct err *err)
{
    if (window->capacity - window->end >= READ_BYTES) {
        return true;
    }
    if (window->start > 0) {
        memmove(window->data, window->data + window->start, window->end - window->start);
        window->end -= window->start;
        window->start = 0;
    }
    if (window->capacity - window->end < READ_BYTES) {
        if (window->capacity >= window->capacity_max) {
            return err_set(err, ERR_VALIDATION, "A record is longer than %zu bytes",
                           window->capacity_max);
        }
        window->capacity = MAX(2 * window->capacity, (size_t)4 * READ_BYTES);
        window->data = mem_realloc(window->data, window->capacity);
    }
    return true;
}

bool window_fill(struct window *window, struct err *err)
{
    size_t len = 0;
    if (window->is_end) {
        return true;
    }
    if (!make_room(window, err) ||
        !window->source->read(window->source, window->data + window->end, READ_BYTES, &len, err)) {
        return false;
    }
    window->end += len;
    window->is_end = len == 0;
    return true;
}

bool window_skip_to(struct window *window, uint64_t position, struct err *err)
{
    while (window->position < position) {
        uint64_t left = position - window->position;
        size_t here = window->end - window->start;
        if (here == 0 && !window_fill(window, err)) {
            return false;
        }
        here = window->end - window->start;
        if (here == 0) {
            return err_set(err, ERR_VALIDATION, "The object is shorter than it was");
        }
        window_take(window, (size_t)MIN(left, (uint64_t)here));
    }
    return true;
}
