/* server/route.h: from HTTP requests to operations and back: targets, CORS, health, request ids. */
#ifndef GRAMME_SERVER_ROUTE_H
#define GRAMME_SERVER_ROUTE_H

#include "auth/auth.h"
#include "engine/engine.h"
#include "http/http.h"

struct router;

MUST_USE struct router *router_create(struct engine *engine, int thread_count, enum auth_mode auth);
void router_destroy(struct router *router);

/* The http_handler; its context is the router. */
void router_handle(void *router, struct http_exchange *exchange);

#endif
