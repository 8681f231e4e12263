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
    struct str caller; /* ARN; STR_NULL: not known */
    struct str key_id; /* STR_NULL: the one that the request claims */
    const char *service;
    struct str operation;
    struct str resource;
    struct resource_list resources; /* all of them, if there are several */
    struct resource_list denied;    /* likewise */
    enum err_code error;
    enum err_code warning; /* --auth warn: the error with which `on` refuses it */
    bool is_change;
};
/* Sets the caller of *facts, which borrows it. */
void route_audit_caller(struct route_audit *facts, const struct auth_caller *caller);
/* Writes an entry to the audit log. Call it before the answer is sent. */
void route_audit(struct router *router, struct http_exchange *exchange,
                 const struct route_audit *facts, int status, struct str request_id);

/* Prepares an exchange whose body or answer contains a secret access key: its memory is overwritten
 * after the answer. Call it before the answer is written. */
void route_begin_secret(struct http_exchange *exchange);

/* Sends the body in exchange->out, and writes an entry to the audit log if `facts` is not NULL. */
void route_reply(struct router *router, struct http_exchange *exchange, int status,
                 const struct route_audit *facts);
/* As route_reply(), with the body of an error. */
void route_refuse(struct router *router, struct http_exchange *exchange, const struct err *err,
                  const struct route_audit *facts);

/* Largest body of a request whose signature is not checked, or whose operation is not known. */
enum { ROUTE_SMALL_BODY_MAX = 64 * 1024 };
/* Answers an administration request and releases the caller. On a slow thread. */
void route_handle_admin(struct router *router, struct http_exchange *exchange, struct str operation,
                        struct auth_caller *caller);
/* Returns whether a request is for the Security Token Service: its body is a form. */
bool route_is_sts(const struct router *router, const struct http_exchange *exchange);
/* Refuses a request for the Security Token Service whose head is wrong. Called before its body has
 * been received. */
void route_check_sts_head(struct router *router, struct http_exchange *exchange);
/* Answers a request for the Security Token Service. */
void route_handle_sts(struct router *router, struct http_exchange *exchange);

#endif
