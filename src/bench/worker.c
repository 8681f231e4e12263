/* A thread that sends requests and reads their responses. Without a rate each connection sends its
 * next request when it has received the response to the previous one. With a rate requests are due
 * at fixed times, independent of the server: one that is due while all connections are busy is sent
 * late, and its latency counts from when it was due. */
#include "bench/worker_internal.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"

enum {
    READ_BUFFER_BYTES = 256 << 10,
    REFUSALS_MAX = 100,
    SILENT_SECONDS_MAX = 60, /* then no response is expected any more */
    NS_PER_S = 1000000000,
};

static void send_draw(struct conn *conn);
static void next_request(struct conn *conn);
static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *buffer);

static void fail(struct worker *worker, struct str name)
{
    tally_add(&worker->errors, name, 1);
}

/* Connections ------------------------------------------------------------------------------- */

static void on_closed(uv_handle_t *handle)
{
    struct conn *conn = CONTAINER_OF((uv_tcp_t *)handle, struct conn, tcp);
    mem_free(conn->unsent);
    conn->unsent = NULL;
    SSL_free(conn->ssl);
    conn->ssl = NULL;
}

static void close_handle(uv_handle_t *handle)
{
    if (!uv_is_closing(handle)) {
        uv_close(handle, NULL);
    }
}

/* Closes the connections when all requests are answered or given up. */
static void end(struct worker *worker)
{
    close_handle((uv_handle_t *)&worker->watch_timer);
    if (worker->due_fd >= 0) {
        uv_poll_stop(&worker->due_poll);
        close_handle((uv_handle_t *)&worker->due_poll);
    }
}

static void close_conn(struct conn *conn)
{
    if (!conn->open) {
        return;
    }
    conn->open = false;
    conn->busy = false;
    uv_close((uv_handle_t *)&conn->tcp, on_closed);
    if (--conn->worker->open_count == 0) {
        end(conn->worker);
    }
}

static void on_buffer(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
    (void)suggested;
    struct conn *conn = CONTAINER_OF((uv_tcp_t *)handle, struct conn, tcp);
    *out = uv_buf_init(conn->worker->read_buffer, READ_BUFFER_BYTES);
}

