/* A connection: reads bytes, handles complete requests one after the other, sends answers; then
 * settle() decides what to wait for. Nothing recurses: libuv or the loop starts each turn, and
 * conn_go_on() handles all complete requests in a loop. On the thread of the connection. */
#include "http/http_internal.h"

#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/mem.h"

enum {
    REFUSED_MAX = 64, /* connections above connections_max that get a 503; more are closed */
    DISCARD_BYTES = 64 * 1024,
    RECEIVED_AT_ONCE = 128 * 1024, /* of a body; after that connections take turns */
    TURNS_MAX = 16,                /* connections that are handled before answers are sent */
    ALONE_MS = 1000,               /* after this time a connection counts as the only active one */
    LATER_BYTES_MAX = 256 * 1024,  /* larger answers are sent at once, while they are cached */
    EVICT_IDLE_MS = 5000, /* a connection that is idle for so long may be closed for a new one */
    /* While memory or connections are short: a client that has used some for so long must transfer
     * more bytes per second than this. */
    SHED_AFTER_MS = 2000,
    SHED_BYTES_PER_MS = 64,
    SHED_LOOKS = 64,       /* connections that are checked each time */
    MEASURED_BYTES = 4096, /* the processor time of requests with larger bodies is measured */
    EXPENSIVE_NS = 500 * 1000,
};

bool conn_has_exchange(const struct conn *conn)
{
    return conn->slot != NULL && conn->slot->stage >= STAGE_INFLATING &&
           conn->slot->stage <= STAGE_COMPRESSING;
}

static void release_slot(struct conn *conn)
{
    if (conn->slot != NULL) {
        slot_return(conn->loop, conn->slot);
        conn->slot = NULL;
    }
}

void conn_free_if_done(struct conn *conn)
{
    struct loop *loop = conn->loop;
    if (!conn->is_closed || conn->is_ready || conn_has_exchange(conn) || tls_is_held(conn->tls)) {
        return;
    }
    release_slot(conn);
    tls_destroy(conn->tls);
    mem_free(conn);
    loop->conn_count--;
    loop_end_if_done(loop);
}

static void on_closed(uv_handle_t *handle)
{
    struct conn *conn = handle->data;
    conn->is_closed = true;
    if (conn->stream != NULL) {
        stream_end(conn->stream);
        conn->stream = NULL;
    }
    atomic_fetch_sub_explicit(&conn->loop->server->connection_count, 1, memory_order_relaxed);
    conn_free_if_done(conn);
}

void conn_close(struct conn *conn)
{
    if (!conn->is_gone) {
        conn->is_gone = true;
        if (conn->slot != NULL) {
            atomic_store_explicit(&conn->slot->is_abandoned, true, memory_order_relaxed);
        }
        wait_leave(conn);
        transfer_leave(conn);
        tls_send_close(conn);
        uv_close((uv_handle_t *)&conn->tcp, on_closed);
    }
}

/* A free slot may be used even if the pool is used up, because its memory is counted already. */
static bool may_take_slot(const struct loop *loop)
{
    return loop->free_slots != NULL || !memory_pool_is_full(loop_options(loop)->memory);
}

bool conn_is_ignored(const struct conn *conn)
{
    return conn->wait == WAIT_LINGER || conn->wait == WAIT_STREAM;
}

uv_buf_t conn_room(struct conn *conn)
{
    struct loop *loop = conn->loop;
    if (conn->slot == NULL && !conn_is_ignored(conn) && may_take_slot(loop)) {
        conn->slot = slot_take(loop, conn);
    }
    if (conn->slot != NULL && !conn_is_ignored(conn)) {
        return receive_room(conn->slot);
    }
    if (loop->discarded == NULL) {
        loop->discarded = mem_alloc(DISCARD_BYTES);
    }
    return uv_buf_init(loop->discarded, DISCARD_BYTES);
}

