/* Sends answers: directly if the socket accepts them, which is nearly always the case, else through
 * libuv's queue. While bytes are queued no further request of the connection is handled, so a
 * client that does not read makes the server hold one write at most. Large answers are passed to
 * the kernel in parts, one per round of events, so that other connections do not wait. On the
 * loop's thread. */
#include "http/http_internal.h"

static void queue_next(struct conn *conn, uv_write_t *write);

static void on_written(uv_write_t *write, int status)
{
    struct conn *conn = write->data;
    conn->writes_under_way--;
    if (conn->tls != NULL) {
        tls_written(conn->tls);
    }
    if (conn->is_gone) {
        return;
    }
    if (status < 0) {
        conn_close(conn);
    } else if (conn->slot->unsent_count > 0 || tls_has_unsent(conn->tls)) {
        queue_next(conn, write);
    } else if (conn->writes_under_way == 0) {
        conn_go_on(conn);
    }
}

/* Removes the bytes that were sent from `bufs`; returns how many of them are complete. */
static size_t skip_sent(uv_buf_t *bufs, size_t count, size_t sent)
{
    size_t done = 0;
    while (done < count && sent >= bufs[done].len) {
        sent -= bufs[done].len;
        done++;
    }
    if (done < count) {
        bufs[done].base += sent;
        bufs[done].len -= sent;
    }
    return done;
}

/* Selects the part of `bufs` that may be sent now; returns the number of pieces. Sending a large
 * answer at once is cheapest, as each part wakes the client; it is split only when other
 * connections have sent much in the same round of events. */
static size_t cut_part(struct loop *loop, const uv_buf_t *bufs, size_t count,
                       uv_buf_t out[PIECES_MAX])
{
    size_t of_round = SEND_ROUND_BYTES - MIN(loop->sent_bytes, (size_t)SEND_ROUND_BYTES);
    size_t left = MAX(of_round, (size_t)SEND_BYTES_MAX);
    size_t i = 0;
    for (; i < count && left > 0; i++) {
        out[i] = uv_buf_init(bufs[i].base, (unsigned)MIN((size_t)bufs[i].len, left));
        left -= out[i].len;
        loop->sent_bytes += out[i].len;
    }
    return i;
}

/* Notes what is unsent after a part was sent. */
static void leave_unsent(struct request_slot *slot, uv_buf_t *bufs, size_t count, size_t sent)
{
    size_t done = skip_sent(bufs, count, sent);
    slot->unsent_count = count - done;
    memmove(slot->unsent, bufs + done, slot->unsent_count * sizeof(*bufs));
}

/* As queue_next(), with TLS: one write at a time, because the connection has one buffer for it. */
static void queue_next_encrypted(struct conn *conn, uv_write_t *write)
{
    struct request_slot *slot = conn->slot;
    if (conn->tls->has_write) {
        return; /* on_written() continues */
    }
    uv_buf_t part[PIECES_MAX];
    size_t taken = 0;
    size_t count = cut_part(conn->loop, slot->unsent, slot->unsent_count, part);
    write->data = conn;
    conn->writes_under_way++;
    if (tls_write(conn, write, part, count, on_written, &taken) < 0) {
        conn->writes_under_way--;
        conn_close(conn);
        return;
    }
    leave_unsent(slot, slot->unsent, slot->unsent_count, taken);
}

/* Queues the next part of the unsent bytes in libuv. */
static void queue_next(struct conn *conn, uv_write_t *write)
{
    if (conn->tls != NULL) {
        queue_next_encrypted(conn, write);
        return;
    }
    struct request_slot *slot = conn->slot;
    uv_buf_t part[PIECES_MAX];
    size_t count = cut_part(conn->loop, slot->unsent, slot->unsent_count, part);
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        bytes += part[i].len;
    }
    leave_unsent(slot, slot->unsent, slot->unsent_count, bytes);
    write->data = conn;
    conn->writes_under_way++;
    int result = uv_write(write, (uv_stream_t *)&conn->tcp, part, (unsigned)count, on_written);
    if (result < 0) {
        conn->writes_under_way--;
        conn_close(conn);
    }
}

/* Queues a copy, because the handler may append to `out`, which moves when it grows. */
static void queue_copy(struct conn *conn)
{
    struct request_slot *slot = conn->slot;
    slot->tail.len = 0;
    for (size_t i = 0; i < slot->unsent_count; i++) {
        buf_add(&slot->tail, str_make(slot->unsent[i].base, slot->unsent[i].len));
    }
    slot->unsent[0] = uv_buf_init(slot->tail.data, (unsigned)slot->tail.len);
    slot->unsent_count = 1;
    queue_next(conn, &slot->tail_write);
}

void send_answers(struct conn *conn)
{
    struct request_slot *slot = conn->slot;
    size_t count = slot->piece_count;
    bool handler_writes = conn_has_exchange(conn);
    if (count == 0 || slot->unsent_count > 0) {
        return; /* earlier answers are still queued; on_written() continues */
    }
    uv_buf_t bufs[PIECES_MAX];
    for (size_t i = 0; i < count; i++) {
        bufs[i] =
            uv_buf_init(slot->out.data + slot->pieces[i].start, (unsigned)slot->pieces[i].len);
    }
    slot->piece_count = 0;
    uv_buf_t part[PIECES_MAX];
    size_t part_count = cut_part(conn->loop, bufs, count, part);
    int sent = conn->tls == NULL
                   ? uv_try_write((uv_stream_t *)&conn->tcp, part, (unsigned)part_count)
                   : tls_try_write(conn, part, part_count);
    if (sent < 0 && sent != UV_EAGAIN) {
        conn_close(conn);
        return;
    }
    leave_unsent(slot, bufs, count, (size_t)MAX(sent, 0));
    if (slot->unsent_count > 0 && handler_writes) {
        queue_copy(conn);
    } else if (slot->unsent_count > 0 || tls_has_unsent(conn->tls)) {
        queue_next(conn, &slot->out_write);
    } else if (!handler_writes) {
        slot->out.len = 0;
        slot_release_hold(slot);
    }
}
