/* auth/sign_in.h: authenticates signed requests: finds the access key, checks the signature and the
 * session token, and returns the caller. Each serving thread has its own struct sign_in, which
 * caches derived signing keys and sessions. */
#ifndef GRAMME_AUTH_SIGN_IN_H
#define GRAMME_AUTH_SIGN_IN_H

#include <pthread.h>

#include "auth/session_token.h"
#include "auth/sigv4_check.h"

/* The current directory, shared by all threads. */
struct directory_source {
    pthread_mutex_t lock;
    struct directory *current;        /* NULL: none was loaded */
    atomic_uint_fast64_t publication; /* grows with each directory_publish() */
};

/* Initializes a source without a directory. */
void directory_source_init(struct directory_source *source);
/* Drops the directory. No other thread may use the source any more. */
void directory_source_finish(struct directory_source *source);
/* Replaces the current directory and takes over the caller's reference. Any thread; other threads
 * see it at their next check. */
void directory_publish(struct directory_source *source, struct directory *directory);
/* Returns the current directory with a reference for the caller, or NULL if none was loaded. Any
 * thread. */
MUST_USE struct directory *directory_current(struct directory_source *source);

/* The authenticated sender of a request. */
struct auth_caller {
    struct directory *directory; /* an owned reference; NULL: no caller, nothing to release */
    const struct directory_principal *principal;
    struct auth_session *session; /* an owned reference; NULL: the key is a long-term key */
    struct policy_caller policy;
    struct str user_id; /* aws:userid */
    struct str access_key_id;
    uint64_t mentions; /* the union of policy_mentions() of identity policies, boundary and session
                          policy */
    enum err_code warning; /* set by guard.c; --auth warn: the error of a check that failed */
};

/* Drops the references of *caller. Does nothing if caller->directory is NULL. */
void auth_caller_release(struct auth_caller *caller);

struct sign_in_options {
    struct directory_source *source; /* borrowed, like the next */
    const struct seal_key *key;      /* the master key; NULL: session tokens are refused */
    struct str region;               /* STR_NULL: any */
    /* How far the time of a request may differ from the server's. */
    int64_t skew_ms;
};

struct sign_in;
/* Creates the state of one thread. Copies *options, not what it points to. */
MUST_USE struct sign_in *sign_in_create(const struct sign_in_options *options);
/* Frees it, with the cached keys erased. Accepts NULL. */
void sign_in_destroy(struct sign_in *sign_in);

struct sign_in_request {
    const struct sigv4_head *head;
    struct str service; /* "dynamodb" or "sts" */
    int64_t now_ms;
    struct arena *arena; /* the texts of *out are allocated here */
};

/* Performs the checks that need no body: syntax, time, scope, and whether the access key exists.
 * Returns false with the service's error in *err. */
MUST_USE bool sign_in_check_head(struct sign_in *sign_in, const struct sign_in_request *request,
                                 struct err *err);
/* Performs all checks. `body` is the body as received. Returns true and sets *out, which must be
 * released with auth_caller_release(); or returns false with the service's error in *err, and *out
 * need not be released. */
MUST_USE bool sign_in_check(struct sign_in *sign_in, const struct sign_in_request *request,
                            struct str body, struct auth_caller *out, struct err *err);

/* Returns the access key id that a request names, without checking anything, for logs; STR_NULL if
 * it names none. The result is in `arena` or borrows the head. */
MUST_USE struct str sign_in_claimed_key(struct arena *arena, const struct sigv4_head *head);

#endif
