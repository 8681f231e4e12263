/* One connection: bytes come, requests are handled one after the other, answers go; then
 * settle() decides what to wait for. Nothing here calls itself: libuv or the loop starts each
 * turn, and conn_go_on() takes as many requests as are there. */
#include "http/http_internal.h"

#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/mem.h"

enum {
    REFUSED_MAX = 256, /* connections above connections_max that are told so; more are cut */
    DISCARD_BYTES = 64 * 1024,
    TURNS_MAX = 16,  /* the first of those that are sent together waits for no more than this */
    ALONE_MS = 1000, /* after that a connection is taken for the only one in use */
    LATER_BYTES_MAX = 256 * 1024, /* an answer above that is sent while the caches still hold it */
};

static bool has_exchange(const struct conn *conn)
{
    return conn->desk != NULL &&
           (conn->desk->stage == STAGE_CALLING || conn->desk->stage == STAGE_DEFERRED);
}

static void release_desk(struct conn *conn)
{
    if (conn->desk != NULL) {
        desk_return(conn->loop, conn->desk);
        conn->desk = NULL;
    }
}

/* When libuv has let go of it and no exchange is left. */
static void free_if_done(struct conn *conn)
{
    struct loop *loop = conn->loop;
    if (!conn->is_closed || conn->is_ready || has_exchange(conn)) {
        return;
    }
    release_desk(conn);
    mem_free(conn);
    loop->conn_count--;
    loop_end_if_done(loop);
}

static void on_closed(uv_handle_t *handle)
{
    struct conn *conn = handle->data;
    conn->is_closed = true;
    atomic_fetch_sub_explicit(&conn->loop->server->connection_count, 1, memory_order_relaxed);
    free_if_done(conn);
}

void conn_close(struct conn *conn)
{
    if (!conn->is_gone) {
        conn->is_gone = true;
        wait_leave(conn);
        uv_close((uv_handle_t *)&conn->tcp, on_closed);
    }
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
    (void)suggested;
    struct conn *conn = handle->data;
    struct loop *loop = conn->loop;
    if (conn->wait == WAIT_LINGER) {
        if (loop->discarded == NULL) {
            loop->discarded = mem_alloc(DISCARD_BYTES);
        }
        *out = uv_buf_init(loop->discarded, DISCARD_BYTES);
        return;
    }
    if (conn->desk == NULL) {
        conn->desk = desk_take(loop, conn);
    }
    *out = receive_room(conn->desk);
}

static void on_end(struct conn *conn)
{
    conn->is_reading = false; /* libuv has stopped */
    conn->is_ended = true;
    if (conn->is_ready) {
        return; /* its answers are still to be sent */
    }
    if (conn->wait == WAIT_IDLE || conn->wait == WAIT_REQUEST || conn->wait == WAIT_LINGER) {
        conn_close(conn);
    } /* else it has only ended its side, and may still want the answer */
}

static void on_bytes(struct conn *conn);

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf)
{
    (void)buf;
    struct conn *conn = stream->data;
    if (count == UV_EOF) {
        on_end(conn);
    } else if (count < 0) {
        conn_close(conn);
    } else if (conn->wait != WAIT_LINGER) {
        receive_count(conn->desk, (size_t)count);
        on_bytes(conn);
    }
}

static void set_reading(struct conn *conn, bool wanted)
{
    if (wanted == conn->is_reading || conn->is_ended) {
        return;
    }
    conn->is_reading = wanted;
    if (wanted) {
        uv_read_start((uv_stream_t *)&conn->tcp, on_room, on_read);
    } else {
        uv_read_stop((uv_stream_t *)&conn->tcp);
    }
}

/* Closing while bytes of the client are unread makes the kernel reset the connection, and the
 * client may lose our answer: so say that we are done, and read until it is done too. */
