/* server/ready.h: GET /_gramme/ready: whether this server can do its work, for load balancers and
 * operators. 200 if so, 503 if not, with a small JSON object that says why. */
#ifndef GRAMME_SERVER_READY_H
#define GRAMME_SERVER_READY_H

#include "engine/engine.h"
#include "http/http.h"

#define READY_TARGET "/_gramme/ready"

/* What is known; of all threads. */
struct ready {
    struct engine *engine;
    const struct memory_pool *memory;
    const char *directory;    /* of the store, or NULL */
    _Atomic int64_t began_us; /* of the probe under way; 0: none */
    _Atomic int64_t ended_us; /* of the last one */
    _Atomic int64_t took_us;
    atomic_bool is_writable; /* what it said */
    atomic_bool is_draining; /* the server is about to stop */
};

/* Borrows all of it. */
void ready_init(struct ready *ready, struct engine *engine, const struct memory_pool *memory,
                const struct store *store);
/* From now on it is not ready: load balancers should send requests elsewhere. Any thread. */
void ready_drain(struct ready *ready);
/* Answers the exchange, at once if the store was asked within the last second, else when it has
 * taken a write. While it has not answered one for two seconds it counts as not writable. */
void ready_handle(struct ready *ready, struct http_exchange *exchange);

#endif
