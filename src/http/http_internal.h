/* http/http_internal.h: what the files of this folder share.
 *
 * server    owns the loops; its options never change after http_server_open()
 * loop      one thread: libuv's loop, the listener, the mailbox, lists of connections, free slots
 * conn      one connection; idle ones are this struct only
 * slot      what a connection needs while it is busy, lent by the loop
 * slow      threads for what takes long; a slot is with one of them at a time, or with its loop
 *
 * Everything but `struct http_server` and the queue of slow.c belongs to one thread; there are no
 * other locks. */
#ifndef GRAMME_HTTP_HTTP_INTERNAL_H
#define GRAMME_HTTP_HTTP_INTERNAL_H

#include "http/chunked.h"
#include "http/coding_internal.h"
#include "http/head_internal.h"
#include "http/http.h"
#include "http/tls_internal.h"

#include <uv.h> /* last: it brings a MIN and MAX of the system's */

enum {
    PIECES_MAX = 64,            /* answers of pipelined requests that go out in one write */
    OUT_BYTES_MAX = 256 * 1024, /* unsent answers above which no further request is begun */
    /* Of answers that go to the kernel in one round of events: of one connection, if it is not the
     * first; of the first connections together. */
    SEND_BYTES_MAX = 256 * 1024,
    SEND_ROUND_BYTES = 2 * 1024 * 1024,
    HEAD_GAP = 512, /* left free before a body, so that the head can be put there */
};

/* What a connection waits for. Each has a list per loop, ordered by the time of joining; as all in
 * one list have the same time-out, only its oldest member need be looked at. */
enum wait {
    WAIT_NOTHING,   /* in no list */
    WAIT_HANDSHAKE, /* for the handshake of TLS to end */
    WAIT_IDLE,      /* for a request to begin */
    WAIT_REQUEST,   /* for the rest of a request */
    WAIT_HANDLER,   /* for http_reply(); no time-out */
    WAIT_SEND,      /* for the client to take its answers */
    WAIT_LINGER,    /* for the client to end, after our last answer */
    WAIT_STREAM,    /* an answer without an end is being sent; no time-out */
    WAIT_COUNT,
};

/* Where the request on a slot stands. */
enum stage {
    STAGE_HEAD,
    STAGE_BODY_HERE,    /* in the read buffer, right behind its head */
    STAGE_BODY_APART,   /* too large for that: read into slot->body */
    STAGE_BODY_CHUNKED, /* pieces are collected in slot->body */
    STAGE_INFLATING,    /* a slow thread undoes the body's coding */
    STAGE_CALLING,      /* inside the handler's call */
    STAGE_DEFERRED,     /* the handler returned without an answer */
    STAGE_COMPRESSING,  /* a slow thread compresses the answer */
    STAGE_ANSWERED,
};

/* What a slow thread does for a slot. */
enum slow_kind { SLOW_NOTHING, SLOW_INFLATE, SLOW_RUN, SLOW_COMPRESS };

/* Bytes of slot->out to send, as offsets because the buffer moves when it grows. */
struct piece {
    size_t start;
    size_t len;
};

/*  in:  | request under way: head, body | requests behind it | free |
 *       in_start                  in_at                      in_len  in_size
 *
 * While bytes of the request are missing, in_start is 0, so that there is always room for them.
 * in_at is how far the request was understood. */
struct request_slot {
    struct http_exchange exchange;
    struct conn *conn;
    struct request_slot *next_free;
    enum stage stage;
    int fail_status; /* after RECEIVE_FAILED: the answer, and why */
    const char *fail_text;
    bool is_busy; /* after RECEIVE_FAILED: there is no memory for the request; answer_busy() */
    bool continue_wanted; /* the client waits for "100 Continue" before it sends the body */

    struct budget arena_budget;
    struct budget buf_budget; /* of the four buffers; `in` and the slot itself are in the pool */
    struct arena arena;
    struct head head;
    struct chunked chunked;
    struct buf body;  /* as received, if it is not in the read buffer */
    struct buf plain; /* the body with its coding undone */

    struct buf out; /* answers, each: rest of the gap, head, body */
    struct piece pieces[PIECES_MAX];
    size_t piece_count;
    uv_write_t out_write;
    struct buf tail; /* unsent answers, moved here when the handler goes on writing to `out` */
    uv_write_t tail_write;

    enum slow_kind slow_kind;
    bool slow_is_wanted;      /* to be started at the end of the turn */
    atomic_bool is_abandoned; /* the connection is gone: a slow thread need not begin */
    struct request_slot *next_slow;
    struct task slow_task;
    http_handler *slow_run;
    void *slow_context;
    struct slow_thread *slow_thread; /* NULL: slow_run is not running */
    bool slow_is_done;               /* slow_run has replied */
    enum coder_status inflate_status;
    struct http_answer answer; /* in the arena, while a slow thread has the answer */
    struct buf coded;          /* the answer's body, compressed; empty: it was not */
    enum coding coded_as;
    uint32_t answer_crc32; /* of the body of `answer` as it is sent */

