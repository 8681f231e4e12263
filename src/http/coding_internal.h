/* http/coding_internal.h: compresses answers and decompresses request bodies: gzip and deflate. */
#ifndef GRAMME_HTTP_CODING_INTERNAL_H
#define GRAMME_HTTP_CODING_INTERNAL_H

#include <zlib.h>

#include "base/buf.h"

enum coding { CODING_IDENTITY, CODING_GZIP, CODING_DEFLATE, CODING_UNKNOWN };

/* Returns the coding in a Content-Encoding header; CODING_UNKNOWN for others and for lists. */
MUST_USE enum coding coding_from_name(struct str name);

/* The preference for one coding in the Accept-Encoding headers of a request. */
struct coding_wish {
    int weight; /* 0 to 1000; -1: not named */
    int place;  /* position in the list, from 1 */
};
/* The preferences of a client. "identity" is ignored: it is used if the client names no other. */
struct coding_wishes {
    struct coding_wish gzip;
    struct coding_wish deflate;
    struct coding_wish others; /* "*" */
    int count;                 /* of names so far */
};
/* Starts without preferences. */
void coding_wishes_init(struct coding_wishes *wishes);
/* Adds the value of one Accept-Encoding header; ignores what cannot be parsed. */
void coding_wishes_add(struct coding_wishes *wishes, struct str value);
/* Returns the coding for an answer: the one with the larger weight, or the first of equal weights;
 * CODING_IDENTITY if neither gzip nor deflate is accepted. */
MUST_USE enum coding coding_choose(const struct coding_wishes *wishes);

/* State of zlib, created at the first use and then kept. Used by one thread. {0} is valid. */
struct coder {
    z_stream inflater;
    bool has_inflater;
    z_stream deflaters[CODING_UNKNOWN]; /* by coding */
    bool has_deflater[CODING_UNKNOWN];
};

enum coder_status { CODER_OK, CODER_BAD, CODER_TOO_LARGE };

/* Frees the state. */
void coder_finish(struct coder *coder);
/* Decompresses `input` and appends it to `out`. CODER_TOO_LARGE: the result has more than
 * `bytes_max` bytes. CODER_BAD: the input is invalid, truncated, or followed by other bytes. */
MUST_USE enum coder_status coder_decode(struct coder *coder, enum coding coding, struct str input,
                                        size_t bytes_max, struct buf *out);
/* Compresses `input`, which must not be in `out`, and appends it to `out`. */
void coder_encode(struct coder *coder, enum coding coding, struct str input, struct buf *out);
/* Returns how many bytes coder_encode() appends at most. If they are reserved, `input` may be in
 * `out`. */
MUST_USE size_t coder_encode_bound(struct coder *coder, enum coding coding, size_t input_len);

#endif
