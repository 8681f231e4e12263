/* server/route.h: routes HTTP requests to operations and pages: content types, targets, origins,
 * health, request ids. */
#ifndef GRAMME_SERVER_ROUTE_H
#define GRAMME_SERVER_ROUTE_H

#include "engine/engine.h"
#include "http/http.h"
#include "meter/meter.h"
#include "server/audit.h"
#include "server/cors.h"
#include "server/guard.h"
#include "server/hosts.h"
#include "server/users.h"

struct router;

struct router_options {
    int loop_count;      /* threads that serve connections */
    int thread_count;    /* these, and behind them the slow ones */
    struct guard *guard; /* borrowed, like the next two */
    struct users *users; /* NULL: requests are not checked, and nothing is administered */
    struct audit *audit; /* or NULL */
    struct cors cors;    /* its texts must outlive the router, like the next */
    struct hosts hosts;
    bool test_clock;           /* clients may set the clock */
    bool console;              /* serve the console */
    const struct store *store; /* must outlive the router, like the next */
    const struct memory_pool *memory;
    struct meter *meter;     /* records calls; NULL: none does */
    struct kinesis *kinesis; /* has metrics */
};

/* Creates a router; borrows the engine. */
MUST_USE struct router *router_create(struct engine *engine, const struct router_options *options);
/* Frees the router. No request may be under way. */
void router_destroy(struct router *router);

/* Makes /_gramme/ready answer 503 from now on. Any thread. */
void router_drain(struct router *router);

/* The http_handler; its context is the router. */
void router_handle(void *router, struct http_exchange *exchange);
/* The http_head_check, with the same context: refuses requests with unknown access keys before
 * their bodies are read. */
void router_check_head(void *router, struct http_exchange *exchange);
/* The http_tls_client, with the same context: writes an entry to the audit log. */
void router_note_client(void *router, const struct http_certificate *certificate);

#endif
