/* base/hex.h: bytes as hexadecimal digits, two per byte. */
#ifndef GRAMME_BASE_HEX_H
#define GRAMME_BASE_HEX_H

#include "base/str.h"

/* Returns the value of a digit; -1: the character is not a hexadecimal digit. */
int hex_digit(char c);
/* Writes 2 * bytes.len lower-case digits to `out`, without a NUL. */
void hex_encode(struct str bytes, char *out);
/* The same, followed by a NUL. */
void hex_encode_c(struct str bytes, char *out);
/* Writes text.len / 2 bytes to `out`. False: the text has an odd length, or a character that is not
 * a digit. */
MUST_USE bool hex_decode(struct str text, char *out);

#endif
