/* client/transport_internal.h: a single attempt of a call: to a server or to the engine in this
 * process. Retries are in call.c. */
#ifndef GRAMME_CLIENT_TRANSPORT_INTERNAL_H
#define GRAMME_CLIENT_TRANSPORT_INTERNAL_H

#include "base/buf.h"
#include "gramme/gramme.h"

/* The lists of operations; each has a target prefix of its own. */
enum operation_family {
    FAMILY_DYNAMODB,
    FAMILY_STREAMS, /* DynamoDB Streams */
    FAMILY_GRAMME,  /* operations that only Gramme has */
};

/* One attempt. */
struct attempt {
    struct str operation;
    enum operation_family family;
    struct str body;
    struct str page; /* not STR_NULL: a GET of this path and query, in canonical form, instead of an
                      * operation; ends with NUL */

    int status;             /* HTTP status; 0: no answer */
    struct buf answer;      /* its body */
    const char *failure;    /* no answer: a code of the library, GRAMME_TIMED_OUT for example */
    char detail[256];       /* details for the message */
    char request_id[128];   /* ends with NUL; "": none */
    bool renewed;           /* credentials had expired and were renewed */
    int64_t retry_after_ms; /* Retry-After of the server; -1: none */
};

/* Records a failure without an answer. */
void attempt_fail(struct attempt *attempt, const char *failure, const char *format, ...)
    PRINTF_LIKE(3, 4);

struct transport {
    /* Makes one attempt, blocking. Many threads may call at once. */
    void (*call)(struct transport *transport, struct attempt *attempt);
    void (*close)(struct transport *transport);
    int attempts_max; /* the largest number of attempts */
};

/* Opens a transport to a store in this process: rocksdb:DIRECTORY or memory:. False: *error is set.
 */
MUST_USE bool local_open(const char *url, const struct gramme_options *options,
                         struct transport **out, struct gramme_error **error);
/* Opens a transport to a server: http://, https:// or aws:. False: *error is set. */
MUST_USE bool remote_open(const char *url, const struct gramme_options *options,
                          struct transport **out, struct gramme_error **error);

#endif
