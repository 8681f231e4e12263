/* Finds the route of a path, and decodes what is encoded in URLs. Called on the event loop. */
#include "apps/common/request_internal.h"
#include "base/hex.h"
#include "base/utf8.h"

const char *url_decode(struct arena *arena, struct str text, char plus)
{
    char *out = arena_bytes(arena, text.len + 1);
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i] == '+' ? plus : text.data[i];
        if (c == '%') {
            int high = i + 2 < text.len ? hex_digit(text.data[i + 1]) : -1;
            int low = high >= 0 ? hex_digit(text.data[i + 2]) : -1;
            if (low < 0) {
                return NULL;
            }
            c = (char)(high * 16 + low);
            i += 2;
        }
        if (c == '\0') {
            return NULL;
        }
        out[len++] = c;
    }
    out[len] = '\0';
    return utf8_is_valid(str_make(out, len)) ? out : NULL;
}

/* Removes the part before the next slash from a path, and returns it. */
static struct str take_part(struct str *path)
{
    *path = str_skip(*path, 1); /* the slash */
    size_t len = 0;
    while (len < path->len && path->data[len] != '/') {
        len++;
    }
    struct str part = str_make(path->data, len);
    *path = str_skip(*path, len);
    return part;
}

static bool match(struct app_request *request, struct str pattern, struct str path)
{
    request->param_count = 0;
    while (pattern.len > 0 && path.len > 0) {
        struct str wanted = take_part(&pattern);
        struct str given = take_part(&path);
        if (wanted.len > 0 && wanted.data[0] == '{') {
            const char *value = url_decode(request->exchange->arena, given, '+');
            if (value == NULL || value[0] == '\0') {
                return false;
            }
            request->params[request->param_count].name = str_make(wanted.data + 1, wanted.len - 2);
            request->params[request->param_count++].value = value;
        } else if (!str_eq(wanted, given)) {
            return false;
        }
    }
    return pattern.len == 0 && path.len == 0;
}

/* The parts of a route before and after the ?. */
static struct str route_path(const struct app_route *route)
{
    return str_make(route->path, strcspn(route->path, "?"));
}

static struct str route_query(const struct app_route *route)
{
    struct str all = str_from_c(route->path);
    size_t len = route_path(route).len;
    return str_skip(all, len == all.len ? len : len + 1);
}

/* Whether a route's query has the parameter: one of "a&b&c". */
static bool has_parameter(struct str known, const char *name)
{
    size_t len = strlen(name);
    while (known.len > 0) {
        const char *end = memchr(known.data, '&', known.len);
        size_t known_len = end == NULL ? known.len : (size_t)(end - known.data);
        if (known_len == len && memcmp(known.data, name, len) == 0) {
            return true;
        }
        known = str_skip(known, end == NULL ? known_len : known_len + 1);
    }
    return false;
}

const char *router_unknown_parameter(const struct app_request *request)
{
    struct str known = route_query(request->route);
    struct str rest = request->query;
    while (rest.len > 0 && !str_eq(known, STR("*"))) {
        const char *end = memchr(rest.data, '&', rest.len);
        size_t len = end == NULL ? rest.len : (size_t)(end - rest.data);
        const char *equals = memchr(rest.data, '=', len);
        size_t name_len = equals == NULL ? len : (size_t)(equals - rest.data);
        const char *name = url_decode(request->exchange->arena, str_make(rest.data, name_len), ' ');
        if (len > 0 && !has_parameter(known, name)) {
            return name;
        }
        rest = str_skip(rest, end == NULL ? len : len + 1);
    }
    return NULL;
}

/* Returns a route of the request's application: first its own, then those that all have. */
static const struct app_route *route_at(const struct app_request *request, size_t index)
{
    const struct app_definition *definition = request->app->definition;
    if (request->is_of_pages) {
        return index < definition->page_route_count ? &definition->page_routes[index] : NULL;
    }
    if (index < definition->route_count) {
        return &definition->routes[index];
    }
    index -= definition->route_count;
    return request->app->live != NULL && index < common_route_count ? &common_routes[index] : NULL;
}

const struct app_route *router_find(struct app_request *request, struct str path, bool *out_known)
{
    const struct app_route *route;
    *out_known = false;
    for (size_t i = 0; (route = route_at(request, i)) != NULL; i++) {
        if (!match(request, route_path(route), path)) {
            continue;
        }
        *out_known = true;
        if (str_eq(request->exchange->method, str_from_c(route->method))) {
            return route;
        }
    }
    return NULL;
}

struct str router_methods(struct app_request *request, struct str path)
{
    struct str methods = STR("");
    const struct app_route *route;
    for (size_t i = 0; (route = route_at(request, i)) != NULL; i++) {
        if (match(request, route_path(route), path)) {
            methods = arena_format(request->exchange->arena, "%.*s%s%s", STR_ARG(methods),
                                   methods.len > 0 ? ", " : "", route->method);
        }
    }
    return methods;
}
