/* base/arena.h: memory that goes all at once. Everything that belongs to one request comes from
 * one arena and is gone when the arena is reset, so handlers need no clean-up.
 *
 * An arena belongs to one thread at a time. */
#ifndef GRAMME_BASE_ARENA_H
#define GRAMME_BASE_ARENA_H

#include <stdarg.h>

#include "base/budget.h"
#include "base/str.h"

struct arena_chunk;

struct arena {
    struct arena_chunk *chunk; /* the one that is filled now; older ones hang behind it */
    char *at;
    char *end;
    struct budget *budget; /* charged for every chunk; NULL: none */
};

struct arena_mark {
    struct arena_chunk *chunk;
    char *at;
};

/* An empty arena, in the caller's memory; nothing is allocated before it is used. */
void arena_init(struct arena *arena);
/* Charges `budget`, which must outlive the arena, from now on; the arena must be empty. */
void arena_set_budget(struct arena *arena, struct budget *budget);
/* Whether the arena holds more than its budget allows: a loop that fills it must then stop and
 * fail (err_set_over_budget()). Allocations still succeed. */
static inline bool arena_is_over_budget(const struct arena *arena)
{
    return UNLIKELY(budget_state(arena->budget) != BUDGET_FITS);
}
/* Frees all. The arena may be used again, with the same budget. */
void arena_finish(struct arena *arena);
/* Forgets every allocation but keeps one chunk of ordinary size for the next use. */
void arena_reset(struct arena *arena);

/* `size` bytes aligned for any type, uninitialised, valid until reset, rewind or finish. */
MUST_USE void *arena_alloc(struct arena *arena, size_t size);
MUST_USE void *arena_zalloc(struct arena *arena, size_t size);
/* The same without alignment, for bytes. */
MUST_USE char *arena_bytes(struct arena *arena, size_t size);
/* Gives back the tail of the newest arena_bytes() allocation: `ptr` keeps `kept` bytes. */
void arena_trim(struct arena *arena, char *ptr, size_t size, size_t kept);
MUST_USE struct str arena_copy(struct arena *arena, struct str s);
/* The same with a NUL behind it, which is not counted: for C's functions. */
MUST_USE struct str arena_copy_c(struct arena *arena, struct str s);
/* Both leave a NUL behind the text, which is not counted. */
MUST_USE struct str arena_format(struct arena *arena, const char *format, ...) PRINTF_LIKE(2, 3);
MUST_USE struct str arena_vformat(struct arena *arena, const char *format, va_list args);

/* What was allocated after the mark goes with arena_rewind(); marks nest. */
MUST_USE struct arena_mark arena_mark(const struct arena *arena);
void arena_rewind(struct arena *arena, struct arena_mark mark);

#define ARENA_NEW(arena, type)          ((type *)arena_zalloc((arena), sizeof(type)))
#define ARENA_ARRAY(arena, type, count) ((type *)arena_zalloc((arena), sizeof(type) * (count)))

#endif
