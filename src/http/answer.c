/* Writes the heads of answers, and compresses bodies. The body is in slot->out already, behind a
 * gap. The head is written so that it ends where the body begins, so the body is not copied and
 * both are sent as one piece:
 *
 *   out:  | ...answer before | gap, unused rest | head | body | */
#include "http/http_internal.h"

#include <libdeflate.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"

enum {
    SERVER_NAME_MAX = 128,
    LINES_MAX = 384,                 /* bytes of a head without texts of variable length */
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
    assert(i < COUNT_OF(status_lines)); /* add the status to the table above */
    return status_lines[i].line;
}

/* Formats "Sun, 06 Nov 1994 08:49:37 GMT"; strftime() would depend on the locale. */
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

/* Returns the lines Server and Date; they are formatted once per second. */
static struct str head_lines_of(struct loop *loop)
{
    uint64_t now_ms = uv_now(&loop->uv);
    if (UNLIKELY(now_ms >= loop->date_until_ms)) {
        struct str name = loop_options(loop)->server_name;
        name.len = MIN(name.len, (size_t)SERVER_NAME_MAX);
        int64_t wall_ms = clock_wall_ms();
        int len = snprintf(loop->head_lines, sizeof(loop->head_lines),
                           "Server: %.*s\r\nDate: ", STR_ARG(name));
        loop->head_lines_len =
            (size_t)len +
            format_date(loop->head_lines + len, sizeof(loop->head_lines) - (size_t)len, wall_ms);
        loop->date_until_ms = now_ms + 1000 - (uint64_t)(wall_ms % 1000);
    }
    return str_make(loop->head_lines, loop->head_lines_len);
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

/* The parts of a head that the handler does not set. */
struct facts {
    size_t body_start;
    size_t body_len;
    enum coding coding;
    bool has_no_body; /* by the status: then it has no length either */
};

static char *put_connection(char *at, const struct request_slot *slot)
{
    if (slot->conn->is_last) {
        return put(at, STR("Connection: close\r\n"));
    }
    return slot->head.minor_version == 0 ? put(at, STR("Connection: keep-alive\r\n")) : at;
}

static char *put_body_facts(char *at, const struct facts *facts)
{
    at = put(at, STR("Content-Length: "));
    at = put_number(at, facts->body_len);
    at = put(at, STR("\r\n"));
    if (facts->coding != CODING_IDENTITY) {
        at = put(at, facts->coding == CODING_GZIP ? STR(HTTP_GZIP_HEADER)
                                                  : STR("Content-Encoding: deflate\r\n"));
        at = put(at, STR("Vary: Accept-Encoding\r\n"));
    }
    return at;
}

static char *put_crc32(char *at, const struct request_slot *slot, const struct http_answer *answer,
                       const struct facts *facts)
{
    const char *body = slot->out.data + facts->body_start;
    bool is_known = answer == &slot->answer; /* a slow thread has computed the checksum */
    at = put(at, answer->crc32_header);
    at = put(at, STR(": "));
    at = put_number(at, is_known ? slot->answer_crc32 : libdeflate_crc32(0, body, facts->body_len));
    return put(at, STR("\r\n"));
}

static size_t write_head(const struct request_slot *slot, const struct http_answer *answer,
                         const struct facts *facts, char *start)
{
    char *at = put(start, status_line(answer->status));
    at = put(at, head_lines_of(slot->conn->loop));
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
        at = put_crc32(at, slot, answer, facts);
    }
    at = put_connection(at, slot);
    at = put(at, STR("\r\n"));
    return (size_t)(at - start);
}

/* Moves the body, if the head is longer than the gap. */
static void widen_gap(struct request_slot *slot, struct facts *facts, size_t extra)
{
    buf_reserve(&slot->out, extra);
    char *body = slot->out.data + facts->body_start;
    memmove(body + extra, body, slot->out.len - facts->body_start);
    buf_added(&slot->out, extra);
    facts->body_start += extra;
}

static enum coding wanted_coding(const struct request_slot *slot)
{
    struct coding_wishes wishes;
    coding_wishes_init(&wishes);
    for (size_t i = 0; i < slot->head.header_count; i++) {
        if (str_eq_nocase(slot->head.headers[i].name, STR("Accept-Encoding"))) {
            coding_wishes_add(&wishes, slot->head.headers[i].value);
        }
    }
    return coding_choose(&wishes);
}

static struct str keep_text(struct request_slot *slot, struct str text)
{
    return str_is_null(text) ? STR_NULL : arena_copy(&slot->arena, text);
}

/* Whether the answer has a body that may be compressed. */
static bool is_compressible(const struct request_slot *slot, const struct http_answer *answer)
{
    size_t body_len = slot->out.len - slot->exchange.out_start;
    return body_len > loop_options(slot->conn->loop)->compress_bytes_min && !answer->is_coded &&
           !slot->exchange.holds_secret && answer->status != 204 && answer->status != 304 &&
           !str_eq(slot->head.method, STR("HEAD"));
}

bool answer_is_slow(const struct request_slot *slot, const struct http_answer *answer)
{
    return slot->out.len - slot->exchange.out_start > COMPRESSED_HERE_MAX &&
           is_compressible(slot, answer) && wanted_coding(slot) != CODING_IDENTITY;
}

void answer_keep(struct request_slot *slot, const struct http_answer *answer)
{
    slot->answer = *answer;
    slot->answer.content_type = keep_text(slot, answer->content_type);
    slot->answer.headers = keep_text(slot, answer->headers);
    slot->answer.crc32_header = keep_text(slot, answer->crc32_header);
}

