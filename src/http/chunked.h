/* http/chunked.h: decodes the chunked transfer coding (RFC 9112, 7.1) incrementally. */
#ifndef GRAMME_HTTP_CHUNKED_H
#define GRAMME_HTTP_CHUNKED_H

#include "base/str.h"

enum chunked_status {
    CHUNKED_MORE, /* all input is used, and the body is not complete */
    CHUNKED_DATA, /* *out_data holds some bytes of the body */
    CHUNKED_DONE, /* the body is complete; the rest of the input belongs to the next request */
    CHUNKED_BAD,
};

struct chunked {
    int state;      /* see chunked.c */
    int digits;     /* of the size that is being read */
    uint64_t left;  /* bytes of this chunk that were not received yet */
    size_t ignored; /* bytes of extensions and trailers so far */
};

/* Starts a new body. */
void chunked_init(struct chunked *chunked);

/* Removes bytes from the front of *input. Call it again at once after CHUNKED_DATA, and with new
 * input after CHUNKED_MORE. Extensions and trailers are checked, limited in size, and ignored.
 * *out_data borrows the input. */
MUST_USE enum chunked_status chunked_next(struct chunked *chunked, struct str *input,
                                          struct str *out_data);

#endif