void conn_stay_idle(struct conn *conn)
{
    release_slot(conn);
}

static void on_end(struct conn *conn)
{
    conn->is_reading = false; /* libuv has stopped */
    conn->is_ended = true;
    if (conn->is_ready) {
        return; /* its answers are not sent yet */
    }
    if (conn->wait == WAIT_IDLE || conn->wait == WAIT_REQUEST || conn->wait == WAIT_LINGER ||
        conn->wait == WAIT_STREAM) {
        conn_close(conn);
    } /* else it has closed only its sending side, and may wait for the answer */
}

static void on_bytes(struct conn *conn);
static void refuse_without_slot(struct conn *conn);

void conn_received(struct conn *conn, ssize_t count)
{
    if (count == UV_EOF) {
        on_end(conn);
    } else if (count < 0) {
        conn_close(conn);
    } else if (conn_is_ignored(conn)) {
        /* the client is still sending; the bytes are ignored */
    } else if (conn->slot == NULL) {
        refuse_without_slot(conn);
    } else {
        receive_count(conn->slot, (size_t)count);
        on_bytes(conn);
    }
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
    (void)suggested;
    *out = conn_room(handle->data);
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf)
{
    (void)buf;
    conn_received(stream->data, count);
}

static void set_reading(struct conn *conn, bool wanted)
{
    if (wanted == conn->is_reading || conn->is_ended) {
        return;
    }
    conn->is_reading = wanted;
    if (conn->tls != NULL) {
        tls_set_reading(conn, wanted);
    } else if (wanted) {
        uv_read_start((uv_stream_t *)&conn->tcp, on_room, on_read);
    } else {
        uv_read_stop((uv_stream_t *)&conn->tcp);
    }
}

/* Closing a socket with unread bytes makes the kernel reset the connection, and the client may lose
 * the answer. So the sending side is shut down, and the socket is read until the client closes. */
void conn_linger(struct conn *conn)
{
    uv_os_fd_t fd;
    tls_send_close(conn);
    if (conn->is_ended || tls_has_unsent(conn->tls) ||
        uv_fileno((uv_handle_t *)&conn->tcp, &fd) != 0) {
        conn_close(conn);
        return;
    }
    shutdown(fd, SHUT_WR);
    release_slot(conn);
    wait_set(conn, WAIT_LINGER);
    set_reading(conn, true);
}

static void conn_end(struct conn *conn)
{
    if (conn->is_cut || conn->slot->in_len > conn->slot->in_at) {
        conn_linger(conn);
    } else {
        conn_close(conn);
    }
}

/* Returns the slot and waits for the next request. */
static void rest(struct conn *conn)
{
    if (conn->is_ended || conn->loop->is_stopping) {
        conn_close(conn);
        return;
    }
    release_slot(conn);
    wait_set(conn, WAIT_IDLE);
    set_reading(conn, true);
}

/* The head of an answer without an end was sent: from now on only the stream writes. */
static void begin_stream(struct conn *conn)
{
    if (conn->is_ended || conn->loop->is_stopping) {
        conn_close(conn);
        return;
    }
    release_slot(conn);
    wait_set(conn, WAIT_STREAM);
    set_reading(conn, true);
    stream_begin(conn->stream);
}

/* Returns how many bytes the client has not received: in the slot, in libuv's queue and in the
 * kernel. */
static size_t count_unsent(const struct conn *conn)
{
    size_t queued = uv_stream_get_write_queue_size((const uv_stream_t *)&conn->tcp);
    queued += conn->tls == NULL ? 0 : conn->tls->out.len;
    for (size_t i = 0; i < conn->slot->unsent_count; i++) {
        queued += conn->slot->unsent[i].len;
    }
    uv_os_fd_t fd;
    int in_kernel = 0;
    if (uv_fileno((const uv_handle_t *)&conn->tcp, &fd) != 0 ||
        ioctl(fd, TIOCOUTQ, &in_kernel) != 0) {
        return queued; /* not every system supports the ioctl */
    }
    return queued + (size_t)in_kernel;
}

