/* client/transport_internal.h: how a call gets to a DynamoDB and back, once. Retries are made above
 * it, in call.c. */
#ifndef GRAMME_CLIENT_TRANSPORT_INTERNAL_H
#define GRAMME_CLIENT_TRANSPORT_INTERNAL_H

#include "base/buf.h"
#include "gramme/gramme.h"

/* One attempt. */
struct exchange {
    struct str operation;
    bool is_of_streams; /* the operation is of DynamoDB Streams, a service of its own */
    struct str body;

    int status;           /* HTTP's; 0: there was no answer */
    struct buf answer;    /* its body */
    const char *failure;  /* no answer: one of our own codes, GRAMME_TIMED_OUT or so */
    char detail[256];     /* and what there is to say */
    char request_id[128]; /* ends with NUL; "": none */
    bool renewed;         /* credentials had expired, and there are new ones now */
    int64_t wish_ms;      /* how long the server asks to wait before a retry; -1: it does not */
};

void exchange_fail(struct exchange *exchange, const char *failure, const char *format, ...)
    PRINTF_LIKE(3, 4);

struct transport {
    /* Many threads may call at once. */
    void (*call)(struct transport *transport, struct exchange *exchange);
    void (*close)(struct transport *transport);
    int attempts_max; /* how often a call is worth trying */
};

/* rocksdb:DIRECTORY or memory:, in this process. */
MUST_USE bool local_open(const char *url, const struct gramme_options *options,
                         struct transport **out, struct gramme_error **error);
/* http:// or https://, or aws: */
MUST_USE bool remote_open(const char *url, const struct gramme_options *options,
                          struct transport **out, struct gramme_error **error);

#endif
