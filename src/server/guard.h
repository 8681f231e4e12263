/* server/guard.h: who may send requests: signatures, by mode. route.c asks it before anything else
 * is done with a request. */
#ifndef GRAMME_SERVER_GUARD_H
#define GRAMME_SERVER_GUARD_H

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
    int key_requests_max;            /* of one access key at once; 0: any number */
    size_t key_bytes_max;            /* in their bodies; 0: any number */
};

struct guard;
MUST_USE struct guard *guard_create(const struct guard_options *options);
/* Accepts NULL. */
void guard_destroy(struct guard *guard);

/* Whether signatures are looked at. */
MUST_USE bool guard_checks(const struct guard *guard);

/* Whether the request may go on, on the exchange's thread. `service` is "dynamodb" or "sts". In the
 * modes that check, *out is the caller, to be released with auth_caller_release(); else, and if the
 * mode is AUTH_WARN and the check failed, out->directory is NULL. False: *err as the service says
 * it. */
MUST_USE bool guard_check(struct guard *guard, struct http_exchange *exchange, struct str service,
                          struct auth_caller *out, struct err *err);
/* The part that needs no body, for requests whose body has not come yet. */
MUST_USE bool guard_check_head(struct guard *guard, struct http_exchange *exchange,
                               struct str service, struct err *err);

/* What the operations need to decide what a caller may do. */
struct guarded_call {
    struct api_guard api;
    struct policy_set policies;
    struct auth_context context;
    struct guard *guard;
    struct http_exchange *exchange;
    const struct auth_caller *caller;
};
/* Fills *out for a caller that guard_check() has found; it must outlive *out. */
void guard_begin_call(struct guard *guard, struct http_exchange *exchange,
                      const struct auth_caller *caller, struct guarded_call *out);

/* Whether a caller may do what is no operation of DynamoDB, such as "gramme:GetInsight"; in the
 * mode AUTH_WARN a refusal is only logged. False: *err. A caller that guard_check() has not found
 * may. */
MUST_USE bool guard_allow(struct guard *guard, struct http_exchange *exchange,
                          const struct auth_caller *caller, struct str action, struct err *err);

/* Counts a request of the caller as under way; false: there are too many, and it is refused (*err).
 * Each true is followed by guard_leave() with the same number of bytes. */
MUST_USE bool guard_enter(struct guard *guard, const struct auth_caller *caller, size_t bytes,
                          struct err *err);
void guard_leave(struct guard *guard, const struct auth_caller *caller, size_t bytes);

/* The client's address as text, in the exchange's arena. */
MUST_USE struct str guard_peer(const struct http_exchange *exchange);
/* The access key that a request claims, proved or not; STR_NULL: none. */
MUST_USE struct str guard_claimed_key(struct http_exchange *exchange);

/* Writes a line about a refused request to the log; at most a few each second. */
void guard_log_refusal(struct guard *guard, struct http_exchange *exchange, struct str operation,
                       const struct err *err);

#endif
