/* http/http.h: an HTTP/1.1 server on libuv. Handles connections, limits and time-outs; knows
 * nothing of operations.
 *
 * A server has N threads, each with an event loop and a listening socket on the same address
 * (SO_REUSEPORT), and calls one handler for every complete request. A connection stays on its
 * thread: the handler is called there, and http_reply() must be called there, at once or later.
 *
 * Requests of one connection are handled one after the other: the handler gets a pipelined request
 * when the previous one has been answered, so it sees the effects of that one. */
#ifndef GRAMME_HTTP_HTTP_H
#define GRAMME_HTTP_HTTP_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/mailbox.h"
#include "err/err.h"

struct http_header {
    struct str name; /* as sent; names compare without case */
    struct str value;
};

/* Something that must last until an answer has been sent: see http_exchange. */
struct http_hold {
    void (*release)(struct http_hold *hold); /* frees it; on the thread of the connection */
};

/* One request and its answer. Valid from the call of the handler until http_reply(), even if the
 * client disconnects meanwhile. The handler must call http_reply() exactly once. */
struct http_exchange {
    struct str method;
    struct str target; /* path and query as sent, or "*" */
    bool is_secure;    /* received over TLS */
    const struct http_header *headers;
    size_t header_count;
    struct str body;     /* without chunks, decompressed */
    struct str raw_body; /* before decompression: what a signature covers */
    const uint8_t *peer; /* address of the client, 16 bytes: IPv6, or IPv4 as ::ffff:a.b.c.d */
    /* Earlier requests of the connection took more than half a millisecond: pass one whose body is
     * not small to http_run_slowly(). */
    bool is_expensive;
    bool is_head_only;     /* the body has not been received: see http_head_check */
    size_t body_bytes_max; /* largest body; http_head_check may lower it */

    /* Memory of the request; freed after http_reply(). Has a budget if options.memory or
     * arena_bytes_max is set. */
    struct arena *arena;
    struct mailbox *mailbox; /* of the thread of the exchange */
    int thread;              /* its number, from 0; slow threads have the numbers after the loops */
    /* The handler appends the body of the answer to it. Has a budget if options.memory is set. */
    struct buf *out;
    size_t out_start; /* where that body begins; set out->len to it to start again */
    /* `out` holds no earlier answer: no other thread uses it before http_reply(), so the handler
     * may write to it on any thread. */
    bool out_is_exclusive;
    /* The handler sets it: the request or its answer contains a secret, so all memory of both is
     * overwritten when the answer has been sent, and the answer is not compressed. */
    bool holds_secret;
    /* The handler may set it before http_reply(). It is released once, when the answer has been
     * passed to the kernel or the connection is closed. It must not be in the arena, which may be
     * freed after http_reply(). */
    struct http_hold *hold;
};

struct http_answer {
    int status;
    struct str content_type; /* STR_NULL: none */
    struct str headers;      /* complete lines, each with CRLF, or STR_NULL */
    struct str crc32_header; /* name of a header with the CRC-32 of the sent body, or STR_NULL */
    bool close;              /* close the connection after this answer */
    bool is_coded;           /* do not compress: the body is compressed, or not compressible */
    bool is_endless;         /* without a length; set by http_stream_open() only */
};

/* The header of an answer whose body is compressed already. */
#define HTTP_GZIP_HEADER "Content-Encoding: gzip\r\n"

/* The answer to requests for which there is no memory. */
struct http_busy {
    struct str content_type; /* STR_NULL: a short default text is sent */
    struct str body;
    struct str crc32_header; /* as in struct http_answer */
};

/* Describes a request that failed before it was passed to the handler (400, 408, 413, 431, 503,
 * ...): writes complete header lines, including Content-Type, and a body. Called on the thread of
 * the connection. */
typedef void http_failure(int status, const char *text, struct buf *headers, struct buf *body);

/* Called on the thread of the connection when the head of a request has been received and its body
 * has not. May call http_reply(): then the body is not read, and the connection is closed after the
 * answer. Otherwise the handler gets the request when it is complete; a larger body than
 * exchange->body_bytes_max is answered with 413. Not called for a request that is received at once.
 * `context` is that of the handler. */
