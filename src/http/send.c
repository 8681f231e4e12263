/* Sends answers: directly if the socket takes them, which is nearly always, and else through
 * libuv's queue. While something is queued no further request is begun, so a client that does
 * not read its answers makes us hold no more than one write of them. */
#include "http/http_internal.h"

static void on_written(uv_write_t *write, int status)
{
    struct conn *conn = write->data;
    conn->writes_under_way--;
    if (conn->is_gone) {
        return;
    }
    if (status < 0) {
        conn_close(conn);
    } else if (conn->writes_under_way == 0) {
        conn_go_on(conn);
    }
}

static void queue_write(struct conn *conn, uv_write_t *write, const uv_buf_t *bufs, size_t count)
{
    write->data = conn;
    conn->writes_under_way++;
    int result = uv_write(write, (uv_stream_t *)&conn->tcp, bufs, (unsigned)count, on_written);
    if (result < 0) {
        conn->writes_under_way--;
        conn_close(conn);
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

/* The handler may go on writing to `out`, which then moves: the queue needs memory of its own. */
static void queue_copy(struct conn *conn, const uv_buf_t *bufs, size_t count)
{
    struct desk *desk = conn->desk;
    desk->tail.len = 0;
    for (size_t i = 0; i < count; i++) {
        buf_add(&desk->tail, str_make(bufs[i].base, bufs[i].len));
    }
    uv_buf_t all = uv_buf_init(desk->tail.data, (unsigned)desk->tail.len);
    queue_write(conn, &desk->tail_write, &all, 1);
}

void send_answers(struct conn *conn)
{
    struct desk *desk = conn->desk;
    size_t count = desk->piece_count;
    bool handler_writes = conn_has_exchange(conn);
    if (count == 0) {
        return;
    }
    uv_buf_t bufs[PIECES_MAX];
    for (size_t i = 0; i < count; i++) {
        bufs[i] =
            uv_buf_init(desk->out.data + desk->pieces[i].start, (unsigned)desk->pieces[i].len);
    }
    desk->piece_count = 0;
    int sent = uv_try_write((uv_stream_t *)&conn->tcp, bufs, (unsigned)count);
    if (sent < 0 && sent != UV_EAGAIN) {
        conn_close(conn);
        return;
    }
    size_t done = skip_sent(bufs, count, (size_t)MAX(sent, 0));
    if (done < count && handler_writes) {
        queue_copy(conn, bufs + done, count - done);
    } else if (done < count) {
        queue_write(conn, &desk->out_write, bufs + done, count - done);
    } else if (!handler_writes) {
        desk->out.len = 0;
    }
}
