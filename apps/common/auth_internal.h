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

/* A cookie's value, or STR_NULL. */
struct str cookie_find(const struct http_exchange *exchange, const char *name);
/* The JSON object that a signed token holds, while its "exp" has not come; else NULL. The caller
 * destroys it. */
struct gramme_value *token_read(const struct auth *auth, struct arena *arena, const char *purpose,
                                struct str token);
/* A signed token of the object, which gets "exp". */
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
/* NULL: none of that id. */
const struct dev_user *dev_user_find(const char *id);

/* Fills an identity of mode dev. */
void dev_identity(struct identity *out, const char *id, unsigned roles);

#endif