static void conn_end(struct conn *conn)
{
    uv_os_fd_t fd;
    bool is_cut = conn->is_cut || conn->desk->in_len > conn->desk->in_at;
    if (!is_cut || conn->is_ended || uv_fileno((uv_handle_t *)&conn->tcp, &fd) != 0) {
        conn_close(conn);
        return;
    }
    shutdown(fd, SHUT_WR);
    release_desk(conn);
    wait_set(conn, WAIT_LINGER);
    set_reading(conn, true);
}

/* Between requests. */
static void rest(struct conn *conn)
{
    if (conn->is_ended || conn->loop->is_stopping) {
        conn_close(conn);
        return;
    }
    release_desk(conn);
    wait_set(conn, WAIT_IDLE);
    set_reading(conn, true);
}

/* What the client has not taken yet: libuv holds some and the kernel the rest. */
static size_t count_unsent(const struct conn *conn)
{
    size_t queued = uv_stream_get_write_queue_size((const uv_stream_t *)&conn->tcp);
    uv_os_fd_t fd;
    int in_kernel = 0;
    if (uv_fileno((const uv_handle_t *)&conn->tcp, &fd) != 0 ||
        ioctl(fd, TIOCOUTQ, &in_kernel) != 0) {
        return queued; /* not every system can tell */
    }
    return queued + (size_t)in_kernel;
}

/* All that can be done now is done; `is_new` says that the request under way began in this turn. */
static void settle(struct conn *conn, bool is_new)
{
    if (has_exchange(conn)) {
        wait_set(conn, WAIT_HANDLER);
        set_reading(conn, conn->desk->in_len < conn->desk->in_size);
    } else if (conn->writes_under_way > 0) {
        conn->unsent_bytes = count_unsent(conn);
        wait_set(conn, WAIT_SEND);
        set_reading(conn, false);
    } else if (conn->is_last) {
        conn_end(conn);
    } else if (receive_is_empty(conn->desk)) {
        rest(conn);
    } else if (conn->is_ended) {
        conn_close(conn); /* in the middle of a request */
    } else {
        if (is_new || conn->wait != WAIT_REQUEST) {
            wait_set(conn, WAIT_REQUEST);
        }
        set_reading(conn, true);
    }
}

/* A thread that serves one connection only may as well wait for the disk itself. */
static void note_request(struct loop *loop, const struct conn *conn)
{
    uint64_t now_ms = uv_now(&loop->uv);
    if (conn != loop->served) {
        loop->served = conn;
        loop->served_since_ms = now_ms;
    }
    loop->mailbox.may_block = now_ms - loop->served_since_ms >= ALONE_MS;
}

static void call_handler(struct conn *conn)
{
    struct desk *desk = conn->desk;
    struct http_server *server = conn->loop->server;
    note_request(conn->loop, conn);
    answer_begin(desk);
    desk->stage = STAGE_CALLING;
    server->handler(server->context, &desk->exchange);
    if (desk->stage == STAGE_CALLING) {
        desk->stage = STAGE_DEFERRED;
    }
}

/* Takes the next request if there is one; false if there is nothing more to do now. */
static bool handle_next(struct conn *conn)
{
    struct desk *desk = conn->desk;
    switch (receive_request(desk)) {
    case RECEIVE_MORE:
        if (desk->continue_wanted) {
            desk->continue_wanted = false;
            answer_continue(desk);
        }
        return false;
    case RECEIVE_FAILED:
        answer_fail(desk, desk->fail_status, desk->fail_text);
        return false;
    case RECEIVE_DONE:
        break;
    }
    call_handler(conn);
    return desk->stage == STAGE_ANSWERED;
}

static bool is_blocked(const struct conn *conn)
{
    return conn->is_gone || conn->is_last || conn->writes_under_way > 0 || has_exchange(conn);
}

/* Handles what is complete; returns whether a request was left behind, so that what follows is
 * another one. */
