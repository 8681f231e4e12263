/* base/base64.h: base64 with the standard alphabet and padding (RFC 4648). Decoding is strict: no
 * white space, no missing padding, no bits set that an encoder leaves zero. */
#ifndef GRAMME_BASE_BASE64_H
#define GRAMME_BASE_BASE64_H

#include "base/str.h"

#define BASE64_ENCODED_LEN(n) (((size_t)(n) + 2) / 3 * 4)
#define BASE64_DECODED_MAX(n) ((size_t)(n) / 4 * 3)

/* Encodes `in` to exactly BASE64_ENCODED_LEN(in.len) bytes at `out`. */
void base64_encode(struct str in, char *out);
/* Decodes `in` to `out`, which has room for BASE64_DECODED_MAX(in.len) bytes, and sets *out_len.
 * False if `in` is not valid base64. */
MUST_USE bool base64_decode(struct str in, char *out, size_t *out_len);

#endif
