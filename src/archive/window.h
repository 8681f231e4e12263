/* archive/window.h: a part of a byte source in memory, from which records are taken. It grows up to
 * a limit if a record is longer than the window. */
#ifndef GRAMME_ARCHIVE_WINDOW_H
#define GRAMME_ARCHIVE_WINDOW_H

#include "archive/source.h"

struct window {
    struct byte_source *source; /* borrowed */
    char *data;
    size_t start; /* of what has not been taken */
    size_t end;
    size_t capacity;
    size_t capacity_max;
    uint64_t position; /* of `start` in the source */
    bool is_end;       /* the source has no more */
};

/* Makes an empty window. */
void window_init(struct window *window, struct byte_source *source, size_t capacity_max);
/* Frees its memory. */
void window_finish(struct window *window);

/* What is in the window and has not been taken; valid until the next window_fill(). */
static inline struct str window_text(const struct window *window)
{
    /* Memory is allocated when the window is filled for the first time; offsets to a null pointer
     * are undefined. */
    const char *start = window->data != NULL ? window->data + window->start : "";
    return str_make(start, window->end - window->start);
}

/* Reads more; at the end of the source sets is_end. False: *err, also if a window of the largest
 * size is full (ERR_VALIDATION). */
MUST_USE bool window_fill(struct window *window, struct err *err);

/* Whether the window has its largest size and is full of bytes that were not taken yet. */
static inline bool window_is_full(const struct window *window)
{
    return window->start == 0 && window->capacity >= window->capacity_max;
}

/* Takes the first `count` bytes. */
static inline void window_take(struct window *window, size_t count)
{
    assert(count <= window->end - window->start);
    window->start += count;
    window->position += count;
}

/* Reads and discards bytes up to `position`. False: *err, also if the source ends before it. */
MUST_USE bool window_skip_to(struct window *window, uint64_t position, struct err *err);

#endif
