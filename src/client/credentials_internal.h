/* client/credentials_internal.h: who asks: where the AWS SDKs look for credentials, in their order,
 * kept until shortly before they expire. */
#ifndef GRAMME_CLIENT_CREDENTIALS_INTERNAL_H
#define GRAMME_CLIENT_CREDENTIALS_INTERNAL_H

#include "base/arena.h"
#include "gramme/gramme.h"

/* Texts end with NUL. */
struct credentials {
    struct str access_key_id; /* STR_NULL: there are none */
    struct str secret_access_key;
    struct str session_token; /* STR_NULL: none needed */
    int64_t expires_ms;       /* wall clock; INT64_MAX: never */
};

/* Thread-safe: finds credentials when they are first asked for, and anew before they expire. */
struct credential_source;

/* `is_local`: the address is on this machine, where dummies will do if none are found in options,
 * environment or files. Copies what it needs of the options. */
MUST_USE struct credential_source *credential_source_create(const struct gramme_options *options,
                                                            bool is_local);
void credential_source_destroy(struct credential_source *source);
/* Copies them into `arena`. False: *problem says why there are none, in `arena`. */
MUST_USE bool credential_source_get(struct credential_source *source, struct arena *arena,
                                    struct credentials *out, struct str *problem);
/* The service says that they have expired. True: they are such as can be had anew, and whoever asks
 * next gets new ones. */
MUST_USE bool credential_source_renew(struct credential_source *source);

#endif
