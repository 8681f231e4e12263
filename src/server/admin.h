/* server/admin.h: the administration of users, keys, roles and policies. Each operation takes and
 * gives JSON; docs/admin-api.md describes them. The server runs them for signed requests with the
 * target prefix ADMIN_TARGET, the program `gramme` also on a store that nobody has open. */
#ifndef GRAMME_SERVER_ADMIN_H
#define GRAMME_SERVER_ADMIN_H

#include "server/users.h"

#define ADMIN_TARGET "GrammeAdmin_20261101."

/* Who asks. */
struct admin_caller {
    const struct policy_caller *caller; /* NULL: somebody with access to the store itself */
    const struct policy_set *policies;
    const struct auth_context *context;
};

struct admin_call {
    struct users *users;
    struct str operation; /* "CreateUser" */
    struct str body;
    struct admin_caller caller;
    struct arena *arena;
    struct buf *out; /* gets the answer's body */
};

/* Whether there is such an operation, and whether it changes something. */
MUST_USE bool admin_has_operation(struct str name);
MUST_USE bool admin_is_change(struct str name);

/* Runs an operation; waits for the store, so not on a thread that serves connections. False: *err.
 */
MUST_USE bool admin_run(struct admin_call *call, struct err *err);

#endif
