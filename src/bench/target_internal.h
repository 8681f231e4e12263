/* bench/target_internal.h: the server that is measured: where it is, how to connect, and single
 * calls to it that may block, for preparing a run. */
#ifndef GRAMME_BENCH_TARGET_INTERNAL_H
#define GRAMME_BENCH_TARGET_INTERNAL_H

#include <sys/socket.h>

#include "base/buf.h"
#include "err/err.h"

struct target {
    struct str authority; /* host and port as in the URL */
    struct str path;
    bool auth; /* send an Authorization header */
    struct sockaddr_storage address;
    socklen_t address_len;
};

/* `url` is http://HOST[:PORT][/PATH], and must live as long as the target. */
MUST_USE bool target_init(struct target *target, struct str url, bool auth, struct err *err);

/* A connected socket that does not hold back small writes; -1 and errno on failure. */
MUST_USE int target_connect(const struct target *target);

/* Adds a complete request for an operation of DynamoDB's. */
void target_add_request(const struct target *target, struct str operation, struct str body,
                        bool keep_alive, struct buf *out);

/* Sends one request on a connection of its own and waits for the answer: its HTTP status, and all
 * of it as text, in `arena`. */
MUST_USE bool target_call(const struct target *target, struct str operation, struct str body,
                          struct arena *arena, int *out_status, struct str *out_answer,
                          struct err *err);

#endif
