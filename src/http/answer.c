/* Heads of answers. The body is in desk->out already, behind a gap; the head is written to end
 * where the body begins, so the body is never copied and both go out in one piece:
 *
 *   out:  | ...answer before | gap, unused rest | head | body | */
#include "http/http_internal.h"

#include <libdeflate.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"

enum {
    SERVER_NAME_MAX = 128,
    LINES_MAX = 384,                 /* what write_head() writes beside texts of variable length */
    COMPRESSED_HERE_MAX = 64 * 1024, /* larger bodies are compressed by a slow thread */
};

static const struct {
    int status;
    struct str line;
} status_lines[] = {
#define STATUS(status_, text_)                                                                     \
    {                                                                                              \
        status_,                                                                                   \
        {                                                                                          \
            "HTTP/1.1 " text_ "\r\n", sizeof(text_) + 10                                           \
        }                                                                                          \
    }
    STATUS(200, "200 OK"),
    STATUS(400, "400 Bad Request"),
    STATUS(500, "500 Internal Server Error"),
    STATUS(201, "201 Created"),
    STATUS(202, "202 Accepted"),
    STATUS(204, "204 No Content"),
    STATUS(206, "206 Partial Content"),
    STATUS(301, "301 Moved Permanently"),
    STATUS(302, "302 Found"),
    STATUS(303, "303 See Other"),
    STATUS(304, "304 Not Modified"),
    STATUS(307, "307 Temporary Redirect"),
    STATUS(308, "308 Permanent Redirect"),
    STATUS(401, "401 Unauthorized"),
    STATUS(403, "403 Forbidden"),
    STATUS(404, "404 Not Found"),
    STATUS(405, "405 Method Not Allowed"),
    STATUS(406, "406 Not Acceptable"),
    STATUS(408, "408 Request Timeout"),
    STATUS(409, "409 Conflict"),
    STATUS(410, "410 Gone"),
    STATUS(411, "411 Length Required"),
    STATUS(412, "412 Precondition Failed"),
    STATUS(413, "413 Content Too Large"),
    STATUS(414, "414 URI Too Long"),
    STATUS(415, "415 Unsupported Media Type"),
    STATUS(417, "417 Expectation Failed"),
    STATUS(422, "422 Unprocessable Content"),
    STATUS(428, "428 Precondition Required"),
    STATUS(429, "429 Too Many Requests"),
    STATUS(431, "431 Request Header Fields Too Large"),
    STATUS(501, "501 Not Implemented"),
    STATUS(502, "502 Bad Gateway"),
    STATUS(503, "503 Service Unavailable"),
    STATUS(504, "504 Gateway Timeout"),
    STATUS(505, "505 HTTP Version Not Supported"),
#undef STATUS
};

static struct str status_line(int status)
{
    size_t i = 0;
    while (i < COUNT_OF(status_lines) && status_lines[i].status != status) {
        i++;
    }
    assert(i < COUNT_OF(status_lines)); /* else a handler needs another line above */
    return status_lines[i].line;
}

