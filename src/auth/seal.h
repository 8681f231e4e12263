/* auth/seal.h: AES-256-GCM under the master key of an installation: secret keys in the store, and
 * session tokens. Whoever has the store but not the master key can read neither.
 *
 *   sealed = version (1 byte, 1) | nonce (12 bytes, random) | ciphertext | tag (16 bytes)
 *
 * written as base64. A purpose and a name are authenticated with it, so that a sealed text can be
 * used for nothing else. */
#ifndef GRAMME_AUTH_SEAL_H
#define GRAMME_AUTH_SEAL_H

#include "auth/secret.h"
#include "base/arena.h"
#include "err/err.h"

#define SEAL_KEY_LEN 32

struct seal_key {
    unsigned char bytes[SEAL_KEY_LEN];
};

/* Reads a master key: 64 hexadecimal digits or 44 characters of base64, white space around it
 * ignored. False: it is not one (ERR_VALIDATION). */
MUST_USE bool seal_key_parse(struct str text, struct seal_key *out, struct err *err);

/* `purpose` is a word of ours, `name` what the text belongs to; both must be the same when it is
 * opened. The result is base64, in `arena`. */
MUST_USE struct str seal_text(const struct seal_key *key, const char *purpose, struct str name,
                              struct str text, struct arena *arena);
/* The text that was sealed, in `secrets`; STR_NULL if `sealed` is damaged, or was sealed with
 * another key, for another purpose or another name. */
MUST_USE struct str seal_open(const struct seal_key *key, const char *purpose, struct str name,
                              struct str sealed, struct secret_arena *secrets);

#endif
