/* bench/target_internal.h: the server that is measured: its address, connecting to it, and single
 * blocking calls that prepare a run. */
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

/* Reads `url`, http://HOST[:PORT][/PATH], which must live as long as the target. */
MUST_USE bool target_init(struct target *target, struct str url, bool auth, struct err *err);

/* Returns a connected socket with TCP_NODELAY; -1 and errno on failure. */
MUST_USE int target_connect(const struct target *target);

/* Appends a complete request of a DynamoDB operation. */
void target_add_request(const struct target *target, struct str operation, struct str body,
                        bool keep_alive, struct buf *out);

/* Sends one request on a new connection and waits for the response: its HTTP status, and its whole
 * text in `arena`. */
MUST_USE bool target_call(const struct target *target, struct str operation, struct str body,
                          struct arena *arena, int *out_status, struct str *out_answer,
                          struct err *err);

#endif