/* "Sun, 06 Nov 1994 08:49:37 GMT"; by hand, because strftime() asks the locale. */
static size_t format_date(char *out, size_t size, int64_t wall_ms)
{
    static const char days[][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char months[][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    time_t seconds = (time_t)(wall_ms / 1000);
    struct tm tm;
    gmtime_r(&seconds, &tm);
    int len =
        snprintf(out, size, "%s, %02d %s %04d %02d:%02d:%02d GMT\r\n", days[tm.tm_wday], tm.tm_mday,
                 months[tm.tm_mon], tm.tm_year + 1900, tm.tm_hour, tm.tm_min, tm.tm_sec);
    return (size_t)len;
}

/* The lines Server and Date, made anew when the second changes. */
static struct str stamp_of(struct loop *loop)
{
    uint64_t now_ms = uv_now(&loop->uv);
    if (UNLIKELY(now_ms >= loop->date_until_ms)) {
        struct str name = loop_options(loop)->server_name;
        name.len = MIN(name.len, (size_t)SERVER_NAME_MAX);
        int64_t wall_ms = clock_wall_ms();
        int len =
            snprintf(loop->stamp, sizeof(loop->stamp), "Server: %.*s\r\nDate: ", STR_ARG(name));
        loop->stamp_len = (size_t)len + format_date(loop->stamp + len,
                                                    sizeof(loop->stamp) - (size_t)len, wall_ms);
        loop->date_until_ms = now_ms + 1000 - (uint64_t)(wall_ms % 1000);
    }
    return str_make(loop->stamp, loop->stamp_len);
}

static char *put(char *at, struct str s)
{
    if (s.len > 0) {
        memcpy(at, s.data, s.len);
    }
    return at + s.len;
}

static char *put_number(char *at, uint64_t value)
{
    char digits[20];
    size_t count = 0;
    do {
        digits[sizeof(digits) - ++count] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    return put(at, str_make(digits + sizeof(digits) - count, count));
}

/* What the head says beside what the handler says. */
struct facts {
    size_t body_start;
    size_t body_len;
    enum coding coding;
    bool has_no_body; /* by the status: then it has no length either */
};

static char *put_connection(char *at, const struct desk *desk)
{
    if (desk->conn->is_last) {
        return put(at, STR("Connection: close\r\n"));
    }
    return desk->head.minor_version == 0 ? put(at, STR("Connection: keep-alive\r\n")) : at;
}

static char *put_body_facts(char *at, const struct facts *facts)
{
    at = put(at, STR("Content-Length: "));
    at = put_number(at, facts->body_len);
    at = put(at, STR("\r\n"));
    if (facts->coding != CODING_IDENTITY) {
        at = put(at, facts->coding == CODING_GZIP ? STR("Content-Encoding: gzip\r\n")
                                                  : STR("Content-Encoding: deflate\r\n"));
        at = put(at, STR("Vary: Accept-Encoding\r\n"));
    }
    return at;
}

static char *put_crc32(char *at, const struct desk *desk, const struct http_answer *answer,
                       const struct facts *facts)
{
    const char *body = desk->out.data + facts->body_start;
    bool is_known = answer == &desk->answer; /* a slow thread has computed it */
    at = put(at, answer->crc32_header);
    at = put(at, STR(": "));
    at = put_number(at, is_known ? desk->answer_crc32 : libdeflate_crc32(0, body, facts->body_len));
    return put(at, STR("\r\n"));
}

static size_t write_head(const struct desk *desk, const struct http_answer *answer,
                         const struct facts *facts, char *start)
{
    char *at = put(start, status_line(answer->status));
    at = put(at, stamp_of(desk->conn->loop));
    if (!str_is_null(answer->content_type)) {
        at = put(at, STR("Content-Type: "));
        at = put(at, answer->content_type);
        at = put(at, STR("\r\n"));
    }
    if (!facts->has_no_body) {
        at = put_body_facts(at, facts);
    }
    at = put(at, answer->headers);
    if (!str_is_null(answer->crc32_header)) {
        at = put_crc32(at, desk, answer, facts);
    }
    at = put_connection(at, desk);
    at = put(at, STR("\r\n"));
    return (size_t)(at - start);
}

/* Moves the body up by what the gap is too small for. */
static void widen_gap(struct desk *desk, struct facts *facts, size_t extra)
{
    buf_reserve(&desk->out, extra);
    char *body = desk->out.data + facts->body_start;
    memmove(body + extra, body, desk->out.len - facts->body_start);
    buf_added(&desk->out, extra);
    facts->body_start += extra;
}

static enum coding wanted_coding(const struct desk *desk)
{
    struct coding_wishes wishes;
    coding_wishes_init(&wishes);
    for (size_t i = 0; i < desk->head.header_count; i++) {
        if (str_eq_nocase(desk->head.headers[i].name, STR("Accept-Encoding"))) {
            coding_wishes_add(&wishes, desk->head.headers[i].value);
        }
    }
    return coding_choose(&wishes);
}

static struct str keep_text(struct desk *desk, struct str text)
{
    return str_is_null(text) ? STR_NULL : arena_copy(&desk->arena, text);
}

/* Whether the answer has a body that may be compressed. */
static bool is_compressible(const struct desk *desk, const struct http_answer *answer)
{
    size_t body_len = desk->out.len - desk->exchange.out_start;
    return body_len > loop_options(desk->conn->loop)->compress_bytes_min && !answer->is_coded &&
           answer->status != 204 && answer->status != 304 &&
           !str_eq(desk->head.method, STR("HEAD"));
}

bool answer_is_slow(const struct desk *desk, const struct http_answer *answer)
{
    return desk->out.len - desk->exchange.out_start > COMPRESSED_HERE_MAX &&
           is_compressible(desk, answer) && wanted_coding(desk) != CODING_IDENTITY;
}

void answer_keep(struct desk *desk, const struct http_answer *answer)
{
    desk->answer = *answer;
    desk->answer.content_type = keep_text(desk, answer->content_type);
    desk->answer.headers = keep_text(desk, answer->headers);
    desk->answer.crc32_header = keep_text(desk, answer->crc32_header);
}

/* Into a buffer of its own, because the loop may be sending earlier answers from `out`. */
static void compress_body(struct desk *desk, const struct http_answer *answer, struct coder *coder)
{
    enum coding coding = is_compressible(desk, answer) ? wanted_coding(desk) : CODING_IDENTITY;
    desk->coded.len = 0;
    desk->coded_as = coding;
    if (coding == CODING_IDENTITY) {
        return;
    }
    size_t start = desk->exchange.out_start;
    struct str plain = str_make(desk->out.data + start, desk->out.len - start);
    coder_encode(coder, coding, plain, &desk->coded);
    if (desk->coded.len >= plain.len) {
        desk->coded.len = 0; /* it did not help */
    }
}

void answer_compress(struct desk *desk, struct coder *coder)
{
    compress_body(desk, &desk->answer, coder);
    struct str body = desk->coded.len > 0 ? buf_str(&desk->coded)
                                          : str_make(desk->out.data + desk->exchange.out_start,
                                                     desk->out.len - desk->exchange.out_start);
    desk->answer_crc32 = libdeflate_crc32(0, body.data, body.len);
}

/* Replaces the plain body by the compressed one, which is shorter. */
static void use_coded(struct desk *desk, struct facts *facts)
{
    desk->out.len = facts->body_start;
    buf_add(&desk->out, buf_str(&desk->coded));
    facts->body_len = desk->coded.len;
    facts->coding = desk->coded_as;
    desk->coded.len = 0;
    buf_shrink(&desk->out, OUT_BYTES_MAX);
    buf_shrink(&desk->coded, OUT_BYTES_MAX);
}

void answer_begin(struct desk *desk)
{
    buf_reserve(&desk->out, HEAD_GAP);
    buf_added(&desk->out, HEAD_GAP);
    desk->exchange.out_start = desk->out.len;
    desk->exchange.out_is_exclusive = desk->piece_count == 0;
}

static void add_piece(struct desk *desk, size_t start, size_t len)
{
    assert(desk->piece_count < PIECES_MAX);
    desk->pieces[desk->piece_count++] = (struct piece){.start = start, .len = len};
}

void answer_end(struct desk *desk, const struct http_answer *answer)
{
    struct conn *conn = desk->conn;
    budget_yield(&desk->arena_budget);            /* the client may be slow to read the answer */
    bool is_unread = desk->exchange.is_head_only; /* the client is still sending the body */
    conn->is_cut |= is_unread;
    conn->is_last |=
        answer->close || is_unread || !desk->head.keep_alive || conn->loop->is_stopping;
    struct facts facts = {
        .body_start = desk->exchange.out_start,
        .body_len = desk->out.len - desk->exchange.out_start,
        .has_no_body = answer->status == 204 || answer->status == 304 || answer->is_endless,
    };
    bool sends_body = !facts.has_no_body && !str_eq(desk->head.method, STR("HEAD"));
    if (answer != &desk->answer) { /* else a slow thread has done it */
        compress_body(desk, answer, &conn->loop->coder);
    }
    if (desk->coded.len > 0) {
        use_coded(desk, &facts);
    }
    size_t size_max =
        LINES_MAX + answer->content_type.len + answer->headers.len + answer->crc32_header.len;
    char small[LINES_MAX + HEAD_GAP];
    char *text = size_max <= sizeof(small) ? small : arena_bytes(&desk->arena, size_max);
    size_t len = write_head(desk, answer, &facts, text);
    if (len > HEAD_GAP) {
        widen_gap(desk, &facts, len - HEAD_GAP);
    }
    size_t start = facts.body_start - len;
    memcpy(desk->out.data + start, text, len);
    if (!sends_body) {
        desk->out.len = facts.body_start;
        facts.body_len = 0;
    }
    add_piece(desk, start, len + facts.body_len);
}

void answer_fail(struct desk *desk, int status, const char *text)
{
    struct str line = status_line(status);
    http_failure *failure = loop_options(desk->conn->loop)->failure;
    struct http_answer answer = {.status = status, .close = true};
    struct buf headers = {0};
    answer_begin(desk);
    if (failure != NULL) {
        failure(status, text, &headers, &desk->out);
        answer.headers = buf_str(&headers);
    } else {
        buf_add(&desk->out, str_make(line.data + 9, line.len - 11)); /* "400 Bad Request" */
        buf_format(&desk->out, ": %s\n", text);
        answer.content_type = STR("text/plain");
    }
    desk->conn->is_cut = true;
    answer_end(desk, &answer);
    buf_finish(&headers);
}

void answer_continue(struct desk *desk)
{
    static const struct str text = {"HTTP/1.1 100 Continue\r\n\r\n", 25};
    add_piece(desk, desk->out.len, text.len);
    buf_add(&desk->out, text);
}

static const struct str busy_text = {"503 Service Unavailable: no memory for the request\n", 51};

void answer_busy(struct desk *desk, bool whole)
{
    const struct http_busy *busy = &loop_options(desk->conn->loop)->busy;
    bool is_ours = str_is_null(busy->content_type);
    desk_drop_body(desk);
    answer_begin(desk);
    buf_add(&desk->out, is_ours ? busy_text : busy->body);
    desk->conn->is_cut |= !whole;
    struct http_answer answer = {
        .status = 503,
        .content_type = is_ours ? STR("text/plain") : busy->content_type,
        .crc32_header = is_ours ? STR_NULL : busy->crc32_header,
        .close = !whole,
    };
    answer_end(desk, &answer);
}

struct str answer_busy_text(const struct http_options *options)
{
    const struct http_busy *busy = &options->busy;
    bool is_ours = str_is_null(busy->content_type);
    struct str type = is_ours ? STR("text/plain") : busy->content_type;
    struct str body = is_ours ? busy_text : busy->body;
    struct buf out = {0};
    buf_add(&out, status_line(503));
    buf_format(&out, "Content-Type: %.*s\r\nContent-Length: %zu\r\nConnection: close\r\n",
               STR_ARG(type), body.len);
    if (!is_ours && !str_is_null(busy->crc32_header)) {
        buf_format(&out, "%.*s: %lu\r\n", STR_ARG(busy->crc32_header),
                   (unsigned long)libdeflate_crc32(0, body.data, body.len));
    }
    buf_add(&out, STR("\r\n"));
    buf_add(&out, body);
    return buf_str(&out); /* the buffer's memory is the caller's now */
}
