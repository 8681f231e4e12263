/* http/head_internal.h: parses the request line and the headers of a request, strictly by RFC 9112.
 *
 * Refuses what two parsers could interpret differently, because that allows request smuggling past
 * a proxy: bare LF, folded lines, space before a colon, two lengths, a length and chunks. */
#ifndef GRAMME_HTTP_HEAD_INTERNAL_H
#define GRAMME_HTTP_HEAD_INTERNAL_H

#include "http/coding_internal.h"
#include "http/http.h"

enum { HEAD_HEADERS_MAX = 128 };

enum head_status {
    HEAD_MORE, /* the head is not complete */
    HEAD_DONE,
    HEAD_BAD, /* see `status` and `problem` */
};

struct head {
    struct str method;
    struct str target; /* begins with '/', or is "*" */
    int minor_version; /* of HTTP/1: 0 or 1 */
    bool keep_alive;
    bool chunked;
    bool expects_continue;
    enum coding content_coding;
    int64_t content_length; /* -1: not given */
    size_t size;            /* HEAD_DONE: bytes of the head with its empty line */

    int status;          /* HEAD_BAD: status of the answer */
    const char *problem; /* HEAD_BAD: the reason, a short English phrase */

    /* State of the parser. */
    size_t line_start;
    size_t scanned; /* there is no LF between line_start and this offset */
    bool has_request_line;
    bool has_host;
    bool says_close;
    bool says_keep_alive;

    size_t header_count;
    struct http_header headers[HEAD_HEADERS_MAX];
};

/* Starts a new head. */
void head_init(struct head *head);

/* Parses `input`, which holds all bytes of the head that were received so far, at the same address
 * in each call; continues where the last call stopped. All slices in *head borrow `input`. The
 * result does not depend on how the bytes were split. Must not be called again after HEAD_DONE or
 * HEAD_BAD. */
MUST_USE enum head_status head_parse(struct head *head, struct str input, size_t head_bytes_max);

#endif