/* Returns the received bytes of a body that may take longer than a time-out; else 0. */
static size_t count_received(const struct conn *conn)
{
    const struct request_slot *slot = conn->slot;
    bool is_large = slot->stage == STAGE_BODY_APART || slot->stage == STAGE_BODY_CHUNKED;
    return is_large ? slot->body.len : 0;
}

/* Whether the connection waits because this thread was busy and not because the client is slow: the
 * client has received all bytes of the kernel, or the kernel has bytes from it. */
static bool waits_for_us(const struct conn *conn)
{
    uv_os_fd_t fd;
    int in_kernel = 0;
    if (uv_fileno((const uv_handle_t *)&conn->tcp, &fd) != 0) {
        return false;
    }
    return conn->wait == WAIT_SEND ? ioctl(fd, TIOCOUTQ, &in_kernel) == 0 && in_kernel == 0
                                   : ioctl(fd, FIONREAD, &in_kernel) == 0 && in_kernel > 0;
}

/* Whether a connection in WAIT_SEND or WAIT_REQUEST, for at least SHED_AFTER_MS, has hardly made
 * any progress. */
static bool is_too_slow(const struct conn *conn, uint64_t age_ms)
{
    bool is_send = conn->wait == WAIT_SEND;
    size_t before = conn->counted_bytes;
    size_t now = is_send ? count_unsent(conn) : count_received(conn);
    size_t moved = is_send ? before - MIN(now, before) : now - MIN(now, before);
    return moved < age_ms * SHED_BYTES_PER_MS && !waits_for_us(conn);
}

/* Whether a connection has waited long enough to be closed for others. Later members of its wait
 * list are younger. */
static bool may_be_slow(const struct conn *conn)
{
    return conn != NULL && uv_now(&conn->loop->uv) - conn->since_ms >= SHED_AFTER_MS;
}

/* Closes up to `close_max` connections of a wait list that are too slow. Returns their number. Each
 * call goes on behind the last connection that was checked, so that those that are fast enough do
 * not protect those behind them. */
static int close_slow(struct loop *loop, enum wait wait, int close_max)
{
    struct wait_list *list = &loop->waits[wait];
    const struct conn *first = NULL;
    int closed_count = 0;
    for (int i = 0; i < SHED_LOOKS && closed_count < close_max; i++) {
        struct conn *conn = may_be_slow(list->next_check) ? list->next_check : list->oldest;
        if (!may_be_slow(conn) || conn == first) {
            break; /* there is none, or all were checked */
        }
        first = first == NULL ? conn : first;
        list->next_check = conn->newer;
        if (!conn->is_ready && is_too_slow(conn, uv_now(&loop->uv) - conn->since_ms)) {
            conn_close(conn);
            closed_count++;
        }
    }
    return closed_count;
}

/* While memory is short: closes connections that hold memory for a request or answer with hardly
 * any progress. */
static void shed(struct loop *loop)
{
    close_slow(loop, WAIT_SEND, SHED_LOOKS);
    close_slow(loop, WAIT_REQUEST, SHED_LOOKS);
}

/* There is no memory for a slot: sends a constant answer, without reading the request. */
static void refuse_without_slot(struct conn *conn)
{
    shed(conn->loop);
    struct str text = conn->loop->server->busy;
    uv_buf_t buf = uv_buf_init((char *)text.data, (unsigned)text.len);
    conn->is_last = true;
    int sent = conn->tls == NULL ? uv_try_write((uv_stream_t *)&conn->tcp, &buf, 1)
                                 : tls_try_write(conn, &buf, 1);
    if (sent == (int)text.len) {
        conn_linger(conn);
    } else {
        conn_close(conn);
    }
}

