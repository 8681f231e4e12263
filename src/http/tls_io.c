/* Passes encrypted bytes between libuv and OpenSSL, on the loop of the connection. OpenSSL reads
 * from tls->input and writes to tls->sink through a custom BIO, so its functions never block; they
 * return when they need more input.
 *
 * Reading: bytes from the socket go to a buffer of the loop and are decrypted directly into the
 * connection's buffer; the connection keeps only bytes for which there is no space.
 * Writing: answers are encrypted into a buffer of the loop and written; the connection keeps only
 * bytes that the socket does not accept. So an idle connection has no buffers. */
#include "http/http_internal.h"

#include <openssl/err.h>

#include "base/mem.h"

enum {
    /* Largest size of unsent messages of OpenSSL (key updates, alerts). A client that causes more
     * and does not read is disconnected. */
    CONTROL_BYTES_MAX = 16 * 1024,
};

/* What OpenSSL reads and writes ------------------------------------------------------------- */

static int bio_read(BIO *bio, char *to, size_t size, size_t *out_count)
{
    struct tls *tls = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (tls->input.len == 0) {
        BIO_set_retry_read(bio);
        return 0;
    }
    size_t count = MIN(size, tls->input.len);
    memcpy(to, tls->input.data, count);
    tls->input = str_skip(tls->input, count);
    *out_count = count;
    return 1;
}

static int bio_write(BIO *bio, const char *from, size_t size, size_t *out_count)
{
    struct tls *tls = BIO_get_data(bio);
    buf_add(tls->sink, str_make(from, size));
    *out_count = size;
    return 1;
}

static long bio_control(BIO *bio, int command, long number, void *pointer)
{
    (void)bio, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

static BIO_METHOD *method;

static void make_method(void)
{
    method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "gramme");
    if (method != NULL) {
        BIO_meth_set_read_ex(method, bio_read);
        BIO_meth_set_write_ex(method, bio_write);
        BIO_meth_set_ctrl(method, bio_control);
    }
}

BIO *tls_bio_create(struct tls *tls)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_method);
    BIO *bio = method == NULL ? NULL : BIO_new(method);
    if (bio != NULL) {
        BIO_set_data(bio, tls);
        BIO_set_init(bio, 1);
    }
    return bio;
}

/* Writing ----------------------------------------------------------------------------------- */

/* Encrypts up to TLS_WRITE_BYTES into `sink`; returns the number of bytes, or -1. */
static ssize_t encrypt(struct tls *tls, struct buf *sink, const uv_buf_t *bufs, size_t count)
{
    size_t taken = 0;
    bool good = tls->stage == TLS_OPEN || tls->stage == TLS_ENDED;
    tls->sink = sink;
    for (size_t i = 0; good && i < count && taken < TLS_WRITE_BYTES; i++) {
        size_t size = MIN((size_t)bufs[i].len, TLS_WRITE_BYTES - taken);
        size_t written = 0;
        good = size == 0 || SSL_write_ex(tls->ssl, bufs[i].base, size, &written) == 1;
        taken += written;
    }
    tls->sink = &tls->out;
    if (!good) {
        tls->stage = TLS_BROKEN;
        ERR_clear_error();
    }
    return good ? (ssize_t)taken : -1;
}

/* Writes `sink` as far as the socket accepts it; the rest is kept in tls->out. */
static int write_sink(struct conn *conn, struct buf *sink)
{
    struct tls *tls = conn->tls;
    if (sink->len == 0) {
        return 0;
    }
    uv_buf_t buf = uv_buf_init(sink->data, (unsigned)sink->len);
    int sent = uv_try_write((uv_stream_t *)&conn->tcp, &buf, 1);
    sent = sent == UV_EAGAIN ? 0 : sent;
    struct str rest = str_skip(buf_str(sink), (size_t)MAX(sent, 0));
    if (sink == &tls->out) {
        memmove(sink->data, rest.data, rest.len);
        sink->len = rest.len;
    } else {
        buf_add(&tls->out, rest);
        sink->len = 0;
    }
    if (tls->out.len == 0) {
        buf_finish(&tls->out);
    }
    return MIN(sent, 0);
}

int tls_try_write(struct conn *conn, const uv_buf_t *bufs, size_t count)
{
    struct tls *tls = conn->tls;
    if (tls->has_write) {
        return UV_EAGAIN;
    }
    struct buf *sink = tls->out.len > 0 ? &tls->out : &conn->loop->tls_out;
    ssize_t taken = encrypt(tls, sink, bufs, count);
    int result = write_sink(conn, sink);
    return taken < 0 ? UV_EPROTO : result < 0 ? result : (int)taken;
}

