/* http/head_internal.h: the request line and the headers of one request, strictly by RFC 9112.
 *
 * What two readers of the same bytes could understand differently is refused, because that is
 * how requests are smuggled past a proxy: bare LF, folded lines, space before a colon, a length
 * given twice or beside chunks. */
#ifndef GRAMME_HTTP_HEAD_INTERNAL_H
#define GRAMME_HTTP_HEAD_INTERNAL_H

#include "http/coding_internal.h"
#include "http/http.h"

enum { HEAD_HEADERS_MAX = 128 };

enum head_status {
    HEAD_MORE, /* the bytes end before the head does */
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

    int status;          /* HEAD_BAD: the answer it deserves */
    const char *problem; /* HEAD_BAD: why, a short English phrase */

    /* Where the parser stands. */
    size_t line_start;
    size_t scanned; /* no LF from line_start up to here */
    bool has_request_line;
    bool has_host;
    bool says_close;
    bool says_keep_alive;

    size_t header_count;
    struct http_header headers[HEAD_HEADERS_MAX];
};

void head_init(struct head *head);

/* Goes on where the last call stopped. `input` begins with the same bytes at the same address as
 * then, with any number added; all slices in *head borrow it. How the bytes were cut into
 * calls never changes the result. Not to be called again after HEAD_DONE or HEAD_BAD. */
MUST_USE enum head_status head_parse(struct head *head, struct str input, size_t head_bytes_max);

#endif
