/* Allocates memory for secrets in separate pages, marked MADV_DONTDUMP and locked with mlock().
 * Called on any thread; each arena belongs to its caller. */
#include "base/secret.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { BLOCK_BYTES_MIN = 16 * 1024, ALIGNMENT = 16 };

struct secret_block {
    struct secret_block *next;
    size_t size; /* of the whole mapping, including this struct */
    size_t used;
};

static struct secret_block *map_block(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        perror("gramme: out of memory");
        abort();
    }
    madvise(memory, size, MADV_DONTDUMP);
    (void)mlock(memory, size); /* fails beyond RLIMIT_MEMLOCK; then the pages may be swapped out */
    struct secret_block *block = memory;
    block->size = size;
    block->used = sizeof(*block);
    return block;
}

void *secret_alloc(struct secret_arena *arena, size_t size)
{
    size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    struct secret_block *block = arena->blocks;
    if (block == NULL || block->size - block->used < size) {
        size_t header = (sizeof(*block) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        block = map_block(MAX(header + size, (size_t)BLOCK_BYTES_MIN));
        block->used = header;
        block->next = arena->blocks;
        arena->blocks = block;
    }
    void *memory = (char *)block + block->used;
    block->used += size;
    return memory;
}

struct str secret_copy(struct secret_arena *arena, struct str text)
{
    char *copy = secret_alloc(arena, text.len + 1);
    memcpy(copy, text.data, text.len);
    return str_make(copy, text.len);
}

void secret_erase(void *bytes, size_t size)
{
    explicit_bzero(bytes, size);
}

void secret_arena_finish(struct secret_arena *arena)
{
    while (arena->blocks != NULL) {
        struct secret_block *block = arena->blocks;
        arena->blocks = block->next;
        size_t size = block->size;
        secret_erase(block, size);
        munmap(block, size);
    }
}

struct str secret_take_environment(struct secret_arena *arena, const char *name)
{
    char *value = getenv(name);
    if (value == NULL) {
        return STR_NULL;
    }
    struct str copy = secret_copy(arena, str_from_c(value));
    secret_erase(value, copy.len);
    return copy;
}
