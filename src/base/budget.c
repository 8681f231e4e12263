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

static bool is_favored(const struct budget *budget)
{
    return budget->pool != NULL &&
           atomic_load_explicit(&budget->pool->favored, memory_order_relaxed) == budget;
}

/* Favors a budget that does not fit into the pool, if no other is favored. */
static bool try_favor(struct budget *budget)
{
    struct budget *none = NULL;
    return budget->bytes_max > 0 && budget_state(budget) == BUDGET_FITS &&
           atomic_compare_exchange_strong_explicit(&budget->pool->favored, &none, budget,
                                                   memory_order_acquire, memory_order_relaxed);
}

static void charge_pool(struct budget *budget, size_t used, size_t bytes)
{
    struct memory_pool *pool = budget->pool;
    size_t kept = used <= BUDGET_SMALL_BYTES ? 0 : pool->bytes_max / SMALL_SHARE;
    bool favored = is_favored(budget);
    memory_pool_add(pool, bytes);
    if (!favored && UNLIKELY(memory_pool_limited(pool) > pool->bytes_max - kept)) {
        favored = try_favor(budget);
        if (!favored) {
            mark_over(budget, BUDGET_OVER_POOL);
        }
    }
    if (UNLIKELY(favored)) {
        atomic_fetch_add_explicit(&pool->favored_bytes, bytes, memory_order_relaxed);
    }
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
    if (budget->pool != NULL) {
        charge_pool(budget, used, bytes);
    }
}

/* Only the favored request changes favored_bytes. */
static void release_favored(struct memory_pool *pool, size_t bytes)
{
    size_t favored = atomic_load_explicit(&pool->favored_bytes, memory_order_relaxed);
    atomic_store_explicit(&pool->favored_bytes, favored - MIN(favored, bytes),
                          memory_order_relaxed);
}

void budget_release(struct budget *budget, size_t bytes)
{
    if (budget == NULL) {
        return;
    }
    size_t before = atomic_fetch_sub_explicit(&budget->used_bytes, bytes, memory_order_relaxed);
    assert(before >= bytes);
    if (UNLIKELY(is_favored(budget))) {
        release_favored(budget->pool, bytes);
    }
    memory_pool_remove(budget->pool, bytes);
}

void budget_yield(struct budget *budget)
{
    if (UNLIKELY(is_favored(budget))) {
        atomic_store_explicit(&budget->pool->favored_bytes, 0, memory_order_relaxed);
        atomic_store_explicit(&budget->pool->favored, NULL, memory_order_release);
    }
}

void budget_restart(struct budget *budget)
{
    budget_yield(budget);
    atomic_store_explicit(&budget->state, BUDGET_FITS, memory_order_relaxed);
}
