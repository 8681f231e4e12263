/* auth/session_token.h: temporary credentials. The session token contains all data of the session,
 * encrypted with the master key; the server stores nothing. Any thread. */
#ifndef GRAMME_AUTH_SESSION_TOKEN_H
#define GRAMME_AUTH_SESSION_TOKEN_H

#include <stdatomic.h>

#include "auth/directory.h"

enum { SESSION_KEY_ID_LEN = 20, SESSION_SECRET_LEN = 40 };
#define SESSION_KEY_PREFIX "ASIA"

/* The contents of a session token. Reference-counted, because a running call may outlive the cache
 * entry. */
struct auth_session {
    atomic_int references;
    struct secret_arena secrets; /* the memory of all texts below */
    struct str token;
    struct str access_key_id;
    struct str secret;
    bool is_role;         /* false: the session of a user or of root */
    struct str principal; /* the name of the role or user */
    struct str id;        /* its id, which differs if it is deleted and made again */
    struct str name;      /* RoleSessionName; STR_NULL: GetSessionToken */
    int64_t issued;       /* seconds since 1970, like the next */
    int64_t expires;
    struct str document;   /* the session policy's text; STR_NULL: none */
    struct policy *policy; /* `document`, compiled */
};

/* The properties of a new session. */
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

/* Creates credentials for a new session. The texts of *out are in `arena`. */
void session_issue(const struct seal_key *key, const struct session_request *request,
                   struct arena *arena, struct session_credentials *out);
/* Decrypts a token. Returns a session with one reference, owned by the caller; NULL if the token
 * was not issued with this key for this access key id. */
MUST_USE struct auth_session *session_open(const struct seal_key *key, struct str access_key_id,
                                           struct str token);
/* Adds a reference and returns `session`. */
struct auth_session *session_hold(struct auth_session *session);
/* Drops a reference; the last one erases and frees the session. Accepts NULL. */
void session_release(struct auth_session *session);

/* Writes `len` (at most 64) random characters to `out`: those of access key ids (A-Z 2-7) or of
 * secrets (base64). */
void session_random_text(char *out, size_t len, bool is_key_id);

#endif
