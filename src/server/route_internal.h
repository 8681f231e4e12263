/* server/route_internal.h: what route.c and route_admin.c share. */
#ifndef GRAMME_SERVER_ROUTE_INTERNAL_H
#define GRAMME_SERVER_ROUTE_INTERNAL_H

#include "base/random.h"
#include "server/insight_pages.h"
#include "server/ready.h"
#include "server/route.h"

struct route_thread {
    struct api_thread *api;
    struct random random;
};

struct router {
    struct engine *engine;
    struct router_options options;
    struct ready ready;
    struct insight_pages insight;
    struct route_thread threads[];
};

/* Returns the header lines of every answer: a new request id, and CORS headers for allowed pages.
 * *out_id is the request id. */
struct str route_headers(struct router *router, struct http_exchange *exchange, struct str *out_id);
/* What the audit log records of a request. */
struct route_audit {
    const struct auth_caller *caller; /* NULL, or without a directory: not known */
    const char *service;
    struct str operation;
    struct str resource;
    enum err_code error;
    bool is_change;
};
/* Writes an entry to the audit log. Call it before the answer is sent. */
void route_audit(struct router *router, struct http_exchange *exchange,
                 const struct route_audit *facts, int status, struct str request_id);

/* Sends the body in exchange->out, and writes an entry to the audit log if `facts` is not NULL. */
void route_reply(struct router *router, struct http_exchange *exchange, int status,
                 const struct route_audit *facts);
/* As route_reply(), with the body of an error. */
void route_refuse(struct router *router, struct http_exchange *exchange, const struct err *err,
                  const struct route_audit *facts);

/* Answers an administration request and releases the caller. On a slow thread. */
void route_handle_admin(struct router *router, struct http_exchange *exchange, struct str operation,
                        struct auth_caller *caller);
/* Returns whether a request is for the Security Token Service: its body is a form. */
bool route_is_sts(const struct router *router, const struct http_exchange *exchange);
/* Answers a request for the Security Token Service. */
void route_handle_sts(struct router *router, struct http_exchange *exchange);

#endif
