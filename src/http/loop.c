/* A network thread: its event loop and mailbox, how it is woken, started and stopped. */
#include "http/http_internal.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/thread.h"
#include "err/messages.h"

enum {
    BACKLOG = 1024,
    SHARED_MS = 100, /* for so long after a short request long ranges leave the thread */
};

static void close_handle(void *handle)
{
    if (!uv_is_closing(handle)) {
        uv_close(handle, NULL);
    }
}

void loop_end_if_done(struct loop *loop)
{
    if (loop->is_stopping && loop->conn_count == 0) {
        close_handle(&loop->wake_poll);
        close_handle(&loop->timer);
        close_handle(&loop->transfer_idle);
        close_handle(&loop->check); /* the last one: uv_run() returns */
    }
}

/* Answers are sent here and not inside http_reply(), so that the caller's arena stays valid until
 * it returns, and requests do not nest on the stack. */
void loop_go_on_ready(struct loop *loop)
{
    loop->turn_count = 0;
    while (loop->ready != NULL) {
        struct conn *conn = loop->ready;
        loop->ready = conn->next_ready;
        conn->is_ready = false;
        conn_go_on(conn);
    }
}

static void close_waiting(struct loop *loop, enum wait wait)
{
    while (loop->waits[wait].oldest != NULL) {
        conn_close(loop->waits[wait].oldest);
    }
}

/* Closes connections that wait for a request; the others are closed after their answer. */
static void begin_stop(struct loop *loop)
{
    loop->is_stopping = true;
    loop->stop_at_ms = uv_now(&loop->uv) + (uint64_t)loop->server->grace_ms;
    for (int i = 0; i < loop->listener_count; i++) {
        close_handle(&loop->listeners[i].tcp);
    }
    loop_go_on_ready(loop);
    close_waiting(loop, WAIT_HANDSHAKE);
    close_waiting(loop, WAIT_IDLE);
    close_waiting(loop, WAIT_STREAM);
    wait_arm(loop, loop->stop_at_ms);
    loop_end_if_done(loop);
}

static void drain(struct loop *loop)
{
    if (mailbox_drain(&loop->mailbox)) {
        loop->drain_count++;
    }
}

static void on_wake(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    struct loop *loop = poll->data;
    eventfd_t count;
    eventfd_read(loop->wake_fd, &count); /* before the mailbox is drained: later posts wake again */
    drain(loop);
    if (!loop->is_stopping && atomic_load_explicit(&loop->stop_is_asked, memory_order_acquire)) {
        begin_stop(loop);
    }
}

/* Wakes the loop, on the thread of the poster. Not uv_async_send(): libuv's loop would wait,
 * spinning, until the poster has returned from it, and a poster of low priority may have lost its
 * processor to the loop. The increment of wake_count is its last access to the loop: see
 * wait_for_posters(). */
static void wake(struct mailbox *mailbox)
{
    struct loop *loop = CONTAINER_OF(mailbox, struct loop, mailbox);
    eventfd_write(loop->wake_fd, 1);
    atomic_fetch_add_explicit(&loop->wake_count, 1, memory_order_release);
}

/* Waits until no poster is inside wake(): the last task may have run before its poster has left it.
 * Each time the mailbox becomes non-empty there is one wake() and one drain that finds tasks, so
 * with equal counts no thread is inside wake(). */
static void wait_for_posters(struct loop *loop)
{
    while (atomic_load_explicit(&loop->wake_count, memory_order_acquire) != loop->drain_count) {
        drain(loop);
        sched_yield();
    }
}

static void begin_round(struct loop *loop)
{
    struct mailbox *mailbox = &loop->mailbox;
    if (mailbox->request_count != mailbox->long_count) {
        mailbox->leave_until_ns = ((int64_t)uv_now(&loop->uv) + SHARED_MS) * 1000000;
    }
    mailbox->request_count = 0;
    mailbox->long_count = 0;
    mailbox->slice_until_ns = 0;
}