/* Reads more of a request; after the first bytes of a large body in turn with other connections. */
static void go_on_receiving(struct conn *conn)
{
    if (count_received(conn) >= RECEIVED_AT_ONCE) {
        transfer_wait(conn, TRANSFER_RECEIVE);
        set_reading(conn, false);
    } else {
        set_reading(conn, true);
    }
}

void conn_receive_more(struct conn *conn)
{
    set_reading(conn, true);
}

/* Decides what to wait for, when nothing more can be done now. `is_new`: the current request began
 * in this turn. */
static void settle(struct conn *conn, bool is_new)
{
    if (conn->transfer == TRANSFER_RECEIVE) {
        transfer_leave(conn);
    }
    if (conn_has_exchange(conn)) {
        wait_set(conn, WAIT_HANDLER);
        set_reading(conn, conn->slot->in_len < conn->slot->in_size);
    } else if (conn->writes_under_way > 0) {
        conn->counted_bytes = count_unsent(conn);
        wait_set(conn, WAIT_SEND);
        set_reading(conn, false);
    } else if (conn->stream != NULL) {
        begin_stream(conn);
    } else if (conn->is_last) {
        conn_end(conn);
    } else if (receive_is_empty(conn->slot)) {
        rest(conn);
    } else if (conn->is_ended) {
        conn_close(conn); /* the client closed in the middle of a request */
    } else {
        if (is_new || conn->wait != WAIT_REQUEST) {
            conn->counted_bytes = count_received(conn);
            wait_set(conn, WAIT_REQUEST);
        }
        go_on_receiving(conn);
    }
}

/* A thread that serves a single connection may block: sets mailbox.may_block. */
static void note_request(struct loop *loop, const struct conn *conn)
{
    uint64_t now_ms = uv_now(&loop->uv);
    if (conn != loop->served) {
        loop->served = conn;
        loop->served_since_ms = now_ms;
    }
    loop->mailbox.request_count++;
    loop->mailbox.may_block = now_ms - loop->served_since_ms >= ALONE_MS;
}

/* Measures requests that may take long, so that the next ones of the connection can be passed to a
 * slow thread before they delay others. */
static void run_handler(struct conn *conn)
{
    struct request_slot *slot = conn->slot;
    const struct http_server *server = conn->loop->server;
    slot->exchange.is_expensive = conn->slow_used_ns > EXPENSIVE_NS;
    if (LIKELY(slot->exchange.body.len <= MEASURED_BYTES)) {
        server->handler(server->context, &slot->exchange);
        return;
    }
    int64_t start_ns = clock_thread_ns();
    server->handler(server->context, &slot->exchange);
    if (slot->slow_kind == SLOW_NOTHING) {
        conn->slow_used_ns = MAX(clock_thread_ns() - start_ns, conn->slow_used_ns / 2);
    }
}

void conn_call_handler(struct conn *conn)
{
    struct request_slot *slot = conn->slot;
    struct http_server *server = conn->loop->server;
    if (UNLIKELY(memory_pool_is_full(server->options.memory))) {
        shed(conn->loop);
        answer_busy(slot, true);
        slot->stage = STAGE_ANSWERED;
        return;
    }
    note_request(conn->loop, conn);
    answer_begin(slot);
    slot->stage = STAGE_CALLING;
    run_handler(conn);
    if (slot->stage == STAGE_CALLING) {
        slot->stage = STAGE_DEFERRED;
    }
}

void conn_refuse_request(struct conn *conn)
{
    struct request_slot *slot = conn->slot;
    if (slot->is_busy) {
        shed(conn->loop);
        answer_busy(slot, false);
    } else {
        answer_fail(slot, slot->fail_status, slot->fail_text);
    }
}

