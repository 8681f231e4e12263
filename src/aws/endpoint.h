/* aws/endpoint.h: the address of the service, and other settings from options,
 * environment or profile files. */
#ifndef GRAMME_AWS_ENDPOINT_H
#define GRAMME_AWS_ENDPOINT_H

#include "aws/options.h"
#include "base/arena.h"

struct endpoint {
    struct str url;    /* ends with NUL */
    struct str host;   /* as in the Host header: "localhost:8000" */
    struct str region; /* to sign for */
    bool is_local;     /* on this machine */
    bool is_secure;    /* https */
};

/* Finds the address; all text is in `arena`. False: AWS_BAD_ADDRESS or AWS_NO_REGION. `problem` may
 * be NULL. */
MUST_USE bool endpoint_find(struct arena *arena, const struct aws_options *options,
                            struct endpoint *out, struct aws_problem *problem);
/* Returns the largest number of attempts of a call. */
int endpoint_attempts(const struct aws_options *options);

#endif