static bool handle_all(struct conn *conn)
{
    struct desk *desk = conn->desk;
    bool is_new = false;
    do {
        if (desk->stage == STAGE_ANSWERED) {
            receive_next(desk);
            is_new = true;
        }
        if (desk->piece_count == PIECES_MAX || desk->out.len > OUT_BYTES_MAX) {
            send_answers(conn);
        }
    } while (!is_blocked(conn) && !receive_is_empty(desk) && handle_next(conn));
    return is_new;
}

static bool begin_turn(struct conn *conn)
{
    struct desk *desk = conn->desk;
    if (conn->writes_under_way == 0 && desk->piece_count == 0) {
        desk->out.len = 0; /* the queue is done with it */
    }
    return handle_all(conn);
}

static void end_turn(struct conn *conn, bool is_new)
{
    if (!conn->is_gone) {
        send_answers(conn);
    }
    if (!conn->is_gone) {
        settle(conn, is_new);
    }
}

void conn_be_ready(struct conn *conn)
{
    conn->is_ready = true;
    conn->next_ready = conn->loop->ready;
    conn->loop->ready = conn;
}

void conn_go_on(struct conn *conn)
{
    struct desk *desk = conn->desk;
    if (conn->is_gone) {
        free_if_done(conn);
        return;
    }
    if (has_exchange(conn) || conn->is_ready) { /* not before on_check() comes by */
        set_reading(conn, desk->in_len < desk->in_size);
        return;
    }
    end_turn(conn, begin_turn(conn));
}

/* The answers of all connections that had something to read are sent at the end of the round: the
 * first one would wake its client, which takes the processor from those that follow. */
static void on_bytes(struct conn *conn)
{
    if (is_blocked(conn) || conn->is_ready) {
        conn_go_on(conn);
        return;
    }
    bool is_new = begin_turn(conn);
    const struct desk *desk = conn->desk;
    if (!is_blocked(conn) && desk->piece_count > 0 && desk->out.len <= LATER_BYTES_MAX &&
        receive_is_empty(desk)) {
        conn_be_ready(conn);
    } else {
        end_turn(conn, is_new);
    }
    if (conn->loop->ready != NULL && ++conn->loop->turn_count >= TURNS_MAX) {
        loop_go_on_ready(conn->loop);
    }
}

/* Slow, but reading: gets more time. */
static bool makes_progress(struct conn *conn)
{
    size_t unsent = count_unsent(conn);
    bool is_less = unsent < conn->unsent_bytes;
    conn->unsent_bytes = unsent;
    return is_less;
}

void conn_on_timeout(struct conn *conn)
{
    if (conn->wait == WAIT_REQUEST) {
        answer_fail(conn->desk, 408, "the request did not come in time");
        conn_go_on(conn);
    } else if (conn->wait == WAIT_SEND && makes_progress(conn)) {
        wait_set(conn, WAIT_SEND);
    } else {
        conn_close(conn);
    }
}

static void refuse(struct conn *conn)
{
    conn->desk = desk_take(conn->loop, conn);
    answer_fail(conn->desk, 503, "too many connections");
    conn_go_on(conn);
}

void conn_accept(struct loop *loop)
{
    struct http_server *server = loop->server;
    struct conn *conn = mem_zalloc(sizeof(*conn));
    conn->loop = loop;
    uv_tcp_init(&loop->uv, &conn->tcp);
    conn->tcp.data = conn;
    loop->conn_count++;
    int others = atomic_fetch_add_explicit(&server->connection_count, 1, memory_order_relaxed);
    int others_max = server->options.connections_max;
    if (uv_accept((uv_stream_t *)&loop->listener, (uv_stream_t *)&conn->tcp) != 0 ||
        others >= others_max + REFUSED_MAX) {
        conn_close(conn);
        return;
    }
    uv_tcp_nodelay(&conn->tcp, 1);
    if (others >= others_max) {
        refuse(conn);
        return;
    }
    wait_set(conn, WAIT_IDLE);
    set_reading(conn, true);
}
