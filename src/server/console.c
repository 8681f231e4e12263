/* Serves the console's files from the program itself. They are stored compressed and sent so to
 * every client that accepts gzip, which all browsers do; for others they are inflated. Called by
 * route.c on the threads of the HTTP server; keeps no state. */
#include "server/console.h"

#include <zlib.h>

#include "server/console_internal.h"

/* Everything comes from this origin; nothing is inline, evaluated, framed or submitted elsewhere.
 */
#define SECURITY_HEADERS                                                                           \
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "           \
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "              \
    "frame-ancestors 'none'\r\n"                                                                   \
    "X-Content-Type-Options: nosniff\r\n"                                                          \
    "Referrer-Policy: no-referrer\r\n"                                                             \
    "Cross-Origin-Opener-Policy: same-origin\r\n"                                                  \
    "Cross-Origin-Resource-Policy: same-origin\r\n"

enum { WINDOW_GZIP = 15 + 16 };

bool console_is_built(void)
{
    return console_file_count > 0;
}

static const struct console_file *find(struct str path)
{
    for (size_t i = 0; i < console_file_count; i++) {
        if (str_eq(path, str_from_c(console_files[i].path))) {
            return &console_files[i];
        }
    }
    return NULL;
}

/* Whether "gzip" is among the codings of an Accept-Encoding header and not refused with a weight of
 * 0. A request without the header accepts any coding, but is usually sent by a person with a tool
 * that does not decode: it gets the plain file. */
static bool accepts_gzip(const struct http_exchange *exchange)
{
    struct str codings = http_header(exchange, STR("accept-encoding"));
    while (codings.len > 0) {
        const char *comma = memchr(codings.data, ',', codings.len);
        size_t len = comma == NULL ? codings.len : (size_t)(comma - codings.data);
        struct str coding = str_make(codings.data, len);
        if (str_contains(coding, STR("gzip"))) {
            return !str_contains(coding, STR("q=0")) || str_contains(coding, STR("q=0."));
        }
        codings = str_skip(codings, MIN(len + 1, codings.len));
    }
    return false;
}

static void inflate_file(const struct console_file *file, struct buf *out)
{
    z_stream stream = {
        .next_in = (Bytef *)(uintptr_t)file->gzip,
        .avail_in = (uInt)file->gzip_len,
        .next_out = (Bytef *)buf_reserve(out, file->len),
        .avail_out = (uInt)file->len,
    };
    bool is_started = inflateInit2(&stream, WINDOW_GZIP) == Z_OK;
    assert(is_started);
    int status = inflate(&stream, Z_FINISH);
    assert(status == Z_STREAM_END && stream.total_out == file->len); /* tools/console wrote it */
    inflateEnd(&stream);
    buf_added(out, file->len);
}

static void reply_file(struct http_exchange *exchange, const struct console_file *file)
{
    bool is_coded = accepts_gzip(exchange);
    bool is_known = str_eq(http_header(exchange, STR("if-none-match")), str_from_c(file->etag));
    /* The name of an asset changes with its content; the page keeps its name. */
    bool is_asset = str_starts_with(str_from_c(file->path), STR("assets/"));
    struct str headers = arena_format(
        exchange->arena,
        SECURITY_HEADERS "Cache-Control: %s\r\nETag: %s\r\nVary: Accept-Encoding\r\n%s",
        is_asset ? "max-age=31536000, immutable" : "no-cache", file->etag,
        is_coded && !is_known ? HTTP_GZIP_HEADER : "");
    if (!is_known && is_coded) {
        buf_add(exchange->out, str_make(file->gzip, file->gzip_len));
    } else if (!is_known) {
        inflate_file(file, exchange->out);
    }
    http_reply(exchange, &(struct http_answer){
                             .status = is_known ? 304 : 200,
                             .content_type = is_known ? STR_NULL : str_from_c(file->type),
                             .headers = headers,
                             .is_coded = true,
                         });
}

bool console_handle(struct http_exchange *exchange)
{
    struct str path = exchange->target;
    const char *query = memchr(path.data, '?', path.len);
    if (query != NULL) {
        path.len = (size_t)(query - path.data);
    }
    struct str prefix = STR(CONSOLE_TARGET);
    if (console_is_built() && str_eq(path, str_make(prefix.data, prefix.len - 1))) {
        http_reply(exchange,
                   &(struct http_answer){.status = 301,
                                         .headers = STR("Location: " CONSOLE_TARGET "\r\n")});
        return true;
    }
    const struct console_file *file =
        str_starts_with(path, prefix) ? find(str_skip(path, prefix.len)) : NULL;
    if (file == NULL) {
        return false;
    }
    reply_file(exchange, file);
    return true;
}
