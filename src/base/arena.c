/* Implements arenas as a list of chunks, the newest first. The build option `arena_malloc` gives
 * every allocation a chunk of its own, so that AddressSanitizer finds overruns between allocations.
 */
#include "base/arena.h"

#include <stdalign.h>

#include "base/format.h"
#include "base/mem.h"

struct arena_chunk {
    struct arena_chunk *older;
    char *end;
    alignas(max_align_t) char data[];
};

enum { CHUNK_SIZE = 16 * 1024 };

void arena_init(struct arena *arena)
{
    *arena = (struct arena){0};
}

void arena_set_budget(struct arena *arena, struct budget *budget)
{
    assert(arena->chunk == NULL);
    arena->budget = budget;
}

static void free_newest(struct arena *arena)
{
    struct arena_chunk *chunk = arena->chunk;
    arena->chunk = chunk->older;
    budget_release(arena->budget, (size_t)(chunk->end - (char *)chunk));
    mem_free(chunk);
}

static void free_until(struct arena *arena, const struct arena_chunk *stop)
{
    while (arena->chunk != stop) {
        free_newest(arena);
    }
}

void arena_finish(struct arena *arena)
{
    free_until(arena, NULL);
    arena->at = NULL;
    arena->end = NULL;
}

void arena_erase(struct arena *arena)
{
    for (struct arena_chunk *chunk = arena->chunk; chunk != NULL; chunk = chunk->older) {
        explicit_bzero(chunk->data, (size_t)(chunk->end - chunk->data));
    }
}

void arena_reset(struct arena *arena)
{
#ifdef GRAMME_ARENA_MALLOC
    arena_finish(arena);
#else
    if (arena->chunk == NULL) {
        return;
    }
    while (arena->chunk->older != NULL) { /* the oldest one is of ordinary size, unless huge */
        free_newest(arena);
    }
    if (arena->chunk->end - arena->chunk->data > (ptrdiff_t)4 * CHUNK_SIZE) {
        arena_finish(arena);
        return;
    }
    arena->at = arena->chunk->data;
    arena->end = arena->chunk->end;
#endif
}

static void add_chunk(struct arena *arena, size_t size)
{
#ifdef GRAMME_ARENA_MALLOC
    size_t capacity = size;
#else
    size_t capacity = MAX(size, CHUNK_SIZE - sizeof(struct arena_chunk));
#endif
    budget_charge(arena->budget, sizeof(struct arena_chunk) + capacity);
    struct arena_chunk *chunk = mem_alloc(sizeof(*chunk) + capacity);
    chunk->older = arena->chunk;
    chunk->end = chunk->data + capacity;
    arena->chunk = chunk;
    arena->at = chunk->data;
    arena->end = chunk->end;
}

static char *take(struct arena *arena, size_t padding, size_t size)
{
#ifdef GRAMME_ARENA_MALLOC
    padding = 0;
    add_chunk(arena, size);
#else
    if (UNLIKELY((size_t)(arena->end - arena->at) < padding + size || arena->at == NULL)) {
        padding = 0;
        add_chunk(arena, size);
    }
#endif
    char *ptr = arena->at + padding;
    arena->at = ptr + size;
    return ptr;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    size_t padding = -(uintptr_t)arena->at & (alignof(max_align_t) - 1);
    return take(arena, padding, size);
}

void *arena_zalloc(struct arena *arena, size_t size)
{
    void *ptr = arena_alloc(arena, size);
    memset(ptr, 0, size);
    return ptr;
}

char *arena_bytes(struct arena *arena, size_t size)
{
    return take(arena, 0, size);
}

void arena_trim(struct arena *arena, char *ptr, size_t size, size_t kept)
{
    assert(kept <= size);
    if (arena->at == ptr + size) {
        arena->at = ptr + kept;
    }
}

struct str arena_copy(struct arena *arena, struct str s)
{
    char *data = arena_bytes(arena, s.len);
    if (s.len > 0) {
        memcpy(data, s.data, s.len);
    }
    return str_make(data, s.len);
}

struct str arena_copy_c(struct arena *arena, struct str s)
{
    char *copy = arena_bytes(arena, s.len + 1);
    if (s.len > 0) {
        memcpy(copy, s.data, s.len);
    }
    copy[s.len] = '\0';
    return str_make(copy, s.len);
}

struct str arena_vformat(struct arena *arena, const char *format, va_list args)
{
    struct buf text = {0};
    format_add(&text, format, args);
    buf_add_char(&text, '\0'); /* not counted */
    struct str copy = arena_copy(arena, buf_str(&text));
    buf_finish(&text);
    return str_make(copy.data, copy.len - 1);
}

struct str arena_format(struct arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct str text = arena_vformat(arena, format, args);
    va_end(args);
    return text;
}

struct arena_mark arena_mark(const struct arena *arena)
{
    return (struct arena_mark){.chunk = arena->chunk, .at = arena->at};
}

void arena_rewind(struct arena *arena, struct arena_mark mark)
{
    free_until(arena, mark.chunk);
    arena->at = mark.at;
    arena->end = mark.chunk == NULL ? NULL : mark.chunk->end;
}
