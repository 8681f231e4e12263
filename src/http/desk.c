/* The pool of desks: a connection has one while it is busy and returns it when it is idle. With
 * handlers that answer at once, all connections of a loop use the same desk, which stays in the
 * processor's cache; no request allocates. All memory of a desk counts in options.memory, also
 * while the desk is free. Each loop's thread has its own. */
#include "http/http_internal.h"

#include "base/mem.h"

enum {
    FREE_DESKS_MAX = 128,
    IN_BYTES_MIN = 32 * 1024,
    IN_BYTES_BESIDE_HEAD = 16 * 1024, /* for small bodies, and for chunks to come in */
    KEPT_BYTES_MAX = 64 * 1024,       /* larger buffers are freed before the desk is kept */
    /* But not at once those of answers, because fresh memory costs a page fault for each 4 KiB:
     * buffers up to this size, so many bytes of them in all, for so long. */
    LARGE_BYTES_MAX = 2 * 1024 * 1024,
    LARGE_ALL_BYTES_MAX = 16 * 1024 * 1024,
    LARGE_MS_MAX = 1000,
};

static struct desk *create(const struct loop *loop)
{
    size_t in_size =
        MAX(loop_options(loop)->head_bytes_max + IN_BYTES_BESIDE_HEAD, (size_t)IN_BYTES_MIN);
    struct memory_pool *memory = loop_options(loop)->memory;
    struct desk *desk = mem_alloc(sizeof(*desk) + in_size);
    memory_pool_add(memory, sizeof(*desk) + in_size);
    memset(desk, 0, sizeof(*desk));
    desk->in_size = in_size;
    budget_init(&desk->arena_budget, memory, loop_options(loop)->arena_bytes_max);
    budget_init(&desk->buf_budget, memory, 0);
    arena_init(&desk->arena);
    arena_set_budget(&desk->arena, &desk->arena_budget);
    desk->body.budget = desk->plain.budget = &desk->buf_budget;
    desk->out.budget = desk->tail.budget = &desk->buf_budget;
    desk->coded.budget = &desk->buf_budget;
    return desk;
}

static void destroy(const struct loop *loop, struct desk *desk)
{
    memory_pool_remove(loop_options(loop)->memory, sizeof(*desk) + desk->in_size);
    arena_finish(&desk->arena);
    budget_restart(&desk->arena_budget);
    buf_finish(&desk->body);
    buf_finish(&desk->plain);
    buf_finish(&desk->out);
    buf_finish(&desk->tail);
    buf_finish(&desk->coded);
    mem_free(desk);
}

static bool is_large(const struct buf *buf)
{
    return buf->capacity > KEPT_BYTES_MAX;
}

static struct desk *take_free(struct loop *loop)
{
    struct desk *desk = loop->free_desks;
    loop->free_desks = desk->next_free;
    loop->free_desk_count--;
    if (is_large(&desk->out)) {
        assert(loop->large_bytes >= desk->out.capacity);
        loop->large_bytes -= desk->out.capacity;
    }
    return desk;
}

struct desk *desk_take(struct loop *loop, struct conn *conn)
{
    struct desk *desk = NULL;
    if (loop->free_desks != NULL) {
        desk = take_free(loop);
    } else {
        desk = create(loop);
    }
    desk->conn = conn;
    desk->stage = STAGE_HEAD;
    desk->continue_wanted = false;
    desk->is_busy = false;
    atomic_store_explicit(&desk->is_abandoned, false, memory_order_relaxed);
    desk->in_start = desk->in_at = desk->in_len = 0;
    desk->piece_count = 0;
    desk->unsent_count = 0;
    desk->out.len = 0;
    head_init(&desk->head);
    return desk;
}

static void shrink(struct buf *buf)
{
    if (is_large(buf)) {
        buf_finish(buf);
    }
}

void desk_drop_body(struct desk *desk)
{
    shrink(&desk->body);
    shrink(&desk->plain);
}

/* Whether free desks may hold memory: not if that is scarce. */
static bool may_keep(const struct loop *loop)
{
    const struct memory_pool *memory = loop_options(loop)->memory;
    return loop->free_desk_count < FREE_DESKS_MAX &&
           (memory == NULL || memory_pool_used(memory) <= memory->bytes_max / 2);
}

/* Keeps the buffer of a large answer for the next one, if memory is plentiful. */
static void keep_large(struct loop *loop, struct buf *out)
{
    const struct memory_pool *memory = loop_options(loop)->memory;
    bool is_scarce = memory != NULL && memory_pool_used(memory) > memory->bytes_max / 4;
    if (is_scarce || out->capacity > LARGE_BYTES_MAX ||
        loop->large_bytes + out->capacity > LARGE_ALL_BYTES_MAX) {
        buf_finish(out);
        return;
    }
    loop->large_bytes += out->capacity;
    if (loop->large_until_ms == 0) {
        loop->large_until_ms = uv_now(&loop->uv) + LARGE_MS_MAX;
        wait_arm(loop, loop->large_until_ms);
    }
}

void desk_drop_large(struct loop *loop)
{
    for (struct desk *desk = loop->free_desks; desk != NULL; desk = desk->next_free) {
        shrink(&desk->out);
    }
    loop->large_bytes = 0;
    loop->large_until_ms = 0;
}

void desk_return(struct loop *loop, struct desk *desk)
{
    if (!may_keep(loop)) {
        destroy(loop, desk);
        return;
    }
    arena_reset(&desk->arena);
    desk_drop_body(desk);
    if (is_large(&desk->out)) {
        keep_large(loop, &desk->out);
    }
    shrink(&desk->tail);
    shrink(&desk->coded);
    budget_restart(&desk->arena_budget);
    budget_restart(&desk->buf_budget);
    desk->conn = NULL;
    desk->next_free = loop->free_desks;
    loop->free_desks = desk;
    loop->free_desk_count++;
}

void desk_free_all(struct loop *loop)
{
    while (loop->free_desks != NULL) {
        struct desk *desk = loop->free_desks;
        loop->free_desks = desk->next_free;
        destroy(loop, desk);
    }
    loop->free_desk_count = 0;
    loop->large_bytes = 0;
}
