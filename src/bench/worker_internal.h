/* bench/worker_internal.h: one thread of a run: an event loop, its connections, and its counts. */
#ifndef GRAMME_BENCH_WORKER_INTERNAL_H
#define GRAMME_BENCH_WORKER_INTERNAL_H

#include "bench/response_reader_internal.h"
#include "bench/run_internal.h"

#include <uv.h> /* after ours: it defines MIN and MAX, too */

struct worker;

/* One connection: one request at a time. */
struct conn {
    struct worker *worker;
    uv_tcp_t tcp;
    SSL *ssl; /* NULL: plain. It reads and writes memory */
    bool open;
    bool busy;    /* a request is in progress */
    bool resend;  /* after the connection has been made again */
    int refusals; /* consecutive responses that asked to retry */
    struct conn *next_idle;
    struct draw draw;
    struct scan_place place;
    int64_t start_ns; /* when the request was sent or, with a rate, due */
    uint64_t answer_min;
    uint64_t answer_max;
    /* What the socket did not accept at once. */
    uv_write_t write;
    char *unsent;
    struct reader reader;
};

struct worker {
    /* Set by run.c. */
    const struct run_plan *plan;
    int first_conn; /* its number among all workers */
    int conn_count;
    struct conn *conns;
    int64_t measure_from_ns;
    int64_t until_ns;
    uint64_t quota;                  /* requests that may be sent; UINT64_MAX: any */
    int64_t interval_ns;             /* between requests, with a rate */
    atomic_uint_fast64_t done_count; /* for the progress */
    atomic_bool finished;

    /* The results. */
    struct histogram latency;
    int64_t last_ns; /* of the last answer */
    uint64_t answer_bytes;
    uint64_t retry_count;
    uint64_t reconnect_count;
    struct tally errors;
    double cpu_seconds;

    /* Used by the thread only. */
    pthread_t thread;
    uv_loop_t loop;
    struct generator generator;
    uv_timer_t watch_timer;
    uv_poll_t due_poll;
    int due_fd;
    int64_t next_due_ns;
    struct conn *idle;
    int open_count;
    bool stopping;
    uint64_t done_before; /* responses when the timer last fired */
    int silent_seconds;
    char *read_buffer;
    char *plain_buffer; /* what was decrypted; NULL: plain */
};

/* Opens the connections. Main thread, before worker_main(). */
MUST_USE bool worker_connect(struct worker *worker, struct err *err);
/* The thread's function; returns when all requests have been answered, or after a time-out. */
void *worker_main(void *worker);
/* Frees the worker; it need not have been connected. */
void worker_destroy(struct worker *worker);

#endif