static void on_check(uv_check_t *check)
{
    struct loop *loop = check->data;
    loop_go_on_ready(loop);
    transfer_go_on(loop);
    loop_go_on_ready(loop); /* transfers that have ended */
    begin_round(loop);
}

static void on_connection(uv_stream_t *listener, int status)
{
    if (status == 0) { /* else the client has disconnected, or there are no descriptors */
        conn_accept(listener->data);
    }
}

bool loop_listen(struct loop *loop, int fd, bool is_secure, struct err *err)
{
    assert(loop->listener_count < HTTP_LISTENERS_MAX);
    struct listener *listener = &loop->listeners[loop->listener_count++];
    *listener = (struct listener){.loop = loop, .is_secure = is_secure};
    uv_tcp_init(&loop->uv, &listener->tcp);
    listener->tcp.data = listener;
    int result = uv_tcp_open(&listener->tcp, fd);
    if (result != 0) {
        close(fd);
    } else {
        result = uv_listen((uv_stream_t *)&listener->tcp, BACKLOG, on_connection);
    }
    return result == 0 || err_set(err, ERR_INTERNAL, "cannot listen: %s", uv_strerror(result));
}

bool loop_open(struct loop *loop, struct http_server *server, int number, struct err *err)
{
    loop->server = server;
    loop->number = number;
    loop->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (loop->wake_fd < 0) {
        return err_set(err, ERR_INTERNAL, "cannot make an event loop: %s", strerror(errno));
    }
    int result = uv_loop_init(&loop->uv);
    if (result != 0) {
        close(loop->wake_fd);
        return err_set(err, ERR_INTERNAL, "cannot make an event loop: %s", uv_strerror(result));
    }
    loop->has_uv = true;
    result = uv_poll_init(&loop->uv, &loop->wake_poll, loop->wake_fd);
    assert(result == 0); /* an eventfd can be polled */
    loop->wake_poll.data = loop;
    uv_poll_start(&loop->wake_poll, UV_READABLE, on_wake);
    uv_timer_init(&loop->uv, &loop->timer);
    loop->timer.data = loop;
    uv_check_init(&loop->uv, &loop->check);
    loop->check.data = loop;
    uv_check_start(&loop->check, on_check);
    uv_idle_init(&loop->uv, &loop->transfer_idle);
    mailbox_init(&loop->mailbox, wake);
    loop->mailbox.has_slices = true;
    wait_init(loop);
    return true;
}

static void run(void *argument)
{
    struct loop *loop = argument;
    thread_ask_for_short_slices();
    uv_run(&loop->uv, UV_RUN_DEFAULT);
    wait_for_posters(loop);
}

/* Blocks all signals on the thread: other threads handle them, and a write to a closed connection
 * must not raise SIGPIPE. */
bool loop_start(struct loop *loop, struct err *err)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int result = uv_thread_create(&loop->thread, run, loop);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    loop->has_thread = result == 0;
    if (loop->has_thread) {
        pthread_setname_np(loop->thread, "http-network");
    }
    return loop->has_thread ||
           err_set(err, ERR_INTERNAL, MESSAGE_NO_THREAD ": %s", uv_strerror(result));
}

void loop_stop(struct loop *loop)
{
    if (loop->has_thread) {
        atomic_store_explicit(&loop->stop_is_asked, true, memory_order_release);
        eventfd_write(loop->wake_fd, 1);
    }
}

void loop_close(struct loop *loop)
{
    if (loop->has_thread) {
        uv_thread_join(&loop->thread);
    } else if (loop->has_uv) { /* the thread never ran: closes its handles here */
        begin_stop(loop);
        uv_run(&loop->uv, UV_RUN_DEFAULT);
    }
    if (loop->has_uv) {
        int result = uv_loop_close(&loop->uv);
        assert(result == 0);
        close(loop->wake_fd);
    }
    slot_free_all(loop);
    coder_finish(&loop->coder);
    mem_free(loop->discarded);
    mem_free(loop->tls_in);
    buf_finish(&loop->tls_out);
}