    uv_buf_t unsent[PIECES_MAX]; /* what out_write or tail_write is to send next */
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
    struct tls *tls;            /* NULL: the connection is plain */
    struct request_slot *slot;  /* NULL while idle */
    struct http_stream *stream; /* its answer has no end; else NULL */
    enum wait wait;
    uint64_t since_ms;
    struct conn *older;
    struct conn *newer;
    struct conn *next_ready;
    uint8_t peer[16];     /* as in struct http_exchange */
    size_t counted_bytes; /* when last looked at: WAIT_SEND: unsent, WAIT_REQUEST: received */
    int writes_under_way; /* of slot->out_write and slot->tail_write */
    bool is_reading;
    bool is_ready; /* in loop->ready: it has answers to send */
    bool is_ended; /* the client sends no more */
    bool is_last;  /* no request after this one: close when all is sent */
    bool is_cut;   /* the client may still be sending: do not just close, see conn_end() */
    bool is_gone;  /* closed for libuv; here until http_reply() */
    bool is_closed;
};

struct wait_list {
    struct conn *oldest;
    struct conn *newest;
    int timeout_ms; /* 0: none */
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
    int listener_count; /* that were opened */
    uv_timer_t timer;
    uint64_t timer_at_ms; /* UINT64_MAX: not running */
    uv_check_t check;     /* after each round of events: connections in `ready` go on */
    struct conn *ready;   /* newest first; they do not depend on each other */
    int turn_count;       /* of connections, since one became ready */
    size_t sent_bytes;    /* handed to the kernel in this round of events */

    const struct conn *served; /* the last request was its; not to be looked into */
    uint64_t served_since_ms;  /* when another one's was before */

    struct mailbox mailbox;
    uv_async_t async;
    size_t drain_count;        /* how often something was found in the mailbox */
    _Atomic size_t wake_count; /* how often a poster has woken us and is done with it */
    atomic_bool stop_is_asked;
    bool is_stopping;
    uint64_t stop_at_ms;

    struct wait_list waits[WAIT_COUNT];
    size_t conn_count; /* structs, also those that are gone but not yet replied to */
    struct request_slot *free_slots;
    size_t free_desk_count;
    size_t large_bytes;      /* of free slots' answer buffers that are large */
    uint64_t large_until_ms; /* when these are freed; 0: there are none */
    struct coder coder;

    char stamp[256]; /* the lines "Server" and "Date" */
    size_t stamp_len;
    size_t date_start;
    uint64_t date_until_ms;
    char *discarded; /* where bytes go that nobody wants */
    char *tls_in; /* TLS_READ_BYTES: from a socket, to be decrypted at once; NULL: not used yet */
    struct buf tls_out; /* encrypted bytes, to be sent at once */
};

struct http_server {
    struct http_options options; /* the texts are copies of our own */
    http_handler *handler;
    void *context;
    int ports[HTTP_LISTENERS_MAX];
    int grace_ms; /* set before stop_is_asked */
    atomic_int connection_count;
    struct loop *loops;
    struct str busy; /* a whole response for connections that get no slot */
    struct slow_pool *slow;
    struct handshake_pool *handshakes; /* NULL: no listener is secure */
    pthread_mutex_t tls_mutex;
    struct http_tls *tls; /* for new connections; under tls_mutex */
};

static inline const struct http_options *loop_options(const struct loop *loop)
{
    return &loop->server->options;
}

/* listen.c: sockets bound to one address, one per thread, SO_REUSEPORT. */
struct listen_sockets {
    int *fds;  /* the caller's array */
    int count; /* how many are wanted */
    int port;
};
MUST_USE bool listen_bind(const struct http_listener *listener, struct listen_sockets *sockets,
                          struct err *err);

/* loop.c */
MUST_USE bool loop_open(struct loop *loop, struct http_server *server, int number, struct err *err);
/* Accepts connections from a bound socket, which the loop closes, also if this fails. */
MUST_USE bool loop_listen(struct loop *loop, int fd, bool is_secure, struct err *err);
MUST_USE bool loop_start(struct loop *loop, struct err *err);
/* Asks the thread to end within the server's grace; loop_close() then joins it. */
void loop_stop(struct loop *loop);
void loop_close(struct loop *loop);
/* Connections in `ready` send their answers. */
void loop_go_on_ready(struct loop *loop);
/* Ends the loop if nothing is left that it waits for. */
void loop_end_if_done(struct loop *loop);

/* wait.c: the lists and the one timer of a loop. */
void wait_init(struct loop *loop);
void wait_set(struct conn *conn, enum wait wait);
void wait_leave(struct conn *conn);
void wait_on_timer(uv_timer_t *timer);
/* Makes sure that the timer runs at that time or earlier. */
void wait_arm(struct loop *loop, uint64_t at_ms);

