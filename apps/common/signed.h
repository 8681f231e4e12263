/* apps/common/signed.h: signed texts for clients: sessions, feeds. HMAC-SHA-256 by OpenSSL. A token
 * is base64url(payload) "." base64url(mac); everybody who has the token can read the payload. The
 * signature includes the purpose, so a token is valid for one purpose only. */
#ifndef GRAMME_APPS_SIGNED_H
#define GRAMME_APPS_SIGNED_H

#include "base/arena.h"

enum { SIGNED_KEY_LEN = 32, SIGNED_HASH_LEN = 32 };

struct signing_key {
    unsigned char bytes[SIGNED_KEY_LEN];
};

/* Makes a random key. */
void signing_key_random(struct signing_key *key);
/* Reads a key of at least 32 bytes from a file; if the file does not exist, creates it (mode 0600).
 * False: neither was possible; stderr says why. */
bool signing_key_load(struct signing_key *key, const char *path);

/* Computes HMAC-SHA-256 of a text. */
void signed_hmac(const void *key, size_t key_len, struct str text,
                 unsigned char out[SIGNED_HASH_LEN]);
/* Computes SHA-256 of a text. */
void signed_sha256(struct str text, unsigned char out[SIGNED_HASH_LEN]);

/* Makes a token, from the arena; ends with NUL. */
const char *signed_make(const struct signing_key *key, struct arena *arena, const char *purpose,
                        struct str payload);
/* Returns the payload of a token; STR_NULL: it was not made with this key for this purpose. */
struct str signed_read(const struct signing_key *key, struct arena *arena, const char *purpose,
                       struct str token);

/* Encodes bytes as base64url without padding (RFC 4648, section 5); ends with NUL. */
const char *base64url_encode(struct arena *arena, struct str bytes);
/* Decodes base64url. STR_NULL: the text is not base64url. */
struct str base64url_decode(struct arena *arena, struct str text);

#endif
