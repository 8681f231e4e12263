/* The slots of a loop: a connection has one while it is busy, and returns it when it is idle. With
 * handlers that answer at once, all connections of a loop use the same slot, which stays in the
 * processor's cache, and no request allocates memory. All memory of a slot counts in
 * options.memory, also while the slot is free. On the loop's thread. */
#include "http/http_internal.h"

#include "base/mem.h"

enum {
    FREE_DESKS_MAX = 128,
    IN_BYTES_MIN = 32 * 1024,
    IN_BYTES_BESIDE_HEAD = 16 * 1024, /* of the read buffer, for small bodies and for chunks */
    KEPT_BYTES_MAX = 64 * 1024,       /* larger buffers are freed when the slot is returned */
    /* Buffers of large answers are kept for a short time, because new memory costs a page fault for
     * each 4 KiB: largest size of a buffer, of all of them, and the time. */
    LARGE_BYTES_MAX = 2 * 1024 * 1024,
    LARGE_ALL_BYTES_MAX = 16 * 1024 * 1024,
    LARGE_MS_MAX = 1000,
    DROPPED_BYTES_MIN = 256 * 1024, /* requests with less memory are freed by the loop */
};

static struct request_slot *create(const struct loop *loop)
{
    size_t in_size =
        MAX(loop_options(loop)->head_bytes_max + IN_BYTES_BESIDE_HEAD, (size_t)IN_BYTES_MIN);
    struct memory_pool *memory = loop_options(loop)->memory;
    struct request_slot *slot = mem_alloc(sizeof(*slot) + in_size);
    memory_pool_add(memory, sizeof(*slot) + in_size);
    memset(slot, 0, sizeof(*slot));
    slot->in_size = in_size;
    budget_init(&slot->arena_budget, memory, loop_options(loop)->arena_bytes_max);
    budget_init(&slot->buf_budget, memory, 0);
    arena_init(&slot->arena);
    arena_set_budget(&slot->arena, &slot->arena_budget);
    slot->body.budget = slot->plain.budget = &slot->buf_budget;
    slot->out.budget = slot->tail.budget = &slot->buf_budget;
    slot->coded.budget = &slot->buf_budget;
    return slot;
}

void slot_erase_request(struct request_slot *slot)
{
    arena_erase(&slot->arena);
    buf_erase(&slot->body);
    buf_erase(&slot->plain);
}

static void erase(struct request_slot *slot)
{
    slot_erase_request(slot);
    buf_erase(&slot->out);
    buf_erase(&slot->tail);
    buf_erase(&slot->coded);
    explicit_bzero(slot->in, slot->in_size);
    slot->holds_secret = false;
}

static void destroy(const struct loop *loop, struct request_slot *slot)
{
    memory_pool_remove(loop_options(loop)->memory, sizeof(*slot) + slot->in_size);
    arena_finish(&slot->arena);
    budget_restart(&slot->arena_budget);
    buf_finish(&slot->body);
    buf_finish(&slot->plain);
    buf_finish(&slot->out);
    buf_finish(&slot->tail);
    buf_finish(&slot->coded);
    mem_free(slot);
}

static bool is_large(const struct buf *buf)
{
    return buf->capacity > KEPT_BYTES_MAX;
}

static struct request_slot *take_free(struct loop *loop)
{
    struct request_slot *slot = loop->free_slots;
    loop->free_slots = slot->next_free;
    loop->free_slot_count--;
    if (is_large(&slot->out)) {
        assert(loop->large_bytes >= slot->out.capacity);
        loop->large_bytes -= slot->out.capacity;
    }
    return slot;
}

struct request_slot *slot_take(struct loop *loop, struct conn *conn)
{
    struct request_slot *slot = NULL;
    if (loop->free_slots != NULL) {
        slot = take_free(loop);
    } else {
        slot = create(loop);
    }
    slot->conn = conn;
    slot->stage = STAGE_HEAD;
    slot->continue_wanted = false;
    slot->is_busy = false;
    atomic_store_explicit(&slot->is_abandoned, false, memory_order_relaxed);
    slot->in_start = slot->in_at = slot->in_len = 0;
    slot->piece_count = 0;
    slot->unsent_count = 0;
    slot->out.len = 0;
    head_init(&slot->head);
    return slot;
}

