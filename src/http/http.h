/* http/http.h: HTTP/1.1 on libuv loops. Knows bytes, connections, limits and time-outs; knows no
 * operation.
 *
 * A server has N threads, each with a loop and a listening socket of its own on the same address
 * (SO_REUSEPORT), and calls one handler for every complete request. What belongs to a thread stays
 * on it: the handler is called there, and http_reply() must be called there, at once or later.
 *
 * Requests of one connection are handled one after the other: a pipelined request reaches the
 * handler when the one before it has been answered, so it sees what that one wrote. */
#ifndef GRAMME_HTTP_HTTP_H
#define GRAMME_HTTP_HTTP_H

#include "base/arena.h"
#include "base/buf.h"
#include "err/err.h"
#include "base/mailbox.h"

struct http_header {
    struct str name; /* as sent; names compare without case */
    struct str value;
};

/* One request and its answer. Lives from the call of the handler until http_reply(), even if the
 * client goes away meanwhile. Every exchange must be replied to, once. */
struct http_exchange {
    struct str method;
    struct str target; /* path and query as sent, or "*" */
    bool is_secure;    /* came by TLS */
    const struct http_header *headers;
    size_t header_count;
    struct str body; /* chunks joined, gzip undone */
    struct str
        raw_body; /* the same before its content coding was undone: what a signature covers */
    const uint8_t *peer; /* address of the client, 16 bytes: IPv6, or IPv4 as ::ffff:a.b.c.d */
    bool is_head_only;   /* the body is still to come: see http_head_check */

    struct arena *arena;     /* for whatever the answer needs; reset after http_reply(); it has a
                                budget if options.memory or arena_bytes_max is set */
    struct mailbox *mailbox; /* of the thread that the exchange belongs to */
    int thread;              /* its number, 0..thread_count-1; slow threads come behind */
    struct buf *out;         /* the handler writes the answer's body at the end of it; has a budget
                                if options.memory is set */
    size_t out_start;        /* where that body begins; set out->len back to it to start anew */
    bool out_is_exclusive;   /* `out` holds no earlier answer: until http_reply() nobody else uses
                                it, so the handler may write to it on other threads too */
};

struct http_answer {
    int status;
    struct str content_type; /* STR_NULL: none */
    struct str headers;      /* complete lines, each with CRLF, or STR_NULL */
    struct str crc32_header; /* name of a header that gets the body's CRC-32 as sent, or STR_NULL */
    bool close;              /* close the connection after this answer */
    bool is_coded;           /* the body is compressed already, or not worth it: send it as it is */
    bool is_endless;         /* no length, no end; set by http_stream_open() alone */
};

/* The answer to requests that there is no memory for. */
struct http_busy {
    struct str content_type; /* STR_NULL: a short text of our own is sent */
    struct str body;
    struct str crc32_header; /* as in struct http_answer */
};

/* Describes a request that failed before it reached a handler (400, 408, 413, 431, 503, ...):
 * writes complete header lines, Content-Type among them, and a body. Called on the connection's
 * thread. */
typedef void http_failure(int status, const char *text, struct buf *headers, struct buf *body);

/* Called on the connection's thread when the head of a request has come and its body has not. May
 * call http_reply(): then the body is not read, and the connection ends with the answer. Otherwise
 * the handler gets the request when it is complete; a request that arrives whole goes to the
 * handler alone. Has the handler's context. */
typedef void http_head_check(void *context, struct http_exchange *exchange);

/* An address to serve on. */
struct http_listener {
    struct str host; /* IPv4, IPv6 or a name */
    int port;        /* 0: any free one; see http_server_port() */
    bool is_secure;  /* by TLS */
};
enum { HTTP_LISTENERS_MAX = 8 };

/* Called on the connection's thread for each handshake that failed: who (as in http_exchange), and
 * why. */
typedef void http_tls_failure(const uint8_t peer[16], const char *why);

struct http_options {
    struct str host; /* the address, if listener_count is 0: plain, as in struct http_listener */
    int port;
    struct http_listener listeners[HTTP_LISTENERS_MAX];
    int listener_count;
    int thread_count;
    int slow_thread_count;    /* for what takes long: see http_run_slowly() */
    size_t body_bytes_max;    /* also after gunzip */
    size_t head_bytes_max;    /* request line and headers */
    int connections_max;      /* of all threads together */
    int idle_timeout_ms;      /* between requests; 0 here and below: no time-out */
    int request_timeout_ms;   /* from the first byte of a request to its last */
    int send_timeout_ms;      /* while a client takes nothing of its answer */
    int handshake_timeout_ms; /* of TLS, from the connection to the end of the handshake */
    int rate_bytes_min; /* per second, over one of these time-outs: the least that a client must
                           send     of a large body, or take of its answers, to be given more time;
                           0:     any */
    size_t compress_bytes_min; /* answers above it are compressed if the client asks */
    struct str server_name;    /* for the Server header */
    int large_head_status;     /* of answers to heads over head_bytes_max; 0: 414 or 431 */
    int bad_coding_status;     /* of answers to bodies whose coding is unknown or broken; 0: 415 or
                                  400 */

