/* aws/metadata_internal.h: credentials that containers and EC2 instances provide over HTTP. */
#ifndef GRAMME_AWS_METADATA_INTERNAL_H
#define GRAMME_AWS_METADATA_INTERNAL_H

#include "aws/credentials.h"

/* Whether the environment names a source of credentials for a container. */
MUST_USE bool metadata_has_container(void);
/* Whether an EC2 instance may have credentials: not if the environment disables it. */
MUST_USE bool metadata_has_instance(void);
/* Fetches the credentials of the container; may block for seconds. False: *problem says why, in
 * `arena`. */
MUST_USE bool metadata_from_container(struct arena *arena, struct credentials *out,
                                      struct str *problem);
/* Fetches the credentials of the instance, as above. */
MUST_USE bool metadata_from_instance(struct arena *arena, struct credentials *out,
                                     struct str *problem);

/* Whether the environment may name this address for a container's credentials: one on this machine,
 * the fixed addresses of container services, or any with TLS. Declared for tests. */
MUST_USE bool metadata_may_ask(const char *url);

#endif
