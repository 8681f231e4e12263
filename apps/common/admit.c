/* The steps before and after the handler of an API request: gives it an id, identifies the user,
 * refuses bad requests, writes the log line. server.c calls request_begin() on the event loop, the
 * rest on a worker thread. */
#include <stdio.h>
#include <string.h>

#include "apps/common/request_internal.h"
#include "base/clock.h"
#include "base/hex.h"
#include "base/log.h"
#include "base/random.h"

static void make_id(char out[REQUEST_ID_SIZE])
{
    unsigned char bytes[8];
    random_system(bytes, sizeof(bytes));
    hex_encode_c(str_make(bytes, sizeof(bytes)), out);
}

void request_begin(struct app_request *request)
{
    struct str given = http_header(request->exchange, STR("x-request-id"));
    request->began_us = clock_monotonic_us();
    bool fits = given.len >= 1 && given.len < REQUEST_ID_SIZE;
    for (size_t i = 0; fits && i < given.len; i++) {
        char c = given.data[i];
        fits =
            (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
    }
    if (fits) {
        memcpy(request->id, given.data, given.len);
    } else {
        make_id(request->id);
    }
}

/* --- admission --- */

static bool is_write(const struct http_exchange *exchange)
{
    return !str_eq(exchange->method, STR("GET")) && !str_eq(exchange->method, STR("HEAD"));
}

static bool has_json(const struct http_exchange *exchange)
{
    struct str type = http_header(exchange, STR("content-type"));
    struct str json = STR("application/json");
    if (str_eq(exchange->method, STR("DELETE")) && exchange->body.len == 0) {
        return true;
    }
    return type.len >= json.len && str_eq_nocase(str_make(type.data, json.len), json) &&
           (type.len == json.len || type.data[json.len] == ';' || type.data[json.len] == ' ');
}

static void answer_sign_in(struct app_request *request)
{
    struct gramme_value *details = gramme_map_create();
    gramme_set_string(details, "signIn", "/auth/login");
    answer_problem_details(request, 401, "sign_in_required", details, "Please sign in");
    gramme_value_destroy(details);
}

/* Identifies the user; public routes need none. False: the request has been answered. */
static bool admit_identity(struct app_request *request)
{
    request->auth_result = auth_identify(request->app->auth, request->exchange, &request->identity,
                                         &request->auth_means);
    bool is_public = request->is_of_pages || request->app->definition->routes_are_public;
    switch (request->auth_result) {
    case AUTH_OK:
        return true;
    case AUTH_NOBODY:
        if (is_public) {
            return true;
        }
        answer_sign_in(request);
        return false;
    case AUTH_BAD_TOKEN:
        answer_header(request, "WWW-Authenticate", "Bearer error=\"invalid_token\"");
        answer_problem(request, 401, "bad_token", "The bearer token is not valid");
        return false;
    case AUTH_UNAVAILABLE:
        answer_header(request, "Retry-After", "1");
        answer_problem(request, 503, "unavailable",
                       "Signing in is not possible just now: try again in a moment");
        return false;
    case AUTH_BAD_USER:
        answer_bad_field(request, "X-User-Id", "X-User-Id must be %s", IDENTITY_ID_RULE);
        return false;
    case AUTH_BAD_HOST:
        answer_problem(request, 403, "cross_site",
                       "In development mode this server answers to names of this machine only");
        return false;
    case AUTH_BY_PROXY:
        answer_problem(request, 403, "proxy",
                       "In development mode this server does not answer through a proxy: "
                       "start it with --auth oidc");
        return false;
    }
    return false;
}

bool request_admit(struct app_request *request)
{
    const struct http_exchange *exchange = request->exchange;
    if (!admit_identity(request)) {
        return false;
    }
    if (!is_write(exchange)) {
        return true;
    }
    if (!auth_origin_is_ours(request->app->auth, exchange, request->auth_means)) {
        answer_problem(request, 403, "cross_site",
                       "Changes are accepted from this site's own pages only");
        return false;
    }
    if (!has_json(exchange)) {
        answer_problem(request, 415, "json_required",
                       "Send the body as JSON, with Content-Type: application/json");
        return false;
    }
    return true;
}

/* --- the log --- */

/* Returns the path for the log; the route in its place if the path may contain an id that must not
 * be logged. */
static struct str logged_path(const struct app_request *request)
{
    if (!request->app->logs_routes) {
        return request->path;
    }
    const char *route = request->route == NULL ? "" : request->route->path;
    return arena_format(request->exchange->arena, "%.*s%.*s", STR_ARG(request->base),
                        (int)strcspn(route, "?"), route);
}

void request_log(const struct app_request *request)
{
    enum log_level level = request->status >= 500 ? LOG_WARN : LOG_INFO;
    if (!log_enabled(level)) {
        return;
    }
    char user[IDENTITY_ID_LEN_MAX + 1] = "-";
    if (request->auth_result == AUTH_OK && request->identity.id[0] != '\0') {
        request->app->name_user(request->identity.id, user);
    }
    struct log_field fields[] = {
        {"request", str_from_c(request->id)},
        {"method", request->exchange->method},
        {"path", logged_path(request)},
        {"user", str_from_c(user)},
    };
    int64_t took_us = clock_monotonic_us() - request->began_us;
    log_write_fields(level, "apps", fields, COUNT_OF(fields), "%d in %lld.%03lld ms",
                     request->status, (long long)(took_us / 1000), (long long)(took_us % 1000));
}

void request_describe_failure(int status, const char *text, struct buf *headers, struct buf *body)
{
    char id[REQUEST_ID_SIZE];
    make_id(id);
    buf_format(headers, "Content-Type: application/json\r\nX-Request-Id: %s\r\n", id);
    const char *code = status == 413   ? "too_large"
                       : status == 408 ? "timeout"
                       : status == 503 ? "unavailable"
                                       : "bad_request";
    const char *message = status == 413 ? "The body is larger than 1 MiB" : text;
    buf_format(body, "{\"error\":{\"code\":\"%s\",\"message\":\"%s\",\"requestId\":\"%s\"}}", code,
               message, id);
    log_write(LOG_INFO, "apps", "request %s: %d: %s", id, status, text);
}
