/* base/utf8.h: UTF-8 as Unicode defines it: no surrogates, no overlong forms, nothing above
 * U+10FFFF. */
#ifndef GRAMME_BASE_UTF8_H
#define GRAMME_BASE_UTF8_H

#include "base/str.h"

/* Whether all of `s` is well-formed. */
MUST_USE bool utf8_is_valid(struct str s);
/* Returns the number of UTF-16 code units of valid UTF-8. */
MUST_USE size_t utf8_utf16_len(struct str s);
/* Returns the first `len` bytes, or up to three fewer so that no character is cut. */
MUST_USE struct str utf8_prefix(struct str s, size_t len);
/* Reads the first code point of valid, non-empty UTF-8. Returns the number of its bytes. */
size_t utf8_decode(struct str s, uint32_t *out);
/* Writes one code point (not a surrogate). Returns the number of bytes, 1 to 4. */
size_t utf8_encode(uint32_t code_point, char out[4]);

#endif
