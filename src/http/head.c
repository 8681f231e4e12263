/* Parses heads line by line: a line is parsed when its LF has been received, so that the only state
 * inside a line is how far it was searched for the LF. Called by receive.c on the thread of the
 * connection. */
#include "http/head_internal.h"

#include "err/messages.h"
#include "http/text_internal.h"

/* RFC 9110, 5.6.2: tchar */
static const bool token_chars[256] = {
    ['!'] = true,         ['#'] = true,         ['$'] = true,         ['%'] = true, ['&'] = true,
    ['\''] = true,        ['*'] = true,         ['+'] = true,         ['-'] = true, ['.'] = true,
    ['^'] = true,         ['_'] = true,         ['`'] = true,         ['|'] = true, ['~'] = true,
    ['0' ... '9'] = true, ['A' ... 'Z'] = true, ['a' ... 'z'] = true,
};

/* RFC 3986: characters of a host and port; brackets are for IPv6. */
static const bool host_chars[256] = {
    ['!'] = true,         ['$'] = true,         ['%'] = true, ['&'] = true, ['\''] = true,
    ['('] = true,         [')'] = true,         ['*'] = true, ['+'] = true, [','] = true,
    ['-'] = true,         ['.'] = true,         [':'] = true, [';'] = true, ['='] = true,
    ['['] = true,         [']'] = true,         ['_'] = true, ['~'] = true, ['0' ... '9'] = true,
    ['A' ... 'Z'] = true, ['a' ... 'z'] = true,
};

void head_init(struct head *head)
{
    memset(head, 0, offsetof(struct head, headers));
    head->content_length = -1;
}

static enum head_status bad(struct head *head, int status, const char *problem)
{
    head->status = status;
    head->problem = problem;
    return HEAD_BAD;
}

static size_t count_chars(struct str s, const bool chars[256])
{
    size_t i = 0;
    while (i < s.len && chars[(unsigned char)s.data[i]]) {
        i++;
    }
    return i;
}

static bool is_visible(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.data[i];
        if (c <= 0x20 || c >= 0x7f) {
            return false;
        }
    }
    return true;
}

/* field-content: no control characters but HTAB; bytes from 0x80 are opaque. */
static bool is_field_value(struct str s)
{
    const uint64_t ones = 0x0101010101010101u;
    size_t i = 0;
    for (; i + 8 <= s.len; i += 8) { /* eight bytes at a time while none is below 0x20 or DEL */
        uint64_t word;
        memcpy(&word, s.data + i, sizeof(word));
        uint64_t below = (word - ones * 0x20) & ~word;
        uint64_t del = word ^ (ones * 0x7f);
        del = (del - ones) & ~del;
        if (((below | del) & (ones * 0x80)) != 0) {
            break;
        }
    }
    for (; i < s.len; i++) {
        unsigned char c = (unsigned char)s.data[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f) {
            return false;
        }
    }
    return true;
}

