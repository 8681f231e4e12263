/* bench/reader_internal.h: finds where an HTTP answer ends. Looks at the status, the length and
 * little else, because the generator shares the machine with what it measures. */
#ifndef GRAMME_BENCH_READER_INTERNAL_H
#define GRAMME_BENCH_READER_INTERNAL_H

#include "http/chunked.h"

enum {
    READER_HEAD_MAX = 8192,
    READER_FRONT_MAX = 512,
    READER_BACK_MAX = 512,
};

enum reader_status {
    READER_MORE,
    READER_DONE,
    READER_BAD, /* no HTTP/1.1 answer with a known length */
};

struct reader {
    bool keep_back; /* set by the user after reader_init() */

    int status;        /* HTTP */
    bool closes;       /* the server ends the connection after this answer */
    uint64_t body_len; /* so far; without the chunked coding */
    /* The first bytes of the body and, with keep_back, the last ones. */
    char front[READER_FRONT_MAX];
    size_t front_len;
    char back[READER_BACK_MAX];
    size_t back_len;

    /* The reader's own. */
    bool in_body;
    bool chunked;
    uint64_t left;
    struct chunked chunks;
    size_t head_len;
    char head[READER_HEAD_MAX]; /* of an answer whose head came in pieces */
};

void reader_init(struct reader *reader);
/* Before the next answer; keep_back stays. */
void reader_reset(struct reader *reader);
/* Takes bytes from the front of *input; after READER_DONE what is left belongs to the next answer.
 */
MUST_USE enum reader_status reader_take(struct reader *reader, struct str *input);

/* The name of the error in the body ("ValidationException"), or STR_NULL. */
MUST_USE struct str reader_error_type(const struct reader *reader);

#endif