static void shrink(struct buf *buf)
{
    if (is_large(buf)) {
        buf_finish(buf);
    }
}

void slot_drop_body(struct request_slot *slot)
{
    shrink(&slot->body);
    shrink(&slot->plain);
}

void slot_drop_request(struct request_slot *slot)
{
    if (slot->holds_secret ||
        budget_used(&slot->arena_budget) + slot->body.capacity + slot->plain.capacity <=
            DROPPED_BYTES_MIN) {
        return;
    }
    struct arena old = slot->arena;
    struct http_answer answer = slot->answer;
    arena_init(&slot->arena);
    arena_set_budget(&slot->arena, &slot->arena_budget);
    answer_keep(slot, &answer);
    arena_finish(&old);
    slot_drop_body(slot);
    slot->exchange.body = slot->exchange.raw_body = STR("");
}

/* Whether free slots may hold memory: not while memory is short. */
static bool may_keep(const struct loop *loop)
{
    const struct memory_pool *memory = loop_options(loop)->memory;
    return loop->free_slot_count < FREE_DESKS_MAX &&
           (memory == NULL || memory_pool_used(memory) <= memory->bytes_max / 2);
}

/* Keeps the buffer of a large answer for the next one, unless memory is short. */
static void keep_large(struct loop *loop, struct buf *out)
{
    const struct memory_pool *memory = loop_options(loop)->memory;
    bool is_scarce = memory != NULL && memory_pool_used(memory) > memory->bytes_max / 4;
    if (is_scarce || out->capacity > LARGE_BYTES_MAX ||
        loop->large_bytes + out->capacity > LARGE_ALL_BYTES_MAX) {
        if (out->capacity > LARGE_BYTES_MAX) {
            slow_free(loop->server->slow, out);
        } else {
            buf_finish(out);
        }
        return;
    }
    loop->large_bytes += out->capacity;
    if (loop->large_until_ms == 0) {
        loop->large_until_ms = uv_now(&loop->uv) + LARGE_MS_MAX;
        wait_arm(loop, loop->large_until_ms);
    }
}

void slot_drop_large(struct loop *loop)
{
    for (struct request_slot *slot = loop->free_slots; slot != NULL; slot = slot->next_free) {
        shrink(&slot->out);
    }
    loop->large_bytes = 0;
    loop->large_until_ms = 0;
}

void slot_release_hold(struct request_slot *slot)
{
    struct http_hold *hold = slot->exchange.hold;
    if (UNLIKELY(hold != NULL)) {
        slot->exchange.hold = NULL;
        hold->release(hold);
    }
}

void slot_return(struct loop *loop, struct request_slot *slot)
{
    slot_release_hold(slot);
    if (UNLIKELY(slot->holds_secret)) {
        erase(slot);
    }
    if (!may_keep(loop)) {
        destroy(loop, slot);
        return;
    }
    arena_reset(&slot->arena);
    slot_drop_body(slot);
    if (is_large(&slot->out)) {
        keep_large(loop, &slot->out);
    }
    shrink(&slot->tail);
    shrink(&slot->coded);
    budget_restart(&slot->arena_budget);
    budget_restart(&slot->buf_budget);
    slot->conn = NULL;
    slot->next_free = loop->free_slots;
    loop->free_slots = slot;
    loop->free_slot_count++;
}

void slot_free_all(struct loop *loop)
{
    while (loop->free_slots != NULL) {
        struct request_slot *slot = loop->free_slots;
        loop->free_slots = slot->next_free;
        destroy(loop, slot);
    }
    loop->free_slot_count = 0;
    loop->large_bytes = 0;
}