/* Compresses into a separate buffer, because the loop may be sending earlier answers from `out`. */
static void compress_body(struct request_slot *slot, const struct http_answer *answer,
                          struct coder *coder)
{
    enum coding coding = is_compressible(slot, answer) ? wanted_coding(slot) : CODING_IDENTITY;
    slot->coded.len = 0;
    slot->coded_as = coding;
    if (coding == CODING_IDENTITY) {
        return;
    }
    size_t start = slot->exchange.out_start;
    struct str plain = str_make(slot->out.data + start, slot->out.len - start);
    coder_encode(coder, coding, plain, &slot->coded);
    if (slot->coded.len >= plain.len) {
        slot->coded.len = 0; /* not smaller: sent uncompressed */
    }
}

void answer_compress(struct request_slot *slot, struct coder *coder)
{
    compress_body(slot, &slot->answer, coder);
    struct str body = slot->coded.len > 0 ? buf_str(&slot->coded)
                                          : str_make(slot->out.data + slot->exchange.out_start,
                                                     slot->out.len - slot->exchange.out_start);
    slot->answer_crc32 = libdeflate_crc32(0, body.data, body.len);
}

/* Replaces the plain body by the compressed one, which is shorter. */
static void use_coded(struct request_slot *slot, struct facts *facts)
{
    slot->out.len = facts->body_start;
    buf_add(&slot->out, buf_str(&slot->coded));
    facts->body_len = slot->coded.len;
    facts->coding = slot->coded_as;
    slot->coded.len = 0;
    buf_shrink(&slot->out, OUT_BYTES_MAX);
    buf_shrink(&slot->coded, OUT_BYTES_MAX);
}

void answer_begin(struct request_slot *slot)
{
    buf_reserve(&slot->out, HEAD_GAP);
    buf_added(&slot->out, HEAD_GAP);
    slot->exchange.out_start = slot->out.len;
    slot->exchange.out_is_exclusive = slot->piece_count == 0;
}

static void add_piece(struct request_slot *slot, size_t start, size_t len)
{
    assert(slot->piece_count < PIECES_MAX);
    slot->pieces[slot->piece_count++] = (struct piece){.start = start, .len = len};
}

void answer_end(struct request_slot *slot, const struct http_answer *answer)
{
    struct conn *conn = slot->conn;
    budget_yield(&slot->arena_budget);            /* the client may be slow to read the answer */
    bool is_unread = slot->exchange.is_head_only; /* the client is still sending the body */
    conn->is_cut |= is_unread;
    conn->is_last |=
        answer->close || is_unread || !slot->head.keep_alive || conn->loop->is_stopping;
    struct facts facts = {
        .body_start = slot->exchange.out_start,
        .body_len = slot->out.len - slot->exchange.out_start,
        .has_no_body = answer->status == 204 || answer->status == 304 || answer->is_endless,
    };
    bool sends_body = !facts.has_no_body && !str_eq(slot->head.method, STR("HEAD"));
    if (answer != &slot->answer) { /* else a slow thread has compressed it */
        compress_body(slot, answer, &conn->loop->coder);
    }
    if (slot->coded.len > 0) {
        use_coded(slot, &facts);
    }
    size_t size_max =
        LINES_MAX + answer->content_type.len + answer->headers.len + answer->crc32_header.len;
    char small[LINES_MAX + HEAD_GAP];
    char *text = size_max <= sizeof(small) ? small : arena_bytes(&slot->arena, size_max);
    size_t len = write_head(slot, answer, &facts, text);
    if (len > HEAD_GAP) {
        widen_gap(slot, &facts, len - HEAD_GAP);
    }
    size_t start = facts.body_start - len;
    memcpy(slot->out.data + start, text, len);
    if (!sends_body) {
        slot->out.len = facts.body_start;
        facts.body_len = 0;
    }
    add_piece(slot, start, len + facts.body_len);
}

void answer_fail(struct request_slot *slot, int status, const char *text)
{
    struct str line = status_line(status);
    http_failure *failure = loop_options(slot->conn->loop)->failure;
    struct http_answer answer = {.status = status, .close = true};
    struct buf headers = {0};
    answer_begin(slot);
    if (failure != NULL) {
        failure(status, text, &headers, &slot->out);
        answer.headers = buf_str(&headers);
    } else {
        buf_add(&slot->out, str_make(line.data + 9, line.len - 11)); /* "400 Bad Request" */
        buf_format(&slot->out, ": %s\n", text);
        answer.content_type = STR("text/plain");
    }
    slot->conn->is_cut = true;
    answer_end(slot, &answer);
    buf_finish(&headers);
}

void answer_continue(struct request_slot *slot)
{
    static const struct str text = {"HTTP/1.1 100 Continue\r\n\r\n", 25};
    add_piece(slot, slot->out.len, text.len);
    buf_add(&slot->out, text);
}

static const struct str busy_text = {"503 Service Unavailable: no memory for the request\n", 51};

void answer_busy(struct request_slot *slot, bool whole)
{
    const struct http_busy *busy = &loop_options(slot->conn->loop)->busy;
    bool is_ours = str_is_null(busy->content_type);
    slot_drop_body(slot);
    answer_begin(slot);
    buf_add(&slot->out, is_ours ? busy_text : busy->body);
    slot->conn->is_cut |= !whole;
    struct http_answer answer = {
        .status = 503,
        .content_type = is_ours ? STR("text/plain") : busy->content_type,
        .crc32_header = is_ours ? STR_NULL : busy->crc32_header,
        .close = !whole,
    };
    answer_end(slot, &answer);
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
    return buf_str(&out); /* the caller frees the memory */
}
