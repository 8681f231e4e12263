/* http/http_internal.h: what the files of this folder share.
 *
 *   server    owns the loops; its options never change after http_server_open()
 *   loop      one thread: libuv's loop, listeners, the mailbox, lists of connections, free slots
 *   conn      one connection; an idle one has no other memory
 *   slot      the memory of a busy connection, lent by the loop
 *   slow      threads for expensive work; a slot is used by one of them or by its loop
 *
 * All structs but `struct http_server` and the queue of slow.c are used by one thread only; there
 * are no other locks. */
#ifndef GRAMME_HTTP_HTTP_INTERNAL_H
#define GRAMME_HTTP_HTTP_INTERNAL_H

#include "http/chunked.h"
#include "http/coding_internal.h"
#include "http/head_internal.h"
#include "http/http.h"
#include "http/slow_queue_internal.h"
#include "http/tls_internal.h"

#include <uv.h> /* last: it defines the system's MIN and MAX */

enum {
    PIECES_MAX = 64,            /* answers of pipelined requests in one write */
    OUT_BYTES_MAX = 256 * 1024, /* with more unsent bytes no further request is handled */
    HEAD_GAP = 512,             /* space before a body, for its head */
    /* Bytes of large bodies and answers that are transferred in one round of events, of all
     * connections together (see transfer.c); it takes about half a millisecond. */
    TRANSFER_ROUND_BYTES = 1536 * 1024,
    BODY_READ_MAX = 256 * 1024, /* largest read of a body */
};

/* What a connection is in the queue of transfer.c for. */
enum transfer {
    TRANSFER_NOTHING, /* it is not in the queue */
    TRANSFER_RECEIVE, /* more of a body */
    TRANSFER_SEND,    /* slot->unsent */
};

/* What a connection waits for. Each has a list per loop, ordered by the time of joining. All
 * members of a list have the same time-out, so only the oldest one must be checked. */
enum wait {
    WAIT_NOTHING,   /* in no list */
    WAIT_HANDSHAKE, /* for the handshake of TLS to end */
    WAIT_IDLE,      /* for a request to begin */
    WAIT_REQUEST,   /* for the rest of a request */
    WAIT_HANDLER,   /* for http_reply(); no time-out */
    WAIT_SEND,      /* for the client to read its answers */
    WAIT_LINGER,    /* for the client to close, after the last answer */
    WAIT_STREAM,    /* an answer without an end is being sent; no time-out */
    WAIT_COUNT,
};

/* State of the request on a slot. */
enum stage {
    STAGE_HEAD,
    STAGE_BODY_HERE,    /* the body is read into the read buffer, behind the head */
    STAGE_BODY_APART,   /* a larger body is read into slot->body */
    STAGE_BODY_CHUNKED, /* chunks are collected in slot->body */
    STAGE_INFLATING,    /* a slow thread decompresses the body */
    STAGE_CALLING,      /* the handler is running */
    STAGE_DEFERRED,     /* the handler returned without an answer */
    STAGE_COMPRESSING,  /* a slow thread compresses the answer */
    STAGE_ANSWERED,
};

/* What a slow thread does for a slot. */
enum slow_kind { SLOW_NOTHING, SLOW_INFLATE, SLOW_RUN, SLOW_COMPRESS };

/* Bytes of slot->out to send; offsets, because the buffer moves when it grows. */
struct piece {
    size_t start;
    size_t len;
};

/*  in:  | request under way: head, body | requests behind it | free |
 *       in_start                  in_at                      in_len  in_size
 *
 * While bytes of the request are missing, in_start is 0, so that there is always space for them.
 * in_at is the end of the parsed bytes. */
struct request_slot {
    struct http_exchange exchange;
    struct conn *conn;
    struct request_slot *next_free;
    enum stage stage;
    int fail_status; /* after RECEIVE_FAILED: status and text of the answer */
    const char *fail_text;
    bool is_busy; /* after RECEIVE_FAILED: no memory for the request; answer with answer_busy() */
    bool continue_wanted;  /* the client waits for "100 Continue" before it sends the body */
    size_t body_bytes_max; /* of this request */
    bool holds_secret;     /* a request or an answer since the slot was taken did */

