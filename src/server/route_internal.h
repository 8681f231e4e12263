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

/* The request id, and CORS headers for pages that may use the server; *out_id is the id. */
struct str route_headers(struct router *router, struct http_exchange *exchange, struct str *out_id);
/* What the audit log says of a request. */
struct route_audit {
    const struct auth_caller *caller; /* NULL, or without a directory: not known */
    const char *service;
    struct str operation;
    struct str resource;
    enum err_code error;
    bool is_change;
};
/* Writes an entry; before the answer is sent. */
void route_audit(struct router *router, struct http_exchange *exchange,
                 const struct route_audit *facts, int status, struct str request_id);

/* Sends what was written to exchange->out. Writes an entry of the audit log if `facts` is not NULL.
 */
void route_reply(struct router *router, struct http_exchange *exchange, int status,
                 const struct route_audit *facts);
/* The same with the body of an error. */
void route_refuse(struct router *router, struct http_exchange *exchange, const struct err *err,
                  const struct route_audit *facts);

/* Administration requests: the caller is known and is released. May take long. */
void route_handle_admin(struct router *router, struct http_exchange *exchange, struct str operation,
                        struct auth_caller *caller);
/* Requests with a form as their body: the Security Token Service. */
bool route_is_sts(const struct router *router, const struct http_exchange *exchange);
void route_handle_sts(struct router *router, struct http_exchange *exchange);

#endif
