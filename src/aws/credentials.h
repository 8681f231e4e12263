/* aws/credentials.h: credentials, from the same places and in the same order as the AWS
 * SDKs, kept until shortly before they expire. */
#ifndef GRAMME_AWS_CREDENTIALS_H
#define GRAMME_AWS_CREDENTIALS_H

#include "aws/options.h"
#include "base/arena.h"
#include "base/secret.h"

/* Texts end with NUL. */
struct credentials {
    struct str access_key_id; /* STR_NULL: there are none */
    struct str secret_access_key;
    struct str session_token; /* STR_NULL: none needed */
    int64_t expires_ms;       /* wall clock; INT64_MAX: never */
};

/* Finds credentials when they are first needed, and again before they expire. Thread-safe. */
struct credential_source;

/* Creates a source. `is_local`: the address is on this machine, where dummy credentials are used if
 * options, environment and files have none. Copies what it needs of the options. */
MUST_USE struct credential_source *credential_source_create(const struct aws_options *options,
                                                            bool is_local);
/* Frees it. Accepts NULL. */
void credential_source_destroy(struct credential_source *source);
/* Copies the current credentials into `arena`. False: *problem says why there are none, in `arena`.
 */
MUST_USE bool credential_source_get(struct credential_source *source, struct secret_arena *arena,
                                    struct credentials *out, struct str *problem);
/* The service reports that the credentials have expired. True: the source can provide new ones,
 * which the next credential_source_get() returns. */
MUST_USE bool credential_source_renew(struct credential_source *source);

/* Moves AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN from the environment to memory for secrets,
 * where all sources find them, so that neither a core dump nor /proc/PID/environ contains them. For
 * programs that need not pass them on; before other threads are started. */
void credentials_take_environment(void);

#endif
