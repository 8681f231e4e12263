/* What auth.c and auth_api.c share. */
#ifndef GRAMME_APPS_AUTH_INTERNAL_H
#define GRAMME_APPS_AUTH_INTERNAL_H

#include "apps/common/auth.h"

struct auth {
    struct auth_options options;
    struct signing_key key;
    struct oidc *oidc; /* AUTH_OIDC */
};

#define SESSION_COOKIE "gramme_apps_session"
#define LOGIN_COOKIE   "gramme_apps_login"

/* Returns the value of a cookie; STR_NULL: there is none. */
struct str cookie_find(const struct http_exchange *exchange, const char *name);
/* Returns the JSON object in a signed token; NULL: the token is not valid, or "exp" has passed. The
 * caller destroys it. */
struct gramme_value *token_read(const struct auth *auth, struct arena *arena, const char *purpose,
                                struct str token);
/* Adds "exp" to the object and returns it as a signed token. */
const char *token_make(const struct auth *auth, struct arena *arena, const char *purpose,
                       struct gramme_value *payload, int64_t seconds);

/* The users that mode dev suggests. */
struct dev_user {
    const char *id;
    const char *name;
    unsigned roles;
};
extern const struct dev_user dev_users[];
extern const size_t dev_user_count;
/* Returns the suggested user with an id; NULL: there is none. */
const struct dev_user *dev_user_find(const char *id);

/* Fills an identity of mode dev. */
void dev_identity(struct identity *out, const char *id, unsigned roles);

#endif
