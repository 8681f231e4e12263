/* http/tls_internal.h: TLS below HTTP. libuv reads and writes the encrypted bytes; OpenSSL sees
 * memory only, so it never blocks and makes no system call.
 *
 * A connection with TLS has a `struct tls`; conn->tls is NULL for plain ones. Handshakes are
 * computed on threads of their own (handshake.c), because one costs up to a millisecond of
 * processor time; everything else runs on the connection's loop. */
#ifndef GRAMME_HTTP_TLS_INTERNAL_H
#define GRAMME_HTTP_TLS_INTERNAL_H

#include <openssl/ssl.h>
#include <pthread.h>

#include "http/http.h"

#include <uv.h>

struct conn;
struct handshake_pool;

enum {
    TLS_READ_BYTES = 64 * 1024,   /* read from a socket at once */
    TLS_WRITE_BYTES = 256 * 1024, /* of answers that are encrypted at once */
    /* What OpenSSL holds for an idle connection, about; counted in options.memory. */
    TLS_CONN_BYTES = 24 * 1024,
};

/* How far a connection is. */
enum tls_stage {
    TLS_HANDSHAKE,
    TLS_OPEN,
    TLS_ENDED,  /* the client has sent close_notify: it sends no more */
    TLS_SHUT,   /* we have sent close_notify: what the client sends is ignored */
    TLS_BROKEN, /* a fatal error: nothing more may be sent */
};

struct tls {
    SSL *ssl;
    struct conn *conn;
    enum tls_stage stage;
    struct budget budget; /* of the three buffers */
    struct str input;     /* encrypted bytes that OpenSSL reads next; in `kept` or loop->tls_in */
    struct buf kept;      /* encrypted bytes for which there was no room yet */
    struct buf *sink;     /* where OpenSSL's output goes: `out`, or loop->tls_out */
    struct buf out;       /* encrypted bytes that libuv has not been given */
    struct buf in_flight; /* encrypted bytes that libuv is writing */
    bool has_write;       /* in_flight is in use */
    bool is_pumping;      /* decrypted bytes are being handed to the connection */

    /* While a handshake thread has it, the loop leaves all but these flags alone. */
    bool is_away;   /* with a handshake thread, or on the way back */
    bool is_posted; /* tls->task is in the loop's mailbox, to go on reading */
    struct task task;
    struct tls *next_waiting;
    bool is_plain_http; /* TLS_BROKEN in a handshake: the client does not speak TLS */
    char problem[120];  /* the same: why */
};

/* tls.c */
/* Makes the TLS state of a connection, with the certificates that the server has now. NULL: OpenSSL
 * has no memory. The caller frees it with tls_destroy(). */
MUST_USE struct tls *tls_create(struct conn *conn);
/* Frees it; it must not be held (tls_is_held). Accepts NULL. */
void tls_destroy(struct tls *tls);

/* tls_io.c, on the loop's thread. */
/* Makes the BIO through which OpenSSL reads tls->input and writes tls->sink. NULL: no memory. */
MUST_USE BIO *tls_bio_create(struct tls *tls);
/* Like uv_read_start() and uv_read_stop(): decrypted bytes are handed to conn_room() and
 * conn_received(). Bytes that were left over when reading stopped are handed on in a later turn. */
void tls_set_reading(struct conn *conn, bool wanted);
/* Encrypts and sends like uv_try_write(). Returns how many plain bytes were taken, at most
 * TLS_WRITE_BYTES; their encrypted form may be left in tls->out. UV_EAGAIN: libuv is still writing
 * earlier ones. */
MUST_USE int tls_try_write(struct conn *conn, const uv_buf_t *bufs, size_t count);
/* Encrypts and sends, behind what is left in tls->out, like uv_write(): `done` is called later, and
 * must call tls_written(). Takes at most TLS_WRITE_BYTES; how many plain bytes goes to *out_taken.
 * Must not be called while such a write is under way (tls->has_write). */
MUST_USE int tls_write(struct conn *conn, uv_write_t *write, const uv_buf_t *bufs, size_t count,
                       uv_write_cb done, size_t *out_taken);
/* The write that tls_write() began is done. */
void tls_written(struct tls *tls);
/* The encrypted form of `bytes`, for the caller to send; lives until the next call for any
 * connection of the loop. STR_NULL: it cannot be sent. */
MUST_USE struct str tls_encrypt(struct conn *conn, struct str bytes);
/* Tells the client that no more will be sent (close_notify), if the handshake is done and no write
 * is under way. Accepts plain connections. */
void tls_send_close(struct conn *conn);
/* A handshake thread has taken a step, or reading is to go on: run by the loop's mailbox. */
void tls_on_task(struct task *task);

/* Whether it is in use outside the connection's turns: it must not be freed. Accepts NULL. */
static inline bool tls_is_held(const struct tls *tls)
{
    return tls != NULL && (tls->is_away || tls->is_posted);
}

/* Whether encrypted bytes wait for the socket. Accepts NULL. */
static inline bool tls_has_unsent(const struct tls *tls)
{
    return tls != NULL && tls->out.len > 0;
}

/* handshake.c */
/* Starts the threads; they end with handshake_close(), also if this fails. */
MUST_USE bool handshake_open(struct http_server *server, struct err *err);
/* Ends the threads, after all loops have ended. Accepts NULL. */
void handshake_close(struct handshake_pool *pool);
/* Lets a handshake thread take the next step with tls->input; then tls->task runs on the loop. */
void handshake_start(struct tls *tls);

#endif
