/* auth/seal.h: encrypts secret access keys in the store, and session tokens, with AES-256-GCM and
 * the master key of an installation. Without the master key neither can be read. Any thread.
 *
 *   sealed = version (1 byte, 1) | nonce (12 bytes, random) | ciphertext | tag (16 bytes)
 *
 * written as base64. A purpose and a name are authenticated too, so that a sealed text is valid for
 * them only. */
#ifndef GRAMME_AUTH_SEAL_H
#define GRAMME_AUTH_SEAL_H

#include "base/arena.h"
#include "base/secret.h"
#include "err/err.h"

#define SEAL_KEY_LEN 32

struct seal_key {
    unsigned char bytes[SEAL_KEY_LEN];
};

/* Parses a master key: 64 hexadecimal digits or 44 characters of base64; ignores white space around
 * it. Returns false with ERR_VALIDATION if the text is not a key. */
MUST_USE bool seal_key_parse(struct str text, struct seal_key *out, struct err *err);

/* Encrypts `text`. `purpose` is a constant of the caller, `name` identifies the owner of the text;
 * seal_open() must get the same two. Returns base64 in `arena`. */
MUST_USE struct str seal_text(const struct seal_key *key, const char *purpose, struct str name,
                              struct str text, struct arena *arena);
/* Decrypts a sealed text. Returns the text in `secrets`; STR_NULL if `sealed` is damaged, or was
 * sealed with another key, purpose or name. */
MUST_USE struct str seal_open(const struct seal_key *key, const char *purpose, struct str name,
                              struct str sealed, struct secret_arena *secrets);

#endif
