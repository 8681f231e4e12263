/* The requests under /auth: session, choosing a user in mode dev, sign-in and sign-out. Called by
 * the router on worker threads. */
#include <stdio.h>

#include "apps/common/auth_internal.h"
#include "apps/common/request_internal.h"
#include "base/log.h"

enum { LOGIN_SECONDS = 600 };

static const char *cookie_flags(const struct auth *auth)
{
    const char *url = auth->options.public_url;
    return url != NULL && strncmp(url, "https:", 6) == 0 ? "; HttpOnly; SameSite=Lax; Secure"
                                                         : "; HttpOnly; SameSite=Lax";
}

/* Returns the URL of a path of this server, as browsers use it. */
static const char *our_url(struct app_request *request, const char *path)
{
    const struct auth *auth = request_state(request);
    struct arena *arena = request->exchange->arena;
    if (auth->options.public_url != NULL) {
        return arena_format(arena, "%s%s", auth->options.public_url, path).data;
    }
    struct str host = http_header(request->exchange, STR("host"));
    return arena_format(arena, "http://%.*s%s", STR_ARG(host), path).data;
}

/* Returns the path if it is local to this site (protection against open redirects). Browsers
 * leave tabs and line ends out of addresses: "/<tab>/host" would be "//host". */
static const char *return_path(const char *wanted)
{
    if (wanted == NULL || wanted[0] != '/' || wanted[1] == '/') {
        return "/";
    }
    for (const char *at = wanted; *at != '\0'; at++) {
        if ((unsigned char)*at < 0x20 || *at == 0x7F || *at == '\\') {
            return "/";
        }
    }
    return wanted;
}

static void set_session(struct app_request *request, const struct identity *identity)
{
    struct auth *auth = request_state(request);
    struct gramme_value *session = gramme_map_create();
    gramme_set_string(session, "id", identity->id);
    gramme_set_string(session, "name", identity->name);
    gramme_set_string(session, "email", identity->email);
    roles_show(identity->roles, gramme_set_list(session, "roles"));
    int64_t seconds = auth->options.session_hours * 3600;
    const char *token = token_make(auth, request->exchange->arena, "session", session, seconds);
    gramme_value_destroy(session);
    answer_header(request, "Set-Cookie", "%s=%s; Path=/; Max-Age=%lld%s", SESSION_COOKIE, token,
                  (long long)seconds, cookie_flags(auth));
}

static void show_user(const struct identity *identity, struct gramme_value *out)
{
    gramme_set_string(out, "id", identity->id);
    gramme_set_string(out, "name", identity->name);
    gramme_set_string(out, "email", identity->email);
    roles_show(identity->roles, gramme_set_list(out, "roles"));
}

static void answer_session(struct app_request *request, const struct identity *identity,
                           bool is_chosen)
{
    const struct auth *auth = request_state(request);
    bool is_dev = auth->options.mode == AUTH_DEV;
    struct gramme_value *body = gramme_map_create();
    gramme_set_string(body, "mode", is_dev ? "dev" : "oidc");
    if (identity != NULL) {
        show_user(identity, gramme_set_map(body, "user"));
    } else {
        gramme_set_null(body, "user");
    }
    gramme_set_bool(body, "chosen", is_chosen);
    gramme_set_string(body, "signIn", "/auth/login");
    struct gramme_value *users = is_dev ? gramme_set_list(body, "users") : NULL;
    for (size_t i = 0; is_dev && i < dev_user_count; i++) {
        struct gramme_value *user = gramme_add_map(users);
        gramme_set_string(user, "id", dev_users[i].id);
        gramme_set_string(user, "name", dev_users[i].name);
        roles_show(dev_users[i].roles, gramme_set_list(user, "roles"));
    }
    answer_header(request, "Cache-Control", "no-store");
    answer_value(request, 200, body);
    gramme_value_destroy(body);
}

static void get_session(struct app_request *request)
{
    bool is_known = request->auth_result == AUTH_OK;
    answer_session(request, is_known ? &request->identity : NULL,
                   is_known && request->auth_means != AUTH_BY_DEFAULT);
}

static void choose_dev_user(struct app_request *request)
{
    const struct auth *auth = request_state(request);
    if (auth->options.mode != AUTH_DEV) {
        answer_problem(request, 404, "not_found", "Users are chosen in development mode only");
        return;
    }
    const struct gramme_value *body = request_body(request, FIELDS("user", "roles"));
    const char *user =
        body == NULL ? NULL : request_text(request, body, "user", IDENTITY_ID_LEN_MAX);
    if (user == NULL) {
        return; /* answered */
    }
    if (!identity_id_is_valid(user)) {
        answer_bad_field(request, "user", "user must be %s", IDENTITY_ID_RULE);
        return;
    }
    const struct gramme_value *roles = gramme_get(body, "roles");
    const struct dev_user *known = dev_user_find(user);
    unsigned chosen = roles != NULL ? roles_read(roles) : known != NULL ? known->roles : 0;
    struct identity identity;
    dev_identity(&identity, user, chosen);
    set_session(request, &identity);
    answer_session(request, &identity, true);
}

