/* client/endpoint_internal.h: the address of the service, and other settings from options,
 * environment or profile files. */
#ifndef GRAMME_CLIENT_ENDPOINT_INTERNAL_H
#define GRAMME_CLIENT_ENDPOINT_INTERNAL_H

#include "base/arena.h"
#include "gramme/gramme.h"

struct endpoint {
    struct str url;    /* ends with NUL */
    struct str host;   /* as in the Host header: "localhost:8000" */
    struct str region; /* to sign for */
    bool is_local;     /* on this machine */
};

/* Finds the address; all text is in `arena`. False: GRAMME_BAD_ADDRESS or GRAMME_NO_REGION. */
MUST_USE bool endpoint_find(struct arena *arena, const char *url,
                            const struct gramme_options *options, struct endpoint *out,
                            struct gramme_error **error);
/* Returns the largest number of attempts of a call. */
int endpoint_attempts(const struct gramme_options *options);

#endif
