/* Sends answers: directly if the socket accepts them, which is nearly always the case, else through
 * libuv's queue. While bytes are unsent no further request of the connection is handled, so a
 * client that does not read makes the server hold one write at most. Large answers take turns:
 * transfer.c. On the loop's thread. */
#include "http/http_internal.h"

enum {
    SMALL_BYTES = 256 * 1024, /* answers up to this size are sent at once */
    QUEUED_BYTES = 64 * 1024, /* of a large answer that libuv sends when the socket accepts more */
};

static void on_written(uv_write_t *write, int status);

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

static size_t count_bytes(const uv_buf_t *bufs, size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        bytes += bufs[i].len;
    }
    return bytes;
}

/* Selects the first `bytes_max` of `bufs`; returns the number of pieces. */
static size_t cut_part(const uv_buf_t *bufs, size_t count, size_t bytes_max,
                       uv_buf_t out[PIECES_MAX])
{
    size_t i = 0;
    for (; i < count && bytes_max > 0; i++) {
        out[i] = uv_buf_init(bufs[i].base, (unsigned)MIN((size_t)bufs[i].len, bytes_max));
        bytes_max -= out[i].len;
    }
    return i;
}

/* Removes the bytes that were sent from slot->unsent. */
static void remove_sent(struct request_slot *slot, size_t sent)
{
    size_t done = skip_sent(slot->unsent, slot->unsent_count, sent);
    slot->unsent_count -= done;
    memmove(slot->unsent, slot->unsent + done, slot->unsent_count * sizeof(*slot->unsent));
}

/* Passes the first bytes of slot->unsent to the socket. Returns how many were sent, or a negative
 * number. *out_is_full: the socket accepts no more. */
static int try_part(struct conn *conn, size_t bytes_max, bool *out_is_full)
{
    struct request_slot *slot = conn->slot;
    uv_buf_t part[PIECES_MAX];
    size_t count = cut_part(slot->unsent, slot->unsent_count, bytes_max, part);
    int sent = conn->tls == NULL ? uv_try_write((uv_stream_t *)&conn->tcp, part, (unsigned)count)
                                 : tls_try_write(conn, part, count);
    *out_is_full = conn->tls == NULL ? sent < 0 || (size_t)sent < bytes_max
                                     : sent < 0 || tls_has_unsent(conn->tls);
    sent = sent == UV_EAGAIN ? 0 : sent;
    remove_sent(slot, (size_t)MAX(sent, 0));
    return sent;
}

/* Passes slot->unsent to the socket, as much as this round of events allows. *out_is_full: the
 * socket accepts no more. False: the connection is broken. */
static bool send_now(struct conn *conn, bool *out_is_full)
{
    struct loop *loop = conn->loop;
    size_t bytes = count_bytes(conn->slot->unsent, conn->slot->unsent_count);
    bool is_large = bytes > SMALL_BYTES;
    size_t allowed = is_large ? MIN(bytes, transfer_left(loop)) : bytes;
    bool is_done = allowed == 0 && !tls_has_unsent(conn->tls);
    *out_is_full = false;
    while (!is_done) { /* with TLS each turn encrypts a part */
        int sent = try_part(conn, allowed, out_is_full);
        if (sent < 0) {
            return false;
        }
        loop->transferred += is_large ? (size_t)sent : 0;
        allowed -= (size_t)sent;
        is_done = *out_is_full || allowed == 0;
    }
    return true;
}

/* Queues bytes in libuv, which sends them when the socket accepts more. With TLS one write at a
 * time, because the connection has one buffer for it. */
static void queue_part(struct conn *conn, uv_write_t *write)
{
    struct request_slot *slot = conn->slot;
    uv_buf_t part[PIECES_MAX];
    size_t count = cut_part(slot->unsent, slot->unsent_count, QUEUED_BYTES, part);
    size_t taken = count_bytes(part, count);
    if (conn->tls != NULL && conn->tls->has_write) {
        conn->writes_under_way--; /* on_written() of the other write continues */
        return;
    }
    write->data = conn;
    int result = conn->tls == NULL
                     ? uv_write(write, (uv_stream_t *)&conn->tcp, part, (unsigned)count, on_written)
                     : tls_write(conn, write, part, count, on_written, &taken);
    if (result < 0) {
        conn->writes_under_way--;
        conn_close(conn);
        return;
    }
    remove_sent(slot, taken);
}

/* Sends the rest when the socket accepts more, or in a later round of events. */
static void send_later(struct conn *conn, uv_write_t *write, bool is_full)
{
    if (is_full) {
        queue_part(conn, write);
    } else {
        transfer_leave(conn);
        conn->waiting_write = write;
        transfer_wait(conn, TRANSFER_SEND);
    }
}

/* Continues a write that is counted in writes_under_way. If everything was passed on, the write is
 * ended, and the connection goes on. */
static void go_on_sending(struct conn *conn, uv_write_t *write)
{
    bool is_full;
    if (!send_now(conn, &is_full)) {
        conn->writes_under_way--;
        conn_close(conn);
    } else if (is_full || conn->slot->unsent_count > 0) {
        send_later(conn, write, is_full);
    } else if (--conn->writes_under_way == 0) {
        conn_go_on(conn);
    }
}

static void on_written(uv_write_t *write, int status)
{
    struct conn *conn = write->data;
    if (conn->tls != NULL) {
        tls_written(conn->tls);
    }
    if (conn->is_gone || status < 0) {
        conn->writes_under_way--;
        conn_close(conn);
    } else {
        go_on_sending(conn, write);
    }
}

void send_rest(struct conn *conn)
{
    go_on_sending(conn, conn->waiting_write);
}

/* Copies what is unsent, because the handler may append to `out`, which moves when it grows. */
static void copy_unsent(struct request_slot *slot)
{
    slot->tail.len = 0;
    for (size_t i = 0; i < slot->unsent_count; i++) {
        buf_add(&slot->tail, str_make(slot->unsent[i].base, slot->unsent[i].len));
    }
    slot->unsent[0] = uv_buf_init(slot->tail.data, (unsigned)slot->tail.len);
    slot->unsent_count = 1;
}

static void take_pieces(struct request_slot *slot)
{
    slot->unsent_count = slot->piece_count;
    for (size_t i = 0; i < slot->piece_count; i++) {
        slot->unsent[i] =
            uv_buf_init(slot->out.data + slot->pieces[i].start, (unsigned)slot->pieces[i].len);
    }
    slot->piece_count = 0;
}

void send_answers(struct conn *conn)
{
    struct request_slot *slot = conn->slot;
    bool handler_writes = conn_has_exchange(conn);
    bool is_full;
    if (slot->piece_count == 0 || slot->unsent_count > 0) {
        return; /* earlier answers are unsent; the end of their write continues */
    }
    take_pieces(slot);
    if (!send_now(conn, &is_full)) {
        conn_close(conn);
        return;
    }
    bool copies = slot->unsent_count > 0 && handler_writes;
    if (copies) {
        copy_unsent(slot);
    }
    if (slot->unsent_count > 0 || is_full) {
        conn->writes_under_way++;
        send_later(conn, copies ? &slot->tail_write : &slot->out_write, is_full);
    } else if (!handler_writes) {
        slot->out.len = 0;
        slot_release_hold(slot);
    }
}
