/* apps/common/jwt.h: JSON Web Tokens of an identity provider, checked with its keys (cjose). */
#ifndef GRAMME_APPS_JWT_H
#define GRAMME_APPS_JWT_H

#include <stdint.h>

#include "base/str.h"
#include "gramme/gramme.h"

struct jwt_keys;

/* Reads the keys of a JWKS document; NULL: it is not such a document. Ignores keys of kinds that
 * are not supported. */
struct jwt_keys *jwt_keys_create(struct str jwks);
/* Accepts NULL. */
void jwt_keys_destroy(struct jwt_keys *keys);

enum jwt_result {
    JWT_OK,
    JWT_UNKNOWN_KEY, /* well-formed, but signed with a key that is not among these */
    JWT_BAD,         /* malformed, another algorithm than RS/PS/ES 256 to 512, or a bad signature */
};

/* Checks the signature of a token in compact form. JWT_OK: *out_claims is its payload, a map that
 * the caller destroys. Does not check the claims: see jwt_check_claims(). */
enum jwt_result jwt_verify(const struct jwt_keys *keys, struct str token,
                           struct gramme_value **out_claims);

struct jwt_expected {
    const char *issuer;
    const char *audience;
    const char *nonce; /* NULL: not checked */
    int64_t now_s;
};
/* Returns NULL if the claims are as expected, else what is wrong, for the log. */
const char *jwt_check_claims(const struct gramme_value *claims,
                             const struct jwt_expected *expected);

#endif
