/* bench/target_internal.h: the server that is measured: its address, connecting to it, and single
 * blocking calls that prepare a run. */
#ifndef GRAMME_BENCH_TARGET_INTERNAL_H
#define GRAMME_BENCH_TARGET_INTERNAL_H

#include <openssl/ssl.h>
#include <sys/socket.h>

#include "auth/sigv4.h"
#include "base/buf.h"
#include "err/err.h"

/* The Authorization header of requests. */
enum target_auth {
    TARGET_AUTH_NONE,  /* there is none */
    TARGET_AUTH_DUMMY, /* not a valid signature */
    TARGET_AUTH_SIGN,  /* signed with the credentials in the environment */
};

struct target {
    struct str authority; /* host and port as in the URL */
    struct str path;
    SSL_CTX *tls; /* NULL: plain */
    enum target_auth auth;
    const char *access_key_id; /* TARGET_AUTH_SIGN; so are the next two */
    char time[SIGV4_TIME_SIZE];
    unsigned char key[SIGV4_HASH_LEN];
    struct sockaddr_storage address;
    socklen_t address_len;
};

/* Reads `url`, http[s]://HOST[:PORT][/PATH], which must live as long as the target.
 * TARGET_AUTH_SIGN takes AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, region us-east-1, and the
 * time of this call for all requests. The caller ends it with target_finish(), also on failure. */
MUST_USE bool target_init(struct target *target, struct str url, enum target_auth auth,
                          struct err *err);
/* Frees what target_init() made. */
void target_finish(struct target *target);

/* Returns a connected socket with TCP_NODELAY; -1 and errno on failure. */
MUST_USE int target_connect(const struct target *target);
/* Starts TLS on a connected socket, blocking; the certificate is not checked. The caller frees the
 * result. NULL: the server refuses. */
MUST_USE SSL *target_start_tls(const struct target *target, int fd);
/* Signs a request that target_add_request() made, and whose body has changed since, if requests are
 * signed. */
void target_sign(const struct target *target, struct buf *request);

/* Appends a complete request of a DynamoDB operation. */
void target_add_request(const struct target *target, struct str operation, struct str body,
                        bool keep_alive, struct buf *out);

/* Sends one request on a new connection and waits for the response: its HTTP status, and its whole
 * text in `arena`. */
MUST_USE bool target_call(const struct target *target, struct str operation, struct str body,
                          struct arena *arena, int *out_status, struct str *out_answer,
                          struct err *err);

#endif