int tls_write(struct conn *conn, uv_write_t *write, const uv_buf_t *bufs, size_t count,
              uv_write_cb done, size_t *out_taken)
{
    struct tls *tls = conn->tls;
    assert(!tls->has_write);
    ssize_t taken = encrypt(tls, &tls->out, bufs, count);
    if (taken < 0) {
        return UV_EPROTO;
    }
    assert(tls->in_flight.len == 0);
    struct buf empty = tls->in_flight;
    tls->in_flight = tls->out;
    tls->out = empty;
    tls->has_write = true;
    *out_taken = (size_t)taken;
    uv_buf_t buf = uv_buf_init(tls->in_flight.data, (unsigned)tls->in_flight.len);
    return uv_write(write, (uv_stream_t *)&conn->tcp, &buf, 1, done);
}

void tls_written(struct tls *tls)
{
    tls->has_write = false;
    buf_finish(&tls->in_flight);
}

struct str tls_encrypt(struct conn *conn, struct str bytes)
{
    struct tls *tls = conn->tls;
    struct buf *out = &conn->loop->tls_out;
    uv_buf_t buf = uv_buf_init((char *)bytes.data, (unsigned)bytes.len);
    out->len = 0;
    buf_add(out, buf_str(&tls->out)); /* these come first */
    buf_finish(&tls->out);
    ssize_t taken = encrypt(tls, out, &buf, 1);
    struct str encrypted = buf_str(out);
    out->len = 0;
    return taken == (ssize_t)bytes.len ? encrypted : STR_NULL;
}

void tls_send_close(struct conn *conn)
{
    struct tls *tls = conn->tls;
    if (tls == NULL || tls->is_away || tls->has_write || tls->out.len > 0 ||
        (tls->stage != TLS_OPEN && tls->stage != TLS_ENDED)) {
        return;
    }
    ERR_clear_error();
    SSL_shutdown(tls->ssl); /* writes the message; the client's is not waited for */
    write_sink(conn, &tls->out);
    tls->stage = TLS_SHUT;
}

/* Reading ----------------------------------------------------------------------------------- */

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf);

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
    (void)suggested;
    struct conn *conn = handle->data;
    struct loop *loop = conn->loop;
    if (loop->tls_in == NULL) {
        loop->tls_in = mem_alloc(TLS_READ_BYTES);
    }
    *out = uv_buf_init(loop->tls_in, TLS_READ_BYTES);
}

static void read_socket(struct conn *conn, bool wanted)
{
    if (wanted) {
        uv_read_start((uv_stream_t *)&conn->tcp, on_room, on_read); /* it may be started already */
    } else {
        uv_read_stop((uv_stream_t *)&conn->tcp);
    }
}

/* Sets tls->stage after an SSL function has failed. */
static void note_failure(struct tls *tls)
{
    int reason = SSL_get_error(tls->ssl, 0);
    if (reason == SSL_ERROR_ZERO_RETURN) {
        tls->stage = TLS_ENDED;
    } else if (reason != SSL_ERROR_WANT_READ) {
        tls->stage = TLS_BROKEN;
        ERR_clear_error();
    }
}

/* Decrypts into `room`. *out_more: more bytes can be decrypted at once, but `room` is full. */
static size_t decrypt(struct tls *tls, uv_buf_t room, bool *out_more)
{
    size_t count = 0;
    bool more = true;
    while (more && count < room.len) {
        size_t got = 0;
        if (SSL_read_ex(tls->ssl, room.base + count, room.len - count, &got) != 1) {
            note_failure(tls);
            more = false;
        } else {
            count += got;
            /* Another call would only return that input is missing. */
            more = tls->input.len > 0 || SSL_has_pending(tls->ssl) == 1;
        }
    }
    *out_more = more;
    return count;
}

/* Keeps the input that could not be decrypted for lack of space. */
static void keep_input(struct tls *tls)
{
    struct str rest = tls->input;
    if (rest.len == 0) {
        buf_finish(&tls->kept);
    } else if (tls->kept.len > 0) {
        memmove(tls->kept.data, rest.data, rest.len); /* the rest is at the end of `kept` */
        tls->kept.len = rest.len;
    } else {
        buf_add(&tls->kept, rest);
    }
    tls->input = STR_NULL;
}

static bool wants_bytes(const struct conn *conn)
{
    return conn->is_reading && !conn->is_gone && conn->tls->stage == TLS_OPEN;
}

/* Passes decrypted bytes to the connection while it reads. */
static void pump(struct conn *conn)
{
    struct tls *tls = conn->tls;
    bool more = true;
    ERR_clear_error(); /* else SSL_get_error() would report an old error of the thread */
    tls->is_pumping = true;
    while (more && wants_bytes(conn)) {
        bool is_idle = conn->slot == NULL;
        size_t count = decrypt(tls, conn_room(conn), &more);
        if (count > 0) {
            conn_received(conn, (ssize_t)count);
        } else if (is_idle) {
            conn_stay_idle(conn); /* an incomplete record, or a message of TLS itself */
        }
    }
    tls->is_pumping = false;
    keep_input(tls);
}