/* Handles the next request if it is complete. False: there is nothing more to do now. */
static bool handle_next(struct conn *conn)
{
    struct request_slot *slot = conn->slot;
    switch (receive_request(slot)) {
    case RECEIVE_MORE:
        if (slot->continue_wanted) {
            slot->continue_wanted = false;
            answer_continue(slot);
        }
        return false;
    case RECEIVE_FAILED:
        conn_refuse_request(conn);
        return false;
    case RECEIVE_REFUSED:
        return false; /* the connection is closed after the answer */
    case RECEIVE_INFLATE:
        slot->stage = STAGE_INFLATING;
        slow_want(slot, SLOW_INFLATE);
        return false;
    case RECEIVE_DONE:
        break;
    }
    conn_call_handler(conn);
    return slot->stage == STAGE_ANSWERED;
}

static bool is_blocked(const struct conn *conn)
{
    return conn->is_gone || conn->is_last || conn->writes_under_way > 0 || conn_has_exchange(conn);
}

/* Handles all complete requests. Returns whether one was completed, so that the rest of the buffer
 * belongs to a new request. */
static bool handle_all(struct conn *conn)
{
    struct request_slot *slot = conn->slot;
    bool is_new = false;
    do {
        if (slot->stage == STAGE_ANSWERED) {
            receive_next(slot);
            is_new = true;
        }
        if (slot->piece_count == PIECES_MAX || slot->out.len > OUT_BYTES_MAX ||
            slot->exchange.hold != NULL) {
            send_answers(conn);
        }
    } while (!is_blocked(conn) && !receive_is_empty(slot) && handle_next(conn));
    return is_new;
}

