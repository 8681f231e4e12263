/* base/budget.h: limits on memory. A pool counts the bytes that all requests hold together. A
 * request has budgets that draw on it: one for its arena, one for its buffers.
 *
 * Charging never fails, because those who allocate could not handle that. It counts, and marks the
 * budget as over its limit; whoever makes memory grow in a loop looks at the mark and stops with an
 * error. So a limit is exceeded by no more than what each thread allocates between two looks.
 *
 * All counters are atomic: the arena of a request may be on another thread than its buffers. */
#ifndef GRAMME_BASE_BUDGET_H
#define GRAMME_BASE_BUDGET_H

#include <stdatomic.h>

#include "base/base.h"

enum budget_state {
    BUDGET_FITS,
    BUDGET_OVER_OWN,  /* one request needs more than a request may have */
    BUDGET_OVER_POOL, /* all requests together hold too much */
};

struct memory_pool {
    _Atomic size_t used_bytes;
    size_t bytes_max;
};

struct budget {
    struct memory_pool *pool; /* NULL: not limited by others */
    size_t bytes_max;         /* 0: no limit of its own */
    _Atomic size_t used_bytes;
    _Atomic int state; /* enum budget_state */
};

/* Of a pool, a part is kept for budgets that hold less than this, so that small requests are served
 * while large ones are refused. */
#define BUDGET_SMALL_BYTES ((size_t)256 * 1024)

/* In the caller's memory; `pool` (may be NULL) must outlive it. */
void budget_init(struct budget *budget, struct memory_pool *pool, size_t bytes_max);
/* Counts bytes that were allocated, or are about to be; accepts NULL. */
void budget_charge(struct budget *budget, size_t bytes);
/* Counts bytes that were charged and are free again; accepts NULL. */
void budget_release(struct budget *budget, size_t bytes);
/* Forgets that it was over its limit, for the next request; what it holds stays counted. */
void budget_restart(struct budget *budget);

/* BUDGET_FITS for NULL. Stays over until budget_restart(). */
static inline enum budget_state budget_state(const struct budget *budget)
{
    return budget == NULL
               ? BUDGET_FITS
               : (enum budget_state)atomic_load_explicit(&budget->state, memory_order_relaxed);
}

static inline size_t budget_used(const struct budget *budget)
{
    return atomic_load_explicit(&budget->used_bytes, memory_order_relaxed);
}

/* Memory that belongs to no budget but counts in the pool. Accept NULL. */
void memory_pool_add(struct memory_pool *pool, size_t bytes);
void memory_pool_remove(struct memory_pool *pool, size_t bytes);

static inline size_t memory_pool_used(const struct memory_pool *pool)
{
    return pool == NULL ? 0 : atomic_load_explicit(&pool->used_bytes, memory_order_relaxed);
}

/* Whether the pool is used up, also the part for small requests; never for NULL. */
static inline bool memory_pool_is_full(const struct memory_pool *pool)
{
    return pool != NULL && memory_pool_used(pool) > pool->bytes_max;
}

#endif
