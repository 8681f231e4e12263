/* auth/session.h: temporary credentials. All that the server must know of a session is in its
 * token, sealed with the master key: nothing is stored. */
#ifndef GRAMME_AUTH_SESSION_H
#define GRAMME_AUTH_SESSION_H

#include <stdatomic.h>

#include "auth/directory.h"

enum { SESSION_KEY_ID_LEN = 20, SESSION_SECRET_LEN = 40 };
#define SESSION_KEY_PREFIX "ASIA"

/* A session as its token describes it. Counted, because calls outlive a cache's entry. */
struct auth_session {
    atomic_int references;
    struct secret_arena secrets; /* all texts below */
    struct str token;
    struct str access_key_id;
    struct str secret;
    bool is_role;         /* else the session of a user or of root */
    struct str principal; /* name of the role or user */
    struct str name;      /* RoleSessionName; STR_NULL: GetSessionToken */
    int64_t issued;       /* seconds since 1970, like the next */
    int64_t expires;
    struct str document;   /* of the session policy; STR_NULL: none */
    struct policy *policy; /* the same, compiled */
};

/* What a new session is to be. */
struct session_request {
    const struct directory_principal *principal;
    struct str name;
    int64_t issued;
    int64_t expires;
    struct str document;
};

/* New credentials, in `arena`. */
struct session_credentials {
    struct str access_key_id;
    struct str secret;
    struct str token;
};

void session_issue(const struct seal_key *key, const struct session_request *request,
                   struct arena *arena, struct session_credentials *out);
/* Opens a token; NULL if it is not one of ours for that access key. The caller has a reference. */
MUST_USE struct auth_session *session_open(const struct seal_key *key, struct str access_key_id,
                                           struct str token);
struct auth_session *session_hold(struct auth_session *session);
/* Accepts NULL. */
void session_release(struct auth_session *session);

/* Writes `len` random letters and digits. */
void session_random_text(char *out, size_t len, bool is_key_id);

#endif
