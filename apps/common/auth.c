/* Identifies the user who sends a request. Called on worker threads for every request of an API. */
#include "apps/common/auth.h"

#include <stdio.h>

#include "apps/common/auth_internal.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

const struct dev_user dev_users[] = {
    {"admin", "Administrator", ROLES_ALL},
    {"ana", "Ana", 0},
    {"ben", "Ben", 0},
    {"chloe", "Chloe", 0},
    {"dario", "Dario", 0},
    {"dr-lund", "Dr. Lund", ROLE_PROVIDER},
    {"dr-moreau", "Dr. Moreau", ROLE_PROVIDER},
    {"dr-osei", "Dr. Osei", ROLE_PROVIDER},
    {"poc-user-001", "Caller 001", 0},
    {"poc-user-002", "Caller 002", 0},
    {"desk", "Service desk", ROLE_AGENT},
    {"ops", "Operations", ROLE_OPERATOR},
};
const size_t dev_user_count = COUNT_OF(dev_users);

const struct dev_user *dev_user_find(const char *id)
{
    for (size_t i = 0; i < dev_user_count; i++) {
        if (strcmp(dev_users[i].id, id) == 0) {
            return &dev_users[i];
        }
    }
    return NULL;
}

void dev_identity(struct identity *out, const char *id, unsigned roles)
{
    const struct dev_user *known = dev_user_find(id);
    *out = (struct identity){.roles = roles};
    snprintf(out->id, sizeof(out->id), "%s", id);
    snprintf(out->name, sizeof(out->name), "%s", known == NULL ? id : known->name);
    snprintf(out->email, sizeof(out->email), "%.*s@example.com",
             (int)(sizeof(out->email) - sizeof("@example.com")), id);
}

struct auth *auth_create(const struct auth_options *options)
{
    struct auth *auth = mem_zalloc(sizeof(*auth));
    auth->options = *options;
    if (options->session_key_file != NULL) {
        if (!signing_key_load(&auth->key, options->session_key_file)) {
            mem_free(auth);
            return NULL;
        }
    } else if (options->mode == AUTH_OIDC) {
        signing_key_random(&auth->key);
    } /* else a fixed public key: mode dev does not authenticate */
    if (options->mode == AUTH_OIDC) {
        auth->oidc = oidc_create(&options->oidc);
    }
    return auth;
}

void auth_destroy(struct auth *auth)
{
    if (auth != NULL) {
        oidc_destroy(auth->oidc);
        mem_free(auth);
    }
}

const struct signing_key *auth_key(const struct auth *auth)
{
    return &auth->key;
}

/* --- cookies and tokens --- */

struct str cookie_find(const struct http_exchange *exchange, const char *name)
{
    struct str wanted = str_from_c(name);
    struct str rest = http_header(exchange, STR("cookie"));
    while (rest.len > 0) {
        const char *end = memchr(rest.data, ';', rest.len);
        size_t len = end == NULL ? rest.len : (size_t)(end - rest.data);
        struct str pair = str_make(rest.data, len);
        if (str_starts_with(pair, wanted) && pair.len > wanted.len &&
            pair.data[wanted.len] == '=') {
            return str_skip(pair, wanted.len + 1);
        }
        rest = str_skip(rest, end == NULL ? len : len + 1);
        while (rest.len > 0 && rest.data[0] == ' ') {
            rest = str_skip(rest, 1);
        }
    }
    return STR_NULL;
}

struct gramme_value *token_read(const struct auth *auth, struct arena *arena, const char *purpose,
                                struct str token)
{
    struct str payload = signed_read(&auth->key, arena, purpose, token);
    if (str_is_null(payload)) {
        return NULL;
    }
    struct gramme_value *value =
        gramme_value_from_json(payload.data, payload.len, GRAMME_PLAIN, NULL);
    if (gramme_get_int(value, "exp", 0) <= clock_wall_ms() / 1000) {
        gramme_value_destroy(value);
        return NULL;
    }
    return value;
}

const char *token_make(const struct auth *auth, struct arena *arena, const char *purpose,
                       struct gramme_value *payload, int64_t seconds)
{
    gramme_set_int(payload, "exp", clock_wall_ms() / 1000 + seconds);
    size_t len;
    char *json = gramme_value_to_json(payload, GRAMME_PLAIN, &len);
    const char *token = signed_make(&auth->key, arena, purpose, str_make(json, len));
    gramme_free(json);
    return token;
}

/* --- the user of a request --- */

static bool read_session(const struct auth *auth, const struct http_exchange *exchange,
                         struct identity *out)
{
    struct str token = cookie_find(exchange, SESSION_COOKIE);
    struct gramme_value *session =
        str_is_null(token) ? NULL : token_read(auth, exchange->arena, "session", token);
    const char *id = gramme_get_string(session, "id");
    if (id != NULL) {
        const char *name = gramme_get_string(session, "name");
        const char *email = gramme_get_string(session, "email");
        *out = (struct identity){.roles = roles_read(gramme_get(session, "roles"))};
        snprintf(out->id, sizeof(out->id), "%s", id);
        identity_copy_text(out->name, sizeof(out->name), name == NULL ? id : name);
        identity_copy_text(out->email, sizeof(out->email), email == NULL ? "" : email);
    }
    gramme_value_destroy(session);
    return id != NULL;
}

