/* Answers without an end. http_stream_open() sends the head as for any other answer. After that the
 * connection has no slot, ignores bytes from the client, and the stream writes to the socket
 * through libuv's queue. All functions run on the thread of the connection. */
#include "http/http_internal.h"

#include "base/mem.h"

struct http_stream {
    struct conn *conn;
    http_stream_closed *closed;
    void *context;
    bool is_begun;      /* the head was sent */
    bool is_closing;    /* the connection is closed after the head and `waiting` were sent */
    struct buf waiting; /* bytes that are sent after the head */
};

/* One write and a copy of its bytes. */
struct stream_write {
    uv_write_t write;
    struct conn *conn;
    char bytes[];
};

struct http_stream *http_stream_open(struct http_exchange *exchange,
                                     const struct http_answer *answer, http_stream_closed *closed,
                                     void *context)
{
    struct request_slot *slot = CONTAINER_OF(exchange, struct request_slot, exchange);
    struct conn *conn = slot->conn;
    struct http_stream *stream = NULL;
    if (!conn->is_gone) {
        stream = mem_zalloc(sizeof(*stream));
        stream->conn = conn;
        stream->closed = closed;
        stream->context = context;
        conn->stream = stream;
    }
    slot->out.len = exchange->out_start;
    struct http_answer endless = *answer;
    endless.is_endless = true;
    endless.close = true;
    http_reply(exchange, &endless);
    return stream;
}

static void on_sent(uv_write_t *write, int status)
{
    struct stream_write *sent = CONTAINER_OF(write, struct stream_write, write);
    if (status < 0) {
        conn_close(sent->conn); /* the struct lives until libuv has called all callbacks */
    }
    mem_free(sent);
}

static void write_bytes(struct http_stream *stream, struct str bytes)
{
    struct conn *conn = stream->conn;
    if (conn->is_gone || bytes.len == 0) {
        return;
    }
    uv_stream_t *tcp = (uv_stream_t *)&conn->tcp;
    if (conn->tls != NULL) {
        bytes = tls_encrypt(conn, bytes);
        if (str_is_null(bytes)) {
            conn_close(conn);
            return;
        }
    }
    if (uv_stream_get_write_queue_size(tcp) + bytes.len > HTTP_STREAM_UNSENT_MAX) {
        conn_close(conn);
        return;
    }
    struct stream_write *sent = mem_alloc(sizeof(*sent) + bytes.len);
    sent->conn = conn;
    memcpy(sent->bytes, bytes.data, bytes.len);
    uv_buf_t buf = uv_buf_init(sent->bytes, (unsigned)bytes.len);
    if (uv_write(&sent->write, tcp, &buf, 1, on_sent) < 0) {
        mem_free(sent);
        conn_close(conn);
    }
}

void stream_begin(struct http_stream *stream)
{
    stream->is_begun = true;
    write_bytes(stream, buf_str(&stream->waiting));
    buf_finish(&stream->waiting);
    stream->waiting = (struct buf){0};
    if (stream->is_closing) {
        conn_close(stream->conn);
    }
}

void stream_end(struct http_stream *stream)
{
    stream->closed(stream->context);
    buf_finish(&stream->waiting);
    mem_free(stream);
}

void http_stream_send(struct http_stream *stream, struct str bytes)
{
    if (stream->is_begun) {
        write_bytes(stream, bytes);
    } else if (stream->waiting.len + bytes.len > HTTP_STREAM_UNSENT_MAX) {
        conn_close(stream->conn);
    } else {
        buf_add(&stream->waiting, bytes);
    }
}

/* Without the head the client could not tell this from a server that failed. */
void http_stream_close(struct http_stream *stream)
{
    if (stream->is_begun) {
        conn_close(stream->conn);
    } else {
        stream->is_closing = true;
    }
}
