/* A store that lets chosen calls fail: see fault.h. Other calls are passed to the inner store as
 * they are. A call that is to fail later is copied, with callbacks of this file in place of the
 * caller's. */
#include "store/fault/fault.h"

#include "base/mem.h"
#include "store/batch_internal.h"

struct plan {
    _Atomic uint64_t calls;
    _Atomic uint64_t nth;   /* the call that fails, counted by `calls`; 0: none */
    _Atomic uint64_t every; /* every nth call fails; 0: none */
    _Atomic uint64_t faults;
};

struct fault {
    struct store store;
    struct store *inner;
    struct plan plans[FAULT_KIND_COUNT];
};

static struct fault *fault_of(struct store *store)
{
    return CONTAINER_OF(store, struct fault, store);
}

static bool is_due(struct fault *fault, enum fault_kind kind)
{
    struct plan *plan = &fault->plans[kind];
    uint64_t call = atomic_fetch_add(&plan->calls, 1) + 1;
    uint64_t every = atomic_load(&plan->every);
    bool due = call == atomic_load(&plan->nth) || (every > 0 && call % every == 0);
    if (due) {
        atomic_fetch_add(&plan->faults, 1);
    }
    return due;
}

void fault_nth(struct store *store, enum fault_kind kind, uint64_t nth)
{
    struct plan *plan = &fault_of(store)->plans[kind];
    atomic_store(&plan->nth, nth == 0 ? 0 : atomic_load(&plan->calls) + nth);
}

void fault_every(struct store *store, enum fault_kind kind, uint64_t nth)
{
    atomic_store(&fault_of(store)->plans[kind].every, nth);
}

uint64_t fault_count(const struct store *store, enum fault_kind kind)
{
    const struct fault *fault = CONTAINER_OF(store, const struct fault, store);
    return atomic_load(&fault->plans[kind].faults);
}

static void fault_get(struct store *store, struct store_get *get)
{
    struct fault *fault = fault_of(store);
    if (is_due(fault, FAULT_GET)) {
        get->rows = ARENA_ARRAY(get->arena, struct str, get->key_count);
        get->status = STORE_FAILED;
        get->done(get);
        return;
    }
    store_get(fault->inner, get);
}

/* A range that ends after its first row. */
struct cut_range {
    struct store_range range;
    struct store_range *original;
    bool cut;
};

static bool give_first_row(struct store_range *range, struct str key, struct str value)
{
    struct cut_range *cut = CONTAINER_OF(range, struct cut_range, range);
    struct store_range *original = cut->original;
    original->may_take_long = range->may_take_long;
    original->put_off = false;
    cut->cut = original->row(original, key, value);
    range->put_off = original->put_off; /* the store passes the row again */
    return false;
}

static void change_thread(struct store_range *range)
{
    struct store_range *original = CONTAINER_OF(range, struct cut_range, range)->original;
    original->before_thread_change(original);
}

static void finish_cut_range(struct store_range *range)
{
    struct cut_range *cut = CONTAINER_OF(range, struct cut_range, range);
    struct store_range *original = cut->original;
    original->status = cut->cut ? STORE_FAILED : range->status;
    original->is_unreadable = range->is_unreadable;
    mem_free(cut);
    original->done(original);
}

static void fault_range(struct store *store, struct store_range *range)
{
    struct fault *fault = fault_of(store);
    bool is_bad = is_due(fault, FAULT_RANGE_BAD);
    if (is_due(fault, FAULT_RANGE) || is_bad) {
        range->is_unreadable = is_bad;
        range->status = STORE_FAILED;
        range->done(range);
        return;
    }
    if (is_due(fault, FAULT_RANGE_MIDDLE)) {
        struct cut_range *cut = mem_zalloc(sizeof(*cut));
        cut->range = *range;
        cut->range.row = give_first_row;
        cut->range.done = finish_cut_range;
        cut->range.before_thread_change =
            range->before_thread_change != NULL ? change_thread : NULL;
        cut->original = range;
        range = &cut->range;
    }
    store_range(fault->inner, range);
}

