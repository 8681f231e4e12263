/* base/arena.h: allocations that are freed together. Everything that belongs to one request comes
 * from one arena and is freed when the arena is reset, so handlers need no cleanup.
 *
 * An arena may be used by one thread at a time. */
#ifndef GRAMME_BASE_ARENA_H
#define GRAMME_BASE_ARENA_H

#include <stdarg.h>

#include "base/budget.h"
#include "base/str.h"

struct arena_chunk;

struct arena {
    struct arena_chunk *chunk; /* the current one, linked to older ones */
    char *at;
    char *end;
    struct budget *budget; /* charged for every chunk; NULL: not limited */
};

struct arena_mark {
    struct arena_chunk *chunk;
    char *at;
};

/* Makes an empty arena in the caller's memory. Allocates nothing. */
void arena_init(struct arena *arena);
/* Charges all later chunks to `budget`, which must outlive the arena. The arena must be empty. */
void arena_set_budget(struct arena *arena, struct budget *budget);
/* Whether the arena holds more than its budget allows: a loop that fills it must then stop and
 * fail (err_set_over_budget()). Allocations still succeed. */
static inline bool arena_is_over_budget(const struct arena *arena)
{
    return UNLIKELY(budget_state(arena->budget) != BUDGET_FITS);
}
/* Frees all memory. The arena may be used again, with the same budget. */
void arena_finish(struct arena *arena);
/* Overwrites all memory of the arena, which held a secret. The arena must be reset or finished
 * next. */
void arena_erase(struct arena *arena);
/* Frees all allocations but keeps one chunk of the ordinary size for the next use. */
void arena_reset(struct arena *arena);

/* Returns `size` bytes aligned for any type, uninitialised. They are valid until arena_reset(),
 * arena_finish() or an arena_rewind() to an older mark. Never NULL. */
MUST_USE void *arena_alloc(struct arena *arena, size_t size);
/* As arena_alloc(), filled with zeros. */
MUST_USE void *arena_zalloc(struct arena *arena, size_t size);
/* As arena_alloc() without alignment, for bytes. */
MUST_USE char *arena_bytes(struct arena *arena, size_t size);
/* Shrinks the newest arena_bytes() allocation `ptr` from `size` to `kept` bytes. */
void arena_trim(struct arena *arena, char *ptr, size_t size, size_t kept);
/* Copies `s` into the arena. */
MUST_USE struct str arena_copy(struct arena *arena, struct str s);
/* As arena_copy(), followed by a NUL that is not counted, for functions of the C library. */
MUST_USE struct str arena_copy_c(struct arena *arena, struct str s);
/* Formats a text into the arena (see base/format.h). It is followed by a NUL that is not counted.
 */
MUST_USE struct str arena_format(struct arena *arena, const char *format, ...) PRINTF_LIKE(2, 3);
/* The same with a va_list. */
MUST_USE struct str arena_vformat(struct arena *arena, const char *format, va_list args);

/* Returns a mark for arena_rewind(). Marks nest. */
MUST_USE struct arena_mark arena_mark(const struct arena *arena);
/* Frees everything that was allocated after `mark` was taken. */
void arena_rewind(struct arena *arena, struct arena_mark mark);

/* One zeroed object of `type`, and an array of `count` of them. */
#define ARENA_NEW(arena, type)          ((type *)arena_zalloc((arena), sizeof(type)))
#define ARENA_ARRAY(arena, type, count) ((type *)arena_zalloc((arena), sizeof(type) * (count)))

#endif
