/* Sends answers: directly if the socket takes them, which is nearly always, and else through
 * libuv's queue. While something is queued no further request is begun, so a client that does
 * not read its answers makes us hold no more than one write of them. Of large answers the kernel is
 * given a part in each round of events, so that copying megabytes for one connection does not keep
 * the others waiting. */
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

/* Moves the start of `bufs` by what was sent; returns how many are done with. */
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

/* What may be sent now of `bufs`; returns in how many pieces. To send a large answer at once costs
 * least: each part wakes the client. Only when many connections send in the same round, each gets
 * less, so that short answers do not wait for long. */
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

/* Takes the part that was handed over off what is unsent. */
static void leave_unsent(struct request_slot *slot, uv_buf_t *bufs, size_t count, size_t sent)
{
    size_t done = skip_sent(bufs, count, sent);
    slot->unsent_count = count - done;
    memmove(slot->unsent, bufs + done, slot->unsent_count * sizeof(*bufs));
}

/* The same with TLS: one write at a time, because its bytes are in a buffer of the connection. */
static void queue_next_encrypted(struct conn *conn, uv_write_t *write)
{
    struct request_slot *slot = conn->slot;
    if (conn->tls->has_write) {
        return; /* on_written() goes on */
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

/* Lets libuv send the next part of what is unsent. */
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

/* The handler may go on writing to `out`, which then moves: the queue needs memory of its own. */
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
        return; /* earlier answers go first; on_written() comes back for these */
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
    }
}
