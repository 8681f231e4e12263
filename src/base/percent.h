/* base/percent.h: percent-encoding, as in URLs and HTML forms. */
#ifndef GRAMME_BASE_PERCENT_H
#define GRAMME_BASE_PERCENT_H

#include "base/arena.h"

/* Decodes %XX to bytes, and `+` to `plus`: a space in forms, `+` in URLs. A `%` that is not
 * followed by two hexadecimal digits is kept. The result is in the arena. */
struct str percent_decode(struct arena *arena, struct str text, char plus);

#endif
