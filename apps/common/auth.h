/* apps/common/auth.h: sign-in, shared by all applications: sessions in signed cookies, bearer
 * tokens, and a development mode in which the user can be chosen. */
#ifndef GRAMME_APPS_AUTH_H
#define GRAMME_APPS_AUTH_H

#include "apps/common/app.h"
#include "apps/common/identity.h"
#include "apps/common/oidc.h"
#include "apps/common/signed.h"
#include "http/http.h"

enum auth_mode { AUTH_DEV, AUTH_OIDC };

struct auth_options {
    enum auth_mode mode;
    struct oidc_options oidc; /* AUTH_OIDC */
    /* the origin of this site for browsers, "https://apps.example.com"; NULL: http and the Host of
     * the request */
    const char *public_url;
    const char *session_key_file; /* NULL: sessions end with the process (AUTH_OIDC) */
    int64_t session_hours;
};

struct auth;

/* Creates the state of sign-in; borrows the options' texts. NULL: the key file cannot be used; a
 * message is on standard error. */
struct auth *auth_create(const struct auth_options *options);
/* Accepts NULL. */
void auth_destroy(struct auth *auth);
/* Returns the key that signs sessions and tokens. */
const struct signing_key *auth_key(const struct auth *auth);

enum auth_result {
    AUTH_OK,
    AUTH_NOBODY,      /* not signed in, or the session is over */
    AUTH_BAD_TOKEN,   /* the bearer token is refused */
    AUTH_UNAVAILABLE, /* the provider's keys cannot be fetched */
    AUTH_BAD_HOST,    /* AUTH_DEV, and Host is not this machine */
    AUTH_BY_PROXY,    /* AUTH_DEV, and a proxy has passed the request on */
    AUTH_BAD_USER,    /* AUTH_DEV with a header that names nobody */
};

/* How the user was identified: for a cookie, which browsers send automatically, the origin must be
 * checked. */
enum auth_means { AUTH_BY_HEADER, AUTH_BY_COOKIE, AUTH_BY_DEFAULT };

/* Identifies the user of a request. May block on the provider. */
enum auth_result auth_identify(struct auth *auth, const struct http_exchange *exchange,
                               struct identity *out, enum auth_means *out_means);
/* Whether a write may be accepted from the page that sent it: from the origin of this site or,
 * unless a cookie identifies the user, without an origin. */
bool auth_origin_is_ours(const struct auth *auth, const struct http_exchange *exchange,
                         enum auth_means means);

/* The requests under /auth: /auth/session, /auth/login, ...; its state is the struct auth. */
extern const struct app_definition auth_app;

#endif
