/* Connections that transfer much take turns: in a round of events the loop receives and sends about
 * TRANSFER_ROUND_BYTES of large bodies and answers, of all connections together. The others wait in
 * a queue, which is served after the round. So the number of transfers does not change how long a
 * small request waits. On the loop's thread. */
#include "http/http_internal.h"

enum {
    PART_BYTES_MIN = 64 * 1024, /* smaller parts are not worth a system call */
    /* What a read of BODY_READ_MAX counts: it is followed by page faults. */
    READ_COUNTS = 2 * BODY_READ_MAX,
};

static void leave(struct conn *conn)
{
    struct loop *loop = conn->loop;
    *(conn->older_transfer != NULL ? &conn->older_transfer->newer_transfer
                                   : &loop->oldest_transfer) = conn->newer_transfer;
    *(conn->newer_transfer != NULL ? &conn->newer_transfer->older_transfer
                                   : &loop->newest_transfer) = conn->older_transfer;
    conn->older_transfer = conn->newer_transfer = NULL;
    conn->transfer = TRANSFER_NOTHING;
}

static void on_idle(uv_idle_t *idle)
{
    (void)idle;
}

void transfer_wait(struct conn *conn, enum transfer transfer)
{
    struct loop *loop = conn->loop;
    assert(conn->transfer == TRANSFER_NOTHING);
    conn->transfer = transfer;
    conn->older_transfer = loop->newest_transfer;
    *(loop->newest_transfer != NULL ? &loop->newest_transfer->newer_transfer
                                    : &loop->oldest_transfer) = conn;
    loop->newest_transfer = conn;
    uv_idle_start(&loop->transfer_idle, on_idle);
}

void transfer_leave(struct conn *conn)
{
    if (conn->transfer != TRANSFER_NOTHING) {
        leave(conn);
    }
}

size_t transfer_left(const struct loop *loop)
{
    size_t left = TRANSFER_ROUND_BYTES - MIN(loop->transferred, (size_t)TRANSFER_ROUND_BYTES);
    return left < PART_BYTES_MIN ? 0 : left;
}

/* A connection that receives is counted now, with as much as it may read in the next round. */
void transfer_go_on(struct loop *loop)
{
    loop->transferred = 0;
    while (loop->oldest_transfer != NULL && transfer_left(loop) > 0) {
        struct conn *conn = loop->oldest_transfer;
        enum transfer transfer = conn->transfer;
        leave(conn);
        if (transfer == TRANSFER_SEND) {
            send_rest(conn);
        } else {
            loop->transferred += READ_COUNTS;
            conn_receive_more(conn);
        }
    }
    if (loop->oldest_transfer == NULL) {
        uv_idle_stop(&loop->transfer_idle);
    }
}