typedef void http_head_check(void *context, struct http_exchange *exchange);

/* An address to serve on. */
struct http_listener {
    struct str host; /* IPv4, IPv6 or a name */
    int port;        /* 0: any free port; see http_server_port() */
    bool is_secure;  /* with TLS */
};
enum { HTTP_LISTENERS_MAX = 8 };

/* Called on the thread of the connection for each handshake that failed. `peer` as in struct
 * http_exchange. */
typedef void http_tls_failure(const uint8_t peer[16], const char *why);

/* The certificate of a client; see http_tls_options.client_ca_file. */
struct http_certificate {
    const uint8_t *peer; /* as in struct http_exchange */
    /* The name of its subject as in RFC 2253, in ASCII and cut if it is long; STR_NULL: the client
     * has shown no certificate, or one that cannot be read. */
    struct str subject;
    const char *refusal; /* why the client was refused; NULL: it was accepted */
};
/* Called on the thread of the connection when a client was accepted or refused by its certificate,
 * also if the session is resumed. `context` is that of the handler. */
typedef void http_tls_client(void *context, const struct http_certificate *certificate);

struct http_options {
    struct str host; /* with `port`: the only listener, without TLS, if listener_count is 0 */
    int port;
    struct http_listener listeners[HTTP_LISTENERS_MAX];
    int listener_count;
    int thread_count;
    int slow_thread_count;    /* threads for expensive work: see http_run_slowly() */
    size_t body_bytes_max;    /* also after decompression */
    size_t head_bytes_max;    /* request line and headers */
    int connections_max;      /* of all threads together */
    int idle_timeout_ms;      /* between requests; 0 here and below: no time-out */
    int request_timeout_ms;   /* from the first byte of a request to its last */
    int send_timeout_ms;      /* while the client reads nothing of its answer */
    int handshake_timeout_ms; /* of TLS, from the connection to the end of the handshake */
    /* Bytes per second that a client must send of a large body, or read of its answers, on average
     * over one of these time-outs, to get more time; 0: any. */
    int rate_bytes_min;
    size_t compress_bytes_min; /* larger answers are compressed if the client accepts that */
    struct str server_name;    /* of the header Server */
    int large_head_status;     /* status for a head over head_bytes_max; 0: 414 or 431 */
    int bad_coding_status;     /* status for an unknown or invalid content coding; 0: 415 or 400 */

    /* Memory of connections, bodies, arenas and answers; NULL: no limit. Must outlive the server. A
     * request is answered with 503 and `busy`, without the handler, if the pool is used up or its
     * body does not fit. The handler must limit the memory that it allocates itself. */
    struct memory_pool *memory;
    size_t arena_bytes_max; /* of one exchange; 0: no limit */
    struct http_busy busy;

    http_tls_failure *tls_failure; /* may be NULL, like the next */
    http_tls_client *tls_client;
    http_failure *failure;       /* NULL: one line of plain text */
    http_head_check *head_check; /* may be NULL */
};

/* Returns the defaults, which are those of the service where it has limits; host 127.0.0.1, port
 * 8000, a thread per processor. */
struct http_options http_options_default(void);

/* Called on the thread of the exchange; must not block. */
typedef void http_handler(void *context, struct http_exchange *exchange);

struct http_server;

/* Certificates and settings of TLS for new connections. */
struct http_tls;

/* Paths of PEM files; the texts end with NUL. */
struct http_tls_options {
    struct str cert_file;      /* certificate of the server, then those of its authorities */
    struct str key_file;       /* of the certificate; without a passphrase */
    struct str client_ca_file; /* authorities of client certificates; "": none is required */
};

/* Makes OpenSSL overwrite its copies of a private key while it reads one. Call it before anything
 * else uses OpenSSL. */
void http_tls_prepare(void);
/* Reads the files. TLS 1.2 and 1.3, ALPN http/1.1. The caller passes *out to http_server_set_tls()
 * or frees it with http_tls_destroy(). False: ERR_INTERNAL, and the message names the file. */