/* Cuts *rest at its first space; false if it has none. */
static bool cut_at_space(struct str *rest, struct str *out_word)
{
    const char *space = memchr(rest->data, ' ', rest->len);
    if (space == NULL) {
        return false;
    }
    *out_word = str_make(rest->data, (size_t)(space - rest->data));
    *rest = str_skip(*rest, out_word->len + 1);
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* HTTP-version = "HTTP/" DIGIT "." DIGIT */
static enum head_status take_version(struct head *head, struct str version)
{
    if (version.len != 8 || !str_starts_with(version, STR("HTTP/")) || !is_digit(version.data[5]) ||
        version.data[6] != '.' || !is_digit(version.data[7])) {
        return bad(head, 400, "malformed request line");
    }
    if (version.data[5] != '1') {
        return bad(head, 505, "only HTTP/1.1 and HTTP/1.0 are spoken here");
    }
    head->minor_version = version.data[7] == '0' ? 0 : 1;
    return HEAD_MORE;
}

/* absolute-form, as sent to proxies, which every server must accept: keeps path and query. */
static bool cut_authority(struct str *target)
{
    struct str rest = *target;
    size_t scheme = str_starts_with(rest, STR("http://")) ? 7 : 8;
    if (scheme == 8 && !str_starts_with(rest, STR("https://"))) {
        return false;
    }
    rest = str_skip(rest, scheme);
    size_t authority = count_chars(rest, host_chars);
    rest = str_skip(rest, authority);
    if (authority == 0 || (rest.len > 0 && rest.data[0] != '/')) {
        return false;
    }
    *target = rest.len > 0 ? rest : STR("/");
    return true;
}

static enum head_status take_target(struct head *head, struct str target)
{
    if (str_eq(head->method, STR("CONNECT"))) {
        return bad(head, 501, "this is not a proxy");
    }
    bool asterisk = str_eq(target, STR("*")) && str_eq(head->method, STR("OPTIONS"));
    if (!is_visible(target) || target.len == 0 ||
        (target.data[0] != '/' && !asterisk && !cut_authority(&target))) {
        return bad(head, 400, "malformed request target");
    }
    head->target = target;
    return HEAD_MORE;
}

/* request-line = method SP request-target SP HTTP-version */
static enum head_status take_request_line(struct head *head, struct str line)
{
    struct str target;
    if (!cut_at_space(&line, &head->method) || !cut_at_space(&line, &target) ||
        head->method.len == 0 || count_chars(head->method, token_chars) < head->method.len) {
        return bad(head, 400, "malformed request line");
    }
    enum head_status status = take_version(head, line);
    if (status != HEAD_MORE) {
        return status;
    }
    head->has_request_line = true;
    return take_target(head, target);
}

static enum head_status take_content_length(struct head *head, struct str value)
{
    if (head->content_length >= 0) {
        return bad(head, 400, "Content-Length given twice");
    }
    int64_t length = 0;
    for (size_t i = 0; i < value.len; i++) {
        if (!is_digit(value.data[i])) {
            return bad(head, 400, "malformed Content-Length");
        }
        if (__builtin_mul_overflow(length, 10, &length) ||
            __builtin_add_overflow(length, value.data[i] - '0', &length)) {
            return bad(head, 413, MESSAGE_BODY_TOO_LARGE);
        }
    }
    if (value.len == 0) {
        return bad(head, 400, "malformed Content-Length");
    }
    head->content_length = length;
    return HEAD_MORE;
}

static enum head_status take_transfer_encoding(struct head *head, struct str value)
{
    if (head->chunked) {
        return bad(head, 400, "Transfer-Encoding given twice");
    }
    if (!str_eq_nocase(value, STR("chunked"))) {
        return bad(head, 501, "only the transfer coding 'chunked' is known");
    }
    head->chunked = true;
    return HEAD_MORE;
}

static enum head_status take_host(struct head *head, struct str value)
{
    if (head->has_host) {
        return bad(head, 400, "Host given twice");
    }
    if (count_chars(value, host_chars) < value.len) {
        return bad(head, 400, "malformed Host");
    }
    head->has_host = true;
    return HEAD_MORE;
}

static void take_connection(struct head *head, struct str value)
{
    while (value.len > 0) {
        struct str option = text_cut(&value, ',');
        head->says_close |= str_eq_nocase(option, STR("close"));
        head->says_keep_alive |= str_eq_nocase(option, STR("keep-alive"));
    }
}

static enum head_status take_expect(struct head *head, struct str value)
{
    if (!str_eq_nocase(value, STR("100-continue"))) {
        return bad(head, 417, "only '100-continue' can be expected");
    }
    head->expects_continue = true;
    return HEAD_MORE;
}

static void take_content_encoding(struct head *head, struct str value)
{
    /* A second line makes a list, and only one coding is supported. */
    bool first = head->content_coding == CODING_IDENTITY;
    head->content_coding = first ? coding_from_name(value) : CODING_UNKNOWN;
}

/* Evaluates the headers that determine how the request is read; compares the length of the name
 * first. */
static enum head_status note_header(struct head *head, const struct http_header *header)
{
    struct str name = header->name;
    struct str value = header->value;
    switch (name.len) {
    case 4:
        return str_eq_nocase(name, STR("Host")) ? take_host(head, value) : HEAD_MORE;
    case 6:
        return str_eq_nocase(name, STR("Expect")) ? take_expect(head, value) : HEAD_MORE;
    case 10:
        if (str_eq_nocase(name, STR("Connection"))) {
            take_connection(head, value);
        }
        return HEAD_MORE;
    case 14:
        return str_eq_nocase(name, STR("Content-Length")) ? take_content_length(head, value)
                                                          : HEAD_MORE;
    case 16:
        if (str_eq_nocase(name, STR("Content-Encoding"))) {
            take_content_encoding(head, value);
        }
        return HEAD_MORE;
    case 17:
        return str_eq_nocase(name, STR("Transfer-Encoding")) ? take_transfer_encoding(head, value)
                                                             : HEAD_MORE;
    default:
        return HEAD_MORE;
    }
}

/* field-line = field-name ":" OWS field-value OWS. A folded line begins with white space, which
 * is no name. */
static enum head_status take_header(struct head *head, struct str line)
{
    size_t name_len = count_chars(line, token_chars);
    if (name_len == 0 || name_len == line.len || line.data[name_len] != ':') {
        return bad(head, 400, "malformed header name");
    }
    if (head->header_count == HEAD_HEADERS_MAX) {
        return bad(head, 431, "too many headers");
    }
    struct http_header *header = &head->headers[head->header_count++];
    header->name = str_make(line.data, name_len);
    header->value = text_trim(str_skip(line, name_len + 1));
    if (!is_field_value(header->value)) {
        return bad(head, 400, "control character in a header");
    }
    return note_header(head, header);
}

static enum head_status take_end(struct head *head)
{
    bool is_1_0 = head->minor_version == 0;
    if (!is_1_0 && !head->has_host) {
        return bad(head, 400, "Host is missing");
    }
    if (head->chunked && (is_1_0 || head->content_length >= 0)) {
        return bad(head, 400,
                   is_1_0 ? "Transfer-Encoding in HTTP/1.0"
                          : "Content-Length beside Transfer-Encoding");
    }
    head->keep_alive = !head->says_close && (!is_1_0 || head->says_keep_alive);
    head->expects_continue &= !is_1_0;
    head->size = head->line_start;
    return HEAD_DONE;
}

static enum head_status take_line(struct head *head, struct str line)
{
    if (!head->has_request_line) {
        /* Empty lines before a request are skipped (RFC 9112, 2.2). */
        return line.len == 0 ? HEAD_MORE : take_request_line(head, line);
    }
    return line.len == 0 ? take_end(head) : take_header(head, line);
}

static enum head_status too_large(struct head *head)
{
    return head->has_request_line ? bad(head, 431, "request headers too large")
                                  : bad(head, 414, "request line too long");
}

/* Detects a client of another protocol, such as TLS, by its first byte, before an LF. */
static bool begins_badly(const struct head *head, struct str input)
{
    if (head->has_request_line || input.len == head->line_start) {
        return false;
    }
    char first = input.data[head->line_start];
    return first != '\r' && !token_chars[(unsigned char)first];
}

enum head_status head_parse(struct head *head, struct str input, size_t head_bytes_max)
{
    enum head_status status = HEAD_MORE;
    while (status == HEAD_MORE) {
        if (begins_badly(head, input)) {
            return bad(head, 400, "malformed request line");
        }
        const char *from = input.data + head->scanned;
        const char *lf = memchr(from, '\n', input.len - head->scanned);
        if (lf == NULL) {
            head->scanned = input.len;
            return input.len > head_bytes_max ? too_large(head) : HEAD_MORE;
        }
        size_t end = (size_t)(lf - input.data);
        if (end >= head_bytes_max) {
            return too_large(head);
        }
        if (end == head->line_start || lf[-1] != '\r') {
            return bad(head, 400, "line that ends without CR LF");
        }
        struct str line = str_make(input.data + head->line_start, end - 1 - head->line_start);
        head->line_start = end + 1;
        head->scanned = end + 1;
        status = take_line(head, line);
    }
    return status;
}
