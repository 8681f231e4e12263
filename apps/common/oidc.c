/* OpenID Connect. The provider's discovery document and keys are fetched on first use; keys also
 * when a token names an unknown key, at most every few seconds. */
#include "apps/common/oidc.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "apps/common/fetch.h"
#include "apps/common/jwt.h"
#include "apps/common/signed.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/random.h"

enum {
    KEYS_AGE_MIN_MS = 5000,
    DISCOVERY_AGE_MAX_MS = 3600 * 1000,
    PAUSE_MIN_MS = 500, /* after a failure; if it took longer, three times its duration */
};

struct oidc {
    struct oidc_options options;
    pthread_mutex_t mutex; /* guards what follows; held while fetching, so one thread fetches */
    struct gramme_value *discovery;
    int64_t discovery_at_ms;
    struct jwt_keys *keys;
    int64_t keys_at_ms;
    int64_t pause_until_ms; /* after a failure: until then requests fail at once */
};

struct oidc *oidc_create(const struct oidc_options *options)
{
    struct oidc *oidc = mem_zalloc(sizeof(*oidc));
    oidc->options = *options;
    pthread_mutex_init(&oidc->mutex, NULL);
    return oidc;
}

void oidc_destroy(struct oidc *oidc)
{
    if (oidc == NULL) {
        return;
    }
    gramme_value_destroy(oidc->discovery);
    jwt_keys_destroy(oidc->keys);
    pthread_mutex_destroy(&oidc->mutex);
    mem_free(oidc);
}

static int64_t now_ms(void)
{
    return clock_monotonic_us() / 1000;
}

/* --- the provider's documents; with the mutex held --- */

/* Notes whether the provider answered a request that began at `began_ms`. */
static void note_answer(struct oidc *oidc, int64_t began_ms, bool ok)
{
    int64_t now = now_ms();
    oidc->pause_until_ms = ok ? 0 : now + MAX(3 * (now - began_ms), (int64_t)PAUSE_MIN_MS);
}

/* Returns whether requests may be sent to the provider now. False: *err. */
static bool may_ask(const struct oidc *oidc, struct err *err)
{
    return now_ms() >= oidc->pause_until_ms ||
           err_set(err, ERR_INTERNAL, "the provider has just failed, and is asked again later");
}

/* Sends a request whose response is a JSON object. NULL: *err says why. The caller destroys it. */
static struct gramme_value *fetch_json(const struct oidc *oidc, struct fetch *fetch,
                                       struct err *err)
{
    struct buf body = {0};
    fetch->ca_file = oidc->options.ca_file;
    int status = fetch_send(fetch, &body);
    struct gramme_value *json = NULL;
    if (status == 200) {
        json = gramme_value_from_json(body.data, body.len, GRAMME_PLAIN, NULL);
    }
    if (gramme_value_type(json) != GRAMME_MAP) {
        gramme_value_destroy(json);
        json = NULL;
        err_set(err, ERR_INTERNAL, "%s: status %d: %.*s", fetch->url, status,
                (int)MIN(body.len, (size_t)300), body.data == NULL ? "" : body.data);
    }
    buf_finish(&body);
    return json;
}

static bool discover(struct oidc *oidc, struct err *err)
{
    if (oidc->discovery != NULL && now_ms() - oidc->discovery_at_ms < DISCOVERY_AGE_MAX_MS) {
        return true;
    }
    char url[1024];
    size_t len = strlen(oidc->options.issuer);
    bool has_slash = len > 0 && oidc->options.issuer[len - 1] == '/';
    snprintf(url, sizeof(url), "%s%s.well-known/openid-configuration", oidc->options.issuer,
             has_slash ? "" : "/");
    if (!may_ask(oidc, err)) {
        return oidc->discovery != NULL; /* the old one remains in use, also below */
    }
    int64_t began_ms = now_ms();
    struct gramme_value *found = fetch_json(oidc, &(struct fetch){.url = url}, err);
    note_answer(oidc, began_ms, found != NULL);
    if (found == NULL) {
        return oidc->discovery != NULL;
    }
    const char *issuer = gramme_get_string(found, "issuer");
    if (issuer == NULL || strcmp(issuer, oidc->options.issuer) != 0) {
        gramme_value_destroy(found);
        return err_set(err, ERR_INTERNAL, "%s is the document of another issuer", url);
    }
    gramme_value_destroy(oidc->discovery);
    oidc->discovery = found;
    oidc->discovery_at_ms = now_ms();
    return true;
}

static bool fetch_keys(struct oidc *oidc, struct err *err)
{
    if (!discover(oidc, err) || !may_ask(oidc, err)) {
        return false;
    }
    const char *url = gramme_get_string(oidc->discovery, "jwks_uri");
    struct buf body = {0};
    int64_t began_ms = now_ms();
    int status =
        url == NULL
            ? 0
            : fetch_send(&(struct fetch){.url = url, .ca_file = oidc->options.ca_file}, &body);
    struct jwt_keys *keys = status == 200 ? jwt_keys_create(buf_str(&body)) : NULL;
    buf_finish(&body);
    note_answer(oidc, began_ms, keys != NULL);
    if (keys == NULL) {
        return err_set(err, ERR_INTERNAL, "the provider's keys cannot be read (status %d)", status);
    }
    jwt_keys_destroy(oidc->keys);
    oidc->keys = keys;
    oidc->keys_at_ms = now_ms();
    return true;
}