    struct budget arena_budget;
    struct budget buf_budget; /* of the four buffers; `in` and the slot itself count in the pool */
    struct arena arena;
    struct head head;
    struct chunked chunked;
    struct buf body;  /* as received, if it is not in the read buffer */
    struct buf plain; /* the decompressed body */

    struct buf out; /* answers, each: rest of the gap, head, body */
    struct piece pieces[PIECES_MAX];
    size_t piece_count;
    uv_write_t out_write;
    struct buf tail; /* unsent answers, copied from `out` while the handler appends to it */
    uv_write_t tail_write;

    enum slow_kind slow_kind;
    bool slow_is_wanted;      /* slow_start_wanted() passes the slot to a slow thread */
    atomic_bool is_abandoned; /* the connection is closed: a slow thread need not begin */
    struct slow_entry slow_entry;
    struct request_slot *next_slow;
    struct task slow_task;
    http_handler *slow_run;
    void *slow_context;
    struct slow_thread *slow_thread; /* runs slow_run, until the slot is back; or NULL */
    enum coder_status inflate_status;
    struct http_answer answer; /* a copy in the arena, while a slow thread compresses it */
    struct buf coded;          /* the compressed body; empty: it is sent uncompressed */
    enum coding coded_as;
    uint32_t answer_crc32; /* of the body that is sent */

    uv_buf_t unsent[PIECES_MAX]; /* the rest of what out_write or tail_write sends */
    size_t unsent_count;

    size_t in_start;
    size_t in_at;
    size_t in_len;
    size_t in_size;
    char in[];
};

struct conn {
    uv_tcp_t tcp;
    struct loop *loop;
    struct tls *tls;            /* NULL: without TLS */
    struct request_slot *slot;  /* NULL while idle */
    struct http_stream *stream; /* an answer without an end, or NULL */
    enum wait wait;
    uint64_t since_ms;
    struct conn *older;
    struct conn *newer;
    struct conn *next_ready;
    struct conn *older_transfer;
    struct conn *newer_transfer;
    enum transfer transfer;
    uint8_t peer[16];     /* as in struct http_exchange */
    size_t counted_bytes; /* at the last check: WAIT_SEND: unsent, WAIT_REQUEST: received */
    int64_t slow_end_ns;  /* of its last task on a slow thread: see slow_queue_internal.h */
    int64_t slow_used_ns; /* processor time of the largest of its last tasks there, and of its last
                             requests with a body that is not small */
    int writes_under_way; /* of slot->out_write and slot->tail_write, that of a waiting transfer
                             included */
    uv_write_t *waiting_write; /* of TRANSFER_SEND */
    bool is_reading;
    bool is_ready; /* in loop->ready: it has answers to send */
    bool is_ended; /* the client has closed its side */
    bool is_last;  /* the connection is closed after the current answer */
    bool is_cut;   /* the client may still be sending: conn_linger() before closing */
    bool is_gone;  /* uv_close() was called; the struct lives until http_reply() */
    bool is_closed;
};

struct wait_list {
    struct conn *oldest;
    struct conn *newest;
    struct conn *next_check; /* where close_slow() goes on; NULL: at the oldest */
    int timeout_ms;          /* 0: none */
};

/* A listening socket of one thread. */
struct listener {
    uv_tcp_t tcp;
    struct loop *loop;
    bool is_secure;
};

struct loop {
    struct http_server *server;
    int number;
    uv_thread_t thread;
    bool has_uv;
    bool has_thread;
    uv_loop_t uv;
    struct listener listeners[HTTP_LISTENERS_MAX];
    int listener_count; /* of open listeners */
    uv_timer_t timer;
    uint64_t timer_at_ms; /* UINT64_MAX: not running */
    uv_check_t check;     /* runs after each round of events: connections in `ready` send */
    struct conn *ready;   /* newest first; their order does not matter */
    int turn_count;       /* connections that were handled since one became ready */

