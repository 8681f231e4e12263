/* server/sts.h: temporary credentials by the protocol of the Security Token Service: the request is
 * a form with an Action, the answer XML, so that SDKs work unchanged. AssumeRole, GetSessionToken
 * and GetCallerIdentity. */
#ifndef GRAMME_SERVER_STS_H
#define GRAMME_SERVER_STS_H

#include "auth/sign_in.h"
#include "base/buf.h"

#define STS_SERVICE "sts"

struct sts_call {
    const struct seal_key *key;       /* for tokens */
    const struct auth_caller *caller; /* of the request */
    const struct policy_set *policies;
    const struct auth_context *context;
    struct str body;       /* application/x-www-form-urlencoded */
    struct str request_id; /* for the answer */
    struct arena *arena;
    struct buf *out; /* the body of the answer is appended to it */
    /* Set by sts_run(), for the audit log. */
    struct str action; /* STR_NULL: the request has none */
    struct str role;   /* the ARN that AssumeRole names, or STR_NULL */
};

/* Runs the call, and returns the HTTP status. */
int sts_run(struct sts_call *call);

/* Writes the answer to a call whose signature is wrong, and returns the HTTP status. */
int sts_refuse(const struct err *err, struct str request_id, struct buf *out);

#endif
