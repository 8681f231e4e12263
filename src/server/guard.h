/* server/guard.h: checks credentials, signatures and policies, by the mode of --auth, and the
 * limits per access key. route.c calls it before it handles a request. */
#ifndef GRAMME_SERVER_GUARD_H
#define GRAMME_SERVER_GUARD_H

#include <netinet/in.h>

#include "api/api.h"
#include "auth/auth.h"
#include "auth/sign_in.h"
#include "http/http.h"

struct guard_options {
    enum auth_mode mode;
    int thread_count;  /* of the HTTP server, slow ones included */
    struct str region; /* like all below, must outlive the guard */
    int64_t skew_ms;
    struct directory_source *source; /* of users and keys */
    const struct seal_key *key;      /* of session tokens */
    int key_requests_max;            /* requests of one access key under way; 0: no limit */
    size_t key_bytes_max;            /* bytes in their bodies and answers; 0: no limit */
};

struct guard;
/* Creates a guard; copies the options, but not what they point to. */
MUST_USE struct guard *guard_create(const struct guard_options *options);
/* Frees the guard. Accepts NULL. */
void guard_destroy(struct guard *guard);

/* Returns whether signatures are checked: --auth on or warn. */
MUST_USE bool guard_checks(const struct guard *guard);

/* Checks the credentials of a request, on the thread of the exchange. `service` is "dynamodb" or
 * "sts". If signatures are checked, *out is the caller, which the caller of this function releases
 * with auth_caller_release(); else, and if the check failed in the mode AUTH_WARN, out->directory
 * is NULL. In that mode out->warning is the error. False: *err is the error of the service. */
MUST_USE bool guard_check(struct guard *guard, struct http_exchange *exchange, struct str service,
                          struct auth_caller *out, struct err *err);
/* The part of guard_check() that needs no body, for requests whose body is not received yet. */
MUST_USE bool guard_check_head(struct guard *guard, struct http_exchange *exchange,
                               struct str service, struct err *err);

/* The time of a request and the address of its client, as policies compare them. */
struct guard_texts {
    int64_t second; /* since 1970 */
    char time[32];  /* "2015-08-30T12:36:00Z" */
    char epoch[24]; /* the second in decimal */
    uint8_t peer[16];
    char peer_text[INET6_ADDRSTRLEN];
};

/* The data of a request that authorization needs. */
struct guarded_call {
    struct api_guard api;
    struct policy_set policies;
    struct auth_context context;
    struct guard *guard;
    struct http_exchange *exchange;
    struct auth_caller *caller;
    /* Values of the keys in `context` that have one, and the texts of some. */
    struct str values[CONTEXT_KEY_COUNT];
    struct guard_texts texts;
};
/* Fills *out for a caller of guard_check(); `caller` must outlive *out. In the mode AUTH_WARN a
 * denial sets caller->warning. */
void guard_begin_call(struct guard *guard, struct http_exchange *exchange,
                      struct auth_caller *caller, struct guarded_call *out);

/* Returns whether policies allow a caller an action that is not an operation of DynamoDB, such as
 * "gramme:GetInsight". In the mode AUTH_WARN a refusal is only logged, and sets caller->warning. A
 * caller without a directory is allowed everything. False: *err is AccessDenied. */
MUST_USE bool guard_allow(struct guard *guard, struct http_exchange *exchange,
                          struct auth_caller *caller, struct str action, struct err *err);

struct key_load;
/* A request that counts in the limits of its access key. */
struct guard_entry {
    struct key_load *load; /* NULL: it does not count */
    size_t bytes;
};
/* Counts a request of the caller as under way, until guard_leave() or guard_leave_when_sent(). If
 * its key has too many, it does not count; in the mode AUTH_WARN that is logged and sets
 * caller->warning, else false: *err says so. */
MUST_USE bool guard_enter(struct guard *guard, struct http_exchange *exchange,
                          struct auth_caller *caller, struct str operation, struct guard_entry *out,
                          struct err *err);
/* The request is not under way any more. */
void guard_leave(const struct guard_entry *entry);
/* The answer of the request is in exchange->out: counts its bytes, too, and calls guard_leave()
 * when it has been sent. Call it just before http_reply(). */
void guard_leave_when_sent(const struct guard_entry *entry, struct http_exchange *exchange);

/* Writes the address of a client as text. `peer` as in struct http_exchange. */
void guard_write_peer(const uint8_t peer[16], char out[INET6_ADDRSTRLEN]);
/* Returns the address of the client as text, in the arena of the exchange. */
MUST_USE struct str guard_peer(const struct http_exchange *exchange);
/* Returns the access key that a request names, without a check of its signature; STR_NULL: none. */
MUST_USE struct str guard_claimed_key(struct http_exchange *exchange);

/* Counts and logs a refused request; logs at most a few lines per second. */
void guard_log_refusal(struct guard *guard, struct http_exchange *exchange, struct str operation,
                       const struct err *err);

/* Writes the number of refused requests, in the text format of Prometheus. Any thread. */
void guard_write_metrics(const struct guard *guard, struct buf *out);

#endif