    struct conn *oldest_transfer; /* queue of transfer.c */
    struct conn *newest_transfer;
    uv_idle_t transfer_idle; /* runs while the queue is not empty: then no round waits for events */
    size_t transferred;      /* bytes of large bodies and answers in this round of events */

    const struct conn *served; /* the connection of the last request; must not be dereferenced */
    uint64_t served_since_ms;  /* since when all requests came from it */

    struct mailbox mailbox;
    int wake_fd; /* an eventfd: wakes the thread */
    uv_poll_t wake_poll;
    size_t drain_count;              /* how often the mailbox was drained and not empty */
    _Atomic size_t wake_count;       /* how often wake() was called and has ended */
    struct task life_sign;           /* posted by http_server_is_alive() */
    atomic_bool life_sign_is_wanted; /* it was posted and has not run yet */
    atomic_bool stop_is_asked;
    bool is_stopping;
    uint64_t stop_at_ms;

    struct wait_list waits[WAIT_COUNT];
    size_t conn_count; /* of structs, including closed ones whose exchange is open */
    struct request_slot *free_slots;
    size_t free_slot_count;
    size_t large_bytes;      /* of free slots' answer buffers that are large */
    uint64_t large_until_ms; /* when these are freed; 0: there are none */
    struct coder coder;

    char head_lines[256]; /* the lines "Server" and "Date" */
    size_t head_lines_len;
    size_t date_start;
    uint64_t date_until_ms;
    char *discarded; /* buffer for bytes that are ignored */
    char *tls_in;    /* TLS_READ_BYTES, for bytes that are decrypted at once; NULL: not used yet */
    struct buf tls_out; /* encrypted bytes that are sent at once */
};

struct http_server {
    struct http_options options; /* with copies of the texts */
    http_handler *handler;
    void *context;
    int ports[HTTP_LISTENERS_MAX];
    int grace_ms; /* set before stop_is_asked */
    atomic_int connection_count;
    struct loop *loops;
    struct str busy; /* a complete answer for connections that get no slot */
    struct slow_pool *slow;
    struct handshake_pool *handshakes; /* NULL: no listener is secure */
    pthread_mutex_t tls_mutex;
    struct http_tls *tls; /* for new connections; under tls_mutex */
};

/* Returns the options of the server. */
static inline const struct http_options *loop_options(const struct loop *loop)
{
    return &loop->server->options;
}

/* listen.c */
/* Sockets bound to one address, one per thread. */
struct listen_sockets {
    int *fds;  /* an array of the caller */
    int count; /* wanted number */
    int port;
};
/* Binds sockets->count sockets to the address of a listener, with SO_REUSEPORT; sets fds and port.
 * False: none is open. */
MUST_USE bool listen_bind(const struct http_listener *listener, struct listen_sockets *sockets,
                          struct err *err);

/* loop.c: functions without a remark run on the thread of the loop. */
/* Initializes a loop; loop_start() starts its thread. Caller of http_server_open(). */
MUST_USE bool loop_open(struct loop *loop, struct http_server *server, int number, struct err *err);
/* Accepts connections from a bound socket. The loop owns the socket, also if this fails. Caller of
 * http_server_open(). */
MUST_USE bool loop_listen(struct loop *loop, int fd, bool is_secure, struct err *err);
/* Starts the thread. Caller of http_server_open(). */
MUST_USE bool loop_start(struct loop *loop, struct err *err);
/* Asks the thread to end, within the server's grace_ms; loop_close() then joins it. Any thread. */
void loop_stop(struct loop *loop);
/* Joins the thread and frees the loop. Caller of http_server_close(). */
void loop_close(struct loop *loop);
/* Lets the connections in loop->ready handle their next requests and send their answers. */
void loop_go_on_ready(struct loop *loop);
/* Ends the event loop if it is stopping and has no connections. */
void loop_end_if_done(struct loop *loop);