static bool begin_turn(struct conn *conn)
{
    struct request_slot *slot = conn->slot;
    if (conn->writes_under_way == 0 && slot->piece_count == 0) {
        slot->out.len = 0; /* everything was sent */
        slot_release_hold(slot);
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
    if (conn->slot != NULL) {
        slow_start_wanted(conn->slot);
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
    struct request_slot *slot = conn->slot;
    if (conn->is_gone) {
        conn_free_if_done(conn);
        return;
    }
    if (conn_has_exchange(conn) || conn->is_ready) { /* continued by on_check() */
        set_reading(conn, slot->in_len < slot->in_size);
        return;
    }
    end_turn(conn, begin_turn(conn));
}

/* Answers are sent after all connections with received bytes were handled, because an answer wakes
 * its client, which then competes for the processor. */
static void on_bytes(struct conn *conn)
{
    if (is_blocked(conn) || conn->is_ready) {
        conn_go_on(conn);
        return;
    }
    bool is_new = begin_turn(conn);
    const struct request_slot *slot = conn->slot;
    if (!is_blocked(conn) && slot->piece_count > 0 && slot->out.len <= LATER_BYTES_MAX &&
        slot->exchange.hold == NULL && receive_is_empty(slot)) {
        conn_be_ready(conn);
    } else {
        end_turn(conn, is_new);
    }
    if (conn->loop->ready != NULL && ++conn->loop->turn_count >= TURNS_MAX) {
        loop_go_on_ready(conn->loop);
    }
}

/* Whether `moved` bytes are enough for the time since the last check. */
static bool is_fast_enough(const struct conn *conn, size_t moved)
{
    const struct loop *loop = conn->loop;
    int64_t least =
        (int64_t)loop_options(loop)->rate_bytes_min * loop->waits[conn->wait].timeout_ms / 1000;
    return moved > 0 && (int64_t)moved >= least;
}

/* Whether a client reads its answers or sends its body fast enough to get more time. */
static bool makes_progress(struct conn *conn)
{
    size_t before = conn->counted_bytes;
    if (conn->wait == WAIT_SEND) {
        conn->counted_bytes = count_unsent(conn);
        return is_fast_enough(conn, before - MIN(conn->counted_bytes, before));
    }
    conn->counted_bytes = count_received(conn);
    return loop_options(conn->loop)->rate_bytes_min > 0 &&
           is_fast_enough(conn, conn->counted_bytes - MIN(before, conn->counted_bytes));
}

void conn_on_timeout(struct conn *conn)
{
    bool moves = conn->wait == WAIT_SEND || conn->wait == WAIT_REQUEST;
    if (moves && (makes_progress(conn) || (conn->wait == WAIT_SEND && waits_for_us(conn)))) {
        wait_set(conn, conn->wait);
    } else if (conn->wait == WAIT_REQUEST) {
        answer_fail(conn->slot, 408, "the request did not come in time");
        conn_go_on(conn);
    } else {
        conn_close(conn);
    }
}

static void refuse(struct conn *conn)
{
    conn->slot = slot_take(conn->loop, conn);
    answer_fail(conn->slot, 503, "too many connections");
    conn_go_on(conn);
}

/* Closes the oldest connection of a wait list, if it has been there long enough. A connection that
 * became busy in this round of events is still in the list. */
static bool evict_oldest(struct loop *loop, enum wait wait)
{
    struct conn *conn = loop->waits[wait].oldest;
    while (conn != NULL && (conn->slot != NULL || conn->is_ready)) {
        conn = conn->newer;
    }
    if (conn == NULL || uv_now(&loop->uv) - conn->since_ms < EVICT_IDLE_MS) {
        return false;
    }
    conn_close(conn);
    return true;
}

/* Reads the address of the client; zeros if it has disconnected already. */
static void learn_peer(struct conn *conn)
{
    struct sockaddr_storage address;
    int len = sizeof(address);
    if (uv_tcp_getpeername(&conn->tcp, (struct sockaddr *)&address, &len) != 0) {
        return;
    }
    if (address.ss_family == AF_INET6) {
        memcpy(conn->peer, &((struct sockaddr_in6 *)&address)->sin6_addr, sizeof(conn->peer));
    } else if (address.ss_family == AF_INET) {
        memset(conn->peer + 10, 0xff, 2);
        memcpy(conn->peer + 12, &((struct sockaddr_in *)&address)->sin_addr, 4);
    }
}

/* Closes a connection so that a new one can be served. */
static bool evict(struct loop *loop)
{
    return evict_oldest(loop, WAIT_HANDSHAKE) || evict_oldest(loop, WAIT_IDLE) ||
           close_slow(loop, WAIT_REQUEST, 1) > 0 || close_slow(loop, WAIT_SEND, 1) > 0;
}

/* If there are too many connections, or no memory, the connection is closed: a 503 would need a
 * handshake first, which costs more than a request. */
static void begin_handshake(struct conn *conn, bool is_one_too_many)
{
    struct loop *loop = conn->loop;
    if (is_one_too_many || memory_pool_is_full(loop_options(loop)->memory) ||
        (conn->tls = tls_create(conn)) == NULL) {
        conn_close(conn);
        return;
    }
    wait_set(conn, WAIT_HANDSHAKE);
    set_reading(conn, true);
}

void conn_accept(struct listener *listener)
{
    struct loop *loop = listener->loop;
    struct http_server *server = loop->server;
    struct conn *conn = mem_zalloc(sizeof(*conn));
    conn->loop = loop;
    uv_tcp_init(&loop->uv, &conn->tcp);
    conn->tcp.data = conn;
    loop->conn_count++;
    int others = atomic_fetch_add_explicit(&server->connection_count, 1, memory_order_relaxed);
    int others_max = server->options.connections_max;
    if (uv_accept((uv_stream_t *)&listener->tcp, (uv_stream_t *)&conn->tcp) != 0 ||
        others >= others_max + REFUSED_MAX) {
        conn_close(conn);
        return;
    }
    uv_tcp_nodelay(&conn->tcp, 1);
    learn_peer(conn);
    bool is_one_too_many = others >= others_max && !evict(loop);
    if (listener->is_secure) {
        begin_handshake(conn, is_one_too_many);
    } else if (is_one_too_many) {
        refuse(conn);
    } else {
        wait_set(conn, WAIT_IDLE);
        set_reading(conn, true);
    }
}
