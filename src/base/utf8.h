/* base/utf8.h: well-formed UTF-8, as Unicode defines it (no surrogates, no overlong forms). */
#ifndef GRAMME_BASE_UTF8_H
#define GRAMME_BASE_UTF8_H

#include "base/str.h"

MUST_USE bool utf8_is_valid(struct str s);
/* How many UTF-16 code units the text takes; `s` is valid UTF-8. */
MUST_USE size_t utf8_utf16_len(struct str s);
/* The first `len` bytes, or a few less: no letter is cut in two. */
MUST_USE struct str utf8_prefix(struct str s, size_t len);
/* Reads the first code point of valid UTF-8 that is not empty; returns how many bytes it took. */
size_t utf8_decode(struct str s, uint32_t *out);
/* Writes one code point (not a surrogate) and returns how many bytes it took, 1 to 4. */
size_t utf8_encode(uint32_t code_point, char out[4]);

#endif
