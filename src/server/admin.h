/* server/admin.h: the administration of users, keys, roles and policies. Each operation takes and
 * returns JSON; docs/admin-api.md describes them. The server runs them for signed requests with the
 * target prefix ADMIN_TARGET, and the program `gramme` on a store that no server uses. */
#ifndef GRAMME_SERVER_ADMIN_H
#define GRAMME_SERVER_ADMIN_H

#include "server/users.h"

#define ADMIN_TARGET "GrammeAdmin_20261101."

/* The caller of an operation. */
struct admin_caller {
    const struct policy_caller *caller; /* NULL: the user has access to the store itself */
    const struct policy_set *policies;
    const struct auth_context *context;
};

struct admin_call {
    struct users *users;
    struct str operation; /* "CreateUser" */
    struct str body;
    struct admin_caller caller;
    struct arena *arena;
    struct buf *out; /* the body of the answer is appended to it */
    /* Set by admin_run(): the ARN that the operation is about, or "*"; STR_NULL: the request was
     * refused before. */
    struct str resource;
};

/* Returns whether there is an operation of this name. */
MUST_USE bool admin_has_operation(struct str name);
/* Returns whether an operation changes users, keys, roles or policies. */
MUST_USE bool admin_is_change(struct str name);

/* Runs an operation. Waits for the store, so it must not be called on a network thread. False: *err
 * says why. */
MUST_USE bool admin_run(struct admin_call *call, struct err *err);

#endif
