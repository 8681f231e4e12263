/* Desks are lent to connections while they are busy and taken back when they are idle. With
 * handlers that answer at once, all connections of a loop use the same one, which stays in the
 * processor's cache; no request allocates. */
#include "http/http_internal.h"

#include "base/mem.h"

enum {
    FREE_DESKS_MAX = 128,
    IN_BYTES_MIN = 32 * 1024,
    IN_BYTES_BESIDE_HEAD = 16 * 1024, /* for small bodies, and for chunks to come in */
    KEPT_BYTES_MAX = 64 * 1024,       /* larger buffers are freed before the desk is kept */
};

static struct desk *create(const struct loop *loop)
{
    size_t in_size =
        MAX(loop_options(loop)->head_bytes_max + IN_BYTES_BESIDE_HEAD, (size_t)IN_BYTES_MIN);
    struct desk *desk = mem_alloc(sizeof(*desk) + in_size);
    memset(desk, 0, sizeof(*desk));
    desk->in_size = in_size;
    arena_init(&desk->arena);
    return desk;
}

static void destroy(struct desk *desk)
{
    arena_finish(&desk->arena);
    buf_finish(&desk->body);
    buf_finish(&desk->plain);
    buf_finish(&desk->out);
    buf_finish(&desk->tail);
    mem_free(desk);
}

struct desk *desk_take(struct loop *loop, struct conn *conn)
{
    struct desk *desk = loop->free_desks;
    if (desk != NULL) {
        loop->free_desks = desk->next_free;
        loop->free_desk_count--;
    } else {
        desk = create(loop);
    }
    desk->conn = conn;
    desk->stage = STAGE_HEAD;
    desk->continue_wanted = false;
    desk->in_start = desk->in_at = desk->in_len = 0;
    desk->piece_count = 0;
    desk->out.len = 0;
    head_init(&desk->head);
    return desk;
}

static void shrink(struct buf *buf)
{
    if (buf->capacity > KEPT_BYTES_MAX) {
        buf_finish(buf);
    }
}

void desk_return(struct loop *loop, struct desk *desk)
{
    if (loop->free_desk_count >= FREE_DESKS_MAX) {
        destroy(desk);
        return;
    }
    arena_reset(&desk->arena);
    shrink(&desk->body);
    shrink(&desk->plain);
    shrink(&desk->out);
    shrink(&desk->tail);
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
        destroy(desk);
    }
    loop->free_desk_count = 0;
}