/* wait.c: the wait lists and the timer of a loop. */
/* Initializes the lists. */
void wait_init(struct loop *loop);
/* Moves a connection to the end of a wait list, and starts its time-out. */
void wait_set(struct conn *conn, enum wait wait);
/* Removes a connection from its wait list. */
void wait_leave(struct conn *conn);
/* Callback of the timer: calls conn_on_timeout() for connections whose time-out has passed. */
void wait_on_timer(uv_timer_t *timer);
/* Makes the timer run at `at_ms` or earlier. */
void wait_arm(struct loop *loop, uint64_t at_ms);

/* request_slot.c: memory of busy connections. */
/* Takes a free slot, or allocates one, for a connection. */
MUST_USE struct request_slot *slot_take(struct loop *loop, struct conn *conn);
/* Returns a slot, when no exchange is open and no write is under way. */
void slot_return(struct loop *loop, struct request_slot *slot);
/* All answers were sent: releases exchange.hold, if there is one. A slot has at most one, because
 * the answer of a request with a hold is sent before the next request is handled. */
void slot_release_hold(struct request_slot *slot);
/* Overwrites the memory of a request that held a secret; that of its answer when the slot is
 * returned. */
void slot_erase_request(struct request_slot *slot);
/* Frees the buffers of the body, which the current request no longer needs. */
void slot_drop_body(struct request_slot *slot);
/* Frees the memory of a request that was replied to, if it is much, on a slow thread: the loop then
 * has little to free. Of the request slot->answer remains. */
void slot_drop_request(struct request_slot *slot);
/* Frees the large buffers of free slots when their time has passed. */
void slot_drop_large(struct loop *loop);
/* Frees all free slots. */
void slot_free_all(struct loop *loop);

/* receive.c: parses requests. */
enum receive { RECEIVE_MORE, RECEIVE_DONE, RECEIVE_FAILED, RECEIVE_REFUSED, RECEIVE_INFLATE };
/* Returns the buffer for the next bytes from the client; empty if there is no space now. */
MUST_USE uv_buf_t receive_room(struct request_slot *slot);
/* `byte_count` bytes were read into receive_room(). */
void receive_count(struct request_slot *slot, size_t byte_count);
/* Parses the received bytes. RECEIVE_MORE: the request is not complete. RECEIVE_DONE:
 * slot->exchange is ready for the handler. RECEIVE_FAILED: slot->fail_status and fail_text say why.
 * RECEIVE_REFUSED: options->head_check has replied, and the body must not be read. RECEIVE_INFLATE:
 * a slow thread must call receive_inflate(), then the loop receive_inflated(). */
MUST_USE enum receive receive_request(struct request_slot *slot);
/* Decompresses the body. Slow thread. */
void receive_inflate(struct request_slot *slot, struct coder *coder);
/* Uses the decompressed body. False: it is invalid or too large; see fail_status and fail_text. */
MUST_USE bool receive_inflated(struct request_slot *slot);
/* Ends the current request; the bytes after it become the next one. */
void receive_next(struct request_slot *slot);
/* Returns whether the slot holds no byte of a request. */
MUST_USE bool receive_is_empty(const struct request_slot *slot);

/* answer.c: heads of answers. */
/* Begins an answer: leaves a gap for the head at the end of slot->out; the body follows. */
void answer_begin(struct request_slot *slot);
/* Completes the answer whose body is at the end of slot->out: compresses it and writes the head. */
void answer_end(struct request_slot *slot, const struct http_answer *answer);
/* Returns whether a slow thread should compress the answer. */
MUST_USE bool answer_is_slow(const struct request_slot *slot, const struct http_answer *answer);
/* Copies the answer to slot->answer, in the arena of the slot. */
void answer_keep(struct request_slot *slot, const struct http_answer *answer);
/* Compresses the body of slot->answer into slot->coded, if the client accepts that. Slow thread. */
void answer_compress(struct request_slot *slot, struct coder *coder);
/* Answers a request that is not passed to the handler, and ends the connection. */
void answer_fail(struct request_slot *slot, int status, const char *text);
/* Writes "100 Continue". */
void answer_continue(struct request_slot *slot);
/* Answers a request for which there is no memory, instead of calling the handler. The connection
 * continues if `whole`: all of the request was received. */
