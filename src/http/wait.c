/* Time-outs without a timer per connection: a connection joins the end of the list of what it waits
 * for, so the first member of each list is the first to time out. Joining and leaving take constant
 * time, independent of the number of connections. On the loop's thread. */
#include "http/http_internal.h"

enum { LINGER_MS = 2000 };

void wait_init(struct loop *loop)
{
    const struct http_options *options = loop_options(loop);
    loop->waits[WAIT_HANDSHAKE].timeout_ms = options->handshake_timeout_ms;
    loop->waits[WAIT_IDLE].timeout_ms = options->idle_timeout_ms;
    loop->waits[WAIT_REQUEST].timeout_ms = options->request_timeout_ms;
    loop->waits[WAIT_SEND].timeout_ms = options->send_timeout_ms;
    loop->waits[WAIT_LINGER].timeout_ms = LINGER_MS;
    loop->timer_at_ms = UINT64_MAX;
}

void wait_arm(struct loop *loop, uint64_t at_ms)
{
    if (at_ms < loop->timer_at_ms) {
        uint64_t now_ms = uv_now(&loop->uv);
        loop->timer_at_ms = at_ms;
        uv_timer_start(&loop->timer, wait_on_timer, at_ms > now_ms ? at_ms - now_ms : 0, 0);
    }
}

void wait_leave(struct conn *conn)
{
    if (conn->wait == WAIT_NOTHING) {
        return;
    }
    struct wait_list *list = &conn->loop->waits[conn->wait];
    *(conn->older != NULL ? &conn->older->newer : &list->oldest) = conn->newer;
    *(conn->newer != NULL ? &conn->newer->older : &list->newest) = conn->older;
    if (list->next_check == conn) {
        list->next_check = conn->newer;
    }
    conn->older = NULL;
    conn->newer = NULL;
    conn->wait = WAIT_NOTHING;
}

static void join(struct conn *conn, enum wait wait)
{
    struct wait_list *list = &conn->loop->waits[wait];
    conn->wait = wait;
    conn->older = list->newest;
    *(list->newest != NULL ? &list->newest->newer : &list->oldest) = conn;
    list->newest = conn;
}

void wait_set(struct conn *conn, enum wait wait)
{
    struct loop *loop = conn->loop;
    int timeout_ms = loop->waits[wait].timeout_ms;
    if (wait != WAIT_IDLE && timeout_ms > 0) {
        /* libuv's clock does not advance during a round of events, and handlers may take long. For
         * idle connections, which are set with every request, it is exact enough. */
        uv_update_time(&loop->uv);
    }
    wait_leave(conn);
    join(conn, wait);
    conn->since_ms = uv_now(&loop->uv);
    if (timeout_ms > 0) {
        wait_arm(loop, conn->since_ms + (uint64_t)timeout_ms);
    }
}

static uint64_t due_ms(const struct wait_list *list)
{
    if (list->oldest == NULL || list->timeout_ms == 0) {
        return UINT64_MAX;
    }
    return list->oldest->since_ms + (uint64_t)list->timeout_ms;
}

static void close_all(struct loop *loop)
{
    for (int i = 0; i < WAIT_COUNT; i++) {
        while (loop->waits[i].oldest != NULL) {
            conn_close(loop->waits[i].oldest);
        }
    }
}

void wait_on_timer(uv_timer_t *timer)
{
    struct loop *loop = timer->data;
    uint64_t now_ms = uv_now(&loop->uv);
    loop->timer_at_ms = UINT64_MAX;
    if (loop->is_stopping && now_ms >= loop->stop_at_ms) {
        close_all(loop);
    }
    for (int i = 0; i < WAIT_COUNT; i++) {
        while (due_ms(&loop->waits[i]) <= now_ms) {
            conn_on_timeout(loop->waits[i].oldest); /* it leaves the list, or joins it again */
        }
    }
    for (int i = 0; i < WAIT_COUNT; i++) {
        wait_arm(loop, due_ms(&loop->waits[i]));
    }
    if (loop->large_until_ms != 0) {
        if (now_ms >= loop->large_until_ms) {
            slot_drop_large(loop);
        } else {
            wait_arm(loop, loop->large_until_ms);
        }
    }
    if (loop->is_stopping && now_ms < loop->stop_at_ms) {
        wait_arm(loop, loop->stop_at_ms);
    }
}