/* An update whose eval runs twice, or whose answer is lost. */
struct odd_update {
    struct store_update update;
    struct store_update *original;
    bool eval_twice;
    bool lose_answer;
};

static bool eval_odd(struct store_update *update, const struct str *rows, struct store_batch *batch)
{
    struct odd_update *odd = CONTAINER_OF(update, struct odd_update, update);
    odd->original->is_prepared = update->is_prepared;
    odd->original->time_ns = update->time_ns;
    if (odd->eval_twice) {
        odd->original->eval(odd->original, rows, batch);
        store_batch_start(batch, update);
    }
    bool writes = odd->original->eval(odd->original, rows, batch);
    update->frees = odd->original->frees;
    return writes;
}

static void prepare_odd(struct store_update *update, size_t index, struct str row)
{
    struct store_update *original = CONTAINER_OF(update, struct odd_update, update)->original;
    original->prepare(original, index, row);
}

static void finish_odd(struct store_update *update)
{
    struct odd_update *odd = CONTAINER_OF(update, struct odd_update, update);
    struct store_update *original = odd->original;
    bool lost = odd->lose_answer && update->status == STORE_OK;
    original->status = lost ? STORE_UNKNOWN : update->status;
    mem_free(odd);
    original->done(original);
}

static void fail_on_owner_thread(struct task *task)
{
    struct store_update *update = CONTAINER_OF(task, struct store_update, task);
    update->done(update);
}

static void fail_update(struct store_update *update, enum store_status status)
{
    update->status = status;
    update->task.run = fail_on_owner_thread;
    mailbox_post(update->home, &update->task);
}

static void fault_update(struct store *store, struct store_update *update, bool is_alone)
{
    struct fault *fault = fault_of(store);
    if (is_due(fault, FAULT_UPDATE_BEFORE)) {
        fail_update(update, STORE_FAILED);
        return;
    }
    if (is_due(fault, FAULT_UPDATE_LOST)) {
        fail_update(update, STORE_UNKNOWN);
        return;
    }
    bool eval_twice = is_due(fault, FAULT_EVAL_TWICE);
    bool lose_answer = is_due(fault, FAULT_UPDATE_AFTER);
    if (eval_twice || lose_answer) {
        struct odd_update *odd = mem_zalloc(sizeof(*odd));
        odd->update = *update;
        odd->update.eval = eval_odd;
        odd->update.prepare = update->prepare != NULL ? prepare_odd : NULL;
        odd->update.done = finish_odd;
        odd->original = update;
        odd->eval_twice = eval_twice;
        odd->lose_answer = lose_answer;
        update = &odd->update;
    }
    fault->inner->ops->update(fault->inner, update, is_alone);
}

static void fault_drop_space(struct store *store, uint32_t space)
{
    store_drop_space(fault_of(store)->inner, space);
}

static void fault_settle(struct store *store, struct store_settle *settle)
{
    store_settle(fault_of(store)->inner, settle);
}

static void fault_set_clock(struct store *store, struct store_clock clock)
{
    store_set_clock(fault_of(store)->inner, clock);
}

static void fault_close(struct store *store)
{
    struct fault *fault = fault_of(store);
    store_close(fault->inner);
    mem_free(fault);
}

static const struct store_ops fault_ops = {
    .close = fault_close,
    .get = fault_get,
    .range = fault_range,
    .update = fault_update,
    .drop_space = fault_drop_space,
    .settle = fault_settle,
    .set_clock = fault_set_clock,
};

struct store *fault_create(struct store *inner)
{
    struct fault *fault = mem_zalloc(sizeof(*fault));
    fault->store.ops = &fault_ops;
    fault->store.seed = store_seed(inner);
    fault->store.key_len_max = store_key_len_max(inner);
    fault->store.directory = inner->directory;
    fault->inner = inner;
    return &fault->store;
}
