/* fuzz/signed_head.h: what the fuzz targets of signatures share: reads the head of a request from
 * lines of the input. */
#ifndef FUZZ_SIGNED_HEAD_H
#define FUZZ_SIGNED_HEAD_H

#include <stdlib.h>

#include "auth/sigv4_check.h"

enum { HEADERS_MAX = 64 };

/* Ends the process, which the fuzzer reports, if a property does not hold. */
static inline void check(bool truth)
{
    if (!truth) {
        abort();
    }
}

/* Returns the text before `end`, or all of it, and removes both from *rest. */
static inline struct str take_until(struct str *rest, char end)
{
    const char *at = rest->len == 0 ? NULL : memchr(rest->data, end, rest->len);
    size_t len = at == NULL ? rest->len : (size_t)(at - rest->data);
    struct str taken = str_make(rest->data, len);
    *rest = str_skip(*rest, MIN(len + 1, rest->len));
    return taken;
}

/* Reads one header from each line, at most HEADERS_MAX; returns their number. They borrow `rest`.
 */
static inline size_t read_headers(struct str rest, struct sigv4_header headers[HEADERS_MAX])
{
    size_t count = 0;
    while (rest.len > 0 && count < HEADERS_MAX) {
        struct str value = take_until(&rest, '\n');
        struct str name = take_until(&value, ':');
        headers[count++] = (struct sigv4_header){.name = name, .value = value};
    }
    return count;
}

#endif
