/* base/percent.h: percent-encoding, as in URLs and HTML forms. */
#ifndef GRAMME_BASE_PERCENT_H
#define GRAMME_BASE_PERCENT_H

#include "base/arena.h"

/* Returns whether the character is never encoded: A-Z a-z 0-9 - _ . ~ */
bool percent_is_unreserved(char c);
/* Encodes all bytes but unreserved characters and those of `kept`. The result is in the arena,
 * followed by a NUL that is not counted. */
struct str percent_encode(struct arena *arena, struct str text, const char *kept);

/* Decodes %XX to bytes, and `+` to `plus`: a space in forms, `+` in URLs. A `%` that is not
 * followed by two hexadecimal digits is kept. The result is in the arena. */
struct str percent_decode(struct arena *arena, struct str text, char plus);

#endif
