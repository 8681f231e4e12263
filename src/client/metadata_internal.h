/* client/metadata_internal.h: credentials that a container or an EC2 instance gives to what runs in
 * it, over HTTP. */
#ifndef GRAMME_CLIENT_METADATA_INTERNAL_H
#define GRAMME_CLIENT_METADATA_INTERNAL_H

#include "client/credentials_internal.h"

/* Whether the environment says that a container has credentials, or that an instance may have
 * some. */
MUST_USE bool metadata_has_container(void);
MUST_USE bool metadata_has_instance(void);
/* Each asks, which may take a while. False: *problem says why not, in `arena`. */
MUST_USE bool metadata_from_container(struct arena *arena, struct credentials *out,
                                      struct str *problem);
MUST_USE bool metadata_from_instance(struct arena *arena, struct credentials *out,
                                     struct str *problem);

/* For tests: whether the environment may name this address for a container's credentials: one on
 * this machine, the containers' own ones, or any with TLS. */
MUST_USE bool metadata_may_ask(const char *url);

#endif
