/* Wraps malloc() and its relatives. Any thread. */
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>

static void *check_allocated(void *ptr, size_t size)
{
    if (ptr == NULL && size > 0) {
        fprintf(stderr, "gramme: out of memory (%zu bytes)\n", size);
        abort();
    }
    return ptr;
}

void *mem_alloc(size_t size)
{
    return check_allocated(malloc(size), size);
}

void *mem_zalloc(size_t size)
{
    return check_allocated(calloc(1, size), size);
}

void *mem_realloc(void *ptr, size_t size)
{
    return check_allocated(realloc(ptr, size), size);
}

char *mem_strdup(const char *text)
{
    return check_allocated(strdup(text), strlen(text) + 1);
}

void *mem_alloc_aligned(size_t alignment, size_t size)
{
    return check_allocated(aligned_alloc(alignment, size), size);
}

void mem_free(void *ptr)
{
    free(ptr);
}
