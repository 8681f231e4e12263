/* http/chunked.h: the chunked transfer coding undone (RFC 9112, 7.1), piece by piece. */
#ifndef GRAMME_HTTP_CHUNKED_H
#define GRAMME_HTTP_CHUNKED_H

#include "base/str.h"

enum chunked_status {
    CHUNKED_MORE, /* all input is used up and the end has not come */
    CHUNKED_DATA, /* *out_data holds some bytes of the body */
    CHUNKED_DONE, /* the end; what is left of the input belongs to the next request */
    CHUNKED_BAD,
};

struct chunked {
    int state;      /* see chunked.c */
    int digits;     /* of the size that is being read */
    uint64_t left;  /* bytes of this chunk that have not come yet */
    size_t ignored; /* bytes of extensions and trailers so far */
};

void chunked_init(struct chunked *chunked);

/* Takes bytes from the front of *input. To be called again after CHUNKED_DATA at once, after
 * CHUNKED_MORE with new input. Extensions and trailers are checked, bounded and dropped.
 * *out_data borrows the input. */
MUST_USE enum chunked_status chunked_next(struct chunked *chunked, struct str *input,
                                          struct str *out_data);

#endif
