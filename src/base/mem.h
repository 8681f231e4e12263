/* base/mem.h: malloc that aborts instead of returning NULL. Requests have budgets (base/budget.h),
 * so no client can make memory run out; if it does the machine has too little. */
#ifndef GRAMME_BASE_MEM_H
#define GRAMME_BASE_MEM_H

#include "base/base.h"

/* Each returns memory that the caller frees with mem_free(); none returns NULL. */
MUST_USE void *mem_alloc(size_t size);
MUST_USE void *mem_zalloc(size_t size);
MUST_USE void *mem_realloc(void *ptr, size_t size);
MUST_USE char *mem_strdup(const char *text);
/* `size` is a multiple of `alignment`, which is a power of two. */
MUST_USE void *mem_alloc_aligned(size_t alignment, size_t size);
/* Accepts NULL. */
void mem_free(void *ptr);

#endif