    /* Memory for connections, bodies, arenas and answers; NULL: no limit. Must outlive the server.
     * A request that finds the pool used up, or whose body does not fit, is answered with 503 and
     * `busy`; the handler does not see it. What the handler itself uses, it must limit. */
    struct memory_pool *memory;
    size_t arena_bytes_max; /* of one exchange; 0: no limit */
    struct http_busy busy;

    http_tls_failure *tls_failure; /* NULL: nobody wants to know */
    http_failure *failure;         /* NULL: one line of plain text */
    http_head_check *head_check;   /* NULL: none */
};

/* The values that fidelity asks for; host 127.0.0.1, port 8000, a thread per processor. */
struct http_options http_options_default(void);

/* Called on the thread of the exchange; must not block. */
typedef void http_handler(void *context, struct http_exchange *exchange);

struct http_server;

/* Certificates and what else new connections with TLS need. */
struct http_tls;

/* PEM files; the texts end with NUL. */
struct http_tls_options {
    struct str cert_file;      /* the server's certificate, then those up to its authority */
    struct str key_file;       /* of the certificate; without a passphrase */
    struct str client_ca_file; /* "": clients need no certificate; else the authorities of theirs */
};

/* Reads the files. TLS 1.2 and 1.3, ALPN http/1.1. The caller passes *out to http_server_set_tls()
 * or frees it with http_tls_destroy(). Fails with ERR_INTERNAL and says which file is wrong. */
MUST_USE bool http_tls_create(const struct http_tls_options *options, struct http_tls **out,
                              struct err *err);
/* Accepts NULL. */
void http_tls_destroy(struct http_tls *tls);

/* Binds, starts the threads and serves; copies what it needs of the options. The caller ends
 * *out with http_server_close(). `tls` is for listeners that are secure; NULL if there are none.
 * The server takes it, also if this fails. Fails with ERR_INTERNAL if an address cannot be had,
 * also when another server listens there. */
MUST_USE bool http_server_open_tls(const struct http_options *options, struct http_tls *tls,
                                   http_handler *handler, void *context, struct http_server **out,
                                   struct err *err);
/* The same without TLS. */
MUST_USE bool http_server_open(const struct http_options *options, http_handler *handler,
                               void *context, struct http_server **out, struct err *err);
/* Gives new connections other certificates; those that are open go on with theirs. Takes `tls`. Any
 * thread. */
void http_server_set_tls(struct http_server *server, struct http_tls *tls);
/* The port of the first listener. */
MUST_USE int http_server_port(const struct http_server *server);
/* The port of the listener with that number. */
MUST_USE int http_server_listener_port(const struct http_server *server, int number);
/* Connections that are open now, of all threads. */
MUST_USE int http_server_connection_count(const struct http_server *server);
/* Stops accepting, lets requests under way end (at most `grace_ms`), closes all connections, and
 * joins the threads when every exchange has been replied to: until then mailboxes are drained, so
 * what answers the requests must still run. Accepts NULL. */
void http_server_close(struct http_server *server, int grace_ms);

/* The value of a header, or STR_NULL. */
MUST_USE struct str http_header(const struct http_exchange *exchange, struct str name);

/* Lets a slow thread call `run` with `context`, with the exchange's mailbox and thread being those
 * of that thread from then on: http_reply() must be called there. For requests that keep a
 * processor busy for more than a millisecond or two. At most once for an exchange; the caller
 * leaves the exchange alone afterwards. If the client goes away before `run` is called, it is not
 * called, and nothing is to be replied. */
void http_run_slowly(struct http_exchange *exchange, http_handler *run, void *context);

/* Sends what the handler wrote to exchange->out; the exchange is gone afterwards, but memory from
 * its arena stays until the caller returns to the loop. All that `answer` points to is used up
 * when it returns. */
void http_reply(struct http_exchange *exchange, const struct http_answer *answer);

/* --- answers without an end, such as server-sent events --- */

struct http_stream;
/* The connection is closed, by the client, by http_stream_close() or because the client did not
 * take what was sent; the stream is freed when it returns. Called on the exchange's thread, never
 * from inside http_stream_open() or http_stream_send(). */
typedef void http_stream_closed(void *context);

/* Replies to an exchange like http_reply(), with a body that goes on until the stream is closed;
 * exchange->out is not sent. To be called, like the functions below, on the exchange's thread.
 * Returns NULL if the client is gone: then `closed` is not called. */
MUST_USE struct http_stream *http_stream_open(struct http_exchange *exchange,
                                              const struct http_answer *answer,
                                              http_stream_closed *closed, void *context);
/* Sends a copy of the bytes. A client that has not taken HTTP_STREAM_UNSENT_MAX bytes is
 * disconnected instead, so that memory per client is bounded. */
enum { HTTP_STREAM_UNSENT_MAX = 256 * 1024 };
void http_stream_send(struct http_stream *stream, struct str bytes);
/* Ends the connection; `closed` is called later. */
void http_stream_close(struct http_stream *stream);

#endif
