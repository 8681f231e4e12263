/* auth/sign_in.h: from a signed request to its caller: finds the access key, checks the signature
 * and the session token. Each thread that serves has a struct sign_in of its own, with the signing
 * keys of the day. */
#ifndef GRAMME_AUTH_SIGN_IN_H
#define GRAMME_AUTH_SIGN_IN_H

#include <pthread.h>

#include "auth/session.h"
#include "auth/sigv4_check.h"

/* The directory that holds now. Any thread. */
struct directory_source {
    pthread_mutex_t lock;
    struct directory *current;        /* NULL: none was loaded */
    atomic_uint_fast64_t publication; /* grows with each directory_publish() */
};

void directory_source_init(struct directory_source *source);
void directory_source_finish(struct directory_source *source);
/* Replaces the directory; takes over the caller's reference. */
void directory_publish(struct directory_source *source, struct directory *directory);
/* The one that holds now, with a reference for the caller. NULL: none was loaded. */
MUST_USE struct directory *directory_current(struct directory_source *source);

/* Who sent a request. */
struct auth_caller {
    struct directory *directory; /* a reference; NULL: nobody, not to be released */
    const struct directory_principal *principal;
    struct auth_session *session; /* a reference, or NULL: a long-term key */
    struct policy_caller policy;
    struct str user_id; /* aws:userid */
    struct str access_key_id;
    uint64_t mentions; /* of all identity policies, boundary and session policy */
};

void auth_caller_release(struct auth_caller *caller);

struct sign_in_options {
    struct directory_source *source; /* borrowed, like the next */
    const struct seal_key *key;      /* NULL: there are no session tokens */
    struct str region;               /* STR_NULL: any */
    int64_t skew_ms;
};

struct sign_in;
MUST_USE struct sign_in *sign_in_create(const struct sign_in_options *options);
/* Accepts NULL. */
void sign_in_destroy(struct sign_in *sign_in);

struct sign_in_request {
    const struct sigv4_head *head;
    struct str service; /* "dynamodb" or "sts" */
    int64_t now_ms;
    struct arena *arena; /* texts of *out live in it */
};

/* All that needs no body: form, clock, scope, and whether the key is known. False: *err as the
 * service says it. */
MUST_USE bool sign_in_check_head(struct sign_in *sign_in, const struct sign_in_request *request,
                                 struct err *err);
/* The whole check. `body` is as received. False: *err, and *out needs no release. Otherwise the
 * caller of this function releases *out. */
MUST_USE bool sign_in_check(struct sign_in *sign_in, const struct sign_in_request *request,
                            struct str body, struct auth_caller *out, struct err *err);

/* The access key id that a request claims, proved or not, for logs; STR_NULL if it has none. */
MUST_USE struct str sign_in_claimed_key(struct arena *arena, const struct sigv4_head *head);

#endif
