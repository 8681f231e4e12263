/* http/coding_internal.h: gzip and deflate, of request bodies and of answers. */
#ifndef GRAMME_HTTP_CODING_INTERNAL_H
#define GRAMME_HTTP_CODING_INTERNAL_H

#include <zlib.h>

#include "base/buf.h"

enum coding { CODING_IDENTITY, CODING_GZIP, CODING_DEFLATE, CODING_UNKNOWN };

/* The one coding that a Content-Encoding header names; CODING_UNKNOWN for others and for lists. */
MUST_USE enum coding coding_from_name(struct str name);

/* What the Accept-Encoding headers of a request say of one coding. */
struct coding_wish {
    int weight; /* 0 to 1000; -1: not named */
    int place;  /* among all that are named, from 1 */
};
/* "identity" is not looked at: it is what a client gets that names nothing else. */
struct coding_wishes {
    struct coding_wish gzip;
    struct coding_wish deflate;
    struct coding_wish others; /* "*" */
    int count;                 /* of names so far */
};
void coding_wishes_init(struct coding_wishes *wishes);
/* Adds the value of one Accept-Encoding header; what makes no sense in it is passed over. */
void coding_wishes_add(struct coding_wishes *wishes, struct str value);
/* The coding for an answer: the one with the larger weight, of equal weights the one named first;
 * CODING_IDENTITY if neither gzip nor deflate is wanted. */
MUST_USE enum coding coding_choose(const struct coding_wishes *wishes);

/* zlib's state, made at first use and then kept. Belongs to one thread. */
struct coder {
    z_stream inflater;
    bool has_inflater;
    z_stream deflaters[CODING_UNKNOWN]; /* by coding */
    bool has_deflater[CODING_UNKNOWN];
};

enum coder_status { CODER_OK, CODER_BAD, CODER_TOO_LARGE };

/* {0} is a coder that has not been used. */
void coder_finish(struct coder *coder);
/* Appends the plain form of `input` to `out`, stopping with CODER_TOO_LARGE when it is more than
 * `bytes_max`. Input that is cut short or followed by other bytes is CODER_BAD. */
MUST_USE enum coder_status coder_decode(struct coder *coder, enum coding coding, struct str input,
                                        size_t bytes_max, struct buf *out);
/* Appends the coded form of `input`, which must not lie in `out`, to `out`. */
void coder_encode(struct coder *coder, enum coding coding, struct str input, struct buf *out);
/* Room that coder_encode() needs at most. With so much reserved, `input` may lie in `out`. */
MUST_USE size_t coder_encode_bound(struct coder *coder, enum coding coding, size_t input_len);

#endif