/* request_slot.c: memory of a busy connection. */
MUST_USE struct request_slot *slot_take(struct loop *loop, struct conn *conn);
void slot_return(struct loop *loop, struct request_slot *slot);
/* Frees large buffers that the current request no longer needs: its body. */
void slot_drop_body(struct request_slot *slot);
/* Frees the large buffers that free slots have kept for some time. */
void slot_drop_large(struct loop *loop);
void slot_free_all(struct loop *loop);

/* receive.c: bytes become requests. */
enum receive { RECEIVE_MORE, RECEIVE_DONE, RECEIVE_FAILED, RECEIVE_REFUSED, RECEIVE_INFLATE };
/* Where the next bytes from the client go; empty if there is no room now. */
MUST_USE uv_buf_t receive_room(struct request_slot *slot);
void receive_count(struct request_slot *slot, size_t byte_count);
/* RECEIVE_DONE: slot->exchange is ready for the handler. RECEIVE_REFUSED: options->head_check has
 * answered, and the rest of the request is not wanted. RECEIVE_INFLATE: it is when a slow thread
 * has called receive_inflate(), and the loop then receive_inflated(). */
MUST_USE enum receive receive_request(struct request_slot *slot);
void receive_inflate(struct request_slot *slot, struct coder *coder);
/* False: the body is bad or too large, as fail_status and fail_text say. */
MUST_USE bool receive_inflated(struct request_slot *slot);
/* Leaves the request behind; the bytes after it are next. */
void receive_next(struct request_slot *slot);
/* Whether the slot holds no byte of a request. */
MUST_USE bool receive_is_empty(const struct request_slot *slot);

/* answer.c: heads of answers. */
/* Leaves a gap for the head at the end of slot->out; the body is to follow. */
void answer_begin(struct request_slot *slot);
/* Completes the answer whose body ends slot->out. */
void answer_end(struct request_slot *slot, const struct http_answer *answer);
/* Whether compressing the answer is left to a slow thread. */
MUST_USE bool answer_is_slow(const struct request_slot *slot, const struct http_answer *answer);
/* Copies the answer to the slot's arena, as slot->answer. */
void answer_keep(struct request_slot *slot, const struct http_answer *answer);
/* Compresses the body of slot->answer into slot->coded, if the client asks for it. */
void answer_compress(struct request_slot *slot, struct coder *coder);
/* An answer of our own to a request that no handler sees; ends the connection. */
void answer_fail(struct request_slot *slot, int status, const char *text);
void answer_continue(struct request_slot *slot);
/* The answer for lack of memory, instead of calling the handler. The connection goes on if `whole`:
 * nothing of the request is still to come. */
void answer_busy(struct request_slot *slot, bool whole);
/* The same as a complete response that ends the connection, for when there is no slot. The caller
 * frees the text with mem_free(). */
MUST_USE struct str answer_busy_text(const struct http_options *options);

/* send.c */
/* Sends slot->out as far as the socket takes it, and lets libuv send the rest. May close. */
void send_answers(struct conn *conn);

/* stream.c */
/* The head has been sent: sends what has been added since. */
void stream_begin(struct http_stream *stream);
/* The connection is closed: tells the owner and frees the stream. */
void stream_end(struct http_stream *stream);

/* slow.c */
MUST_USE bool slow_open(struct http_server *server, struct err *err);
/* After all loops have ended. Accepts NULL. */
void slow_close(struct slow_pool *pool);
/* The slot is to go to a slow thread; slow_start_wanted() hands it over, once nothing else of the
 * slot is in use. */
void slow_want(struct request_slot *slot, enum slow_kind kind);
void slow_start_wanted(struct request_slot *slot);
/* http_reply() on a slow thread. */
void slow_reply(struct request_slot *slot, const struct http_answer *answer);

/* conn.c */
void conn_accept(struct listener *listener);
/* Where decrypted or plain bytes from the client go. */
MUST_USE uv_buf_t conn_room(struct conn *conn);
/* `count` bytes have come to conn_room(); UV_EOF: the client sends no more, and reading has
 * stopped; another negative number: the connection is broken. */
void conn_received(struct conn *conn, ssize_t count);
/* No bytes came to conn_room() of a connection that had no slot: it needs none yet. */
void conn_stay_idle(struct conn *conn);
/* Whether what the client sends is of no interest any more. */
MUST_USE bool conn_is_ignored(const struct conn *conn);
/* Sends no more, but reads until the client is done too, so that it sees the last answer. */
void conn_linger(struct conn *conn);
/* Frees the connection if libuv has closed it and nobody else holds it. */
void conn_free_if_done(struct conn *conn);
/* Hands the complete request to the handler; answers it instead if memory is used up. */
void conn_call_handler(struct conn *conn);
/* Answers a request that could not be received. */
void conn_refuse_request(struct conn *conn);
/* Whether a request is with the handler or a slow thread. */
MUST_USE bool conn_has_exchange(const struct conn *conn);
/* Handles all requests that are complete, and sends the answers. */
void conn_go_on(struct conn *conn);
/* It goes on at the end of this round of events. */
void conn_be_ready(struct conn *conn);
void conn_close(struct conn *conn);
void conn_on_timeout(struct conn *conn);

#endif
