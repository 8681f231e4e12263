/* apps/common/oidc.h: OpenID Connect, authorization code flow with PKCE, any provider that has a
 * discovery document; and bearer tokens of that provider. Functions block on the network: worker
 * threads only. */
#ifndef GRAMME_APPS_OIDC_H
#define GRAMME_APPS_OIDC_H

#include "apps/common/identity.h"
#include "base/arena.h"
#include "err/err.h"

struct oidc_options {
    const char *issuer;
    const char *client_id;
    const char *client_secret; /* NULL: a public client */
    const char *audience;      /* of bearer tokens; NULL: the client's id */
    const char *scopes;
    const char *user_claim;  /* whose value is a user's id: "sub", "email", ... */
    const char *roles_claim; /* "roles", or a path: "realm_access.roles" */
    const char *ca_file;     /* NULL: the system's certificates */
};

struct oidc;

/* Borrows the options' texts. */
struct oidc *oidc_create(const struct oidc_options *options);
/* Accepts NULL. */
void oidc_destroy(struct oidc *oidc);

/* The state of a login, kept in a signed cookie until the provider redirects the browser back. */
struct oidc_login {
    const char *state;
    const char *nonce;
    const char *verifier; /* of PKCE */
};

/* Creates a login and the URL at the provider to which the browser is sent; both from the arena.
 * ERR_INTERNAL: the provider does not answer. */
bool oidc_begin(struct oidc *oidc, struct arena *arena, const char *redirect_uri,
                struct oidc_login *out, const char **out_url, struct err *err);
/* Exchanges the code for tokens, checks the ID token, and reads the user from it. */
bool oidc_complete(struct oidc *oidc, struct arena *arena, const struct oidc_login *login,
                   const char *code, const char *redirect_uri, struct identity *out,
                   struct err *err);
/* Identifies the user of a bearer token. *out_is_bad: the token is refused; otherwise the
 * provider's keys could not be fetched. */
bool oidc_check_bearer(struct oidc *oidc, struct str token, struct identity *out, bool *out_is_bad,
                       struct err *err);
/* Returns the URL that ends the provider's own session; NULL: the provider has none. */
const char *oidc_logout_url(struct oidc *oidc, struct arena *arena, const char *return_url);

#endif
