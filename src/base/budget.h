/* base/budget.h: limits on memory. A pool counts the bytes that all requests hold together. Each
 * request has budgets that are charged to the pool: one for its arena, one for its buffers.
 *
 * budget_charge() never fails, because its callers could not handle a failure. It counts, and sets
 * the state of the budget to "over". Loops that allocate check this state and stop with an error,
 * so a limit is exceeded at most by what each thread allocates between two checks.
 *
 * When the pool is used up, requests that each hold a part of it could all fail, one after the
 * other, and none would finish. So the first budget with a limit of its own that does not fit is
 * favored: it may exceed the pool, up to its own limit, until its request ends. The others fail,
 * and return their memory.
 *
 * All counters are atomic: the arena and the buffers of a request may be used by different threads.
 */
#ifndef GRAMME_BASE_BUDGET_H
#define GRAMME_BASE_BUDGET_H

#include <stdatomic.h>

#include "base/base.h"

enum budget_state {
    BUDGET_FITS,
    BUDGET_OVER_OWN,  /* the request alone exceeds its limit */
    BUDGET_OVER_POOL, /* all requests together exceed the pool */
};

struct budget;

struct memory_pool {
    _Atomic size_t used_bytes;
    size_t bytes_max;
    _Atomic(struct budget *) favored; /* NULL: none; compared only */
    _Atomic size_t favored_bytes;     /* what it has charged since; not limited by the pool */
};

struct budget {
    struct memory_pool *pool; /* NULL: limited by bytes_max only */
    size_t bytes_max;         /* 0: limited by the pool only */
    _Atomic size_t used_bytes;
    _Atomic int state; /* enum budget_state */
};

/* A part of the pool is reserved for budgets that hold less than this, so that small requests
 * succeed while large ones are refused. */
#define BUDGET_SMALL_BYTES ((size_t)256 * 1024)

/* Makes an empty budget in the caller's memory. `pool` (may be NULL) must outlive it. */
void budget_init(struct budget *budget, struct memory_pool *pool, size_t bytes_max);
/* Counts bytes that were allocated or are about to be. Accepts NULL. */
void budget_charge(struct budget *budget, size_t bytes);
/* Counts charged bytes as free again. Accepts NULL. */
void budget_release(struct budget *budget, size_t bytes);
/* The request needs no more memory: if it was favored, another one may be. */
void budget_yield(struct budget *budget);
/* Sets the state to BUDGET_FITS, and favors it no more, for the next request or before it is freed.
 * Bytes that are still charged stay counted. */
void budget_restart(struct budget *budget);

/* Returns the state: BUDGET_FITS for NULL. Once a limit is exceeded it stays so until
 * budget_restart(), even if memory is freed. */
static inline enum budget_state budget_state(const struct budget *budget)
{
    return budget == NULL
               ? BUDGET_FITS
               : (enum budget_state)atomic_load_explicit(&budget->state, memory_order_relaxed);
}

/* Returns how many bytes are charged now. */
static inline size_t budget_used(const struct budget *budget)
{
    return atomic_load_explicit(&budget->used_bytes, memory_order_relaxed);
}

/* Counts memory that belongs to no budget but uses the pool. Accepts NULL. */
void memory_pool_add(struct memory_pool *pool, size_t bytes);
/* Undoes memory_pool_add(). Accepts NULL. */
void memory_pool_remove(struct memory_pool *pool, size_t bytes);

/* Returns how many bytes the pool holds now. 0 for NULL. */
static inline size_t memory_pool_used(const struct memory_pool *pool)
{
    return pool == NULL ? 0 : atomic_load_explicit(&pool->used_bytes, memory_order_relaxed);
}

/* Returns how many bytes count against the limit of the pool. */
static inline size_t memory_pool_limited(const struct memory_pool *pool)
{
    size_t used = memory_pool_used(pool);
    size_t favored = atomic_load_explicit(&pool->favored_bytes, memory_order_relaxed);
    return used - MIN(favored, used);
}

/* Returns whether the whole pool is in use, including the part for small requests. False for NULL.
 */
static inline bool memory_pool_is_full(const struct memory_pool *pool)
{
    return pool != NULL && memory_pool_limited(pool) > pool->bytes_max;
}

#endif