void answer_busy(struct request_slot *slot, bool whole);
/* Returns the same as a complete answer that ends the connection, for connections without a slot.
 * The caller frees it with mem_free(). */
MUST_USE struct str answer_busy_text(const struct http_options *options);

/* send.c */
/* Sends slot->out as far as the socket accepts it; libuv sends the rest. May close the connection.
 */
void send_answers(struct conn *conn);

/* Continues with slot->unsent after the connection has waited for TRANSFER_SEND. */
void send_rest(struct conn *conn);

/* transfer.c */
/* Adds the connection to the queue. Its turn comes after a round of events. */
void transfer_wait(struct conn *conn, enum transfer transfer);
/* Removes the connection from the queue, if it is there. */
void transfer_leave(struct conn *conn);
/* Returns how many more bytes may be transferred in this round of events. */
MUST_USE size_t transfer_left(const struct loop *loop);
/* Begins a round of events: lets the connections that have waited longest go on. */
void transfer_go_on(struct loop *loop);

/* stream.c */
/* The head was sent: sends the bytes that were added since http_stream_open(). */
void stream_begin(struct http_stream *stream);
/* The connection is closed: calls `closed` and frees the stream. */
void stream_end(struct http_stream *stream);

/* slow.c */
/* Starts the slow threads. */
MUST_USE bool slow_open(struct http_server *server, struct err *err);
/* Ends the slow threads, after all loops have ended. Accepts NULL. */
void slow_close(struct slow_pool *pool);
/* Marks a slot for a slow thread; slow_start_wanted() passes it on when no write uses the slot. */
void slow_want(struct request_slot *slot, enum slow_kind kind);
/* Passes a marked slot to the slow threads. */
void slow_start_wanted(struct request_slot *slot);
/* Frees a buffer of at least some 100 bytes, which is empty afterwards, on a slow thread: it takes
 * the kernel about a millisecond for 10 MB. */
void slow_free(struct slow_pool *pool, struct buf *buf);
/* http_reply() on a slow thread. */
void slow_reply(struct request_slot *slot, const struct http_answer *answer);

/* conn.c */
/* Accepts a connection. */
void conn_accept(struct listener *listener);
/* Returns the buffer for the next decrypted or plain bytes from the client. */
MUST_USE uv_buf_t conn_room(struct conn *conn);
/* `count` bytes were read into conn_room(). UV_EOF: the client has closed its side, and reading has
 * stopped. Another negative number: the connection is broken. */
void conn_received(struct conn *conn, ssize_t count);
/* No bytes were read into conn_room() of a connection without a slot: it gets none yet. */
void conn_stay_idle(struct conn *conn);
/* Returns whether bytes from the client are ignored. */
MUST_USE bool conn_is_ignored(const struct conn *conn);
/* Shuts down the sending side, and reads until the client closes, so that it gets the last answer.
 */
void conn_linger(struct conn *conn);
/* Frees the connection if libuv has closed it and no exchange or handshake uses it. */
void conn_free_if_done(struct conn *conn);
/* Calls the handler with a complete request, or answers it if memory is used up. */
void conn_call_handler(struct conn *conn);
/* Answers a request after RECEIVE_FAILED. */
void conn_refuse_request(struct conn *conn);
/* Returns whether the handler or a slow thread has a request of the connection. */
MUST_USE bool conn_has_exchange(const struct conn *conn);
/* Handles all requests that are complete, and sends the answers. */
void conn_go_on(struct conn *conn);
/* Adds the connection to loop->ready: conn_go_on() is called after this round of events. */
void conn_be_ready(struct conn *conn);
/* Reads more of a body, after the connection has waited for TRANSFER_RECEIVE. */
void conn_receive_more(struct conn *conn);
/* Closes the connection. */
void conn_close(struct conn *conn);
/* The time-out of the connection has passed: closes it, or gives it more time. */
void conn_on_timeout(struct conn *conn);

#endif