/* Shakes hands, blocking; then OpenSSL gets memory instead of the socket. */
static bool start_tls(struct conn *conn, int fd)
{
    const struct target *target = conn->worker->plan->source->target;
    if (target->tls == NULL) {
        return true;
    }
    conn->ssl = target_start_tls(target, fd);
    if (conn->ssl == NULL) {
        return false;
    }
    SSL_set_bio(conn->ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    return true;
}

static bool open_conn(struct conn *conn, int fd)
{
    struct worker *worker = conn->worker;
    if (!start_tls(conn, fd)) {
        close(fd);
        return false;
    }
    if (uv_tcp_init(&worker->loop, &conn->tcp) != 0) {
        close(fd);
        return false;
    }
    conn->open = true;
    worker->open_count++;
    return uv_tcp_open(&conn->tcp, fd) == 0 &&
           uv_read_start((uv_stream_t *)&conn->tcp, on_buffer, on_read) == 0;
}

/* libuv uses the memory of a closed handle until on_reopen(), so the connection is opened again
 * there. */
static void on_reopen(uv_handle_t *handle)
{
    struct conn *conn = CONTAINER_OF((uv_tcp_t *)handle, struct conn, tcp);
    struct worker *worker = conn->worker;
    on_closed(handle);
    worker->open_count--;
    int fd = target_connect(worker->plan->source->target);
    if (fd < 0 || !open_conn(conn, fd)) {
        fail(worker, STR("connection refused"));
        conn->open = false;
        if (worker->open_count == 0) {
            end(worker);
        }
        return;
    }
    worker->reconnect_count++;
    reader_reset(&conn->reader);
    if (conn->resend) {
        conn->resend = false;
        send_draw(conn);
    } else {
        next_request(conn);
    }
}

static void leave_idle(struct conn *conn)
{
    struct conn **link = &conn->worker->idle;
    while (*link != NULL && *link != conn) {
        link = &(*link)->next_idle;
    }
    if (*link == conn) {
        *link = conn->next_idle;
    }
}

static void reopen(struct conn *conn)
{
    conn->busy = false;
    leave_idle(conn);
    if (conn->worker->stopping) {
        close_conn(conn);
    } else if (conn->open) {
        conn->open = false;
        uv_close((uv_handle_t *)&conn->tcp, on_reopen);
    }
}

/* Sending ----------------------------------------------------------------------------------- */

static void on_written(uv_write_t *write, int status)
{
    struct conn *conn = CONTAINER_OF(write, struct conn, write);
    (void)status; /* if the connection is lost, the read callback reports it */
    mem_free(conn->unsent);
    conn->unsent = NULL;
}

/* The encrypted form of `bytes`, in memory of the connection; plain ones as they are. */
static struct str encrypt(struct conn *conn, struct str bytes)
{
    if (conn->ssl == NULL) {
        return bytes;
    }
    BIO *out = SSL_get_wbio(conn->ssl);
    char *data = NULL;
    (void)BIO_reset(out);
    int written = SSL_write(conn->ssl, bytes.data, (int)bytes.len);
    assert(written == (int)bytes.len); /* memory takes all */
    long len = BIO_get_mem_data(out, &data);
    return str_make(data, (size_t)len);
}

static void send_bytes(struct conn *conn, struct str bytes)
{
    bytes = encrypt(conn, bytes);
    uv_buf_t buffer = uv_buf_init((char *)bytes.data, (unsigned)bytes.len);
    int sent = uv_try_write((uv_stream_t *)&conn->tcp, &buffer, 1);
    size_t rest = bytes.len - (size_t)MAX(sent, 0);
    if (LIKELY(rest == 0)) {
        return;
    }
    /* The prepared request will be overwritten for the next connection, so the unsent rest is
     * copied. */
    mem_free(conn->unsent);
    conn->unsent = mem_alloc(rest);
    memcpy(conn->unsent, bytes.data + bytes.len - rest, rest);
    buffer = uv_buf_init(conn->unsent, (unsigned)rest);
    if (uv_write(&conn->write, (uv_stream_t *)&conn->tcp, &buffer, 1, on_written) != 0) {
        fail(conn->worker, STR("connection lost"));
        reopen(conn);
    }
}

static void send_draw(struct conn *conn)
{
    struct worker *worker = conn->worker;
    const struct request *request = generator_fill(&worker->generator, &conn->draw, &conn->place);
    conn->answer_min = request->answer_min;
    conn->answer_max = request->answer_max;
    conn->busy = true;
    send_bytes(conn, buf_str(&request->bytes));
}

static void start_request(struct conn *conn, int64_t start_ns)
{
    struct worker *worker = conn->worker;
    if (worker->quota != UINT64_MAX) {
        worker->quota--;
    }
    conn->start_ns = start_ns;
    generator_draw(&worker->generator, &conn->place, conn->draw.seed == 0, &conn->draw);
    send_draw(conn);
}

/* Being due --------------------------------------------------------------------------------- */

static void arm(struct worker *worker)
{
    int64_t at = MIN(worker->next_due_ns, worker->until_ns);
    struct itimerspec when = {
        .it_value = {.tv_sec = at / NS_PER_S, .tv_nsec = at % NS_PER_S},
    };
    timerfd_settime(worker->due_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

/* Requests that were due before the end are still sent, but for no longer than the measured time.
 */
static bool is_over(const struct worker *worker, int64_t now_ns)
{
    if (worker->stopping || worker->quota == 0) {
        return true;
    }
    if (worker->interval_ns == 0) {
        return now_ns >= worker->until_ns;
    }
    int64_t window_ns = worker->until_ns - worker->measure_from_ns;
    return worker->next_due_ns >= worker->until_ns || now_ns - worker->until_ns >= window_ns;
}

static void close_idle(struct worker *worker)
{
    while (worker->idle != NULL) {
        struct conn *conn = worker->idle;
        worker->idle = conn->next_idle;
        close_conn(conn);
    }
}

static void on_due(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    struct worker *worker = CONTAINER_OF(poll, struct worker, due_poll);
    uint64_t expired;
    ssize_t ignored = read(worker->due_fd, &expired, sizeof(expired));
    (void)ignored; /* clears the readiness of the timer */
    int64_t now_ns = clock_monotonic_ns();
    while (worker->idle != NULL && worker->next_due_ns <= now_ns && !is_over(worker, now_ns)) {
        struct conn *conn = worker->idle;
        worker->idle = conn->next_idle;
        int64_t due_ns = worker->next_due_ns;
        worker->next_due_ns += worker->interval_ns;
        start_request(conn, due_ns);
    }
    if (is_over(worker, now_ns)) {
        close_idle(worker);
    } else if (worker->idle != NULL) {
        arm(worker);
    }
}

/* Starts the next request on a connection that is idle. */
static void next_request(struct conn *conn)
{
    struct worker *worker = conn->worker;
    int64_t now_ns = clock_monotonic_ns();
    if (is_over(worker, now_ns)) {
        close_conn(conn);
    } else if (worker->interval_ns == 0) {
        start_request(conn, now_ns);
    } else if (worker->next_due_ns <= now_ns) {
        int64_t due_ns = worker->next_due_ns;
        worker->next_due_ns += worker->interval_ns;
        start_request(conn, due_ns);
    } else {
        conn->next_idle = worker->idle;
        worker->idle = conn;
        arm(worker);
    }
}

/* Answers ----------------------------------------------------------------------------------- */

/* Whether the server asks to retry: throttled, in conflict, or a partly processed batch. */
static bool says_later(const struct conn *conn)
{
    const struct reader *reader = &conn->reader;
    struct str front = str_make(reader->front, reader->front_len);
    if (reader->status == 200) {
        return reader->body_len > conn->answer_max;
    }
    return str_contains(front, STR("Throttl")) || str_contains(front, STR("ThroughputExceeded")) ||
           str_contains(front, STR("TransactionConflict")) ||
           str_contains(front, STR("TransactionInProgress"));
}

static void count_failure(struct conn *conn)
{
    const struct reader *reader = &conn->reader;
    struct str type = reader_error_type(reader);
    char status[16];
    if (reader->status == 200) {
        type = STR("incomplete answer");
    } else if (str_is_null(type)) {
        snprintf(status, sizeof(status), "HTTP %d", reader->status);
        type = str_from_c(status);
    }
    fail(conn->worker, type);
}

static void count_answer(struct conn *conn)
{
    struct worker *worker = conn->worker;
    const struct reader *reader = &conn->reader;
    int64_t now_ns = clock_monotonic_ns();
    if (reader->status != 200 || reader->body_len < conn->answer_min) {
        count_failure(conn);
    } else if (conn->start_ns >= worker->measure_from_ns) {
        histogram_add(&worker->latency, now_ns - conn->start_ns);
        worker->answer_bytes += reader->body_len;
        worker->last_ns = now_ns;
    }
    atomic_fetch_add_explicit(&worker->done_count, 1, memory_order_relaxed);
}

static void on_answer(struct conn *conn)
{
    struct reader *reader = &conn->reader;
    bool again = UNLIKELY(says_later(conn)) && conn->refusals < REFUSALS_MAX;
    if (again) {
        conn->refusals++;
        conn->worker->retry_count++;
    } else {
        conn->refusals = 0;
        count_answer(conn);
        if (reader->keep_back &&
            !scan_place_move(&conn->place, str_make(reader->front, reader->front_len),
                             str_make(reader->back, reader->back_len))) {
            fail(conn->worker, STR("odd LastEvaluatedKey"));
        }
    }
    /* A response that arrives before the whole request was sent makes the connection unusable. */
    bool closes = reader->closes || conn->unsent != NULL;
    reader_reset(reader);
    conn->busy = false;
    conn->resend = again && closes;
    if (closes) {
        reopen(conn);
    } else if (again) {
        send_draw(conn);
    } else {
        next_request(conn);
    }
}

static void on_lost(struct conn *conn)
{
    if (conn->busy) {
        fail(conn->worker, STR("connection lost"));
    }
    reopen(conn);
}

static void on_bytes(struct conn *conn, struct str input)
{
    while (input.len > 0 && conn->open) {
        enum reader_status status = conn->busy ? reader_take(&conn->reader, &input) : READER_BAD;
        if (status == READER_BAD) {
            fail(conn->worker, STR("no HTTP answer"));
            reopen(conn);
            return;
        }
        if (status == READER_MORE) {
            return;
        }
        on_answer(conn);
    }
}

static void on_encrypted(struct conn *conn, struct str input)
{
    struct worker *worker = conn->worker;
    BIO_write(SSL_get_rbio(conn->ssl), input.data, (int)input.len);
    int got = 1;
    while (got > 0 && conn->open) {
        got = SSL_read(conn->ssl, worker->plain_buffer, READ_BUFFER_BYTES);
        if (got > 0) {
            on_bytes(conn, str_make(worker->plain_buffer, (size_t)got));
        }
    }
    if (conn->open && SSL_get_error(conn->ssl, got) != SSL_ERROR_WANT_READ) {
        on_lost(conn);
    }
}

static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *buffer)
{
    struct conn *conn = CONTAINER_OF((uv_tcp_t *)stream, struct conn, tcp);
    if (got < 0) {
        on_lost(conn);
    } else if (conn->ssl != NULL) {
        on_encrypted(conn, str_make(buffer->base, (size_t)got));
    } else {
        on_bytes(conn, str_make(buffer->base, (size_t)got));
    }
}

/* The thread -------------------------------------------------------------------------------- */

static void give_up(struct worker *worker)
{
    worker->stopping = true;
    for (int i = 0; i < worker->conn_count; i++) {
        struct conn *conn = &worker->conns[i];
        if (conn->open && conn->busy) {
            fail(worker, STR("no answer"));
        }
        close_conn(conn);
    }
}

/* Once a second: gives up if nothing was answered. Waiting for a request to be due does not count.
 */
static void on_watch(uv_timer_t *timer)
{
    struct worker *worker = CONTAINER_OF(timer, struct worker, watch_timer);
    uint64_t done = atomic_load(&worker->done_count) + worker->retry_count;
    bool waits = worker->interval_ns > 0 && worker->next_due_ns > clock_monotonic_ns();
    worker->silent_seconds = done > worker->done_before || waits ? 0 : worker->silent_seconds + 1;
    worker->done_before = done;
    if (worker->silent_seconds >= SILENT_SECONDS_MAX) {
        give_up(worker);
    }
}

bool worker_connect(struct worker *worker, struct err *err)
{
    const struct source *source = worker->plan->source;
    worker->due_fd = -1;
    if (uv_loop_init(&worker->loop) != 0) {
        return err_set(err, ERR_INTERNAL, "cannot make an event loop");
    }
    uv_timer_init(&worker->loop, &worker->watch_timer);
    worker->read_buffer = mem_alloc(READ_BUFFER_BYTES);
    worker->plain_buffer = source->target->tls != NULL ? mem_alloc(READ_BUFFER_BYTES) : NULL;
    worker->conns = mem_zalloc((size_t)worker->conn_count * sizeof(*worker->conns));
    generator_init(&worker->generator, worker->plan->source);
    for (int i = 0; i < worker->conn_count; i++) {
        struct conn *conn = &worker->conns[i];
        conn->worker = worker;
        conn->place.segment = (uint64_t)worker->first_conn + (uint64_t)i;
        reader_init(&conn->reader);
        conn->reader.keep_back = source->workload->mix[1] == OP_SCAN;
        int fd = target_connect(source->target);
        if (fd < 0 || !open_conn(conn, fd)) {
            return err_set(err, ERR_INTERNAL, "cannot connect to %.*s: %s",
                           STR_ARG(source->target->authority), strerror(errno));
        }
    }
    return true;
}

static void start(struct worker *worker)
{
    uv_timer_start(&worker->watch_timer, on_watch, 1000, 1000);
    if (worker->interval_ns > 0) {
        worker->due_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
        assert(worker->due_fd >= 0);
        uv_poll_init(&worker->loop, &worker->due_poll, worker->due_fd);
        uv_poll_start(&worker->due_poll, UV_READABLE, on_due);
    }
    for (int i = 0; i < worker->conn_count; i++) {
        next_request(&worker->conns[i]);
    }
}

/* Requests that were due and never sent count as errors. */
static void count_unsent(struct worker *worker)
{
    if (worker->interval_ns > 0 && worker->quota > 0 && worker->next_due_ns < worker->until_ns) {
        uint64_t count = (uint64_t)((worker->until_ns - worker->next_due_ns) / worker->interval_ns);
        tally_add(&worker->errors, STR("not sent: slower than the rate"), count + 1);
    }
}

void *worker_main(void *arg)
{
    struct worker *worker = arg;
    start(worker);
    if (worker->interval_ns > 0) {
        /* Short time slices, so that scheduling delays do not count as latency */
        thread_ask_for_short_slices();
    }
    uv_run(&worker->loop, UV_RUN_DEFAULT);
    count_unsent(worker);
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    worker->cpu_seconds = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                          (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    atomic_store(&worker->finished, true);
    return NULL;
}

void worker_destroy(struct worker *worker)
{
    if (worker->conns == NULL) {
        return;
    }
    for (int i = 0; i < worker->conn_count; i++) {
        close_conn(&worker->conns[i]);
    }
    uv_run(&worker->loop, UV_RUN_DEFAULT);
    uv_loop_close(&worker->loop);
    if (worker->due_fd >= 0) {
        close(worker->due_fd);
    }
    generator_finish(&worker->generator);
    mem_free(worker->read_buffer);
    mem_free(worker->plain_buffer);
    mem_free(worker->conns);
}
