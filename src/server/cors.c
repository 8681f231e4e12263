/* Origins of web pages, and CORS headers in the form in which the service sends them. Called by
 * config.c once and by route.c for every request that has an Origin. */
#include "server/cors.h"

#define MAX_AGE "172800"

/* --- reading the option --- */

/* What follows "://" in an origin, with its scheme in *out_scheme; STR_NULL if there is none. */
static struct str authority_of(struct str origin, struct str *out_scheme)
{
    for (size_t i = 0; i + 3 <= origin.len; i++) {
        if (memcmp(origin.data + i, "://", 3) == 0) {
            *out_scheme = str_make(origin.data, i);
            return str_skip(origin, i + 3);
        }
    }
    return STR_NULL;
}

/* scheme://host or scheme://host:port, as browsers send it: no path, no user. */
static bool is_origin(struct str text)
{
    struct str scheme;
    struct str authority = authority_of(text, &scheme);
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] <= ' ' || text.data[i] > '~') {
            return false;
        }
    }
    return authority.len > 0 && scheme.len > 0 &&
           memchr(authority.data, '/', authority.len) == NULL &&
           memchr(authority.data, '@', authority.len) == NULL;
}

bool cors_parse(struct arena *arena, struct str text, struct cors *out, struct err *err)
{
    struct str *origins = ARENA_ARRAY(arena, struct str, text.len / 2 + 1);
    *out = (struct cors){.origins = origins};
    while (text.len > 0) {
        const char *comma = memchr(text.data, ',', text.len);
        size_t len = comma == NULL ? text.len : (size_t)(comma - text.data);
        struct str origin = str_trim(str_make(text.data, len), " ");
        text = str_skip(text, MIN(len + 1, text.len));
        if (origin.len == 0) {
            continue;
        }
        if (str_eq(origin, STR("*"))) {
            out->any = true;
        } else if (str_eq(origin, STR("null")) || is_origin(origin)) {
            origins[out->count++] = arena_copy(arena, origin);
        } else {
            return err_set(err, ERR_VALIDATION,
                           "*, null or origins such as http://localhost:3000 (without a path)");
        }
    }
    return true;
}

/* --- judging requests --- */

/* Whether a Host header names the same host and port as an origin's authority, which leaves out the
 * port that its scheme stands for. */
static bool is_same_host(struct str authority, struct str scheme, struct str host)
{
    if (str_eq_nocase(authority, host)) {
        return true;
    }
    struct str port = str_eq_nocase(scheme, STR("https")) ? STR(":443") : STR(":80");
    return host.len == authority.len + port.len &&
           str_eq_nocase(str_make(host.data, authority.len), authority) &&
           str_eq(str_skip(host, authority.len), port);
}

bool cors_is_same(struct str origin, struct str host)
{
    struct str scheme;
    struct str authority = authority_of(origin, &scheme);
    return authority.len > 0 && is_same_host(authority, scheme, host);
}

enum cors_verdict cors_judge(const struct cors *cors, struct str origin, struct str host)
{
    if (str_is_null(origin)) {
        return CORS_NONE;
    }
    for (size_t i = 0; i < cors->count; i++) {
        if (str_eq_nocase(cors->origins[i], origin)) {
            return CORS_ALLOWED;
        }
    }
    if (cors->any) {
        return CORS_ALLOWED;
    }
    return cors_is_same(origin, host) ? CORS_SAME : CORS_REFUSED;
}

/* --- headers --- */

static void write_allowed(const struct cors *cors, struct str origin, struct buf *out)
{
    if (cors->any) {
        buf_add(out, STR("Access-Control-Allow-Origin: *\r\n"));
    } else {
        buf_format(out, "Access-Control-Allow-Origin: %.*s\r\nVary: Origin\r\n", STR_ARG(origin));
    }
}

void cors_write(const struct cors *cors, struct str origin, struct buf *out)
{
    write_allowed(cors, origin, out);
    buf_add(out, STR("Access-Control-Expose-Headers: x-amzn-RequestId,x-amzn-ErrorType,"
                     "x-amzn-ErrorMessage,Date\r\n"));
}

void cors_write_preflight(const struct cors *cors, struct str origin,
                          const struct cors_preflight *asked, struct buf *out)
{
    write_allowed(cors, origin, out);
    if (!str_is_null(asked->headers)) {
        buf_format(out, "Access-Control-Allow-Headers: %.*s\r\n", STR_ARG(asked->headers));
    }
    if (!str_is_null(asked->method)) {
        buf_format(out, "Access-Control-Allow-Methods: %.*s\r\n", STR_ARG(asked->method));
    }
    buf_add(out, STR("Access-Control-Max-Age: " MAX_AGE "\r\n"));
}
