/* bench/response_reader_internal.h: finds the end of an HTTP response. Looks at the status, the
 * length and little else, because the generator shares the machine with the server that it
 * measures. */
#ifndef GRAMME_BENCH_RESPONSE_READER_INTERNAL_H
#define GRAMME_BENCH_RESPONSE_READER_INTERNAL_H

#include "http/chunked.h"

enum {
    READER_HEAD_MAX = 8192,
    READER_FRONT_MAX = 512,
    READER_BACK_MAX = 512,
};

enum reader_status {
    READER_MORE,
    READER_DONE,
    READER_BAD, /* not an HTTP/1.1 response with a known length */
};

struct reader {
    bool keep_back; /* set by the caller after */

    int status;        /* HTTP */
    bool closes;       /* the server closes the connection after this response */
    uint64_t body_len; /* so far, decoded */
    /* The first bytes of the body and, with keep_back, the last ones. */
    char front[READER_FRONT_MAX];
    size_t front_len;
    char back[READER_BACK_MAX];
    size_t back_len;

    /* Internal state. */
    bool in_body;
    bool chunked;
    uint64_t left;
    struct chunked chunks;
    size_t head_len;
    char head[READER_HEAD_MAX]; /* of a response whose head arrives in pieces */
};

/* Starts a reader in the caller's memory. */
void reader_init(struct reader *reader);
/* Prepares for the next response; keeps keep_back. */
void reader_reset(struct reader *reader);
/* Consumes bytes from the front of *input; after READER_DONE the rest belongs to the next response.
 */
MUST_USE enum reader_status reader_take(struct reader *reader, struct str *input);

/* Returns the name of the error in the body ("ValidationException"), or STR_NULL. */
MUST_USE struct str reader_error_type(const struct reader *reader);

#endif
