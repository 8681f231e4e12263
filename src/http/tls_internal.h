/* http/tls_internal.h: TLS. libuv reads and writes the encrypted bytes; OpenSSL works on memory
 * only, so it never blocks and makes no system call.
 *
 * A connection with TLS has a `struct tls`; conn->tls is NULL for others. Handshakes run on threads
 * of their own (handshake.c), because one takes up to a millisecond of processor time; everything
 * else runs on the loop of the connection. */
#ifndef GRAMME_HTTP_TLS_INTERNAL_H
#define GRAMME_HTTP_TLS_INTERNAL_H

#include <openssl/ssl.h>
#include <pthread.h>

#include "http/http.h"

#include <uv.h>

struct conn;
struct handshake_pool;

enum {
    TLS_READ_BYTES = 64 * 1024,   /* largest read from a socket */
    TLS_WRITE_BYTES = 256 * 1024, /* bytes of answers that are encrypted at once */
    /* Approximate memory of OpenSSL for an idle connection; counted in options.memory. */
    TLS_CONN_BYTES = 24 * 1024,
};

/* State of a connection. */
enum tls_stage {
    TLS_HANDSHAKE,
    TLS_OPEN,
    TLS_ENDED,  /* the client has sent close_notify: it sends no more */
    TLS_SHUT,   /* the server has sent close_notify: bytes from the client are ignored */
    TLS_BROKEN, /* a fatal error: nothing may be sent */
};

struct tls {
    SSL *ssl;
    struct conn *conn;
    enum tls_stage stage;
    struct budget budget; /* of the three buffers */
    struct str input;     /* encrypted bytes that OpenSSL reads next; in `kept` or loop->tls_in */
    struct buf kept;      /* encrypted bytes that could not be decrypted yet for lack of space */
    struct buf *sink;     /* OpenSSL writes to it: `out`, or loop->tls_out */
    struct buf out;       /* encrypted bytes that were not passed to libuv yet */
    struct buf in_flight; /* encrypted bytes that libuv is writing */
    bool has_write;       /* in_flight is in use */
    bool is_pumping;      /* decrypted bytes are being passed to the connection */

    /* While a handshake thread has the struct, the loop uses only these flags. */
    bool is_away;   /* a handshake thread has it, or its task is in the loop's mailbox */
    bool is_posted; /* tls->task is in the loop's mailbox, to continue reading */
    struct task task;
    struct tls *next_waiting;
    bool is_plain_http; /* TLS_BROKEN in a handshake: the client does not use TLS */
    char problem[120];  /* TLS_BROKEN in a handshake: the reason */
    /* With client certificates, until options.tls_client was called: the name of the certificate's
     * subject, owned, or NULL; and, if TLS_BROKEN, whether the certificate is the reason. */
    char *subject;
    bool is_client_refused;
};

/* tls.c */
/* Creates the TLS state of a connection, with the current certificates of the server. NULL: no
 * memory. The caller frees it with tls_destroy(). */
MUST_USE struct tls *tls_create(struct conn *conn);
/* Frees it; tls_is_held() must be false. Accepts NULL. */
void tls_destroy(struct tls *tls);
/* A handshake has ended. If the server wants client certificates: sets tls->subject, and
 * tls->is_client_refused if it has failed. Handshake thread. */
void tls_note_client(struct tls *tls);

/* tls_io.c: on the thread of the loop. */
/* Creates the BIO through which OpenSSL reads tls->input and writes tls->sink. NULL: no memory. */
MUST_USE BIO *tls_bio_create(struct tls *tls);
/* As uv_read_start() and uv_read_stop(): decrypted bytes are passed to conn_room() and
 * conn_received(). Bytes that were left when reading stopped are passed on later. */
void tls_set_reading(struct conn *conn, bool wanted);
/* Encrypts and sends as uv_try_write(). Returns how many plain bytes were accepted, at most
 * TLS_WRITE_BYTES; encrypted bytes may be left in tls->out. UV_EAGAIN: libuv is still writing
 * earlier ones. */
MUST_USE int tls_try_write(struct conn *conn, const uv_buf_t *bufs, size_t count);
/* Encrypts and sends as uv_write(), after the bytes in tls->out: `done` is called later, and must
 * call tls_written(). Accepts at most TLS_WRITE_BYTES; *out_taken is the number of plain bytes.
 * Must not be called while such a write is under way (tls->has_write). */
MUST_USE int tls_write(struct conn *conn, uv_write_t *write, const uv_buf_t *bufs, size_t count,
                       uv_write_cb done, size_t *out_taken);
/* The write of tls_write() is done. */
void tls_written(struct tls *tls);
/* Encrypts `bytes`, for the caller to send; valid until the next call for any connection of the
 * loop. STR_NULL: nothing can be sent. */
MUST_USE struct str tls_encrypt(struct conn *conn, struct str bytes);
/* Sends close_notify, if the handshake is done and no write is under way. Accepts connections
 * without TLS. */
void tls_send_close(struct conn *conn);
/* tls->task: a handshake thread has done a step, or reading continues. */
void tls_on_task(struct task *task);

/* Returns whether a handshake thread or the mailbox uses the struct, so that it must not be freed.
 * Accepts NULL. */
static inline bool tls_is_held(const struct tls *tls)
{
    return tls != NULL && (tls->is_away || tls->is_posted);
}

/* Returns whether encrypted bytes are unsent. Accepts NULL. */
static inline bool tls_has_unsent(const struct tls *tls)
{
    return tls != NULL && tls->out.len > 0;
}

/* handshake.c */
/* Starts the threads. End them with handshake_close(), also if this fails. */
MUST_USE bool handshake_open(struct http_server *server, struct err *err);
/* Ends the threads, after all loops have ended. Accepts NULL. */
void handshake_close(struct handshake_pool *pool);
/* Passes a connection to a handshake thread, which does the next step with tls->input; then
 * tls->task runs on the loop. */
void handshake_start(struct tls *tls);

#endif