/* Returns the claims of a token, after checking its signature; NULL: *err says why. */
static struct gramme_value *verify(struct oidc *oidc, struct str token, bool *out_is_bad,
                                   struct err *err)
{
    struct gramme_value *claims = NULL;
    *out_is_bad = false;
    pthread_mutex_lock(&oidc->mutex);
    bool ok = oidc->keys != NULL || fetch_keys(oidc, err);
    enum jwt_result result = ok ? jwt_verify(oidc->keys, token, &claims) : JWT_BAD;
    if (result == JWT_UNKNOWN_KEY && now_ms() - oidc->keys_at_ms >= KEYS_AGE_MIN_MS) {
        ok = fetch_keys(oidc, err);
        result = ok ? jwt_verify(oidc->keys, token, &claims) : JWT_BAD;
    }
    pthread_mutex_unlock(&oidc->mutex);
    if (ok && result != JWT_OK) {
        *out_is_bad = true;
        err_set(err, ERR_INTERNAL, "the token's signature is not good");
    }
    return result == JWT_OK ? claims : NULL;
}

/* --- claims --- */

/* Finds a claim by its path, "realm_access.roles". */
static const struct gramme_value *claim_at(const struct gramme_value *claims, const char *path)
{
    const struct gramme_value *whole = gramme_get(claims, path);
    while (whole == NULL && claims != NULL) {
        char name[128];
        size_t len = strcspn(path, ".");
        snprintf(name, sizeof(name), "%.*s", (int)MIN(len, sizeof(name) - 1), path);
        claims = gramme_get(claims, name);
        if (path[len] == '\0') {
            return claims;
        }
        path += len + 1;
    }
    return whole;
}

static bool read_identity(const struct oidc *oidc, const struct gramme_value *claims,
                          struct identity *out, struct err *err)
{
    const char *id = gramme_value_string(claim_at(claims, oidc->options.user_claim));
    if (id == NULL || !identity_id_is_valid(id)) {
        return err_set(err, ERR_INTERNAL, "claim %s is missing, or no id for a user",
                       oidc->options.user_claim);
    }
    *out = (struct identity){.roles = roles_read(claim_at(claims, oidc->options.roles_claim))};
    const char *name = gramme_get_string(claims, "name");
    const char *email = gramme_get_string(claims, "email");
    snprintf(out->id, sizeof(out->id), "%s", id);
    identity_copy_text(out->name, sizeof(out->name), name == NULL ? id : name);
    identity_copy_text(out->email, sizeof(out->email), email == NULL ? "" : email);
    return true;
}

/* --- signing in --- */

static const char *random_text(struct arena *arena)
{
    unsigned char bytes[32];
    random_system(bytes, sizeof(bytes));
    return base64url_encode(arena, str_make(bytes, sizeof(bytes)));
}

static const char *escape(struct arena *arena, const char *text)
{
    char *escaped = fetch_escape(text);
    const char *copy = arena_copy_c(arena, str_from_c(escaped)).data;
    mem_free(escaped);
    return copy;
}

/* Returns a copy of an address in the discovery document; NULL: it is not there. */
static const char *endpoint_of(struct oidc *oidc, struct arena *arena, const char *name,
                               struct err *err)
{
    const char *copy = NULL;
    pthread_mutex_lock(&oidc->mutex);
    if (discover(oidc, err)) {
        const char *url = gramme_get_string(oidc->discovery, name);
        copy = url == NULL ? NULL : arena_copy_c(arena, str_from_c(url)).data;
        if (copy == NULL) {
            err_set(err, ERR_INTERNAL, "the provider has no %s", name);
        }
    }
    pthread_mutex_unlock(&oidc->mutex);
    return copy;
}

bool oidc_begin(struct oidc *oidc, struct arena *arena, const char *redirect_uri,
                struct oidc_login *out, const char **out_url, struct err *err)
{
    const char *endpoint = endpoint_of(oidc, arena, "authorization_endpoint", err);
    if (endpoint == NULL) {
        return false;
    }
    out->state = random_text(arena);
    out->nonce = random_text(arena);
    out->verifier = random_text(arena);
    unsigned char hash[SIGNED_HASH_LEN];
    signed_sha256(str_from_c(out->verifier), hash);
    *out_url = arena_format(arena,
                            "%s%cresponse_type=code&client_id=%s&redirect_uri=%s&scope=%s"
                            "&state=%s&nonce=%s&code_challenge=%s&code_challenge_method=S256",
                            endpoint, strchr(endpoint, '?') == NULL ? '?' : '&',
                            escape(arena, oidc->options.client_id), escape(arena, redirect_uri),
                            escape(arena, oidc->options.scopes), out->state, out->nonce,
                            base64url_encode(arena, str_make(hash, sizeof(hash))))
                   .data;
    return true;
}

