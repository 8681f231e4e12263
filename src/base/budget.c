/* Counts the memory of requests. Called when arenas and buffers allocate or free a block, not for
 * each small allocation. Any thread. */
#include "base/budget.h"

enum { SMALL_SHARE = 8 }; /* 1/8 of the pool is reserved for small requests */

void budget_init(struct budget *budget, struct memory_pool *pool, size_t bytes_max)
{
    budget->pool = pool;
    budget->bytes_max = bytes_max;
    atomic_init(&budget->used_bytes, 0);
    atomic_init(&budget->state, BUDGET_FITS);
}

void memory_pool_add(struct memory_pool *pool, size_t bytes)
{
    if (pool != NULL) {
        atomic_fetch_add_explicit(&pool->used_bytes, bytes, memory_order_relaxed);
    }
}

void memory_pool_remove(struct memory_pool *pool, size_t bytes)
{
    if (pool != NULL) {
        size_t before = atomic_fetch_sub_explicit(&pool->used_bytes, bytes, memory_order_relaxed);
        assert(before >= bytes);
    }
}

/* Keeps the first state that is not BUDGET_FITS. */
static void mark_over(struct budget *budget, enum budget_state state)
{
    int fits = BUDGET_FITS;
    atomic_compare_exchange_strong_explicit(&budget->state, &fits, state, memory_order_relaxed,
                                            memory_order_relaxed);
}

void budget_charge(struct budget *budget, size_t bytes)
{
    if (budget == NULL) {
        return;
    }
    size_t used =
        atomic_fetch_add_explicit(&budget->used_bytes, bytes, memory_order_relaxed) + bytes;
    if (budget->bytes_max > 0 && used > budget->bytes_max) {
        mark_over(budget, BUDGET_OVER_OWN);
    }
    struct memory_pool *pool = budget->pool;
    if (pool == NULL) {
        return;
    }
    size_t kept = used <= BUDGET_SMALL_BYTES ? 0 : pool->bytes_max / SMALL_SHARE;
    size_t all = atomic_fetch_add_explicit(&pool->used_bytes, bytes, memory_order_relaxed) + bytes;
    if (all > pool->bytes_max - kept) {
        mark_over(budget, BUDGET_OVER_POOL);
    }
}

void budget_release(struct budget *budget, size_t bytes)
{
    if (budget == NULL) {
        return;
    }
    size_t before = atomic_fetch_sub_explicit(&budget->used_bytes, bytes, memory_order_relaxed);
    assert(before >= bytes);
    memory_pool_remove(budget->pool, bytes);
}

void budget_restart(struct budget *budget)
{
    atomic_store_explicit(&budget->state, BUDGET_FITS, memory_order_relaxed);
}
