/* api/access/resource_policy.h: policies of tables and of their streams, which are part of a
 * table's description. Used by the operations that set them and by authorize.c, on the thread of
 * the call. */
#ifndef GRAMME_API_ACCESS_RESOURCE_POLICY_H
#define GRAMME_API_ACCESS_RESOURCE_POLICY_H

#include "api/api_internal.h"
#include "api/arn.h"

/* A policy and its revision id; both are STR_NULL if there is none. */
struct resource_policy {
    struct str text;
    struct str revision;
};

/* Returns the policy of the table or stream that `arn` names; its texts borrow *table. `arena` is
 * scratch memory. A policy of a stream belongs to the table's newest stream, until another one is
 * enabled. */
MUST_USE struct resource_policy resource_policy_get(struct arena *arena, const struct table *table,
                                                    const struct arn *arn);
/* Sets the policy of the table or stream that `arn` names; *table borrows its texts. Returns false
 * if `arn` names a stream that is not the table's newest. */
MUST_USE bool resource_policy_set(struct arena *arena, struct table *table, const struct arn *arn,
                                  struct resource_policy policy);
/* Checks that the document is a policy that a table or a stream (`kind`) may have. Returns false
 * with call->err set. */
MUST_USE bool resource_policy_check(struct api_call *call, enum arn_kind kind, struct str document);
/* Returns a revision id, in `arena`, for a policy that replaces one with the id `before` (STR_NULL:
 * there is none). */
MUST_USE struct str resource_policy_revision(struct arena *arena, struct str before);

#endif