MUST_USE bool http_tls_create(const struct http_tls_options *options, struct http_tls **out,
                              struct err *err);
/* Frees it. Accepts NULL. */
void http_tls_destroy(struct http_tls *tls);

/* Binds the addresses, starts the threads and serves. Copies the options. `tls` is for listeners
 * with is_secure, and may be NULL if there are none; the server owns it, also if this fails. Close
 * *out with http_server_close(). False: ERR_INTERNAL: an address cannot be bound, for example
 * because another server listens there. */
MUST_USE bool http_server_open_tls(const struct http_options *options, struct http_tls *tls,
                                   http_handler *handler, void *context, struct http_server **out,
                                   struct err *err);
/* As http_server_open_tls(), without TLS. */
MUST_USE bool http_server_open(const struct http_options *options, http_handler *handler,
                               void *context, struct http_server **out, struct err *err);
/* Sets the certificates of new connections; open connections keep theirs. The server owns `tls`.
 * Any thread. */
void http_server_set_tls(struct http_server *server, struct http_tls *tls);
/* Returns the port of the first listener. */
MUST_USE int http_server_port(const struct http_server *server);
/* Returns the port of a listener, by its index in options.listeners. */
MUST_USE int http_server_listener_port(const struct http_server *server, int number);
/* Returns whether every loop has run since the previous call, which posted a task to it; true for
 * the first call. Call it now and then, on one thread, not after http_server_close(). */
MUST_USE bool http_server_is_alive(struct http_server *server);
/* Returns the number of open connections of all threads. */
MUST_USE int http_server_connection_count(const struct http_server *server);
/* Stops accepting connections, waits at most `grace_ms` for requests under way, closes all
 * connections, and joins the threads when every exchange has been replied to. Mailboxes are drained
 * until then, so whatever answers the requests must still run. Accepts NULL. */
void http_server_close(struct http_server *server, int grace_ms);

/* Returns the value of a header, or STR_NULL. */
MUST_USE struct str http_header(const struct http_exchange *exchange, struct str name);

/* Calls `run` with `context` on a slow thread, for a request that needs more than one or two
 * milliseconds of processor time. From then on exchange->mailbox and exchange->thread are those of
 * the slow thread, and http_reply() must be called there. At most once per exchange; the caller
 * must not use the exchange afterwards. If the client disconnects before, `run` is not called, and
 * no reply is needed. */
void http_run_slowly(struct http_exchange *exchange, http_handler *run, void *context);

/* Sends the body that the handler has appended to exchange->out. The exchange is invalid
 * afterwards, but memory of its arena stays valid until the caller returns to the loop. Copies what
 * `answer` points to. */
void http_reply(struct http_exchange *exchange, const struct http_answer *answer);

/* --- answers without an end, such as server-sent events --- */

struct http_stream;
/* Called when the connection is closed: by the client, by http_stream_close(), or because the
 * client did not read. The stream is freed when it returns. Called on the thread of the exchange,
 * never from inside http_stream_open() or http_stream_send(). */
typedef void http_stream_closed(void *context);

/* Replies to an exchange as http_reply(), with a body that continues until the stream is closed;
 * exchange->out is not sent. NULL: the client has disconnected, and `closed` is not called. On the
 * thread of the exchange, as the functions below. */
MUST_USE struct http_stream *http_stream_open(struct http_exchange *exchange,
                                              const struct http_answer *answer,
                                              http_stream_closed *closed, void *context);
/* Largest number of unsent bytes of a stream. */
enum { HTTP_STREAM_UNSENT_MAX = 256 * 1024 };
/* Sends a copy of the bytes. If more than HTTP_STREAM_UNSENT_MAX bytes are unsent, the client is
 * disconnected instead. */
void http_stream_send(struct http_stream *stream, struct str bytes);
/* Closes the connection, once the head has been sent; `closed` is called later. */
void http_stream_close(struct http_stream *stream);

#endif
