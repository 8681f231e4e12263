/* base/mem.h: allocation that aborts the process instead of returning NULL. Requests have budgets
 * (base/budget.h), so clients cannot exhaust memory; if it is exhausted, the machine has too little
 * for its settings. */
#ifndef GRAMME_BASE_MEM_H
#define GRAMME_BASE_MEM_H

#include "base/base.h"

/* Returns `size` bytes, uninitialised. Free them with mem_free(), like those of all functions
 * below. */
MUST_USE void *mem_alloc(size_t size);
/* Returns `size` zeroed bytes. */
MUST_USE void *mem_zalloc(size_t size);
/* Resizes an allocation as realloc() does; `ptr` may be NULL. */
MUST_USE void *mem_realloc(void *ptr, size_t size);
/* Copies a NUL-terminated text. */
MUST_USE char *mem_strdup(const char *text);
/* Returns `size` bytes at a multiple of `alignment`, a power of two of which `size` is a multiple.
 */
MUST_USE void *mem_alloc_aligned(size_t alignment, size_t size);
/* Frees memory of the functions above. Accepts NULL. */
void mem_free(void *ptr);

#endif
