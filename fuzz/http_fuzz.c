/* Fuzzes the HTTP parser. Input: a byte for the size of a piece, and the bytes of requests, which
 * are parsed as a whole, in pieces of that size, and byte by byte. Property: the result is the same
 * each time. */
#include "http/chunked.h"
#include "http/head_internal.h"

#include <stdlib.h>

enum { HEAD_MAX = 512 };

static size_t next_end(size_t end, size_t piece, size_t len)
{
    return MIN(len, end + piece);
}

static void dump_head(const struct head *head, enum head_status status, struct buf *out)
{
    buf_format(out, "%d ", status);
    if (status == HEAD_BAD) {
        buf_format(out, "%d %s", head->status, head->problem);
    }
    if (status != HEAD_DONE) {
        return;
    }
    buf_format(out, "%zu %d %d %d %d %d %lld\n", head->size, head->minor_version, head->keep_alive,
               head->chunked, head->expects_continue, head->content_coding,
               (long long)head->content_length);
    buf_add(out, head->method);
    buf_add_char(out, ' ');
    buf_add(out, head->target);
    for (size_t i = 0; i < head->header_count; i++) {
        buf_add_char(out, '\n');
        buf_add(out, head->headers[i].name);
        buf_add_char(out, '=');
        buf_add(out, head->headers[i].value);
    }
}

static void dump_chunks(struct str input, size_t piece, struct buf *out)
{
    struct chunked chunked;
    chunked_init(&chunked);
    enum chunked_status status = CHUNKED_MORE;
    size_t end = 0;
    struct str some = str_make(input.data, 0);
    while (status == CHUNKED_MORE && end < input.len) {
        size_t start = end;
        end = next_end(end, piece, input.len);
        some = str_make(input.data + start, end - start);
        struct str data;
        while ((status = chunked_next(&chunked, &some, &data)) == CHUNKED_DATA) {
            buf_add(out, data);
        }
    }
    buf_format(out, "\nchunks %d", status);
    if (status == CHUNKED_DONE) {
        buf_format(out, " at %zu", end - some.len);
    }
}

static void dump(struct str input, size_t piece, struct buf *out)
{
    static struct head head;
    head_init(&head);
    enum head_status status = HEAD_MORE;
    size_t end = 0;
    do {
        end = next_end(end, piece, input.len);
        status = head_parse(&head, str_make(input.data, end), HEAD_MAX);
    } while (status == HEAD_MORE && end < input.len);
    dump_head(&head, status, out);
    if (status == HEAD_DONE && head.chunked) {
        dump_chunks(str_skip(input, head.size), piece, out);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    struct str input = str_make(data + 1, size - 1);
    size_t pieces[] = {1, (size_t)data[0] + 1};
    struct buf whole = {0};
    struct buf cut = {0};
    dump(input, SIZE_MAX / 2, &whole);
    for (size_t i = 0; i < COUNT_OF(pieces); i++) {
        cut.len = 0;
        dump(input, pieces[i], &cut);
        if (!str_eq(buf_str(&whole), buf_str(&cut))) {
            abort();
        }
    }
    buf_finish(&whole);
    buf_finish(&cut);
    return 0;
}