/* Mode dev: reads X-User-Id and X-User-Roles. AUTH_NOBODY: the request does not have them. */
static enum auth_result read_dev_headers(const struct http_exchange *exchange, struct identity *out)
{
    struct str id = http_header(exchange, STR("x-user-id"));
    struct str roles = http_header(exchange, STR("x-user-roles"));
    if (str_is_null(id)) {
        return AUTH_NOBODY;
    }
    const char *user = arena_copy_c(exchange->arena, id).data;
    if (!identity_id_is_valid(user)) {
        return AUTH_BAD_USER;
    }
    const struct dev_user *known = dev_user_find(user);
    unsigned chosen = known == NULL ? 0 : known->roles;
    if (!str_is_null(roles)) {
        chosen = roles_parse(arena_copy_c(exchange->arena, roles).data);
    }
    dev_identity(out, user, chosen);
    return AUTH_OK;
}

/* Returns whether Host is a name of this machine. Otherwise a page of another site could send
 * requests here by a DNS name that resolves to a loopback address. */
static bool host_is_local(const struct http_exchange *exchange)
{
    struct str host = http_header(exchange, STR("host"));
    const char *colon = host.len == 0 ? NULL : memrchr(host.data, ':', host.len);
    const char *bracket = host.len == 0 ? NULL : memrchr(host.data, ']', host.len);
    if (colon != NULL && (bracket == NULL || colon > bracket)) {
        host.len = (size_t)(colon - host.data);
    }
    return str_eq_nocase(host, STR("localhost")) || str_eq(host, STR("[::1]")) ||
           (str_starts_with(host, STR("127.")) && strspn(host.data, "0123456789.") >= host.len);
}

/* Returns whether the request has a header of a forwarding proxy: then its sender may be on another
 * machine. A proxy that adds no such header is not recognized. */
static bool came_by_proxy(const struct http_exchange *exchange)
{
    static const char *const names[] = {"forwarded", "via", "x-real-ip"};
    struct str prefix = STR("x-forwarded-");
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (!str_is_null(http_header(exchange, str_from_c(names[i])))) {
            return true;
        }
    }
    for (size_t i = 0; i < exchange->header_count; i++) {
        struct str name = exchange->headers[i].name;
        if (name.len > prefix.len && str_eq_nocase(str_make(name.data, prefix.len), prefix)) {
            return true;
        }
    }
    return false;
}

static enum auth_result identify_dev(const struct auth *auth, const struct http_exchange *exchange,
                                     struct identity *out, enum auth_means *out_means)
{
    if (!host_is_local(exchange)) {
        return AUTH_BAD_HOST;
    }
    if (came_by_proxy(exchange)) {
        return AUTH_BY_PROXY;
    }
    enum auth_result by_header = read_dev_headers(exchange, out);
    if (by_header != AUTH_NOBODY) {
        *out_means = AUTH_BY_HEADER;
        return by_header;
    }
    if (read_session(auth, exchange, out)) {
        *out_means = AUTH_BY_COOKIE;
    } else {
        *out_means = AUTH_BY_DEFAULT;
        dev_identity(out, "admin", ROLES_ALL);
    }
    return AUTH_OK;
}

static enum auth_result check_bearer(struct auth *auth, const struct http_exchange *exchange,
                                     struct str token, struct identity *out)
{
    struct err err = ERR_INIT(exchange->arena);
    bool is_bad;
    if (oidc_check_bearer(auth->oidc, token, out, &is_bad, &err)) {
        return AUTH_OK;
    }
    log_write(LOG_WARN, "auth", "%.*s", STR_ARG(err.message));
    return is_bad ? AUTH_BAD_TOKEN : AUTH_UNAVAILABLE;
}

enum auth_result auth_identify(struct auth *auth, const struct http_exchange *exchange,
                               struct identity *out, enum auth_means *out_means)
{
    if (auth->options.mode == AUTH_DEV) {
        return identify_dev(auth, exchange, out, out_means);
    }
    struct str header = http_header(exchange, STR("authorization"));
    struct str scheme = STR("Bearer ");
    if (header.len > scheme.len && str_eq_nocase(str_make(header.data, scheme.len), scheme)) {
        *out_means = AUTH_BY_HEADER;
        return check_bearer(auth, exchange, str_skip(header, scheme.len), out);
    }
    *out_means = AUTH_BY_COOKIE;
    return read_session(auth, exchange, out) ? AUTH_OK : AUTH_NOBODY;
}

bool auth_origin_is_ours(const struct auth *auth, const struct http_exchange *exchange,
                         enum auth_means means)
{
    struct str origin = http_header(exchange, STR("origin"));
    struct str site = http_header(exchange, STR("sec-fetch-site"));
    if (means == AUTH_BY_HEADER) {
        return true; /* other sites cannot set the header */
    }
    if (!str_is_null(site) && !str_eq(site, STR("same-origin"))) {
        return false;
    }
    if (str_is_null(origin)) {
        return means == AUTH_BY_DEFAULT;
    }
    if (auth->options.public_url != NULL) {
        return str_eq_nocase(origin, str_from_c(auth->options.public_url));
    }
    struct str host = http_header(exchange, STR("host"));
    struct str ours = arena_format(exchange->arena, "http://%.*s", STR_ARG(host));
    return str_eq_nocase(origin, ours);
}