/* After reading: sends messages of OpenSSL, and reacts to a changed tls->stage. */
static void after_pump(struct conn *conn)
{
    struct tls *tls = conn->tls;
    if (conn->is_gone) {
        return;
    }
    bool is_lost = !tls->has_write && write_sink(conn, &tls->out) < 0;
    if (is_lost || tls->stage == TLS_BROKEN || tls->out.len > CONTROL_BYTES_MAX) {
        conn_close(conn);
    } else if (tls->stage == TLS_ENDED) {
        read_socket(conn, false);
        conn_received(conn, UV_EOF);
    } else {
        read_socket(conn, conn->is_reading);
    }
}

/* Appends received bytes to those that were kept. */
static void add_input(struct tls *tls, struct str bytes)
{
    if (tls->kept.len == 0 && tls->stage == TLS_OPEN) {
        tls->input = bytes;
    } else {
        buf_add(&tls->kept, bytes);
        tls->input = buf_str(&tls->kept);
    }
}

static void on_bytes(struct conn *conn, struct str bytes)
{
    struct tls *tls = conn->tls;
    if (conn_is_ignored(conn) || tls->stage > TLS_OPEN) {
        return;
    }
    add_input(tls, bytes);
    if (tls->stage == TLS_HANDSHAKE) {
        read_socket(conn, false); /* until this step is done */
        handshake_start(tls);
    } else {
        pump(conn);
        after_pump(conn);
    }
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf)
{
    struct conn *conn = stream->data;
    if (count > 0) {
        on_bytes(conn, str_make(buf->base, (size_t)count));
    } else if (count == UV_EOF && conn->wait != WAIT_HANDSHAKE) {
        conn_received(conn, UV_EOF);
    } else if (count < 0) {
        conn_close(conn);
    }
}

void tls_set_reading(struct conn *conn, bool wanted)
{
    struct tls *tls = conn->tls;
    if (tls->is_pumping || tls_is_held(tls)) {
        return; /* continued after the handshake step */
    }
    if (wanted && tls->stage == TLS_OPEN && (tls->kept.len > 0 || SSL_has_pending(tls->ssl) == 1)) {
        tls->is_posted = true; /* later: the caller is still using the connection */
        mailbox_post(&conn->loop->mailbox, &tls->task);
    } else {
        read_socket(conn, wanted);
    }
}

/* Handshakes -------------------------------------------------------------------------------- */

/* Answers a client that sends plain HTTP to a listener with TLS. */
static void answer_plain(struct conn *conn)
{
    static const char text[] = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n"
                               "Content-Length: 47\r\nConnection: close\r\n\r\n"
                               "400 Bad Request: this port speaks https (TLS).\n";
    uv_buf_t buf = uv_buf_init((char *)text, sizeof(text) - 1);
    uv_try_write((uv_stream_t *)&conn->tcp, &buf, 1);
}

static void refuse_handshake(struct conn *conn)
{
    const struct http_options *options = loop_options(conn->loop);
    if (options->tls_failure != NULL) {
        options->tls_failure(conn->peer, conn->tls->problem);
    }
    if (conn->tls->is_plain_http) {
        answer_plain(conn);
    }
    read_socket(conn, true);
    conn_linger(conn); /* so that the client gets the alert */
}

/* After a step of a handshake: reports the client's certificate if it was accepted or refused. */
static void report_client(struct conn *conn)
{
    struct tls *tls = conn->tls;
    http_tls_client *report = loop_options(conn->loop)->tls_client;
    bool is_accepted = tls->stage == TLS_OPEN && tls->subject != NULL;
    if (report != NULL && (is_accepted || tls->is_client_refused)) {
        report(conn->loop->server->context,
               &(struct http_certificate){.peer = conn->peer,
                                          .subject = str_from_c(tls->subject),
                                          .refusal = is_accepted ? NULL : tls->problem});
    }
    if (tls->stage != TLS_HANDSHAKE) {
        mem_free(tls->subject);
        tls->subject = NULL;
    }
}

/* A handshake thread has done a step. */
static void after_step(struct conn *conn)
{
    struct tls *tls = conn->tls;
    keep_input(tls);
    /* A new socket accepts all bytes, unless the client has disconnected. */
    bool is_lost = write_sink(conn, &tls->out) < 0 || tls->out.len > 0;
    if (is_lost || conn->loop->is_stopping) {
        conn_close(conn);
    } else if (tls->stage == TLS_BROKEN) {
        refuse_handshake(conn);
    } else if (tls->stage == TLS_HANDSHAKE) {
        read_socket(conn, true);
    } else {
        wait_set(conn, WAIT_IDLE);
        tls->input = buf_str(&tls->kept);
        pump(conn);
        after_pump(conn);
    }
}

void tls_on_task(struct task *task)
{
    struct tls *tls = CONTAINER_OF(task, struct tls, task);
    struct conn *conn = tls->conn;
    bool is_step = tls->is_away;
    tls->is_away = false;
    tls->is_posted = false;
    if (is_step) {
        report_client(conn);
    }
    if (conn->is_gone) {
        conn_free_if_done(conn);
    } else if (is_step) {
        after_step(conn);
    } else {
        tls->input = buf_str(&tls->kept);
        pump(conn);
        after_pump(conn);
    }
}
