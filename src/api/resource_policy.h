/* api/resource_policy.h: policies of tables and of their streams, as they are kept in a table's
 * description. For the operations that set them, and for authorize.c. */
#ifndef GRAMME_API_RESOURCE_POLICY_H
#define GRAMME_API_RESOURCE_POLICY_H

#include "api/api_internal.h"
#include "api/arn.h"

/* A policy and its revision id; both STR_NULL: none. */
struct resource_policy {
    struct str text;
    struct str revision;
};

/* The policy of the table or stream that `arn` names. `arena` is for temporary texts. A policy of a
 * stream belongs to the table's newest stream, until another one is enabled. */
MUST_USE struct resource_policy resource_policy_get(struct arena *arena, const struct table *table,
                                                    const struct arn *arn);
/* Sets it; texts are borrowed. False: `arn` names a stream that is not the table's newest. */
MUST_USE bool resource_policy_set(struct arena *arena, struct table *table, const struct arn *arn,
                                  struct resource_policy policy);
/* Whether it is a policy that a table or a stream may have. False: call->err. */
MUST_USE bool resource_policy_check(struct api_call *call, enum arn_kind kind, struct str document);
/* A revision id for a policy that follows one with the id `before` (STR_NULL: none). */
MUST_USE struct str resource_policy_revision(struct arena *arena, struct str before);

#endif