static struct gramme_value *exchange_code(struct oidc *oidc, struct arena *arena,
                                          const struct oidc_login *login, const char *code,
                                          const char *redirect_uri, struct err *err)
{
    const char *endpoint = endpoint_of(oidc, arena, "token_endpoint", err);
    if (endpoint == NULL) {
        return NULL;
    }
    bool is_public = oidc->options.client_secret == NULL;
    struct str form = arena_format(
        arena, "grant_type=authorization_code&code=%s&redirect_uri=%s&code_verifier=%s%s%s",
        escape(arena, code), escape(arena, redirect_uri), login->verifier,
        is_public ? "&client_id=" : "", is_public ? escape(arena, oidc->options.client_id) : "");
    struct fetch fetch = {.url = endpoint, .form = form.data};
    if (!is_public) { /* RFC 6749, 2.3.1: both are form-encoded first */
        fetch.user = escape(arena, oidc->options.client_id);
        fetch.password = escape(arena, oidc->options.client_secret);
    }
    return fetch_json(oidc, &fetch, err);
}

/* Many providers put only `sub` into the ID token: adds what the userinfo endpoint says of
 * the same subject. */
static void add_userinfo(struct oidc *oidc, struct arena *arena, const char *access_token,
                         struct gramme_value *claims)
{
    struct err err = ERR_INIT(arena);
    const char *endpoint = endpoint_of(oidc, arena, "userinfo_endpoint", &err);
    if (endpoint == NULL || access_token == NULL) {
        return;
    }
    struct gramme_value *info =
        fetch_json(oidc, &(struct fetch){.url = endpoint, .bearer = access_token}, &err);
    if (info != NULL && gramme_value_equal(gramme_get(info, "sub"), gramme_get(claims, "sub"))) {
        for (size_t i = 0; i < gramme_value_count(info); i++) {
            const struct gramme_value *claim = gramme_value_at(info, i);
            if (gramme_get(claims, gramme_value_name(claim)) == NULL) {
                gramme_set_value(claims, gramme_value_name(claim), claim);
            }
        }
    }
    gramme_value_destroy(info);
}

bool oidc_complete(struct oidc *oidc, struct arena *arena, const struct oidc_login *login,
                   const char *code, const char *redirect_uri, struct identity *out,
                   struct err *err)
{
    struct gramme_value *tokens = exchange_code(oidc, arena, login, code, redirect_uri, err);
    const char *id_token = gramme_get_string(tokens, "id_token");
    struct gramme_value *claims = NULL;
    bool is_bad;
    if (tokens != NULL && id_token == NULL) {
        err_set(err, ERR_INTERNAL, "the provider sent no ID token");
    } else if (tokens != NULL) {
        claims = verify(oidc, str_from_c(id_token), &is_bad, err);
    }
    bool ok = claims != NULL;
    if (ok) {
        const char *wrong =
            jwt_check_claims(claims, &(struct jwt_expected){.issuer = oidc->options.issuer,
                                                            .audience = oidc->options.client_id,
                                                            .nonce = login->nonce,
                                                            .now_s = clock_wall_ms() / 1000});
        ok = wrong == NULL || err_set(err, ERR_INTERNAL, "the ID token is refused: %s", wrong);
    }
    if (ok) {
        add_userinfo(oidc, arena, gramme_get_string(tokens, "access_token"), claims);
        ok = read_identity(oidc, claims, out, err);
    }
    gramme_value_destroy(claims);
    gramme_value_destroy(tokens);
    return ok;
}

bool oidc_check_bearer(struct oidc *oidc, struct str token, struct identity *out, bool *out_is_bad,
                       struct err *err)
{
    struct gramme_value *claims = verify(oidc, token, out_is_bad, err);
    if (claims == NULL) {
        return false;
    }
    const char *audience =
        oidc->options.audience != NULL ? oidc->options.audience : oidc->options.client_id;
    const char *wrong =
        jwt_check_claims(claims, &(struct jwt_expected){.issuer = oidc->options.issuer,
                                                        .audience = audience,
                                                        .now_s = clock_wall_ms() / 1000});
    bool ok = wrong == NULL ? read_identity(oidc, claims, out, err)
                            : err_set(err, ERR_INTERNAL, "the token is refused: %s", wrong);
    *out_is_bad = !ok;
    gramme_value_destroy(claims);
    return ok;
}

const char *oidc_logout_url(struct oidc *oidc, struct arena *arena, const char *return_url)
{
    struct err err = ERR_INIT(arena);
    const char *endpoint = endpoint_of(oidc, arena, "end_session_endpoint", &err);
    if (endpoint == NULL) {
        return NULL;
    }
    return arena_format(arena, "%s%cclient_id=%s&post_logout_redirect_uri=%s", endpoint,
                        strchr(endpoint, '?') == NULL ? '?' : '&',
                        escape(arena, oidc->options.client_id), escape(arena, return_url))
        .data;
}