/* --- OpenID Connect --- */

static void answer_redirect(struct app_request *request, const char *location)
{
    answer_header(request, "Location", "%s", location);
    answer_header(request, "Cache-Control", "no-store");
    answer_empty(request, 302);
}

static void answer_failed(struct app_request *request, const struct err *err)
{
    log_write(LOG_WARN, "auth", "sign-in failed: %.*s", STR_ARG(err->message));
    answer_redirect(request, "/?signIn=failed");
}

static void set_login_cookie(struct app_request *request, const char *value, int seconds)
{
    answer_header(request, "Set-Cookie", "%s=%s; Path=/auth; Max-Age=%d%s", LOGIN_COOKIE, value,
                  seconds, cookie_flags(request_state(request)));
}

static void begin_login(struct app_request *request)
{
    struct auth *auth = request_state(request);
    struct arena *arena = request->exchange->arena;
    const char *path = return_path(request_query(request, "return"));
    if (auth->options.mode == AUTH_DEV) {
        answer_redirect(request, path);
        return;
    }
    struct err err = ERR_INIT(arena);
    struct oidc_login login;
    const char *url;
    if (!oidc_begin(auth->oidc, arena, our_url(request, "/auth/callback"), &login, &url, &err)) {
        answer_failed(request, &err);
        return;
    }
    struct gramme_value *kept = gramme_map_create();
    gramme_set_string(kept, "state", login.state);
    gramme_set_string(kept, "nonce", login.nonce);
    gramme_set_string(kept, "verifier", login.verifier);
    gramme_set_string(kept, "return", path);
    set_login_cookie(request, token_make(auth, arena, "login", kept, LOGIN_SECONDS), LOGIN_SECONDS);
    gramme_value_destroy(kept);
    answer_redirect(request, url);
}

/* Completes the login in `kept`, which is read from the browser's cookie. */
static bool end_login(struct app_request *request, const struct gramme_value *kept,
                      struct identity *out, struct err *err)
{
    struct auth *auth = request_state(request);
    const char *state = request_query(request, "state");
    const char *code = request_query(request, "code");
    struct oidc_login login = {
        .state = gramme_get_string(kept, "state"),
        .nonce = gramme_get_string(kept, "nonce"),
        .verifier = gramme_get_string(kept, "verifier"),
    };
    if (login.state == NULL || state == NULL || strcmp(state, login.state) != 0) {
        return err_set(err, ERR_INTERNAL, "the browser did not begin this sign-in");
    }
    if (code == NULL) {
        const char *reason = request_query(request, "error");
        return err_set(err, ERR_INTERNAL, "the provider says %s", reason == NULL ? "" : reason);
    }
    return oidc_complete(auth->oidc, request->exchange->arena, &login, code,
                         our_url(request, "/auth/callback"), out, err);
}

static void complete_login(struct app_request *request)
{
    struct auth *auth = request_state(request);
    struct arena *arena = request->exchange->arena;
    struct err err = ERR_INIT(arena);
    if (auth->options.mode == AUTH_DEV) {
        answer_redirect(request, "/");
        return;
    }
    struct gramme_value *kept =
        token_read(auth, arena, "login", cookie_find(request->exchange, LOGIN_COOKIE));
    struct identity identity;
    set_login_cookie(request, "", 0);
    if (end_login(request, kept, &identity, &err)) {
        set_session(request, &identity);
        answer_redirect(request, return_path(gramme_get_string(kept, "return")));
    } else {
        answer_failed(request, &err);
    }
    gramme_value_destroy(kept);
}

static void log_out(struct app_request *request)
{
    struct auth *auth = request_state(request);
    if (request_body(request, FIELDS(NULL)) == NULL) {
        return; /* answered */
    }
    const char *url =
        auth->options.mode == AUTH_OIDC
            ? oidc_logout_url(auth->oidc, request->exchange->arena, our_url(request, "/"))
            : NULL;
    struct gramme_value *body = gramme_map_create();
    if (url != NULL) {
        gramme_set_string(body, "url", url);
    } else {
        gramme_set_null(body, "url");
    }
    answer_header(request, "Set-Cookie", "%s=; Path=/; Max-Age=0%s", SESSION_COOKIE,
                  cookie_flags(auth));
    answer_value(request, 200, body);
    gramme_value_destroy(body);
}

static const struct app_route routes[] = {
    {"GET", "/session", get_session},      {"POST", "/dev", choose_dev_user},
    {"GET", "/login?return", begin_login}, {"GET", "/callback?*", complete_login},
    {"POST", "/logout", log_out},
};

const struct app_definition auth_app = {
    .name = "auth",
    .routes = routes,
    .route_count = COUNT_OF(routes),
    .routes_are_public = true,
};
