/* base/base64.h: the standard alphabet with padding (RFC 4648), strict. */
#ifndef GRAMME_BASE_BASE64_H
#define GRAMME_BASE_BASE64_H

#include "base/str.h"

#define BASE64_ENCODED_LEN(n) (((size_t)(n) + 2) / 3 * 4)
#define BASE64_DECODED_MAX(n) ((size_t)(n) / 4 * 3)

/* Writes exactly BASE64_ENCODED_LEN(in.len) bytes. */
void base64_encode(struct str in, char *out);
/* `out` has room for BASE64_DECODED_MAX(in.len). False if `in` is not base64. */
MUST_USE bool base64_decode(struct str in, char *out, size_t *out_len);

#endif
