/* server/ready.h: GET /_gramme/ready: whether this server can serve requests, for load balancers
 * and operators: 200 or 503, with a small JSON object that says why. */
#ifndef GRAMME_SERVER_READY_H
#define GRAMME_SERVER_READY_H

#include <pthread.h>

#include "engine/engine.h"
#include "http/http.h"

#define READY_TARGET "/_gramme/ready"

/* State of the checks, shared by all threads. */
struct ready {
    struct engine *engine;
    const struct memory_pool *memory;
    const char *directory;    /* of the store, or NULL */
    pthread_mutex_t mutex;    /* protects the next two */
    pthread_t prober;         /* of the last probe */
    bool has_prober;          /* it must be joined */
    _Atomic int64_t began_us; /* start of the probe under way; 0: none */
    _Atomic int64_t ended_us; /* end of the last probe */
    _Atomic int64_t took_us;
    atomic_bool is_writable; /* result of the last probe */
    atomic_bool is_draining; /* the server is about to stop */
};

/* Initializes the struct; borrows its arguments. */
void ready_init(struct ready *ready, struct engine *engine, const struct memory_pool *memory,
                const struct store *store);
/* Waits for the probe under way. Call it after the HTTP server was closed and before the engine
 * is. */
void ready_finish(struct ready *ready);
/* Makes the answer 503 from now on, so that load balancers send requests elsewhere. Any thread. */
void ready_drain(struct ready *ready);
/* Answers the exchange: at once if the store was probed within the last second or is being probed,
 * or if the server has lost its lease or is about to stop; else after a write to the store, or
 * after two seconds. 503 if the write fails, takes more than two seconds ("queue": "full"), or does
 * not end; if the disk or the memory for requests is full, the server has lost its lease or is
 * about to stop. */
void ready_handle(struct ready *ready, struct http_exchange *exchange);

#endif
