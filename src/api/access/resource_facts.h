/* api/access/resource_facts.h: what policies know of a table, an index or a stream: its tags and
 * its resource policy, for SimulatePolicy, which evaluates policies without a request; those of a
 * request see what authorize.c reads. Any thread. */
#ifndef GRAMME_API_ACCESS_RESOURCE_FACTS_H
#define GRAMME_API_ACCESS_RESOURCE_FACTS_H

#include "auth/policy.h"
#include "engine/engine.h"

struct resource_facts {
    bool is_found;            /* the resource is a table of this server, or belongs to one */
    struct context_tags tags; /* aws:ResourceTag; a stream has none */
    struct policy *policy;    /* the resource policy, or NULL */
};

/* Reads the facts of the resource with this ARN, in `arena`. *out is all zeros if it is not one of
 * the tables of `engine`, nor an index or stream of one. Free it with resource_facts_finish(). */
void resource_facts_read(struct engine *engine, struct arena *arena, struct str arn,
                         struct resource_facts *out);
/* Frees what resource_facts_read() has set, except what is in the arena. */
void resource_facts_finish(struct resource_facts *facts);

#endif
